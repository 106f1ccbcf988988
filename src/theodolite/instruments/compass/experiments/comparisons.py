"""The comparisons beside the main table: whose logit, which class, right and wrong answers, peak and mean, prompts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from theodolite import stats
from theodolite.instruments.compass.estimates import gap_figure, mean_figure, paired_figure, share_figure
from theodolite.instruments.compass.experiments.framework import Figure, split_key
from theodolite.instruments.compass.formulas.dae import is_within
from theodolite.instruments.compass.formulas.projected import Projected, Readings
from theodolite.instruments.compass.measure import map_key


@dataclass(frozen=True, slots=True)
class TargetControl:
    """One method explained by the true answer's logit and by the given answer's, on the same samples (section 4.2)."""

    method: str
    n: int
    gt_dae: Figure
    pred_dae: Figure
    gt_edge_accuracy: Figure
    pred_edge_accuracy: Figure
    gt_excess_dae: Figure
    """DAE of gt − that of the uniform map, paired."""
    pred_excess_dae: Figure
    difference: Figure
    """DAE of gt − DAE of pred, paired."""
    same_peak: Figure
    """Share of samples whose peak is in the same sector for both."""


@dataclass(frozen=True, slots=True)
class ClassFigures:
    """One true direction: how often the answer is right, and how well each method points (Figure 5)."""

    direction: str
    n: int
    accuracy: Figure
    dae: Mapping[str, Figure]
    """By ``method@target``."""
    edge_accuracy: Mapping[str, Figure]
    excess_dae: Mapping[str, Figure]
    uniform_dae: Figure


@dataclass(frozen=True, slots=True)
class AnswerSplit:
    """One method on samples with a right and with a wrong answer (Table 5)."""

    method: str
    target: str
    n_correct: int
    n_incorrect: int
    correct_dae: Figure
    incorrect_dae: Figure
    correct_excess_dae: Figure
    incorrect_excess_dae: Figure
    """DAE − that of the uniform map on the same samples."""
    correct_edge_accuracy: Figure
    incorrect_edge_accuracy: Figure
    gap: Figure
    """DAE where wrong − DAE where right."""
    uniform_gap: Figure
    """The same of the uniform map: what the layout alone explains of the gap."""


@dataclass(frozen=True, slots=True)
class ReadoutAgreement:
    """Peak against circular mean, on samples that have both (A.1)."""

    method: str
    target: str
    n: int
    peak_dae: Figure
    mean_dae: Figure
    peak_excess_dae: Figure
    """DAE of the peak − that of the uniform map's peak, paired."""
    difference: Figure
    """Of the mean − of the peak, paired."""
    peak_edge_accuracy: Figure
    mean_edge_accuracy: Figure
    correlation: Figure
    """Pearson's r of the two errors; None where one of them is constant."""


@dataclass(frozen=True, slots=True)
class PromptFigures:
    """One prompt: accuracy, and one method's error (Table 9)."""

    prompt: str
    method: str
    target: str
    n: int
    accuracy: Figure
    dae: Figure
    edge_accuracy: Figure
    excess_dae: Figure


def target_control(projected: Projected, projection: str, *, seed: int) -> tuple[TargetControl, ...]:
    """Every method that was measured for both targets."""
    readings = projected.readings[projection]
    found = []
    for method in dict.fromkeys(split_key(key)[0] for key in projected.keys):
        pair = [readings.get(map_key(method, target)) for target in ("gt", "pred")]
        if pair[0] is None or pair[1] is None:
            continue
        both = pair[0].is_kept & pair[1].is_kept
        names = projected.clusters[both].tolist()
        gt, pred = pair[0][both], pair[1][both]
        found.append(
            TargetControl(
                method,
                int(both.sum()),
                gt_dae=mean_figure(gt.dae_deg, names, seed=seed),
                pred_dae=mean_figure(pred.dae_deg, names, seed=seed),
                gt_edge_accuracy=share_figure(gt.is_hit(), names, seed=seed),
                pred_edge_accuracy=share_figure(pred.is_hit(), names, seed=seed),
                gt_excess_dae=paired_figure(gt.dae_deg, gt.uniform_dae_deg, names, seed=seed),
                pred_excess_dae=paired_figure(pred.dae_deg, pred.uniform_dae_deg, names, seed=seed),
                difference=paired_figure(gt.dae_deg, pred.dae_deg, names, seed=seed),
                same_peak=share_figure(gt.peak_deg == pred.peak_deg, names, seed=seed),
            )
        )
    return tuple(found)


def class_table(
    projected: Projected, projection: str, *, keys: Sequence[str], seed: int
) -> tuple[ClassFigures, ...]:
    """One row per true direction, in the order in which the prompt offers them."""
    directions = np.array([sample.direction for sample in projected.samples])
    offered = dict.fromkeys(name for sample in projected.samples for name in sample.directions)
    found = []
    for direction in (name for name in offered if (directions == name).any()):
        own = directions == direction
        names = projected.clusters[own].tolist()
        rows = {key: _kept(projected, projection, key, own) for key in keys}
        uniform, pictures = _kept(projected, projection, "uniform-map", own)
        found.append(
            ClassFigures(
                direction,
                int(own.sum()),
                accuracy=share_figure(projected.is_correct[own], names, seed=seed),
                dae={key: mean_figure(r.dae_deg, c, seed=seed) for key, (r, c) in rows.items()},
                edge_accuracy={key: share_figure(r.is_hit(), c, seed=seed) for key, (r, c) in rows.items()},
                excess_dae={
                    key: paired_figure(r.dae_deg, r.uniform_dae_deg, c, seed=seed)
                    for key, (r, c) in rows.items()
                },
                uniform_dae=mean_figure(uniform.dae_deg, pictures, seed=seed),
            )
        )
    return tuple(found)


def answer_split(
    projected: Projected, projection: str, *, keys: Sequence[str], seed: int
) -> tuple[AnswerSplit, ...]:
    """One row per method and target."""
    found = []
    for key in keys:
        is_kept = projected.readings[projection][key].is_kept
        kept = projected.readings[projection][key][is_kept]
        names, right = projected.clusters[is_kept], projected.is_correct[is_kept]
        sides = {side: (kept[side_is], names[side_is].tolist()) for side, side_is in _sides(right)}
        (correct, of_correct), (incorrect, of_incorrect) = sides["correct"], sides["incorrect"]
        found.append(
            AnswerSplit(
                *split_key(key),
                n_correct=len(of_correct),
                n_incorrect=len(of_incorrect),
                correct_dae=mean_figure(correct.dae_deg, of_correct, seed=seed),
                incorrect_dae=mean_figure(incorrect.dae_deg, of_incorrect, seed=seed),
                correct_excess_dae=paired_figure(
                    correct.dae_deg, correct.uniform_dae_deg, of_correct, seed=seed
                ),
                incorrect_excess_dae=paired_figure(
                    incorrect.dae_deg, incorrect.uniform_dae_deg, of_incorrect, seed=seed
                ),
                correct_edge_accuracy=share_figure(correct.is_hit(), of_correct, seed=seed),
                incorrect_edge_accuracy=share_figure(incorrect.is_hit(), of_incorrect, seed=seed),
                gap=gap_figure(kept.dae_deg, ~right, names.tolist(), seed=seed),
                uniform_gap=gap_figure(kept.uniform_dae_deg, ~right, names.tolist(), seed=seed),
            )
        )
    return tuple(found)


def readout_agreement(
    projected: Projected, projection: str, *, keys: Sequence[str], seed: int
) -> tuple[ReadoutAgreement, ...]:
    """One row per method and target."""
    found = []
    for key in keys:
        readings = projected.readings[projection][key]
        both = readings[readings.has_mean]
        names = projected.clusters[readings.has_mean].tolist()
        peak, mean = both.dae_deg, both.mean_dae_deg
        found.append(
            ReadoutAgreement(
                *split_key(key),
                n=len(names),
                peak_dae=mean_figure(peak, names, seed=seed),
                mean_dae=mean_figure(mean, names, seed=seed),
                peak_excess_dae=paired_figure(peak, both.uniform_dae_deg, names, seed=seed),
                difference=paired_figure(mean, peak, names, seed=seed),
                peak_edge_accuracy=share_figure(is_within(peak), names, seed=seed),
                mean_edge_accuracy=share_figure(is_within(mean), names, seed=seed),
                correlation=_correlation(peak, mean, names, seed),
            )
        )
    return tuple(found)


def prompt_table(
    projected: Projected, projection: str, *, keys: Sequence[str], seed: int
) -> tuple[PromptFigures, ...]:
    """One row per prompt, method and target, on the pairs that were asked with every prompt."""
    prompts = dict.fromkeys(sample.prompt for sample in projected.samples)
    asked = [{s.id for s in projected.samples if s.prompt == name} for name in prompts]
    common = set.intersection(*asked)
    found = []
    for prompt in prompts if common else ():
        own = np.array([s.prompt == prompt and s.id in common for s in projected.samples])
        accuracy = share_figure(projected.is_correct[own], projected.clusters[own].tolist(), seed=seed)
        for key in keys:
            kept, names = _kept(projected, projection, key, own)
            found.append(
                PromptFigures(
                    prompt,
                    *split_key(key),
                    n=len(names),
                    accuracy=accuracy,
                    dae=mean_figure(kept.dae_deg, names, seed=seed),
                    edge_accuracy=share_figure(kept.is_hit(), names, seed=seed),
                    excess_dae=paired_figure(kept.dae_deg, kept.uniform_dae_deg, names, seed=seed),
                )
            )
    return tuple(found)


def _kept(
    projected: Projected, projection: str, key: str, chosen: NDArray[np.bool_]
) -> tuple[Readings, list[str]]:
    """The readings of some samples that have a compass, and their pictures."""
    readings = projected.readings[projection][key]
    own = chosen & readings.is_kept
    return readings[own], projected.clusters[own].tolist()


def _sides(right: NDArray[np.bool_]) -> tuple[tuple[str, NDArray[np.bool_]], ...]:
    return ("correct", right), ("incorrect", ~right)


def _correlation(
    first: NDArray[np.float64], second: NDArray[np.float64], clusters: list[str], seed: int
) -> Figure:
    if len(set(clusters)) < 3 or np.ptp(first) == 0 or np.ptp(second) == 0:
        return None
    return stats.pearson(first, second, clusters=clusters, seed=seed)
