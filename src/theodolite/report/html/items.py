"""The data of the item browser: a short row per item, and details in chunks that are read on demand."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path
from typing import Any
from urllib.parse import quote

from theodolite.core.views import UNSEEN, HeatMap, ItemRow
from theodolite.diagnose.record import PairExample, ShownAnswer
from theodolite.report.glossary import Glossary
from theodolite.report.html.page import DataBlock, render_page
from theodolite.report.html.parts import Pictures, Series, into_page
from theodolite.runs import write_atomically

__all__ = [
    "Exhibit",
    "ShownSide",
    "exhibit",
    "write_label_page",
]


CHUNK = 100
_LONGEST = 400
"""Maximum length of an answer in the list. The detail view shows all of it."""
_IN_ROW = {"id", "instrument", "model", "split", "condition", "kind", "question", "answer", "gold", "correct", "status", "values", "pictures", "read_as"}  # fmt: skip

_MODEL, _SPLIT, _VALUES = 2, 3, 11
"""Indices of fields in a row."""

Take = Callable[[str], "tuple[str, int, int] | None"]
"""Function from the name of a picture in a row to its name in the page and its size. None if it cannot be shown."""


@dataclass
class ItemTable:
    """The items of a page."""

    names: Mapping[str, str]
    """Names of metrics, by key."""
    models: dict[str, int] = field(default_factory=dict)
    """Models with their indices."""
    metrics: dict[str, int] = field(default_factory=dict)
    rows: list[list[Any]] = field(default_factory=list)
    details: list[dict[str, Any]] = field(default_factory=list)

    def add(self, item: ItemRow, take: Take) -> None:
        """Add an item."""
        row, detail = self.parts(item, take)
        self.rows.append(row)
        self.details.append(detail)

    def parts(self, item: ItemRow, take: Take) -> tuple[list[Any], dict[str, Any]]:
        """Return the row and the details of an item. The order of the fields in a row is that of ``list.js``."""
        pictures = [taken for name in item.pictures if (taken := take(name)) is not None]
        detail = item.model_dump(mode="json", exclude_defaults=True, exclude=_IN_ROW)
        detail["pictures"] = pictures
        if len(item.answer) > _LONGEST:
            detail["answer"] = item.answer
        if item.pictures and not pictures:
            detail["picture_note"] = "The picture could not be read."
        row = [
            item.id,
            item.instrument,
            self.models.setdefault(item.model, len(self.models)),
            item.split,
            item.condition,
            item.kind,
            item.question,
            item.answer[:_LONGEST],
            item.gold,
            None if item.correct is None or item.condition in UNSEEN else int(item.correct),
            item.status,
            [
                part
                for key, value in item.values.items()
                for part in (self.metrics.setdefault(key, len(self.metrics)), round(value, 5))
            ],
            pictures[0][0] if pictures else "",
            item.read_as,
        ]
        return row, detail

    def values(self, key: str, split: str) -> dict[str, list[float]]:
        """Return the item scores of one metric on one split, by model."""
        number = self.metrics.get(key)
        found: dict[str, list[float]] = {}
        models = list(self.models)
        for row in self.rows:
            if row[_SPLIT] == split and number in row[_VALUES][::2]:
                place = row[_VALUES][::2].index(number)
                found.setdefault(models[row[_MODEL]], []).append(row[_VALUES][2 * place + 1])
        return found

    def index(self, glossary: Glossary) -> dict[str, Any]:
        """Return the data of the list."""
        series = Series(self.models)
        return {
            "models": list(self.models),
            "short": [series.name(model) for model in self.models],
            "metrics": [
                {"key": key, "name": self.names.get(key, key), "anchor": glossary.anchor(key)}
                for key in self.metrics
            ],
            "rows": self.rows,
            "chunk": CHUNK,
            "pictures": "pictures/",
        }

    def blocks(self, glossary: Glossary, inside: Mapping[str, str]) -> list[DataBlock]:
        """Return the data blocks of the page. `inside` are embedded pictures."""
        found = [DataBlock("items-index", self.index(glossary))]
        found += [
            DataBlock(f"items-{i // CHUNK}", self.details[i : i + CHUNK])
            for i in range(0, len(self.details), CHUNK)
        ]
        return [*found, DataBlock("items-pictures", dict(inside))] if inside else found


def item_table(items: Iterable[ItemRow], names: Mapping[str, str], *, take: Take) -> ItemTable:
    """Build the table of all items of a page."""
    table = ItemTable(names)
    for item in items:
        table.add(item, take)
    return table


def in_words(counts: Sequence[tuple[int, str]]) -> str:
    """Format the counts that are not zero.

    >>> in_words([(3, "answered"), (0, "refused"), (1, "failed")])
    '3 answered, 1 failed'
    """
    return ", ".join(f"{count} {word}" for count, word in counts if count) or "none"


# Pairs that are shown as examples: both pictures with their answers, and a relevance map if there is one.


_FAINT = 0.02
_DEEPEST = 0.78
_MOST_PICTURES = 4

FindRow = Callable[[str], "ItemRow | None"]
"""Function from the id of a row to the row."""


@dataclass(frozen=True, slots=True)
class HeatCell:
    """A cell of a relevance map, in pixels of the picture."""

    x: float
    y: float
    width: float
    height: float
    opacity: float
    is_positive: bool


@dataclass(frozen=True, slots=True)
class ShownPicture:
    """A picture with a relevance map."""

    source: str
    width: int
    height: int
    heat: tuple[HeatCell, ...] = ()
    method: str = ""
    """The relevance method. Empty if there is no map."""


@dataclass(frozen=True, slots=True)
class ShownSide:
    """One side of a pair."""

    pictures: tuple[ShownPicture, ...]
    answer: str
    gold: str
    is_right: bool | None
    """None if the answer could not be read."""
    link: str
    """The item in the browser of items."""


@dataclass(frozen=True, slots=True)
class Exhibit:
    """One pair."""

    form: PairExample
    before: ShownSide
    after: ShownSide

    @property
    def why(self) -> str:
        """The rule by which it was chosen, without the outcome, which is shown before it."""
        return self.form.why.removeprefix(f"{self.form.outcome}, ").removeprefix("as ")


def exhibit(
    form: PairExample, place: tuple[str, str], take: Take, inside: Mapping[str, str], row_of: FindRow
) -> Exhibit:
    """Prepare an exhibit for the page.

    Args:
        form: The exhibit in the record.
        place: Instrument and model.
        take: Function that adds a picture to the page.
        inside: Pictures that are embedded in the page, by name.
        row_of: Function that finds the row of an item.
    """
    return Exhibit(
        form,
        _shown(form.before, place, take, inside, row_of),
        _shown(form.after, place, take, inside, row_of),
    )


def _shown(
    side: ShownAnswer, place: tuple[str, str], take: Take, inside: Mapping[str, str], row_of: FindRow
) -> ShownSide:
    row = row_of(side.item)
    heat = row.overlay.maps[0] if row is not None and row.overlay is not None and row.overlay.maps else None
    pictures = []
    for name in _spaced(side.pictures):
        taken = take(name)
        if taken is not None:
            stored, width, height = taken
            source = inside.get(stored, f"pictures/{stored}")
            pictures.append(
                ShownPicture(source, width, height, _cells(heat), heat.name if heat is not None else "")
            )
    return ShownSide(
        tuple(pictures),
        side.read_as or " ".join(side.answer.split())[:120],
        side.gold,
        None if row is None or not row.read_as else row.correct,
        f"#item={quote('/'.join((*place, side.item)))}",
    )


def _spaced(names: list[str]) -> list[str]:
    """Choose at most four pictures of a video, evenly spaced.

    >>> _spaced(list("abcdefg"))
    ['a', 'c', 'e', 'g']
    """
    if len(names) <= _MOST_PICTURES:
        return names
    step = (len(names) - 1) / (_MOST_PICTURES - 1)
    return [names[round(i * step)] for i in range(_MOST_PICTURES)]


def _cells(heat: HeatMap | None) -> tuple[HeatCell, ...]:
    if heat is None or not heat.values:
        return ()
    x0, y0, x1, y1 = heat.place_px
    width, height = (x1 - x0) / len(heat.values[0]), (y1 - y0) / len(heat.values)
    return tuple(
        HeatCell(
            round(x0 + column * width, 2),
            round(y0 + row * height, 2),
            round(width, 2),
            round(height, 2),
            round(_DEEPEST * min(abs(value), 1.0), 3),
            value > 0,
        )
        for row, line in enumerate(heat.values)
        for column, value in enumerate(line)
        if abs(value) >= _FAINT
    )


# A page on which a person labels claims. It opens from disk and saves the file that `theodolite trace annotate` scores.


def write_label_page(rows: Sequence[Mapping[str, Any]], path: Path) -> dict[str, str]:
    """Write the page, with the pictures in it.

    Args:
        rows: The claims, those of one step one after the other.
        path: The page. What it saves has the same name, as ``.jsonl``.

    Returns:
        Pictures that cannot be shown, with the reason.
    """
    inside: dict[str, str] = {}
    pictures = Pictures(into_page(inside), is_small=True)
    steps, first = [], 0
    for _, group in groupby(rows, key=lambda row: row["id"].rpartition("/")[0]):
        own = list(group)
        shown = [taken[0] for name in own[0]["pictures"] if (taken := pictures.take(Path(name)))]
        step = {"sentence": own[0]["sentence"], "frames": own[0]["frames"], "pictures": shown}
        steps.append({**step, "first": first, "last": (first := first + len(own))})
    key = hashlib.sha256(json.dumps(rows).encode()).hexdigest()[:16]
    name = path.with_suffix(".jsonl").name
    task = {"key": key, "name": name, "rows": rows, "steps": steps, "inside": inside, "pictures": ""}
    page = render_page("labels.html", {"name": name}, data=[DataBlock("labels", task)])
    write_atomically(path, page.encode())
    return pictures.missing
