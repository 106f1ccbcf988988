"""The data of the item browser: a short row per item, and details in chunks that are read on demand."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from theodolite.core.views import UNSEEN, ItemRow
from theodolite.report.html.definitions import Glossary
from theodolite.report.html.page import DataBlock
from theodolite.report.html.series import Series

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
