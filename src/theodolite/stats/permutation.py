"""Permutation tests, exact where possible, and the correction of their p-values."""

from __future__ import annotations

import itertools
import math
from typing import TYPE_CHECKING, Literal

import numpy as np
from scipy.stats import binom, rankdata

from theodolite.core.errors import UsageError
from theodolite.core.tables import Alternative, HypothesisTest
from theodolite.stats.samples import (
    ROUNDING,
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
    from collections.abc import Callable, Iterator, Sequence

    from numpy.typing import ArrayLike, NDArray

    from theodolite.core.tables import Alternative


# Arrangements under a null hypothesis: all of them if there are few, random ones otherwise.


EXACT_LIMIT = 50_000
"""Up to this many arrangements, all are enumerated: orders of 8 units, signs of 15, selections of 9 units out of 18."""
BLOCK_CELLS = 2**20
ALTERNATIVES: tuple[Alternative, ...] = ("two-sided", "greater", "less")


class NullDistribution:
    """The null distribution of a permutation test.

    Args:
        n_possible: Number of possible arrangements.
        enumerate_all: Yields each arrangement once.
        draw: Draws a given number of random arrangements, one per row.
        width: Number of cells of one arrangement, which sets the block size.
    """

    def __init__(
        self,
        n_possible: int,
        enumerate_all: Callable[[], Iterator[Sequence[int]]],
        draw: Callable[[np.random.Generator, int], IntArray],
        width: int,
    ) -> None:
        self.is_exact = n_possible <= EXACT_LIMIT
        self.n_possible = n_possible
        self._enumerate_all = enumerate_all
        self._draw = draw
        self._step = max(1, BLOCK_CELLS // width)

    def values(
        self, statistic: Callable[[IntArray], FloatArray], n_permutations: int, seed: int
    ) -> FloatArray:
        """Evaluate the statistic on every arrangement, or on `n_permutations` random ones."""
        blocks = []
        if self.is_exact:
            arrangements = self._enumerate_all()
            while rows := list(itertools.islice(arrangements, self._step)):
                blocks.append(statistic(np.asarray(rows, dtype=np.int64)))
        else:
            generator = np.random.default_rng(seed)
            for start in range(0, n_permutations, self._step):
                size = min(self._step, n_permutations - start)
                blocks.append(statistic(self._draw(generator, size)))
        return np.concatenate(blocks)

    def words(self, n_permutations: int) -> str:
        """Describe how the p-value was computed, for `method`."""
        if self.is_exact:
            return f"exact, all {self.n_possible} arrangements"
        return f"Monte Carlo, {n_permutations} random arrangements"


def tail_p(observed: float, values: FloatArray, alternative: Alternative, *, is_exact: bool) -> float:
    """Return the p-value of `observed` given the values under the null hypothesis.

    With b of m values at least as extreme, p = b/m if the m values are exhaustive, and (b+1)/(m+1) if they are
    random draws, which is never zero (Phipson and Smyth 2010). Two-sided is twice the smaller tail, at most 1. Values
    within rounding of the observed one count as equal to it.

    Args:
        observed: The observed statistic.
        values: The statistic under the null hypothesis.
        alternative: "greater" means that a large statistic is extreme.
        is_exact: True if the values are exhaustive.
    """
    check_choice(alternative, ALTERNATIVES, "alternative")
    slack = 1e-12 * max(abs(observed), float(np.abs(values).max()))
    extra = 0 if is_exact else 1
    above = (int((values >= observed - slack).sum()) + extra) / (values.size + extra)
    below = (int((values <= observed + slack).sum()) + extra) / (values.size + extra)
    if alternative == "two-sided":
        return min(1.0, 2 * min(above, below))
    return above if alternative == "greater" else below


def count_if_few(logarithm: float, count: Callable[[], int]) -> int:
    """Return the number of arrangements. Above e⁴⁰ a large constant is returned to avoid long arithmetic."""
    return count() if logarithm < 40 else 2**62


def selections(n_units: int, n_first: int, width: int) -> NullDistribution:
    """Return the assignments of units to the first sample: rows of 0 and 1 with `n_first` ones.

    Args:
        n_units: Number of units of both samples.
        n_first: Number of units of the first sample.
        width: Number of cells of one arrangement, which sets the block size.
    """

    def enumerate_all() -> Iterator[Sequence[int]]:
        for chosen in itertools.combinations(range(n_units), n_first):
            row = [0] * n_units
            for unit in chosen:
                row[unit] = 1
            yield row

    def draw(generator: np.random.Generator, size: int) -> IntArray:
        start = (np.arange(n_units) < n_first).astype(np.int64)
        return generator.permuted(np.tile(start, (size, 1)), axis=1)

    logarithm = math.lgamma(n_units + 1) - math.lgamma(n_first + 1) - math.lgamma(n_units - n_first + 1)
    n_possible = count_if_few(logarithm, lambda: math.comb(n_units, n_first))
    return NullDistribution(n_possible, enumerate_all, draw, width)


def signs(n_units: int) -> NullDistribution:
    """Return the sign patterns of the units: rows of −1 and 1."""

    def draw(generator: np.random.Generator, size: int) -> IntArray:
        return 2 * generator.integers(0, 2, size=(size, n_units)) - 1

    n_possible = count_if_few(n_units * math.log(2), lambda: 2**n_units)
    return NullDistribution(n_possible, lambda: itertools.product((-1, 1), repeat=n_units), draw, n_units)


def permutations(n_units: int, width: int) -> NullDistribution:
    """Return the orders of the units: rows of indices."""

    def draw(generator: np.random.Generator, size: int) -> IntArray:
        return generator.permuted(np.tile(np.arange(n_units), (size, 1)), axis=1)

    n_possible = count_if_few(math.lgamma(n_units + 1), lambda: math.factorial(n_units))
    return NullDistribution(n_possible, lambda: itertools.permutations(range(n_units)), draw, width)


# Permutation tests: two samples, paired differences, correlation; by item or by cluster.


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
    """Return the statistic as a function of rows that mark the units of the first sample with 1."""
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

    The statistic is the mean difference. Clusters whose differences sum to zero do not change it. Exact for any number
    of others that all differ by the same amount (then it is McNemar's exact test of clusters), and up to 15 (2¹⁵ sign
    patterns); Monte Carlo with p = (b+1)/(m+1) otherwise.

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
    counts = sums.size, differences.size
    moving = sums[np.abs(sums) > ROUNDING * np.abs(differences).max()]
    sizes = np.abs(moving)
    if not sizes.size:
        moving = sums[:1]
    elif np.ptp(sizes) <= ROUNDING * sizes.max():
        check_choice(alternative, ALTERNATIVES, "alternative")
        check_seed(seed)
        return _sign_test(int(np.sum(moving > 0)), sizes, counts, alternative)
    return _run(
        signs(moving.size),
        lambda rows: np.asarray(rows @ moving / differences.size),
        float(moving.sum() / differences.size),
        counts=counts,
        alternative=alternative,
        n_permutations=n_permutations,
        seed=seed,
    )


def _sign_test(
    n_up: int, sizes: FloatArray, counts: tuple[int, int], alternative: Alternative
) -> HypothesisTest:
    """Test by the number of clusters that rise, where all that differ do so by the same amount."""
    n = sizes.size
    tails = {"greater": float(binom.sf(n_up - 1, n, 0.5)), "less": float(binom.cdf(n_up, n, 0.5))}
    p_value = min(1.0, 2 * min(tails.values())) if alternative == "two-sided" else tails[alternative]
    words = f"exact, sign test of {n} clusters that differ, of {counts[0]}"
    statistic = (2 * n_up - n) * float(sizes[0]) / counts[1]
    return HypothesisTest(statistic, min(1.0, p_value), counts[0], words, alternative, n_items=counts[1])


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


# Correction for multiple tests.


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
