"""What a compass is good for: telling right answers from wrong ones, abstaining, and answering in the model's place."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata

from theodolite import stats
from theodolite.core.errors import UsageError
from theodolite.instruments.compass.data.directions import EIGHT, Vocabulary
from theodolite.instruments.compass.estimates import gap_figure, mean_figure, paired_figure, share_figure
from theodolite.instruments.compass.experiments.confidence import Confidence, Readout, Source, angle_of
from theodolite.instruments.compass.experiments.framework import Figure, split_key
from theodolite.instruments.compass.formulas.projected import (
    BOX_ONLY,
    CONTROLS,
    UNIFORM_MAP,
    Projected,
    Readings,
)


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """Whether a small error goes with a right answer (section 4.5)."""

    method: str
    target: str
    n_correct: int
    n_incorrect: int
    auc: Figure
    """Of −DAE for correctness; None where right or wrong answers are on too few pictures."""
    excess_auc: Figure
    """AUC minus that of the uniform map's −DAE, on the same samples."""
    correct_dae: Figure
    incorrect_dae: Figure
    gap: Figure
    """DAE where wrong − DAE where right."""


@dataclass(frozen=True, slots=True)
class SelectiveRow:
    """Answering only where one is sure (Table 14)."""

    score: str
    source: Source
    n: int
    accuracy: Figure
    """Of all answers that have the score."""
    accuracy_at: Mapping[str, Figure]
    """Coverage -> accuracy of that share of the answers."""
    aurc: Figure
    excess_aurc: Figure


@dataclass(frozen=True, slots=True)
class RerankRow:
    """The compass answering in the model's place: the direction that its readout is nearest to."""

    method: str
    target: str
    role: Literal["answer", "upper bound", "control"]
    """``upper bound``: the map was made for the true answer's logit. ``control``: no model was asked."""
    n: int
    model_accuracy: Figure
    accuracy: Figure
    """Share of samples whose nearest offered direction is the true answer."""
    edge_accuracy: Figure
    """EA: what the paper reports as the accuracy of re-ranking."""
    gain: Figure
    """Accuracy − the model's, paired; its p is that of flipping signs picture by picture."""
    p_holm: float | None
    """The same p, corrected for all rows that answer."""
    excess: Figure
    """Accuracy − that of the uniform map, paired."""


def diagnose_answers(projected: Projected, projection: str, *, seed: int) -> tuple[Diagnosis, ...]:
    """One row per method and target, and one for the uniform map."""
    found = []
    for key in (UNIFORM_MAP, *projected.keys):
        readings = projected.readings[projection][key]
        where = readings.is_kept
        kept, right = readings[where], projected.is_correct[where]
        names = projected.clusters[where]
        found.append(
            Diagnosis(
                *split_key(key),
                n_correct=int(right.sum()),
                n_incorrect=int((~right).sum()),
                auc=_auc(-kept.dae_deg, right, names.tolist(), seed),
                excess_auc=None
                if key == UNIFORM_MAP
                else _excess_auc(-kept.dae_deg, -kept.uniform_dae_deg, right, names.tolist(), seed),
                correct_dae=mean_figure(kept.dae_deg[right], names[right].tolist(), seed=seed),
                incorrect_dae=mean_figure(kept.dae_deg[~right], names[~right].tolist(), seed=seed),
                gap=gap_figure(kept.dae_deg, ~right, names.tolist(), seed=seed),
            )
        )
    return tuple(found)


def selective_table(
    projected: Projected, confidences: Iterable[Confidence], *, coverages: Sequence[float], seed: int
) -> tuple[SelectiveRow, ...]:
    """One row per confidence, on the samples that it is given for."""
    rows = []
    for each in confidences:
        right, names = projected.is_correct[each.where], projected.clusters[each.where].tolist()
        can = len(set(names)) > 1
        how: dict[str, Any] = {"clusters": names, "seed": seed}
        rows.append(
            SelectiveRow(
                each.name,
                each.source,
                len(names),
                accuracy=share_figure(right, names, seed=seed),
                accuracy_at={
                    f"{coverage:g}": stats.accuracy_at_coverage(each.values, right, coverage=coverage, **how)
                    if can
                    else None
                    for coverage in coverages
                },
                aurc=stats.aurc(each.values, right, **how) if can else None,
                excess_aurc=stats.excess_aurc(each.values, right, **how) if can else None,
            )
        )
    return tuple(rows)


def risk_coverage_curves(
    projected: Projected, confidences: Iterable[Confidence]
) -> dict[str, stats.RiskCoverage]:
    """The risk–coverage curve of every confidence, to draw."""
    return {
        each.name: stats.risk_coverage(each.values, projected.is_correct[each.where])
        for each in confidences
        if each.where.any()
    }


def rerank_answers(
    projected: Projected,
    projection: str,
    *,
    readout: Readout = "peak",
    vocabulary: Vocabulary = EIGHT,
    seed: int,
) -> tuple[RerankRow, ...]:
    """One row per method and target, and for the controls that are maps.

    Args:
        projected: the samples.
        projection: one that needs no target box, to be honest; the paper's own σ needs it.
        readout: peak or circular mean.
        vocabulary: the angles of the answers.
        seed: of bootstraps and tests.
    """
    readings = projected.readings[projection]
    answers = {
        key: _answers(projected, readings[key], readout, vocabulary)
        for key in (BOX_ONLY, UNIFORM_MAP, *projected.keys)
    }
    rows = [
        _rerank(projected, key, readings[key], (answers[key], answers[UNIFORM_MAP]), seed) for key in answers
    ]
    tested = [
        (i, row.gain.p_value)
        for i, row in enumerate(rows)
        if row.role == "answer" and row.gain and row.gain.p_value is not None
    ]
    if tested:
        corrected = stats.holm([p for _, p in tested])
        for (i, _), p in zip(tested, corrected, strict=True):
            rows[i] = replace(rows[i], p_holm=float(p))
    return tuple(rows)


def _answers(
    projected: Projected, readings: Readings, readout: Readout, vocabulary: Vocabulary
) -> NDArray[np.int64]:
    """For each sample whether the compass answers right (1), wrong (0), or not at all (−1)."""
    has = readings.is_kept if readout == "peak" else readings.has_mean
    angles = readings.peak_deg if readout == "peak" else readings.mean_deg
    found = np.full(len(projected.samples), -1)
    for i in np.flatnonzero(has):
        sample = projected.samples[i]
        offered = Vocabulary({name: angle_of(name, vocabulary) for name in sample.directions})
        found[i] = offered.nearest(float(angles[i])).name == sample.direction
    return found


def _rerank(
    projected: Projected,
    key: str,
    readings: Readings,
    answers: tuple[NDArray[np.int64], NDArray[np.int64]],
    seed: int,
) -> RerankRow:
    own, layout = answers
    where = (own >= 0) & (layout >= 0)
    names = projected.clusters[where].tolist()
    right, model = own[where].astype(bool), projected.is_correct[where]
    gain = paired_figure(right, model, names, seed=seed)
    if gain is not None:
        p = stats.sign_flip_test(right.astype(float), model.astype(float), clusters=names, seed=seed).p_value
        gain = replace(gain, p_value=p)
    method, target = split_key(key)
    return RerankRow(
        method,
        target,
        role="control" if key in CONTROLS else "upper bound" if target == "gt" else "answer",
        n=len(names),
        model_accuracy=share_figure(model, names, seed=seed),
        accuracy=share_figure(right, names, seed=seed),
        edge_accuracy=share_figure(readings[where].is_hit(), names, seed=seed),
        gain=gain,
        p_holm=None,
        excess=None if key == UNIFORM_MAP else paired_figure(right, layout[where] == 1, names, seed=seed),
    )


def _auc(
    scores: NDArray[np.float64], right: NDArray[np.bool_], clusters: list[str], seed: int
) -> stats.Estimate | None:
    if len(set(clusters)) < 2 or not 0 < right.sum() < right.size:
        return None
    try:
        return stats.roc_auc(scores, right, clusters=clusters, seed=seed)
    except UsageError:  # undefined on too many resamples
        return None


def _excess_auc(
    scores: NDArray[np.float64],
    uniform: NDArray[np.float64],
    right: NDArray[np.bool_],
    clusters: list[str],
    seed: int,
) -> stats.Estimate | None:
    """AUC of one score minus that of another, on the same samples."""
    if len(set(clusters)) < 2 or not 0 < right.sum() < right.size:
        return None
    statistic = stats.BatchStatistic(lambda x, u, y: _areas(x, y) - _areas(u, y), form="rows")
    found = stats.bootstrap_distribution(
        (scores, uniform, right.astype(np.float64)), statistic, clusters=clusters, jackknife=False, seed=seed
    )
    if found.n_undefined > 0.05 * found.resamples.size:
        return None
    return found.estimate("percentile")


def _areas(scores: NDArray[np.float64], right: NDArray[np.float64]) -> NDArray[np.float64]:
    """AUC of each row: (R₊ − m(m+1)/2) / mn with R₊ the rank sum of the m right answers; NaN without both kinds."""
    positive = right.sum(axis=-1)
    negative = right.shape[-1] - positive
    rank_sum = (rankdata(scores, axis=-1) * right).sum(axis=-1)
    return np.asarray((rank_sum - positive * (positive + 1) / 2) / (positive * negative))
