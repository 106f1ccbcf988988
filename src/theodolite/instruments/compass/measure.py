"""Measuring pairs with a white box: the answer and every relevance map, out of one shared pass."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from theodolite.attribution import (
    Attribution,
    RelevanceMap,
    attribute,
    check_targets,
    checkpoint_of,
    find_methods,
)
from theodolite.core.types import Choice, Item, Json, Record, Response
from theodolite.geometry import TokenGrid
from theodolite.models import VisionLanguageModel, open_model
from theodolite.runs import MeasurerFactory, Reuse

TARGETS = ("gt", "pred")


def attribution_factory(
    name: str, *, methods: Sequence[str] = ("all",), targets: Sequence[str] = TARGETS
) -> MeasurerFactory:
    """Opens the model and measures with it, wherever the factory is called."""
    return partial(_open_measurer, name, tuple(methods), tuple(targets))


def _open_measurer(name: str, methods: tuple[str, ...], targets: tuple[str, ...]) -> AttributionMeasurer:
    return AttributionMeasurer(open_model(name), methods, targets)


class AttributionMeasurer:
    """Items with a picture, options and a gold option become records with relevance maps."""

    reuse: Reuse = "never"

    def __init__(self, model: VisionLanguageModel, methods: Sequence[str], targets: Sequence[str]) -> None:
        checkpoint_of(model)  # says at once if the model is a black box
        self.model = model
        self.methods = [method.name for method in find_methods(methods)]
        self.targets = list(check_targets(targets))
        self.identity = f"{model.identity}|attribution|{'+'.join(self.methods)}|{'+'.join(self.targets)}"
        self.batch_size = (
            model.batch_size * 4
        )  # so that the next batch is made ready while the model works on one

    def measure(self, items: Sequence[Item]) -> list[Record]:
        """One record per item: the most probable option as the answer, maps and logits beside it."""
        found = attribute(
            self.model,
            [item.request for item in items],
            [item.options for item in items],
            methods=self.methods,
            targets=self.targets,
            gold=[cast("int", item.meta["gold"]) for item in items],
        )
        return [_record(item, each) for item, each in zip(items, found, strict=True)]

    def close(self) -> None:
        """Drops the model."""
        self.model.close()


def _record(item: Item, found: Attribution) -> Record:
    arrays: dict[str, NDArray[Any]] = {}
    text: dict[str, Json] = {}
    grids: dict[str, Json] = {}
    shapes: dict[bytes, str] = {}
    for each in found.maps:
        if each.picture:
            continue  # a pair has one picture
        key = map_key(each.method, each.target)
        shape = each.grid.rects_px.tobytes()
        if shape not in shapes:
            shapes[shape] = f"grid{len(shapes)}"
            arrays[f"{shapes[shape]}.rects"] = each.grid.rects_px.astype(np.float32)
            arrays[f"{shapes[shape]}.part"] = each.grid.part.astype(np.int16)
        arrays[key] = each.values
        text[key], grids[key] = each.text_mass, shapes[shape]
    choice = Choice(found.options, tuple(float(value) for value in found.log_probabilities))
    return Record(
        item.id,
        Response("answered", text=found.options[found.predicted], finish="choice"),
        choice,
        {"logits": [float(value) for value in found.logits], "text_mass": text, "grids": grids},
        arrays,
    )


def map_key(method: str, target: str) -> str:
    """The name of a map in a record.

    >>> map_key("chefer", "gt")
    'chefer@gt'
    """
    return f"{method}@{target}"


def stored_maps(record: Record, size_px: tuple[int, int]) -> dict[str, RelevanceMap]:
    """The maps of a record, by `map_key`."""
    text = cast("dict[str, float | None]", record.values["text_mass"])
    grids = cast("dict[str, str]", record.values["grids"])
    placed = {name: _grid(record, name, size_px) for name in set(grids.values())}
    found = {}
    for key, name in grids.items():
        method, _, target = key.partition("@")
        values = np.asarray(record.arrays[key], np.float32)
        found[key] = RelevanceMap(method, target, placed[name], values, text[key])
    return found


def _grid(record: Record, name: str, size_px: tuple[int, int]) -> TokenGrid:
    rects = np.asarray(record.arrays[f"{name}.rects"], np.float64)
    return TokenGrid(rects, *size_px, part=np.asarray(record.arrays[f"{name}.part"], np.int64))
