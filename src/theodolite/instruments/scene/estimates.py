"""Figures over scenes: means, macro means over groups of questions, and paired differences of them, each with its interval.

Questions about one scene depend on one another, so whole scenes are drawn (clustered bootstrap). With S_sg the sum and N_sg
the number of the scores of scene s in group g, and w_s how often s was drawn, a macro mean is

    1/G Σ_g (Σ_s w_s S_sg) / (Σ_s w_s N_sg).

Where every resample gives one value, as at 0 and 1, a bootstrap knows no doubt. Wilson's interval for as many scenes that are
all alike says how much is left, and takes its place.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from theodolite import stats
from theodolite.core.errors import UsageError

Alternative: TypeAlias = Literal["two-sided", "greater", "less"]

_ALIKE = "Wilson, all scenes alike"
_NO_ROOM = 1e-9


@dataclass(frozen=True, slots=True, eq=False)
class Drawn:
    """What is drawn, and from which seed: the frame of all figures of one scoring."""

    seed: int = 0
    n_resamples: int = 2000
    level: float = 0.95
    _drawn: dict[int, NDArray[np.float32]] = field(default_factory=dict, repr=False)

    def mean(self, values: ArrayLike, scenes: Sequence[str], *, low: float = 0.0) -> stats.Estimate | None:
        """The mean of values, scenes drawn whole; None without values.

        Args:
            values: one per item.
            scenes: of the items.
            low: the least possible value (0 of scores, −1 of differences); 1 is the largest.
        """
        array = np.asarray(values, np.float64)
        return self.macro(array, np.zeros(array.size, np.int64), scenes, low=low)

    def macro(
        self, values: ArrayLike, groups: ArrayLike, scenes: Sequence[str], *, low: float = 0.0
    ) -> stats.Estimate | None:
        """The mean over groups of the means of their values; None without values."""
        array = np.asarray(values, np.float64)
        if not array.size:
            return None
        sums, counts = per_scene((array,), groups, scenes)
        return self._bootstrap((sums[0], counts), _macro, array.size, low=low)

    def difference(
        self, first: ArrayLike, second: ArrayLike, groups: ArrayLike, scenes: Sequence[str]
    ) -> stats.Estimate | None:
        """The macro mean of first − second, item by item; None without values."""
        return self.macro(np.subtract(first, second), groups, scenes, low=-1.0)

    def level_of(
        self,
        values: ArrayLike,
        floor: ArrayLike,
        ceiling: ArrayLike,
        groups: ArrayLike,
        scenes: Sequence[str],
    ) -> stats.Estimate | None:
        """(x − floor) / (ceiling − floor) of the three macro means; None without values, or without room between the two, there or in many a resample.

        0 is what can be had without looking, 1 all that can be had.
        """
        arrays = tuple(np.asarray(part, np.float64) for part in (values, floor, ceiling))
        if not arrays[0].size:
            return None
        sums, counts = per_scene(arrays, groups, scenes)
        least, most = (float(_macro(part, counts, np.ones((1, len(counts))))[0]) for part in sums[1:])
        if most - least < 0.02:
            return None
        try:
            return self._bootstrap((*sums, counts), _level, arrays[0].size, low=-np.inf)
        except UsageError:  # too few scenes: many a resample leaves no room between the two
            return None

    def test(
        self,
        first: ArrayLike,
        second: ArrayLike,
        scenes: Sequence[str],
        *,
        groups: ArrayLike | None = None,
        alternative: Alternative = "greater",
    ) -> stats.HypothesisTest | None:
        """Whether the first of each pair is larger: signs flipped scene by scene. None without pairs.

        With groups, each difference weighs so much that the statistic is the macro mean of the differences.
        """
        gaps = np.subtract(np.asarray(first, np.float64), np.asarray(second, np.float64))
        if not gaps.size:
            return None
        if groups is not None:
            _, codes, counts = np.unique(np.asarray(groups), return_inverse=True, return_counts=True)
            gaps = gaps * (gaps.size / (counts.size * counts[codes]))
        return stats.sign_flip_test(
            gaps, clusters=list(scenes), alternative=alternative, n_permutations=1999, seed=self.seed
        )

    def combined(
        self,
        data: tuple[NDArray[np.float64], ...],
        statistic: Callable[..., NDArray[np.float64]],
        n_items: int,
    ) -> stats.Estimate:
        """A figure made of several: arrays with one row per scene, and a function of them and of the scenes' weights."""
        return self._bootstrap(data, statistic, n_items, low=-np.inf)

    def _bootstrap(
        self,
        data: tuple[NDArray[np.float64], ...],
        statistic: Callable[..., NDArray[np.float64]],
        n_items: int,
        *,
        low: float,
    ) -> stats.Estimate:
        n = len(data[0])
        value = float(statistic(*data, np.ones((1, n)))[0])
        if n < 2:
            return self._alike(value, n, n_items, low)
        resamples = np.asarray(statistic(*data, self._weights(n)), np.float64)
        distribution = stats.BootstrapDistribution(value, resamples, None, np.arange(n), self.seed)
        found = distribution.estimate("percentile", self.level)
        if found.low == found.high:
            return self._alike(found.value, n, n_items, low)
        return replace(found, n_items=max(n_items, n))

    def _weights(self, n: int) -> NDArray[np.float32]:
        """How often each of n scenes is drawn in each resample, shape (resamples, n): drawn once, used for every figure.

        In single precision: an interval of two hundred figures needs no more than seven digits.
        A statistic that only looks on is put through `stats.bootstrap_distribution`, so that draws come from one place.
        """
        if n not in self._drawn:
            blocks: list[NDArray[np.float32]] = []

            def look_on(_: NDArray[np.float64], weights: NDArray[np.float64]) -> NDArray[np.float64]:
                blocks.append(weights.astype(np.float32))
                return np.zeros(len(weights))

            stats.bootstrap_distribution(
                np.zeros(n),
                stats.BatchStatistic(look_on, form="weights"),
                jackknife=False,
                n_resamples=self.n_resamples,
                seed=self.seed,
            )
            self._drawn[n] = np.concatenate(blocks[1:])  # the first block is the data themselves
        return self._drawn[n]

    def _alike(self, value: float, n: int, n_items: int, low: float) -> stats.Estimate:
        doubt = 1 - stats.wilson_interval(n, n, level=self.level).low
        bottom, top = max(low, value - doubt), min(max(1.0, value), value + doubt)
        return stats.Estimate(value, bottom, top, n, self.level, _ALIKE, n_items=max(n_items, n))


def per_scene(
    arrays: Sequence[NDArray[np.float64]], groups: ArrayLike, scenes: Sequence[str]
) -> tuple[list[NDArray[np.float64]], NDArray[np.float64]]:
    """Sums per scene and group of each array, and the number of items: each of shape (scenes, groups)."""
    _, group = np.unique(np.asarray(groups), return_inverse=True)
    _, scene = np.unique(np.asarray(scenes), return_inverse=True)
    shape = (int(scene.max()) + 1, int(group.max()) + 1)
    cell = scene * shape[1] + group
    counts = np.bincount(cell, minlength=shape[0] * shape[1]).reshape(shape).astype(np.float64)
    sums = [
        np.asarray(np.bincount(cell, weights=array, minlength=counts.size), np.float64).reshape(shape)
        for array in arrays
    ]
    return sums, counts


def _macro(
    sums: NDArray[np.float64], counts: NDArray[np.float64], weights: NDArray[np.floating]
) -> NDArray[np.float64]:
    """A group that a resample does not hold is left out of that resample's mean."""
    both = weights @ np.concatenate([sums, counts], axis=1).astype(weights.dtype, copy=False)
    above, below = both[:, : sums.shape[1]], both[:, sums.shape[1] :]
    if below.min() > 0:
        return np.asarray((above / below).mean(axis=1), np.float64)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(np.nanmean(np.where(below > 0, above / below, np.nan), axis=1), np.float64)


def _level(
    values: NDArray[np.float64],
    floor: NDArray[np.float64],
    ceiling: NDArray[np.float64],
    counts: NDArray[np.float64],
    weights: NDArray[np.float64],
) -> NDArray[np.float64]:
    mine, least, most = (_macro(part, counts, weights) for part in (values, floor, ceiling))
    room = most - least
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(np.where(np.abs(room) > _NO_ROOM, (mine - least) / room, np.nan))
