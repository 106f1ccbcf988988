"""Measures the relevance of frames in a white-box model. Plain runs are measured by `theodolite.models.ask_factory`."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from theodolite.attribution import Attribution, attribute, checkpoint_of
from theodolite.core.errors import UsageError
from theodolite.core.types import Item, Record, Response
from theodolite.models import VisionLanguageModel, open_model
from theodolite.runs import MeasurerFactory, Reuse

BASELINES = {
    "attention": "attention-rollout",
    "gradient": "grad-act-absolute",
    "attention × gradient": "chefer",
}
"""Baseline -> the relevance method behind it. All of them give non-negative relevance."""


def relevance_factory(name: str) -> MeasurerFactory:
    """Opens a model and measures with it, wherever the factory is called."""
    return partial(_open_measurer, name)


def _open_measurer(name: str) -> RelevanceMeasurer:
    return RelevanceMeasurer(open_model(name))


class RelevanceMeasurer:
    """Measures the relevance of each frame and of the text, for items with lettered options."""

    reuse: Reuse = "never"

    def __init__(self, model: VisionLanguageModel) -> None:
        checkpoint_of(model)  # raises for a black box
        self.model = model
        self.batch_size = model.batch_size
        self.identity = f"{model.identity}|frames|{'+'.join(BASELINES.values())}"

    def measure(self, items: Sequence[Item]) -> list[Record]:
        """One record per item. Items with the same number of options are measured together."""
        found: dict[str, Record] = {}
        by_size: dict[int, list[Item]] = defaultdict(list)
        for item in items:
            by_size[len(item.options)].append(item)
        for group in by_size.values():
            for item, each in zip(group, self._attributed(group), strict=True):
                found[item.id] = each if isinstance(each, Record) else _record(item, each)
        return [found[item.id] for item in items]

    def _attributed(self, items: Sequence[Item]) -> list[Attribution | Record]:
        """All at once; one by one if that fails, so that only the items at fault fail."""
        try:
            return [*self._attribute(items)]
        except UsageError as error:
            if len(items) == 1:
                return [Record(items[0].id, Response.failed(str(error)))]
        return [each for item in items for each in self._attributed([item])]

    def _attribute(self, items: Sequence[Item]) -> list[Attribution]:
        return attribute(
            self.model,
            [item.request for item in items],
            [item.options for item in items],
            methods=tuple(BASELINES.values()),
            targets=("pred",),
        )

    def close(self) -> None:
        """Closes the model."""
        self.model.close()


def _record(item: Item, found: Attribution) -> Record:
    values: dict[str, Any] = {}
    for method in BASELINES.values():
        maps = sorted((each for each in found if each.method == method), key=lambda each: each.picture)
        values[method] = {
            "frames": [float(each.values.sum(dtype=np.float64)) for each in maps],
            "text": maps[0].text_mass,
        }
    return Record(
        item.id, Response("answered", text=found.options[found.predicted], finish="choice"), values=values
    )
