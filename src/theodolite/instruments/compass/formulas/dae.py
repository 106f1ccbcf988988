"""DAE, the direction alignment error (equation 6): the angle between the direction that relevance points in and the true one.

    DAE = |((θ̂ − θ_true + 180) mod 360) − 180|, in [0, 180]

    peak            θ̂ = centre of the sector with the largest P
    circular mean   θ̂ = atan2(Σ P_k sin θ_k, Σ P_k cos θ_k)

P is a distribution over K sectors on the last axis; leading axes are batched. A map that knows nothing scores well below 90°
on real pictures, because of where objects and edges lie: compare with the uniform map's error (`baselines`).
"""

from __future__ import annotations

from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from theodolite import stats
from theodolite.core.errors import UsageError
from theodolite.instruments.compass.formulas.concentration import NO_MEAN, concentration
from theodolite.instruments.compass.formulas.exclusions import DegenerateError, Exclusion

Ties: TypeAlias = Literal["first", "mean"]
"""Which sector is the peak if several hold the most. ``first``: the first counter-clockwise from 0°, as arg-max has it.
``mean``: the mean direction of all of them, or the first if they cancel."""

_TIE = 1e-9
"""Sectors are equal if they differ by less than this share of the largest: sums in another order differ by rounding."""


def dae(angle_deg: ArrayLike, true_deg: ArrayLike) -> NDArray[np.float64]:
    """The direction alignment error in degrees, in [0, 180].

    >>> dae([350, 90], [10, 270]).tolist()
    [20.0, 180.0]
    """
    return stats.circular_distance(angle_deg, true_deg)


def peak_deg(
    distribution: NDArray[np.float64], centres_deg: NDArray[np.float64], ties: Ties = "first"
) -> NDArray[np.float64]:
    """Centre of the sector that holds the most, shape (...).

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
    """True where a sector holds as much as the fullest one, shape (..., K)."""
    return np.asarray(distribution >= distribution.max(axis=-1, keepdims=True) * (1 - _TIE))


def mean_deg(distribution: NDArray[np.float64], centres_deg: NDArray[np.float64]) -> NDArray[np.float64]:
    """Circular mean, shape (...).

    Raises:
        DegenerateError: There is none, because the sectors cancel.

    >>> round(float(mean_deg(np.array([0.5, 0.5, 0.0, 0.0]), np.array([45.0, 135.0, 225.0, 315.0]))), 9)
    90.0
    """
    lost = int((concentration(distribution, centres_deg) < NO_MEAN).sum())
    if lost:
        raise DegenerateError(
            Exclusion.NO_MEAN, f"{lost} of {distribution[..., 0].size}; take only those with a concentration"
        )
    return stats.circular_mean(np.broadcast_to(centres_deg, distribution.shape), distribution)
