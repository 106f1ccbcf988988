"""Item scores summarised: the mean of a metric, and the paired difference of two models, each with its interval."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from theodolite.core.scores import ItemScore, Metric
from theodolite.stats.clustered import clustered_difference, clustered_mean
from theodolite.stats.permutation import sign_flip_test

if TYPE_CHECKING:
    from theodolite.core.estimates import Estimate, HypothesisTest


def score_mean(metric: Metric, scores: Iterable[ItemScore], *, level: float = 0.95) -> Estimate | None:
    """The mean of a metric over the items that have a value; a macro mean where the metric says so.

    Args:
        metric: What is averaged; scores of other metrics are ignored.
        scores: Scores of one model.
        level: Confidence level.

    Returns:
        None if no item has a value.

    >>> right = Metric("ask.right", "right", True, "ours", "text")
    >>> rows = [ItemScore(str(i), "ask.right", float(i % 2), str(i // 2)) for i in range(8)]
    >>> print(score_mean(right, rows))
    0.500 [0.194, 0.806] (n=4, 8 items)
    """
    kept = [row for row in scores if row.metric == metric.key and row.value is not None]
    return clustered_mean(
        [row.value for row in kept if row.value is not None],
        [row.cluster for row in kept] if kept else None,
        bounds=metric.bounds,
        groups=[row.group for row in kept] if metric.average == "groups" and kept else None,
        level=level,
    )


def score_difference(
    metric: Metric, first: Iterable[ItemScore], second: Iterable[ItemScore], *, level: float = 0.95
) -> Estimate | None:
    """The mean of first − second over items with a value in both, paired by item and split.

    Args:
        metric: What is compared; scores of other metrics are ignored.
        first: First of one model.
        second: Second of another model, or of another setting of the same items.
        level: Confidence level.

    Returns:
        None if they share no item.

    >>> right = Metric("ask.right", "right", True, "ours", "text")
    >>> first, second = ([ItemScore(str(i), "ask.right", float(i < k), str(i)) for i in range(8)] for k in (7, 3))
    >>> print(score_difference(right, first, second))
    0.500 [0.068, 0.785] (n=8)
    """
    kept = _paired(metric, first, second)
    return clustered_difference(
        [mine for _, mine, _ in kept],
        [other for _, _, other in kept],
        [row.cluster for row, _, _ in kept] if kept else None,
        bounds=metric.bounds,
        groups=[row.group for row, _, _ in kept] if metric.average == "groups" and kept else None,
        level=level,
    )


def score_difference_test(
    metric: Metric, first: Iterable[ItemScore], second: Iterable[ItemScore], *, seed: int
) -> HypothesisTest | None:
    """The two-sided test of the same difference, by flipping signs of whole clusters.

    Args:
        metric: As for `score_difference`.
        first: As for `score_difference`.
        second: As for `score_difference`.
        seed: Seed of the sign patterns.

    Returns:
        None if they share fewer than two clusters.

    >>> right = Metric("ask.right", "right", True, "ours", "text")
    >>> first, second = ([ItemScore(str(i), "ask.right", float(i < k), str(i)) for i in range(8)] for k in (7, 3))
    >>> score_difference_test(right, first, second, seed=0).p_value
    0.125
    """
    kept = _paired(metric, first, second)
    clusters = [row.cluster for row, _, _ in kept]
    if len(set(clusters)) < 2:
        return None
    return sign_flip_test(
        [mine for _, mine, _ in kept], [other for _, _, other in kept], clusters=clusters, seed=seed
    )


def _paired(
    metric: Metric, first: Iterable[ItemScore], second: Iterable[ItemScore]
) -> list[tuple[ItemScore, float, float]]:
    """The items with a value in both, with the two values."""
    theirs = {(row.item, row.split): row.value for row in second if row.metric == metric.key}
    return [
        (row, row.value, other)
        for row in first
        if row.metric == metric.key and row.value is not None
        for other in [theirs.get((row.item, row.split))]
        if other is not None
    ]
