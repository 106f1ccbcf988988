"""The coloured squares of A.16: is the compass the same whatever the angle between them?

    same peak        share of compasses with the most frequent peak; 1 for a map that never moves, around one centre
    JSD from mean    Jensen–Shannon divergence of each compass from the mean of all, in bits
    η² of the angle  share of the compasses' variation that lies between the nominal angles

Every picture is drawn anew, so every picture is a unit of its own.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from theodolite import stats
from theodolite.instruments.compass.experiments.controls.batch import (
    PROJECTIONS,
    Batch,
    ControlProjection,
    errors_of,
    hits,
    peaks_of,
    shared_keys,
)
from theodolite.instruments.compass.experiments.controls.families import FALSE_REFERENCE, answer_row
from theodolite.instruments.compass.experiments.controls.results import (
    ControlRow,
    ControlScore,
    RowBuilder,
    Values,
)
from theodolite.instruments.compass.formulas.compass import Compass
from theodolite.instruments.compass.measure import Sample

CONDITION = "squares"
NOT_EXPLAINED = "no η² of the angle: one picture per angle, one angle only, or compasses all alike"


def score_squares(samples: Sequence[Sample], *, methods: Sequence[str] = (), seed: int = 0) -> ControlScore:
    """Scores the squares.

    Args:
        samples: Samples of `theodolite.instruments.compass.data.squares.coloured_squares`.
        methods: Which methods; all if none is named.
        seed: Seed of random maps and the bootstrap of η².
    """
    batch = Batch(samples, shared_keys(samples, methods), seed=seed)
    centres = [[sample.target.box.centre_px] for sample in samples]
    n_angles = len({sample.group for sample in samples})
    right = np.array([sample.is_correct for sample in samples])
    rows: list[ControlRow] = []
    for projection in PROJECTIONS:
        compass = batch.compass(projection)
        false = batch.compass(projection, centres_px=centres)[:, 0]
        by_column = errors_of(compass, projection)
        errors, found = batch.over_draws(by_column), batch.over_draws(hits(by_column))
        from_target = batch.over_draws(errors_of(false, projection))
        rows.append(answer_row(CONDITION, right, batch.clusters, projection))
        for k, key in enumerate(batch.keys):
            build = RowBuilder(seed)
            column, at = batch.column(key), batch.uniform_of(key)
            build.mean("dae", Values.of(errors[:, k], batch.clusters))
            if k != at:
                build.mean("excess_dae", Values.of(errors[:, k] - errors[:, at], batch.clusters))
            build.mean("edge_accuracy", Values.of(found[:, k], batch.clusters))
            if not batch.is_drawn(key):
                _add_likeness(build, compass[:, column], batch, projection)
            build.leave_out(compass[:, column])
            rows.append(build.row(key, projection.name, CONDITION))
            wrong = RowBuilder(seed)
            wrong.mean("dae", Values.of(from_target[:, k], batch.clusters))
            wrong.leave_out(false[:, column])
            rows.append(wrong.row(key, projection.name, FALSE_REFERENCE))
    return ControlScore(
        "squares",
        "Does the compass distinguish the places of two coloured squares?",
        tuple(rows),
        (
            f"{len(samples)} pictures at {n_angles} angles.",
            f"η² of the angle is about {(n_angles - 1) / max(1, len(samples) - 1):.2f} by chance alone.",
        ),
    )


def _add_likeness(build: RowBuilder, compass: Compass, batch: Batch, projection: ControlProjection) -> None:
    """How similar the compasses of all pictures are, and what the angle explains of their variation."""
    kept = compass.is_kept
    if not kept.any():
        return
    clusters = np.asarray(batch.clusters)[kept].tolist()
    peaks = peaks_of(compass[kept], projection).round(6)
    values, counts = np.unique(peaks, return_counts=True)
    build.mean("same_peak", Values.of((peaks == values[counts.argmax()]).astype(np.float64), clusters))
    shares = compass.distribution[kept]
    from_mean = stats.jensen_shannon_divergence(shares, shares.mean(axis=0))
    build.mean("divergence_from_mean", Values.of(from_mean, clusters))
    angles = [sample.group for sample, there in zip(batch.samples, kept, strict=True) if there]
    if len(angles) > len(set(angles)) > 1 and np.ptp(shares, axis=0).max() > 0:
        build.estimates["eta_squared"] = stats.eta_squared(shares, angles, clusters=clusters, seed=build.seed)
    else:
        build.leave_out({NOT_EXPLAINED: len(angles)})
