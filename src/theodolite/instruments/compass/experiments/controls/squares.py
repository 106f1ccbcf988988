"""The coloured squares of A.16: is the compass the same whatever the angle between them?

    same peak            share of compasses with the most frequent peak; 1 for a map that never moves, seen from one centre
    divergence from mean Jensen–Shannon divergence of each compass from the mean of all, in bits
    η² of the angle      share of the compasses' variation between the nominal angles

Every picture is drawn anew, so every picture is a unit of its own.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from theodolite import stats
from theodolite.instruments.compass.experiments.controls.batch import (
    READINGS,
    UNIFORM,
    Batch,
    Reading,
    dae_of,
    hits,
    peak_of,
    shared_keys,
)
from theodolite.instruments.compass.experiments.controls.estimates import RowBuilder, Values, reasons_of
from theodolite.instruments.compass.experiments.controls.families import FALSE_REFERENCE, answer_row
from theodolite.instruments.compass.experiments.controls.published import SQUARES
from theodolite.instruments.compass.experiments.controls.results import ControlRow, ControlScore
from theodolite.instruments.compass.formulas.distribution import Compass
from theodolite.instruments.compass.samples import Sample

CONDITION = "squares"
NOT_EXPLAINED = "no share for the angle to explain: one picture an angle, one angle, or compasses all alike"


def score_squares(samples: Sequence[Sample], *, methods: Sequence[str] = (), seed: int = 0) -> ControlScore:
    """Scores the squares.

    Args:
        samples: of `theodolite.instruments.compass.data.squares.coloured_squares`.
        methods: which relevance methods; all if none is named.
        seed: of random maps and bootstrap.
    """
    batch = Batch(samples, shared_keys(samples, methods), seed=seed)
    centres = [[sample.target.box.centre_px] for sample in samples]
    n_angles = len({sample.group for sample in samples})
    right = np.array([sample.is_correct for sample in samples])
    rows: list[ControlRow] = []
    for reading in READINGS:
        compass = batch.compass(reading)
        false = batch.compass(reading, centres_px=centres)[:, 0]
        at = batch.keys.index(UNIFORM)
        uniform = Values.of(dae_of(compass[:, at], reading), batch.clusters)
        rows.append(answer_row(CONDITION, right, batch.clusters, reading, seed))
        for k, key in enumerate(batch.keys):
            rows.append(_row(key, compass[:, k], batch, (reading, uniform, seed)))
            build = RowBuilder(seed)
            build.mean("dae_deg", Values.of(dae_of(false[:, k], reading), batch.clusters))
            build.leave_out(reasons_of(false[:, k]))
            rows.append(
                ControlRow(key, reading.name, FALSE_REFERENCE, build.figures, {}, dict(build.excluded))
            )
    return ControlScore(
        "squares",
        "Does the compass know one coloured square's place from another's?",
        tuple(rows),
        (
            f"{len(samples)} pictures at {n_angles} angles",
            f"η² of the angle is about {(n_angles - 1) / max(1, len(samples) - 1):.2f} by chance alone",
        ),
        SQUARES,
    )


def _row(key: str, compass: Compass, batch: Batch, how: tuple[Reading, Values, int]) -> ControlRow:
    reading, uniform, seed = how
    errors = dae_of(compass, reading)
    kept = compass.is_kept
    build = RowBuilder(seed)
    build.mean("dae_deg", Values.of(errors, batch.clusters))
    if key != UNIFORM:
        build.difference("dae_excess_deg", Values.of(errors, batch.clusters), uniform)
    build.share("edge_accuracy", Values.of(hits(errors), batch.clusters))
    if kept.any():
        clusters = np.asarray(batch.clusters)[kept].tolist()
        peaks = peak_of(compass[kept], reading).round(6)
        values, counts = np.unique(peaks, return_counts=True)
        build.share("same_peak", Values.of((peaks == values[counts.argmax()]).astype(np.float64), clusters))
        shares = compass.distribution[kept]
        from_mean = stats.jensen_shannon_divergence(shares, shares.mean(axis=0))
        build.mean("jsd_from_mean_bits", Values.of(from_mean, clusters))
        angles = [sample.group for sample, there in zip(batch.samples, kept, strict=True) if there]
        if len(angles) > len(set(angles)) > 1 and np.ptp(shares, axis=0).max() > 0:
            build.figures["eta_squared"] = stats.eta_squared(shares, angles, clusters=clusters, seed=seed)
        else:
            build.leave_out({NOT_EXPLAINED: len(angles)})
    build.leave_out(reasons_of(compass))
    return ControlRow(key, reading.name, CONDITION, build.figures, build.tests, dict(build.excluded))
