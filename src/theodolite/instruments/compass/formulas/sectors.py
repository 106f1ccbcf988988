"""Sums of weighted relevance by sector: each token counted where its centre is, or by its area in each sector."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from theodolite.instruments.compass.formulas.projection_options import PAPER, ProjectionOptions
from theodolite.instruments.compass.formulas.token_map import Prepared

_ON_EDGE = 1e-9
"""A token this close to a sector's lower edge, in sector widths, is on it, whatever the rounding."""
_BLOCK = 1 << 17
"""Centres × tokens at a time: arrays of 1 MiB, which fit into a core's cache."""


def sector_centres_deg(options: ProjectionOptions = PAPER) -> NDArray[np.float64]:
    """The middle of each sector, shape (K,): (k + ½ + first edge) · 360/K.

    >>> sector_centres_deg()[:3].tolist()
    [22.5, 67.5, 112.5]
    """
    middles = np.arange(options.sectors, dtype=np.float64) + (0.5 + options.first_edge)
    return middles * (360.0 / options.sectors)


def sector_masses(
    ready: Prepared, centres_px: NDArray[np.float64], sigma: float, options: ProjectionOptions
) -> NDArray[np.float64]:
    """Σ r exp(−ρ²/2σ²) of each sector, shape (centres, maps, K); ρ is the distance of a token's centre.

    Args:
        ready: Tokens and their relevance.
        centres_px: Shape (centres, 2).
        sigma: In pixels; infinite for no weight.
        options: Sectors, bins, and how tokens count.
    """
    out = np.empty((len(centres_px), len(ready.masses), options.sectors))
    step = max(1, _BLOCK // max(1, len(ready.points_px)))
    by_sector = _by_centre if options.tokens == "centre" else _by_area
    for start in range(0, len(centres_px), step):
        block = slice(start, start + step)
        out[block] = by_sector(ready, centres_px[block], sigma, options)
    return out


def _by_centre(
    ready: Prepared, centres: NDArray[np.float64], sigma: float, options: ProjectionOptions
) -> NDArray[np.float64]:
    """Each token counts where its centre is; a token whose centre is the compass centre has no direction."""
    n_sectors, n_centres = options.sectors, len(centres)
    x, y = ready.points_px.T
    dx, dy = x - centres[:, :1], centres[:, 1:] - y  # dy upward
    place = np.arctan2(dy, dx)
    place *= n_sectors / (2 * np.pi)
    place += _ON_EDGE - options.first_edge
    bins = np.floor(place).astype(np.intp)
    bins += n_sectors * (bins < 0)
    bins += n_sectors * np.arange(n_centres)[:, None]
    weights = _weights(dx, dy, sigma)
    weights[(dx == 0) & (dy == 0)] = 0.0
    out = np.empty((n_centres, len(ready.masses), n_sectors))
    for m, mass in enumerate(ready.masses):
        sums = np.bincount(bins.ravel(), (weights * mass).ravel(), minlength=n_centres * n_sectors)
        out[:, m] = sums.reshape(n_centres, n_sectors)
    return out


def _by_area(
    ready: Prepared, centres: NDArray[np.float64], sigma: float, options: ProjectionOptions
) -> NDArray[np.float64]:
    """Each token counts in every sector by its area there."""
    x, y = ready.points_px.T
    weights = _weights(x - centres[:, :1], centres[:, 1:] - y, sigma)
    sums = [(share * weights) @ ready.masses.T for share in area_shares(ready.rects_px, centres, options)]
    return np.maximum(np.stack(sums, axis=-1), 0.0)  # a token less its hole may round below zero


def _weights(dx: NDArray[np.float64], dy: NDArray[np.float64], sigma: float) -> NDArray[np.float64]:
    """exp(−ρ²/2σ²), shape (centres, tokens)."""
    if math.isinf(sigma):
        return np.ones_like(dx)
    squares = dx * dx
    squares += dy * dy
    squares *= -0.5 / sigma**2
    return np.asarray(np.exp(squares, out=squares))


def area_shares(
    rects_px: NDArray[np.float64], centres_px: NDArray[np.float64], options: ProjectionOptions
) -> Iterator[NDArray[np.float64]]:
    """The share of each rectangle's area in each sector around each centre: K arrays (centres, rectangles).

    Exact: with S(φ) the area between 0° and φ, the area in a sector is S(upper edge) − S(lower edge).
    """
    x0, y0, x1, y1 = rects_px.T
    across = x0 - centres_px[:, :1], x1 - centres_px[:, :1]
    up = centres_px[:, 1:] - y1, centres_px[:, 1:] - y0
    width = 2 * np.pi / options.sectors
    edges = (np.arange(options.sectors) + options.first_edge) * width % (2 * np.pi)
    below = _areas_below(across, up, np.sort(edges))
    below = [below[i] for i in np.argsort(np.argsort(edges))]
    whole = (x1 - x0) * (y1 - y0)
    for k in range(options.sectors):
        area = below[(k + 1) % options.sectors] - below[k]
        yield (area + whole if edges[(k + 1) % options.sectors] < edges[k] else area) / whole


def _areas_below(
    across: tuple[NDArray[np.float64], NDArray[np.float64]],
    up: tuple[NDArray[np.float64], NDArray[np.float64]],
    edges: NDArray[np.float64],
) -> list[NDArray[np.float64]]:
    """S(φ) of rectangles given relative to the origin, for rising angles φ in [0, 2π): arrays like their bounds."""
    (left, right), (low, high) = across, up
    # Each quadrant in axes of its own: u along its first side, v along its second.
    quadrants = (
        (left, right, low, high),
        (low, high, -right, -left),
        (-right, -left, -high, -low),
        (-high, -low, left, right),
    )
    found: list[NDArray[np.float64]] = []
    before = np.zeros_like(left)
    for number, bounds in enumerate(quadrants):
        u0, u1, v0, v1 = (np.maximum(bound, 0.0) for bound in bounds)
        for edge in edges[(edges // (np.pi / 2)).astype(int) == number]:
            slope = math.tan(edge - number * np.pi / 2)
            corners = (
                _under_ray(u1, v1, slope)
                - _under_ray(u0, v1, slope)
                - _under_ray(u1, v0, slope)
                + _under_ray(u0, v0, slope)
            )
            found.append(before + corners)
        before = before + (u1 - u0) * (v1 - v0)
    return found


def _under_ray(u: NDArray[np.float64], v: NDArray[np.float64], slope: float) -> NDArray[np.float64]:
    """Area of the rectangle from the origin to (u, v), both ≥ 0, that lies under the ray v = slope · u."""
    if slope <= 0:
        return np.zeros_like(u)
    return np.where(slope * u <= v, (0.5 * slope) * u * u, v * (u - (0.5 / slope) * v))
