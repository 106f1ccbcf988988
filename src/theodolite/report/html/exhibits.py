"""Pairs that are shown as examples: both pictures with their answers, and a relevance map if there is one."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from urllib.parse import quote

from theodolite.core.views import HeatMap, ItemRow
from theodolite.diagnose.record import ExhibitForm, ShownAnswer
from theodolite.report.html.items import Take

__all__ = ["Exhibit", "Shown", "exhibit"]

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
class Shown:
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

    form: ExhibitForm
    before: Shown
    after: Shown

    @property
    def why(self) -> str:
        """The rule by which it was chosen, without the outcome, which is shown before it."""
        return self.form.why.removeprefix(f"{self.form.outcome}, ").removeprefix("as ")


def exhibit(
    form: ExhibitForm, place: tuple[str, str], take: Take, inside: Mapping[str, str], row_of: FindRow
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
) -> Shown:
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
    return Shown(
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
