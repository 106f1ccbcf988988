"""Rows of the compass: each item with both boxes on its picture, relevance maps and shares by direction."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, cast

import numpy as np

from theodolite.attribution import RelevanceMap
from theodolite.core.views import HeatMap, Overlay
from theodolite.instruments.compass.formulas.dae import DegenerateError
from theodolite.instruments.compass.formulas.projection import SOUND, project
from theodolite.instruments.compass.measure import Sample, read_samples
from theodolite.instruments.compass.questions import PART_HIDDEN
from theodolite.runs import Result, Run

SHOWN = ("chefer", "contrastive-grad-act-sound", "grad-act-absolute")
"""The methods whose maps are shown."""
_CELLS = 16
_CARDINAL = {"right": 0.0, "above": 90.0, "left": 180.0, "below": 270.0}


def view_of(run: Run) -> Callable[[Result], dict[str, Any] | None]:
    """Return a function that gives the boxes and maps over an item's picture. Items with a hidden part are left out."""
    overlays = {sample.item_id: overlay(sample) for sample in read_samples(run)}

    def view(result: Result) -> dict[str, Any] | None:
        item = result.item
        if item.truth.condition.startswith(PART_HIDDEN):
            return None
        return {"overlay": overlays.get(item.id) or _boxes(cast("Mapping[str, Any]", item.meta))}

    return view


def overlay(sample: Sample) -> Overlay:
    """What is drawn over the picture of a measured pair."""
    maps, sectors = [], {}
    for key, relevance in sample.maps.items():
        method = key.partition("@")[0]
        if method in SHOWN:
            maps.append(heat_map(relevance, method))
            masses = sector_masses(relevance, sample)
            if masses is not None:
                sectors[method] = masses
    return Overlay(
        target=sample.target.name,
        reference=sample.reference.name,
        target_px=_corners(sample.target.box),
        reference_px=_corners(sample.reference.box),
        size_px=sample.size_px,
        sectors=sectors,
        maps=maps,
    )


def heat_map(relevance: RelevanceMap, name: str) -> HeatMap:
    """The map on a small grid over the whole picture, whatever its tiles."""
    heat = relevance.grid.paint(relevance.values)
    height, width = heat.shape
    rows, columns = min(_CELLS, height), min(_CELLS, width)
    down = np.add.reduceat(heat, np.arange(rows) * height // rows, axis=0)
    small = np.add.reduceat(down, np.arange(columns) * width // columns, axis=1)
    largest = float(np.abs(small).max()) or 1.0
    values = (small / largest).round(3)
    return HeatMap(name=name, values=values.tolist(), place_px=(0.0, 0.0, float(width), float(height)))


def sector_masses(relevance: RelevanceMap, sample: Sample) -> dict[str, float] | None:
    """The share of the map's mass in each of the four directions from the reference; None if it has no direction."""
    try:
        compass = project(relevance, reference=sample.reference.box, target=sample.target.box, options=SOUND)
    except DegenerateError:
        return None
    names = list(_CARDINAL)
    angles = np.array(list(_CARDINAL.values()))
    gaps = np.abs((compass.centres_deg[:, None] - angles + 180.0) % 360.0 - 180.0)  # (sectors, 4)
    nearest = gaps.argmin(axis=1)
    masses = np.bincount(nearest, weights=compass.distribution.reshape(-1), minlength=4)
    return dict(zip(names, masses.round(4).tolist(), strict=True))


def _boxes(meta: Mapping[str, Any]) -> Overlay:
    return Overlay(
        target=str(meta["target"]["name"]),
        reference=str(meta["reference"]["name"]),
        target_px=tuple(meta["target"]["box"]),
        reference_px=tuple(meta["reference"]["box"]),
        size_px=tuple(meta["size"]),
    )


def _corners(box: Any) -> tuple[float, float, float, float]:
    return float(box.x0), float(box.y0), float(box.x1), float(box.y1)
