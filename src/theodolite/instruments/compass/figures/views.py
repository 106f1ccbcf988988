"""What the figures of single pairs show, taken from a run's samples."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from theodolite.core.errors import UsageError
from theodolite.core.types import Pixels
from theodolite.instruments.compass.data.pairs import Region
from theodolite.instruments.compass.formulas.baselines import uniform_compass
from theodolite.instruments.compass.formulas.compass import Compass
from theodolite.instruments.compass.formulas.projection import project
from theodolite.instruments.compass.formulas.projection_options import PROJECTIONS
from theodolite.instruments.compass.formulas.token_map import OnGrid
from theodolite.instruments.compass.measure import Sample, map_key, shown_key


@dataclass(frozen=True, slots=True, eq=False)
class CompassView:
    """What a figure shows of one pair."""

    pixels: Pixels
    reference: Region
    target: Region
    relevance: OnGrid
    """One map: values (tokens,) on its grid."""
    compass: Compass
    """Its projection: one distribution with its truth."""
    layout: Compass | None = None
    """The uniform map's projection, drawn behind it."""
    method: str = ""
    """The map's name."""
    projection: str = ""
    """The projection's name."""
    note: str = ""
    """Further facts, such as truth and answer."""

    def __post_init__(self) -> None:
        if self.compass.shape or self.compass.true_deg is None:
            raise UsageError(
                f"a view shows one compass with its truth; got the shape {self.compass.shape}; "
                "index it, and project with target=…"
            )

    @property
    def headline(self) -> str:
        """Label and error in words."""
        return f"{self.compass.labels()[()]} · DAE {float(self.compass.error_deg()):.0f}°"


def find_sample(samples: Sequence[Sample], item: str) -> Sample:
    """A sample by its pair's id, its item's id, or its place from 1.

    Raises:
        UsageError: There is none, or several.
    """
    named = [sample for sample in samples if item in {sample.id, sample.item_id}]
    if len(named) > 1:
        asked = ", ".join(f"{sample.item_id} ({sample.prompt}, {sample.condition})" for sample in named)
        raise UsageError(f"the pair {item!r} was asked {len(named)} times; name one of the items {asked}")
    if named:
        return named[0]
    if item.isdecimal() and 1 <= int(item) <= len(samples):
        return samples[int(item) - 1]
    if not samples:
        raise UsageError("the run holds no measured pair")
    raise UsageError(
        f"there is no pair {item!r} in the run; it holds {len(samples)}, by place 1 to {len(samples)}, "
        f"by id such as {samples[0].id}"
    )


def view_of(sample: Sample, *, method: str, target: str, projection: str) -> CompassView:
    """The view of one map of a sample.

    Raises:
        UsageError: The sample has no such map.
    """
    key = next((k for k in (map_key(method, target), map_key(method, "")) if k in sample.maps), None)
    if key is None:
        held = ", ".join(sorted(map(shown_key, sample.maps)))
        raise UsageError(f"the pair {sample.id} holds no map {map_key(method, target)}; it holds: {held}")
    options = PROJECTIONS[projection]
    relevance = sample.maps[key]
    a, b = sample.reference.box, sample.target.box
    mark = "✓" if sample.is_correct else "×"
    side = sample.direction
    where = f"{side} of" if side.rsplit(maxsplit=1)[-1] in {"left", "right"} else side
    return CompassView(
        pixels=sample.picture.pixels(),
        reference=sample.reference,
        target=sample.target,
        relevance=relevance,
        compass=project(relevance, reference=a, target=b, options=options),
        layout=uniform_compass([relevance.grid], references=[a], targets=[b], options=options)[0],
        method=shown_key(key),
        projection=f"{projection} projection",
        note=f"B is {where} A; answer: {sample.directions[sample.predicted]} {mark}",
    )


def facts_of(sample: Sample, view: CompassView) -> dict[str, object]:
    """A view in numbers."""
    compass = view.compass
    return {
        "pair": sample.id,
        "item": sample.item_id,
        "map": view.method,
        "projection": view.projection,
        "distribution": [round(float(share), 6) for share in compass.distribution],
        "peak_deg": float(compass.peak_deg()),
        "true_deg": float(np.asarray(compass.true_deg)),
        "error_deg": float(compass.error_deg()),
        "label": str(compass.labels()[()]),
        "answer": sample.directions[sample.predicted],
        "truth": sample.direction,
    }
