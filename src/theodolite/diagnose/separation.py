"""How well each metric separates the twins, for orientation.

The means of the twins are shown beside those of other models. They do not place other models: how much relevance a method
puts somewhere, for instance, depends on depth, width and the number of tokens. The verdict rests on pairs.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from theodolite import stats
from theodolite.core.errors import UsageError
from theodolite.core.scores import Metric
from theodolite.diagnose.record import Figure, MetricResult, ModelMean
from theodolite.diagnose.table import Column, ScoreTable

__all__ = ["MIN_CLUSTERS", "Twins", "metric_results"]

MIN_CLUSTERS = 12
"""With fewer clusters nothing is compared, since intervals from so few are not reliable."""
MIN_SEPARATION = 0.75
"""A metric separates the twins if the interval of its AUC lies above this. A convention."""


@dataclass(frozen=True, slots=True)
class Twins:
    """The names of the two twins in a table."""

    grounded: str = "pocket:grounded"
    shortcut: str = "pocket:shortcut"

    def __iter__(self) -> Iterator[str]:
        return iter((self.grounded, self.shortcut))


def metric_results(
    table: ScoreTable,
    metrics: Sequence[Metric],
    models: Sequence[str],
    unscored: Mapping[str, Mapping[Column, str]],
    *,
    twins: Twins,
    seed: int,
) -> list[MetricResult]:
    """Compute the means of every metric on every split, and how well it separates the twins.

    Args:
        table: The scores of the models and the twins.
        metrics: The metrics of the instrument.
        models: The models to show.
        unscored: By model, the metrics on splits without any score, each with the reason.
        twins: The names of the twins in the table.
        seed: Seed of the bootstrap.
    """
    by_key = {metric.key: metric for metric in metrics}
    known = {*table.columns, *(column for found in unscored.values() for column in found)}
    unknown = sorted({key for key, _ in known} - set(by_key))
    if unknown:
        raise UsageError(f"there are scores of {unknown[0]!r}, which is not a known metric")
    order = {metric.key: number for number, metric in enumerate(metrics)}
    columns = sorted(known, key=lambda column: (order[column[0]], column[1]))
    results = []
    for column in columns:
        grounded, shortcut = (table.mean(twin, column) for twin in twins)
        separation, why = twin_separation(table, column, by_key[column[0]], twins=twins, seed=seed)
        results.append(
            MetricResult(
                key=column[0],
                split=column[1],
                grounded=_figure(grounded),
                shortcut=_figure(shortcut),
                separation=_figure(separation),
                separates=not why,
                why_not=why,
                models=[_mean(table, model, column, unscored.get(model, {})) for model in models],
            )
        )
    return results


def twin_separation(
    table: ScoreTable, column: Column, metric: Metric, *, twins: Twins, seed: int
) -> tuple[stats.Estimate | None, str]:
    """Compute the AUC of the grounded twin's items against the shortcut twin's, and why it does not separate them.

    The AUC is in the direction of the metric. The reason is empty if the metric separates the twins.
    """
    found = [table.column(twin, column) for twin in twins]
    fewest = min(len(set(clusters)) for _, clusters in found)
    if not fewest:
        return None, "the twins have no scores on this split"
    if fewest < MIN_CLUSTERS:
        return None, f"too little data ({fewest} clusters; at least {MIN_CLUSTERS} are needed)"
    sign = 1.0 if metric.higher_is_grounded else -1.0
    separation = stats.roc_auc(
        sign * np.concatenate([values for values, _ in found]),
        np.repeat([1, 0], [len(values) for values, _ in found]),
        clusters=[cluster for _, clusters in found for cluster in clusters],
        seed=seed,
    )
    if separation.low >= MIN_SEPARATION:
        return separation, ""
    told = f"{separation.value:.2f} [{separation.low:.2f}, {separation.high:.2f}]"
    return separation, f"it does not separate the twins: AUC {told}"


def _mean(table: ScoreTable, model: str, column: Column, unscored: Mapping[Column, str]) -> ModelMean:
    mean = table.mean(model, column)
    if mean is not None:
        return ModelMean(model=model, figure=Figure.of(mean))
    why = "its scores come from one picture, scene or episode, or do not vary, so there is no interval"
    if not table.n_clusters(model, column):
        why = unscored.get(column, "the model has no score for it")
    return ModelMean(model=model, figure=None, why_not=why)


def _figure(estimate: stats.Estimate | None) -> Figure | None:
    return None if estimate is None else Figure.of(estimate)
