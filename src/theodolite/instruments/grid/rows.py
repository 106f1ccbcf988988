"""Rows of the grid: each item with the cells of its scene, their roles, and explainers' maps."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, cast

import numpy as np

from theodolite.answers import Answer
from theodolite.core.scores import ItemScore
from theodolite.core.splits import ALIGNED
from theodolite.core.views import Cell, CellsView, HeatMap, ItemRow
from theodolite.instruments.grid.data.edits import EMPTIED, PLAIN
from theodolite.instruments.grid.data.files import SceneRecord, read_dataset
from theodolite.instruments.grid.data.world import World
from theodolite.instruments.grid.questions import EXPLAIN_RUN, read_answer
from theodolite.instruments.instrument import Place
from theodolite.instruments.rows import common, rounded, values_by_item, verdict
from theodolite.runs import Result, Run


def grid_rows(run: Run, place: Place, scores: Sequence[ItemScore]) -> Iterator[ItemRow]:
    """Every item of a run of any kind. Values and cells are shown of scenes without an edit."""
    values = values_by_item(scores)
    is_explained = run.info.instrument == EXPLAIN_RUN
    explained_split = scores[0].split if scores else ALIGNED
    views = _explained_views(run) if is_explained else _views(run)
    for result in run.results():
        meta = result.item.meta
        answer = None if is_explained else read_answer(result.item, result.record)
        said = _said(result, answer)
        scene = str(meta.get("scene") or result.item.name)
        split = explained_split if is_explained else str(meta.get("split") or "")
        condition = "explained" if is_explained else str(meta.get("condition") or PLAIN)
        gold = "" if condition == EMPTIED else str(meta.get("gold") or "")
        is_plain = condition in {PLAIN, "explained"}
        yield ItemRow(
            id=result.item.name,
            instrument="grid",
            model=run.info.model,
            split=split,
            cluster=scene,
            condition=condition,
            kind=str(meta.get("bucket") or ""),
            question=result.item.request.text,
            read_as=said,
            gold=gold,
            correct=verdict(said == gold if said and gold else None, condition),
            values=rounded(values.get((scene, split), {})) if is_plain else {},
            cells=views.get(scene) if is_plain else None,
            **common(result, place, answer=answer),
        )


def _said(result: Result, answer: Answer | None) -> str:
    """The answer as text; an explained answer is the most probable option, not text to read."""
    if answer is not None:
        return str(answer.value) if answer.is_read else ""
    record = result.record
    return record.response.text if record is not None and record.response.is_answered else ""


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
