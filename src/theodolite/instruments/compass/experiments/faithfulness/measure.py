"""Planning and measuring hidden sectors. Pictures are drawn when they are shown.

An item holds the pair's own picture and, as a hint, which sectors to hide. So a plan of a hundred masked pictures per pair
takes no space, and the hint is part of the key of a stored answer.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, cast

from theodolite.core.errors import UsageError
from theodolite.core.types import Item, Message, Picture, Record, Request
from theodolite.instruments.compass.experiments.faithfulness.hiding import RECIPE, Fill, Hiding
from theodolite.instruments.compass.experiments.faithfulness.trials import (
    FaithfulnessOptions,
    Trial,
    Trials,
    make_trials,
)
from theodolite.instruments.compass.measure import read_samples
from theodolite.models import VisionLanguageModel, ask_measurer, open_model
from theodolite.runs import MeasurerFactory, Reuse, Run

RUN_KIND = "compass-faithfulness"


@dataclass(frozen=True, slots=True)
class FaithfulnessPlan:
    """What is asked."""

    trials: Trials
    items: tuple[Item, ...]
    """Pair by pair: the whole picture, every single sector, then the deletion curves."""


def plan_faithfulness(run: Run, options: FaithfulnessOptions) -> FaithfulnessPlan:
    """The items of a second run that hides sectors of a compass run's pictures.

    Each set of hidden sectors is asked once, however many curves pass through it.

    Args:
        run: A compass run with maps.
        options: Which maps, fills and random orders.
    """
    trials = make_trials(read_samples(run), options)
    wanted = {trial.item_id for trial in trials.trials}
    asked = {result.item.id: result.item for result in run.results() if result.item.id in wanted}
    items = [
        item for trial in trials.trials for item in _items(trial, asked[trial.item_id], trials.keys, options)
    ]
    return FaithfulnessPlan(trials, tuple(items))


def source_of(run: Run) -> dict[str, str]:
    """Identifies the run with the maps; stored in the settings of the run that hides sectors."""
    return {"identity": run.info.identity, "created": run.info.created.isoformat()}


def faithfulness_settings(run: Run, options: FaithfulnessOptions) -> dict[str, Any]:
    """The settings of a run that hides sectors of another run's pictures."""
    return {"options": options.as_settings(), "source": source_of(run)}


def is_same_model(maps: Run, hidden: Run) -> bool:
    """True if both runs have the same model with the same settings."""
    explained = maps.info.identity.partition("|attribution|")[0]
    return hidden.info.identity == f"{explained}|choose|{RECIPE}"


def _items(trial: Trial, item: Item, keys: Sequence[str], options: FaithfulnessOptions) -> Iterator[Item]:
    planned: dict[tuple[str, frozenset[int]], None] = {("", frozenset()): None}
    for fill in options.fills:
        for sector in range(len(trial.shares)):
            planned[mask_key(trial, fill, (sector,))] = None
    for subset in trial.subsets(keys):
        planned[mask_key(trial, options.fills[0], subset)] = None
    for name, hidden in planned:
        fill = cast("Fill", name or options.fills[0])
        yield _item(item, replace(trial.hiding, hidden=tuple(sorted(hidden)), fill=fill))


def mask_key(trial: Trial, fill: str, hidden: Sequence[int] | frozenset[int]) -> tuple[str, frozenset[int]]:
    """Identifies a masked picture of a pair; if nothing visible is hidden, the fill does not matter."""
    effective = trial.effective(hidden)
    return (fill if effective else "", effective)


def _item(item: Item, hiding: Hiding) -> Item:
    words = "-".join(map(str, hiding.hidden))
    name = f"{hiding.fill}-{words}" if hiding.hidden else "whole"
    request = replace(
        item.request,
        ref=f"{item.request.ref}/{name}",
        hint={**item.request.hint, "hide": hiding.as_json()} if hiding.hidden else item.request.hint,
    )
    return Item(
        name=f"{item.name}/{name}",
        request=request,
        options=item.options,
        meta={
            "of": item.id,
            "fill": hiding.fill if hiding.hidden else "",
            "hidden": list(hiding.hidden),
            "cluster": item.meta["cluster"],
            "gold": item.meta["gold"],
        },
    )


def shown_request(request: Request) -> Request:
    """The request with the sectors of its hint hidden."""
    if "hide" not in request.hint:
        return request
    hiding = Hiding.from_json(cast("Mapping[str, Any]", request.hint["hide"]))
    return replace(
        request,
        messages=tuple(
            Message(
                message.role,
                tuple(hiding.draw(part) if isinstance(part, Picture) else part for part in message.content),
            )
            for message in request.messages
        ),
        hint={name: value for name, value in request.hint.items() if name != "hide"},
    )


def hiding_factory(name: str) -> MeasurerFactory:
    """Opens the model and measures with it, wherever the factory is called."""
    return partial(_open_measurer, name)


def _open_measurer(name: str) -> HidingMeasurer:
    return HidingMeasurer(open_model(name))


class HidingMeasurer:
    """The log-probabilities of an item's options, with the sectors of its hint hidden."""

    reuse: Reuse = "same request and hint"

    def __init__(self, model: VisionLanguageModel) -> None:
        """Takes a model that gives log-probabilities.

        Raises:
            UnsupportedError: The model does not.
        """
        self._inner = ask_measurer(model, "choose")
        self.identity = f"{self._inner.identity}|{RECIPE}"
        self.batch_size = self._inner.batch_size

    def measure(self, items: Sequence[Item]) -> list[Record]:
        """One record per item."""
        if any(not item.options for item in items):
            raise UsageError("hiding sectors needs items with options")
        drawn = [replace(item, request=shown_request(item.request)) for item in items]
        records = self._inner.measure(drawn)
        return [replace(record, item_id=item.id) for item, record in zip(items, records, strict=True)]

    def close(self) -> None:
        """Drops the model."""
        self._inner.close()
