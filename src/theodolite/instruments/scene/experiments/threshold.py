"""The threshold experiment: QA with graphs of graded noise in the prompt, and the quality at which a graph begins to help.

CRISP (section 5.2) assumes such a threshold. It is where the gain over base QA, as a line through the noise levels, crosses zero.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from theodolite import stats
from theodolite.core.errors import UsageError
from theodolite.core.tables import Column, Table
from theodolite.instruments.scene.experiments.paired import PairedScores, paired_scores, question_scores
from theodolite.instruments.scene.formulas.derived_qa import ScoreOptions
from theodolite.instruments.scene.formulas.sgc import score_graph
from theodolite.instruments.scene.reading.results import SceneResults

FloatArray = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class NoiseLevel:
    """QA with graphs of one noise level in the prompt."""

    noise: float
    quality: stats.Estimate | None
    """SGC of the noisy graphs against the true ones."""
    qa: stats.Estimate | None
    gain: stats.Estimate | None
    """Over the base setting, paired."""


@dataclass(frozen=True, slots=True)
class Threshold:
    """How good a graph must be before it helps."""

    levels: tuple[NoiseLevel, ...]
    """From the least noise to the most."""
    crossing: stats.Estimate | None
    """The SGC at which QA with the graph equals QA without it."""
    because: str
    """Why there is no crossing; empty if there is one."""


def threshold(results: SceneResults, options: ScoreOptions) -> Threshold | None:
    """The threshold experiment of one run; None if no noisy graphs were asked with."""
    base = results.answers("base")
    noisy = sorted(
        (noise, given)
        for (setting, noise), given in results.qa.items()
        if setting == "noisy graph" and noise is not None
    )
    levels, pairs, qualities = [], [], []
    for noise, given in noisy:
        quality = {
            row.question.scene: score_graph(row.graph, true).sgc
            for row in given.values()
            if row.graph is not None and (true := results.true_graph(row.question.scene)) is not None
        }
        pair = paired_scores(base, given, comparison=options.comparison)
        levels.append(
            NoiseLevel(
                noise,
                quality=stats.clustered_mean(list(quality.values()), list(quality)),
                qa=question_scores(given, comparison=options.comparison).mean(),
                gain=pair.gain(),
            )
        )
        pairs.append(pair)
        qualities.append(quality)
    if not levels:
        return None
    return Threshold(tuple(levels), *_crossing(pairs, qualities, options.seed))


def _crossing(
    pairs: Sequence[PairedScores], qualities: Sequence[Mapping[str, float]], seed: int
) -> tuple[stats.Estimate | None, str]:
    """Where the gain over base is zero, on the scenes that every level has; with a bootstrap interval over scenes."""
    scenes = sorted(
        set.intersection(*(set(pair.scenes) & set(q) for pair, q in zip(pairs, qualities, strict=True)))
    )
    if len(pairs) < 2 or len(scenes) < 2:
        return None, "a crossing needs two noise levels and two scenes"
    parts: list[FloatArray] = []
    for pair, quality in zip(pairs, qualities, strict=True):
        parts += [*_by_scene(pair, scenes), np.array([[quality[scene]] for scene in scenes])]
    value = float(_crossings(*parts, np.ones((1, len(scenes))))[0])
    if np.isnan(value):
        gains = [float(np.mean(pair.second - pair.first)) for pair in pairs]
        side = (
            "helps at every level"
            if min(gains) > 0
            else "helps at no level"
            if max(gains) <= 0
            else "helps at some levels, in no order"
        )
        return None, f"no crossing between the measured levels: the graph {side}"
    try:
        statistic = stats.BatchStatistic(_crossings, form="weights")
        found = stats.bootstrap(tuple(parts), statistic, bounds=stats.SHARE, interval="percentile", seed=seed)
    except UsageError as error:
        return None, f"a crossing at an SGC of {100 * value:.1f} %, but without an interval: {error}"
    return found, ""


def _by_scene(pair: PairedScores, scenes: Sequence[str]) -> tuple[FloatArray, FloatArray]:
    """Sums of gains and numbers of questions, each of shape (scenes, groups)."""
    place = {scene: i for i, scene in enumerate(scenes)}
    groups = {group: i for i, group in enumerate(dict.fromkeys(pair.groups))}
    sums, counts = np.zeros((2, len(scenes), len(groups)))
    for scene, group, gain in zip(pair.scenes, pair.groups, pair.second - pair.first, strict=True):
        if scene in place:
            sums[place[scene], groups[group]] += gain
            counts[place[scene], groups[group]] += 1
    return sums, counts


def _crossings(*parts: FloatArray) -> FloatArray:
    """One crossing per row of weights, the last argument; NaN where the gain does not change sign."""
    *tables, weights = parts
    gains, qualities = [], []
    for sums, counts, quality in zip(tables[0::3], tables[1::3], tables[2::3], strict=True):
        n = weights @ counts
        with np.errstate(invalid="ignore", divide="ignore"):
            gains.append(np.nanmean(np.where(n > 0, weights @ sums / n, np.nan), axis=1))
        qualities.append((weights @ quality)[:, 0] / weights.sum(axis=1))
    gain, quality = np.stack(gains, axis=1), np.stack(qualities, axis=1)  # (rows, levels)
    order = np.argsort(quality, axis=1)
    gain, quality = np.take_along_axis(gain, order, 1), np.take_along_axis(quality, order, 1)
    found = np.full(len(gain), np.nan)
    for i in range(gain.shape[1] - 1):  # from the worst graphs to the best: the last change to a gain counts
        below, above = gain[:, i], gain[:, i + 1]
        with np.errstate(invalid="ignore", divide="ignore"):
            place = quality[:, i] + (quality[:, i + 1] - quality[:, i]) * (-below) / (above - below)
        found = np.where((below < 0) & (above > 0), place, found)
    return found


def threshold_table(found: Threshold) -> Table:
    """A row for each noise level, and the crossing."""
    crossing = found.crossing
    note = found.because
    if crossing is not None:
        note = f"A graph helps from an SGC of {100 * crossing.value:.1f} % [{100 * crossing.low:.1f}, {100 * crossing.high:.1f}]."
    return Table.of(
        "scene.threshold",
        "How good must a graph be to help?",
        [
            Column("noise", "noise", "number"),
            Column("quality", "SGC of the graph", "share", "scene.sgc"),
            Column("qa", "QA with it", "share", "scene.accuracy"),
            Column("gain", "gain over base", "points", "scene.graph_gain"),
        ],
        [[each.noise, each.quality, each.qa, each.gain] for each in found.levels],
        [note],
    )
