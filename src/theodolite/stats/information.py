"""Shares of information and of variance that one variable explains of another."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import rel_entr, xlogy

from theodolite.core.errors import UsageError
from theodolite.core.tables import Estimate
from theodolite.stats.bootstrap import DEFAULT_RESAMPLES, bootstrap_distribution
from theodolite.stats.permutation import BLOCK_CELLS
from theodolite.stats.samples import (
    SHARE,
    BatchStatistic,
    FloatArray,
    IntArray,
    check_count,
    check_same_length,
    check_seed,
    finite_array,
    is_constant,
    label_codes,
)

if TYPE_CHECKING:
    from numpy.typing import ArrayLike


# Jensen–Shannon divergence of distributions and mutual information of labels.


def jensen_shannon_divergence(first: ArrayLike, second: ArrayLike) -> FloatArray:
    """Return the Jensen–Shannon divergence in bits over the last axis; leading axes are batched and broadcast.

    JSD(P, Q) = ½ KL(P‖M) + ½ KL(Q‖M) with M = ½(P + Q) (Lin 1991): 0 if P = Q, 1 if their supports are disjoint.
    Each distribution is divided by its sum. Negative mass, or a total of zero, is an error.

    >>> jensen_shannon_divergence([[1, 1], [1, 0]], [[2, 2], [0, 3]]).tolist()
    [0.0, 1.0]
    """
    p, q = _distributions(first, "first"), _distributions(second, "second")
    try:
        p, q = np.broadcast_arrays(p, q)
    except ValueError as error:
        raise UsageError(f"distributions of shapes {p.shape} and {q.shape} cannot be broadcast") from error
    middle = (p + q) / 2
    nats = (rel_entr(p, middle) + rel_entr(q, middle)).sum(axis=-1) / 2
    return np.asarray(np.clip(nats / np.log(2), 0.0, 1.0))


def _distributions(values: ArrayLike, name: str) -> FloatArray:
    mass = finite_array(values, name, largest=np.inf)
    if mass.ndim == 0 or mass.shape[-1] == 0:
        raise UsageError(f"{name} needs at least one cell on its last axis, got shape {mass.shape}")
    if (mass < 0).any():
        raise UsageError(f"{name} must not contain negative mass, got {mass.min()}")
    peak = mass.max(axis=-1, keepdims=True)
    if (peak == 0).any():
        raise UsageError(f"{name} contains a distribution without mass: all its cells are zero")
    mass = mass / peak  # so that neither tiny nor huge values are lost in the sum
    return np.asarray(mass / mass.sum(axis=-1, keepdims=True))


@dataclass(frozen=True, slots=True)
class MutualInformation:
    """Mutual information of two labellings and its value by chance, in bits."""

    value: float
    """Plug-in estimate. Biased upwards, and more so with more labels."""
    null_mean: float
    """Mean over shuffled labels: the part of `value` due to chance."""
    null_high: float
    """95th percentile over shuffled labels."""
    corrected: float
    """`value` − `null_mean`. Negative if `value` is below its mean by chance."""
    p_value: float
    """Share of shuffles that reach `value`, (b+1)/(m+1)."""
    n: int
    """Number of items."""
    n_permutations: int
    """Number of shuffles."""


def mutual_information(
    first: ArrayLike, second: ArrayLike, *, n_permutations: int = 999, seed: int
) -> MutualInformation:
    """Compute the mutual information of two discrete labellings in bits, with its null distribution from shuffling.

    I = Σ p(a,b) log₂ p(a,b)/p(a)p(b) from the observed shares (0 log 0 = 0). The null shuffles one side. A side
    with a single label carries no information: the value is 0 and p is 1.

    Args:
        first: One label per item.
        second: One label per item.
        n_permutations: Number of shuffles.
        seed: Seed of the shuffles.

    >>> result = mutual_information(list("aabbaabb"), [0, 0, 1, 1, 0, 0, 1, 1], seed=0)
    >>> result.value, result.p_value < 0.1
    (1.0, True)
    """
    _, x = label_codes(first, "first")
    _, y = label_codes(second, "second")
    n = check_same_length(first=x, second=y)
    check_count(n_permutations, "n_permutations")
    generator = np.random.default_rng(check_seed(seed))
    n_cells = (int(x.max()) + 1) * (int(y.max()) + 1)
    marginal = _entropy(np.bincount(x)[None])[0] + _entropy(np.bincount(y)[None])[0]

    def information(shuffled: IntArray) -> FloatArray:
        """Return the information of each row of `shuffled` (rows, items). Shuffling keeps the marginal entropies."""
        cells = x * (int(y.max()) + 1) + shuffled + n_cells * np.arange(len(shuffled))[:, None]
        counts = np.bincount(cells.ravel(), minlength=len(shuffled) * n_cells).reshape(-1, n_cells)
        return np.asarray(np.maximum(marginal - _entropy(counts), 0.0))

    value = float(information(y[None])[0])
    step = max(1, BLOCK_CELLS // max(n, n_cells))
    null = np.concatenate(
        [
            information(generator.permuted(np.tile(y, (min(step, n_permutations - start), 1)), axis=1))
            for start in range(0, n_permutations, step)
        ]
    )
    return MutualInformation(
        value=value,
        null_mean=float(null.mean()),
        null_high=float(np.quantile(null, 0.95)),
        corrected=value - float(null.mean()),
        p_value=(int((null >= value - 1e-12).sum()) + 1) / (n_permutations + 1),
        n=n,
        n_permutations=n_permutations,
    )


def _entropy(counts: IntArray) -> FloatArray:
    """Return the entropy in bits of each row of counts."""
    shares = counts / counts.sum(axis=1, keepdims=True)
    return np.asarray(-xlogy(shares, shares).sum(axis=1) / np.log(2))


# The share of variation explained by a grouping: η² and ω².


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
    """Compute the share of the variation of `values` that lies between groups, with its bootstrap interval.

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
    """Return SS_between and SS_total per row of weights, (rows,). A group without items in a row is ignored in that row."""
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
    """Return η² per row of weights, (rows,). NaN for a resample without variation."""
    between, total = _sums_of_squares(columns, member, weights)
    total = np.where(total > 1e-12 * (weights @ columns**2).sum(axis=1), total, np.nan)
    return np.clip(between / total, 0.0, 1.0)
