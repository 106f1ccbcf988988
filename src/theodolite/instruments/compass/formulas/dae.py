"""DAE, EA and concentration: the direction of a compass, and how far it is from the truth."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from theodolite import stats
from theodolite.core.errors import UsageError

# Why a map has no direction. `project` raises a `DegenerateError`; `project_batch` leaves the map out and counts it.


class Exclusion(StrEnum):
    """Why a projection was left out. The value is the reason in words."""

    NOT_FINITE = "the relevance is NaN or infinite"
    EMPTY_GRID = "no token of the grid has a place in the picture"
    REFERENCE_OUTSIDE = "no token sees any of the reference's box"
    TARGET_OUTSIDE = "no token sees any of the target's box"
    COINCIDENT = "reference and target have the same centre, so there is no direction between them"
    ZERO_MASS = "no relevance is left in any sector"
    NO_MEAN = "the sectors cancel, so there is no mean direction"


class DegenerateError(UsageError):
    """A sample has no direction; `reason` says why."""

    def __init__(self, reason: Exclusion, detail: str = "") -> None:
        super().__init__(f"{reason.value}{f': {detail}' if detail else ''}")
        self.reason = reason
        self._detail = detail

    def __reduce__(self) -> tuple[type[DegenerateError], tuple[Exclusion, str]]:
        """Support pickling, so that the error can pass between processes."""
        return DegenerateError, (self.reason, self._detail)


# EA, edge accuracy (equation 7): the share of samples with DAE ≤ 45°. Octant accuracy (A.4): the share with DAE ≤ 22.5°.
#
# Guessing a sector gives a quarter, or three eighths if sectors are centred on cardinal directions; on real pictures the
# uniform map often gives more.


EDGE_DEG, OCTANT_DEG = 45.0, 22.5
_ROUNDING_DEG = 1e-9
"""An error of 45 degrees is within 45 degrees, whatever its last digit."""


def edge_hit(error_deg: ArrayLike) -> NDArray[np.bool_]:
    """Return True where an error is at most 45°; the mean is EA.

    >>> edge_hit([22.5, 45, 45.1]).tolist()
    [True, True, False]
    """
    return np.asarray(error_deg, np.float64) <= EDGE_DEG + _ROUNDING_DEG


def octant_hit(error_deg: ArrayLike) -> NDArray[np.bool_]:
    """Return True where an error is at most 22.5°; the mean is the octant accuracy.

    >>> octant_hit([22.5, 45]).tolist()
    [True, False]
    """
    return np.asarray(error_deg, np.float64) <= OCTANT_DEG + _ROUNDING_DEG


# Concentration of a compass, R = |Σ P_k exp(iθ_k)|: 1 if all mass is in one sector, 0 if the sectors cancel; and labels.
#
# The labels are those of the paper's section 1. The paper gives no threshold for *diffuse*; 0.75 is ours.


Label: TypeAlias = Literal["aligned", "diffuse but usable", "layout-dominated"]

CONCENTRATED = 0.75
"""From this concentration on, evidence is not diffuse. On 178 pairs of real COCO pictures, 95 % of uniform maps stay below
0.68 (0.75 with the reference's box left out) and 95 % of box-only maps lie above 0.80 (0.84)."""

NO_MEAN = 1e-9
"""Below this concentration the sectors cancel, and there is no mean direction."""

THRESHOLDS = (
    f"aligned: peak within {EDGE_DEG:g}° of the truth and concentration ≥ {CONCENTRATED:g}; diffuse but usable: within "
    f"{EDGE_DEG:g}°, less concentrated; layout-dominated: peak elsewhere"
)


def concentration(distribution: NDArray[np.float64], centres_deg: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the resultant length R, shape (...)."""
    return stats.resultant_length(np.broadcast_to(centres_deg, distribution.shape), distribution)


def label_of(error_deg: ArrayLike, concentration: ArrayLike) -> NDArray[np.str_]:
    """Return the label of each sample, by its DAE and its concentration.

    >>> label_of([10, 40, 170], [0.9, 0.3, 0.9]).tolist()
    ['aligned', 'diffuse but usable', 'layout-dominated']
    """
    concentrated = np.asarray(concentration, np.float64) >= CONCENTRATED
    names = np.where(concentrated, "aligned", "diffuse but usable")
    return np.asarray(np.where(edge_hit(error_deg), names, "layout-dominated"))


# DAE, the direction alignment error (equation 6): the angle between the direction that relevance points in and the true one.
#
#     DAE = |((θ̂ − θ_true + 180) mod 360) − 180|, in [0, 180]
#
#     peak            θ̂ = centre of the sector with the largest P
#     circular mean   θ̂ = atan2(Σ P_k sin θ_k, Σ P_k cos θ_k)
#
# P is a distribution over K sectors on the last axis; leading axes are batched. A map that knows nothing scores well below 90°
# on real pictures, because of where objects and edges lie: compare with the uniform map's error (`baselines`).


Ties: TypeAlias = Literal["first", "mean"]
"""Which sector is the peak if several hold the most. ``first``: the first counter-clockwise from 0°, as arg-max has it.
``mean``: the mean direction of all of them, or the first if they cancel."""

_TIE = 1e-9
"""Sectors are equal if they differ by less than this share of the largest: sums in another order differ by rounding."""


def dae(angle_deg: ArrayLike, true_deg: ArrayLike) -> NDArray[np.float64]:
    """Return the direction alignment error in degrees, in [0, 180].

    >>> dae([350, 90], [10, 270]).tolist()
    [20.0, 180.0]
    """
    return stats.circular_distance(angle_deg, true_deg)


def peak_deg(
    distribution: NDArray[np.float64], centres_deg: NDArray[np.float64], ties: Ties = "first"
) -> NDArray[np.float64]:
    """Return the centre of the fullest sector, shape (...).

    Args:
        distribution: Shape (..., K).
        centres_deg: The centre of each sector, shape (K,).
        ties: If several sectors are fullest, the ``first`` of them, or their circular ``mean``.

    >>> float(peak_deg(np.array([0.1, 0.2, 0.6, 0.1]), np.array([45.0, 135.0, 225.0, 315.0])))
    225.0
    """
    if ties not in {"first", "mean"}:
        raise UsageError(f"ties must be 'first' or 'mean', not {ties!r}")
    tied = is_peak(distribution)
    first = centres_deg[tied.argmax(axis=-1)]
    if ties == "first":
        return np.asarray(first)
    vector = (tied * np.exp(1j * np.deg2rad(centres_deg))).sum(axis=-1)
    alone = (tied.sum(axis=-1) == 1) | (np.abs(vector) < NO_MEAN)
    return np.asarray(np.where(alone, first, np.rad2deg(np.angle(vector)) % 360.0))


def is_peak(distribution: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Return True where a sector holds as much as the fullest one, shape (..., K)."""
    return np.asarray(distribution >= distribution.max(axis=-1, keepdims=True) * (1 - _TIE))


def mean_deg(distribution: NDArray[np.float64], centres_deg: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the circular mean, shape (...).

    Raises:
        DegenerateError: If there is none, because the sectors cancel.

    >>> round(float(mean_deg(np.array([0.5, 0.5, 0.0, 0.0]), np.array([45.0, 135.0, 225.0, 315.0]))), 9)
    90.0
    """
    lost = int((concentration(distribution, centres_deg) < NO_MEAN).sum())
    if lost:
        raise DegenerateError(
            Exclusion.NO_MEAN, f"{lost} of {distribution[..., 0].size}; take only those with a concentration"
        )
    return stats.circular_mean(np.broadcast_to(centres_deg, distribution.shape), distribution)


# A compass: how relevance is distributed over directions around a reference.


Readout: TypeAlias = Literal["peak", "mean"]
"""Which direction stands for a compass: the centre of the fullest sector, or the circular mean."""

_REASONS = tuple(Exclusion)
KEPT = 0
"""The code of a projection that was not left out. Other codes are one more than the reason's place in `Exclusion`."""


def code_of(reason: Exclusion) -> int:
    """Return the number of a reason in `DirectionMass.codes`."""
    return _REASONS.index(reason) + 1


@dataclass(frozen=True, slots=True, eq=False)
class DirectionMass:
    """Distributions over directions; leading axes are samples, centres and maps.

    If a projection was left out, its distribution is all zero and `codes` says why. Directions and errors are refused for
    a compass that holds such projections; `kept` removes them.
    """

    distribution: NDArray[np.float64]
    """P̂, shape (..., K): sums to 1 over the last axis."""
    centres_deg: NDArray[np.float64]
    """Shape (K,): the middle of each sector, 0° to the right, 90° upward."""
    true_deg: NDArray[np.float64] | None
    """θ_true from the reference to the target, shape (...); None without a target."""
    used_share: NDArray[np.float64]
    """Shape (...): share of the map's relevance in the distribution, after distance weight and exclusions."""
    codes: NDArray[np.uint8]
    """Shape (...): 0, or the number of the `Exclusion`."""

    def __getitem__(self, index: Any) -> DirectionMass:
        """Return a part of the batch, by any numpy index over the leading axes; an ellipsis stands for leading axes alone."""
        parts = index if isinstance(index, tuple) else (index,)
        if any(part is Ellipsis for part in parts):
            # The distribution has one axis more, which an ellipsis must not reach.
            distribution = self.distribution[*parts, :]
        else:
            distribution = self.distribution[index]
        true = None if self.true_deg is None else np.asarray(self.true_deg[index])
        return DirectionMass(
            np.asarray(distribution),
            self.centres_deg,
            true,
            np.asarray(self.used_share[index]),
            np.asarray(self.codes[index]),
        )

    @property
    def shape(self) -> tuple[int, ...]:
        """The leading axes."""
        return self.distribution.shape[:-1]

    @property
    def is_kept(self) -> NDArray[np.bool_]:
        """Shape (...): which projections have a distribution."""
        return np.asarray(self.codes == KEPT)

    def kept(self) -> DirectionMass:
        """Return the projections that have a distribution, on one axis."""
        return self[self.is_kept]

    def exclusions(self) -> dict[Exclusion, int]:
        """Count the projections that were left out, by reason."""
        codes, counts = np.unique(self.codes[~self.is_kept], return_counts=True)
        return {
            _REASONS[code - 1]: count for code, count in zip(codes.tolist(), counts.tolist(), strict=True)
        }

    def peak_deg(self, ties: Ties = "first") -> NDArray[np.float64]:
        """Return the centre of the fullest sector, shape (...)."""
        return peak_deg(self._complete(), self.centres_deg, ties)

    def is_tied(self) -> NDArray[np.bool_]:
        """Return True where several sectors hold the most, shape (...)."""
        return np.asarray(is_peak(self._complete()).sum(axis=-1) > 1)

    def mean_deg(self) -> NDArray[np.float64]:
        """Return the circular mean, shape (...)."""
        return mean_deg(self._complete(), self.centres_deg)

    def concentration(self) -> NDArray[np.float64]:
        """Return the resultant length, shape (...): 1 if all mass is in one sector."""
        return concentration(self._complete(), self.centres_deg)

    def error_deg(self, readout: Readout = "peak", *, ties: Ties = "first") -> NDArray[np.float64]:
        """Return DAE in degrees, shape (...)."""
        if readout not in {"peak", "mean"}:
            raise UsageError(f"readout must be 'peak' or 'mean', not {readout!r}")
        self._complete()
        if self.true_deg is None:
            raise UsageError("an error needs a truth: project with target=…")
        return dae(self.peak_deg(ties) if readout == "peak" else self.mean_deg(), self.true_deg)

    def labels(self, *, ties: Ties = "first") -> NDArray[np.str_]:
        """Return ``aligned``, ``diffuse but usable`` or ``layout-dominated``, shape (...)."""
        return label_of(self.error_deg(ties=ties), self.concentration())

    def divergence(self, other: DirectionMass) -> NDArray[np.float64]:
        """Return the Jensen–Shannon divergence from another compass of the same sectors, in bits; leading axes broadcast."""
        if not np.array_equal(self.centres_deg, other.centres_deg):
            raise UsageError(
                f"compasses of {len(self.centres_deg)} and {len(other.centres_deg)} sectors, or of different bins, "
                "cannot be compared"
            )
        return stats.jensen_shannon_divergence(self._complete(), other._complete())

    def _complete(self) -> NDArray[np.float64]:
        """Return the distribution; raise if anything was left out."""
        lost = self.exclusions()
        if lost:
            reasons = "; ".join(f"{count} because {reason.value}" for reason, count in lost.items())
            raise DegenerateError(
                next(iter(lost)),
                f"{sum(lost.values())} of {self.codes.size} projections were left out ({reasons}); take .kept()",
            )
        return self.distribution
