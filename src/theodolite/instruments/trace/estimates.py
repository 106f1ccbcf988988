"""Means with their intervals, clustered by unit."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from theodolite import stats


def mean_estimate(
    values: Sequence[float], units: Sequence[str], *, is_share: bool = True, seed: int
) -> stats.Estimate | None:
    """A mean with its interval: clustered bootstrap.

    Where all values are alike, a bootstrap knows no doubt: shares of 0 or 1 then take Wilson's interval over the units,
    and other values say so in the method.
    """
    if not values:
        return None
    n = len(set(units))
    array = np.asarray(values, np.float64)
    if n > 1 and np.ptp(array) > 0:
        return stats.bootstrap(array, clusters=list(units), interval="percentile", seed=seed)
    value = float(array.mean())
    if is_share and value in {0.0, 1.0}:
        return stats.wilson_interval(int(value) * n, n)
    words = "one unit: no interval" if n < 2 else "all values alike: no interval"
    return stats.Estimate(value, value, value, n, 0.95, words, n_items=array.size)
