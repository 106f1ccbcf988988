"""Power and sample size of the t-test: how many items a study needs, and what a given number of items can show."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

from scipy.special import ndtr, ndtri
from scipy.stats import nct
from scipy.stats import t as student_t

from theodolite.core.errors import UsageError
from theodolite.core.tables import Estimate
from theodolite.stats.samples import check_alpha, check_choice, check_count

MAX_N = 2**40
"""Larger sample sizes are refused."""


@dataclass(frozen=True, slots=True)
class MeanDesign:
    """A mean difference, tested by the two-sided t-test; n is per group.

    Power = P(T' > t) for the noncentral T' with noncentrality |d|√n (one sample, or pairs: n−1 degrees of
    freedom) or |d|√(n/2) (two groups: 2n−2), and t the critical value (Cohen 1988, ch. 2). It counts rejections in the
    right direction only.

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

    def power(self, n: int, *, alpha: float = 0.05) -> float:
        """Return the power of the test at level `alpha` with `n` items."""
        check_alpha(alpha)
        freedom = self.groups * (check_count(n, "n", 2) - 1)
        shift = abs(self.effect) * math.sqrt(n / self.groups)
        critical = float(student_t.ppf(1 - alpha / 2, freedom))
        # scipy's noncentral t is inaccurate in the far tail and at huge degrees of freedom.
        if shift > 30 or freedom > 10_000:
            return float(ndtr((shift - critical) / math.sqrt(1 + critical**2 / (2 * freedom))))
        return min(1.0, max(0.0, float(nct.sf(critical, freedom, shift))))

    def sample_size(self, power: float = 0.8, *, alpha: float = 0.05) -> int:
        """Return the smallest n at which the power reaches `power`."""
        if not 0 < power < 1:
            raise UsageError(f"power must lie strictly between 0 and 1, got {power}")
        high = 2
        while self.power(high, alpha=alpha) < power:
            high *= 2
            if high > MAX_N:
                raise UsageError(f"no sample of up to {MAX_N} items is enough; the effect is too small")
        low = max(2, high // 2)
        while low < high:
            middle = (low + high) // 2
            if self.power(middle, alpha=alpha) >= power:
                high = middle
            else:
                low = middle + 1
        return high


def clusters_needed(
    estimate: Estimate, threshold: float, *, power: float = 0.8, most: int = 1_000_000
) -> int | None:
    """Return the number of clusters for which a t-test finds that an estimate differs from a threshold.

    The true value is assumed to equal the estimate, and the standard deviation per cluster is that implied by the interval:
    its half-width over z, times √n. None if the estimate is too close to the threshold, so that more than `most` are needed.

    Args:
        estimate: An estimate with its interval.
        threshold: The value to distinguish it from.
        power: Power of the test.
        most: The largest useful number of clusters.

    >>> clusters_needed(Estimate(0.6, 0.4, 0.8, n=40, level=0.95, method="percentile"), 0.75)
    148
    """
    z = float(ndtri((1 + estimate.level) / 2))
    spread = (estimate.high - estimate.low) / (2 * z) * math.sqrt(estimate.n)
    distance = abs(estimate.value - threshold)
    if spread == 0:
        return 2
    if distance / spread < 1e-3:
        return None
    needed = MeanDesign(distance / spread).sample_size(power)
    return needed if needed <= most else None
