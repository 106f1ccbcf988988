"""Permutation tests: two samples, paired differences, correlation; by item or by cluster."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import numpy as np
from scipy.stats import rankdata

from theodolite.core.errors import UsageError
from theodolite.core.estimates import Alternative, HypothesisTest
from theodolite.stats.arrangements import (
    ALTERNATIVES,
    NullDistribution,
    permutations,
    selections,
    signs,
    tail_p,
)
from theodolite.stats.samples import (
    FloatArray,
    IntArray,
    check_choice,
    check_count,
    check_same_length,
    check_seed,
    is_constant,
    label_codes,
    sample,
    unit_codes,
    without_rounding,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import ArrayLike, NDArray

DEFAULT_PERMUTATIONS = 9999


def _run(
    null: NullDistribution,
    statistic: Callable[[IntArray], FloatArray],
    observed: float,
    *,
    counts: tuple[int, int],
    alternative: Alternative,
    n_permutations: int,
    seed: int,
) -> HypothesisTest:
    """Compare the observed statistic with its null distribution."""
    check_choice(alternative, ALTERNATIVES, "alternative")
    check_count(n_permutations, "n_permutations")
    check_seed(seed)
    values = null.values(statistic, n_permutations, seed)
    if not (np.isfinite(values).all() and np.isfinite(observed)):
        raise UsageError("the statistic is undefined (not finite) on the data or on a permutation of them")
    p_value = tail_p(observed, values, alternative, is_exact=null.is_exact)
    return HypothesisTest(
        float(observed), p_value, counts[0], null.words(n_permutations), alternative, n_items=counts[1]
    )


def permutation_test(
    first: ArrayLike,
    second: ArrayLike,
    *,
    statistic: Literal["difference"] | Callable[[FloatArray, FloatArray], float] = "difference",
    clusters: tuple[ArrayLike, ArrayLike] | None = None,
    alternative: Alternative = "two-sided",
    n_permutations: int = DEFAULT_PERMUTATIONS,
    seed: int,
) -> HypothesisTest:
    """Test whether two independent samples could be one sample split at random (Fisher; Pitman 1937).

    Exact if there are at most 50 000 ways to split the units, otherwise Monte Carlo with
    p = (b+1)/(m+1). Two-sided is twice the smaller tail.

    Args:
        first: First sample.
        second: Second sample.
        statistic: "difference" of means, first − second, or a callable on the two samples.
        clusters: Cluster labels of the first and of the second sample. Whole clusters are permuted,
            so each must lie in one sample only.
        alternative: "greater" means that the first sample gives the larger statistic.
        n_permutations: Number of random splits if not all are enumerated.
        seed: Seed of the random splits.

    >>> result = permutation_test([7, 8, 9], [1, 2, 3], alternative="greater", seed=0)
    >>> result.p_value, result.method
    (0.05, 'exact, all 20 arrangements')
    """
    sides = sample(first, "first"), sample(second, "second")
    values = np.concatenate(sides)
    is_first = np.arange(values.size) < sides[0].size
    codes = _sided_codes(clusters, is_first)
    n_units = int(codes.max()) + 1
    side = np.zeros(n_units, dtype=np.int64)
    side[codes[is_first]] = 1
    compute = _two_sample_statistic(values, codes, statistic)
    return _run(
        selections(n_units, int(side.sum()), values.size),
        compute,
        float(compute(side[None])[0]),
        counts=(n_units, values.size),
        alternative=alternative,
        n_permutations=n_permutations,
        seed=seed,
    )


def _two_sample_statistic(
    values: FloatArray, codes: IntArray, statistic: str | Callable[[FloatArray, FloatArray], float]
) -> Callable[[IntArray], FloatArray]:
    """Return the statistic as a function of rows that mark with 1 the units of the first sample."""
    if callable(statistic):
        function = statistic
        return lambda rows: np.asarray(
            [function(values[row], values[~row]) for row in rows[:, codes] == 1], dtype=np.float64
        )
    check_choice(statistic, ("difference",), "statistic")
    # Subtracting the first value makes differences of constant data exactly zero, and so exact ties.
    moments = np.stack([np.bincount(codes, weights=values - values[0]), np.bincount(codes)], axis=1)

    def difference(rows: IntArray) -> FloatArray:
        inside = rows @ moments  # (rows, 2): sum and count of the items in the first sample
        outside = moments.sum(axis=0) - inside
        return np.asarray(inside[:, 0] / inside[:, 1] - outside[:, 0] / outside[:, 1])

    return difference


def _sided_codes(clusters: tuple[ArrayLike, ArrayLike] | None, is_first: NDArray[np.bool_]) -> IntArray:
    """Return the units of the pooled items. Each unit must be on one side only."""
    if clusters is None:
        return unit_codes(None, is_first.size)
    sides = [np.asarray(labels) for labels in clusters]
    if len(sides) != 2 or any(labels.ndim != 1 for labels in sides):
        raise UsageError("clusters must be two one-dimensional arrays of labels, one per sample")
    if sides[0].size != is_first.sum() or sides[1].size != (~is_first).sum():
        raise UsageError(
            f"clusters must name one cluster per item: {is_first.sum()} and {(~is_first).sum()} items, "
            f"{sides[0].size} and {sides[1].size} labels"
        )
    distinct, codes = label_codes(np.concatenate(sides), "clusters")
    shared = np.intersect1d(codes[is_first], codes[~is_first])
    if shared.size:
        raise UsageError(
            f"cluster {distinct[shared[0]]} has items in both samples, but only whole clusters can be permuted; "
            "for paired samples use sign_flip_test"
        )
    return codes


def sign_flip_test(
    first: ArrayLike,
    second: ArrayLike | None = None,
    *,
    clusters: ArrayLike | None = None,
    alternative: Alternative = "two-sided",
    n_permutations: int = DEFAULT_PERMUTATIONS,
    seed: int,
) -> HypothesisTest:
    """Test whether paired differences are symmetric about zero, by flipping their signs (Fisher 1935).

    The statistic is the mean difference. Exact up to 15 units (2¹⁵ sign patterns), Monte Carlo with
    p = (b+1)/(m+1) above that.

    Args:
        first: First of each pair, or the differences themselves.
        second: Second of each pair.
        clusters: One label per pair; all differences of a cluster flip together.
        alternative: "greater" means that the first of a pair is larger.
        n_permutations: Number of random sign patterns if not all are enumerated.
        seed: Seed of the random patterns.

    >>> sign_flip_test([3, 5, 4, 6], [2, 3, 1, 2], seed=0).p_value
    0.125
    """
    differences = sample(first, "first")
    if second is not None:
        other = sample(second, "second")
        check_same_length(first=differences, second=other)
        differences = without_rounding(differences, other)
    codes = unit_codes(clusters, differences.size)
    sums = np.bincount(codes, weights=differences)
    return _run(
        signs(sums.size),
        lambda rows: np.asarray(rows @ sums / differences.size),
        float(sums.sum() / differences.size),
        counts=(sums.size, differences.size),
        alternative=alternative,
        n_permutations=n_permutations,
        seed=seed,
    )


def correlation_permutation_test(
    first: ArrayLike,
    second: ArrayLike,
    *,
    kind: Literal["pearson", "spearman"] = "pearson",
    clusters: ArrayLike | None = None,
    alternative: Alternative = "two-sided",
    n_permutations: int = DEFAULT_PERMUTATIONS,
    seed: int,
) -> HypothesisTest:
    """Test whether two variables are associated, by permuting one of them.

    The statistic is Pearson's r of the values or of their ranks. Exact up to 8 units (8! = 40 320
    orders), Monte Carlo with p = (b+1)/(m+1) above that.

    Args:
        first: The variable that is kept fixed.
        second: The variable that is permuted.
        kind: Which correlation.
        clusters: One label per item. The clusters (models) must have the same number of items (benchmarks)
            in the same order. Whole blocks of `second` are then permuted between clusters.
        alternative: "greater" means a positive association.
        n_permutations: Number of random orders if not all are enumerated.
        seed: Seed of the random orders.

    >>> result = correlation_permutation_test([1, 2, 3, 4], [1, 3, 7, 9], alternative="greater", seed=0)
    >>> round(result.statistic, 3), round(result.p_value, 4), result.method
    (0.99, 0.0417, 'exact, all 24 arrangements')
    """
    check_choice(kind, ("pearson", "spearman"), "kind")
    x, y = sample(first, "first", minimum=3), sample(second, "second", minimum=3)
    check_same_length(first=x, second=y)
    for name, array in (("first", x), ("second", y)):
        if is_constant(array):
            raise UsageError(f"{name} is constant: a correlation needs variation on both sides")
    if kind == "spearman":
        x, y = rankdata(x), rankdata(y)
    codes = unit_codes(clusters, x.size)
    sizes = np.bincount(codes)
    if np.ptp(sizes):
        raise UsageError(
            f"clusters must have the same size to be permuted as blocks, got {sizes.min()} to {sizes.max()} items"
        )
    if sizes.size < 2:
        raise UsageError("a permutation needs at least 2 clusters, got 1")
    order = np.argsort(codes, kind="stable")
    x, y = ((array - array.mean())[order].reshape(sizes.size, -1) for array in (x, y))  # (units, items)
    x, y = x / np.abs(x).max(), y / np.abs(y).max()  # avoids underflow of the squares
    scale = np.sqrt((x**2).sum() * (y**2).sum())
    return _run(
        permutations(sizes.size, x.size),
        lambda rows: np.einsum("ruk,uk->r", y[rows], x) / scale,
        float((x * y).sum() / scale),
        counts=(sizes.size, x.size),
        alternative=alternative,
        n_permutations=n_permutations,
        seed=seed,
    )
