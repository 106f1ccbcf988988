"""Parts of pictures hidden: what replaces the pixels, the raster on which maps are compared, and occlusion.

Every method has its own grid: patches, merged patches, tiles with a thumbnail. To hide as much by each of them, a map is
first spread over a raster of equal cells, which covers the part of the picture that the model sees.
"""

from __future__ import annotations

import io
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias, get_args

import numpy as np
from numpy.typing import NDArray

from theodolite.core.errors import UsageError
from theodolite.core.types import Picture, Pixels
from theodolite.geometry import TokenGrid, lattice

Fill: TypeAlias = Literal["grey", "blur"]
"""What replaces hidden pixels: middle grey, or a strong blur of the picture."""

FILLS: tuple[Fill, ...] = get_args(Fill)
GREY = 128
BLUR_SHARE = 0.04
"""The blur's standard deviation over the picture's diagonal: 32 pixels in a picture of 640 × 480. The CREG paper gives
none."""
CELLS = 256
"""Cells of a raster, about."""
WINDOWS = 64
"""Parts of a picture that occlusion hides, about."""


def filling(pixels: Pixels, fill: Fill) -> Pixels:
    """Return a picture of the same size that holds what hidden pixels become."""
    if fill == "grey":
        return np.full_like(pixels, GREY)
    from PIL import Image, ImageFilter

    height, width = pixels.shape[:2]
    blur = ImageFilter.GaussianBlur(BLUR_SHARE * math.hypot(width, height))
    return np.asarray(Image.fromarray(pixels).filter(blur))


@dataclass(frozen=True, slots=True)
class Raster:
    """Equal cells over the part of a picture that a model sees."""

    shape: tuple[int, int]
    """Rows and columns."""
    region_px: tuple[float, float, float, float]
    """The part that it covers: x0, y0, x1, y1."""
    size_px: tuple[int, int]
    """Width and height of the picture."""

    @classmethod
    def over(
        cls, size_px: tuple[int, int], region_px: tuple[float, float, float, float], cells: int = CELLS
    ) -> Raster:
        """Create a raster of about as many cells, which are as square as possible.

        >>> Raster.over((400, 100), (0, 0, 400, 100), 64).shape
        (4, 16)
        """
        x0, y0, x1, y1 = region_px
        width, height = max(x1 - x0, 1.0), max(y1 - y0, 1.0)
        side = math.sqrt(width * height / cells)
        shape = max(1, min(round(height / side), cells)), max(1, min(round(width / side), cells))
        return cls(shape, region_px, size_px)

    @classmethod
    def seen_by(cls, grid: TokenGrid, cells: int = CELLS) -> Raster:
        """Create a raster over what the tokens of a grid cover of the picture.

        Raises:
            UsageError: If no token has a place in the picture.
        """
        rects = grid.rects_px[grid.has_place]
        width, height = grid.width_px, grid.height_px
        if not len(rects):
            raise UsageError("no token of this model has a place in the picture")
        region = (
            float(max(0.0, rects[:, 0].min())),
            float(max(0.0, rects[:, 1].min())),
            float(min(width, rects[:, 2].max())),
            float(min(height, rects[:, 3].max())),
        )
        return cls.over((width, height), region, cells)

    @property
    def n_cells(self) -> int:
        """Number of cells."""
        return self.shape[0] * self.shape[1]

    @property
    def grid(self) -> TokenGrid:
        """The cells as a token grid, row by row."""
        return TokenGrid.regular(self.size_px, self.shape, self.region_px)

    def spread(self, grid: TokenGrid, values: NDArray[np.floating]) -> NDArray[np.float64]:
        """Spread each token's value evenly over the cells that it covers, (rows, columns).

        >>> raster = Raster.over((40, 20), (0, 0, 40, 20), 8)
        >>> raster.spread(TokenGrid.regular((40, 20), (1, 2)), np.array([4.0, 8.0])).tolist()
        [[1.0, 1.0, 2.0, 2.0], [1.0, 1.0, 2.0, 2.0]]
        """
        rows, columns = self.shape
        x0, y0, x1, y1 = self.region_px
        across, down = columns / (x1 - x0), rows / (y1 - y0)
        rects = (grid.rects_px - [x0, y0, x0, y0]) * [across, down, across, down]
        return TokenGrid(rects, columns, rows, grid.part).paint(np.where(grid.has_place, values, 0.0))

    def pixels_of(self, cells: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Return the pixels whose centres lie in some cells, (height, width)."""
        width, height = self.size_px
        x0, y0, x1, y1 = self.region_px
        rows, columns = self.shape
        column = np.floor((np.arange(width) + 0.5 - x0) / (x1 - x0) * columns).astype(np.int64)
        row = np.floor((np.arange(height) + 0.5 - y0) / (y1 - y0) * rows).astype(np.int64)
        inside = ((row >= 0) & (row < rows))[:, None] & ((column >= 0) & (column < columns))[None, :]
        chosen = cells[np.clip(row, 0, rows - 1)][:, np.clip(column, 0, columns - 1)]
        return np.asarray(chosen & inside)


def hide(pixels: Pixels, hidden: NDArray[np.bool_], filled: Pixels) -> Picture:
    """Return the picture with some pixels replaced by those of another, in memory and not compressed."""
    from PIL import Image

    buffer = io.BytesIO()
    # It is decoded at once, and compressing it would take longer than a small model's answer. Servers get a PNG.
    Image.fromarray(np.where(hidden[..., None], filled, pixels)).save(buffer, format="BMP")
    return Picture.from_bytes(buffer.getvalue())


def rank_cells(amounts: Sequence[NDArray[np.float64]]) -> list[NDArray[np.int64]]:
    """Rank the cells of several pictures together, 0 for the largest amount; of equal ones the first in order."""
    flat = np.concatenate([each.ravel() for each in amounts])
    order = np.argsort(-flat, kind="stable")
    rank = np.empty(len(flat), np.int64)
    rank[order] = np.arange(len(flat))
    parts = np.split(rank, np.cumsum([each.size for each in amounts])[:-1])
    return [part.reshape(each.shape) for part, each in zip(parts, amounts, strict=True)]


@dataclass(frozen=True, slots=True, eq=False)
class Windows:
    """The parts of some pictures that occlusion hides, one after the other.

    Windows are squares of two by two cells and overlap by one; a cell has the mean of the windows that cover it. What
    speaks against the answer counts as zero.
    """

    rasters: tuple[Raster, ...]
    """Of each picture."""
    covered: tuple[NDArray[np.bool_], ...]
    """The cells of each window, by picture, (windows, rows, columns)."""

    @classmethod
    def over(
        cls,
        sizes_px: Sequence[tuple[int, int]],
        regions_px: Sequence[tuple[float, float, float, float]],
        windows: int = WINDOWS,
    ) -> Windows:
        """Lay windows over pictures.

        Args:
            sizes_px: Width and height of each picture.
            regions_px: The part of each picture that is covered, x0, y0, x1, y1.
            windows: Number of windows per picture, about.
        """
        rasters, covered = [], []
        for size_px, region in zip(sizes_px, regions_px, strict=True):
            rows, columns = (n + 1 for n in Raster.over(size_px, region, windows).shape)
            places = [(row, column) for row in range(rows - 1) for column in range(columns - 1)]
            own = np.zeros((len(places), rows, columns), bool)
            for cells, (row, column) in zip(own, places, strict=True):
                cells[row : row + 2, column : column + 2] = True
            rasters.append(Raster((rows, columns), region, size_px))
            covered.append(own)
        return cls(tuple(rasters), tuple(covered))

    def __len__(self) -> int:
        return sum(map(len, self.covered))

    def variants(self, pictures: Sequence[Picture], fill: Fill = "grey") -> Iterator[list[Picture]]:
        """Yield the pictures with one window hidden at a time."""
        for index, (picture, raster, covered) in enumerate(
            zip(pictures, self.rasters, self.covered, strict=True)
        ):
            pixels = picture.pixels()
            filled = filling(pixels, fill)
            for cells in covered:
                hidden = hide(pixels, raster.pixels_of(cells), filled)
                yield [*pictures[:index], hidden, *pictures[index + 1 :]]

    def amounts(self, losses: NDArray[np.float64]) -> list[NDArray[np.float64]]:
        """Return an amount per cell of each picture, (rows, columns).

        Args:
            losses: By how much hiding each window lowers the explained number, (windows,).
        """
        ends = np.cumsum([len(each) for each in self.covered])[:-1]
        return [
            np.clip(np.tensordot(own, covered, axes=1) / covered.sum(axis=0), 0, None)
            for own, covered in zip(np.split(losses, ends), self.covered, strict=True)
        ]


def seen_region(grid: TokenGrid) -> tuple[float, float, float, float]:
    """Return the part of a picture that the tokens of a grid cover: x0, y0, x1, y1."""
    return Raster.seen_by(grid).region_px


def token_amounts(grid: TokenGrid, raster: Raster, amounts: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the amount on each token of a grid, for amounts per cell of a raster; 0 for a token without a place.

    A token gets the mean of the cells that it covers, times its area, so that it is as dense as they are.
    """
    values = np.zeros(grid.n_tokens)
    cells = lattice(raster.shape, raster.region_px)
    density = amounts.ravel() / np.prod(cells[0, 2:] - cells[0, :2])
    for token in np.flatnonzero(grid.has_place):
        x0, y0, x1, y1 = grid.rects_px[token]
        across = np.clip(np.minimum(cells[:, 2], x1) - np.maximum(cells[:, 0], x0), 0, None)
        down = np.clip(np.minimum(cells[:, 3], y1) - np.maximum(cells[:, 1], y0), 0, None)
        values[token] = float((across * down) @ density)
    return values
