"""The settings in which questions and graphs are asked, the modes of answering, and what a run's items carry.

Every item of a scene run has this in its ``meta``, so that scoring needs the run alone:

=============  ==========================================================================================
``task``       ``qa`` or ``graph``
``setting``    one of `QA_SETTINGS` or `GRAPH_SETTINGS`
``mode``       ``direct``, ``chain of thought`` or ``thinking``
``scene``      the scene's id (the cluster of every interval), ``domain`` beside it
``question``   of ``qa``: the whole question, as `theodolite.instruments.scene.data.files.question_from_json` reads it back
``graph``      of ``graph``: the true star graph, as `StarGraph.as_json` writes it; of ``qa`` in a setting with a graph:
               the graph that was put into the prompt
``centre``     of ``graph``: the mark of the centre object
``noise``      of ``qa`` in the setting ``noisy graph``: the level of noise, a number
=============  ==========================================================================================

An item is named ``<scene>/graph/<setting>/<mode>`` or ``<question>/qa/<setting>/<mode>`` (with ``/<level>`` after a noisy
graph). ``run.info.settings["settings"]`` lists what was asked for. A question whose setting needs a graph that the model did
not give has no item there (nothing is asked in its place): scoring finds it by its item in another setting and counts it as
failed for want of a graph.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias, get_args

from theodolite.core.errors import UsageError

Task: TypeAlias = Literal["qa", "graph"]

QaSetting: TypeAlias = Literal[
    "base", "blind", "predicted graph", "true graph", "true graph alone", "noisy graph"
]
"""``base``: the marked picture. ``blind``: no picture. ``predicted graph``: the picture and the graph that the model itself
gave. ``true graph``: the picture and the true graph. ``true graph alone``: the true graph, no picture. ``noisy graph``: the
picture and the true graph with graded noise (the threshold experiment; only on request)."""
QA_SETTINGS: tuple[QaSetting, ...] = get_args(QaSetting)

GraphSetting: TypeAlias = Literal["base", "blind"]
"""``base``: the marked picture. ``blind``: the list of marks alone."""
GRAPH_SETTINGS: tuple[GraphSetting, ...] = get_args(GraphSetting)

WITH_PICTURE: Mapping[QaSetting, bool] = {
    "base": True,
    "blind": False,
    "predicted graph": True,
    "true graph": True,
    "true graph alone": False,
    "noisy graph": True,
}

ModeName: TypeAlias = Literal["direct", "chain of thought", "thinking"]
MODE_NAMES: tuple[ModeName, ...] = get_args(ModeName)

THINKING_BUDGET = 1024
"""Tokens; the budget that the paper gives to models that cannot but think."""


@dataclass(frozen=True, slots=True)
class Mode:
    """How a model is to answer."""

    name: ModeName = "direct"
    budget_tokens: int = THINKING_BUDGET
    """Of ``chain of thought`` and ``thinking``: what reasoning may cost, beside the answer itself."""

    def __post_init__(self) -> None:
        if self.name not in MODE_NAMES:
            raise UsageError(f"there is no mode {self.name!r}; there are {', '.join(MODE_NAMES)}")
        if self.budget_tokens < 1:
            raise UsageError(f"a budget is at least one token, not {self.budget_tokens}")
