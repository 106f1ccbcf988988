"""Rows of the grid: the cells of a scene with their roles, and explainers' maps."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, cast

import numpy as np

from theodolite.core.truth import PLAIN
from theodolite.core.views import Cell, CellsView, HeatMap
from theodolite.instruments.grid.data.files import SceneRecord, read_dataset
from theodolite.instruments.grid.data.world import World
from theodolite.instruments.grid.questions import EXPLAIN_RUN, EXPLAINED
from theodolite.instruments.rows import View
from theodolite.runs import Result, Run


def grid_view(run: Run) -> View:
    """Return a function that gives the cells of a scene as it is, with the maps of its explainers."""
    views = _explained_views(run) if run.info.instrument == EXPLAIN_RUN else _views(run)

    def view(result: Result) -> dict[str, Any]:
        item, record = result.item, result.record
        if item.meta.get("kind") == "cross":  # a matrix of outputs, not an answer to be read
            return {"status": record.response.status, "reason": record.response.reason} if record else {}
        is_shown = item.truth.condition in {PLAIN, EXPLAINED}
        return {"cells": views.get(item.subject)} if is_shown else {}

    return view


def _views(run: Run) -> dict[str, CellsView]:
    """By scene, from the data of the run; none if the data are gone."""
    data = run.info.settings.get("data")
    folders = cast("Mapping[str, str]", data) if isinstance(data, Mapping) else {}
    found: dict[str, CellsView] = {}
    for split, folder in folders.items():
        if Path(folder).is_dir():
            stored = read_dataset(folder)
            world = stored.plan.recipe.world
            found |= {f"{split}/{record.id}": _view(record, world) for record in stored.records}
    return found


def _view(record: SceneRecord, world: World, **maps: Any) -> CellsView:
    cells = [
        Cell(
            row=int(thing["cell"]) // world.columns,
            column=int(thing["cell"]) % world.columns,
            name=str(thing["name"]),
            role=str(thing["role"]),
        )
        for thing in record.objects
    ]
    return CellsView(rows=world.rows, columns=world.columns, cells=cells, words=record.words, **maps)


def _explained_views(run: Run) -> dict[str, CellsView]:
    """The grid of every explained scene, with the maps of its explainers."""
    folder = Path(str(run.info.settings.get("data", "")))
    if not folder.is_dir():
        return {}
    data = read_dataset(folder)
    world = data.plan.recipe.world
    width, height = world.size_px
    records = {record.id: record for record in data.records}
    views = {}
    for result in run.results(arrays=True):
        record = records.get(result.item.name)
        if record is None or result.record is None:
            continue
        arrays = result.record.arrays
        maps = [
            HeatMap(
                name=name,
                values=_scaled(arrays[f"cells@{name}"].reshape(world.rows, world.columns)),
                place_px=(0.0, 0.0, float(width), float(height)),
            )
            for name in _explainers(arrays, "cells")
        ]
        word_masses = {
            name: _shares(arrays[f"words@{name}"][: len(record.words)])
            for name in _explainers(arrays, "words")
        }
        views[record.id] = _view(record, world, maps=maps, word_masses=word_masses)
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
