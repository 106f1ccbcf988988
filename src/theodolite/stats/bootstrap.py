"""Bootstrap intervals: plain, clustered and paired; percentile or BCa."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from scipy.special import ndtr, ndtri

from theodolite.core.errors import UsageError
from theodolite.core.tables import Estimate
from theodolite.stats.samples import (
    ROUNDING,
    BatchStatistic,
    Bounds,
    Evaluator,
    FloatArray,
    IntArray,
    as_arrays,
    check_choice,
    check_count,
    check_level,
    check_seed,
    drawn_counts,
    is_constant,
    left_out_counts,
    unit_codes,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import ArrayLike

DEFAULT_RESAMPLES = 2000
MAX_UNDEFINED_SHARE = 0.05
"""There is no interval if the statistic is undefined on a larger share of the resamples."""

_NO_WIDTH = 1e-6
"""An interval of less than this share of the range between the bounds comes from rounding."""


@dataclass(frozen=True, slots=True, eq=False)
class BootstrapDistribution:
    """The values of a statistic on the data, on every resample and on every jackknife replicate.

    The draws depend only on the seed and the number of units. Two distributions over the same units with the same seed
    therefore share their resamples, and `first - second` is the distribution of the difference.
    """

    value: float
    """The statistic of the data."""
    resamples: FloatArray
    """The statistic of each resample, shape (resamples,); NaN where it is undefined."""
    jackknife: FloatArray | None
    """The statistic with one unit left out at a time, shape (units,); None if not computed."""
    units: IntArray
    """The index of each item's independent unit, shape (items,): its cluster, or the item itself."""
    seed: int
    """Seed of the draws."""

    @property
    def n(self) -> int:
        """Number of independent units: clusters, or items."""
        return int(self.units.max()) + 1

    @property
    def n_items(self) -> int:
        """Number of items."""
        return self.units.size

    @property
    def n_undefined(self) -> int:
        """Number of resamples on which the statistic is undefined."""
        return int(np.isnan(self.resamples).sum())

    def __sub__(self, other: BootstrapDistribution) -> BootstrapDistribution:
        mine, theirs = ((d.n, d.n_items, d.resamples.size, d.seed) for d in (self, other))
        if mine != theirs or not np.array_equal(self.units, other.units):
            raise UsageError(
                "distributions can be subtracted only if they share their resamples: units, items, resamples and "
                f"seed are {mine} and {theirs}, and the items must belong to the same units"
            )
        pair = (self.jackknife, other.jackknife)
        jackknife = None if pair[0] is None or pair[1] is None else pair[0] - pair[1]
        return BootstrapDistribution(
            self.value - other.value, self.resamples - other.resamples, jackknife, self.units, self.seed
        )

    def estimate(
        self,
        interval: Literal["bca", "percentile"] = "bca",
        level: float = 0.95,
        *,
        bounds: Bounds | None = None,
        n: int | None = None,
        fallback: bool = False,
    ) -> Estimate:
        """Return the value with its interval.

        Percentile: the α/2 and 1 − α/2 quantiles of the resamples. BCa (Efron 1987; Efron and Tibshirani
        1993, ch. 14): the quantiles at Φ(ẑ₀ + (ẑ₀ + z)/(1 − â(ẑ₀ + z))) for z = ∓z₁₋α/₂. Here ẑ₀ is Φ⁻¹ of the share
        of resamples below the value (ties count half; the share is kept half a resample away from 0 and 1), and
        â = Σd³ / 6(Σd²)^(3/2) for the jackknife deviations d = mean − replicate.

        Args:
            interval: Kind of interval.
            level: Confidence level.
            bounds: The least and the largest possible value. They are used only if the resamples do not vary: the
                interval then reaches from the value z²/(n + z²) of the way to each bound, for n units. That is Wilson's
                interval for a share of 0 or 1.
            n: Number of units that the value rests on, if not all.
            fallback: If True and the jackknife is undefined, return the percentile interval and say so in
                `method`. Otherwise raise an error.
        """
        check_choice(interval, ("bca", "percentile"), "interval")
        check_level(level)
        defined = self.resamples[~np.isnan(self.resamples)]
        if self.n_undefined > MAX_UNDEFINED_SHARE * self.resamples.size:
            raise UsageError(
                f"the statistic is undefined on {self.n_undefined} of {self.resamples.size} resamples; "
                f"at most {MAX_UNDEFINED_SHARE:.0%} may be: it needs more units ({self.n} given)"
            )
        units = f"{self.n} clusters" if self.n < self.n_items else f"{self.n} items"
        words = f"{self.resamples.size} resamples of {units}"
        if self.n_undefined:
            words += f", {self.n_undefined} undefined and left out"
        if is_constant(np.append(defined, self.value)):
            return self._widened(bounds, n or self.n, level, words)
        probabilities = np.array([(1 - level) / 2, (1 + level) / 2])
        if interval == "bca" and fallback and self.jackknife is not None and np.isnan(self.jackknife).any():
            interval, words = "percentile", f"{words}; BCa undefined: the figure rests on one unit"
        if interval == "bca":
            probabilities = self._corrected(probabilities, defined)
        low, high = np.quantile(defined, probabilities)
        least = ROUNDING * max(abs(low), abs(high)) if bounds is None else _NO_WIDTH * (bounds[1] - bounds[0])
        if high - low <= least:
            return self._widened(bounds, n or self.n, level, words)
        name = "BCa" if interval == "bca" else "percentile"
        return Estimate(
            self.value, float(low), float(high), self.n, level, f"{name} bootstrap, {words}", self.n_items
        )

    def percentile(self, bounds: Bounds | None = None) -> Estimate | None:
        """Return the value with its 95 % percentile interval; None if too many resamples are undefined or it has no interval."""
        try:
            return self.estimate("percentile", bounds=bounds)
        except UsageError:
            return None

    def _widened(self, bounds: Bounds | None, n: int, level: float, words: str) -> Estimate:
        if bounds is None:
            raise UsageError(f"the statistic is the same on {words}: without bounds no interval can be given")
        z = float(ndtri((1 + level) / 2))
        share = z**2 / (n + z**2)
        low, high = (self.value + share * (bound - self.value) for bound in bounds)
        name = f"widened towards {bounds[0]:g} and {bounds[1]:g}: the same on {words}"
        return Estimate(
            self.value, min(low, self.value), max(high, self.value), self.n, level, name, self.n_items
        )

    def _corrected(self, probabilities: FloatArray, defined: FloatArray) -> FloatArray:
        if self.jackknife is None:
            raise UsageError(
                "a BCa interval needs the jackknife: pass jackknife=True, or use interval='percentile'"
            )
        if np.isnan(self.jackknife).any():
            raise UsageError(
                "a BCa interval needs the statistic with each unit left out, but without one of the units it is "
                "undefined; use interval='percentile', or add units"
            )
        gap = defined - self.value
        is_tie = np.abs(gap) <= ROUNDING * max(abs(self.value), float(np.abs(defined).max()))
        below = np.mean(np.where(is_tie, 0.5, gap < 0))
        margin = 0.5 / defined.size
        bias = ndtri(np.clip(below, margin, 1 - margin))
        deviations = self.jackknife.mean() - self.jackknife
        deviations = deviations / (np.abs(deviations).max() or 1.0)  # avoids underflow of the powers
        spread = np.sum(deviations**2)
        acceleration = np.sum(deviations**3) / (6 * spread**1.5) if spread > 0 else 0.0
        shifted = bias + ndtri(probabilities)
        # |â| ≤ 1/6, so the denominator reaches zero only far in a tail, where the limit is the end of the tail.
        denominator = np.maximum(1 - acceleration * shifted, 1e-9)
        return np.asarray(ndtr(bias + shifted / denominator))


def bootstrap_distribution(
    data: ArrayLike | tuple[ArrayLike, ...],
    statistic: str | Callable[..., Any] | BatchStatistic = "mean",
    *,
    clusters: ArrayLike | None = None,
    jackknife: bool = True,
    n_resamples: int = DEFAULT_RESAMPLES,
    seed: int,
) -> BootstrapDistribution:
    """Compute the bootstrap distribution behind `bootstrap`, to combine several statistics.

    Args:
        data: As for `bootstrap`.
        statistic: As for `bootstrap`.
        clusters: As for `bootstrap`.
        jackknife: If True, also compute the jackknife, which a BCa interval needs: one unit left out at a time,
            or one of 1000 random groups if there are more than 1000 units.
        n_resamples: Number of resamples.
        seed: Seed of the draws.

    >>> hits, guesses = [1, 1, 0, 1, 1, 0, 1, 1], [0, 1, 0, 1, 0, 0, 1, 0]
    >>> first, second = (bootstrap_distribution(answers, seed=1) for answers in (hits, guesses))
    >>> print((first - second).estimate())
    0.375 [0.125, 0.750] (n=8)
    """
    arrays = as_arrays(data)
    evaluator = Evaluator(arrays, statistic, unit_codes(clusters, len(arrays[0])))
    check_count(n_resamples, "n_resamples", minimum=2)
    check_seed(seed)
    if evaluator.n_units < 2:
        unit = "item" if clusters is None else "cluster"
        raise UsageError(f"a bootstrap interval needs at least 2 independent units, got 1 {unit}")
    value = evaluator.observed()
    replicates = None
    if jackknife:
        replicates = np.concatenate([evaluator(counts) for counts in left_out_counts(evaluator, seed)])
    return BootstrapDistribution(
        value=value,
        resamples=np.concatenate(
            [evaluator(counts) for counts in drawn_counts(evaluator, n_resamples, seed)]
        ),
        jackknife=replicates,
        units=evaluator.codes,
        seed=seed,
    )


def bootstrap(
    data: ArrayLike | tuple[ArrayLike, ...],
    statistic: str | Callable[..., Any] | BatchStatistic = "mean",
    *,
    clusters: ArrayLike | None = None,
    bounds: Bounds | None = None,
    interval: Literal["bca", "percentile"] = "bca",
    n_resamples: int = DEFAULT_RESAMPLES,
    seed: int,
) -> Estimate:
    """Compute a statistic with its 95 % bootstrap interval.

    A statistic may be undefined (NaN) on up to 5 % of the resamples. These are left out, and `method` says how many. If
    the resamples do not vary, the interval follows from `bounds`.

    Args:
        data: One array with the items on its first axis, or a tuple of arrays of the same items, which are
            resampled together (paired).
        statistic: "mean" of one array, mean "difference" or "ratio" of means of two arrays, a callable that
            takes the resampled arrays and returns a number, or a `BatchStatistic`, which is faster.
        clusters: One label per item. Whole clusters are drawn, so items of one cluster (the questions
            about one scene) may depend on each other.
        bounds: The least and the largest possible value of the statistic, if it has them.
        interval: "bca" or "percentile"; see `BootstrapDistribution.estimate` for the formulas.
        n_resamples: Number of resamples.
        seed: Seed of the draws.

    >>> print(bootstrap([3, 1, 4, 1, 5, 9, 2, 6], seed=0))
    3.875 [2.250, 5.750] (n=8)
    >>> before, after, scenes = [1, 0, 1, 0, 0, 1], [1, 1, 1, 0, 1, 1], ["a", "a", "b", "b", "c", "c"]
    >>> print(bootstrap((after, before), "difference", clusters=scenes, interval="percentile", seed=0))
    0.333 [0.000, 0.500] (n=3, 6 items)
    """
    check_choice(interval, ("bca", "percentile"), "interval")
    distribution = bootstrap_distribution(
        data,
        statistic,
        clusters=clusters,
        jackknife=interval == "bca",
        n_resamples=n_resamples,
        seed=seed,
    )
    return distribution.estimate(interval, bounds=bounds)


def resampled(  # noqa: PLR0913 - what an interval is made of
    data: tuple[ArrayLike, ...],
    statistic: Callable[..., Any] | BatchStatistic,
    *,
    clusters: ArrayLike | None,
    bounds: Bounds,
    level: float,
    n: int | None = None,
    n_resamples: int = DEFAULT_RESAMPLES,
    seed: int,
) -> Estimate:
    """Compute the default interval of this package: BCa, or percentile where BCa is undefined.

    Args:
        data: Arrays of the same items.
        statistic: As for `bootstrap`.
        clusters: As for `bootstrap`.
        bounds: The least and the largest possible value.
        level: Confidence level.
        n: Number of units that the value rests on, if not all.
        n_resamples: Number of resamples.
        seed: Seed of the draws.
    """
    distribution = bootstrap_distribution(
        data, statistic, clusters=clusters, n_resamples=n_resamples, seed=seed
    )
    return distribution.estimate("bca", level, bounds=bounds, n=n, fallback=True)
