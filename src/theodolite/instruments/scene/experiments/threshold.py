"""The threshold experiment: graphs of graded noise in the prompt, QA against their quality, and where it crosses base QA."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from theodolite import stats
from theodolite.core.errors import UsageError
from theodolite.instruments.scene.estimates import Drawn, per_scene
from theodolite.instruments.scene.experiments.paired_settings import Paired, paired, qa_scores
from theodolite.instruments.scene.formulas.sgc import Comparison, score_graph
from theodolite.instruments.scene.results import SceneRows


@dataclass(frozen=True, slots=True)
class NoiseLevel:
    """QA with graphs of one level of noise in the prompt."""

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
    """Why there is no crossing, or how many resamples had one."""


def threshold(rows: SceneRows, drawn: Drawn, comparison: Comparison) -> Threshold | None:
    """The threshold experiment of one run; None if no noisy graphs were injected."""
    base = rows.of("base")
    noisy = sorted(
        (noise, given)
        for (setting, noise), given in rows.qa.items()
        if setting == "noisy graph" and noise is not None
    )
    levels, pairs, qualities = [], [], []
    for noise, given in noisy:
        quality = {
            row.question.scene: score_graph(row.graph, true).sgc
            for row in given.values()
            if row.graph is not None and (true := rows.true_graph(row.question.scene)) is not None
        }
        pair = paired(base, given, comparison=comparison)
        levels.append(
            NoiseLevel(
                noise,
                quality=drawn.mean(list(quality.values()), list(quality)),
                qa=qa_scores(given, comparison=comparison).macro(drawn),
                gain=pair.gain(drawn),
            )
        )
        pairs.append(pair)
        qualities.append(quality)
    if not levels:
        return None
    crossing, because = _crossing(pairs, qualities, drawn)
    return Threshold(tuple(levels), crossing, because)


def _crossing(
    pairs: Sequence[Paired], qualities: Sequence[Mapping[str, float]], drawn: Drawn
) -> tuple[stats.Estimate | None, str]:
    """Where the gain over base, as a line through the levels, is zero; on the scenes that every level has."""
    scenes = sorted(
        set.intersection(*(set(pair.scenes) & set(q) for pair, q in zip(pairs, qualities, strict=True)))
    )
    if len(pairs) < 2 or len(scenes) < 2:
        return None, "a crossing needs two levels of noise and two scenes"
    parts: list[NDArray[np.float64]] = []
    for pair, quality in zip(pairs, qualities, strict=True):
        known = set(scenes)
        keep = [i for i, scene in enumerate(pair.scenes) if scene in known]
        sums, counts = per_scene(
            [(pair.second - pair.first)[keep]], pair.groups[keep], [pair.scenes[i] for i in keep]
        )
        parts += [sums[0], counts, np.array([[quality[scene]] for scene in scenes])]
    one = _crossings(*parts, np.ones((1, len(scenes))))
    if np.isnan(one[0]):
        gains = [float(np.mean(pair.second - pair.first)) for pair in pairs]
        side = (
            "helps at every level"
            if min(gains) > 0
            else "helps at no level"
            if max(gains) <= 0
            else "helps by turns"
        )
        return None, f"no crossing within the levels measured: the graph {side}"
    try:
        return drawn.combined(
            tuple(parts), _crossings, sum(len(pair.questions) for pair in pairs)
        ), "interpolated"
    except UsageError as error:
        return None, f"a crossing at SGC {one[0]:.3f}, but without an interval: {error}"


def _crossings(*parts: NDArray[np.float64]) -> NDArray[np.float64]:
    """One crossing per row of weights, the last of the arguments; NaN where the gain does not change sign."""
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
    for i in range(
        gain.shape[1] - 1
    ):  # from the worst graphs to the best: the last change from loss to gain counts
        below, above = gain[:, i], gain[:, i + 1]
        crosses = (below < 0) & (above > 0)
        with np.errstate(invalid="ignore", divide="ignore"):
            place = quality[:, i] + (quality[:, i + 1] - quality[:, i]) * (-below) / (above - below)
        found = np.where(crosses, place, found)
    return found
