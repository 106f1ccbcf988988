"""The figures of faithfulness with their intervals: means, ratios that may have no meaning, and composites."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from theodolite import stats

Floats: TypeAlias = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Ratio:
    """A ratio as the paper has it, and whether its denominator lets it mean anything."""

    estimate: stats.Estimate
    is_sound: bool
    """Whether the denominator's interval leaves out zero."""
    denominator: stats.Estimate


def mean_of(values: Sequence[float] | Floats, clusters: Sequence[str], *, seed: int) -> stats.Estimate | None:
    """A mean with its interval over clusters; None if there are fewer than two clusters."""
    if len(set(clusters)) < 2:
        return None
    return stats.bootstrap(np.asarray(values, float), clusters=clusters, interval="percentile", seed=seed)


def share_of(flags: Sequence[bool], clusters: Sequence[str], *, seed: int) -> stats.Estimate | None:
    """A share with its interval over clusters; Wilson's over clusters where all flags are alike."""
    n = len(set(clusters))
    if n < 2:
        return None
    if len(set(flags)) == 1:
        return stats.wilson_interval(n if flags[0] else 0, n)
    return mean_of(np.asarray(flags, float), clusters, seed=seed)


def p_of(values: Floats, clusters: Sequence[str], *, seed: int) -> float | None:
    """Two-sided p of a mean against zero, by flipping the signs of whole clusters."""
    if len(set(clusters)) < 2:
        return None
    return stats.sign_flip_test(values, clusters=clusters, seed=seed).p_value


def ratio_of(
    above: Floats, below: Floats, clusters: Sequence[str], *, seed: int, times: Floats | None = None
) -> Ratio | None:
    """mean(above) / mean(below), by the mean of `times` if given, resampled together; None if it has no value.

    A ratio of areas below zero means what the paper says of it only while the denominator is below zero for certain:
    as it nears zero the ratio grows without end, and beyond zero it changes sign.
    """
    denominator = mean_of(below, clusters, seed=seed)
    if denominator is None or denominator.value == 0:
        return None
    factor = np.ones_like(above) if times is None else times

    def statistic(above: Floats, below: Floats, factor: Floats, weights: Floats) -> Floats:
        return np.asarray((weights @ above) / (weights @ below) * (weights @ factor) / weights.sum(axis=1))

    estimate = stats.bootstrap(
        (above, below, factor),
        stats.BatchStatistic(statistic, form="weights"),
        clusters=clusters,
        interval="percentile",
        seed=seed,
    )
    return Ratio(estimate, denominator.excludes(0.0), denominator)


def leak_of(opposite: Floats, true: Floats, clusters: Sequence[str], *, seed: int) -> Ratio | None:
    """|mean ΔS_opp| / |mean ΔS_true| (Table 8: absolute values of means, not means of them)."""
    denominator = mean_of(true, clusters, seed=seed)
    if denominator is None or denominator.value == 0:
        return None

    def statistic(opposite: Floats, true: Floats, weights: Floats) -> Floats:
        return np.abs(weights @ opposite) / np.abs(weights @ true)

    estimate = stats.bootstrap(
        (opposite, true),
        stats.BatchStatistic(statistic, form="weights"),
        clusters=clusters,
        interval="percentile",
        seed=seed,
    )
    return Ratio(estimate, denominator.excludes(0.0), denominator)


def bounded_leak_of(
    drops: tuple[Floats, Floats], shares: tuple[Floats, Floats], clusters: Sequence[str], *, seed: int
) -> stats.Estimate | None:
    """L = r_opp / (r_opp + r_true), r = mean max(0, −ΔS) / mean share hidden: 0 no leakage, ½ no direction.

    A rate, because the opposite sector is often a fraction of the true one: on real COCO pairs a sixth of its size.

    Args:
        drops: ΔS of the opposite and of the true sector, pair by pair.
        shares: what they hold of what the model sees.
        clusters: the pairs' pictures.
        seed: of the bootstrap.

    Returns:
        None if nothing ever drops, or one of the two never holds anything.
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

    distribution = stats.bootstrap_distribution(
        (opposite, true, *shares),
        stats.BatchStatistic(statistic, form="weights"),
        clusters=clusters,
        jackknife=False,
        seed=seed,
    )
    if distribution.n_undefined > 0.05 * distribution.resamples.size:
        return None  # too often nothing drops at all
    return distribution.estimate("percentile")


@dataclass(frozen=True, slots=True)
class Composite:
    """How well one summary of a method ranks methods as their AUC for correctness does."""

    name: str
    values: Mapping[str, float]
    """By map; maps without a value are not in it."""
    rho: stats.Estimate | None
    """Spearman's correlation with the AUC, over maps."""
    p_value: float | None
    """Exact or Monte Carlo permutation p, two-sided."""
    paper_rho: float | None
    """What the paper reports over its four methods (A.1, the table of composites); None if it is not in it."""
    left_out: int
    """Maps for which the composite has no value."""


COMPOSITES: Mapping[str, tuple[Callable[[float, float], float | None], float]] = {
    "EA": (lambda _, ea: ea, 1.0),
    "harmonic mean of MDF and EA": (
        lambda mdf, ea: 2 * mdf * ea / (mdf + ea) if mdf > 0 and ea > 0 else None,
        0.8,
    ),
    "DFS (product)": (lambda mdf, ea: mdf * ea, 0.0),
    "geometric mean of MDF and EA": (lambda mdf, ea: math.sqrt(mdf * ea) if mdf >= 0 else None, 0.0),
    "MDF": (lambda mdf, _: mdf, -0.4),
}
"""The summaries that A.1 compares, from MDF and EA; with the paper's own correlation."""


def compare_composites(
    mdf: Mapping[str, float], ea: Mapping[str, float], auc: Mapping[str, float], *, seed: int
) -> tuple[Composite, ...]:
    """Spearman's ρ over methods between each composite of MDF and EA and the AUC for correctness.

    Args:
        mdf: by map.
        ea: by map.
        auc: by map; ROC-AUC of −DAE for the answer being right.
        seed: of the permutations, where there are too many for all.

    >>> mdf = {"gradcam": 3.85, "contrastive": 2.5, "chefer": 1.54, "rollout": 1.45}
    >>> ea = {"gradcam": 0.31, "contrastive": 0.553, "chefer": 0.633, "rollout": 0.367}
    >>> auc = {"gradcam": 0.476, "contrastive": 0.575, "chefer": 0.62, "rollout": 0.541}
    >>> [round(found.rho.value, 1) + 0.0 for found in compare_composites(mdf, ea, auc, seed=0)]
    [1.0, 0.8, 0.0, 0.0, -0.4]
    """
    keys = [key for key in auc if key in mdf and key in ea]
    found = []
    for name, (formula, paper_rho) in COMPOSITES.items():
        given = {key: formula(mdf[key], ea[key]) for key in keys}
        values = {key: value for key, value in given.items() if value is not None}
        found.append(rank_against(name, values, auc, seed=seed, paper_rho=paper_rho))
    return tuple(found)


def rank_against(
    name: str,
    values: Mapping[str, float],
    auc: Mapping[str, float],
    *,
    seed: int,
    paper_rho: float | None = None,
) -> Composite:
    """One summary of methods against their AUC; no ρ for fewer than three, or where one side is constant."""
    shared = [key for key in values if key in auc]
    pair = [values[key] for key in shared], [auc[key] for key in shared]
    rho, p_value = None, None
    if len(shared) >= 3 and all(np.ptp(side) > 0 for side in pair):
        rho = stats.spearman(*pair)
        p_value = stats.correlation_permutation_test(*pair, kind="spearman", seed=seed).p_value
    return Composite(name, dict(values), rho, p_value, paper_rho, len(auc) - len(shared))
