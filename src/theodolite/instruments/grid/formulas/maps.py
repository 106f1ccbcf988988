r"""What a map is worth, held against masks: mass, rank, overlap.

For a map a and a mask M, at cell or at pixel level, with |a| throughout:

- RMA = Σ_M |a| / Σ|a|, its area baseline |M|/N, and normalised (RMA − area)/(1 − area);
- RRA: of the |M| largest values, the share that lies in M; ties at the edge count by their expected share;
- AUC: the probability that a place in M ranks above one outside, ties half;
- IoU of M with the places above Otsu's threshold, which is found exactly over the sorted values.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from theodolite.core.errors import UsageError
from theodolite.instruments.grid.data.world import Flags
from theodolite.instruments.grid.explainers.game import Floats


@dataclass(frozen=True, slots=True)
class MapScore:
    """One map against one mask."""

    rma: float
    area: float
    """The mask's share of the picture: what a map without an opinion scores."""
    rra: float
    auc: float
    iou: float
    """Foreground is what lies above the threshold over all values."""
    iou_paper: float
    """Foreground is what reaches the threshold over the positive values alone, as the public code has it."""

    @property
    def normalised(self) -> float:
        """(RMA − area)/(1 − area): 0 for a uniform map, 1 for a map inside the mask."""
        return (self.rma - self.area) / (1 - self.area)


@dataclass(frozen=True, slots=True)
class Levels:
    """A map and a mask as counts: every value that occurs, in order, and how many places inside and outside have it.

    All that is asked of a map depends on these alone, and a map of a hundred thousand pixels kept as half floats has few of them.
    """

    values: Floats
    """(levels,), rising."""
    inside: NDArray[np.int64]
    outside: NDArray[np.int64]

    @classmethod
    def of(cls, size: NDArray[Any], inside: Flags) -> Levels:
        """Counts the levels of a map that is nowhere below 0."""
        if size.dtype == np.float16:
            codes = size.view(np.uint16).astype(
                np.int64
            )  # of what is not negative, bits are in the order of values
            counts = np.stack([np.bincount(codes[part], minlength=_HALVES) for part in (inside, ~inside)])
            occurs = np.flatnonzero(counts.sum(axis=0))
            values = occurs.astype(np.uint16).view(np.float16).astype(np.float64)
            return cls(values, counts[0, occurs], counts[1, occurs])
        values, codes = np.unique(size, return_inverse=True)
        counts = np.stack([np.bincount(codes[part], minlength=values.size) for part in (inside, ~inside)])
        return cls(values.astype(np.float64), counts[0], counts[1])

    @property
    def counts(self) -> NDArray[np.int64]:
        """Places of each value."""
        return self.inside + self.outside

    def threshold(self) -> float:
        """Otsu's, over all values."""
        return _otsu(self.values, self.counts)

    def threshold_of_positive(self) -> float:
        """Otsu's, over the values above 0."""
        above = self.values > 0
        return _otsu(self.values[above], self.counts[above])

    def overlap(self, foreground: Flags) -> float:
        """IoU of the mask with the places whose level is in the foreground, (levels,)."""
        both = int(self.inside[foreground].sum())
        either = int(self.inside.sum()) + int(self.outside[foreground].sum())
        return both / either if either else 0.0

    def rank_share(self) -> float:
        """RRA: the expected share of the mask among its |M| largest values, ties broken at random."""
        k = int(self.inside.sum())
        above = np.cumsum(self.counts[::-1])[::-1] - self.counts  # places with a larger value
        taken = np.clip((k - above) / self.counts, 0.0, 1.0)
        return float((taken * self.inside).sum() / k)

    def auc(self) -> float:
        """The probability that a place inside has a larger value than one outside, ties half."""
        below = np.cumsum(self.outside) - self.outside
        won = (self.inside * (below + self.outside / 2)).sum()
        return float(won / (self.inside.sum() * self.outside.sum()))


_HALVES = 0x7C00
"""Bit patterns of half floats that are finite and not negative."""


def _otsu(values: Floats, counts: NDArray[np.int64]) -> float:
    """Otsu's threshold of distinct rising values, each so many times."""
    if not values.size:
        raise UsageError("a threshold needs at least one value")
    if values.size == 1:
        return float(values[0])
    n = np.cumsum(counts)[:-1]
    below = np.cumsum(counts * values)
    rest, total = counts.sum() - n, below[-1]
    between = n * rest * (below[:-1] / n - (total - below[:-1]) / rest) ** 2
    cut = int(between.argmax())
    return float((values[cut] + values[cut + 1]) / 2)


def otsu(values: ArrayLike) -> float:
    """The threshold that maximises w₀·w₁·(μ₀ − μ₁)² over every cut between distinct values, taken midway; exact.

    The one value that there is if all are alike.

    >>> otsu([0, 0, 1, 9, 10])
    5.0
    """
    distinct, counts = np.unique(np.asarray(values, np.float64), return_counts=True)
    return _otsu(distinct, counts)


def overlap(foreground: Flags, mask: Flags) -> float:
    """|A∩B| / |A∪B|; 0 where both are empty."""
    union = (foreground | mask).sum()
    return float((foreground & mask).sum() / union) if union else 0.0


def rank_share(size: Floats, mask: Flags) -> float:
    """RRA: the expected share of the mask among its |M| largest values, ties broken at random."""
    return Levels.of(np.asarray(size, np.float64), np.asarray(mask, bool)).rank_share()


def score_map(values: ArrayLike, mask: ArrayLike) -> MapScore | None:
    """Scores one map; None where the map holds no relevance at all.

    >>> found = score_map([0, 3, 1, 0], [False, True, False, False])
    >>> found.rma, found.rra, found.auc, found.iou
    (0.75, 1.0, 1.0, 1.0)

    Raises:
        UsageError: map and mask differ in size, or the mask is empty or everything.
    """
    given = np.asarray(values)
    size = np.abs(given if given.dtype == np.float16 else given.astype(np.float64)).reshape(-1)
    inside = np.asarray(mask, bool).reshape(-1)
    if size.size != inside.size:
        raise UsageError(f"a map of {size.size} places cannot be held against a mask of {inside.size}")
    k = int(inside.sum())
    if not 0 < k < inside.size:
        raise UsageError(
            f"a mask must hold something and leave something out; this one holds {k} of {inside.size}"
        )
    if not np.isfinite(size).all():
        raise UsageError("a map must be finite everywhere")
    levels = Levels.of(size, inside)
    total = float((levels.values * levels.counts).sum())
    if not total > 0:
        return None
    return MapScore(
        rma=float((levels.values * levels.inside).sum() / total),
        area=k / size.size,
        rra=levels.rank_share(),
        auc=levels.auc(),
        iou=levels.overlap(levels.values > levels.threshold()),
        iou_paper=levels.overlap(levels.values >= levels.threshold_of_positive()),
    )
