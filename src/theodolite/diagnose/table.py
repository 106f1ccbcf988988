"""The readings of several models on the same items, as arrays."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from theodolite import stats
from theodolite.core.errors import UsageError
from theodolite.core.scores import Reading

Column = tuple[str, str]
"""A readout's key and a split."""


@dataclass(frozen=True, slots=True, eq=False)
class ReadingTable:
    """Rows are items, columns are readouts on splits, and every model has a value or none in each cell."""

    items: tuple[str, ...]
    clusters: tuple[str, ...]
    """Of each item: the picture, scene or episode it shares with others."""
    columns: tuple[Column, ...]
    values: Mapping[str, NDArray[np.float64]]
    """By model, shape (items, columns); 0 where there is no reading."""
    present: Mapping[str, NDArray[np.bool_]]
    """By model, shape (items, columns): where there is a reading."""

    @classmethod
    def of(cls, readings: Mapping[str, Iterable[Reading]]) -> ReadingTable:
        """Arranges readings, by model.

        Raises:
            UsageError: two readings of one model are of the same item, readout and split, or an item is in two clusters.
        """
        lists = {model: list(found) for model, found in readings.items()}
        rows: dict[str, int] = {}
        columns: dict[Column, int] = {}
        clusters: dict[str, str] = {}
        for found in lists.values():
            for reading in found:
                rows.setdefault(reading.item, len(rows))
                columns.setdefault((reading.readout, reading.split), len(columns))
                if clusters.setdefault(reading.item, reading.cluster) != reading.cluster:
                    raise UsageError(
                        f"the item {reading.item!r} is in two clusters, {clusters[reading.item]!r} and {reading.cluster!r}"
                    )
        shape = len(rows), len(columns)
        values = {model: np.zeros(shape) for model in lists}
        present = {model: np.zeros(shape, bool) for model in lists}
        for model, found in lists.items():
            for reading in found:
                cell = rows[reading.item], columns[reading.readout, reading.split]
                if present[model][cell]:
                    raise UsageError(
                        f"{model} has two readings of {reading.readout} on the item {reading.item!r}"
                    )
                values[model][cell], present[model][cell] = reading.value, True
        return cls(tuple(rows), tuple(clusters[item] for item in rows), tuple(columns), values, present)

    def column(self, model: str, column: Column) -> tuple[NDArray[np.float64], list[str]]:
        """The values that a model has in a column, and their clusters."""
        if model not in self.values or column not in self.columns:
            return np.zeros(0), []
        number = self.columns.index(column)
        rows = np.flatnonzero(self.present[model][:, number])
        return self.values[model][rows, number], [self.clusters[row] for row in rows]

    def shared(
        self, first: str, second: str, column: Column
    ) -> tuple[NDArray[np.float64], NDArray[np.float64], list[str]]:
        """The values of two models on the items that both have, and their clusters."""
        number = self.columns.index(column)
        rows = np.flatnonzero(self.present[first][:, number] & self.present[second][:, number])
        return (
            self.values[first][rows, number],
            self.values[second][rows, number],
            [self.clusters[row] for row in rows],
        )

    def is_share(self, column: Column) -> bool:
        """Whether every reading of a column, of every model, is 0 or 1."""
        if column not in self.columns:
            return False
        number = self.columns.index(column)
        return all(
            np.isin(self.values[model][self.present[model][:, number], number], (0.0, 1.0)).all()
            for model in self.values
        )

    def mean(self, model: str, column: Column, *, seed: int) -> stats.Estimate | None:
        """The mean of a model's readings in a column, with its interval; None where fewer than two clusters have any."""
        values, clusters = self.column(model, column)
        if len(set(clusters)) < 2:
            return None
        return mean_of(values, clusters, is_share=self.is_share(column), seed=seed)

    def n_units(self, model: str, column: Column) -> int:
        """How many clusters have a reading."""
        return len(set(self.column(model, column)[1]))


def mean_of(
    values: NDArray[np.float64], clusters: list[str], *, is_share: bool = True, seed: int
) -> stats.Estimate:
    """The mean of readings with its interval over clusters.

    Readings that are all 0 or all 1 never vary when they are resampled, and an interval of no width would claim too much:
    there it is Wilson's, with as many trials as clusters. Of readings that are no shares the interval then has no width, and
    its method says so.

    >>> print(mean_of(np.ones(20), [str(i) for i in range(20)], seed=0))
    1.000 [0.839, 1.000] (n=20)
    """
    n_units = len(set(clusters))
    if is_share and np.ptp(values) == 0 and values[0] in {0.0, 1.0}:
        bound = stats.wilson_interval(n_units if values[0] else 0, n_units)
        words = f"Wilson on {n_units} clusters: all {len(values)} readings are the same"
        return stats.Estimate(
            float(values[0]), bound.low, bound.high, n_units, bound.level, words, len(values)
        )
    distribution = stats.bootstrap_distribution(values, clusters=clusters, seed=seed)
    return distribution.estimate("bca", fallback=True)
