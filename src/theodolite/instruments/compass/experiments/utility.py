"""Confidence in an answer, from its logits or from a compass, with and without knowledge of the truth.

DAE (knows the truth)     −|peak − θ_true|: the paper's, which needs the boxes that give the answer away
agreement (honest)        −|peak − angle of the model's own answer|, with a σ that needs no target box, and only for maps that
                          were not made for the true answer
max probability           max_c p_c of the options
margin                    z_1st − z_2nd
negative entropy          Σ p_c ln p_c
random                    the same for every answer: ties are counted by their expectation
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.special import softmax, xlogy
from scipy.stats import rankdata

from theodolite import stats
from theodolite.core.errors import UsageError
from theodolite.core.scores import column
from theodolite.core.tables import Cell, Column, Estimate, Table
from theodolite.geometry.directions import EIGHT, Vocabulary
from theodolite.instruments.compass.experiments.framework import (
    EA,
    GRID,
    METHOD,
    TARGET,
    N,
    answer_gap,
    map_names,
)
from theodolite.instruments.compass.formulas.baselines import BOX_ONLY, UNIFORM_MAP, baseline_key, is_baseline
from theodolite.instruments.compass.formulas.dae import Readout, dae
from theodolite.instruments.compass.formulas.projected import MapAngles, ProjectedRun
from theodolite.instruments.compass.formulas.projection import ProjectionOptions
from theodolite.instruments.compass.formulas.resampling import paper_key
from theodolite.instruments.compass.measure import Sample, shown_key
from theodolite.instruments.compass.published import published_notes

HONEST = "honest"
"""The name of the projection that needs no target box."""

Source: TypeAlias = Literal["knows the truth", "honest", "logits", "nothing"]
"""What a confidence is computed from."""


@dataclass(frozen=True, slots=True, eq=False)
class Confidence:
    """One confidence score; larger means more confident."""

    name: str
    source: Source
    where: NDArray[np.bool_]
    """Shape (samples,): which samples have it."""
    values: NDArray[np.float64]
    """Shape (samples that have it,)."""


def honest_options(options: ProjectionOptions) -> ProjectionOptions:
    """Return the same projection with a σ that needs no target box."""
    return replace(options, weight="diagonal") if options.weight == "paper" else options


def all_confidences(
    projected: ProjectedRun, projection: str, *, readout: Readout = "peak", vocabulary: Vocabulary = EIGHT
) -> tuple[Confidence, ...]:
    """Return every confidence, on the samples that all have: rankings are only comparable on the same answers.

    Args:
        projected: With the projection and `HONEST`.
        projection: For DAE.
        readout: Peak or circular mean.
        vocabulary: The angles of the answers.
    """
    return on_common_samples(
        [
            *logit_confidences(projected.samples),
            *compass_confidences(projected, projection, readout=readout, vocabulary=vocabulary),
        ]
    )


def on_common_samples(confidences: Sequence[Confidence]) -> tuple[Confidence, ...]:
    """Return the same confidences on the samples that all have; a confidence without any sample stays empty."""
    usable = [confidence.where for confidence in confidences if confidence.where.any()]
    if not usable:
        return tuple(confidences)
    common = np.logical_and.reduce(usable)
    return tuple(
        replace(confidence, where=common, values=confidence.values[common[confidence.where]])
        if confidence.where.any()
        else confidence
        for confidence in confidences
    )


def logit_confidences(samples: Sequence[Sample]) -> tuple[Confidence, ...]:
    """Return max probability, margin, negative entropy over the options, and a constant."""
    everyone = np.ones(len(samples), bool)
    shares = [softmax(sample.logits) for sample in samples]
    tops = [np.sort(sample.logits)[-2:] for sample in samples]
    scores: tuple[tuple[str, Source, list[float]], ...] = (
        ("max probability", "logits", [float(p.max()) for p in shares]),
        ("margin", "logits", [float(top[1] - top[0]) for top in tops]),
        ("negative entropy", "logits", [float(xlogy(p, p).sum()) for p in shares]),
        ("random", "nothing", [0.0] * len(samples)),
    )
    return tuple(Confidence(name, source, everyone, np.array(values)) for name, source, values in scores)


def compass_confidences(
    projected: ProjectedRun, projection: str, *, readout: Readout = "peak", vocabulary: Vocabulary = EIGHT
) -> tuple[Confidence, ...]:
    """Return DAE of every map and every grid's uniform map, and the honest agreement of maps not made for the true answer.

    Args:
        projected: With the projection and `HONEST`.
        projection: For DAE.
        readout: Peak or circular mean.
        vocabulary: The angles of the answers.
    """
    confidences = []
    keys = (*projected.on_grids(UNIFORM_MAP), *projected.keys)
    answers = np.array([angle_of(s.directions[s.predicted], vocabulary) for s in projected.samples])
    for key in keys:
        angles = projected.angles[projection][key]
        angle, where = readout_angles(angles, readout)
        errors = dae(angle, angles.true_deg)
        confidences.append(Confidence(f"{shown_key(key)} DAE", "knows the truth", where, -errors[where]))
    for key in keys:
        if key.endswith("@gt"):
            continue  # made for the true answer's logit
        angle, where = readout_angles(projected.angles[HONEST][key], readout)
        gaps = stats.circular_distance(angle, answers)
        confidences.append(Confidence(f"{shown_key(key)} agreement", "honest", where, -gaps[where]))
    return tuple(confidences)


def readout_angles(angles: MapAngles, readout: Readout) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Return the angle of the peak or of the circular mean, and which samples have it."""
    if readout == "peak":
        return angles.peak_deg, angles.is_kept
    if readout == "mean":
        return angles.mean_deg, angles.has_mean
    raise UsageError(f"readout must be 'peak' or 'mean', not {readout!r}")


def angle_of(direction: str, vocabulary: Vocabulary = EIGHT) -> float:
    """Return the angle of an answer.

    >>> angle_of("above")
    90.0
    """
    if direction not in vocabulary.angles_deg:
        raise UsageError(
            f"no angle is known for the direction {direction!r}; there are {', '.join(vocabulary.names)}: give a Vocabulary"
        )
    return float(vocabulary.angles_deg[direction])


# Utility of a compass (section 4.5 and Table 14): diagnosing wrong answers, abstaining, and answering in the model's place.


def diagnosis_table(projected: ProjectedRun, projection: str, *, model: str, seed: int) -> Table:
    """Test whether a small error goes with a right answer: one row per map, and one for the uniform map of each grid.

    Args:
        projected: The samples.
        projection: One of its projections.
        model: Its name, to find the paper's numbers.
        seed: Seed of the bootstrap.
    """
    rows = []
    for key in (*projected.on_grids(UNIFORM_MAP), *projected.keys):
        angles = projected.angles[projection][key]
        kept, right = angles.kept, projected.is_correct[angles.is_kept]
        excess = None
        if not is_baseline(key):
            excess = excess_auc_of(-kept.error_deg, -kept.uniform_error_deg, right, kept.clusters, seed)
        rows.append(
            [
                *map_names(projected, key),
                auc_of(-kept.error_deg, right, kept.clusters, seed=seed),
                excess,
                kept[right].mean_error(),
                kept[~right].mean_error(),
                answer_gap(kept.error_deg, right, kept.clusters, seed=seed),
                int(right.sum()),
                int((~right).sum()),
            ]
        )
    return Table.of(
        "compass.diagnosis",
        f"Does a small error go with a right answer? {projection.capitalize()} projection",
        [
            METHOD,
            TARGET,
            GRID,
            column("compass.auc"),
            column("compass.excess_auc", title="− uniform map's"),
            column("compass.dae", "correct_dae", "right: DAE"),
            column("compass.dae", "incorrect_dae", "wrong: DAE"),
            column("compass.answer_gap", "gap"),
            Column("n_correct", "n right", "count"),
            Column("n_incorrect", "n wrong", "count"),
        ],
        rows,
        published_notes(model, projected.sources, "diagnosis", _papers(projected)),
    )


def _papers(projected: ProjectedRun) -> tuple[str, ...]:
    """Return the paper's names of the maps."""
    return tuple(shown_key(paper_key(key, projected.keys)) for key in projected.keys)


def selective_table(
    projected: ProjectedRun,
    confidences: Sequence[Confidence],
    *,
    coverages: Sequence[float],
    model: str,
    seed: int,
) -> Table:
    """Score answering only at high confidence: one row per confidence, on the samples that have it.

    Args:
        projected: The samples.
        confidences: Scores of their answers.
        coverages: Shares of answers to keep.
        model: Its name, to find the paper's numbers.
        seed: Seed of the bootstrap.
    """
    rows: list[list[Cell]] = []
    for confidence in confidences:
        right, names = projected.is_correct[confidence.where], projected.clusters[confidence.where].tolist()
        can = len(set(names)) > 1
        how: dict[str, Any] = {"clusters": names, "seed": seed}
        at: list[Cell] = [
            stats.accuracy_at_coverage(confidence.values, right, coverage=coverage, **how) if can else None
            for coverage in coverages
        ]
        rows.append(
            [
                confidence.name,
                confidence.source,
                stats.clustered_mean(right.astype(float), names or None),
                *at,
                stats.aurc(confidence.values, right, **how) if can else None,
                stats.excess_aurc(confidence.values, right, **how) if can else None,
                len(names),
            ]
        )
    notes = published_notes(
        model, projected.sources, "selective", tuple(confidence.name for confidence in confidences)
    )
    lost = len(projected.samples) - int(confidences[0].where.sum())
    if lost:
        notes.append(f"Left out: {lost} pairs without a direction for every map.")
    return Table.of(
        "compass.selective",
        "Answering only where confidence is high (lower AURC is better)",
        [
            Column("score", "confidence"),
            Column("source", "from"),
            column("compass.right", "accuracy", "right of all"),
            *(
                column("compass.accuracy_at", f"at_{coverage:g}", f"right at {coverage:.0%}")
                for coverage in coverages
            ),
            column("compass.aurc"),
            column("compass.excess_aurc"),
            N,
        ],
        rows,
        notes,
    )


def risk_curves(projected: ProjectedRun, confidences: Sequence[Confidence]) -> dict[str, stats.RiskCoverage]:
    """Return the risk–coverage curve of every confidence."""
    return {
        confidence.name: stats.risk_coverage(confidence.values, projected.is_correct[confidence.where])
        for confidence in confidences
        if confidence.where.any()
    }


def rerank_table(
    projected: ProjectedRun,
    projection: str,
    *,
    readout: Readout = "peak",
    vocabulary: Vocabulary = EIGHT,
    model: str = "",
    seed: int,
) -> Table:
    """Score the compass as a substitute for the model's answer: the offered direction nearest to its readout.

    Args:
        projected: The samples.
        projection: `HONEST` needs no target box; the paper's own σ does.
        readout: Peak or circular mean.
        vocabulary: The angles of the answers.
        model: Its name, to find the paper's numbers.
        seed: Seed of the sign-flip test.
    """
    keys = (*projected.on_grids(BOX_ONLY), *projected.on_grids(UNIFORM_MAP), *projected.keys)
    answers = {key: _answers(projected, key, projection, readout, vocabulary) for key in keys}
    rows = []
    for key in keys:
        layout = answers[baseline_key(UNIFORM_MAP, projected.grid_of(key))]
        rows.append(_rerank_row(projected, key, projection, answers[key], layout, seed))
    tested = [(row, row[7]) for row in rows if row[3] == "answer" and isinstance(row[7], float)]
    if tested:
        for (row, _), p in zip(tested, stats.holm([p for _, p in tested]), strict=True):
            row[8] = float(p)
    is_honest = projection == HONEST
    return Table.of(
        "compass.rerank" if is_honest else f"compass.rerank_{projection}",
        "The compass as the answer"
        + (
            ", σ without the target's box"
            if is_honest
            else f", {projection} projection: its σ uses the target's box"
        ),
        [
            METHOD,
            TARGET,
            GRID,
            Column("role", "role"),
            column("compass.rerank_accuracy", "accuracy", "right"),
            column("compass.right", "model_accuracy", "model"),
            column("compass.rerank_gain", "gain", "− model"),
            Column("p", "p", "p"),
            Column("p_holm", "p (Holm)", "p"),
            column("compass.rerank_excess", "excess", "− uniform map"),
            EA,
            N,
        ],
        rows,
        [
            *published_notes(model, projected.sources, "rerank", _papers(projected)),
            "upper bound: maps made for the true answer. EA: what CREG reports as re-ranking accuracy.",
            "p: signs flipped by picture; Holm over the rows that answer.",
        ],
    )


def _answers(
    projected: ProjectedRun, key: str, projection: str, readout: Readout, vocabulary: Vocabulary
) -> NDArray[np.int64]:
    """Return for each sample 1 if the compass answers right, 0 if wrong, −1 if it has no direction."""
    angles, has = readout_angles(projected.angles[projection][key], readout)
    answers = np.full(len(projected.samples), -1)
    for i in np.flatnonzero(has):
        sample = projected.samples[i]
        offered = Vocabulary({name: angle_of(name, vocabulary) for name in sample.directions})
        answers[i] = offered.nearest(float(angles[i])).name == sample.direction
    return answers


def _rerank_row(
    projected: ProjectedRun,
    key: str,
    projection: str,
    own: NDArray[np.int64],
    layout: NDArray[np.int64],
    seed: int,
) -> list[Cell]:
    where = (own >= 0) & (layout >= 0)
    names = projected.clusters[where]
    right, model = own[where].astype(float), projected.is_correct[where].astype(float)
    p = None
    if len(np.unique(names)) > 1:
        p = stats.sign_flip_test(right, model, clusters=names, seed=seed).p_value
    method, target, grid = map_names(projected, key)
    is_uniform = method == UNIFORM_MAP
    return [
        method,
        target,
        grid,
        "baseline" if is_baseline(key) else "upper bound" if target == "gt" else "answer",
        stats.clustered_mean(right, names),
        stats.clustered_mean(model, names),
        stats.clustered_difference(right, model, names),
        p,
        None,
        None if is_uniform else stats.clustered_difference(right, layout[where].astype(float), names),
        projected.angles[projection][key][where].edge_accuracy(),
        len(names),
    ]


def auc_of(
    scores: NDArray[np.float64], right: NDArray[np.bool_], clusters: NDArray[np.str_], *, seed: int
) -> Estimate | None:
    """Compute ROC-AUC of a score for the answer being right; None if answers are all alike or on too few pictures.

    Args:
        scores: One score per answer.
        right: Whether each answer is right.
        clusters: The picture of each answer.
        seed: Seed of the bootstrap.
    """
    if len(np.unique(clusters)) < 2 or not 0 < right.sum() < right.size:
        return None
    try:
        return stats.roc_auc(scores, right, clusters=clusters, seed=seed)
    except UsageError:  # undefined on too many resamples
        return None


def excess_auc_of(
    scores: NDArray[np.float64],
    uniform: NDArray[np.float64],
    right: NDArray[np.bool_],
    clusters: NDArray[np.str_],
    seed: int,
) -> Estimate | None:
    """Compute AUC of one score minus that of another, on the same samples.

    Args:
        scores: One score per answer.
        uniform: The score to compare with.
        right: Whether each answer is right.
        clusters: The picture of each answer.
        seed: Seed of the bootstrap.
    """
    if len(np.unique(clusters)) < 2 or not 0 < right.sum() < right.size:
        return None
    statistic = stats.BatchStatistic(lambda x, u, y: _areas(x, y) - _areas(u, y), form="rows")
    distribution = stats.bootstrap_distribution(
        (scores, uniform, right.astype(np.float64)), statistic, clusters=clusters, jackknife=False, seed=seed
    )
    return distribution.percentile(bounds=(-1.0, 1.0))


def _areas(scores: NDArray[np.float64], right: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return AUC of each row: (R₊ − m(m+1)/2) / mn with R₊ the rank sum of the m right answers; NaN without both kinds."""
    positive = right.sum(axis=-1)
    negative = right.shape[-1] - positive
    rank_sum = (rankdata(scores, axis=-1) * right).sum(axis=-1)
    return np.asarray((rank_sum - positive * (positive + 1) / 2) / (positive * negative))
