"""Arrangements under a null hypothesis: all of them if there are few, random ones otherwise."""

from __future__ import annotations

import itertools
import math
from typing import TYPE_CHECKING

import numpy as np

from theodolite.stats.samples import FloatArray, IntArray, check_choice

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from theodolite.core.estimates import Alternative

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
    """Assignments of units to the first sample: rows of 0 and 1 with `n_first` ones."""

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
    """Sign patterns of the units: rows of −1 and 1."""

    def draw(generator: np.random.Generator, size: int) -> IntArray:
        return 2 * generator.integers(0, 2, size=(size, n_units)) - 1

    n_possible = count_if_few(n_units * math.log(2), lambda: 2**n_units)
    return NullDistribution(n_possible, lambda: itertools.product((-1, 1), repeat=n_units), draw, n_units)


def permutations(n_units: int, width: int) -> NullDistribution:
    """Orders of the units: rows of indices."""

    def draw(generator: np.random.Generator, size: int) -> IntArray:
        return generator.permuted(np.tile(np.arange(n_units), (size, 1)), axis=1)

    n_possible = count_if_few(math.lgamma(n_units + 1), lambda: math.factorial(n_units))
    return NullDistribution(n_possible, lambda: itertools.permutations(range(n_units)), draw, width)
