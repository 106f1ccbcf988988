"""Power and sample size: how many items a study needs, and what a given number of items can show.

A design holds the expected effect. `design.power(n)` is the power with n items, and `design.sample_size(power)` the
smallest n with that power. All tests are two-sided at level α. Power counts rejections in the right direction only.
`wilson_sample_size` and `auc_sample_size` choose n by the width of an interval instead.

>>> PairedProportionsDesign(gained=0.15, lost=0.05).sample_size(power=0.8)
155
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, Literal

from scipy.special import ndtr, ndtri
from scipy.stats import nct
from scipy.stats import t as student_t

from theodolite.core.errors import UsageError
from theodolite.stats.auc import hanley_mcneil_variance, newcombe_interval
from theodolite.stats.proportion import wilson_bounds
from theodolite.stats.samples import check_alpha, check_choice, check_count, check_level, check_probability

__all__ = [
    "AucDesign",
    "CorrelationDesign",
    "MeanDesign",
    "PairedProportionsDesign",
    "TwoProportionsDesign",
    "auc_sample_size",
    "wilson_sample_size",
]

MAX_N = 2**40
"""Larger sample sizes are refused."""


class _Design(ABC):
    """Base class of the designs: searches the n for a given power."""

    __slots__ = ()
    _minimum: ClassVar[int] = 2

    @abstractmethod
    def _power(self, n: int, alpha: float) -> float:
        """Return the power at a checked n."""

    def power(self, n: int, *, alpha: float = 0.05) -> float:
        """Return the power of a two-sided test at level `alpha` with `n` items (see the class)."""
        check_alpha(alpha)
        return min(1.0, max(0.0, self._power(check_count(n, "n", self._minimum), alpha)))

    def sample_size(self, power: float = 0.8, *, alpha: float = 0.05) -> int:
        """Return the smallest n at which the power reaches `power`."""
        check_alpha(alpha)
        if not 0 < power < 1:
            raise UsageError(f"power must lie strictly between 0 and 1, got {power}")
        return _smallest(lambda n: self._power(n, alpha) >= power, self._minimum)


def _check_share(value: float, name: str) -> None:
    if not 0 < value < 1:
        raise UsageError(f"{name} must lie strictly between 0 and 1, got {value}")


def _z(alpha: float) -> float:
    return float(ndtri(1 - alpha / 2))


@dataclass(frozen=True, slots=True)
class TwoProportionsDesign(_Design):
    """Two independent proportions, n items in each group.

    Power = Φ((|p₁−p₂|√n − z√(2p̄(1−p̄))) / √(p₁(1−p₁) + p₂(1−p₂))) with p̄ their mean (Fleiss, Levin and
    Paik 2003, sec. 4.2, without a continuity correction).

    >>> TwoProportionsDesign(0.6, 0.75).sample_size(power=0.8)
    152
    """

    first: float
    """Proportion in the first group."""
    second: float
    """Proportion in the second group."""

    def __post_init__(self) -> None:
        _check_share(self.first, "first")
        _check_share(self.second, "second")
        if self.first == self.second:
            raise UsageError(f"the two proportions must differ, got {self.first} twice")

    def _power(self, n: int, alpha: float) -> float:
        p, q = self.first, self.second
        mean = (p + q) / 2
        reach = abs(p - q) * math.sqrt(n) - _z(alpha) * math.sqrt(2 * mean * (1 - mean))
        return float(ndtr(reach / math.sqrt(p * (1 - p) + q * (1 - q))))


@dataclass(frozen=True, slots=True)
class PairedProportionsDesign(_Design):
    """Two conditions on the same n items, compared by McNemar's test.

    With ψ = gained + lost and d = |gained − lost|, power = Φ((d√n − z√ψ) / √(ψ − d²)) (Connor 1987). The exact
    test needs slightly more items.

    >>> round(PairedProportionsDesign(gained=0.15, lost=0.05).power(155), 3)
    0.801
    """

    gained: float
    """Share of items right in the first condition only."""
    lost: float
    """Share of items right in the second condition only."""

    def __post_init__(self) -> None:
        if min(self.gained, self.lost) < 0 or self.gained + self.lost > 1:
            raise UsageError(
                f"gained and lost must be shares with a sum of at most 1, got {self.gained} and {self.lost}"
            )
        if self.gained == self.lost:
            raise UsageError(f"gained and lost must differ, got {self.gained} twice")

    def _power(self, n: int, alpha: float) -> float:
        discordant = self.gained + self.lost
        difference = abs(self.gained - self.lost)
        reach = difference * math.sqrt(n) - _z(alpha) * math.sqrt(discordant)
        spread = discordant - difference**2
        if spread <= 0:  # every item changes, all in the same direction
            return float(reach >= 0)
        return float(ndtr(reach / math.sqrt(spread)))


@dataclass(frozen=True, slots=True)
class MeanDesign(_Design):
    """A mean difference, tested by the t-test; n is per group.

    Power = P(T' > t) for the noncentral T' with noncentrality |d|√n (one sample, or pairs: n−1 degrees of
    freedom) or |d|√(n/2) (two groups: 2n−2), and t the critical value (Cohen 1988, ch. 2).

    >>> MeanDesign(0.5, groups=2).sample_size(power=0.8)
    64
    """

    effect: float
    """Cohen's d: the mean (or difference) over the standard deviation (of the differences, for pairs)."""
    groups: Literal[1, 2] = 1
    """1 for one sample or pairs, 2 for two independent groups."""

    def __post_init__(self) -> None:
        check_choice(str(self.groups), ("1", "2"), "groups")
        if not math.isfinite(self.effect) or self.effect == 0:
            raise UsageError(f"effect must be finite and not zero, got {self.effect}")

    def _power(self, n: int, alpha: float) -> float:
        freedom = self.groups * (n - 1)
        shift = abs(self.effect) * math.sqrt(n / self.groups)
        critical = float(student_t.ppf(1 - alpha / 2, freedom))
        # scipy's noncentral t is inaccurate in the far tail and at huge degrees of freedom.
        if shift > 30 or freedom > 10_000:
            return float(ndtr((shift - critical) / math.sqrt(1 + critical**2 / (2 * freedom))))
        return float(nct.sf(critical, freedom, shift))


@dataclass(frozen=True, slots=True)
class AucDesign(_Design):
    """An area under the ROC curve against 0.5; n counts all items.

    With m positives and n negatives, power = Φ((|θ−½| − z√V₀)/√V₁): V₀ = (m+n+1)/12mn is the variance of the
    Mann–Whitney area under the null hypothesis, V₁ Hanley and McNeil's at θ.

    >>> AucDesign(0.7).sample_size(power=0.8)
    63
    """

    auc: float
    """The expected area."""
    positive_share: float = 0.5
    """Share of positive items."""
    _minimum: ClassVar[int] = 4

    def __post_init__(self) -> None:
        _check_share(self.auc, "auc")
        _check_share(self.positive_share, "positive_share")
        if self.auc == 0.5:
            raise UsageError("auc must differ from 0.5, the value under the null hypothesis")

    def _power(self, n: int, alpha: float) -> float:
        positive, negative = n * self.positive_share, n * (1 - self.positive_share)
        null = (n + 1) / (12 * positive * negative)
        real = hanley_mcneil_variance(self.auc, positive, negative)
        return float(ndtr((abs(self.auc - 0.5) - _z(alpha) * math.sqrt(null)) / math.sqrt(real)))


@dataclass(frozen=True, slots=True)
class CorrelationDesign(_Design):
    """A Pearson correlation against zero; n counts the pairs.

    Power = Φ(artanh|r| √(n−3) − z) (Fisher's z; Cohen 1988, ch. 3).

    >>> CorrelationDesign(0.3).sample_size(power=0.8)
    85
    """

    correlation: float
    """The expected correlation."""
    _minimum: ClassVar[int] = 4

    def __post_init__(self) -> None:
        if not 0 < abs(self.correlation) < 1:
            raise UsageError(f"correlation must lie between -1 and 1 and not be zero, got {self.correlation}")

    def _power(self, n: int, alpha: float) -> float:
        return float(ndtr(math.atanh(abs(self.correlation)) * math.sqrt(n - 3) - _z(alpha)))


def _check_half_width(half_width: float) -> None:
    if not 0 < half_width < 0.5:
        raise UsageError(f"half_width must lie strictly between 0 and 0.5, got {half_width}")


def wilson_sample_size(half_width: float, share: float = 0.5, *, level: float = 0.95) -> int:
    """Return the smallest n at which Wilson's interval of an observed `share` is at most ± `half_width` wide.

    The half-width is half of high − low. The worst case is a share of 0.5, where n = z²/4h² − z².

    Args:
        half_width: The required half-width, between 0 and 0.5.
        share: The expected proportion.
        level: Confidence level.

    >>> wilson_sample_size(0.05)
    381
    """
    _check_half_width(half_width)
    check_level(level)
    check_probability(share, "share")

    def is_enough(n: int) -> bool:
        low, high = wilson_bounds(share * n, n, level)
        return (high - low) / 2 <= half_width

    return _smallest(is_enough, 1)


def auc_sample_size(
    half_width: float, auc: float = 0.5, *, positive_share: float = 0.5, level: float = 0.95
) -> int:
    """Return the smallest number of items at which Newcombe's interval of an observed `auc` is ± `half_width` wide.

    Args:
        half_width: The required half-width, between 0 and 0.5.
        auc: The expected area.
        positive_share: Share of positive items.
        level: Confidence level.

    >>> auc_sample_size(0.05, 0.8)
    302
    """
    _check_half_width(half_width)
    check_level(level)
    check_probability(auc, "auc")
    _check_share(positive_share, "positive_share")

    def is_enough(n: int) -> bool:
        low, high = newcombe_interval(auc, n * positive_share, n * (1 - positive_share), level)
        return (high - low) / 2 <= half_width

    return _smallest(is_enough, 2)


def _smallest(is_enough: Callable[[int], bool], start: int) -> int:
    """Return the smallest n >= start for which `is_enough(n)` is true. `is_enough` must be monotone."""
    high = start
    while not is_enough(high):
        high *= 2
        if high > MAX_N:
            raise UsageError(f"no sample of up to {MAX_N} items is enough; the effect or width is too small")
    low = max(start, high // 2)
    while low < high:
        middle = (low + high) // 2
        if is_enough(middle):
            high = middle
        else:
            low = middle + 1
    return high
