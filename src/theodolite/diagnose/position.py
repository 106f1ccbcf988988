"""Where a model stands between two models of known reasoning.

With x, g and s the means of a metric (macro means where the metric has them) over the items of the model, of the grounded
twin and of the shortcut twin::

    position = (x − s) / (g − s)

It is 0 for a model that reads like the shortcut twin and 1 for one that reads like the grounded twin, whichever way the
metric points. Whole clusters of items are resampled, the same for all three models, so that numerator and denominator vary
together; a model that answers like the one twin on a share λ of the items and like the other on the rest has the position λ.

An instrument's position is the median of the positions over its calibrated metrics, computed anew on every resample: the
median, because a metric on which the twins are close magnifies whatever a stranger does.
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

LEAST_UNITS = 12
"""Fewer pictures, scenes or episodes give no verdict: an interval from so few is not to be trusted."""
LEAST_SEPARATION = 0.75
"""The lower end of the interval of the AUC between the twins from which on a metric places other models. A convention: at
0.75 a metric that is 0 or 1 differs by half its range between the twins, so that a position's error is at most twice the
metric's."""

_CONSTANT = 1e-12
"""Twins whose means are closer than this coincide."""
"""An interval of a position that is narrower than this comes from resamples that do not vary. Shipped readings have eight
digits, so that the model's own and the twins' differ beyond them where they are the same."""


@dataclass(frozen=True, slots=True)
class Twins:
    """The names under which the two twins stand in a table."""

    grounded: str = "pocket:grounded"
    shortcut: str = "pocket:shortcut"

    def __iter__(self) -> Iterator[str]:
        return iter((self.grounded, self.shortcut))


@dataclass(frozen=True, slots=True)
class Calibration:
    """How a metric lies on the two twins."""

    column: Column
    grounded: stats.Estimate | None
    shortcut: stats.Estimate | None
    separation: stats.Estimate | None
    """AUC of telling the grounded twin's items from the shortcut twin's, in the direction the metric promises."""
    why_not: str = ""
    """Why it cannot place other models; empty if it can."""

    @property
    def is_calibrated(self) -> bool:
        """Whether it can place other models."""
        return not self.why_not


def calibrate(table: ScoreTable, column: Column, metric: Metric, *, twins: Twins, seed: int) -> Calibration:
    """Whether a metric tells the twins apart, on one split."""
    found = [table.column(twin, column) for twin in twins]
    means = [table.mean(twin, column) for twin in twins]
    if any(mean is None for mean in means):
        why = "a twin's scores do not vary, so there is no interval"
        if not all(clusters for _, clusters in found):
            why = "the twins have no score of it on this split"
        return Calibration(column, means[0], means[1], None, why)
    fewest = min(len(set(clusters)) for _, clusters in found)
    if fewest < LEAST_UNITS:
        why = f"no verdict: too little data ({fewest} units; at least {LEAST_UNITS} are needed)"
        return Calibration(column, means[0], means[1], None, why)
    sign = 1.0 if metric.higher_is_grounded else -1.0
    separation = stats.roc_auc(
        sign * np.concatenate([values for values, _ in found]),
        np.repeat([1, 0], [len(values) for values, _ in found]),
        clusters=[cluster for _, clusters in found for cluster in clusters],
        seed=seed,
    )
    why = ""
    if separation.low < LEAST_SEPARATION:
        why = f"it does not tell the twins apart: AUC {_interval(separation)}"
    return Calibration(column, means[0], means[1], separation, why)


def position(table: ScoreTable, model: str, column: Column, *, twins: Twins, seed: int) -> stats.Estimate:
    """(x − s)/(g − s) on one metric and split, with its interval.

    Raises:
        UsageError: A score is missing of one of the three, or the twins have the same mean.
    """
    return _estimate(table, model, [column], twins, seed)


def median_position(
    table: ScoreTable, model: str, columns: Sequence[Column], *, twins: Twins, seed: int
) -> stats.Estimate:
    """The median of the positions over several metrics, with items resampled jointly.

    Raises:
        UsageError: as `position`.
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
    lacking = [column for k, column in enumerate(columns) if not all(each[:, k].any() for each in present)]
    if lacking:
        raise UsageError(f"{model} or a twin has no score of {lacking[0][0]} on {lacking[0][1]!r}")
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
    """Shape (items, groups): 1 where an item is of a group."""
    names = {name: number for number, name in enumerate(dict.fromkeys(groups))}
    member = np.zeros((len(groups), len(names)))
    member[np.arange(len(groups)), [names[group] for group in groups]] = 1.0
    return member


def _positions(*given: NDArray[np.float64], macro: Sequence[int]) -> NDArray[np.float64]:
    """The median over metrics of (x − s)/(g − s), one per row of weights; NaN where the twins coincide.

    Args:
        given: The values of the three models, where each has a value, the groups of the items, and the weights.
        macro: The numbers of the metrics whose mean is over groups.
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
    """The mean of every metric, shape (resamples, metrics)."""
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
