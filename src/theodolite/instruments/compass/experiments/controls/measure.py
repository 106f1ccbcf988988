"""Measuring items that may say themselves whose logits to explain: one model, one measurer per list of targets."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import cast

from theodolite.core.types import Item, Record
from theodolite.instruments.compass.measure import TARGETS, AttributionMeasurer
from theodolite.models import VisionLanguageModel, open_model
from theodolite.runs import MeasurerFactory, Reuse


def controls_factory(
    name: str, *, methods: Sequence[str] = ("all",), targets: Sequence[str] = TARGETS
) -> MeasurerFactory:
    """Opens the model and measures controls with it, wherever the factory is called."""
    return partial(_open_measurer, name, tuple(methods), tuple(targets))


def _open_measurer(name: str, methods: tuple[str, ...], targets: tuple[str, ...]) -> ControlMeasurer:
    return ControlMeasurer(open_model(name), methods, targets)


class ControlMeasurer:
    """An `AttributionMeasurer` for each list of targets: an item's own (``meta["targets"]``), or the common one."""

    reuse: Reuse = "never"

    def __init__(self, model: VisionLanguageModel, methods: Sequence[str], targets: Sequence[str]) -> None:
        self._common = AttributionMeasurer(model, methods, targets)
        self._by_targets = {tuple(self._common.targets): self._common}
        self.identity = f"{self._common.identity}|controls"
        self.batch_size = self._common.batch_size

    def measure(self, items: Sequence[Item]) -> list[Record]:
        """One record per item, in order."""
        groups: dict[tuple[str, ...], list[int]] = {}
        for i, item in enumerate(items):
            own = cast("list[str]", item.meta.get("targets") or self._common.targets)
            groups.setdefault(tuple(own), []).append(i)
        found: dict[int, Record] = {}
        for targets, places in groups.items():
            if targets not in self._by_targets:
                self._by_targets[targets] = AttributionMeasurer(
                    self._common.model, self._common.methods, targets
                )
            records = self._by_targets[targets].measure([items[i] for i in places])
            found |= dict(zip(places, records, strict=True))
        return [found[i] for i in range(len(items))]

    def close(self) -> None:
        """Drops the model."""
        self._common.close()
