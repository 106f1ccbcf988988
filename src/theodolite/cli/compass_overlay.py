"""``theodolite compass overlay``: one pair of a run as a picture."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import numpy as np
import typer

from theodolite.cli import options as o
from theodolite.cli.console import note, print_json
from theodolite.core.drawing import Drawing
from theodolite.core.errors import UsageError
from theodolite.instruments.compass.figures.overlay import (
    CompassView,
    compass_overlay,
    compass_rows,
    heat_map,
    polar_plot,
)
from theodolite.instruments.compass.formulas.baselines import uniform_map
from theodolite.instruments.compass.formulas.distribution import Compass
from theodolite.instruments.compass.formulas.projection import project
from theodolite.instruments.compass.formulas.projection_options import PAPER, SOUND
from theodolite.instruments.compass.measure import map_key
from theodolite.instruments.compass.samples import Sample, read_samples
from theodolite.runs import Run

_PROJECTIONS = {"paper": PAPER, "sound": SOUND}

_FIGURES = {
    "overlay": compass_overlay,
    "heat": heat_map,
    "polar": polar_plot,
}


def overlay(  # noqa: PLR0913, PLR0917 - one parameter per option
    run: o.RunFolder,
    items: Annotated[
        list[str],
        typer.Argument(
            metavar="ITEM…",
            help="A pair's id, an item's id, or its place in the run from 1; several make rows.",
        ),
    ],
    out: Annotated[Path, typer.Option("--out", metavar="PNG", help="The file: PNG, SVG or PDF.")],
    method: Annotated[str, typer.Option("--method", help="Whose map.")] = "chefer",
    target: Annotated[str, typer.Option("--target", metavar="gt|pred", help="Whose logit.")] = "gt",
    projection: Annotated[
        str, typer.Option("--projection", metavar="paper|sound", help="How the map becomes a compass.")
    ] = "paper",
    figure: Annotated[
        str, typer.Option("--figure", metavar="overlay|heat|polar|row", help="What to draw.")
    ] = "overlay",
    json: o.AsJson = False,
) -> None:
    """Draw a pair's compass on its picture: wedges, the peak's arrow and the true one."""
    if projection not in _PROJECTIONS:
        raise UsageError(f"--projection takes {' or '.join(_PROJECTIONS)}, not {projection!r}")
    if figure not in {*_FIGURES, "row"}:
        raise UsageError(f"--figure takes {', '.join(_FIGURES)} or row, not {figure!r}")
    if len(items) > 1 and figure != "row":
        raise UsageError(f"{len(items)} items make rows: say --figure row, or name one item")
    with Run.open(run) as opened:
        samples = list(read_samples(opened))
    chosen = [_find(samples, item) for item in items]
    views = [_view(sample, method=method, target=target, projection=projection) for sample in chosen]
    drawing: Drawing = compass_rows(views) if figure == "row" else _FIGURES[figure](views[0])
    path = drawing.save(out)
    if json:
        print_json(
            {"figure": str(path), "pairs": [_facts(*pair) for pair in zip(chosen, views, strict=True)]}
        )
    else:
        note(f"wrote {path}")


def _find(samples: Sequence[Sample], item: str) -> Sample:
    """A sample by its pair's id, its item's id or its place."""
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


def _view(sample: Sample, *, method: str, target: str, projection: str) -> CompassView:
    key = next((k for k in (map_key(method, target), map_key(method, "")) if k in sample.maps), None)
    if key is None:
        held = ", ".join(sorted(name.removesuffix("@") for name in sample.maps))
        raise UsageError(f"the pair {sample.id} holds no map {map_key(method, target)}; it holds: {held}")
    options = _PROJECTIONS[projection]
    relevance = sample.maps[key]
    a, b = sample.reference.box, sample.target.box
    compass = project(relevance, reference=a, target=b, options=options)
    layout: Compass = project(
        uniform_map(relevance.grid), reference=a, target=b, options=replace(options, by_area=False)
    )
    answer = sample.directions[sample.predicted]
    mark = "✓" if sample.is_correct else "×"
    return CompassView(
        pixels=sample.picture.pixels(),
        reference=sample.reference,
        target=sample.target,
        relevance=relevance,
        compass=compass,
        layout=layout,
        method=key.rstrip("@"),
        projection=f"{projection} projection",
        note=f"B is {_in_words(sample.direction)} A; answer: {answer} {mark}",
    )


def _in_words(direction: str) -> str:
    return f"{direction} of" if direction.rsplit(maxsplit=1)[-1] in {"left", "right"} else direction


def _facts(sample: Sample, view: CompassView) -> dict[str, object]:
    compass = view.compass
    return {
        "pair": sample.id,
        "item": sample.item_id,
        "map": view.method,
        "projection": view.projection,
        "distribution": [round(float(share), 6) for share in compass.distribution],
        "peak_deg": float(compass.peak_deg()),
        "true_deg": float(np.asarray(compass.true_deg)),
        "dae_deg": float(compass.dae_deg()),
        "label": str(compass.labels()[()]),
        "answer": sample.directions[sample.predicted],
        "truth": sample.direction,
    }
