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
        """Return some of the rows, in the order of `rows`."""
        columns = self.columns()
        taken = {
            name: value.take(rows) if isinstance(value, RowTable) else value[rows]
            for name, value in columns.items()
        }
        return cast("Self", replace(cast("Any", self), **taken))

    @classmethod
    def concatenate(cls, tables: Sequence[Self]) -> Self:
        """Return the rows of all tables; other fields are those of the first."""
        columns = [table.columns() for table in tables]
        joined = {
            name: value.concatenate([table[name] for table in columns])
            if isinstance(value, RowTable)
            else np.concatenate([table[name] for table in columns])
            for name, value in columns[0].items()
        }
        return cast("Self", replace(cast("Any", tables[0]), **joined))

    def columns(self) -> dict[str, Any]:
        """Return the fields with one row per scene."""
        values = {column.name: getattr(self, column.name) for column in fields(cast("Any", self))}
        return {name: value for name, value in values.items() if isinstance(value, np.ndarray | RowTable)}


def kind_code(colour: int | NDArray[np.integer], shape: int | NDArray[np.integer]) -> NDArray[np.uint8]:
    """Return a description as one number, from a colour and a shape (1 to 4, or 0 for any).

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
    """Return the name of a class; ``empty`` for 0.

    >>> class_name(1), class_name(16), class_name(0)
    ('red circle', 'yellow pentagon', 'empty')
    """
    if class_id == 0:
        return "empty"
    return f"{COLOURS[COLOUR_OF[class_id] - 1]} {SHAPES[SHAPE_OF[class_id] - 1]}"


@dataclass(frozen=True, slots=True)
class GridShape:
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

        >>> GridShape().answers[-3:], len(GridShape().answers)
        (('17', 'yes', 'no'), 20)
        """
        return (*map(str, range(self.max_count + 1)), "yes", "no")

    @property
    def yes(self) -> int:
        """The index of the answer yes. The answer no follows it."""
        return self.max_count + 1

    def box_px(self, cell: int) -> tuple[int, int, int, int]:
        """Return the box of a cell in the picture: left, top, right, bottom (exclusive).

        >>> GridShape().box_px(7)
        (128, 64, 192, 128)
        """
        row, column = divmod(int(cell), self.columns)
        left, top = column * self.cell_px, row * self.cell_px
        return left, top, left + self.cell_px, top + self.cell_px


@lru_cache(maxsize=16)
def offsets(rows: int, columns: int) -> NDArray[np.int8]:
    """Return how far each cell lies in a direction from an anchor, in cells: ``offsets[direction, anchor, cell]``.

    A cell is left of an anchor if its column is smaller by at least one: V = {cell: offset ≥ 1}, a whole half-plane.
    For direction 0 every offset is large, so a missing relation always holds.
    """
    row, column = np.divmod(np.arange(rows * columns), columns)
    right = column[None, :] - column[:, None]
    below = row[None, :] - row[:, None]
    table = np.stack([np.full_like(right, 100), -right, right, -below, below]).astype(np.int8)
    table.setflags(write=False)
    return table


# Pictures of scenes, assembled from one tile per class.


PAINTS = np.array([[255, 255, 255], [226, 52, 44], [46, 158, 76], [42, 96, 214], [250, 204, 36]], np.float64)
"""RGB of the background and of the four colours."""
OUTLINE = np.array([16, 16, 16], np.float64)
PADDING = 0.1
"""White margin on each side, as a share of the cell's side."""
OUTLINE_PX = 2.0
"""Width of the outline in a cell of 64 pixels; it scales with the cell."""

_NEAR = 8
"""Mean difference of a cell from its tile, at most, in levels of 255."""
_COLOURED, _DARK, _LEAST_AREA = 60, 80, 0.05
_BOX_SHARES = {"triangle": 0.5, "pentagon": 0.691, "circle": 0.785, "square": 1.0}
"""The share of its bounding box that each shape fills: ½, 2.378 / (1.902 · 1.809), π/4 and 1."""


@lru_cache(maxsize=8)
def atlas(cell_px: int = 64) -> NDArray[np.uint8]:
    """Draw the tiles of all classes, (17, cell_px, cell_px, 3); tile 0 is empty. Edges are anti-aliased."""
    tiles = np.empty((N_CLASSES + 1, cell_px, cell_px, 3), np.uint8)
    outline = max(1.0, OUTLINE_PX * cell_px / 64)
    for class_id in range(N_CLASSES + 1):
        outside = _distance(int(SHAPE_OF[class_id]), cell_px)
        shape = np.clip(0.5 - outside, 0, 1)[..., None]
        inner = np.clip(0.5 - (outside + outline), 0, 1)[..., None]
        paint = PAINTS[COLOUR_OF[class_id]]
        tiles[class_id] = np.rint(PAINTS[0] * (1 - shape) + OUTLINE * (shape - inner) + paint * inner)
    tiles.setflags(write=False)
    return tiles


def _distance(shape: int, cell_px: int) -> NDArray[np.float64]:
    """Return the signed distance of each pixel's centre to the shape's edge, in pixels, negative inside."""
    centre = cell_px / 2
    reach = centre - PADDING * cell_px
    y, x = np.mgrid[0:cell_px, 0:cell_px] + 0.5 - centre
    if shape == 0:
        return np.full((cell_px, cell_px), np.inf)
    if shape == 1:
        return np.asarray(np.hypot(x, y) - reach)
    if shape == 2:
        return np.asarray(np.maximum(abs(x), abs(y)) - 0.9 * reach)
    corners = 3 if shape == 3 else 5
    # A regular polygon that points up, with its bounding box centred in the cell.
    height, width = 1 + np.cos(np.pi / corners), 2 * np.sin(2 * np.pi / corners)
    radius = 2 * reach / max(height, width)
    shift = radius * (1 - height / 2)
    normals = np.pi / 2 + np.pi / corners + 2 * np.pi * np.arange(corners) / corners
    edges = [x * np.cos(a) - (y - shift) * np.sin(a) - radius * np.cos(np.pi / corners) for a in normals]
    return np.asarray(np.max(edges, axis=0))


def render(world: GridShape, cells: Cells, *, out: NDArray[np.uint8] | None = None) -> NDArray[np.uint8]:
    """Draw pictures of scenes, (n, height, width, 3).

    Args:
        world: The grid.
        cells: Class ids, (n, cells).
        out: An array to write into. In a loop, reuse one: allocating costs more than drawing.

    >>> render(GridShape(), np.zeros((1, 25), np.uint8)).shape
    (1, 320, 320, 3)
    """
    if cells.ndim != 2 or cells.shape[1] != world.n_cells:
        raise UsageError(
            f"a {world.rows}×{world.columns} grid has {world.n_cells} cells a scene, got shape {cells.shape}"
        )
    n, px = len(cells), world.cell_px
    shape = (n, world.rows * px, world.columns * px, 3)
    if out is None:
        out = np.empty(shape, np.uint8)
    elif out.shape != shape or out.dtype != np.uint8 or not out.flags.c_contiguous:
        raise UsageError(
            f"`out` must be a contiguous uint8 array of shape {shape}, got {out.dtype} of {out.shape}"
        )
    lines = atlas(px).reshape((N_CLASSES + 1) * px, 3 * px)
    # One line of a tile is contiguous in the picture: picture line (row, y) is made of lines cells[row, :] · px + y.
    first = cells.reshape(n, world.rows, 1, world.columns).astype(np.intp) * px
    index = first + np.arange(px).reshape(1, 1, px, 1)
    np.take(lines, index, axis=0, mode="clip", out=out.reshape(*index.shape, 3 * px))
    return out


def read_cells(world: GridShape, pixels: NDArray[np.uint8]) -> Cells:
    """Read class ids from one picture, (cells,): the tile nearest to each cell in mean absolute difference.

    A cell that looks like no tile was drawn by another program; it is read by its colour and form.

    Raises:
        UsageError: The picture has another size, or a cell shows none of the objects.
    """
    width, height = world.size_px
    if pixels.shape != (height, width, 3):
        raise UsageError(
            f"a picture of this grid is {width}×{height} pixels, got {pixels.shape[1]}×{pixels.shape[0]}"
        )
    px = world.cell_px
    tiles = pixels.reshape(world.rows, px, world.columns, px, 3).swapaxes(1, 2).reshape(world.n_cells, -1)
    classes = np.array([_class_of(tile.tobytes(), px) for tile in tiles])
    if classes.min() < 0:
        cell = int(classes.argmin())
        raise UsageError(
            f"cell {cell} (row {cell // world.columns + 1}) of the picture shows none of the sixteen objects"
        )
    return classes.astype(np.uint8)


@lru_cache(maxsize=256)
def _class_of(tile: bytes, px: int) -> int:
    """Return the class of the object in a cell; 0 if it is empty, −1 if it shows no object.

    The result is cached, since most cells of a data set look the same.
    """
    pixels = np.frombuffer(tile, np.uint8).reshape(px, px, 3).astype(np.int16)
    apart = abs(atlas(px).astype(np.int16) - pixels).mean(axis=(1, 2, 3))
    return int(apart.argmin()) if apart.min() <= _NEAR else _class_by_form(pixels)


def _class_by_form(pixels: NDArray[np.int16]) -> int:
    """Return the class of an object of any size and paint, ignoring grey lines and a light background."""
    spread = pixels.max(axis=2) - pixels.min(axis=2)
    is_painted = spread > _COLOURED
    is_object = is_painted | (pixels.max(axis=2) < _DARK)
    if is_painted.sum() < max(0.5 * is_object.sum(), _LEAST_AREA * is_object.size):
        return -1
    red, green, blue = np.median(pixels[is_painted], axis=0)
    if blue >= max(red, green):
        colour = 2
    else:
        colour = 3 if min(red, green) > max(red, green) / 2 else int(green > red)
    rows, columns = np.flatnonzero(is_object.any(axis=1)), np.flatnonzero(is_object.any(axis=0))
    share = is_object.sum() / ((rows[-1] - rows[0] + 1) * (columns[-1] - columns[0] + 1))
    shape = min(_BOX_SHARES, key=lambda name: abs(_BOX_SHARES[name] - share))
    return 1 + len(SHAPES) * colour + SHAPES.index(shape)
