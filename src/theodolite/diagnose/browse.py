"""Any run as rows that people browse, and as figures: runs of a diagnosis and runs of one's own. No model is called.

Rows of the four instruments come with what is drawn beside an item; those of others, and those whose data are gone, with
question, answer and outcome alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import numpy as np

from theodolite.core.errors import TheodoliteError
from theodolite.core.scores import Reading
from theodolite.core.types import Picture
from theodolite.diagnose.items import Cell, GridView, HeatMap, ItemRow
from theodolite.diagnose.reading import _by_item, _rows, readings_of, readouts_of
from theodolite.diagnose.record import Figure, InstrumentName
from theodolite.diagnose.rows import Home, common
from theodolite.diagnose.table import mean_of
from theodolite.runs import Result, Run

__all__ = ["INSTRUMENTS", "Browsed", "RunFigure", "browse", "data_of"]

INSTRUMENTS: Mapping[str, InstrumentName] = {
    "compass": "compass",
    "grid": "grid",
    "grid-anchors": "grid",
    "grid-behaviour": "grid",
    "grid-explain": "grid",
    "scene": "scene",
    "scene-pictures": "scene",
    "trace": "trace",
}
"""Which instrument a run belongs to, by what its ``run.json`` says."""
_READ = {"compass", "grid-anchors", "grid-behaviour", "grid-explain", "scene", "scene-pictures", "trace"}
"""Runs that have readouts."""
_DRAWN = _READ - {"grid-explain"}
"""Runs whose rows the instruments' own modules make."""

Place = Callable[[Picture], str]
"""Takes a picture in, and says under which name it can be had."""


@dataclass(frozen=True, slots=True)
class RunFigure:
    """The mean of one readout over the items of one split, whole clusters resampled."""

    key: str
    name: str
    origin: str
    split: str
    figure: Figure


@dataclass(frozen=True, slots=True)
class Browsed:
    """A run, ready to be shown."""

    rows: list[ItemRow]
    figures: list[RunFigure]
    notes: list[str]
    """What could not be shown, and why."""


@dataclass(frozen=True, slots=True)
class _Placed(Home):
    """Rows name pictures as the caller wants them named; nothing is written."""

    place: Place

    def picture(self, picture: Picture) -> str:
        """The name that the caller gives it."""
        return self.place(picture)


def data_of(run: Run) -> list[Path]:
    """The files and folders that a run says its data lie in, beside its own folder."""
    told = run.info.settings.get("data")
    values = list(told.values()) if isinstance(told, Mapping) else [told]
    return [Path(value) for value in values if isinstance(value, str) and value]


def browse(run: Run, place: Place, *, seed: int = 0, may_read_data: bool = True) -> Browsed:
    """A run as rows and figures.

    Args:
        run: of any instrument, finished or not.
        place: of pictures.
        seed: of the bootstrap.
        may_read_data: whether the data that the run names may be opened: scenes from above, and claims of steps, need them.
    """
    kind, home = run.info.instrument, _Placed(run.folder, place)
    notes: list[str] = []
    readings: list[Reading] = []
    if kind in _READ and may_read_data:
        try:
            readings = readings_of(INSTRUMENTS[kind], [run.folder])
        except TheodoliteError as error:
            notes.append(f"no readouts: {error}")
    rows: list[ItemRow] | None = None
    if kind in _DRAWN and may_read_data:
        try:
            drawn = _rows(INSTRUMENTS[kind])(run, home, _by_item(readings))
            waiting = {result.item.name for result in run.results() if result.record is None}
            rows = [_pending(row) if row.id in waiting else row for row in drawn]
        except TheodoliteError as error:
            notes.append(f"items are shown without what belongs to them: {error}")
    if rows is None:
        views = _explained_views(run) if kind == "grid-explain" and may_read_data else {}
        rows = [_plain_row(result, run, home, views) for result in run.results()]
    return Browsed(rows, figures_of(readings, seed=seed) or _accuracies(rows, kind, seed=seed), notes)


def _pending(row: ItemRow) -> ItemRow:
    """An item that was not asked yet has not failed: the run goes on."""
    return row.model_copy(update={"status": "pending", "reason": ""})


def figures_of(readings: Sequence[Reading], *, seed: int) -> list[RunFigure]:
    """The mean of every readout on every split; a readout of fewer than two clusters has none."""
    columns: dict[tuple[str, str], list[Reading]] = {}
    for reading in readings:
        columns.setdefault((reading.readout, reading.split), []).append(reading)
    known = {
        readout.key: readout for name in {key.partition(".")[0] for key, _ in columns} for readout in readouts_of(name)  # type: ignore[arg-type]  # keys begin with an instrument
    }  # fmt: skip
    found = []
    for (key, split), some in columns.items():
        clusters = [reading.cluster for reading in some]
        if key in known and len(set(clusters)) > 1:
            figure = mean_of(np.array([reading.value for reading in some]), clusters, seed=seed)
            found.append(RunFigure(key, known[key].name, known[key].origin, split, Figure.of(figure)))
    return found


def _accuracies(rows: Sequence[ItemRow], kind: str, *, seed: int) -> list[RunFigure]:
    """The share of right answers in each condition, where nothing more is known."""
    found = []
    for condition in dict.fromkeys(row.condition for row in rows):
        some = [row for row in rows if row.condition == condition and row.correct is not None]
        clusters = [row.cluster for row in some]
        if len(set(clusters)) > 1:
            figure = mean_of(np.array([float(bool(row.correct)) for row in some]), clusters, seed=seed)
            name = "right answers" if condition == "plain" else f"right answers, {condition}"
            key = f"{kind.partition('-')[0]}.accuracy"
            found.append(RunFigure(key, name, "ours", "", Figure.of(figure)))
    return found


def _plain_row(result: Result, run: Run, home: Home, views: Mapping[str, GridView]) -> ItemRow:
    meta = cast("Mapping[str, Any]", result.item.meta)
    said = _said(result, run.info.instrument)
    gold = _gold(meta)
    fields = common(result, home, is_read=said is not None or run.info.instrument not in {"ask", "grid"})
    if result.record is None:
        fields |= {"status": "pending", "reason": ""}
    condition = str(meta.get("setting") or meta.get("condition") or "plain")
    return ItemRow.model_construct(
        id=result.item.name,
        instrument=INSTRUMENTS.get(run.info.instrument, run.info.instrument),
        model=run.info.model,
        split=str(meta.get("split") or run.info.settings.get("split") or ""),
        cluster=str(meta.get("cluster") or meta.get("scene") or meta.get("episode") or result.item.name),
        condition="plain" if condition in {"picture", "base"} else condition,
        kind=str(meta.get("group") or meta.get("bucket") or meta.get("kind") or ""),
        question=result.item.request.text,
        read_as=said or "",
        gold=gold,
        correct=said == gold if said is not None and gold else None,
        grid=views.get(result.item.name),
        **fields,
    )


def _gold(meta: Mapping[str, Any]) -> str:
    gold = meta.get("gold")
    if isinstance(gold, int) and isinstance(meta.get("directions"), list):
        return str(meta["directions"][gold])
    return "" if gold is None or isinstance(gold, dict | list) else str(gold)


def _said(result: Result, kind: str) -> str | None:
    """What was said, by the instrument's own reader; None where there is none, or nothing to read."""
    record = result.record
    if record is None or not record.response.is_answered:
        return None
    if kind in {"grid", "grid-explain"}:
        from theodolite.instruments.grid.experiments.accuracy import said_of

        return said_of(record)
    if kind == "ask":
        from theodolite.instruments.ask.parse import parse_answer

        options = result.item.meta.get("options") or []
        answer = parse_answer(record.response.text, cast("list[str]", options))
        return answer.value if answer.status == "parsed" else None
    return None


def _explained_views(run: Run) -> dict[str, GridView]:
    """The grid of every explained scene with the maps of its explainers."""
    from theodolite.instruments.grid.data.files import read_dataset

    folder = next(iter(data_of(run)), None)
    if folder is None or not folder.is_dir():
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
        views[record.id] = GridView(
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
