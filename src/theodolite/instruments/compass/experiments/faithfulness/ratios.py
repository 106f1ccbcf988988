"""MDF, DFS and leakage: ratios of means, with intervals by bootstrap over clusters.

    MDF   = mean AUC_own / mean AUC_random                                 (equation 9)
    DFS   = MDF · EA                                                       (equation 10)
    leak  = |mean ΔS_opp| / |mean ΔS_true|                                 (Table 8: absolute values of means)
    L     = r_opp / (r_opp + r_true),  r = mean max(0, −ΔS) / mean share hidden     (sound: 0 no leakage, ½ no direction)

A ratio of two areas below zero has the paper's meaning only while the denominator is below zero for certain: near zero the
ratio grows without bound, and beyond zero it changes sign. Such ratios are marked as doubtful.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from theodolite import stats
from theodolite.instruments.compass.experiments.faithfulness.effects import Floats


@dataclass(frozen=True, slots=True)
class Ratio:
    """A ratio as in the paper, and whether its denominator lets it mean anything."""

    estimate: stats.Estimate
    is_doubtful: bool
    """True unless the whole interval of the denominator is below zero."""


def mdf_of(
    own: Floats, random: Floats, clusters: Sequence[str], *, seed: int, hits: Floats | None = None
) -> Ratio | None:
    """MDF; with hits, DFS.

    Args:
        own: AUC of the map's own order, pair by pair.
        random: AUC of random orders.
        clusters: The pairs' pictures.
        seed: Seed of the bootstrap.
        hits: 1 for pairs with DAE ≤ 45°.

    Returns:
        None if the ratio has no value.
    """
    factor = np.ones_like(own) if hits is None else hits

    def statistic(above: Floats, below: Floats, factor: Floats, weights: Floats) -> Floats:
        return np.asarray((weights @ above) / (weights @ below) * (weights @ factor) / weights.sum(axis=1))

    return _ratio((own, random, factor), statistic, random, clusters, seed)


def leak_of(opposite: Floats, true: Floats, clusters: Sequence[str], *, seed: int) -> Ratio | None:
    """|mean ΔS_opp| / |mean ΔS_true|."""

    def statistic(opposite: Floats, true: Floats, weights: Floats) -> Floats:
        return np.abs(weights @ opposite) / np.abs(weights @ true)

    return _ratio((opposite, true), statistic, true, clusters, seed)


def bounded_leak_of(
    drops: tuple[Floats, Floats], shares: tuple[Floats, Floats], clusters: Sequence[str], *, seed: int
) -> stats.Estimate | None:
    """L, a ratio of rates: the opposite sector is often much smaller than the true one (a sixth on real COCO pairs).

    Args:
        drops: ΔS of the opposite and of the true sector, pair by pair.
        shares: The share of what the model sees in each of the two.
        clusters: The pairs' pictures.
        seed: Seed of the bootstrap.

    Returns:
        None if nothing ever drops, or one of the two is always empty.
    """
    opposite, true = (np.maximum(0.0, -each) for each in drops)
    if len(set(clusters)) < 2 or opposite.sum() + true.sum() <= 0 or min(map(np.sum, shares)) <= 0:
        return None

    def statistic(
        opposite: Floats, true: Floats, opposite_share: Floats, true_share: Floats, weights: Floats
    ) -> Floats:
        rates = [
            weights @ drop / (weights @ share)
            for drop, share in ((opposite, opposite_share), (true, true_share))
        ]
        return np.asarray(rates[0] / (rates[0] + rates[1]))

    return _resampled((opposite, true, *shares), statistic, clusters, seed, bounds=stats.SHARE)


def _ratio(
    data: tuple[Floats, ...],
    statistic: Callable[..., Floats],
    below: Floats,
    clusters: Sequence[str],
    seed: int,
) -> Ratio | None:
    if len(set(clusters)) < 2 or below.mean() == 0:
        return None
    estimate = _resampled(data, statistic, clusters, seed)
    denominator = stats.clustered_mean(below, clusters, bounds=None)
    is_certain = bool((below < 0).all()) if denominator is None else denominator.high < 0
    return None if estimate is None else Ratio(estimate, not is_certain)


def _resampled(
    data: tuple[Floats, ...],
    statistic: Callable[..., Floats],
    clusters: Sequence[str],
    seed: int,
    *,
    bounds: stats.Bounds | None = None,
) -> stats.Estimate | None:
    """A ratio with its interval; None if too many resamples have a denominator of zero."""
    distribution = stats.bootstrap_distribution(
        data,
        stats.BatchStatistic(statistic, form="weights"),
        clusters=clusters,
        jackknife=False,
        seed=seed,
    )
    twice = max(1.0, 2 * abs(distribution.value))  # only used if no resample differs
    return distribution.percentile(bounds or (-twice, twice))
