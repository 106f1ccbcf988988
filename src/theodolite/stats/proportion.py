"""Proportions: Wilson's interval, the exact binomial test, McNemar's test of paired answers."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Literal

import numpy as np
from scipy.special import ndtri
from scipy.stats import binom, binomtest

from theodolite.core.errors import UsageError
from theodolite.core.estimates import Alternative, Estimate, HypothesisTest
from theodolite.stats.arrangements import ALTERNATIVES
from theodolite.stats.samples import (
    check_choice,
    check_count,
    check_level,
    check_probability,
    check_same_length,
    flags,
)

if TYPE_CHECKING:
    from numpy.typing import ArrayLike


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
    """Exact binomial test of a proportion. The statistic is the observed proportion.

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


def mcnemar(
    first: ArrayLike,
    second: ArrayLike,
    *,
    method: Literal["exact", "mid-p"] = "mid-p",
    alternative: Alternative = "two-sided",
) -> HypothesisTest:
    """McNemar's test of paired answers to the same items. The statistic is b − c.

    With b items right only in `first` and c only in `second`, b ~ Binomial(b+c, ½) if neither is better.
    "exact" is the binomial test. "mid-p" subtracts half the probability of the observed count from each
    tail, which removes most of the conservatism (Fagerland, Lydersen and Laake 2013). Without discordant
    items p is 1. For clustered items use `sign_flip_test`.

    Args:
        first: True for each item that is right in the first condition.
        second: The same for the second condition.
        method: "exact" or "mid-p".
        alternative: "greater" means that the first condition is right more often.

    >>> first, second = [1] * 10 + [0] * 2 + [1] * 8, [0] * 10 + [1] * 2 + [1] * 8
    >>> result = mcnemar(first, second)
    >>> result.statistic, round(result.p_value, 4)
    (8.0, 0.0225)
    """
    check_choice(method, ("exact", "mid-p"), "method")
    check_choice(alternative, ALTERNATIVES, "alternative")
    a, b = flags(first, "first"), flags(second, "second")
    n = check_same_length(first=a, second=b)
    gained, lost = int(np.sum(a > b)), int(np.sum(a < b))
    total = gained + lost
    half = float(binom.pmf(gained, total, 0.5)) / 2 if method == "mid-p" else 0.0
    above = float(binom.sf(gained - 1, total, 0.5)) - half
    below = float(binom.cdf(gained, total, 0.5)) - half
    tails = {"greater": above, "less": below, "two-sided": 2 * min(above, below)}
    p_value = min(1.0, tails[alternative]) if total else 1.0
    words = f"McNemar {method}, {total} discordant of {n} pairs"
    return HypothesisTest(float(gained - lost), p_value, n, words, alternative)
