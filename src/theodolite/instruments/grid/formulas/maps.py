"""One map against one mask: RMA, RRA, AUC, IoU, mass by role; and the shift of an answer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from theodolite.core.errors import UsageError
from theodolite.core.types import Choice
from theodolite.instruments.grid.data.batch import MaskName
from theodolite.instruments.grid.data.world import Flags
from theodolite.instruments.grid.explainers.game import Floats

# A map and a mask as counts: every distinct absolute value, and how many places inside and outside the mask have it.
#
# RMA, RRA, AUC and IoU depend on these counts alone. A map of a hundred thousand pixels stored as half floats has few
# distinct values.


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
        """Count the levels of a map.

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


# IoU: overlap of a mask with the foreground of a map, |F ∩ M| / |F ∪ M| (GridVQA-X, section 5.1).
#
# Sound: F is what lies above Otsu's threshold of all values. Paper: F is what reaches Otsu's threshold of the positive values
# alone, as in the public code. Otsu's threshold is found exactly, over the sorted values. At the level of pixels IoU measures
# granularity: a heavy-tailed map with its mass inside the mask may score 0, so compare at the level of cells.


def iou(levels: Levels) -> float:
    """Return the overlap with the places above Otsu's threshold of all values.

    >>> iou(Levels.of([0, 3, 1, 0], [False, True, False, False]))
    1.0
    """
    return _overlap(levels, levels.values > _otsu(levels.values, levels.counts))


def iou_paper(levels: Levels) -> float:
    """Return the overlap with the places that reach Otsu's threshold of the positive values."""
    above = levels.values > 0
    return _overlap(levels, levels.values >= _otsu(levels.values[above], levels.counts[above]))


def otsu(values: ArrayLike) -> float:
    """Return the threshold that maximises w₀·w₁·(μ₀ − μ₁)² over every cut between distinct values, taken midway.

    If all values are equal, that value.

    >>> otsu([0, 0, 1, 9, 10])
    5.0
    """
    distinct, counts = np.unique(np.asarray(values, np.float64), return_counts=True)
    return _otsu(distinct, counts)


def _otsu(values: Floats, counts: NDArray[np.int64]) -> float:
    """Return the threshold from distinct ascending values with their counts."""
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


def _overlap(levels: Levels, foreground: Flags) -> float:
    both = int(levels.inside[foreground].sum())
    either = int(levels.inside.sum()) + int(levels.outside[foreground].sum())
    return both / either if either else 0.0


# RMA: relevance mass accuracy, the share of a map's mass inside a mask (GridVQA-X, equation 3).
#
#     RMA = Σ_{M} |a| / Σ |a|
#
# A uniform map scores the mask's area, and the published values largely follow it. Sound, beside it:
#
#     normalised RMA = (RMA − area) / (1 − area),  area = |M| / N,
#
# 0 for a uniform map, 1 for a map inside the mask.


def rma(levels: Levels) -> float:
    """Return the RMA of a map that is not zero everywhere.

    >>> rma(Levels.of([0, 3, 1, 0], [False, True, False, False]))
    0.75
    """
    return float((levels.values * levels.inside).sum() / levels.total)


def area(levels: Levels) -> float:
    """Return the mask's share of the picture."""
    return levels.area


def normalised_rma(levels: Levels) -> float:
    """Return the RMA beyond the mask's area.

    >>> normalised_rma(Levels.of([1, 1, 1, 1], [False, True, False, False]))
    0.0
    """
    return (rma(levels) - levels.area) / (1 - levels.area)


# Rank measures of a map.
#
# RRA (relevance rank accuracy): the share of the |M| largest values that lies in the mask; ties at the edge count by their
# expected share. AUC: the probability that a place inside the mask has a larger value than one outside, ties half.


def rra(levels: Levels) -> float:
    """Return the expected share of the |M| largest values that lies in the mask, ties broken at random.

    >>> rra(Levels.of([0, 3, 1, 0], [False, True, False, False]))
    1.0
    """
    k = int(levels.inside.sum())
    above = np.cumsum(levels.counts[::-1])[::-1] - levels.counts  # places with a larger value
    taken = np.clip((k - above) / levels.counts, 0.0, 1.0)
    return float((taken * levels.inside).sum() / k)


def map_auc(levels: Levels) -> float:
    """Return P(|a| inside > |a| outside) + ½ P(equal).

    >>> map_auc(Levels.of([0, 3, 1, 0], [False, True, False, False]))
    1.0
    """
    below = np.cumsum(levels.outside) - levels.outside
    won = (levels.inside * (below + levels.outside / 2)).sum()
    return float(won / (levels.inside.sum() * levels.outside.sum()))


# The mass of a map by role: on anchors, targets, look-alikes, other objects and background, and on words.
#
#     mass on a part = Σ_{part} |a| / Σ |a|
#
# *Adversarial mass* (GridVQA-X, section 5.1) is the mass on look-alikes of the target outside the valid region: objects that
# only a shortcut counts.


WORD_ROLES = ("target", "anchor", "direction", "other")


def part_masses(cells: NDArray[Any], masks: Mapping[MaskName, Flags]) -> dict[MaskName, float]:
    """Return the share of the mass on each part; empty if the map is zero everywhere."""
    size = np.abs(np.asarray(cells, np.float64))
    total = size.sum()
    return {part: float(size[mask].sum() / total) for part, mask in masks.items()} if total > 0 else {}


def word_shares(words: NDArray[Any], roles: NDArray[np.str_]) -> dict[str, float]:
    """Return the share of the words' relevance on each role; empty if no word has any."""
    size = np.abs(np.asarray(words, np.float64))
    total = size[roles != ""].sum()
    return {role: float(size[roles == role].sum() / total) for role in WORD_ROLES} if total > 0 else {}


# One map against one mask: RMA, RRA, AUC and IoU together.


@dataclass(frozen=True, slots=True)
class MapScore:
    """All scores of a map."""

    rma: float
    normalised_rma: float
    area: float
    rra: float
    auc: float
    iou: float
    iou_paper: float


def score_map(values: ArrayLike, mask: ArrayLike) -> MapScore | None:
    """Score a map; None if it is zero everywhere.

    >>> found = score_map([0, 3, 1, 0], [False, True, False, False])
    >>> found.rma, found.rra, found.auc, found.iou
    (0.75, 1.0, 1.0, 1.0)

    Raises:
        UsageError: Map and mask do not fit; see `Levels.of`.
    """
    levels = Levels.of(values, mask)
    if not levels.total > 0:
        return None
    return MapScore(
        rma=rma(levels),
        normalised_rma=normalised_rma(levels),
        area=levels.area,
        rra=rra(levels),
        auc=map_auc(levels),
        iou=iou(levels),
        iou_paper=iou_paper(levels),
    )


# The shift of an answer: total variation distance ½ Σ |p − p′| between its distribution before and after an edit.


def shift(before: Choice | None, after: Choice | None) -> float | None:
    """Return ½ Σ |p − p′| over the options; None if either has no log-probabilities."""
    if before is None or after is None:
        return None
    first, second = np.asarray(before.probabilities), np.asarray(after.probabilities)
    return 0.5 * float(np.abs(first - second).sum())


def relation_shift(swap: float | None, decoy: float | None) -> float | None:
    """Return the shift with reversed directions minus the shift with decoys, from −1 to 1; None if either is missing.

    1 for a model that moves with the relation and not with look-alikes, −1 for the opposite.
    """
    return None if swap is None or decoy is None else swap - decoy
