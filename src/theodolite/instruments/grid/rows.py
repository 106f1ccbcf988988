"""Rows of the grid: the cells with what each is to the question."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, cast

import numpy as np

from theodolite.core.splits import ALIGNED
from theodolite.core.views import Cell, CellsView, HeatMap, ItemRow
from theodolite.instruments.grid.data.files import read_dataset
from theodolite.instruments.grid.experiments.accuracy import said_of
from theodolite.instruments.instrument import Place
from theodolite.instruments.rows import Values, common, rounded, verdict
from theodolite.runs import Run


def grid_rows(run: Run, place: Place, values: Values) -> Iterator[ItemRow]:
    """Every item of a run; the cells are shown of scenes as they are."""
    views = _views(run)
    for result in run.results():
        meta = cast("Mapping[str, Any]", result.item.meta)
        record = result.record
        said = said_of(record) if record is not None and record.response.is_answered else None
        split, scene = str(meta["split"]), str(meta["scene"])
        is_plain = meta["condition"] == "plain"
        yield ItemRow(
            id=result.item.name,
            instrument="grid",
            model=run.info.model,
            split=split,
            cluster=scene,
            condition=str(meta["condition"]),
            kind=str(meta["bucket"]),
            question=result.item.request.text,
            read_as=said or "",
            gold=str(meta["gold"]) if meta["condition"] != "emptied" else "",
            correct=verdict(None if said is None else said == meta["gold"], str(meta["condition"])),
            values=rounded(values.get((scene, split), {})) if is_plain else {},
            cells=views.get(scene) if is_plain else None,
            **common(result, place, is_read=said is not None),
        )


def _views(run: Run) -> dict[str, CellsView]:
    """By scene, from the data that the run was planned of; none of data that are gone."""
    found = {}
    for split, folder in cast("Mapping[str, str]", run.info.settings["data"]).items():
        if not Path(folder).is_dir():
            continue
        data = read_dataset(folder)
        world = data.plan.recipe.world
        for record in data.records:
            cells = [
                Cell(
                    row=int(thing["cell"]) // world.columns,
                    column=int(thing["cell"]) % world.columns,
                    name=str(thing["name"]),
                    role=str(thing["role"]),
                )
                for thing in record.objects
            ]
            found[f"{split}/{record.id}"] = CellsView(
                rows=world.rows, columns=world.columns, cells=cells, words=record.words
            )
    return found


def explained_rows(run: Run, place: Place, values: Values) -> Iterator[ItemRow]:
    """Explained scenes with the maps of every explainer."""
    views = _explained_views(run)
    for row in plain_grid_rows(run, place, values):
        yield row.model_copy(
            update={
                "condition": "explained",
                "split": ALIGNED,
                "cells": views.get(row.id),
                "values": rounded(values.get((row.id, ALIGNED), {})),
            }
        )


def plain_grid_rows(run: Run, place: Place, values: Values) -> Iterator[ItemRow]:
    """Scenes that were only asked about."""
    for result in run.results():
        meta, record = result.item.meta, result.record
        said = said_of(record) if record is not None and record.response.is_answered else None
        gold = str(meta.get("gold") or "")
        yield ItemRow(
            id=result.item.name,
            instrument="grid",
            model=run.info.model,
            split=str(meta.get("split") or ""),
            cluster=result.item.name,
            kind=str(meta.get("bucket") or ""),
            question=result.item.request.text,
            read_as=said or "",
            gold=gold,
            correct=said == gold if said is not None and gold else None,
            values=rounded(values.get((result.item.name, ""), {})),
            **common(result, place, is_read=said is not None),
        )


def _explained_views(run: Run) -> dict[str, CellsView]:
    """The grid of every explained scene with the maps of its explainers."""
    folder = Path(str(run.info.settings.get("data", "")))
    if not folder.is_dir():
        return {}
    data = read_dataset(folder)
    world = data.plan.recipe.world
    records = {record.id: record for record in data.records}
    views = {}
    for result in run.results(arrays=True):
        record = records.get(result.item.name)
        if record is None or result.record is None:
            continue
        arrays = result.record.arrays
        size = _size(record.objects, world.rows, world.columns)
        views[record.id] = CellsView(
            rows=world.rows,
            columns=world.columns,
            cells=[
                Cell(
                    row=int(thing["cell"]) // world.columns,
                    column=int(thing["cell"]) % world.columns,
                    name=str(thing["name"]),
                    role=str(thing["role"]),
                )
                for thing in record.objects
            ],
            words=record.words,
            word_masses={
                name: _shares(arrays[f"words@{name}"][: len(record.words)])
                for name in _explainers(arrays, "words")
            },
            maps=[
                HeatMap(name=name, values=_scaled(arrays[f"cells@{name}"].reshape(world.rows, world.columns)), place_px=(0.0, 0.0, *size))
                for name in _explainers(arrays, "cells")
            ],
        )  # fmt: skip
    return views


def _explainers(arrays: Mapping[str, Any], kind: str) -> Iterator[str]:
    return (name.partition("@")[2] for name in arrays if name.startswith(f"{kind}@"))


def _scaled(values: Any) -> list[list[float]]:
    largest = float(np.abs(values).max()) or 1.0
    rows: list[list[float]] = (values / largest).round(3).tolist()
    return rows


def _shares(values: Any) -> list[float]:
    positive = np.clip(values, 0.0, None)
    shares: list[float] = (positive / (float(positive.sum()) or 1.0)).round(4).tolist()
    return shares


def _size(objects: Sequence[Mapping[str, Any]], rows: int, columns: int) -> tuple[float, float]:
    """Width and height of the picture, from the box of any of its cells."""
    for thing in objects:
        x0, _, x1, _ = thing["box_px"]
        return float((x1 - x0) * columns), float((x1 - x0) * rows)
    return 1.0, 1.0
