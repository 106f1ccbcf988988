"""Sample sizes for an interval of a wanted width."""

from __future__ import annotations

from theodolite.core.errors import UsageError
from theodolite.stats.auc import newcombe_interval
from theodolite.stats.power.search import smallest
from theodolite.stats.proportion import wilson_bounds
from theodolite.stats.samples import check_level, check_probability

__all__ = ["auc_sample_size", "wilson_sample_size"]


def _check_half_width(half_width: float) -> None:
    if not 0 < half_width < 0.5:
        raise UsageError(f"half_width must lie strictly between 0 and 0.5, got {half_width}")


def wilson_sample_size(half_width: float, share: float = 0.5, *, level: float = 0.95) -> int:
    """The smallest n at which Wilson's interval of an observed `share` is at most ± `half_width` wide.

    Half of (high − low); the worst case is a share of 0.5, where n = z²/4h² − z².

    Args:
        half_width: The half-width wanted, between 0 and 0.5.
        share: The proportion that is expected.
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

    return smallest(is_enough, 1)


def auc_sample_size(
    half_width: float, auc: float = 0.5, *, positive_share: float = 0.5, level: float = 0.95
) -> int:
    """The smallest number of items at which Newcombe's interval of an observed `auc` is ± `half_width` wide.

    Args:
        half_width: The half-width wanted, between 0 and 0.5.
        auc: The area that is expected.
        positive_share: Share of positive items.
        level: Confidence level.

    >>> auc_sample_size(0.05, 0.8)
    302
    """
    _check_half_width(half_width)
    check_level(level)
    check_probability(auc, "auc")
    if not 0 < positive_share < 1:
        raise UsageError(f"positive_share must lie strictly between 0 and 1, got {positive_share}")

    def is_enough(n: int) -> bool:
        low, high = newcombe_interval(auc, n * positive_share, n * (1 - positive_share), level)
        return (high - low) / 2 <= half_width

    return smallest(is_enough, 2)
