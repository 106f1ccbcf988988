"""Correction for multiple tests."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from theodolite.core.errors import UsageError
from theodolite.stats.samples import FloatArray, sample

if TYPE_CHECKING:
    from numpy.typing import ArrayLike


def holm(p_values: ArrayLike) -> FloatArray:
    """Return Holm's (1979) adjusted p-values, in the given order. Reject where they are at most α.

    For the i-th smallest of m p-values, max_{j≤i} min(1, (m − j + 1) p_(j)). Controls the probability of any false
    rejection at α under any dependence.

    >>> holm([0.01, 0.04, 0.03]).tolist()
    [0.03, 0.06, 0.06]
    """
    p = sample(p_values, "p_values")
    if p.min() < 0 or p.max() > 1:
        raise UsageError(f"p_values must lie between 0 and 1, got {p.min()} to {p.max()}")
    order = np.argsort(p, kind="stable")
    stepped = np.maximum.accumulate((p.size - np.arange(p.size)) * p[order])
    adjusted = np.empty_like(p)
    adjusted[order] = np.minimum(stepped, 1.0)
    return adjusted
