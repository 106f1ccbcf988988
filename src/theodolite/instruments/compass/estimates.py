"""Figures of samples that share pictures: every interval is over pictures, and n counts them.

A figure is None where there is nothing to take it of, or one picture alone, which leaves no interval to be had.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from theodolite import stats

_MOST_UNDEFINED = 0.05
"""Of the resamples, how many may lack one of two groups before there is no interval."""


def mean_figure(values: ArrayLike, clusters: Sequence[str], *, seed: int) -> stats.Estimate | None:
    """A mean, by bootstrap over clusters (BCa).

    >>> print(mean_figure([10.0, 20.0, 60.0, 50.0], ["a", "a", "b", "c"], seed=0))
    35.000 [15.000, 56.667] (n=3, 4 items)
    """
    if len(set(clusters)) < 2:
        return None
    return stats.bootstrap(values, clusters=list(clusters), seed=seed)


def share_figure(flags: ArrayLike, clusters: Sequence[str], *, seed: int) -> stats.Estimate | None:
    """A share, by bootstrap over clusters; where all flags are alike, Wilson's interval for as many trials as clusters.

    >>> print(share_figure([True, True, True], ["a", "b", "b"], seed=0))
    1.000 [0.342, 1.000] (n=2, 3 items)
    """
    hits = np.asarray(flags, np.float64)
    n = len(set(clusters))
    if not hits.size:
        return None
    if np.ptp(hits) == 0:
        return replace(stats.wilson_interval(n if hits[0] else 0, n), n_items=hits.size)
    if n < 2:
        return None
    return stats.bootstrap(hits, clusters=list(clusters), interval="percentile", seed=seed)


def paired_figure(
    first: ArrayLike, second: ArrayLike, clusters: Sequence[str], *, seed: int
) -> stats.Estimate | None:
    """The mean of first − second, sample by sample, by bootstrap over clusters."""
    if len(set(clusters)) < 2:
        return None
    pair = (np.asarray(first, np.float64), np.asarray(second, np.float64))
    return stats.bootstrap(pair, "difference", clusters=list(clusters), interval="percentile", seed=seed)


def gap_figure(
    values: ArrayLike, is_first: ArrayLike, clusters: Sequence[str], *, seed: int
) -> stats.Estimate | None:
    """The mean of one group minus the mean of the others, groups sharing clusters, by bootstrap over clusters.

    >>> wrong = [True, True, False, True, False, False, True, False]
    >>> print(gap_figure([9.0, 7.0, 2.0, 6.0, 4.0, 3.0, 8.0, 1.0], wrong, list("aabbccdd"), seed=1))
    5.000 [3.000, 7.000] (n=4, 8 items)
    """
    x, y = np.asarray(values, np.float64), np.asarray(is_first, np.float64)
    if len(set(clusters)) < 2 or not 0 < y.sum() < y.size:
        return None
    found = stats.bootstrap_distribution(
        (x, y), stats.BatchStatistic(_gap, form="weights"), clusters=list(clusters), seed=seed
    )
    if found.n_undefined > _MOST_UNDEFINED * found.resamples.size:
        return None
    return found.estimate("percentile")


def _gap(
    values: NDArray[np.float64], is_first: NDArray[np.float64], weights: NDArray[np.float64]
) -> NDArray[np.float64]:
    first, second = weights * is_first, weights * (1 - is_first)
    return np.asarray(first @ values / first.sum(axis=1) - second @ values / second.sum(axis=1))
