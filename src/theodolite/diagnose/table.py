"""The item scores of several models on the same items, as arrays."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from theodolite import stats
from theodolite.core.errors import UsageError
from theodolite.core.scores import ItemScore, Metric

__all__ = ["Column", "ScoreTable"]

Column = tuple[str, str]
"""The key of a metric, and a split."""


@dataclass(frozen=True, slots=True, eq=False)
class ScoreTable:
    """A table for each model, with the same items as rows and the same metrics on splits as columns."""

    items: tuple[str, ...]
    clusters: tuple[str, ...]
    """The cluster of each item."""
    groups: tuple[str, ...]
    """The group of each item, for macro means."""
    columns: tuple[Column, ...]
    metrics: Mapping[str, Metric]
    """By key."""
    values: Mapping[str, NDArray[np.float64]]
    """By model, shape (items, columns); 0 where there is no score."""
    present: Mapping[str, NDArray[np.bool_]]
    """By model, shape (items, columns): where there is a score."""

    @classmethod
    def of(cls, scores: Mapping[str, Iterable[ItemScore]], metrics: Iterable[Metric]) -> ScoreTable:
        """Arrange scores in a table. Scores without a value are left out.

        Raises:
            UsageError: If a model has two scores of one item, metric and split, if an item is in two clusters, or if a
                metric is unknown.
        """
        lists = {model: [s for s in found if s.value is not None] for model, found in scores.items()}
        rows: dict[str, int] = {}
        columns: dict[Column, int] = {}
        clusters: dict[str, str] = {}
        groups: dict[str, str] = {}
        for found in lists.values():
            for score in found:
                rows.setdefault(score.item, len(rows))
                columns.setdefault((score.metric, score.split), len(columns))
                groups[score.item] = score.group or groups.get(score.item, "")
                if clusters.setdefault(score.item, score.cluster) != score.cluster:
                    raise UsageError(
                        f"the item {score.item!r} is in two clusters, {clusters[score.item]!r} and {score.cluster!r}"
                    )
        known = {metric.key: metric for metric in metrics}
        unknown = sorted({key for key, _ in columns} - set(known))
        if unknown:
            raise UsageError(f"there are scores of {unknown[0]!r}, which is not a known metric")
        shape = len(rows), len(columns)
        values = {model: np.zeros(shape) for model in lists}
        present = {model: np.zeros(shape, bool) for model in lists}
        for model, found in lists.items():
            for score in found:
                cell = rows[score.item], columns[score.metric, score.split]
                if present[model][cell]:
                    raise UsageError(f"{model} has two scores of {score.metric} on the item {score.item!r}")
                values[model][cell], present[model][cell] = score.value, True
        return cls(
            tuple(rows),
            tuple(clusters[item] for item in rows),
            tuple(groups[item] for item in rows),
            tuple(columns),
            known,
            values,
            present,
        )

    def column(self, model: str, column: Column) -> tuple[NDArray[np.float64], list[str]]:
        """Return the values of a model in a column, and their clusters."""
        rows, number = self._rows(column, model)
        if not rows.size:
            return np.zeros(0), []
        return self.values[model][rows, number], [self.clusters[row] for row in rows]

    def mean(self, model: str, column: Column) -> stats.Estimate | None:
        """Compute the mean of a model in a column. None if it has no scores."""
        rows, number = self._rows(column, model)
        if not rows.size:
            return None
        metric = self.metrics[column[0]]
        return stats.clustered_mean(
            self.values[model][rows, number],
            [self.clusters[row] for row in rows],
            bounds=metric.bounds,
            groups=self._groups(metric, rows),
        )

    def shared(
        self, first: str, second: str, column: Column
    ) -> tuple[NDArray[np.float64], NDArray[np.float64], list[str]]:
        """Return the values of two models on the items that both have, and the clusters of these items."""
        rows, number = self._rows(column, first, second)
        return (
            self.values[first][rows, number],
            self.values[second][rows, number],
            [self.clusters[row] for row in rows],
        )

    def difference(self, first: str, second: str, column: Column) -> stats.Estimate | None:
        """Compute first minus second on the items that both have. None if there are none."""
        rows, number = self._rows(column, first, second)
        if not rows.size:
            return None
        metric = self.metrics[column[0]]
        return stats.clustered_difference(
            self.values[first][rows, number],
            self.values[second][rows, number],
            [self.clusters[row] for row in rows],
            bounds=metric.bounds,
            groups=self._groups(metric, rows),
        )

    def n_clusters(self, model: str, column: Column) -> int:
        """Count the clusters with a score."""
        return len(set(self.column(model, column)[1]))

    def _rows(self, column: Column, *models: str) -> tuple[NDArray[np.int64], int]:
        """Return the rows in which all models have a score, and the number of the column."""
        if column not in self.columns or any(model not in self.values for model in models):
            return np.zeros(0, np.int64), 0
        number = self.columns.index(column)
        both = np.logical_and.reduce([self.present[model][:, number] for model in models])
        return np.flatnonzero(both), number

    def _groups(self, metric: Metric, rows: Sequence[int] | NDArray[np.int64]) -> list[str] | None:
        return [self.groups[row] for row in rows] if metric.average == "groups" else None
