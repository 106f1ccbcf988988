"""The world of the grid: cells, sixteen classes of objects, directions, buckets of questions, answers.

This module and the generator need numpy only.
"""

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

MOST_ANCHORS = 4
MOST_SIDES = 2

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


@dataclass(frozen=True, slots=True)
class Bucket:
    """One kind of question: question type, form and depth. Density is a property of the scene."""

    qtype: Literal["A", "SO", "CO", "M", "CMP"]
    form: int
    """0: count or compare. 1: existence."""
    depth: int

    @property
    def key(self) -> str:
        """Such as ``M-F0-D2``."""
        return f"{self.qtype}-F{self.form}-D{self.depth}"

    @property
    def is_comparison(self) -> bool:
        """True if two groups of targets are compared."""
        return self.qtype == "CMP"

    @property
    def is_count(self) -> bool:
        """True if the answer is a number."""
        return self.form == 0 and not self.is_comparison

    @property
    def sides(self) -> int:
        """The number of groups of targets."""
        return 2 if self.is_comparison else 1

    @property
    def anchors_per_side(self) -> int:
        """The number of relations that restrict each group of targets."""
        if self.is_comparison:
            return self.depth - 1
        return 0 if self.qtype == "A" else self.depth

    @property
    def n_anchors(self) -> int:
        """The number of anchors of the question."""
        return self.sides * self.anchors_per_side

    @property
    def is_relational(self) -> bool:
        """True if the question has a direction. Without one, both modes are the same."""
        return self.n_anchors > 0


def _buckets() -> tuple[Bucket, ...]:
    found = [Bucket("A", form, 1) for form in (0, 1)]
    found += [Bucket(q, form, depth) for q in ("SO", "CO") for depth in (1, 2) for form in (0, 1)]
    found += [Bucket("M", form, depth) for depth in (1, 2, 3) for form in (0, 1)]
    return (*found, *(Bucket("CMP", 0, depth) for depth in (1, 2, 3)))


BUCKETS = _buckets()
"""All 19 buckets, in the order of their indices."""
BUCKET_KEYS = tuple(bucket.key for bucket in BUCKETS)
_INDEX = {key: index for index, key in enumerate(BUCKET_KEYS)}

ANCHOR_SIDE = np.array(
    [
        [1 + k // b.anchors_per_side if k < b.n_anchors else 0 for k in range(MOST_ANCHORS)]
        if b.n_anchors
        else [0] * 4
        for b in BUCKETS
    ],
    np.uint8,
)
"""``ANCHOR_SIDE[bucket, k]``: the group of targets that anchor k restricts, 1 or 2; 0 where there is no anchor k."""


def bucket_index(key: str) -> int:
    """The index of a bucket by its key.

    >>> BUCKETS[bucket_index("CMP-F0-D3")].n_anchors
    4
    """
    if key not in _INDEX:
        raise UsageError(f"there is no bucket {key!r}; there are: {', '.join(BUCKET_KEYS)}")
    return _INDEX[key]
