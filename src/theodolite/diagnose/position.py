"""The position of a model between two models of known reasoning.

With x, g and s the means of a metric (macro means if the metric uses them) over the items of the model, of the grounded
twin and of the shortcut twin::

    position = (x − s) / (g − s)

It is 0 for a model with the mean of the shortcut twin and 1 for one with the mean of the grounded twin, whether high or
low values mean grounded. The bootstrap draws the same clusters for all three models, so that numerator and denominator
vary together. A model that behaves like the grounded twin on a fraction λ of the items and like the shortcut twin on the
others has position λ.

The position of an instrument is the median of the positions over its calibrated metrics, computed in every resample. The
median is used because positions on metrics with close twins have large errors.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from theodolite import stats
from theodolite.core.errors import UsageError
from theodolite.core.scores import Metric
from theodolite.diagnose.table import Column, ScoreTable

MIN_CLUSTERS = 12
"""With fewer clusters there is no verdict, since intervals from so few are not reliable."""
MIN_SEPARATION = 0.75
"""A metric places other models if the interval of its AUC between the twins lies above this. A convention: at 0.75 the means
of the twins on a metric of 0 and 1 differ by half its range, so the error of a position is at most twice that of the
metric."""

_CONSTANT = 1e-12
"""Means of the twins that are closer than this count as equal."""


@dataclass(frozen=True, slots=True)
class Twins:
    """The names of the two twins in a table."""

    grounded: str = "pocket:grounded"
    shortcut: str = "pocket:shortcut"

    def __iter__(self) -> Iterator[str]:
        return iter((self.grounded, self.shortcut))


@dataclass(frozen=True, slots=True)
class Calibration:
    """One metric on the two twins."""

    column: Column
    grounded: stats.Estimate | None
    shortcut: stats.Estimate | None
    separation: stats.Estimate | None
    """AUC of the items of the grounded twin against those of the shortcut twin, in the direction of the metric."""
    why_not: str = ""
    """Why it cannot place other models. Empty if it can."""

    @property
    def is_calibrated(self) -> bool:
        """True if it can place other models."""
        return not self.why_not


def calibrate(table: ScoreTable, column: Column, metric: Metric, *, twins: Twins, seed: int) -> Calibration:
    """Compute how well a metric separates the twins on one split."""
    found = [table.column(twin, column) for twin in twins]
    means = [table.mean(twin, column) for twin in twins]
    if any(mean is None for mean in means):
        why = "a twin's scores do not vary, so there is no interval"
        if not all(clusters for _, clusters in found):
            why = "the twins have no scores on this split"
        return Calibration(column, means[0], means[1], None, why)
    fewest = min(len(set(clusters)) for _, clusters in found)
    if fewest < MIN_CLUSTERS:
        why = f"no verdict: too little data ({fewest} clusters; at least {MIN_CLUSTERS} are needed)"
        return Calibration(column, means[0], means[1], None, why)
    sign = 1.0 if metric.higher_is_grounded else -1.0
    separation = stats.roc_auc(
        sign * np.concatenate([values for values, _ in found]),
        np.repeat([1, 0], [len(values) for values, _ in found]),
        clusters=[cluster for _, clusters in found for cluster in clusters],
        seed=seed,
    )
    why = ""
    if separation.low < MIN_SEPARATION:
        why = f"it does not separate the twins: AUC {_interval(separation)}"
    return Calibration(column, means[0], means[1], separation, why)


def position(table: ScoreTable, model: str, column: Column, *, twins: Twins, seed: int) -> stats.Estimate:
    """Compute the position on one metric and split, with its interval.

    Raises:
        UsageError: If one of the three models has no scores, or if the twins have the same mean.
    """
    return _estimate(table, model, [column], twins, seed)


def median_position(
    table: ScoreTable, model: str, columns: Sequence[Column], *, twins: Twins, seed: int
) -> stats.Estimate:
    """Compute the median of the positions over several metrics, with clusters resampled jointly.

    Raises:
        UsageError: As `position`.
    """
    if not columns:
        raise UsageError("a median position needs at least one calibrated metric")
    return _estimate(table, model, list(columns), twins, seed)


def _estimate(
    table: ScoreTable, model: str, columns: list[Column], twins: Twins, seed: int
) -> stats.Estimate:
    numbers = [table.columns.index(column) for column in columns]
    names = (model, twins.grounded, twins.shortcut)
    present = [table.present[name][:, numbers] for name in names]
    missing = [column for k, column in enumerate(columns) if not all(each[:, k].any() for each in present)]
    if missing:
        raise UsageError(f"{model} or a twin has no score for {missing[0][0]} on {missing[0][1]!r}")
    rows = np.flatnonzero(np.any([each.any(axis=1) for each in present], axis=0))
    arrays = [table.values[name][rows][:, numbers] for name in names]
    masks = [each[rows].astype(np.float64) for each in present]
    macro = [k for k, (key, _) in enumerate(columns) if table.metrics[key].average == "groups"]
    distribution = stats.bootstrap_distribution(
        (*arrays, *masks, _membership([table.groups[row] for row in rows])),
        stats.BatchStatistic(partial(_positions, macro=macro), form="weights"),
        clusters=[table.clusters[row] for row in rows],
        seed=seed,
    )
    bounds = (min(0.0, distribution.value), max(1.0, distribution.value))
    return distribution.estimate("bca", bounds=bounds, fallback=True)


def _membership(groups: Sequence[str]) -> NDArray[np.float64]:
    """Return an indicator matrix of shape (items, groups)."""
    names = {name: number for number, name in enumerate(dict.fromkeys(groups))}
    member = np.zeros((len(groups), len(names)))
    member[np.arange(len(groups)), [names[group] for group in groups]] = 1.0
    return member


def _positions(*given: NDArray[np.float64], macro: Sequence[int]) -> NDArray[np.float64]:
    """Compute the median over metrics of (x − s)/(g − s) for each row of weights. NaN if the twins have equal means.

    Args:
        given: The values of the three models, their masks, the membership of items in groups, and the weights.
        macro: The numbers of the metrics with a macro mean.
    """
    *arrays, member, weights = given
    x, g, s = (
        _means(values, mask, member, weights, macro)
        for values, mask in zip(arrays[:3], arrays[3:], strict=True)
    )
    gap = g - s
    with np.errstate(divide="ignore", invalid="ignore"):
        each = np.where(np.abs(gap) > _CONSTANT, (x - s) / gap, np.nan)
    return np.asarray(np.median(each, axis=1))  # NaN if any is


def _means(
    values: NDArray[np.float64],
    mask: NDArray[np.float64],
    member: NDArray[np.float64],
    weights: NDArray[np.float64],
    macro: Sequence[int],
) -> NDArray[np.float64]:
    """Compute the mean of every metric, shape (resamples, metrics)."""
    means = (weights @ (values * mask)) / (weights @ mask)
    for number in macro:
        own = member * mask[:, [number]]
        counts = weights @ own
        of_groups = np.divide(
            weights @ (values[:, [number]] * own), counts, out=np.zeros_like(counts), where=counts > 0
        )
        means[:, number] = of_groups.sum(axis=1) / (counts > 0).sum(axis=1)
    return np.asarray(means)


def _interval(estimate: stats.Estimate) -> str:
    return f"{estimate.value:.2f} [{estimate.low:.2f}, {estimate.high:.2f}]"
