"""From relevance on a token grid to a distribution over directions (equations 1 and 2 of the paper)."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from numbers import Integral
from typing import Any, Literal, Protocol, TypeAlias, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from theodolite.core.errors import UsageError
from theodolite.geometry import Box, TokenGrid, direction_deg
from theodolite.instruments.compass.formulas.dae import (
    KEPT,
    DegenerateError,
    DirectionMass,
    Exclusion,
    code_of,
)

# The choices of the projection: the paper's, ours, and everything in between.


Bins: TypeAlias = Literal["edge", "centre"]
"""``edge``: the first sector begins at 0°, so a cardinal direction is an edge (what the paper's numbers point to).
``centre``: the first sector is centred on 0°."""

Weight: TypeAlias = Literal["paper", "diagonal", "none"]
"""The Gaussian exp(-ρ²/2σ²). ``paper``: σ is a multiple of d_AB, which needs the target's box. ``diagonal``: σ is a share of
the picture's diagonal and does not depend on the target. ``none``: all distances count alike."""

Negative: TypeAlias = Literal["error", "absolute", "positive"]
"""Relevance below zero: raise an error, take its absolute value, or set it to zero."""

Tokens: TypeAlias = Literal["centre", "area"]
"""``centre``: a token counts as a whole in the sector where its centre is. ``area``: it counts in every sector by its area
there. Sectors contain different numbers of centres: on a grid of 16 × 16 the peak of a broad symmetric lobe can be off by 25
degrees more than the half sector that binning costs; by area, by at most one."""

PAPER_SIGMA = 0.6 * 2.0
"""σ over d_AB (A.11 of the paper: 0.6 · r_max, r_max = 2.0 · d_AB)."""


@dataclass(frozen=True, slots=True)
class ProjectionOptions:
    """All choices of the projection. The defaults are the paper's (`PAPER`); `SOUND` is ours."""

    sectors: int = 8
    """K, at least 3."""
    bins: Bins = "edge"
    weight: Weight = "paper"
    distance_factor: float = PAPER_SIGMA
    """σ over d_AB, for ``weight="paper"``."""
    diagonal_share: float = 0.35
    """σ over the picture's diagonal, for ``weight="diagonal"``. On 178 pairs of real COCO pictures the paper's σ has the
    median 0.344 of the diagonal."""
    negative: Negative = "error"
    leave_out_reference: bool = False
    """Leave out relevance on the reference's own box (of each token, what the box covers): a model that looks at A should not
    be penalised for the sectors into which A's own tokens fall."""
    by_area: bool = False
    """Weight tokens by their area, for maps that hold a density and not an amount per token."""
    tokens: Tokens = "centre"

    def __post_init__(self) -> None:
        if not isinstance(self.sectors, Integral) or self.sectors < 3:
            raise UsageError(f"a compass needs at least 3 sectors, not {self.sectors}")
        for name in ("distance_factor", "diagonal_share"):
            if not (math.isfinite(getattr(self, name)) and getattr(self, name) > 0):
                raise UsageError(f"{name} must be above zero, not {getattr(self, name)}")
        for name, known in (("bins", Bins), ("weight", Weight), ("negative", Negative), ("tokens", Tokens)):
            if getattr(self, name) not in get_args(known):
                raise UsageError(
                    f"{name} must be one of {', '.join(get_args(known))}, not {getattr(self, name)!r}"
                )

    @property
    def first_edge(self) -> float:
        """Start of the first sector, in sector widths: 0, or half a width before 0°."""
        return 0.0 if self.bins == "edge" else -0.5


PAPER = ProjectionOptions()
"""Equations 1 and 2 as they stand: 8 sectors from 0°, σ = 1.2 · d_AB, every token at its centre."""

SOUND = ProjectionOptions(weight="diagonal", leave_out_reference=True, tokens="area")
"""Leaves out the reference's own box, takes a σ that does not depend on the target, and counts tokens by area."""

PROJECTIONS: Mapping[str, ProjectionOptions] = {"paper": PAPER, "sound": SOUND}
"""The two projections of every table."""


@dataclass(frozen=True, slots=True)
class ProjectionChanges:
    """Choices that replace those of every projection. None leaves each projection its own."""

    sectors: int | None = None
    bins: Bins | None = None
    sigma: str | None = None
    """As `read_sigma` reads it."""
    leave_out_reference: bool | None = None

    def of(self, options: ProjectionOptions) -> ProjectionOptions:
        """Return a projection with these choices."""
        chosen = {
            "sectors": self.sectors,
            "bins": self.bins,
            "leave_out_reference": self.leave_out_reference,
            **({} if self.sigma is None else read_sigma(self.sigma)),
        }
        return replace(options, **{name: value for name, value in chosen.items() if value is not None})

    @property
    def words(self) -> str:
        """The choices in words; empty if there is none.

        >>> ProjectionChanges(sectors=4, sigma="35%").words
        'K = 4, σ = 0.35 of the diagonal'
        """
        parts = [] if self.sectors is None else [f"K = {self.sectors}"]
        if self.bins is not None:
            parts.append("sectors from 0°" if self.bins == "edge" else "sectors centred on 0°")
        if self.sigma is not None:
            of = self.of(PAPER)
            sigmas = {"paper": f"σ = {of.distance_factor:g} d_AB", "none": "no distance weight"}
            parts.append(sigmas.get(of.weight, f"σ = {of.diagonal_share:g} of the diagonal"))
        if self.leave_out_reference is not None:
            parts.append(f"A's own tokens {'left out' if self.leave_out_reference else 'counted'}")
        return ", ".join(parts)


def read_sigma(text: str) -> dict[str, Any]:
    """Return the options that a σ stands for: a multiple of d_AB, a percentage of the picture's diagonal, or ``none``.

    Raises:
        UsageError: If it is none of these.

    >>> read_sigma("1.2"), read_sigma("35%")
    ({'weight': 'paper', 'distance_factor': 1.2}, {'weight': 'diagonal', 'diagonal_share': 0.35})
    """
    if text == "none":
        return {"weight": "none"}
    try:
        value = float(text.removesuffix("%"))
    except ValueError:
        value = math.nan
    if not (math.isfinite(value) and value > 0):
        raise UsageError(
            f"σ is a multiple of the distance from A to B such as {PAPER_SIGMA:g}, a percentage of the diagonal such as 35%, "
            f"or none; not {text!r:.40}"
        )
    if text.endswith("%"):
        return {"weight": "diagonal", "diagonal_share": value / 100}
    return {"weight": "paper", "distance_factor": value}


# Relevance on a token grid, and its preparation for counting by sector.


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
        """Create a map from rows and columns over a picture: a saliency map, or a captum attribution summed over channels.

        Args:
            values: Shape (..., rows, columns), the first row on top.
            size_px: Size of the picture, as (width, height).
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
    """Return the values as float64, shape (..., tokens).

    Raises:
        UsageError: If they are not numbers, or their last axis is not the grid's tokens.
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
    """Return the values after applying the policy for negative ones.

    Raises:
        UsageError: If the policy is ``error`` and there is a negative value.
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
    """Apply everything that does not depend on the centre: sign, position, area, and the reference's box."""
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
    """Return the parts of some rectangles that a box covers, shape (holes, 4), and the rectangles' indices."""
    cut = np.flatnonzero(where)
    holes = rects[cut].copy()
    holes[:, :2] = np.maximum(holes[:, :2], (box.x0, box.y0))
    holes[:, 2:] = np.minimum(holes[:, 2:], (box.x1, box.y1))
    return holes, cut


def has_area(grid: TokenGrid) -> NDArray[np.bool_]:
    """Return True for tokens that cover an area, shape (tokens,)."""
    x0, y0, x1, y1 = grid.rects_px.T
    return np.asarray(grid.has_place & np.isfinite(grid.rects_px).all(axis=1) & (x1 > x0) & (y1 > y0))


def token_areas(grid: TokenGrid) -> NDArray[np.float64]:
    """Return the area of the picture that each token covers, shape (tokens,), in square pixels; 0 without a position."""
    x0, y0, x1, y1 = grid.rects_px.T
    wide = np.minimum(x1, grid.width_px) - np.maximum(x0, 0)
    high = np.minimum(y1, grid.height_px) - np.maximum(y0, 0)
    return np.where(has_area(grid), np.clip(wide, 0, None) * np.clip(high, 0, None), 0.0)


def _relative_areas(rects: NDArray[np.float64], placed: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Return each token's area over the mean one; 1 without a position."""
    if not placed.any():
        return np.ones(len(rects))
    areas = (rects[:, 2] - rects[:, 0]) * (rects[:, 3] - rects[:, 1])
    return np.where(placed, areas / areas[placed].mean(), 1.0)


# Sums of weighted relevance by sector: each token counted where its centre is, or by its area in each sector.


_ON_EDGE = 1e-9
"""A token this close to a sector's lower edge, in sector widths, is on it, whatever the rounding."""
_BLOCK = 1 << 17
"""Centres × tokens at a time: arrays of 1 MiB, which fit into a core's cache."""


def sector_centres_deg(options: ProjectionOptions = PAPER) -> NDArray[np.float64]:
    """Return the middle of each sector, shape (K,): (k + ½ + first edge) · 360/K.

    >>> sector_centres_deg()[:3].tolist()
    [22.5, 67.5, 112.5]
    """
    middles = np.arange(options.sectors, dtype=np.float64) + (0.5 + options.first_edge)
    return middles * (360.0 / options.sectors)


def sector_masses(
    ready: Prepared, centres_px: NDArray[np.float64], sigma: float, options: ProjectionOptions
) -> NDArray[np.float64]:
    """Return Σ r exp(−ρ²/2σ²) of each sector, shape (centres, maps, K); ρ is the distance of a token's centre.

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
    """Count each token where its centre is; a token whose centre is the compass centre has no direction."""
    n_sectors, n_centres = options.sectors, len(centres)
    x, y = ready.points_px.T
    dx, dy = x - centres[:, :1], centres[:, 1:] - y  # dy upward
    position = np.arctan2(dy, dx)
    position *= n_sectors / (2 * np.pi)
    position += _ON_EDGE - options.first_edge
    bins = np.floor(position).astype(np.intp)
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
    """Count each token in every sector by its area there."""
    x, y = ready.points_px.T
    weights = _weights(x - centres[:, :1], centres[:, 1:] - y, sigma)
    sums = [(share * weights) @ ready.masses.T for share in area_shares(ready.rects_px, centres, options)]
    return np.maximum(np.stack(sums, axis=-1), 0.0)  # a token less its hole may round below zero


def _weights(dx: NDArray[np.float64], dy: NDArray[np.float64], sigma: float) -> NDArray[np.float64]:
    """Return exp(−ρ²/2σ²), shape (centres, tokens)."""
    if math.isinf(sigma):
        return np.ones_like(dx)
    squares = dx * dx
    squares += dy * dy
    squares *= -0.5 / sigma**2
    return np.asarray(np.exp(squares, out=squares))


def area_shares(
    rects_px: NDArray[np.float64], centres_px: NDArray[np.float64], options: ProjectionOptions
) -> Iterator[NDArray[np.float64]]:
    """Yield the share of each rectangle's area in each sector around each centre: K arrays (centres, rectangles).

    Exact: with S(φ) the area between 0° and φ, the area in a sector is S(upper edge) − S(lower edge).

    Args:
        rects_px: Shape (rectangles, 4), as x0, y0, x1, y1.
        centres_px: Shape (centres, 2), as (x, y).
        options: Number of sectors, and where the first begins.
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
    """Return S(φ) of rectangles given relative to the origin, for rising angles φ in [0, 2π): arrays like their bounds."""
    (left, right), (low, high) = across, up
    # Each quadrant in axes of its own: u along its first side, v along its second.
    quadrants = (
        (left, right, low, high),
        (low, high, -right, -left),
        (-right, -left, -high, -low),
        (-high, -low, left, right),
    )
    areas: list[NDArray[np.float64]] = []
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
            areas.append(before + corners)
        before = before + (u1 - u0) * (v1 - v0)
    return areas


def _under_ray(u: NDArray[np.float64], v: NDArray[np.float64], slope: float) -> NDArray[np.float64]:
    """Return the area of the rectangle from the origin to (u, v), both ≥ 0, that lies under the ray v = slope · u."""
    if slope <= 0:
        return np.zeros_like(u)
    return np.where(slope * u <= v, (0.5 * slope) * u * u, v * (u - (0.5 / slope) * v))


# From relevance on a token grid to a distribution over directions (equations 1 and 2 of the paper).
#
#     θ_uv = atan2(−(y_uv − y_A), x_uv − x_A)          ρ_uv = distance from A's centre
#     P(θ_k) = Σ_{uv in sector k} r_uv exp(−ρ_uv²/2σ²)  /  the same sum over all sectors
#
# 0° is to the right, 90° upward. A sector contains its lower edge and not its upper one. In the paper's form a token counts
# where its centre is, and a token whose centre is A's centre has no direction and is left out.


_COINCIDENT_PX = 1e-6  # between closer centres, the direction would be rounding error


def project(
    relevance: OnGrid,
    *,
    reference: Box | Sequence[float],
    target: Box | Sequence[float] | None = None,
    centres_px: ArrayLike | None = None,
    options: ProjectionOptions = PAPER,
) -> DirectionMass:
    """Return the compass of one picture's maps around the reference's centre.

    Args:
        relevance: Values (..., tokens) on a grid; `TokenMap.from_array` makes one from a plain array.
        reference: A's box, or its corners x0, y0, x1, y1 in pixels.
        target: B's box or corners, for θ_true and the paper's σ.
        centres_px: Other centres in place of A's, shape (centres, 2) as (x, y); θ_true, σ and the excluded box stay those
            of A and B. Adds an axis before the maps'.
        options: Sectors, bins, weight and so on.

    Returns:
        A compass of shape ([centres,] ...).

    Raises:
        DegenerateError: If there is no direction; `reason` says why. `project_batch` counts such samples instead.

    >>> from theodolite.instruments.compass.formulas.projection import TokenMap
    >>> grid = TokenGrid.regular((80, 80), (8, 8))
    >>> values = Box(60, 10, 80, 30).covers(grid.rects_px)
    >>> compass = project(TokenMap(values, grid), reference=Box(30, 30, 50, 50), target=Box(60, 10, 80, 30))
    >>> float(compass.peak_deg()), float(compass.true_deg), float(compass.error_deg().round(1))
    (22.5, 33.690067525979785, 11.2)
    """
    batch = project_batch(
        [relevance],
        references=[reference],
        targets=None if target is None else [target],
        centres_px=None if centres_px is None else np.asarray(centres_px, np.float64)[None],
        options=options,
    )
    for reason, count in batch.exclusions().items():
        raise DegenerateError(reason, f"{count} of {batch.codes.size}" if batch.codes.size > 1 else "")
    return batch[0]


def _box(given: Box | Sequence[float], role: str) -> Box:
    """Return a box, made from its four corners if need be."""
    if isinstance(given, Box):
        return given
    try:
        x0, y0, x1, y1 = map(float, given)
    except (TypeError, ValueError):
        raise UsageError(f"the {role} needs a Box or its corners x0, y0, x1, y1, got {given!r}") from None
    return Box(x0, y0, x1, y1)


def project_batch(
    maps: Sequence[OnGrid],
    *,
    references: Sequence[Box | Sequence[float]],
    targets: Sequence[Box | Sequence[float]] | None = None,
    centres_px: ArrayLike | None = None,
    options: ProjectionOptions = PAPER,
) -> DirectionMass:
    """Return the compasses of many samples; degenerate ones are left out and counted in `DirectionMass.exclusions`.

    Args:
        maps: One per sample, each with its own grid, of any number of tokens; the values' leading axes are the same
            for all. Arrays padded to a common length work too: a padded token has a rectangle of NaN.
        references: A's box of each sample, or its corners.
        targets: B's box of each sample, or its corners.
        centres_px: Shape (samples, centres, 2); see `project`.
        options: Sectors, bins, weight and so on.

    Returns:
        A compass of shape (samples, [centres,] ...).
    """
    centres = _checked_centres(maps, references, targets, centres_px)
    leading = np.shape(maps[0].values)[:-1]
    rows = []
    for i, (relevance, given) in enumerate(zip(maps, references, strict=True)):
        if np.shape(relevance.values)[:-1] != leading:
            raise UsageError(
                f"all samples need maps of the same leading shape; sample 0 has {leading}, "
                f"sample {i} {np.shape(relevance.values)[:-1]}"
            )
        reference = _box(given, "reference")
        target = None if targets is None else _box(targets[i], "target")
        points = np.array([reference.centre_px]) if centres is None else centres[i]
        rows.append(_project_one(relevance, reference, target, points, options))
    shape = (len(maps), *(() if centres is None else centres.shape[1:2]), *leading)
    true = None
    if targets is not None:
        each_true = np.array([row.true_deg for row in rows]).reshape(-1, *[1] * (len(shape) - 1))
        true = np.broadcast_to(each_true, shape)
    return DirectionMass(
        np.stack([row.distribution for row in rows]).reshape(*shape, options.sectors),
        sector_centres_deg(options),
        true,
        np.stack([row.used_share for row in rows]).reshape(shape),
        np.stack([row.codes for row in rows]).reshape(shape),
    )


def sigma_px(grid: TokenGrid, reference: Box, target: Box | None, options: ProjectionOptions) -> float:
    """Return σ of the distance weight in pixels: a multiple of d_AB, a share of the diagonal, or infinite."""
    if options.weight == "none":
        return math.inf
    if options.weight == "diagonal":
        return options.diagonal_share * math.hypot(grid.width_px, grid.height_px)
    if target is None:
        raise UsageError(
            "the paper's σ needs the target's box: give target=…, or use weight='diagonal' or weight='none'"
        )
    return options.distance_factor * math.dist(reference.centre_px, target.centre_px)


@dataclass(frozen=True, slots=True, eq=False)
class _SampleCompass:
    """One sample; arrays are (centres, maps, ...)."""

    distribution: NDArray[np.float64]
    used_share: NDArray[np.float64]
    codes: NDArray[np.uint8]
    true_deg: float


def _project_one(
    relevance: OnGrid,
    reference: Box,
    target: Box | None,
    centres: NDArray[np.float64],
    options: ProjectionOptions,
) -> _SampleCompass:
    ready = prepare(relevance, reference, options)
    shape = (len(centres), len(ready.masses))
    true = 0.0 if target is None else float(direction_deg(reference.centre_px, target.centre_px))
    reason = _why_not(relevance.grid, reference, target)
    if reason is not None:
        codes = np.full(shape, code_of(reason), np.uint8)
        return _SampleCompass(np.zeros((*shape, options.sectors)), np.zeros(shape), codes, true)
    sigma = sigma_px(relevance.grid, reference, target, options)
    masses = sector_masses(ready, centres, sigma, options)
    totals = masses.sum(axis=-1)
    codes = np.where(totals > 0, KEPT, code_of(Exclusion.ZERO_MASS)).astype(np.uint8)
    codes[:, ~ready.is_finite] = code_of(Exclusion.NOT_FINITE)
    used = totals / np.where(ready.totals > 0, ready.totals, 1.0)
    share = masses / np.where(totals > 0, totals, 1.0)[..., None]
    return _SampleCompass(share, np.minimum(used, 1.0), codes, true)


def _why_not(grid: TokenGrid, reference: Box, target: Box | None) -> Exclusion | None:
    """Return why a sample's geometry has no direction; None if it has one."""
    rects = grid.rects_px[has_area(grid)]
    if not len(rects):
        return Exclusion.EMPTY_GRID
    if not reference.covers(rects).any():
        return Exclusion.REFERENCE_OUTSIDE
    if target is None:
        return None
    if not target.covers(rects).any():
        return Exclusion.TARGET_OUTSIDE
    if math.dist(reference.centre_px, target.centre_px) < _COINCIDENT_PX:
        return Exclusion.COINCIDENT
    return None


def _checked_centres(
    maps: Sequence[OnGrid],
    references: Sequence[Box | Sequence[float]],
    targets: Sequence[Box | Sequence[float]] | None,
    centres_px: ArrayLike | None,
) -> NDArray[np.float64] | None:
    """Return the centres as (samples, centres, 2), or None; raise unless there is one of everything per sample."""
    if not maps:
        raise UsageError("there is no map to project")
    for relevance in maps:
        if not isinstance(getattr(relevance, "grid", None), TokenGrid):
            raise UsageError(
                f"a map needs its place in the picture, and {type(relevance).__name__} has none: "
                "make it with TokenMap.from_array(values, size_px=(width, height))"
            )
    counts = {"maps": len(maps), "references": len(references)}
    if targets is not None:
        counts["targets"] = len(targets)
    if len(set(counts.values())) > 1:
        listed = ", ".join(f"{count} {name}" for name, count in counts.items())
        raise UsageError(f"a batch needs one of each per sample, got {listed}")
    if centres_px is None:
        return None
    centres = np.asarray(centres_px, np.float64)
    if centres.ndim != 3 or centres.shape[0] != len(maps) or centres.shape[1] == 0 or centres.shape[2] != 2:
        raise UsageError(f"centres_px must have shape ({len(maps)} samples, centres, 2), got {centres.shape}")
    if not np.isfinite(centres).all():
        raise UsageError("centres_px holds NaN or infinite places")
    return centres
