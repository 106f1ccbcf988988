"""The figures of faithfulness with their intervals: means, ratios that may have no meaning, and composites."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from theodolite import stats
from theodolite.instruments.compass.estimates import mean_figure
from theodolite.instruments.compass.experiments.composites import Composite, composite_scores
from theodolite.instruments.compass.published import known_model

Floats: TypeAlias = NDArray[np.float64]
_MOST_UNDEFINED = 0.05
"""Of the resamples, how many may have nothing to divide by before there is no interval."""


@dataclass(frozen=True, slots=True)
class Ratio:
    """A ratio as the paper has it, and whether its denominator lets it mean anything."""

    estimate: stats.Estimate
    is_sound: bool
    """Whether the whole interval of the denominator is below zero, as the ratio's meaning needs: where hiding what
    should matter changes nothing, or raises confidence, a large ratio says nothing good."""
    denominator: stats.Estimate


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
    denominator = mean_figure(below, clusters, seed=seed)
    if denominator is None or denominator.value == 0:
        return None
    factor = np.ones_like(above) if times is None else times

    def statistic(above: Floats, below: Floats, factor: Floats, weights: Floats) -> Floats:
        return np.asarray((weights @ above) / (weights @ below) * (weights @ factor) / weights.sum(axis=1))

    estimate = _resampled((above, below, factor), statistic, clusters, seed)
    return None if estimate is None else Ratio(estimate, denominator.high < 0, denominator)


def leak_of(opposite: Floats, true: Floats, clusters: Sequence[str], *, seed: int) -> Ratio | None:
    """|mean ΔS_opp| / |mean ΔS_true| (Table 8: absolute values of means, not means of them)."""
    denominator = mean_figure(true, clusters, seed=seed)
    if denominator is None or denominator.value == 0:
        return None

    def statistic(opposite: Floats, true: Floats, weights: Floats) -> Floats:
        return np.abs(weights @ opposite) / np.abs(weights @ true)

    estimate = _resampled((opposite, true), statistic, clusters, seed)
    return None if estimate is None else Ratio(estimate, denominator.high < 0, denominator)


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

    return _resampled((opposite, true, *shares), statistic, clusters, seed)


def _resampled(
    data: tuple[Floats, ...], statistic: Callable[..., Floats], clusters: Sequence[str], seed: int
) -> stats.Estimate | None:
    """A ratio with its interval; None if on too many resamples there is nothing to divide by."""
    distribution = stats.bootstrap_distribution(
        data,
        stats.BatchStatistic(statistic, form="weights"),
        clusters=clusters,
        jackknife=False,
        seed=seed,
    )
    if distribution.n_undefined > _MOST_UNDEFINED * distribution.resamples.size:
        return None
    return distribution.estimate("percentile")


PUBLISHED_RHO: Mapping[str, float] = {"EA": 1.0, "harmonic": 0.8, "DFS": 0.0, "geometric": 0.0, "MDF": -0.4}
"""What the paper reports of its four methods (A.1, the table of composites), by the composite's name."""
_PUBLISHED_FOR = "Qwen2-VL-7B"


def published_correlations(model: str) -> Mapping[str, float]:
    """`PUBLISHED_RHO` for the model that the paper has it of; empty for any other.

    >>> published_correlations("hf:Qwen/Qwen2-VL-7B-Instruct")["EA"], published_correlations("hf:mine")
    (1.0, {})
    """
    return PUBLISHED_RHO if known_model(model) == _PUBLISHED_FOR else {}


def ranked_against(
    auc: Mapping[str, float], summaries: Mapping[str, Mapping[str, float]], *, seed: int
) -> tuple[Composite, ...]:
    """Spearman's ρ over maps between summaries of them and their AUC for correctness.

    Args:
        auc: ROC-AUC of −DAE for the answer being right, by map.
        summaries: ``EA`` and ``MDF``, which give the paper's five, and any others by name; each by map.
        seed: of the permutations, where there are too many for all.

    Returns:
        The paper's composites, over the maps that have AUC, EA and MDF; then each other summary alone.
    """
    edges = summaries["EA"]
    found: list[Composite] = []
    for name, values in summaries.items():
        keys = [key for key in values if key in auc and key in edges]
        if name == "EA" or not keys:
            continue
        composites = composite_scores(
            keys,
            edge_accuracy=[edges[key] for key in keys],
            mdf=[values[key] for key in keys],
            auc=[auc[key] for key in keys],
            seed=seed,
        )
        if name == "MDF":
            found = [*composites, *found]
        else:
            found += [replace(each, name=name) for each in composites if each.name == "MDF"]
    return tuple(found)
