"""Pictures of scenes, assembled from one tile per class.

A tile looks the same in every cell and stays inside it, so a picture is ``atlas[cells]``, and class ids can be read back
from pixels.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from theodolite.core.errors import UsageError
from theodolite.instruments.grid.data.world import COLOUR_OF, N_CLASSES, SHAPE_OF, SHAPES, Cells, World

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
    """The tiles of all classes, (17, cell_px, cell_px, 3); tile 0 is empty. Edges are anti-aliased."""
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
    """Signed distance of each pixel's centre to the shape's edge, in pixels, negative inside."""
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


def render(world: World, cells: Cells, *, out: NDArray[np.uint8] | None = None) -> NDArray[np.uint8]:
    """Pictures of scenes, (n, height, width, 3).

    Args:
        world: The grid.
        cells: Class ids, (n, cells).
        out: An array to write into. In a loop, reuse one: allocating costs more than drawing.

    >>> render(World(), np.zeros((1, 25), np.uint8)).shape
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


def read_cells(world: World, pixels: NDArray[np.uint8]) -> Cells:
    """Class ids from one picture, (cells,): the tile nearest to each cell in mean absolute difference.

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
    found = np.array([_class_of(tile.tobytes(), px) for tile in tiles])
    if found.min() < 0:
        cell = int(found.argmin())
        raise UsageError(
            f"cell {cell} (row {cell // world.columns + 1}) of the picture shows none of the sixteen objects"
        )
    return found.astype(np.uint8)


@lru_cache(maxsize=256)
def _class_of(tile: bytes, px: int) -> int:
    """The class of the object in a cell; 0 if it is empty, −1 if it shows no object. Most cells of a data set look the same."""
    pixels = np.frombuffer(tile, np.uint8).reshape(px, px, 3).astype(np.int16)
    apart = abs(atlas(px).astype(np.int16) - pixels).mean(axis=(1, 2, 3))
    return int(apart.argmin()) if apart.min() <= _NEAR else _class_by_form(pixels)


def _class_by_form(pixels: NDArray[np.int16]) -> int:
    """The class of an object of any size and paint; grey lines and a light background do not matter."""
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
