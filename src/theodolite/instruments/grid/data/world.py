"""The world of the grid: cells, sixteen classes of objects, directions, answers. It and the generator need numpy only."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from functools import lru_cache
from typing import Any, Literal, Self, TypeAlias, cast

import numpy as np
from numpy.typing import NDArray

from theodolite.core.errors import UsageError

Cells: TypeAlias = NDArray[np.uint8]
"""Class ids, 0 for an empty cell, shape ``(scenes, rows * columns)``, row by row from the top left."""
Flags: TypeAlias = NDArray[np.bool_]
Integers: TypeAlias = NDArray[np.int64]
Rows: TypeAlias = NDArray[np.integer] | NDArray[np.bool_] | slice

Mode: TypeAlias = Literal["pure", "spur"]
"""``pure``: look-alikes of the target outside the valid region. ``spur``: none, so a bag of words is always right."""

COLOURS = ("red", "green", "blue", "yellow")
SHAPES = ("circle", "square", "triangle", "pentagon")
N_CLASSES = len(COLOURS) * len(SHAPES)

DIRECTIONS = ("", "left of", "right of", "above", "below")
"""By direction id; 0 is no relation."""
OPPOSITE = np.array([0, 2, 1, 4, 3], np.uint8)
"""The opposite of each direction."""

COLOUR_OF = np.array([0, *(1 + i // len(SHAPES) for i in range(N_CLASSES))], np.uint8)
"""Colour of each class, 1 to 4; 0 for an empty cell."""
SHAPE_OF = np.array([0, *(1 + i % len(SHAPES) for i in range(N_CLASSES))], np.uint8)
"""Shape of each class, 1 to 4; 0 for an empty cell."""

_KINDS = 1 + max(len(COLOURS), len(SHAPES))


class RowTable:
    """A frozen dataclass of arrays with one row per scene; other fields belong to all rows."""

    __slots__ = ()

    def take(self, rows: Rows) -> Self:
        """Some of the rows, in the order of `rows`."""
        columns = self.columns()
        taken = {
            name: value.take(rows) if isinstance(value, RowTable) else value[rows]
            for name, value in columns.items()
        }
        return cast("Self", replace(cast("Any", self), **taken))

    @classmethod
    def concatenate(cls, tables: Sequence[Self]) -> Self:
        """The rows of all tables; other fields are those of the first."""
        columns = [table.columns() for table in tables]
        joined = {
            name: value.concatenate([each[name] for each in columns])
            if isinstance(value, RowTable)
            else np.concatenate([each[name] for each in columns])
            for name, value in columns[0].items()
        }
        return cast("Self", replace(cast("Any", tables[0]), **joined))

    def columns(self) -> dict[str, Any]:
        """The fields with one row per scene."""
        found = {each.name: getattr(self, each.name) for each in fields(cast("Any", self))}
        return {name: value for name, value in found.items() if isinstance(value, np.ndarray | RowTable)}


def kind_code(colour: int | NDArray[np.integer], shape: int | NDArray[np.integer]) -> NDArray[np.uint8]:
    """A description as one number, from a colour and a shape (1 to 4, or 0 for any).

    >>> int(kind_code(1, 0)), MATCHES[kind_code(1, 0)].sum()  # four red classes
    (5, np.int64(4))
    """
    return np.asarray(np.asarray(colour) * _KINDS + np.asarray(shape), np.uint8)


def _matches() -> Flags:
    codes = np.arange(_KINDS * _KINDS)
    colour, shape = (codes // _KINDS)[:, None], (codes % _KINDS)[:, None]
    fits = ((colour == 0) | (colour == COLOUR_OF)) & ((shape == 0) | (shape == SHAPE_OF))
    return np.asarray(fits & (np.arange(N_CLASSES + 1) > 0))


MATCHES = _matches()
"""``MATCHES[kind, class]``: True if an object of the class fits the description. An empty cell fits none."""


def class_name(class_id: int) -> str:
    """The name of a class; ``empty`` for 0.

    >>> class_name(1), class_name(16), class_name(0)
    ('red circle', 'yellow pentagon', 'empty')
    """
    if class_id == 0:
        return "empty"
    return f"{COLOURS[COLOUR_OF[class_id] - 1]} {SHAPES[SHAPE_OF[class_id] - 1]}"


@dataclass(frozen=True, slots=True)
class World:
    """The size of the grid, which also fixes the list of answers."""

    rows: int = 5
    columns: int = 5
    cell_px: int = 64
    max_count: int = 0
    """The largest count among the answers; by default ``int(0.7 · cells)``, 17 on a 5×5 grid."""

    def __post_init__(self) -> None:
        if min(self.rows, self.columns) < 2 or max(self.rows, self.columns) > 32:
            raise UsageError(f"a grid has 2 to 32 rows and columns, not {self.rows}×{self.columns}")
        if self.cell_px < 8:
            raise UsageError(
                f"a cell needs at least 8 pixels to show a shape with its outline, not {self.cell_px}"
            )
        if self.max_count < 0:
            raise UsageError(f"the largest count cannot be negative, got {self.max_count}")
        if self.max_count == 0:
            object.__setattr__(self, "max_count", int(0.7 * self.n_cells))

    @property
    def n_cells(self) -> int:
        """Rows times columns."""
        return self.rows * self.columns

    @property
    def size_px(self) -> tuple[int, int]:
        """Width and height of a picture."""
        return self.columns * self.cell_px, self.rows * self.cell_px

    @property
    def answers(self) -> tuple[str, ...]:
        """The answer vocabulary: the counts, then yes and no.

        >>> World().answers[-3:], len(World().answers)
        (('17', 'yes', 'no'), 20)
        """
        return (*map(str, range(self.max_count + 1)), "yes", "no")

    @property
    def yes(self) -> int:
        """The index of the answer yes. The answer no follows it."""
        return self.max_count + 1

    def box_px(self, cell: int) -> tuple[int, int, int, int]:
        """The box of a cell in the picture: left, top, right, bottom (exclusive).

        >>> World().box_px(7)
        (128, 64, 192, 128)
        """
        row, column = divmod(int(cell), self.columns)
        left, top = column * self.cell_px, row * self.cell_px
        return left, top, left + self.cell_px, top + self.cell_px


@lru_cache(maxsize=16)
def offsets(rows: int, columns: int) -> NDArray[np.int8]:
    """How far each cell lies in a direction from an anchor, in cells: ``offsets[direction, anchor, cell]``.

    A cell is left of an anchor if its column is smaller by at least one: V = {cell: offset ≥ 1}, a whole half-plane.
    For direction 0 every offset is large, so a missing relation always holds.
    """
    row, column = np.divmod(np.arange(rows * columns), columns)
    right = column[None, :] - column[:, None]
    below = row[None, :] - row[:, None]
    table = np.stack([np.full_like(right, 100), -right, right, -below, below]).astype(np.int8)
    table.setflags(write=False)
    return table
