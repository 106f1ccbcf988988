"""What a model is asked in a diagnosis, and what measures it: the model's answers in its own words."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any, cast

from theodolite.core.types import Item
from theodolite.instruments.instrument import RunPlan
from theodolite.instruments.scene.data.files import SceneData, read_data
from theodolite.instruments.scene.data.pairs import BEFORE, read_pairs
from theodolite.instruments.scene.questions import (
    PAIRS,
    PICTURES,
    Settings,
    plan_pairs,
    plan_pictures,
    plan_run,
)
from theodolite.models import ask_factory, ask_measurer
from theodolite.pairs.repeats import with_repeats
from theodolite.runs import Run


def run_plans(folder: Path, *, split: str, settings: Sequence[str], seed: int) -> Iterator[RunPlan]:
    """The runs on one data set: its questions and graphs, and the same with another scene's picture.

    Args:
        folder: The data set.
        split: Split of the data.
        settings: In which questions are asked.
        seed: Seed of the choice of other pictures.
    """
    data = read_data(folder)
    asked = Settings(qa=cast("Any", tuple(settings)))
    about = {"data": str(folder.absolute()), "split": split}
    name = split.replace(" ", "-")
    yield RunPlan(
        f"scene-{name}",
        "scene",
        {**about, "settings": [*settings, "graphs"]},
        partial(next_items, data, asked),
        ask_measurer,
        ask_factory,
        more=len(data.questions) if "predicted graph" in settings else 0,
    )
    yield RunPlan(
        f"scene-pictures-{name}",
        PICTURES,
        about,
        lambda _: plan_pictures(data, seed=seed),
        ask_measurer,
        ask_factory,
    )


def pairs_plan(folder: Path, *, name: str, split: str = "") -> RunPlan:
    """The run on a data set of pairs.

    Args:
        folder: From `theodolite.instruments.scene.data.pairs.write_pairs`.
        name: The name of the run.
        split: Split of the data; by default each question has its own.
    """
    return RunPlan(
        name,
        PAIRS,
        {"data": str(folder.absolute())},
        lambda run: with_repeats(
            plan_pairs(read_pairs(folder), split=split),
            lambda item: item.meta["condition"] == BEFORE,
            model=run.info.model,
        ),
        ask_measurer,
        ask_factory,
    )


def next_items(data: SceneData, settings: Settings, run: Run, *, seed: int = 0) -> Iterator[Item]:
    """The plan of a run, which grows when the model has given its graphs."""
    measured = ((result.item, result.record) for result in run.results())
    return plan_run(data, settings, measured, seed=seed)
