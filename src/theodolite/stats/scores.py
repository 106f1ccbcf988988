"""One table of item scores: means, paired differences of models, and tables of means, each with its interval.

A row is an item, a metric, a value or the reason why there is none, a cluster, a split, a group, and the model. Every
mean and every comparison of models comes from here, so a stored run has one number under one name, and two stored runs
one p-value.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import TYPE_CHECKING

from theodolite.core.errors import UsageError
from theodolite.core.scores import ItemScore, Metric, metric_of
from theodolite.core.tables import Cell, Column, Table
from theodolite.stats.clustered import clustered_mean, paired_difference
from theodolite.stats.permutation import holm

if TYPE_CHECKING:
    from collections.abc import Callable

    from theodolite.core.tables import Estimate, HypothesisTest

__all__ = ["LEAST_CLUSTERS", "Difference", "Scores", "difference_table", "score_mean"]

LEAST_CLUSTERS = 12
"""With fewer clusters in common, models are not compared: intervals and tests of so few are not reliable."""


def score_mean(metric: Metric, scores: Iterable[ItemScore], *, level: float = 0.95) -> Estimate | None:
    """Compute the mean of a metric over the items that have a value; a macro mean where the metric says so.

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


@dataclass(frozen=True, slots=True)
class Difference:
    """First minus second on one metric and split, over the items that have a value in both."""

    first: str
    second: str
    metric: Metric
    split: str
    n_items: int
    """Items with a value in both."""
    means: tuple[float, float] = (0.0, 0.0)
    """The plain means of both models over these items."""
    estimate: Estimate | None = None
    """None for the reason in `why_not`."""
    test: HypothesisTest | None = None
    p_holm: float | None = None
    """The p-value of the test, corrected by Holm over all differences that were computed together."""
    why_not: str = ""


class Scores:
    """The item scores of one or several models.

    >>> right = Metric("toy.right", "right", True, "ours", "text")
    >>> def run(n):
    ...     return [ItemScore(f"q{i}", "toy.right", float(i < n), f"picture {i}") for i in range(20)]
    >>> scores = Scores({"a": run(18), "b": run(10)}, [right])
    >>> print(scores.mean("toy.right", "a"))
    0.900 [0.699, 0.972] (n=20)
    >>> (difference,) = scores.difference()
    >>> print(f"{difference.estimate:.2f}", difference.test.p_value)
    0.40 [0.11, 0.62] (n=20) 0.0078125
    """

    def __init__(
        self, by_model: Mapping[str, Iterable[ItemScore]], metrics: Iterable[Metric] | None = None
    ) -> None:
        """Arrange scores.

        Args:
            by_model: The scores of each model, on the same items.
            metrics: The metrics of the scores. Default: as they are defined.

        Raises:
            UsageError: If a metric is unknown, if a model has two scores of one item on a metric and split, or if an
                item of a metric is in two clusters.
        """
        self._metrics = None if metrics is None else {metric.key: metric for metric in metrics}
        self.models = tuple(by_model)
        self._rows: dict[tuple[str, str, str], dict[str, ItemScore]] = {}
        clusters: dict[tuple[str, str], str] = {}
        for model, scores in by_model.items():
            for score in scores:
                rows = self._rows.setdefault((model, score.metric, score.split), {})
                if score.item in rows:
                    raise UsageError(f"{model} has two scores of {score.metric} on the item {score.item!r}")
                rows[score.item] = score
                known = clusters.setdefault((score.metric, score.item), score.cluster)
                if known != score.cluster:
                    raise UsageError(
                        f"the item {score.item!r} is in two clusters, {known!r} and {score.cluster!r}"
                    )
        self.columns = tuple(dict.fromkeys((key, split) for _, key, split in self._rows))
        """Every metric and split that any model has, as they came."""
        for key, _ in self.columns:
            self.metric(key)

    def metric(self, key: str) -> Metric:
        """Return a metric of the scores."""
        if self._metrics is None:
            return metric_of(key)
        if key not in self._metrics:
            raise UsageError(f"there are scores of {key!r}, which is not a known metric")
        return self._metrics[key]

    def rows(
        self, key: str, model: str = "", split: str | None = None, *, is_scored: bool = True
    ) -> list[ItemScore]:
        """Return the scores of a metric.

        Args:
            key: The key of the metric.
            model: Default: the only model.
            split: Default: all splits.
            is_scored: Only scores with a value.
        """
        name = model or self._only()
        selected = (
            self._rows.get((name, key, own), {}).values()
            for own in ([split] if split is not None else [s for k, s in self.columns if k == key])
        )
        return [row for rows in selected for row in rows if row.is_scored or not is_scored]

    def _only(self) -> str:
        if len(self.models) != 1:
            raise UsageError(f"there are scores of several models: {', '.join(self.models)}")
        return self.models[0]

    def n_clusters(self, key: str, model: str = "", split: str | None = None) -> int:
        """Count the clusters that have a value."""
        return len({row.cluster for row in self.rows(key, model, split)})

    def mean(
        self,
        key: str,
        model: str = "",
        split: str | None = None,
        *,
        keep: Callable[[ItemScore], bool] | None = None,
        level: float = 0.95,
    ) -> Estimate | None:
        """Compute the mean of a metric. None if no item has a value.

        Args:
            key: The key of the metric.
            model: Default: the only model.
            split: Default: all splits.
            keep: True for the scores to average. Default: all.
            level: Confidence level.
        """
        rows = self.rows(key, model, split)
        return score_mean(self.metric(key), filter(keep, rows) if keep else rows, level=level)

    def pivot(
        self, keys: Sequence[str], by: Sequence[str] = ("model", "split")
    ) -> Iterator[tuple[Cell, ...]]:
        """Yield a row for every combination of labels that has scores: the labels, then the mean of each metric.

        Args:
            keys: The keys of the metrics.
            by: What rows differ in: ``model``, ``split``, ``group`` or ``cluster``.
        """

        def label(model: str, row: ItemScore) -> tuple[str, ...]:
            return tuple(model if name == "model" else str(getattr(row, name)) for name in by)

        cells: dict[tuple[str, ...], dict[str, list[ItemScore]]] = {}
        for (model, key, _), rows in self._rows.items():
            if key in keys:
                for row in rows.values():
                    cells.setdefault(label(model, row), {}).setdefault(key, []).append(row)
        for labels, by_key in cells.items():
            yield (*labels, *(score_mean(self.metric(key), by_key.get(key, ())) for key in keys))

    def table(
        self,
        name: str,
        title: str,
        columns: Sequence[Column],
        by: Sequence[str] = ("model", "split"),
        notes: Iterable[str] = (),
    ) -> Table:
        """Build a table of means.

        Args:
            name: The name of the table.
            title: Its title.
            columns: One per metric, made with `theodolite.core.scores.column`.
            by: What rows differ in, as for `pivot`.
            notes: Sentences below the table.
        """
        heads = [Column(head, head) for head in by]
        keys = [column.key for column in columns]
        return Table.of(name, title, [*heads, *columns], self.pivot(keys, by), notes)

    def difference(
        self,
        pairs: Iterable[tuple[str, str]] | None = None,
        keys: Iterable[str | tuple[str, str]] | None = None,
        *,
        seed: int = 0,
        level: float = 0.95,
    ) -> list[Difference]:
        """Compute first minus second, paired by item, on every metric and split that both models have.

        This is the only comparison of models: pairs by item within metric and split, `paired_difference` over
        clusters, nothing below `LEAST_CLUSTERS`, and Holm's correction over all differences of one call. Compute
        everything that is shown together in one call.

        Args:
            pairs: The models to compare. Default: every two, in order.
            keys: The metrics, or metrics with their splits, in the order to return them. Default: all.
            seed: Seed of the tests.
            level: Confidence level of the intervals.
        """
        columns = sorted(self.columns)
        if keys is not None:
            columns = [column for wanted in keys for column in columns if wanted in {column, column[0]}]
        differences = [
            self._difference(first, second, key, split, seed, level)
            for first, second in (combinations(self.models, 2) if pairs is None else pairs)
            for key, split in columns
            if self.rows(key, first, split) and self.rows(key, second, split)
        ]
        tested = [difference.test.p_value for difference in differences if difference.test is not None]
        corrected = iter(holm(tested).tolist() if tested else [])
        return [
            replace(difference, p_holm=next(corrected)) if difference.test is not None else difference
            for difference in differences
        ]

    def _difference(
        self, first: str, second: str, key: str, split: str, seed: int, level: float
    ) -> Difference:
        metric = self.metric(key)
        theirs = {row.item: row.value for row in self.rows(key, second, split)}
        kept = [row for row in self.rows(key, first, split) if row.item in theirs]
        mine, other = [row.value or 0.0 for row in kept], [theirs[row.item] or 0.0 for row in kept]
        clusters = [row.cluster for row in kept]
        result = Difference(first, second, metric, split, len(kept))
        n_clusters = len(set(clusters))
        if n_clusters < LEAST_CLUSTERS:
            why = (
                f"too little data: {n_clusters} clusters in common, at least {LEAST_CLUSTERS} are needed: a larger --size"
                if kept
                else "no item has a score from both"
            )
            return replace(result, why_not=why)
        estimate, test = paired_difference(
            mine,
            other,
            clusters,
            bounds=metric.bounds,
            groups=[row.group for row in kept] if metric.average == "groups" else None,
            level=level,
            seed=seed,
        )
        means = sum(mine) / len(kept), sum(other) / len(kept)
        why = "" if estimate is not None else "no pair differs"
        return replace(result, means=means, estimate=estimate, test=test, why_not=why)


DIFFERENCE_NOTE = "Paired by item; p by flipping the signs of whole clusters, corrected by Holm over all differences of the table."


def difference_table(
    name: str,
    title: str,
    found: Iterable[Difference],
    columns: Mapping[str, Column],
    *,
    labels: Callable[[Difference], Sequence[str]] = lambda difference: (difference.first, difference.second),
    heads: Sequence[Column] = (Column("model", "model"), Column("minus", "minus")),
    notes: Iterable[str] = (),
) -> Table:
    """Build a table of differences that were computed together: a row for each label, two columns for each metric.

    Args:
        name: The name of the table.
        title: Its title.
        found: The differences.
        columns: The column of each metric, by its key without a variant.
        labels: What rows differ in.
        heads: The columns of the labels.
        notes: Sentences below the table.
    """
    rows: dict[tuple[str, ...], dict[str, Difference]] = {}
    for difference in found:
        rows.setdefault(tuple(labels(difference)), {})[difference.metric.kind] = difference
    shown: list[Column] = []
    for column in columns.values():
        shown += [column, Column(f"p_{column.name}", "p (Holm)", "p")]
    cells: list[list[Cell]] = []
    for label, own in rows.items():
        row: list[Cell] = [*label]
        for kind in columns:
            row += [own[kind].estimate, own[kind].p_holm] if kind in own else [None, None]
        cells.append([*row, max(difference.n_items for difference in own.values())])
    missing = Counter(
        difference.why_not for own in rows.values() for difference in own.values() if difference.why_not
    )
    reasons = [f"{count} without a difference: {why}." for why, count in missing.items()]
    every = [*heads, *shown, Column("n", "items of both", "count")]
    return Table.of(name, title, every, cells, [DIFFERENCE_NOTE, *reasons, *notes])
