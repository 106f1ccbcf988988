"""Area under the ROC curve, with intervals that do not collapse at perfect separation."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy.optimize import brentq
from scipy.special import ndtri
from scipy.stats import mannwhitneyu, rankdata

from theodolite.core.errors import UsageError
from theodolite.core.tables import Estimate
from theodolite.stats.bootstrap import resampled
from theodolite.stats.samples import (
    SHARE,
    BatchStatistic,
    FloatArray,
    check_level,
    check_same_length,
    flags,
    sample,
)

if TYPE_CHECKING:
    from numpy.typing import ArrayLike


def hanley_mcneil_variance(auc: float, n_positive: float, n_negative: float) -> float:
    """Return the variance of an estimated area θ under the exponential model, with a common inner count.

    V(θ) = θ(1−θ) [1 + N*(1−θ)/(2−θ) + N*θ/(1+θ)] / (mn) with N* = (m+n)/2 − 1. Hanley and McNeil (1982)
    have m−1 and n−1 in the two inner places; the common N* is that of Newcombe (2006), methods 4 and 5.
    """
    inner = (n_positive + n_negative) / 2 - 1
    bracket = 1 + inner * ((1 - auc) / (2 - auc) + auc / (1 + auc))
    return auc * (1 - auc) * bracket / (n_positive * n_negative)


def newcombe_interval(auc: float, n_positive: float, n_negative: float, level: float) -> tuple[float, float]:
    """Return the two solutions θ of (θ̂ − θ)² = z² V(θ): Newcombe (2006), Statist. Med. 25:559, method 5.

    Like Wilson's interval for a proportion, it uses the variance at the bound, not at the estimate. It therefore does
    not collapse at θ̂ = 0 and θ̂ = 1.
    """
    z = float(ndtri((1 + level) / 2))

    def excess(theta: float) -> float:
        return (auc - theta) ** 2 - z**2 * hanley_mcneil_variance(theta, n_positive, n_negative)

    # V > 0 inside (0, 1) and V = 0 at its ends, so there is exactly one bound on each side of the estimate.
    # An estimate at an end is itself a root; starting just inside finds the other one.
    low = float(brentq(excess, 0.0, min(auc, 1 - 1e-12))) if auc > 0 else 0.0
    high = float(brentq(excess, max(auc, 1e-12), 1.0)) if auc < 1 else 1.0
    return low, high


def _weighted_auc(scores: FloatArray, labels: FloatArray, weights: FloatArray) -> FloatArray:
    """Return the share of positive–negative pairs in the right order, ties counted half, per row of weights."""
    order = np.argsort(scores, kind="stable")
    starts = np.flatnonzero(np.diff(scores[order], prepend=-np.inf))
    by_score = weights[:, order]
    positive = np.add.reduceat(by_score * labels[order], starts, axis=1)  # (rows, distinct scores)
    negative = np.add.reduceat(by_score, starts, axis=1) - positive
    below = np.cumsum(negative, axis=1) - negative / 2
    return np.asarray((positive * below).sum(axis=1) / (positive.sum(axis=1) * negative.sum(axis=1)))


def roc_auc(
    scores: ArrayLike,
    labels: ArrayLike,
    *,
    clusters: ArrayLike | None = None,
    level: float = 0.95,
    seed: int = 0,
) -> Estimate:
    """Estimate the probability that a random positive item scores above a random negative one; ties count half.

    θ̂ = (R₊ − m(m+1)/2) / (mn) with R₊ the rank sum of the m positives. Without clusters the interval is
    Newcombe's (2006) method 5, which does not collapse at θ̂ = 1, and `p_value` is that of the Mann–Whitney
    test of 0.5 (exact for small samples without ties). With clusters it is the bootstrap over clusters
    (BCa, 2000 resamples).

    Args:
        scores: One score per item; larger means more likely positive.
        labels: True (or 1) for a positive item, False (or 0) for a negative one.
        clusters: One label per item, if items depend on each other within clusters.
        level: Confidence level.
        seed: Seed of the cluster bootstrap.

    >>> print(roc_auc([0.1, 0.4, 0.35, 0.8], [0, 0, 1, 1]))
    0.750 [0.227, 0.967] (n=4)
    >>> print(roc_auc([1, 2, 3, 4, 5, 6], [0, 0, 0, 1, 1, 1]))
    1.000 [0.501, 1.000] (n=6)
    """
    check_level(level)
    x, y = sample(scores, "scores"), flags(labels, "labels")
    check_same_length(scores=x, labels=y)
    n_positive, n_negative = int(y.sum()), int((1 - y).sum())
    if not n_positive or not n_negative:
        raise UsageError(
            f"an AUC needs positive and negative items, got {n_positive} positive, {n_negative} negative"
        )
    if clusters is not None:
        statistic = BatchStatistic(_weighted_auc, form="weights")
        return resampled((x, y), statistic, clusters=clusters, bounds=SHARE, level=level, seed=seed)
    rank_sum = float(rankdata(x)[y == 1].sum())
    auc = (rank_sum - n_positive * (n_positive + 1) / 2) / (n_positive * n_negative)
    low, high = newcombe_interval(auc, n_positive, n_negative, level)
    p_value = 1.0 if np.ptp(x) == 0 else float(mannwhitneyu(x[y == 1], x[y == 0]).pvalue)
    return Estimate(auc, low, high, x.size, level, "Newcombe (2006) method 5", p_value=min(1.0, p_value))
