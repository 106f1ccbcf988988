"""The position of each image token in the original picture."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from theodolite.core.errors import UsageError


@dataclass(frozen=True, slots=True, eq=False)
class TokenGrid:
    """The exact rectangle of every image token in pixels of the original picture, after resizing, cropping and tiling.

    A token of a tile and a token of a thumbnail may cover the same pixels. A token without pixels, such as a learned
    line break, has a rectangle of NaN. A rectangle may extend beyond the picture where the model pads it.
    """

    rects_px: NDArray[np.float64]
    """Shape (tokens, 4): x0, y0, x1, y1, in the order of the tokens in the prompt."""
    width_px: int
    height_px: int
    part: NDArray[np.int64]
    """Shape (tokens,): index of the token's tile or thumbnail; -1 if it has no position."""

    def __post_init__(self) -> None:
        if self.rects_px.ndim != 2 or self.rects_px.shape[1] != 4 or self.part.shape != (len(self.rects_px),):
            raise UsageError(
                f"a token grid needs rectangles (tokens, 4) and parts (tokens,), got {self.rects_px.shape} and {self.part.shape}"
            )

    @classmethod
    def regular(
        cls,
        size_px: tuple[int, int],
        shape: tuple[int, int],
        region_px: tuple[float, float, float, float] | None = None,
    ) -> TokenGrid:
        """Create a grid of equal tokens, row by row.

        Args:
            size_px: Size of the picture, as (width, height).
            shape: Number of rows and columns.
            region_px: The part of the picture that the grid covers, as x0, y0, x1, y1. Default: all of it.

        >>> TokenGrid.regular((40, 20), (2, 4)).centres_px[5].tolist()
        [15.0, 15.0]
        """
        width, height = size_px
        rects = lattice(shape, region_px or (0.0, 0.0, float(width), float(height)))
        return cls(rects, width, height, np.zeros(len(rects), np.int64))

    @property
    def n_tokens(self) -> int:
        """Number of tokens."""
        return len(self.rects_px)

    @property
    def has_place(self) -> NDArray[np.bool_]:
        """Shape (tokens,): True if the token covers pixels."""
        return self.part >= 0

    @property
    def centres_px(self) -> NDArray[np.float64]:
        """Shape (tokens, 2): the centre of each token, as (x, y); NaN if it has no position."""
        return (self.rects_px[:, :2] + self.rects_px[:, 2:]) / 2

    def tokens_at(self, x_px: float, y_px: float) -> NDArray[np.int64]:
        """Return the tokens whose rectangle contains a point: one per tile or thumbnail that shows it."""
        x0, y0, x1, y1 = self.rects_px.T
        return np.flatnonzero((x0 <= x_px) & (x_px < x1) & (y0 <= y_px) & (y_px < y1))

    def paint(self, values: NDArray[np.floating]) -> NDArray[np.float64]:
        """Return a heat map (height, width) with each token's value spread evenly over its pixels.

        The map sums to the sum of the values, minus what lies outside the picture.
        """
        if np.shape(values) != (self.n_tokens,):
            raise UsageError(
                f"a grid of {self.n_tokens} tokens needs values of shape ({self.n_tokens},), not {np.shape(values)}"
            )
        heat = np.zeros((self.height_px, self.width_px))
        for part in range(int(self.part.max(initial=-1)) + 1):
            chosen = self.part == part
            rects, amounts = self.rects_px[chosen], np.asarray(values, np.float64)[chosen]
            density = amounts / ((rects[:, 2] - rects[:, 0]) * (rects[:, 3] - rects[:, 1]))
            across = _overlaps(rects[:, 0], rects[:, 2], self.width_px)
            down = _overlaps(rects[:, 1], rects[:, 3], self.height_px)
            heat += (down * density[:, None]).T @ across
        return heat


def lattice(shape: tuple[int, int], region_px: tuple[float, float, float, float]) -> NDArray[np.float64]:
    """Return rectangles (rows × columns, 4) that tile a region, row by row."""
    rows, columns = shape
    x0, y0, x1, y1 = region_px
    xs = np.linspace(x0, x1, columns + 1)
    ys = np.linspace(y0, y1, rows + 1)
    left, top = np.meshgrid(xs[:-1], ys[:-1])
    right, bottom = np.meshgrid(xs[1:], ys[1:])
    return np.stack([left, top, right, bottom], axis=-1).reshape(-1, 4)


def _overlaps(start: NDArray[np.float64], stop: NDArray[np.float64], n_pixels: int) -> NDArray[np.float64]:
    """Return the length of each pixel that each token covers along one axis, shape (tokens, pixels)."""
    edges = np.arange(n_pixels)
    return np.asarray(
        np.clip(np.minimum(stop[:, None], edges + 1) - np.maximum(start[:, None], edges), 0, None)
    )
