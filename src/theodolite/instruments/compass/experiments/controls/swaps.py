"""Semantic swap: reference and target change roles (in the question) or places (in the picture).

    reversal   share of pairs whose peak afterwards lies within 45° of the opposite of what it was

``re-centred`` stands at the new reference, as the paper does: a map that does not change at all may then turn by the change
of place alone. ``fixed centre`` stands where A stood, for both maps: only the map can turn. The uniform map's row is what
re-centring alone is worth.
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
    divergences,
    hits,
    peak_of,
    shared_keys,
)
from theodolite.instruments.compass.experiments.controls.edits import SWAP_PLACES, SWAP_ROLES
from theodolite.instruments.compass.experiments.controls.estimates import RowBuilder, Values, reasons_of
from theodolite.instruments.compass.experiments.controls.families import NO_PLAIN, base_of
from theodolite.instruments.compass.experiments.controls.published import SWAP_ROLES as PUBLISHED
from theodolite.instruments.compass.experiments.controls.results import (
    ControlRow,
    ControlScore,
    NothingToScoreError,
)
from theodolite.instruments.compass.formulas.distribution import Compass
from theodolite.instruments.compass.samples import Sample

RECENTRED, FIXED = "re-centred", "fixed centre"
QUESTIONS = {
    SWAP_ROLES: "Does the compass reverse when reference and target change roles in the question?",
    SWAP_PLACES: "Does the compass reverse when reference and target change places in the picture?",
}


def score_swap(
    control: str,
    swapped: Sequence[Sample],
    plain: Sequence[Sample],
    *,
    methods: Sequence[str] = (),
    seed: int = 0,
) -> ControlScore:
    """Scores swap-roles or swap-places.

    Args:
        control: which.
        swapped: the samples after the swap.
        plain: the samples before it.
        methods: which relevance methods; all if none is named.
        seed: of random maps and bootstrap.

    Raises:
        NothingToScoreError: no pair was measured both before and after.
    """
    by_base = {base_of(sample): sample for sample in plain}
    after = [sample for sample in swapped if base_of(sample) in by_base]
    if not after:
        raise NothingToScoreError(f"{control}: no pair was measured both as it is and swapped")
    before = [by_base[base_of(sample)] for sample in after]
    keys = shared_keys([*before, *after], methods)
    batches = Batch(before, keys, seed=seed), Batch(after, keys, seed=seed)
    rows: list[ControlRow] = []
    for reading in READINGS:
        plainly = batches[0].compass(reading)
        boxes = [sample.reference.box for sample in before], [sample.target.box for sample in before]
        conditions = {
            RECENTRED: batches[1].compass(reading),
            FIXED: batches[1].compass(reading, references=boxes[0], targets=boxes[1]),
        }
        for name, compass in conditions.items():
            rows += _rows(name, plainly, compass, batches[1], (reading, seed))
    notes = [f"{len(after)} pairs"]
    if len(after) < len(swapped):
        notes.append(f"{len(swapped) - len(after)} swapped samples are not in it ({NO_PLAIN})")
    return ControlScore(
        control, QUESTIONS[control], tuple(rows), tuple(notes), PUBLISHED if control == SWAP_ROLES else ()
    )


def _rows(
    condition: str, before: Compass, after: Compass, batch: Batch, how: tuple[Reading, int]
) -> list[ControlRow]:
    reading, seed = how
    peaks = peak_of(before, reading), peak_of(after, reading)
    there = ~np.isnan(peaks[0]) & ~np.isnan(peaks[1])
    distance = np.full(there.shape, np.nan)
    distance[there] = stats.circular_distance(peaks[0][there] + 180.0, peaks[1][there])
    reversed_ = hits(distance)
    jsd = divergences(before, after)
    errors = dae_of(after, reading)
    clusters = batch.clusters
    at = batch.keys.index(UNIFORM)
    uniform = Values.of(reversed_[:, at], clusters)
    rows = []
    for k, key in enumerate(batch.keys):
        build = RowBuilder(seed)
        own = Values.of(reversed_[:, k], clusters)
        build.share("reversal", own)
        build.mean("jsd_bits", Values.of(jsd[:, k], clusters))
        if condition == RECENTRED:
            build.mean("dae_deg", Values.of(errors[:, k], clusters))
            if key != UNIFORM:
                build.difference(
                    "dae_excess_deg", Values.of(errors[:, k], clusters), Values.of(errors[:, at], clusters)
                )
        if (
            key != UNIFORM and condition == RECENTRED
        ):  # from a fixed centre the uniform map cannot turn at all
            build.flip_test("over_uniform", own, uniform, "greater")
        build.leave_out(reasons_of(before[:, k]))
        build.leave_out(reasons_of(after[:, k]))
        rows.append(
            ControlRow(key, reading.name, condition, build.figures, build.tests, dict(build.excluded))
        )
    return rows
