"""A map as it is drawn: one density for each cell between the exact edges of the model's tokens."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from theodolite.attribution import RelevanceMap
from theodolite.attribution.hiding import Raster

Floats = NDArray[np.float64]

MOST_CELLS = 20_000
"""A map with more is drawn on a raster."""


@dataclass(frozen=True, slots=True, eq=False)
class DrawnMap:
    """A map over one picture."""

    xs: Floats
    """The edges of the columns in pixels, (columns + 1,)."""
    ys: Floats
    density: Floats
    """Relevance per pixel, (rows, columns)."""

    @classmethod
    def of(cls, relevance: RelevanceMap) -> DrawnMap:
        """Add up the tokens that cover each cell: tiles and a thumbnail lie over one another."""
        grid = relevance.grid
        placed = np.flatnonzero(grid.has_place)
        rects = np.clip(grid.rects_px[placed], 0, [grid.width_px, grid.height_px] * 2)
        xs, ys = (np.unique(rects[:, [i, i + 2]].round(3)) for i in (0, 1))
        if (len(xs) - 1) * (len(ys) - 1) > MOST_CELLS:
            raster = Raster.seen_by(grid, MOST_CELLS // 4)
            x0, y0, x1, y1 = raster.region_px
            spread = raster.spread(grid, np.abs(relevance.values).astype(np.float64))
            rows, columns = raster.shape
            area = (x1 - x0) / columns * (y1 - y0) / rows
            return cls(np.linspace(x0, x1, columns + 1), np.linspace(y0, y1, rows + 1), spread / area)
        full = grid.rects_px[placed]
        areas = (full[:, 2] - full[:, 0]) * (full[:, 3] - full[:, 1])
        amounts = np.abs(relevance.values[placed]).astype(np.float64) / areas
        columns_of = _covered(rects[:, 0], rects[:, 2], xs)
        rows_of = _covered(rects[:, 1], rects[:, 3], ys)
        return cls(xs, ys, (rows_of * amounts[:, None]).T @ columns_of)


def _covered(start: Floats, stop: Floats, edges: Floats) -> Floats:
    """Return 1 where a token covers the space between two edges, (tokens, edges − 1)."""
    middles = (edges[:-1] + edges[1:]) / 2
    return ((start[:, None] < middles) & (middles < stop[:, None])).astype(np.float64)


def levels(maps: list[DrawnMap]) -> list[Floats]:
    """Return the maps of one answer between 0 and 1: shares of the largest density of all pictures."""
    largest = max((float(each.density.max(initial=0.0)) for each in maps), default=0.0)
    return [each.density / largest if largest > 0 else np.zeros_like(each.density) for each in maps]
