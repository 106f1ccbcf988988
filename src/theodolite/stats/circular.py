"""Directions in degrees: mean direction, resultant length, distance.

Any finite angle is allowed. Directions are returned in [0, 360), distances in [0, 180].
Mardia and Jupp (2000), Directional Statistics, ch. 2.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from theodolite.core.errors import UsageError
from theodolite.stats.samples import FloatArray, finite_array

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

_NO_DIRECTION = 1e-12
"""Resultant length below which the vectors cancel and there is no mean direction."""


def _resultant(angles_deg: ArrayLike, weights: ArrayLike | None) -> NDArray[np.complex128]:
    """Return Σ w exp(iθ) / Σ w over the last axis."""
    angles = finite_array(angles_deg, "angles_deg")
    if angles.ndim == 0 or angles.shape[-1] == 0:
        raise UsageError(f"angles_deg needs at least one angle on its last axis, got shape {angles.shape}")
    shares = np.ones_like(angles) if weights is None else finite_array(weights, "weights")
    if shares.shape not in (angles.shape, angles.shape[-1:]):
        raise UsageError(f"weights must have the shape of the angles, {angles.shape}, got {shares.shape}")
    if (shares < 0).any():
        raise UsageError(f"weights must not be negative, got {shares.min()}")
    total = shares.sum(axis=-1)
    if (total <= 0).any():
        raise UsageError("weights must not all be zero")
    return np.asarray((shares * np.exp(1j * np.deg2rad(angles % 360))).sum(axis=-1) / total)


def _direction(resultant: NDArray[np.complex128]) -> FloatArray:
    """Return the angle of each vector, in [0, 360)."""
    degrees = np.rad2deg(np.angle(resultant)) % 360
    return np.where(degrees >= 360, 0.0, degrees)  # -1e-20 % 360 is 360


def circular_mean(angles_deg: ArrayLike, weights: ArrayLike | None = None) -> FloatArray:
    """Return the mean direction over the last axis, in degrees: the angle of Σ w exp(iθ).

    Angles that cancel (a resultant length below 1e-12) have no mean direction and raise a `UsageError`.

    Args:
        angles_deg: Angles of any shape. The last axis is averaged.
        weights: Non-negative weights of the same shape, or of the last axis. Default: equal.

    >>> float(circular_mean([350, 10, 30]).round(6))
    10.0
    """
    resultant = _resultant(angles_deg, weights)
    if (np.abs(resultant) < _NO_DIRECTION).any():
        raise UsageError("the angles cancel (resultant length 0): they have no mean direction")
    return _direction(resultant)


def resultant_length(angles_deg: ArrayLike, weights: ArrayLike | None = None) -> FloatArray:
    """Return the mean resultant length over the last axis, |Σ w exp(iθ)| / Σ w: 1 if all angles agree, 0 if they cancel.

    Args:
        angles_deg: Angles of any shape. The last axis is averaged.
        weights: Non-negative weights of the same shape, or of the last axis. Default: equal.

    >>> float(resultant_length([0, 90]).round(4))
    0.7071
    """
    return np.clip(np.abs(_resultant(angles_deg, weights)), 0.0, 1.0)


def circular_distance(first_deg: ArrayLike, second_deg: ArrayLike) -> FloatArray:
    """Return the smallest angle between two directions, element by element: 180 − |180 − (|a − b| mod 360)|.

    >>> circular_distance([350, 0, 90], [10, 180, 90]).tolist()
    [20.0, 180.0, 0.0]
    """
    first, second = finite_array(first_deg, "first_deg"), finite_array(second_deg, "second_deg")
    try:
        apart = np.abs(first % 360 - second % 360)
    except ValueError as error:
        raise UsageError(f"shapes {first.shape} and {second.shape} cannot be broadcast") from error
    return np.asarray(180 - np.abs(180 - apart))
