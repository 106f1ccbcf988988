"""Rows of the grid: the cells with what each is to the question."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, cast

from theodolite.diagnose.items import Cell, GridView, ItemRow
from theodolite.diagnose.rows import Home, Values, common, rounded, verdict
from theodolite.instruments.grid.data.files import read_dataset
from theodolite.instruments.grid.experiments.accuracy import said_of
from theodolite.runs import Run


def grid_rows(run: Run, home: Home, values: Values) -> Iterator[ItemRow]:
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
            grid=views.get(scene) if is_plain else None,
            **common(result, home, is_read=said is not None),
        )


def _views(run: Run) -> dict[str, GridView]:
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
            found[f"{split}/{record.id}"] = GridView(
                rows=world.rows, columns=world.columns, cells=cells, words=record.words
            )
    return found
