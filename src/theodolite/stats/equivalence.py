"""Equivalence by two one-sided tests (TOST): is a difference within given bounds?"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy.optimize import brentq
from scipy.special import ndtr, ndtri
from scipy.stats import binom, binomtest
from scipy.stats import t as student_t

from theodolite.core.errors import UsageError
from theodolite.core.estimates import Estimate
from theodolite.stats.proportion import check_successes
from theodolite.stats.samples import (
    FloatArray,
    check_alpha,
    check_same_length,
    is_constant,
    sample,
    without_rounding,
)

if TYPE_CHECKING:
    from numpy.typing import ArrayLike


@dataclass(frozen=True, slots=True)
class EquivalenceTest:
    """Outcome of two one-sided tests (Schuirmann 1987)."""

    estimate: Estimate
    """The mean, proportion or difference, with its 1 − 2α interval."""
    p_lower: float
    """p against "at or below the lower bound"."""
    p_upper: float
    """p against "at or above the upper bound"."""
    bounds: tuple[float, float]
    """The equivalence region."""
    alpha: float
    """Significance level of each one-sided test."""

    @property
    def p_value(self) -> float:
        """The larger of the two p-values."""
        return max(self.p_lower, self.p_upper)

    @property
    def equivalent(self) -> bool:
        """True if both bounds are rejected: p <= α, or the 1 − 2α interval lies within the bounds."""
        return self.p_value <= self.alpha

    def __str__(self) -> str:
        verdict = "equivalent" if self.equivalent else "not shown equivalent"
        return f"{self.estimate}: {verdict} within {self.bounds} (p={self.p_value:.3g})"


def _check_bounds(bounds: tuple[float, float], alpha: float) -> None:
    check_alpha(alpha)
    if np.shape(bounds) != (2,) or not np.isfinite(bounds).all() or not bounds[0] < bounds[1]:
        raise UsageError(f"bounds must be two finite numbers, the lower one first; got {bounds}")


def equivalence_test(
    first: ArrayLike,
    second: ArrayLike | None = None,
    *,
    bounds: tuple[float, float],
    paired: bool = False,
    alpha: float = 0.05,
) -> EquivalenceTest:
    """Test whether a mean, or a difference of means, lies within bounds.

    With estimate d and standard error s, p_lower = P(T > (d − low)/s) and p_upper = P(T < (d − high)/s).
    T has n − 1 degrees of freedom for one sample or paired differences, and Welch–Satterthwaite degrees of freedom for
    two independent samples. All values are treated as independent. For clustered items, compute a clustered
    `bootstrap` interval at level 1 − 2α and check that it `lies_within` the bounds.

    Args:
        first: A sample.
        second: A second sample; the difference is first − second. Without it the mean of `first` is tested.
        bounds: The equivalence region, low and high.
        paired: True if the two samples are of the same items.
        alpha: Level of each one-sided test; the interval has level 1 − 2α.

    Raises:
        UsageError: If the data have no spread (s = 0). They would seem to prove equivalence within any bounds, even
            with only two equal values.

    >>> result = equivalence_test([0.1, -0.2, 0.0, 0.1, -0.1, 0.05], bounds=(-0.5, 0.5))
    >>> result.equivalent, f"{result.estimate:.2f}"
    (True, '-0.01 [-0.11, 0.09] (n=6)')
    """
    _check_bounds(bounds, alpha)
    a = sample(first, "first", minimum=2)
    if second is None:
        if paired:
            raise UsageError("a paired test needs two samples, got one")
        return _student(a, bounds, alpha, "one-sample t")
    b = sample(second, "second", minimum=2)
    if paired:
        check_same_length(first=a, second=b)
        return _student(without_rounding(a, b), bounds, alpha, "paired t")
    squares = [0.0 if is_constant(side) else float(side.var(ddof=1)) / side.size for side in (a, b)]
    error = math.sqrt(sum(squares))
    part = squares[0] / sum(squares) if error > 0 else 0.5  # of the variance that comes from `first`
    freedom = 1 / (part**2 / (a.size - 1) + (1 - part) ** 2 / (b.size - 1))
    difference = float(a.mean() - b.mean())
    return _two_one_sided(
        (difference, error, freedom), a.size + b.size, bounds=bounds, alpha=alpha, method="Welch t"
    )


def _student(values: FloatArray, bounds: tuple[float, float], alpha: float, method: str) -> EquivalenceTest:
    error = 0.0 if is_constant(values) else float(values.std(ddof=1)) / math.sqrt(values.size)
    figures = (float(values.mean()), error, values.size - 1.0)
    return _two_one_sided(figures, values.size, bounds=bounds, alpha=alpha, method=method)


def _two_one_sided(
    figures: tuple[float, float, float], n: int, *, bounds: tuple[float, float], alpha: float, method: str
) -> EquivalenceTest:
    """Compute the test from estimate, standard error and degrees of freedom."""
    value, error, freedom = figures
    if error == 0:
        raise UsageError(
            f"all {n} values are equal, so a t test cannot estimate the uncertainty; for proportions use "
            "equivalence_of_proportions, or bound the share of other values with wilson_interval"
        )
    p_lower = float(student_t.sf((value - bounds[0]) / error, freedom))
    p_upper = float(student_t.cdf((value - bounds[1]) / error, freedom))
    reach = float(student_t.ppf(1 - alpha, freedom)) * error
    estimate = Estimate(value, value - reach, value + reach, n, 1 - 2 * alpha, method)
    return EquivalenceTest(estimate, p_lower, p_upper, bounds, alpha)


def equivalence_of_proportions(
    first: tuple[int, int],
    second: tuple[int, int] | None = None,
    *,
    bounds: tuple[float, float],
    alpha: float = 0.05,
) -> EquivalenceTest:
    """Test whether a proportion, or a difference of two independent ones, lies within bounds.

    One proportion: exact binomial tests, with the Clopper–Pearson interval. Two: score tests with
    z = (p̂₁ − p̂₂ − δ)/√(p̃₁(1−p̃₁)/n₁ + p̃₂(1−p̃₂)/n₂), where p̃ are the maximum likelihood estimates given a difference
    of δ (Farrington and Manning 1990), and the interval of the δ that are not rejected (Mee 1984). For proportions of
    the same items use `equivalence_test` with `paired=True`.

    Args:
        first: Successes and trials.
        second: Successes and trials of a second, independent proportion.
        bounds: The equivalence region of the proportion, or of the difference first − second.
        alpha: Level of each one-sided test; the interval has level 1 − 2α.

    >>> result = equivalence_of_proportions((180, 200), (178, 200), bounds=(-0.1, 0.1))
    >>> print(result)
    0.010 [-0.041, 0.061] (n=400): equivalent within (-0.1, 0.1) (p=0.00264)
    """
    _check_bounds(bounds, alpha)
    hits, n = check_successes(*first)
    if second is None:
        low, high = max(bounds[0], 0.0), min(bounds[1], 1.0)
        test = binomtest(hits, n).proportion_ci(1 - 2 * alpha, method="exact")
        estimate = Estimate(
            hits / n, float(test.low), float(test.high), n, 1 - 2 * alpha, "Clopper-Pearson, exact binomial"
        )
        # No proportion can reach a bound outside [0, 1].
        p_lower = float(binom.sf(hits - 1, n, low)) if bounds[0] >= 0 else 0.0
        p_upper = float(binom.cdf(hits, n, high)) if bounds[1] <= 1 else 0.0
        return EquivalenceTest(estimate, p_lower, p_upper, bounds, alpha)
    table = (hits, n, *check_successes(*second))
    value = hits / n - table[2] / table[3]
    p_lower = 0.0 if bounds[0] < -1 else float(ndtr(-_score(table, bounds[0])))
    p_upper = 0.0 if bounds[1] > 1 else float(ndtr(_score(table, bounds[1])))
    z = float(ndtri(1 - alpha))
    low = _crossing(table, z, (-1.0, value))
    high = _crossing(table, -z, (value, 1.0))
    estimate = Estimate(value, low, high, n + table[3], 1 - 2 * alpha, "score, Farrington-Manning")
    return EquivalenceTest(estimate, p_lower, p_upper, bounds, alpha)


def _crossing(table: tuple[int, int, int, int], z: float, bracket: tuple[float, float]) -> float:
    """The difference in the bracket at which the decreasing score statistic crosses z, or an end of the bracket."""
    left, right = bracket
    if _score(table, left) <= z:
        return left
    if _score(table, right) >= z:
        return right
    return float(brentq(lambda delta: _score(table, delta) - z, left, right))


def _score(table: tuple[int, int, int, int], delta: float) -> float:
    """Score statistic for a difference of `delta`. The restricted estimate is the root of a cubic in p̃₁."""
    hits, n, other_hits, other_n = table
    p, q, ratio = hits / n, other_hits / other_n, other_n / n
    a = 1 + ratio
    b = -(1 + ratio + p + ratio * q + delta * (ratio + 2))
    c = delta**2 + delta * (2 * p + ratio + 1) + p + ratio * q
    d = -p * delta * (1 + delta)
    v = b**3 / (27 * a**3) - b * c / (6 * a**2) + d / (2 * a)
    u = math.copysign(math.sqrt(max(0.0, b**2 / (9 * a**2) - c / (3 * a))), v)
    angle = (math.pi + math.acos(max(-1.0, min(1.0, v / u**3)))) / 3 if abs(u) > 1e-9 else math.pi / 2
    first = 2 * u * math.cos(angle) - b / (3 * a)
    first = min(max(first, 0.0, delta), 1.0, 1 + delta)
    second = min(max(first - delta, 0.0), 1.0)
    variance = first * (1 - first) / n + second * (1 - second) / other_n
    gap = p - q - delta
    if variance <= 1e-15:
        return 0.0 if abs(gap) < 1e-12 else math.copysign(1e9, gap)  # finite, for the root search
    return gap / math.sqrt(variance)
