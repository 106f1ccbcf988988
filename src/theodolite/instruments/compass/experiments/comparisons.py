"""Comparisons beside the main table: whose logit is explained, which direction, right and wrong answers, peak and mean."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from theodolite import stats
from theodolite.core.estimates import Estimate
from theodolite.core.tables import Cell, Column, Table
from theodolite.instruments.compass.experiments.framework import DAE, EA, EXCESS, METHOD, TARGET, N
from theodolite.instruments.compass.formulas.edge_accuracy import edge_hit
from theodolite.instruments.compass.formulas.projected import DEGREES, ProjectedRun
from theodolite.instruments.compass.measure import map_key, split_key


def targets_table(projected: ProjectedRun, projection: str) -> Table:
    """Maps of the true answer's logit against maps of the given answer's, on the same samples (section 4.2)."""
    angles = projected.angles[projection]
    rows = []
    for method in dict.fromkeys(split_key(key)[0] for key in projected.keys):
        pair = [angles.get(map_key(method, target)) for target in ("gt", "pred")]
        if pair[0] is None or pair[1] is None:
            continue
        both = pair[0].is_kept & pair[1].is_kept
        gt, pred = pair[0][both], pair[1][both]
        same = (gt.peak_deg == pred.peak_deg).astype(float)
        rows.append(
            [
                method,
                *(f() for each in (gt, pred) for f in (each.mean_error, each.excess, each.edge_accuracy)),
                gt.difference(pred),
                stats.clustered_mean(same, gt.clusters),
                len(gt),
            ]
        )
    return Table.of(
        f"compass.targets_{projection}",
        f"Whose logit is explained, {projection} projection",
        [
            METHOD,
            *_prefixed("gt"),
            *_prefixed("pred"),
            Column("difference", "gt − pred", "degrees", "compass.target_difference", signed=True),
            Column("same_peak", "same peak", "share", "compass.same_peak"),
            N,
        ],
        rows,
    )


def directions_tables(projected: ProjectedRun, projection: str) -> list[Table]:
    """By true direction: how often the answer is right, and how well each method points (Figure 5)."""
    directions = np.array([sample.direction for sample in projected.samples])
    offered = dict.fromkeys(name for sample in projected.samples for name in sample.directions)
    answers: list[list[Cell]] = []
    maps: list[list[Cell]] = []
    for direction in (name for name in offered if (directions == name).any()):
        own = directions == direction
        right = projected.is_correct[own].astype(float)
        answers.append([direction, int(own.sum()), stats.clustered_mean(right, projected.clusters[own])])
        for key in projected.keys:
            kept = projected.angles[projection][key][own].kept
            maps.append(
                [
                    direction,
                    *split_key(key),
                    kept.mean_error(),
                    kept.excess(),
                    stats.clustered_mean(kept.uniform_error_deg, kept.clusters, bounds=DEGREES),
                    kept.edge_accuracy(),
                    len(kept),
                ]
            )
    direction_column = Column("direction", "direction")
    return [
        Table.of(
            f"compass.directions_{projection}",
            f"Answers by true direction, {projection} projection",
            [
                direction_column,
                N,
                Column("accuracy", "answers right", "share", "compass.accuracy"),
            ],
            answers,
        ),
        Table.of(
            f"compass.direction_maps_{projection}",
            f"Maps by true direction, {projection} projection",
            [
                direction_column,
                METHOD,
                TARGET,
                DAE,
                EXCESS,
                Column("uniform_dae", "uniform map: DAE", "degrees", "compass.dae"),
                EA,
                N,
            ],
            maps,
        ),
    ]


def answers_table(projected: ProjectedRun, projection: str, *, seed: int) -> Table:
    """Each map on samples with a right and with a wrong answer (Table 5)."""
    rows = []
    for key in projected.keys:
        angles = projected.angles[projection][key]
        kept, right = angles.kept, projected.is_correct[angles.is_kept]
        sides = kept[right], kept[~right]
        rows.append(
            [
                *split_key(key),
                *(f() for each in sides for f in (each.mean_error, each.excess, each.edge_accuracy)),
                answer_gap(kept.error_deg, right, kept.clusters, seed=seed),
                answer_gap(kept.uniform_error_deg, right, kept.clusters, seed=seed),
                len(sides[0]),
                len(sides[1]),
            ]
        )
    return Table.of(
        f"compass.answers_{projection}",
        f"Right and wrong answers, {projection} projection",
        [
            METHOD,
            TARGET,
            *_prefixed("correct", "right"),
            *_prefixed("incorrect", "wrong"),
            Column("gap", "wrong − right", "degrees", "compass.answer_gap", signed=True),
            Column("uniform_gap", "of the uniform map", "degrees", "compass.uniform_gap", signed=True),
            Column("n_correct", "n right", "count"),
            Column("n_incorrect", "n wrong", "count"),
        ],
        rows,
    )


def readouts_table(projected: ProjectedRun, projection: str, *, seed: int) -> Table:
    """Peak against circular mean, on samples that have both (A.1)."""
    rows = []
    for key in projected.keys:
        angles = projected.angles[projection][key]
        both = angles[angles.has_mean]
        peak, mean, clusters = both.error_deg, both.mean_error_deg, both.clusters
        rows.append(
            [
                *split_key(key),
                both.mean_error(),
                both.excess(),
                both.edge_accuracy(),
                stats.clustered_mean(mean, clusters, bounds=DEGREES),
                stats.clustered_mean(edge_hit(mean).astype(float), clusters),
                stats.clustered_difference(mean, peak, clusters, bounds=DEGREES),
                _correlation(peak, mean, clusters, seed),
                len(both),
            ]
        )
    return Table.of(
        f"compass.readouts_{projection}",
        f"Peak against circular mean, {projection} projection",
        [
            METHOD,
            TARGET,
            *_prefixed("peak"),
            Column("mean_dae", "mean: DAE", "degrees", "compass.mean_dae"),
            Column("mean_edge_accuracy", "EA", "share", "compass.ea"),
            Column("difference", "mean − peak", "degrees", "compass.readout_difference", signed=True),
            Column("correlation", "r", "correlation", "compass.readout_correlation"),
            N,
        ],
        rows,
    )


def answer_gap(
    values: ArrayLike, is_right: NDArray[np.bool_], clusters: ArrayLike, *, seed: int
) -> Estimate | None:
    """Mean where answers are wrong − mean where they are right, by bootstrap over clusters.

    The two groups share clusters, so this is neither a paired difference nor a difference of independent means. None if
    all answers are right or all are wrong, or if too many resamples lack one group.

    >>> right = np.array([False, False, True, False, True, True, False, True])
    >>> print(answer_gap([9.0, 7.0, 2.0, 6.0, 4.0, 3.0, 8.0, 1.0], right, list("aabbccdd"), seed=1))
    5.000 [3.000, 7.000] (n=4, 8 items)
    """
    x, is_wrong, names = np.asarray(values, np.float64), (~is_right).astype(float), np.asarray(clusters)
    if len(np.unique(names)) < 2 or not 0 < is_wrong.sum() < is_wrong.size:
        return None
    found = stats.bootstrap_distribution(
        (x, is_wrong), stats.BatchStatistic(_gap, form="weights"), clusters=names, seed=seed
    )
    reach = float(np.ptp(x))
    return found.percentile(bounds=(-reach, reach)) if reach else None


def _gap(
    values: NDArray[np.float64], is_first: NDArray[np.float64], weights: NDArray[np.float64]
) -> NDArray[np.float64]:
    first, second = weights * is_first, weights * (1 - is_first)
    return np.asarray(first @ values / first.sum(axis=1) - second @ values / second.sum(axis=1))


def _correlation(
    first: NDArray[np.float64], second: NDArray[np.float64], clusters: NDArray[np.str_], seed: int
) -> Estimate | None:
    """Pearson's r; None if one of the two is constant, or for fewer than three pictures."""
    if len(np.unique(clusters)) < 3 or np.ptp(first) == 0 or np.ptp(second) == 0:
        return None
    return stats.pearson(first, second, clusters=clusters, seed=seed)


def _prefixed(name: str, title: str = "") -> list[Column]:
    return [
        Column(f"{name}_dae", f"{title or name}: DAE", "degrees", "compass.dae"),
        Column(f"{name}_excess_dae", "− uniform", "degrees", "compass.excess_dae", signed=True),
        Column(f"{name}_edge_accuracy", "EA", "share", "compass.ea"),
    ]
