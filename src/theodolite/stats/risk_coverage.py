"""Selective prediction: the risk–coverage curve, the area under it, and accuracy at a given coverage.

Answers are ranked by decreasing confidence. All numbers are expectations over the orders of tied answers, so the order
of the input does not matter.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np
from scipy.special import xlogy

from theodolite.core.errors import UsageError
from theodolite.core.tables import Estimate
from theodolite.stats.bootstrap import DEFAULT_RESAMPLES, resampled
from theodolite.stats.samples import (
    SHARE,
    BatchStatistic,
    FloatArray,
    check_choice,
    check_same_length,
    flags,
    sample,
)

if TYPE_CHECKING:
    from numpy.typing import ArrayLike


@dataclass(frozen=True, slots=True, eq=False)
class RiskCoverage:
    """Expected risk of the k most confident answers, for every k."""

    coverage: FloatArray
    """Share of answers kept, k/n for k = 1 … n, shape (n,)."""
    risk: FloatArray
    """Expected share of errors among the k most confident answers, shape (n,)."""

    @property
    def area(self) -> float:
        """The area under the curve: the mean risk over all coverages k/n."""
        return float(self.risk.mean())


def _checked(confidence: ArrayLike, correct: ArrayLike) -> tuple[FloatArray, FloatArray]:
    scores, hits = sample(confidence, "confidence"), flags(correct, "correct")
    check_same_length(confidence=scores, correct=hits)
    return scores, hits


def _tie_groups(scores: FloatArray, hits: FloatArray, weights: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Count answers and errors at each distinct confidence, most confident first, both (rows, distinct)."""
    order = np.argsort(-scores, kind="stable")
    starts = np.flatnonzero(np.diff(-scores[order], prepend=-np.inf))
    ordered = weights[:, order]
    sizes = np.add.reduceat(ordered, starts, axis=1)
    errors = np.add.reduceat(ordered * (1 - hits[order]), starts, axis=1)
    return sizes, errors


def risk_coverage(confidence: ArrayLike, correct: ArrayLike) -> RiskCoverage:
    """Compute the risk–coverage curve (El-Yaniv and Wiener 2010), in expectation over ties.

    If ranks a+1 … a+m share one confidence and contain e errors, with E errors above them, the expected
    number of errors among the first k is E + e(k−a)/m.

    >>> risk_coverage([0.9, 0.8, 0.8, 0.1], [1, 1, 0, 0]).risk.round(3).tolist()
    [0.0, 0.25, 0.333, 0.5]
    """
    scores, hits = _checked(confidence, correct)
    sizes, errors = _tie_groups(scores, hits, np.ones((1, scores.size)))
    group_sizes = sizes[0].astype(np.int64)
    expected_errors = np.cumsum(np.repeat(errors[0] / group_sizes, group_sizes))
    rank = np.arange(1, scores.size + 1)
    return RiskCoverage(coverage=rank / scores.size, risk=expected_errors / rank)


def _areas(scores: FloatArray, hits: FloatArray, weights: FloatArray) -> FloatArray:
    """Return AURC per row of weights, computed for whole tie groups by harmonic numbers.

    Σ_{k=a+1}^{a+m} (E + e(k−a)/m)/k = (E − ae/m)(H_{a+m} − H_a) + e.
    """
    sizes, errors = _tie_groups(scores, hits, weights)
    after = np.cumsum(sizes, axis=1)
    before = after - sizes
    errors_before = np.cumsum(errors, axis=1) - errors
    harmonic = _harmonic_numbers(after[:, -1].max())
    span = harmonic[after.astype(np.int64)] - harmonic[before.astype(np.int64)]
    rate = np.divide(errors, sizes, out=np.zeros_like(errors), where=sizes > 0)
    return np.asarray((((errors_before - before * rate) * span) + errors).sum(axis=1) / after[:, -1])


def _harmonic_numbers(last: float) -> FloatArray:
    """Return H_0 … H_last."""
    return np.concatenate([[0.0], np.cumsum(1 / np.arange(1, int(last) + 1))])


def _optima(hits: FloatArray, weights: FloatArray, optimum: str) -> FloatArray:
    """Return AURC of an ideal confidence at the same accuracy, per row of weights."""
    n = weights.sum(axis=1)
    n_errors = weights @ (1 - hits)
    if optimum == "asymptotic":
        accuracy = 1 - n_errors / n
        return np.asarray(1 - accuracy + xlogy(accuracy, accuracy))
    harmonic = _harmonic_numbers(n.max())
    n_hits = n - n_errors
    span = harmonic[n.astype(np.int64)] - harmonic[n_hits.astype(np.int64)]
    return np.asarray((n_errors - n_hits * span) / n)


def aurc(
    confidence: ArrayLike,
    correct: ArrayLike,
    *,
    clusters: ArrayLike | None = None,
    level: float = 0.95,
    n_resamples: int = DEFAULT_RESAMPLES,
    seed: int,
) -> Estimate:
    """Compute the area under the risk–coverage curve, (1/n) Σ_k risk(k/n), with its bootstrap interval (BCa).

    Lower is better. The area of an uninformative confidence is the error rate.

    Args:
        confidence: One confidence per answer; larger means more certain.
        correct: True for each answer that is right.
        clusters: One label per answer, if answers depend on each other within clusters.
        level: Confidence level.
        n_resamples: Number of resamples.
        seed: Seed of the resamples.

    >>> print(aurc([0.9, 0.8, 0.8, 0.1], [1, 1, 0, 0], seed=0))
    0.271 [0.000, 1.000] (n=4)
    """
    scores, hits = _checked(confidence, correct)
    statistic = BatchStatistic(_areas, form="weights")
    return resampled(
        (scores, hits),
        statistic,
        clusters=clusters,
        bounds=SHARE,
        level=level,
        n_resamples=n_resamples,
        seed=seed,
    )


def excess_aurc(
    confidence: ArrayLike,
    correct: ArrayLike,
    *,
    optimum: Literal["asymptotic", "finite"] = "asymptotic",
    clusters: ArrayLike | None = None,
    level: float = 0.95,
    n_resamples: int = DEFAULT_RESAMPLES,
    seed: int,
) -> Estimate:
    """Compute AURC minus that of an ideal confidence at the same accuracy (E-AURC; Geifman et al. 2019).

    With error rate r the optimum is r + (1−r) ln(1−r) for infinite data ("asymptotic", the published
    definition). With e errors in n answers it is exactly (1/n) Σ_{k=n−e+1}^{n} (k−n+e)/k
    = (e − (n−e)(H_n − H_{n−e}))/n ("finite"). For perfectly ranked answers the finite version is zero; the
    asymptotic one is slightly above zero.

    Args:
        confidence: As for `aurc`.
        correct: As for `aurc`.
        optimum: Which optimum to subtract.
        clusters: As for `aurc`.
        level: Confidence level.
        n_resamples: Number of resamples.
        seed: Seed of the resamples.

    >>> correct = [True] * 413 + [False] * 587
    >>> print(excess_aurc([0.5] * 1000, correct, seed=0))
    0.365 [0.361, 0.368] (n=1000)
    """
    check_choice(optimum, ("asymptotic", "finite"), "optimum")
    scores, hits = _checked(confidence, correct)

    def excess(scores: FloatArray, hits: FloatArray, weights: FloatArray) -> FloatArray:
        gap = _areas(scores, hits, weights) - _optima(hits, weights, optimum)
        return np.where(np.abs(gap) < 1e-12, 0.0, gap)  # a perfect ranking, up to rounding

    statistic = BatchStatistic(excess, form="weights")
    return resampled(
        (scores, hits),
        statistic,
        clusters=clusters,
        bounds=SHARE,
        level=level,
        n_resamples=n_resamples,
        seed=seed,
    )


def accuracy_at_coverage(
    confidence: ArrayLike,
    correct: ArrayLike,
    *,
    coverage: float,
    clusters: ArrayLike | None = None,
    level: float = 0.95,
    n_resamples: int = DEFAULT_RESAMPLES,
    seed: int,
) -> Estimate:
    """Estimate the expected accuracy of the ⌈coverage · n⌉ most confident answers, with its bootstrap interval (BCa).

    Args:
        confidence: As for `aurc`.
        correct: As for `aurc`.
        coverage: Share of answers to keep, above 0 and at most 1.
        clusters: As for `aurc`.
        level: Confidence level.
        n_resamples: Number of resamples.
        seed: Seed of the resamples.

    >>> print(accuracy_at_coverage([0.9, 0.8, 0.8, 0.1], [1, 1, 0, 0], coverage=0.5, seed=0))
    0.750 [0.000, 1.000] (n=4)
    """
    if not 0 < coverage <= 1:
        raise UsageError(f"coverage must be above 0 and at most 1, got {coverage}")
    scores, hits = _checked(confidence, correct)

    def accuracy(scores: FloatArray, hits: FloatArray, weights: FloatArray) -> FloatArray:
        sizes, errors = _tie_groups(scores, hits, weights)
        after = np.cumsum(sizes, axis=1)
        kept = _kept(coverage, after[:, -1])
        share = np.clip((kept[:, None] - (after - sizes)) / np.maximum(sizes, 1), 0, 1)  # of each tie group
        return np.asarray(1 - (share * errors).sum(axis=1) / kept)

    n_units = scores.size if clusters is None else len(set(np.asarray(clusters).tolist()))
    return resampled(
        (scores, hits),
        BatchStatistic(accuracy, form="weights"),
        clusters=clusters,
        bounds=SHARE,
        level=level,
        n=min(int(_kept(coverage, np.array([scores.size]))[0]), n_units),
        n_resamples=n_resamples,
        seed=seed,
    )


def _kept(coverage: float, n: FloatArray) -> FloatArray:
    """Return ⌈coverage · n⌉, robust to rounding of the product."""
    return np.ceil(coverage * n - 1e-9).clip(min=1)
