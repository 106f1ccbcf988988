"""Compare two models on the same items: the paired difference of every metric that both have."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from itertools import combinations

from theodolite import stats
from theodolite.diagnose.record import Comparison, Figure, TestResult
from theodolite.diagnose.separation import MIN_CLUSTERS
from theodolite.diagnose.table import Column, ScoreTable


@dataclass(frozen=True, slots=True)
class _Found:
    """The difference on one metric and split, before the correction of p."""

    column: Column
    difference: stats.Estimate | None
    test: stats.HypothesisTest | None
    why_not: str = ""


def compare_models(table: ScoreTable, first: str, second: str, *, seed: int) -> list[Comparison]:
    """Compute first minus second on all metrics and splits of an instrument that both models have, paired by item.

    Interval and test treat clusters as independent. The p-values are corrected by Holm over all of them, whatever a page
    shows.
    """
    both = [each for each in table.columns if all(table.n_clusters(model, each) for model in (first, second))]
    found = [_compare(table, first, second, column, seed) for column in sorted(both)]
    tested = [(each.column, each.test.p_value) for each in found if each.test is not None]
    corrected = stats.holm([p for _, p in tested]).tolist() if tested else []
    p_holm = {column: p for (column, _), p in zip(tested, corrected, strict=True)}
    return [
        Comparison(
            first=first,
            second=second,
            instrument=each.column[0].partition(".")[0],
            metric=each.column[0],
            split=each.column[1],
            difference=Figure.of(each.difference) if each.difference else None,
            test=TestResult.of(each.test, "paired difference is zero") if each.test else None,
            p_holm=p_holm.get(each.column),
            why_not=each.why_not,
        )
        for each in found
    ]


def compare_all(
    table: ScoreTable, models: Sequence[str], *, shown: Collection[Column], seed: int
) -> list[Comparison]:
    """Compare every pair of models, in the order given, and return the differences in the columns to be shown."""
    return [
        comparison
        for first, second in combinations(models, 2)
        for comparison in compare_models(table, first, second, seed=seed)
        if (comparison.metric, comparison.split) in shown
    ]


def _compare(table: ScoreTable, first: str, second: str, column: Column, seed: int) -> _Found:
    mine, theirs, clusters = table.shared(first, second, column)
    n_clusters = len(set(clusters))
    if not n_clusters:
        return _Found(column, None, None, "no item has a score from both")
    if n_clusters < MIN_CLUSTERS:
        why = f"too little data: {n_clusters} clusters in common, at least {MIN_CLUSTERS} are needed: a larger --size"
        return _Found(column, None, None, why)
    test = stats.sign_flip_test(mine, theirs, clusters=clusters, seed=seed)
    return _Found(column, table.difference(first, second, column), test)
