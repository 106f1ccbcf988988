"""Test for a trend over ordered groups: Jonckheere–Terpstra."""

from __future__ import annotations

import itertools
import math
from typing import TYPE_CHECKING, Literal

import numpy as np
from scipy.special import ndtr

from theodolite.core.errors import UsageError
from theodolite.core.tables import Alternative, HypothesisTest
from theodolite.stats.permutation import DEFAULT_PERMUTATIONS, NullDistribution, count_if_few, tail_p
from theodolite.stats.samples import (
    FloatArray,
    IntArray,
    check_choice,
    check_count,
    check_same_length,
    check_seed,
    label_codes,
    sample,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import ArrayLike

_TAILS: dict[str, Alternative] = {"increasing": "greater", "decreasing": "less", "two-sided": "two-sided"}


def jonckheere_terpstra(
    values: ArrayLike,
    groups: ArrayLike,
    *,
    alternative: Literal["increasing", "decreasing", "two-sided"] = "two-sided",
    method: Literal["normal", "permutation"] = "permutation",
    n_permutations: int = DEFAULT_PERMUTATIONS,
    seed: int = 0,
) -> HypothesisTest:
    """Test for a trend of `values` over ordered groups. The statistic is J.

    J counts the pairs of items from different groups whose values are in the order of the groups, ties half
    (Terpstra 1952; Jonckheere 1954). "permutation" is exact if there are at most 50 000 assignments of the items to
    the groups, and Monte Carlo with p = (b+1)/(m+1) otherwise. "normal" is
    z = (J − E J)/√Var J with E J = (N² − Σnᵢ²)/4 and the variance corrected for ties (Hollander, Wolfe and
    Chicken 2014, eq. 6.19), without a continuity correction. For constant values p is 1.

    Args:
        values: One value per item.
        groups: One label per item; the groups are in the sort order of their labels.
        alternative: Direction of the trend.
        method: How the p-value is computed.
        n_permutations: Number of random assignments if not all are enumerated.
        seed: Seed of the random assignments.

    >>> result = jonckheere_terpstra([1, 2, 3, 4, 5, 6], [1, 1, 2, 2, 3, 3], alternative="increasing")
    >>> result.statistic, round(result.p_value, 4), result.method
    (12.0, 0.0111, 'exact, all 90 arrangements')
    """
    check_choice(alternative, _TAILS, "alternative")
    check_choice(method, ("normal", "permutation"), "method")
    check_count(n_permutations, "n_permutations")
    check_seed(seed)
    x = sample(values, "values")
    distinct, codes = label_codes(groups, "groups")
    n = check_same_length(values=x, groups=codes)
    if distinct.size < 2:
        raise UsageError(f"a trend needs at least 2 groups, got 1: {distinct[0]}")
    sizes = np.bincount(codes)
    order = np.argsort(x, kind="stable")
    starts = np.flatnonzero(np.diff(x[order], prepend=-np.inf))
    observed = float(_ordered_pairs(codes[order][None], starts, distinct.size)[0])
    if method == "normal":
        ties = np.diff(np.append(starts, n))
        p_value = _normal_p(observed, sizes, ties, alternative)
        return HypothesisTest(observed, p_value, n, "normal, tie-corrected", alternative)
    null = _assignments(sizes)
    values_under_null = null.values(
        lambda rows: _ordered_pairs(rows, starts, distinct.size), n_permutations, seed
    )
    p_value = tail_p(observed, values_under_null, _TAILS[alternative], is_exact=null.is_exact)
    return HypothesisTest(observed, p_value, n, null.words(n_permutations), alternative)


def _ordered_pairs(codes: IntArray, starts: IntArray, n_groups: int) -> FloatArray:
    """Return J per row of group codes, with the items sorted by value. Ties begin at `starts`."""
    lower = np.zeros((len(codes), starts.size))  # items of lower groups at each distinct value
    total = np.zeros(len(codes))
    for group in range(n_groups):
        here = np.add.reduceat((codes == group).astype(np.float64), starts, axis=1)
        total += (here * (np.cumsum(lower, axis=1) - lower / 2)).sum(axis=1)
        lower += here
    return total


def _normal_p(observed: float, sizes: IntArray, ties: IntArray, alternative: str) -> float:
    """Return p by the tie-corrected normal approximation.

    Var J = [N(N−1)(2N+5) − Σn(n−1)(2n+5) − Σt(t−1)(2t+5)]/72 + Σn(n−1)(n−2) Σt(t−1)(t−2)/36N(N−1)(N−2)
    + Σn(n−1) Σt(t−1)/8N(N−1), over groups of n and ties of t items.
    """
    n = int(sizes.sum())

    def shape(k: IntArray | int) -> float:
        return float(np.sum(k * (k - 1) * (2 * k + 5)))

    def pairs(k: IntArray | int) -> float:
        return float(np.sum(k * (k - 1)))

    def triples(k: IntArray | int) -> float:
        return float(np.sum(k * (k - 1) * (k - 2)))

    variance = (shape(n) - shape(sizes) - shape(ties)) / 72 + pairs(sizes) * pairs(ties) / (8 * pairs(n))
    if n > 2:
        variance += triples(sizes) * triples(ties) / (36 * triples(n))
    if variance <= 1e-9:
        return 1.0
    z = (observed - (n**2 - float(np.sum(sizes**2))) / 4) / math.sqrt(variance)
    if alternative == "two-sided":
        return min(1.0, 2 * float(ndtr(-abs(z))))
    return float(ndtr(-z if alternative == "increasing" else z))


def _assignments(sizes: IntArray) -> NullDistribution:
    """Return all assignments of the items to groups of the given sizes: rows of group codes."""
    n = int(sizes.sum())
    logarithm = math.lgamma(n + 1) - sum(math.lgamma(size + 1) for size in sizes.tolist())
    n_possible = count_if_few(
        logarithm,
        lambda: math.factorial(n) // math.prod(math.factorial(size) for size in sizes.tolist()),
    )

    def assign(group: int, free: tuple[int, ...]) -> Iterator[dict[int, int]]:
        if group == sizes.size:
            yield {}
            return
        for chosen in itertools.combinations(free, int(sizes[group])):
            rest = tuple(item for item in free if item not in chosen)
            for later in assign(group + 1, rest):
                yield dict.fromkeys(chosen, group) | later

    def enumerate_all() -> Iterator[Sequence[int]]:
        for assigned in assign(0, tuple(range(n))):
            yield [assigned[item] for item in range(n)]

    def draw(generator: np.random.Generator, size: int) -> IntArray:
        codes = np.repeat(np.arange(sizes.size), sizes)
        return generator.permuted(np.tile(codes, (size, 1)), axis=1)

    return NullDistribution(n_possible, enumerate_all, draw, n)
