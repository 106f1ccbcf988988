"""The share of variation explained by a grouping: η² and ω²."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from theodolite.core.errors import UsageError
from theodolite.core.estimates import Estimate
from theodolite.stats.bootstrap import DEFAULT_RESAMPLES, bootstrap_distribution
from theodolite.stats.resample import BatchStatistic
from theodolite.stats.samples import (
    SHARE,
    FloatArray,
    check_same_length,
    finite_array,
    is_constant,
    label_codes,
)

if TYPE_CHECKING:
    from numpy.typing import ArrayLike


def eta_squared(
    values: ArrayLike,
    groups: ArrayLike,
    *,
    corrected: bool = False,
    clusters: ArrayLike | None = None,
    level: float = 0.95,
    n_resamples: int = DEFAULT_RESAMPLES,
    seed: int,
) -> Estimate:
    """Share of the variation of `values` that lies between groups, with its bootstrap interval.

    η² = SS_between / SS_total. With several columns the sums of squares are first summed over the columns
    (as in Anderson 2001). By chance alone η² is about (G−1)/(n−1). ω² (Hays 1963) corrects for that:
    ω² = (SS_between − (G−1) MS_within) / (SS_total + MS_within) with MS_within = SS_within/(n−G). It can be
    negative, and does not account for clusters.

    Resampling raises η² further, by b = mean(η²*) − η². The interval of both is therefore given by the
    percentiles of η²* − b, clipped to [0, 1] for η². In simulations at shares of 0 to 0.3 its coverage is 92 to 99 %,
    plain and clustered. BCa never covers a share of 0, and covers a share of 0.02 in 86 to 91 %.

    Args:
        values: One number per item, shape (n,), or several, shape (n, columns).
        groups: One group label per item.
        corrected: If True, return ω² instead of η².
        clusters: One label per item, if items depend on each other within clusters.
        level: Confidence level.
        n_resamples: Number of resamples.
        seed: Seed of the resamples.

    >>> print(eta_squared([1, 2, 3, 4, 3, 4, 5, 6, 7, 8, 9, 8], list("aaaabbbbcccc"), seed=0))
    0.838 [0.651, 0.941] (n=12)
    """
    columns, member = _checked(values, groups)
    n, n_groups = member.shape
    if corrected and n <= n_groups:
        raise UsageError(f"ω² needs more items than groups, got {n} items, {n_groups} groups")
    distribution = bootstrap_distribution(
        (columns, member),
        BatchStatistic(_shares, form="weights"),
        clusters=clusters,
        jackknife=False,
        n_resamples=n_resamples,
        seed=seed,
    )
    estimate = distribution.estimate("percentile", level, bounds=SHARE)
    bias = float(np.nanmean(distribution.resamples)) - distribution.value
    value, low, high = distribution.value, estimate.low - bias, estimate.high - bias
    if corrected:
        between, total = (float(part[0]) for part in _sums_of_squares(columns, member, np.ones((1, n))))
        within = max(0.0, total - between) / (n - n_groups)
        value = (between - (n_groups - 1) * within) / (total + within)
    else:
        low, high = (min(1.0, max(0.0, end)) for end in (low, high))
    method = f"bias-shifted {estimate.method}"
    return Estimate(value, low, high, estimate.n, level, method, estimate.n_items)


def _checked(values: ArrayLike, groups: ArrayLike) -> tuple[FloatArray, FloatArray]:
    """Return the centred response, (items, columns), and the group membership, (items, groups)."""
    response = finite_array(values, "values")
    if response.ndim not in (1, 2) or 0 in response.shape:
        raise UsageError(f"values must have shape (n,) or (n, columns), not empty; got {response.shape}")
    columns = response.reshape(len(response), -1)
    distinct, codes = label_codes(groups, "groups")
    check_same_length(values=columns, groups=codes)
    if distinct.size < 2:
        raise UsageError(f"an explained share needs at least 2 groups, got 1: {distinct[0]}")
    if all(is_constant(column) for column in columns.T):
        raise UsageError("values are constant: there is no variation to explain")
    return columns - columns.mean(axis=0), (codes[:, None] == np.arange(distinct.size)).astype(np.float64)


def _sums_of_squares(
    columns: FloatArray, member: FloatArray, weights: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """SS_between and SS_total per row of weights, (rows,). A group without items in a row is ignored in that row."""
    n = weights.sum(axis=1)
    sizes = weights @ member  # (rows, groups)
    total, between = np.zeros(len(weights)), np.zeros(len(weights))
    for column in columns.T:
        sums = weights @ (member * column[:, None])
        grand = sums.sum(axis=1) ** 2 / n
        between += np.divide(sums**2, sizes, out=np.zeros_like(sums), where=sizes > 0).sum(axis=1) - grand
        total += weights @ column**2 - grand
    return between, total


def _shares(columns: FloatArray, member: FloatArray, weights: FloatArray) -> FloatArray:
    """η² per row of weights, (rows,). NaN for a resample without variation."""
    between, total = _sums_of_squares(columns, member, weights)
    total = np.where(total > 1e-12 * (weights @ columns**2).sum(axis=1), total, np.nan)
    return np.clip(between / total, 0.0, 1.0)
