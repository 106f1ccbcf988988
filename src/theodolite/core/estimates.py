"""The result types of estimates and significance tests."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

from theodolite.core.errors import UsageError

__all__ = ["Alternative", "Estimate", "HypothesisTest"]

Alternative = Literal["two-sided", "greater", "less"]


@dataclass(frozen=True, slots=True)
class Estimate:
    """A value with its confidence interval and the number of independent units.

    `format(estimate, spec)` applies the number format to all three numbers; plain `str` uses `.3f`.
    The interval need not contain the value: that of a biased statistic, such as η², may exclude it.

    >>> print(Estimate(0.812, 0.774, 0.846, n=300, level=0.95, method="Wilson"))
    0.812 [0.774, 0.846] (n=300)
    >>> f"{Estimate(0.812, 0.774, 0.846, n=40, level=0.95, method='BCa', n_items=300):.2f}"
    '0.81 [0.77, 0.85] (n=40, 300 items)'
    """

    value: float
    """The point estimate."""
    low: float
    """Lower end of the interval."""
    high: float
    """Upper end of the interval."""
    n: int
    """Number of independent units: clusters if the data are clustered, items otherwise."""
    level: float
    """Confidence level of the interval, between 0 and 1."""
    method: str
    """How the interval was computed; says so if the interval is degenerate."""
    n_items: int = 0
    """Number of items. Default: `n`."""
    p_value: float | None = None
    """Two-sided p-value of the corresponding test, if the function provides one."""

    def __post_init__(self) -> None:
        figures = (self.value, self.low, self.high)
        if not all(math.isfinite(figure) for figure in figures):
            raise UsageError(f"an estimate needs finite numbers, got value, low, high = {figures}")
        if self.low > self.high:
            raise UsageError(f"an interval needs low <= high, got [{self.low}, {self.high}]")
        if self.n < 1 or not 0 < self.level < 1:
            raise UsageError(
                f"an estimate needs n >= 1 and a level between 0 and 1, got {self.n}, {self.level}"
            )
        object.__setattr__(self, "n_items", self.n_items or self.n)

    def __format__(self, spec: str) -> str:
        spec = spec or ".3f"
        count = f"n={self.n}" if self.n_items == self.n else f"n={self.n}, {self.n_items} items"
        return f"{self.value:{spec}} [{self.low:{spec}}, {self.high:{spec}}] ({count})"

    def __str__(self) -> str:
        return format(self, "")

    def excludes(self, value: float) -> bool:
        """True if `value` lies outside the interval.

        >>> Estimate(0.7, 0.6, 0.8, n=90, level=0.95, method="Wilson").excludes(0.5)
        True
        """
        return not self.low <= value <= self.high

    def lies_within(self, low: float, high: float) -> bool:
        """True if the whole interval lies strictly between two bounds (equivalence by inclusion).

        >>> Estimate(0.01, -0.02, 0.04, n=90, level=0.9, method="paired t").lies_within(-0.05, 0.05)
        True
        """
        return low < self.low and self.high < high


@dataclass(frozen=True, slots=True)
class HypothesisTest:
    """The outcome of a significance test.

    >>> print(HypothesisTest(2.5, 0.0004, n=24, method="exact", alternative="two-sided"))
    statistic=2.5, p<0.001 (n=24)
    """

    statistic: float
    """The observed statistic, as documented by the function."""
    p_value: float
    """Probability, under the null hypothesis, of a statistic at least as extreme."""
    n: int
    """Number of independent units: clusters if the data are clustered, items otherwise."""
    method: str
    """How the p-value was computed: exact with the number of arrangements, or approximate."""
    alternative: str
    """The alternative hypothesis."""
    n_items: int = 0
    """Number of items. Default: `n`."""

    def __post_init__(self) -> None:
        if not math.isfinite(self.statistic) or not 0 <= self.p_value <= 1:
            raise UsageError(
                f"a test needs a finite statistic and a p between 0 and 1, got {self.statistic}, {self.p_value}"
            )
        object.__setattr__(self, "n_items", self.n_items or self.n)

    def __str__(self) -> str:
        p = "p<0.001" if self.p_value < 0.001 else f"p={self.p_value:.3f}"
        count = f"n={self.n}" if self.n_items == self.n else f"n={self.n}, {self.n_items} items"
        return f"statistic={self.statistic:.4g}, {p} ({count})"
