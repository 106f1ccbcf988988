"""A map and a mask as counts: every distinct absolute value, and how many places inside and outside the mask have it.

RMA, RRA, AUC and IoU depend on these counts alone. A map of a hundred thousand pixels stored as half floats has few
distinct values.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from theodolite.core.errors import UsageError
from theodolite.instruments.grid.explainers.game import Floats

_FINITE_HALVES = 0x7C00
"""Bit patterns of half floats that are finite and not negative."""


@dataclass(frozen=True, slots=True)
class Levels:
    """The distinct absolute values of a map, with counts inside and outside a mask."""

    values: Floats
    """(levels,), ascending."""
    inside: NDArray[np.int64]
    outside: NDArray[np.int64]

    @classmethod
    def of(cls, values: ArrayLike, mask: ArrayLike) -> Levels:
        """Counts the levels of a map.

        Raises:
            UsageError: Map and mask differ in size, the mask is empty or everything, or a value is not finite.
        """
        given = np.asarray(values)
        size = np.abs(given if given.dtype == np.float16 else given.astype(np.float64)).reshape(-1)
        inside = np.asarray(mask, bool).reshape(-1)
        if size.size != inside.size:
            raise UsageError(f"a map of {size.size} places does not fit a mask of {inside.size}")
        if inside.all() or not inside.any():
            raise UsageError(
                f"a mask must hold some places and not all; this one holds {inside.sum()} of {inside.size}"
            )
        if not np.isfinite(size).all():
            raise UsageError("a map must be finite everywhere")
        if size.dtype == np.float16:
            # The bits of half floats that are not negative are in the order of their values.
            codes = size.view(np.uint16).astype(np.int64)
            counts = np.stack(
                [np.bincount(codes[part], minlength=_FINITE_HALVES) for part in (inside, ~inside)]
            )
            occurs = np.flatnonzero(counts.sum(axis=0))
            levels = occurs.astype(np.uint16).view(np.float16).astype(np.float64)
            return cls(levels, counts[0, occurs], counts[1, occurs])
        levels, codes = np.unique(size, return_inverse=True)
        counts = np.stack([np.bincount(codes[part], minlength=levels.size) for part in (inside, ~inside)])
        return cls(levels.astype(np.float64), counts[0], counts[1])

    @property
    def counts(self) -> NDArray[np.int64]:
        """Places of each value."""
        return self.inside + self.outside

    @property
    def total(self) -> float:
        """Σ|a|."""
        return float((self.values * self.counts).sum())

    @property
    def area(self) -> float:
        """The share of the mask |M|/N: the RMA of a uniform map."""
        return float(self.inside.sum() / self.counts.sum())
