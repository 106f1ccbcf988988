"""The one interval of means, shares and differences, whatever their clusters."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import ndtri
from scipy.stats import binomtest
from scipy.stats import t as student_t

from theodolite.core.errors import UsageError
from theodolite.core.tables import Alternative, Estimate, HypothesisTest
from theodolite.stats.permutation import ALTERNATIVES, sign_flip_test
from theodolite.stats.samples import (
    ROUNDING,
    SHARE,
    Bounds,
    FloatArray,
    check_choice,
    check_count,
    check_level,
    check_probability,
    check_same_length,
    finite_array,
    is_constant,
    label_codes,
    unit_codes,
    without_rounding,
)

if TYPE_CHECKING:
    from numpy.typing import ArrayLike


# Proportions: Wilson's interval, the exact binomial test.


def check_successes(successes: int, n: int) -> tuple[int, int]:
    """Return two checked counts: 0 <= successes <= n and n >= 1."""
    total = check_count(n, "n")
    hits = check_count(successes, "successes", minimum=0)
    if hits > total:
        raise UsageError(f"successes must not exceed n, got {hits} of {total}")
    return hits, total


def wilson_bounds(successes: float, n: float, level: float) -> tuple[float, float]:
    """Return (p̂ + z²/2n ± z √(p̂(1−p̂)/n + z²/4n²)) / (1 + z²/n), for any real counts; Wilson (1927)."""
    z = float(ndtri((1 + level) / 2))
    p = successes / n
    centre = p + z**2 / (2 * n)
    reach = z * math.sqrt(p * (1 - p) / n + z**2 / (4 * n**2))
    scale = 1 + z**2 / n
    # At p = 0 and p = 1 one bound is exactly 0 or 1; avoid rounding errors there.
    low = 0.0 if successes == 0 else (centre - reach) / scale
    high = 1.0 if successes == n else (centre + reach) / scale
    return low, high


def wilson_interval(successes: int, n: int, *, level: float = 0.95) -> Estimate:
    """Return a proportion with Wilson's score interval.

    The bounds are the solutions p of (p̂ − p)² = z² p(1−p)/n (Wilson 1927). The interval therefore does not collapse
    at 0 and 1.

    Args:
        successes: Number of successes.
        n: Number of independent trials.
        level: Confidence level.

    >>> print(wilson_interval(20, 20))
    1.000 [0.839, 1.000] (n=20)
    """
    check_level(level)
    hits, total = check_successes(successes, n)
    low, high = wilson_bounds(hits, total, level)
    return Estimate(hits / total, low, high, total, level, "Wilson")


def binomial_test(
    successes: int, n: int, *, probability: float = 0.5, alternative: Alternative = "two-sided"
) -> HypothesisTest:
    """Compute the exact binomial test of a proportion. The statistic is the observed proportion.

    The two-sided p is the total probability of all counts that are no more likely than the observed one.

    Args:
        successes: Number of successes.
        n: Number of independent trials.
        probability: The proportion under the null hypothesis, such as chance.
        alternative: "greater" means that the true proportion is above `probability`.

    >>> round(binomial_test(9, 10, alternative="greater").p_value, 4)
    0.0107
    """
    check_probability(probability, "probability")
    check_choice(alternative, ALTERNATIVES, "alternative")
    hits, total = check_successes(successes, n)
    p_value = float(binomtest(hits, total, probability, alternative).pvalue)
    return HypothesisTest(hits / total, min(1.0, p_value), total, "exact binomial", alternative)


# The mean of clustered items with its confidence interval: one rule for values in known bounds, one for signed values.
#
# Items of one cluster (the questions about one picture, say) depend on each other, so a mean is only as certain as its
# clusters allow. The interval is Wilson's, with an effective sample size instead of n. For N values x in [0, 1] with
# mean p, in k clusters of N_c items, let
#
#     k*  = N² / Σ N_c²                       clusters, fewer where their sizes differ (Kish)
#     d_c = Σ_{i in c} (x_i − p) / N          what cluster c adds to the mean
#     e_c = Σ_{i in c} (x_i − p)² / N²        how much its items vary
#     V   = max(k/(k−1) Σ d_c², Σ e_c)        variance of the mean: cluster-robust, never below that of independent items
#     r   = min(1, V / (p(1−p)/k*))           the same over the largest that k* clusters of values in [0, 1] can have
#     ν   = (Σ e_c)² / Σ e_c² − 1             number of clusters that V rests on, less one
#
#     n_eff = k* (1 + ν) / (1 + ν r)
#
# If no item varies, nothing is known about the variance, and n_eff = k*: the interval is Wilson's with n equal to the number
# of clusters. If many clusters vary, n_eff approaches p(1−p)/V, which gives the cluster-robust interval. In between,
# the variance is averaged with its upper bound, which counts as one cluster. There is no bootstrap and so no seed, no
# zero width at 0 and 1, and no special case for one cluster.
#
# Values that may be negative, such as paired differences, have `signed_interval`.
#
# Coverage of the 95 % interval in simulations of 0/1 items (5 to 200 clusters of 1 or 10 items, p from 0.5 to 0.98,
# correlation within clusters from 0 to 1) is at least 90 % (lowest for 5 clusters and p = 0.98) and mostly 94 to 99 %; that of a
# percentile bootstrap falls to 10 % there (``tests/stats/test_clustered.py``).


_PRIOR = 1.0
"""Weight of the upper bound of the variance, in clusters."""


def clustered_mean(
    values: ArrayLike,
    clusters: ArrayLike | None = None,
    *,
    bounds: Bounds | None = SHARE,
    groups: ArrayLike | None = None,
    weights: ArrayLike | None = None,
    level: float = 0.95,
) -> Estimate | None:
    """Compute a mean with its interval over clusters.

    Args:
        values: One per item, all within `bounds`.
        clusters: The cluster of each item. Default: every item is its own cluster.
        bounds: The least and the largest possible value. None for values without bounds: then the interval is
            Student's with the cluster-robust variance.
        groups: The group of each item, for a macro mean: the mean over groups of the groups' means.
        weights: The weight of each item instead. Default: all count alike.
        level: Confidence level.

    Returns:
        The estimate; `n` counts clusters. None if there is no value, or if unbounded values come from one cluster or do
        not vary, so that no interval can be given.

    >>> print(clustered_mean([1, 1, 1], ["a", "b", "b"]))
    1.000 [0.319, 1.000] (n=2, 3 items)
    >>> print(clustered_mean([1, 0, 0], ["a", "a", "a"]))
    0.333 [0.025, 0.906] (n=1, 3 items)
    >>> print(clustered_mean([10.0, 20.0, 60.0, 50.0], ["a", "a", "b", "c"], bounds=(0, 180)))
    35.000 [6.740, 107.937] (n=3, 4 items)
    """
    check_level(level)
    if bounds is not None and bounds[0] < 0 < bounds[1]:
        return _signed(values, clusters, bounds, groups, weights, level)
    mean = _Mean.of(values, clusters, bounds, groups, weights)
    if mean is None:
        return None
    if bounds is None:
        return _unbounded(mean, level)
    low, high = wilson_bounds(mean.value * mean.n_eff, mean.n_eff, level)
    value, low, high = (_unscaled(end, bounds) for end in (mean.value, low, high))
    words = f"Wilson, effective sample size {mean.n_eff:.1f} from {mean.n} clusters"
    return Estimate(value, low, high, mean.n, level, words, mean.n_items)


def clustered_difference(
    first: ArrayLike,
    second: ArrayLike,
    clusters: ArrayLike | None = None,
    *,
    bounds: Bounds | None = SHARE,
    groups: ArrayLike | None = None,
    level: float = 0.95,
) -> Estimate | None:
    """Compute the mean of first − second over paired items, with its interval over clusters.

    Args:
        first: One value per item, within `bounds`.
        second: One value per item, of the same items.
        clusters: As for `clustered_mean`.
        bounds: Bounds of each of the two values, not of their difference.
        groups: As for `clustered_mean`.
        level: Confidence level.

    Returns:
        As `clustered_mean`.

    >>> print(clustered_difference([1, 1, 0, 1], [1, 1, 0, 1]))
    0.000 [-0.664, 0.664] (n=4)
    """
    check_level(level)
    sides = [finite_array(values, name) for values, name in ((first, "first"), (second, "second"))]
    check_same_length(first=sides[0], second=sides[1])
    if bounds is not None and sides[0].size:
        _scaled(np.concatenate(sides), bounds)  # refuses values outside the bounds
    width = None if bounds is None else (bounds[0] - bounds[1], bounds[1] - bounds[0])
    gaps = without_rounding(sides[0], sides[1])
    return clustered_mean(gaps, clusters, bounds=width, groups=groups, level=level)


def paired_difference(
    first: ArrayLike,
    second: ArrayLike,
    clusters: ArrayLike | None = None,
    *,
    bounds: Bounds | None = SHARE,
    groups: ArrayLike | None = None,
    level: float = 0.95,
    seed: int,
) -> tuple[Estimate | None, HypothesisTest]:
    """Compute the mean of first − second with its interval, and the sign-flip test that it is zero.

    Interval and test agree about zero (`agreeing`).

    Args:
        first: As for `clustered_difference`.
        second: As for `clustered_difference`.
        clusters: As for `clustered_difference`; the signs of a cluster flip together.
        bounds: As for `clustered_difference`.
        groups: As for `clustered_difference`. The statistic of the test is then the macro mean.
        level: Confidence level.
        seed: Seed of the sign patterns.

    Returns:
        The estimate as `clustered_difference` gives it, and the two-sided test.

    >>> pictures = [i // 10 for i in range(190)]
    >>> difference, test = paired_difference([1] * 190, [i % 10 > 0 for i in range(190)], pictures, seed=0)
    >>> print(difference, test.p_value < 0.001, difference.excludes(0))
    0.100 [0.000, 0.235] (n=19, 190 items) True True
    """
    estimate = clustered_difference(first, second, clusters, bounds=bounds, groups=groups, level=level)
    gaps = without_rounding(finite_array(first, "first"), finite_array(second, "second"))
    if groups is not None:
        group = label_codes(groups, "groups")[1]
        counts = np.bincount(group)
        gaps = gaps * gaps.size / (counts.size * counts[group])
    test = sign_flip_test(gaps, clusters=clusters, seed=seed)
    if estimate is None:
        return None, test
    return agreeing(estimate, test.p_value), test


def estimate_difference(first: Estimate, second: Estimate) -> Estimate:
    """Compute first − second of two estimates with intervals of the same level, as if they were independent (MOVER).

    The interval is first − second − √((x₁ − l₁)² + (u₂ − x₂)²) to first − second + √((u₁ − x₁)² + (x₂ − l₂)²) (Zou and
    Donner 2008). For positively dependent estimates, such as those of the same pictures, it is conservative.

    >>> print(estimate_difference(clustered_mean([1] * 20), clustered_mean([0] * 20)))
    1.000 [0.772, 1.000] (n=40)
    """
    if first.level != second.level:
        raise UsageError(
            f"the levels of two estimates must be the same, got {first.level} and {second.level}"
        )
    value = first.value - second.value
    low = value - math.hypot(first.value - first.low, second.high - second.value)
    high = value + math.hypot(first.high - first.value, second.value - second.low)
    n, n_items = first.n + second.n, (first.n_items or first.n) + (second.n_items or second.n)
    return Estimate(value, low, high, n, first.level, "two intervals combined (MOVER)", n_items)


def independent_difference(first: ArrayLike, second: ArrayLike, *, level: float = 0.95) -> Estimate | None:
    """Compute the difference of the means of two independent samples of independent items, with Welch's interval.

    Args:
        first: A sample of unbounded values.
        second: Another sample.
        level: Confidence level.

    Returns:
        The estimate, or None if a sample has fewer than two values or neither varies.

    >>> print(f"{independent_difference([3, 1, 4, 1, 5], [2, 7, 1, 8]):.2f}")
    -1.70 [-6.94, 3.54] (n=9)
    """
    check_level(level)
    a, b = finite_array(first, "first"), finite_array(second, "second")
    if min(a.size, b.size) < 2 or (is_constant(a) and is_constant(b)):
        return None
    squares = [0.0 if is_constant(side) else float(side.var(ddof=1)) / side.size for side in (a, b)]
    part = squares[0] / sum(squares)  # of the variance that comes from `first`
    freedom = 1 / (part**2 / (a.size - 1) + (1 - part) ** 2 / (b.size - 1))
    reach = float(student_t.ppf((1 + level) / 2, freedom)) * math.sqrt(sum(squares))
    value = float(a.mean() - b.mean())
    return Estimate(value, value - reach, value + reach, a.size + b.size, level, "Welch's t")


# Means of values in [−1, 1]: Student's interval with one more cluster at +1 and one at −1.
#
# For C clusters of equal size with means Y_c, N = C + 2, m = ΣY_c / N, s² = (ΣY_c² + 2 − N m²) / (N − 1), the interval is
# m ± t_{N−1} s/√N, cut to [−1, 1]. In terms of the mean L = ΣY_c / C and its variance V = Σ(Y_c − L)² / (C (C − 1)):
#
#     s² (N − 1) = C (C − 1) V + C (L − m)² + 2 + 2 m²,    m = C L / (C + 2)
#
# With clusters of shares w_c of the weight, V = k/(k−1) Σ d_c², and C = Σ w_c² / Σ w_c³: a pseudo-cluster weighs as much as
# the clusters on which the variance rests. (With Kish's 1 / Σ w_c² coverage falls below 98 % at 99 % if a fifth of the
# clusters has half of the weight.)
#
# No width is zero, and coverage holds where no cluster varies: for 12 to 400 clusters, also of unequal weight, and shares of
# clusters at +1 from 0 to 1 it is at least 94 % at 95 %, and 98 % at 99 % (``bench/balance.py``).


def signed_interval(value: float, variance: float, clusters: float, *, level: float = 0.95) -> Estimate:
    """Return a mean of values in [−1, 1] with its interval.

    Args:
        value: The mean.
        variance: Its variance over clusters; 0 if they do not vary.
        clusters: The (effective) number of clusters, C.
        level: Confidence level.

    >>> [signed_interval(1.0, 0.0, n, level=0.99).low > 0.75 for n in (28, 29)]
    [False, True]
    """
    middle, error, freedom = _with_pseudo_clusters(value, variance, clusters)
    reach = float(student_t.ppf((1 + level) / 2, freedom)) * error
    low, high = max(-1.0, middle - reach), min(1.0, middle + reach)
    words = f"t with two pseudo-clusters, {clusters:.1f} effective clusters"
    return Estimate(value, min(low, value), max(high, value), max(1, round(clusters)), level, words)


def signed_p_value(value: float, variance: float, clusters: float) -> float:
    """Return the two-sided p-value at which `signed_interval` excludes zero.

    >>> p = signed_p_value(0.2, 0.004, 50)
    >>> abs(signed_interval(0.2, 0.004, 50, level=1 - p).low) < 1e-9
    True
    """
    middle, error, freedom = _with_pseudo_clusters(value, variance, clusters)
    return 2 * float(student_t.sf(abs(middle) / error, freedom))


def _with_pseudo_clusters(value: float, variance: float, clusters: float) -> tuple[float, float, float]:
    """Return the mean with two pseudo-clusters, its standard error, and the degrees of freedom."""
    n = clusters + 2
    middle = clusters * value / n
    squares = (
        clusters * max(clusters - 1, 0.0) * variance + clusters * (value - middle) ** 2 + 2 + 2 * middle**2
    )
    return middle, math.sqrt(squares / ((n - 1) * n)), n - 1


def signed_mean(
    values: ArrayLike, clusters: ArrayLike, weights: ArrayLike | None = None
) -> tuple[float, float, float]:
    """Return a mean of at least one value, its variance over clusters, and their effective number, for `signed_interval`."""
    mean = _Mean.of(values, clusters, None, None, weights)
    assert mean is not None  # noqa: S101 - there is a value
    return round(mean.value, 12), mean.robust, mean.evenly  # without the rounding of weights


def agreeing(estimate: Estimate, p_value: float) -> Estimate:
    """Return an estimate whose interval holds zero if, and only if, the test of zero does not refute it.

    Where the test finds a difference at 1 − level, the interval ends at zero instead of going beyond it; where it finds none,
    the interval reaches zero. The interval alone allows for changes of the whole width of the bounds that were never seen, so
    that it would hold zero after 19 clusters that lost a little and none that gained.

    >>> [agreeing(Estimate(0.1, low, 0.3, 19, 0.95, "t"), p).excludes(0) for low, p in ((-0.1, 0.001), (0.05, 0.2))]
    [True, False]
    """
    low, high = estimate.low, estimate.high
    if p_value > 1 - estimate.level:
        low, high = min(low, 0.0), max(high, 0.0)
    elif low <= 0 <= high:
        end = 1e-9 * estimate.value  # beyond zero, so that `excludes` says what the test says
        low, high = (end, high) if end > 0 else (low, end)
    return replace(estimate, low=low, high=high, p_value=p_value)


_OF_SIGNS = 2.0
"""The largest difference of two signs."""


def _signed(
    values: ArrayLike,
    clusters: ArrayLike | None,
    bounds: Bounds,
    groups: ArrayLike | None,
    weights: ArrayLike | None,
    level: float,
) -> Estimate | None:
    """Compute the mean of values that may be negative.

    Differences of shares, and of signs such as those of looking, get two pseudo-clusters at their bounds, where they often lie
    (of signs, at ±1 unless one turns into the other). Other numbers seldom do, so theirs is Student's interval, and
    pseudo-clusters stand in only if they do not vary.
    """
    width = max(-bounds[0], bounds[1])
    given = finite_array(values, "values")
    if given.size:
        _scaled(given, bounds)  # refuses values outside the bounds
    are_signs = width <= _OF_SIGNS and bool(np.all(given == np.round(given)))
    if are_signs:
        width = max(1.0, float(np.abs(given).max(initial=0.0)))
    if width > 1 and not are_signs:
        whole = _Mean.of(given, clusters, None, groups, weights)
        plain = None if whole is None else _unbounded(whole, level)
        if plain is not None:
            return plain
    mean = _Mean.of(given / width, clusters, None, groups, weights)
    if mean is None:
        return None
    found = signed_interval(mean.value, mean.robust, mean.evenly, level=level)
    value, low, high = (width * end for end in (found.value, found.low, found.high))
    return replace(found, value=value, low=low, high=high, n=mean.n, n_items=mean.n_items)


@dataclass(frozen=True, slots=True)
class Equivalence:
    """The result of two one-sided tests that two settings are equal up to a margin."""

    estimate: Estimate
    """The difference with its 1 − 2α interval."""
    margin: float

    @property
    def is_equivalent(self) -> bool:
        """True if the whole interval lies within ± the margin."""
        return self.estimate.lies_within(-self.margin, self.margin)


def equivalent(
    first: ArrayLike,
    second: ArrayLike,
    clusters: ArrayLike | None = None,
    *,
    margin: float,
    bounds: Bounds = SHARE,
    groups: ArrayLike | None = None,
    alpha: float = 0.05,
) -> Equivalence | None:
    """Test whether the mean of first − second lies within ± a margin (TOST, by inclusion of the 1 − 2α interval).

    Args:
        first: As for `clustered_difference`.
        second: As for `clustered_difference`.
        clusters: As for `clustered_difference`.
        margin: Half the width of the region of equivalence, in the unit of the values.
        bounds: As for `clustered_difference`.
        groups: As for `clustered_difference`.
        alpha: Level of each one-sided test.

    Returns:
        The result, or None if there are no items.

    >>> blind = [1, 0, 0, 1, 0, 1] * 20  # the same answers to 120 questions, about 20 or 60 pictures
    >>> [equivalent(blind, blind, [i % n for i in range(120)], margin=0.05).is_equivalent for n in (20, 60)]
    [False, True]
    """
    difference = clustered_difference(
        first, second, clusters, bounds=bounds, groups=groups, level=1 - 2 * alpha
    )
    return None if difference is None else Equivalence(difference, margin)


@dataclass(frozen=True, slots=True, eq=False)
class _Mean:
    """A mean in [0, 1], and what each cluster adds to it and to its variance."""

    value: float
    effects: FloatArray
    """d_c, shape (clusters,)."""
    spreads: FloatArray
    """e_c, shape (clusters,)."""
    shares: FloatArray
    """Of the weight, shape (clusters,)."""
    n_items: int

    @classmethod
    def of(
        cls,
        values: ArrayLike,
        clusters: ArrayLike | None,
        bounds: Bounds | None,
        groups: ArrayLike | None,
        weights: ArrayLike | None = None,
    ) -> _Mean | None:
        given = finite_array(values, "values")
        if given.ndim != 1:
            raise UsageError(f"values must have one dimension, got shape {given.shape}")
        if not given.size:
            return None
        scaled = given if bounds is None else _scaled(given, bounds)
        cluster = unit_codes(clusters, given.size)
        group = np.zeros(given.size, np.int64) if groups is None else label_codes(groups, "groups")[1]
        check_same_length(values=given, clusters=cluster, groups=group)
        weight = np.ones(given.size) if weights is None else finite_array(weights, "weights")
        check_same_length(values=given, weights=weight)
        totals = np.bincount(group, weights=weight)
        means = np.bincount(group, weights=weight * scaled) / totals
        weight = weight / (totals.size * totals[group])  # of each item in the mean over groups
        apart = scaled - means[group]
        apart[np.abs(apart) <= ROUNDING * float(np.abs(scaled).max())] = 0.0
        return cls(
            float(means.mean()),
            np.asarray(np.bincount(cluster, weights=weight * apart), np.float64),
            np.asarray(np.bincount(cluster, weights=(weight * apart) ** 2), np.float64),
            np.asarray(np.bincount(cluster, weights=weight), np.float64),
            given.size,
        )

    @property
    def n(self) -> int:
        """Clusters."""
        return len(self.effects)

    @property
    def kish(self) -> float:
        """k*."""
        return 1 / float(np.sum(self.shares**2))

    @property
    def evenly(self) -> float:
        """The number of clusters, were all as heavy as those on which the variance rests."""
        return float(np.sum(self.shares**2) / np.sum(self.shares**3))

    @property
    def robust(self) -> float:
        """The cluster-robust variance; 0 for one cluster."""
        return self.n / max(self.n - 1, 1) * float(np.sum(self.effects**2))

    @property
    def variance(self) -> float:
        """V; of one cluster, that of independent items."""
        return max(self.robust, float(self.spreads.sum()))

    @property
    def n_eff(self) -> float:
        """The effective sample size."""
        largest = self.value * (1 - self.value)
        if largest <= 0 or not self.spreads.any():
            return self.kish
        spreads = self.spreads / float(self.spreads.max())  # so that no power underflows
        varying = float(spreads.sum() ** 2 / np.sum(spreads**2)) - 1
        ratio = min(self.variance * self.kish / largest, 1.0)
        return self.kish * (_PRIOR + varying) / (_PRIOR + varying * ratio)


def _scaled(values: FloatArray, bounds: Bounds) -> FloatArray:
    low, high = bounds
    if not low < high:
        raise UsageError(f"bounds must be two numbers, the lower one first; got {bounds}")
    slack = ROUNDING * max(abs(low), abs(high))
    if values.min() < low - slack or values.max() > high + slack:
        odd = values[(values < low - slack) | (values > high + slack)][0]
        raise UsageError(f"values must lie within {bounds}, got {odd:g}")
    return np.clip((values - low) / (high - low), 0.0, 1.0)


def _unscaled(value: float, bounds: Bounds) -> float:
    return bounds[0] + value * (bounds[1] - bounds[0])


def _unbounded(mean: _Mean, level: float) -> Estimate | None:
    if mean.n < 2 or not mean.effects.any():
        return None
    reach = float(student_t.ppf((1 + level) / 2, mean.n - 1)) * math.sqrt(mean.variance)
    words = f"Student's t, cluster-robust variance of {mean.n} clusters"
    return Estimate(mean.value, mean.value - reach, mean.value + reach, mean.n, level, words, mean.n_items)
