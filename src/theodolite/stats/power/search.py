"""The smallest n at which something comes true."""

from __future__ import annotations

from typing import TYPE_CHECKING

from theodolite.core.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["MAX_N", "smallest"]

MAX_N = 2**40
"""Beyond a million million items a wish is refused rather than met."""


def smallest(is_enough: Callable[[int], bool], start: int) -> int:
    """The smallest n >= start with `is_enough(n)`, which stays true once it is: doubling, then halving."""
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
