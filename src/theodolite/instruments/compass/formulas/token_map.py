"""Relevance on a token grid, and its preparation for counting by sector."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from theodolite.core.errors import UsageError
from theodolite.geometry import Box, TokenGrid
from theodolite.instruments.compass.formulas.projection_options import Negative, ProjectionOptions

_WHOLLY = 1 - 1e-12
"""A token is covered if this share of it is."""


class OnGrid(Protocol):
    """What can be projected: an attribution's relevance map, a `TokenMap`, or anything with these two attributes."""

    @property
    def values(self) -> NDArray[np.floating[Any]]:
        """Shape (..., tokens): leading axes are maps of the same picture, such as one per target logit."""

    @property
    def grid(self) -> TokenGrid:
        """Where the tokens lie."""


@dataclass(frozen=True, slots=True, eq=False)
class TokenMap:
    """Relevance on a token grid; several maps of one picture are on leading axes.

    >>> TokenMap(np.ones((2, 6)), TokenGrid.regular((30, 20), (2, 3))).values.shape
    (2, 6)
    """

    values: NDArray[np.floating[Any]]
    """Shape (..., tokens), in the grid's order, not normalised."""
    grid: TokenGrid
    text_mass: float | NDArray[np.floating[Any]] | None = None
    """The relevance on text, in the same unit, shape (...); None if unknown."""

    def __post_init__(self) -> None:
        check_values(self)

    @classmethod
    def from_array(
        cls,
        values: ArrayLike,
        *,
        size_px: tuple[int, int],
        region_px: tuple[float, float, float, float] | None = None,
    ) -> TokenMap:
        """From an array of rows and columns over a picture: a saliency map, or a captum attribution summed over channels.

        Args:
            values: Shape (..., rows, columns), the first row on top.
            size_px: Size px of the picture, as (width, height).
            region_px: The part of the picture that it covers, as x0, y0, x1, y1; all of it if not given.

        >>> TokenMap.from_array(np.ones((2, 4, 5)), size_px=(100, 80)).values.shape
        (2, 20)
        """
        array = _numbers(values)
        if array.ndim < 2:
            raise UsageError(f"a map needs rows and columns, shape (..., rows, columns), got {array.shape}")
        grid = TokenGrid.regular(size_px, (array.shape[-2], array.shape[-1]), region_px=region_px)
        return cls(array.reshape(*array.shape[:-2], -1), grid)


@dataclass(frozen=True, slots=True, eq=False)
class Prepared:
    """The parts of a grid that carry relevance, and their amounts."""

    rects_px: NDArray[np.float64]
    """Shape (parts, 4): the tokens that have a place and, by area, the holes that the reference's box cuts into them."""
    points_px: NDArray[np.float64]
    """Shape (parts, 2): the centre of each token; of a hole, that of its token."""
    masses: NDArray[np.float64]
    """Shape (maps, parts), each map divided by its largest value; below zero for holes only."""
    totals: NDArray[np.float64]
    """Shape (maps,): all of the map's relevance in the unit of `masses`, including what is left out."""
    is_finite: NDArray[np.bool_]
    """Shape (maps,): False if the map holds NaN or infinity; its masses are zero then."""


def check_values(relevance: OnGrid) -> NDArray[np.float64]:
    """The values as float64, shape (..., tokens).

    Raises:
        UsageError: They are not numbers, or their last axis is not the grid's tokens.
    """
    values = _numbers(relevance.values)
    if values.ndim < 1 or values.shape[-1] != relevance.grid.n_tokens:
        raise UsageError(
            f"a grid of {relevance.grid.n_tokens} tokens needs values of shape (..., {relevance.grid.n_tokens}), "
            f"got {values.shape}"
        )
    return values


def _numbers(values: ArrayLike) -> NDArray[np.float64]:
    try:
        return np.asarray(values, np.float64)
    except (TypeError, ValueError) as error:
        raise UsageError(f"relevance is an array of real numbers: {error}") from error


def without_negative(values: NDArray[np.float64], policy: Negative) -> NDArray[np.float64]:
    """Values of zero and more.

    Raises:
        UsageError: The policy is ``error`` and there is a negative value.
    """
    if policy == "absolute":
        return np.abs(values)
    if policy == "positive":
        return np.maximum(values, 0.0)
    if (values < 0).any():
        raise UsageError(
            f"the relevance holds negative values (down to {values.min():.3g}); use negative='absolute' or "
            "negative='positive'"
        )
    return values


def prepare(relevance: OnGrid, reference: Box, options: ProjectionOptions) -> Prepared:
    """Applies everything that does not depend on the centre: sign, place, area, and the reference's box."""
    grid = relevance.grid
    values = check_values(relevance)
    values = values.reshape(math.prod(values.shape[:-1]), grid.n_tokens)
    is_finite = np.asarray(np.isfinite(values).all(axis=1))
    values = without_negative(np.where(is_finite[:, None], values, 0.0), options.negative)
    peaks = values.max(axis=1, initial=0.0, keepdims=True)
    # Tiny or huge relevance must not be lost in a sum.
    values = values / np.where(peaks > 0, peaks, 1.0)
    rects, placed = grid.rects_px, has_area(grid)
    if options.by_area:
        values = values * _relative_areas(rects, placed)
    totals = values.sum(axis=1)
    rects, values = rects[placed], values[:, placed]
    points = (rects[:, :2] + rects[:, 2:]) / 2
    if options.leave_out_reference:
        covered = reference.covers(rects)
        if options.tokens == "centre":
            values = values * (1.0 - covered)
        else:
            values = values * (covered < _WHOLLY)
            holes, cut = _holes(rects, reference, (covered > 0) & (covered < _WHOLLY))
            points = np.concatenate([points, points[cut]])
            values = np.concatenate([values, -(values * covered)[:, cut]], axis=1)
            rects = np.concatenate([rects, holes])
    return Prepared(rects, points, values, totals, is_finite)


def _holes(
    rects: NDArray[np.float64], box: Box, where: NDArray[np.bool_]
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """The parts of some rectangles that a box covers, shape (holes, 4), and the rectangles' indices."""
    cut = np.flatnonzero(where)
    holes = rects[cut].copy()
    holes[:, :2] = np.maximum(holes[:, :2], (box.x0, box.y0))
    holes[:, 2:] = np.minimum(holes[:, 2:], (box.x1, box.y1))
    return holes, cut


def has_area(grid: TokenGrid) -> NDArray[np.bool_]:
    """Shape (tokens,): True if a token has a place with an area."""
    x0, y0, x1, y1 = grid.rects_px.T
    return np.asarray(grid.has_place & np.isfinite(grid.rects_px).all(axis=1) & (x1 > x0) & (y1 > y0))


def token_areas(grid: TokenGrid) -> NDArray[np.float64]:
    """Shape (tokens,): the area of the picture that each token covers, in square pixels; 0 without a place."""
    x0, y0, x1, y1 = grid.rects_px.T
    wide = np.minimum(x1, grid.width_px) - np.maximum(x0, 0)
    high = np.minimum(y1, grid.height_px) - np.maximum(y0, 0)
    return np.where(has_area(grid), np.clip(wide, 0, None) * np.clip(high, 0, None), 0.0)


def _relative_areas(rects: NDArray[np.float64], placed: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Each token's area over the mean one; 1 without a place."""
    if not placed.any():
        return np.ones(len(rects))
    areas = (rects[:, 2] - rects[:, 0]) * (rects[:, 3] - rects[:, 1])
    return np.where(placed, areas / areas[placed].mean(), 1.0)
