"""From relevance on a token grid to a distribution over directions (equations 1 and 2 of the paper).

    θ_uv = atan2(−(y_uv − y_A), x_uv − x_A)          ρ_uv = distance from A's centre
    P(θ_k) = Σ_{uv in sector k} r_uv exp(−ρ_uv²/2σ²)  /  the same sum over all sectors

0° is to the right, 90° upward. A sector contains its lower edge and not its upper one. In the paper's form a token counts
where its centre is, and a token whose centre is A's centre has no direction and is left out.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from theodolite.core.errors import UsageError
from theodolite.geometry import Box, TokenGrid, direction_deg
from theodolite.instruments.compass.formulas.compass import KEPT, Compass, code_of
from theodolite.instruments.compass.formulas.exclusions import DegenerateError, Exclusion
from theodolite.instruments.compass.formulas.projection_options import PAPER, ProjectionOptions
from theodolite.instruments.compass.formulas.sectors import sector_centres_deg, sector_masses
from theodolite.instruments.compass.formulas.token_map import OnGrid, has_area, prepare

_COINCIDENT_PX = 1e-6


def project(
    relevance: OnGrid,
    *,
    reference: Box | Sequence[float],
    target: Box | Sequence[float] | None = None,
    centres_px: ArrayLike | None = None,
    options: ProjectionOptions = PAPER,
) -> Compass:
    """The compass of one picture's maps around the reference's centre.

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
        DegenerateError: There is no direction; `reason` says why. `project_batch` counts instead.

    >>> from theodolite.instruments.compass.formulas.token_map import TokenMap
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
    """A box, made from its four corners if need be."""
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
) -> Compass:
    """The compasses of many samples; degenerate ones are left out and counted in `Compass.exclusions`.

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
    for i, (each, given) in enumerate(zip(maps, references, strict=True)):
        if np.shape(each.values)[:-1] != leading:
            raise UsageError(
                f"all samples need maps of the same leading shape; sample 0 has {leading}, "
                f"sample {i} {np.shape(each.values)[:-1]}"
            )
        reference = _box(given, "reference")
        target = None if targets is None else _box(targets[i], "target")
        places = np.array([reference.centre_px]) if centres is None else centres[i]
        rows.append(_project_one(each, reference, target, places, options))
    shape = (len(maps), *(() if centres is None else centres.shape[1:2]), *leading)
    true = None
    if targets is not None:
        each_true = np.array([row.true_deg for row in rows]).reshape(-1, *[1] * (len(shape) - 1))
        true = np.broadcast_to(each_true, shape)
    return Compass(
        np.stack([row.distribution for row in rows]).reshape(*shape, options.sectors),
        sector_centres_deg(options),
        true,
        np.stack([row.used_share for row in rows]).reshape(shape),
        np.stack([row.codes for row in rows]).reshape(shape),
    )


def sigma_px(grid: TokenGrid, reference: Box, target: Box | None, options: ProjectionOptions) -> float:
    """σ of the distance weight in pixels: a multiple of d_AB, a share of the diagonal, or infinite."""
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
    """Why a sample's geometry has no direction; None if it has one."""
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
    """The centres as (samples, centres, 2), or None. Checks that there is one of everything per sample."""
    if not maps:
        raise UsageError("there is no map to project")
    for each in maps:
        if not isinstance(getattr(each, "grid", None), TokenGrid):
            raise UsageError(
                f"a map needs its place in the picture, and {type(each).__name__} has none: "
                "make it with TokenMap.from_array(values, size_px=(width, height))"
            )
    counts = {"maps": len(maps), "references": len(references)}
    if targets is not None:
        counts["targets"] = len(targets)
    if len(set(counts.values())) > 1:
        said = ", ".join(f"{count} {name}" for name, count in counts.items())
        raise UsageError(f"a batch needs one of each per sample, got {said}")
    if centres_px is None:
        return None
    centres = np.asarray(centres_px, np.float64)
    if centres.ndim != 3 or centres.shape[0] != len(maps) or centres.shape[1] == 0 or centres.shape[2] != 2:
        raise UsageError(f"centres_px must have shape ({len(maps)} samples, centres, 2), got {centres.shape}")
    if not np.isfinite(centres).all():
        raise UsageError("centres_px holds NaN or infinite places")
    return centres
