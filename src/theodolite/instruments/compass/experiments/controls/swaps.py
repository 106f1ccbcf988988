"""Swaps: another reference for the same target, or reference and target exchanged.

reference-swap   the same target, asked about from another reference of the same picture (Table 7)
swap-roles       reference and target exchanged in the question
swap-places      reference and target exchanged in the picture

    peak shift   share of pairs of references whose compasses have different peaks
    tracking     |(peak₂ − peak₁) − (θ₂ − θ₁)|: the angle between the peak's turn and the turn of the true direction
    reversal     share of pairs whose peak afterwards lies within 45° of the opposite of what it was
    JSD          Jensen–Shannon divergence of the two compasses, in bits

In a reference swap the centre and the question change at once. Beside the paper's number (``both``), ``question`` compares the
two maps from one centre, and ``centre`` compares one map from two centres.

After exchanging reference and target, ``re-centred`` takes the new reference as the centre, as the paper does: a map that does
not change at all may then turn because of the new centre alone, and the uniform map's row shows by how much. ``fixed centre``
keeps A's centre for both maps, so that only a change of the map can turn the peak.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import permutations

import numpy as np
from numpy.typing import NDArray

from theodolite import stats
from theodolite.instruments.compass.experiments.controls.batch import (
    PROJECTIONS,
    Batch,
    ControlProjection,
    divergences,
    errors_of,
    hits,
    peaks_of,
    shared_keys,
)
from theodolite.instruments.compass.experiments.controls.edits import SWAP_PLACES, SWAP_ROLES
from theodolite.instruments.compass.experiments.controls.families import NO_PLAIN, base_of
from theodolite.instruments.compass.experiments.controls.results import (
    ControlRow,
    ControlScore,
    NothingToScoreError,
    RowBuilder,
    Values,
)
from theodolite.instruments.compass.formulas.baselines import (
    ORACLE,
    RANDOM_SECTOR,
    random_sector,
    sample_seed,
)
from theodolite.instruments.compass.formulas.compass import KEPT, Compass
from theodolite.instruments.compass.measure import Sample

BOTH, QUESTION, CENTRE = "both", "question", "centre"
RECENTRED, FIXED = "re-centred", "fixed centre"
QUESTIONS = {
    SWAP_ROLES: "Does the compass reverse when reference and target change roles in the question?",
    SWAP_PLACES: "Does the compass reverse when reference and target change places in the picture?",
}


@dataclass(frozen=True, slots=True, eq=False)
class _SharedTargets:
    """Ordered pairs of samples that share picture, target and prompt."""

    first: NDArray[np.int64]
    second: NDArray[np.int64]
    group: NDArray[np.int64]
    """The group of each pair."""
    clusters: list[str]
    """The picture of each group."""

    def per_group(self, values: NDArray[np.float64]) -> Values:
        """The mean over each group's pairs (and over draws, if there are any) that have a value; NaN for a group with none."""
        if values.ndim > 1:
            counts = (~np.isnan(values)).sum(axis=1)
            values = np.where(counts > 0, np.nansum(values, axis=1) / np.maximum(counts, 1), np.nan)
        there = ~np.isnan(values)
        n = len(self.clusters)
        counts = np.bincount(self.group[there], minlength=n)
        sums = np.bincount(self.group[there], values[there], minlength=n)
        return Values.of(np.where(counts > 0, sums / np.maximum(counts, 1), np.nan), self.clusters)


def reference_swap(samples: Sequence[Sample], *, methods: Sequence[str] = (), seed: int = 0) -> ControlScore:
    """Scores the reference swap on stored maps.

    Args:
        samples: Plain samples of a run.
        methods: Which methods; all if none is named.
        seed: Seed of random maps and sectors.

    Raises:
        NothingToScoreError: No target has two references.
    """
    pairs, used = _find_pairs(samples)
    chosen = [samples[i] for i in used]
    batch = Batch(chosen, shared_keys(chosen, methods), seed=seed)
    rows: list[ControlRow] = []
    for projection in PROJECTIONS:
        rows += _method_rows(batch, pairs, projection, seed)
        rows += _baseline_rows(chosen, pairs, projection, seed)
    left = len(samples) - len(chosen)
    return ControlScore(
        "reference-swap",
        "Does the compass turn when the same target is asked about from another reference?",
        tuple(rows),
        (
            f"{len(pairs.clusters)} groups of the same target with several references.",
            f"{left} of {len(samples)} samples have no partner.",
        ),
    )


def _find_pairs(samples: Sequence[Sample]) -> tuple[_SharedTargets, list[int]]:
    groups: dict[tuple[object, ...], list[int]] = {}
    for i, sample in enumerate(samples):
        groups.setdefault((sample.cluster, sample.prompt, sample.target.name, sample.target.box), []).append(
            i
        )
    members = [group for group in groups.values() if len(group) > 1]
    if not members:
        raise NothingToScoreError(
            "no target of the run has two references in one picture, so there is nothing to swap"
        )
    used = sorted(i for group in members for i in group)
    place = {i: at for at, i in enumerate(used)}
    found = [(place[i], place[j], g) for g, group in enumerate(members) for i, j in permutations(group, 2)]
    first, second, group_of = np.array(found, np.int64).T
    return _SharedTargets(first, second, group_of, [samples[group[0]].cluster for group in members]), used


def _method_rows(
    batch: Batch, pairs: _SharedTargets, projection: ControlProjection, seed: int
) -> list[ControlRow]:
    own = batch.compass(projection)
    first, second = pairs.first, pairs.second
    from_first, from_second = own[first], own[second]
    # The map of the first sample around the second's reference.
    boxes = [batch.samples[j].reference.box for j in second]
    crossed = Batch([batch.samples[i] for i in first], batch.method_keys, seed=seed)
    moved = crossed.compass(projection, references=boxes)
    against = {BOTH: (from_first, from_second), QUESTION: (from_second, moved), CENTRE: (from_first, moved)}
    rows = []
    for key in batch.keys:
        own_columns = batch.columns(key)
        for name, (one, other) in against.items():
            rows.append(_swap_row((key, name), one[:, own_columns], other[:, own_columns], pairs, projection))
    return rows


def _baseline_rows(
    samples: Sequence[Sample], pairs: _SharedTargets, projection: ControlProjection, seed: int
) -> list[ControlRow]:
    """The sector of the truth, and a random sector."""
    references, targets = [s.reference.box for s in samples], [s.target.box for s in samples]
    seeds = [sample_seed(seed, sample.item_id) for sample in samples]
    drawn = random_sector(references, targets, seeds=seeds, options=projection.options)
    true = np.asarray(drawn.true_deg)[:, :1]
    nearest = stats.circular_distance(true, drawn.centres_deg).argmin(axis=1)[:, None]
    kept = np.full(true.shape, KEPT, np.uint8)
    oracle = Compass(
        np.eye(projection.options.sectors)[nearest], drawn.centres_deg, true, np.ones(true.shape), kept
    )
    return [
        _swap_row((name, BOTH), compass[pairs.first], compass[pairs.second], pairs, projection)
        for name, compass in ((ORACLE, oracle), (RANDOM_SECTOR, drawn))
    ]


def _swap_row(
    labels: tuple[str, str],
    one: Compass,
    other: Compass,
    pairs: _SharedTargets,
    projection: ControlProjection,
) -> ControlRow:
    """One row; the compasses have shape (pairs, draws)."""
    key, condition = labels
    build = RowBuilder(seed=0)
    peaks = peaks_of(one, projection), peaks_of(other, projection)
    there = ~np.isnan(peaks[0]) & ~np.isnan(peaks[1])
    shift = np.full(there.shape, np.nan)
    shift[there] = stats.circular_distance(peaks[0][there], peaks[1][there]) > 1e-6
    build.mean("peak_shift", pairs.per_group(shift))
    build.mean("divergence", pairs.per_group(divergences(one, other)))
    if condition == BOTH and one.true_deg is not None and other.true_deg is not None:
        turn = np.full(there.shape, np.nan)
        truth = other.true_deg - one.true_deg
        turn[there] = stats.circular_distance((peaks[1] - peaks[0])[there], truth[there])
        build.mean("tracking", pairs.per_group(turn))
    build.leave_out(one[:, 0], other[:, 0])
    return build.row(key, projection.name, condition)


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
        control: Which of the two.
        swapped: The samples after the swap.
        plain: The samples before it.
        methods: Which methods; all if none is named.
        seed: Seed of random maps and the sign-flip test.

    Raises:
        NothingToScoreError: No pair was measured both before and after.
    """
    by_base = {base_of(sample): sample for sample in plain}
    after = [sample for sample in swapped if base_of(sample) in by_base]
    if not after:
        raise NothingToScoreError(f"{control}: no pair was measured both plain and swapped")
    before = [by_base[base_of(sample)] for sample in after]
    keys = shared_keys([*before, *after], methods)
    batches = Batch(before, keys, seed=seed), Batch(after, keys, seed=seed)
    rows: list[ControlRow] = []
    for projection in PROJECTIONS:
        original = batches[0].compass(projection)
        boxes = [sample.reference.box for sample in before], [sample.target.box for sample in before]
        conditions = {
            RECENTRED: batches[1].compass(projection),
            FIXED: batches[1].compass(projection, references=boxes[0], targets=boxes[1]),
        }
        for name, compass in conditions.items():
            rows += _reversal_rows(name, original, compass, batches[1], projection, seed)
    notes = [f"{len(after)} pairs."]
    if len(after) < len(swapped):
        notes.append(f"{len(swapped) - len(after)} swapped samples are left out: {NO_PLAIN}.")
    return ControlScore(control, QUESTIONS[control], tuple(rows), tuple(notes))


def _reversal_rows(
    condition: str,
    before: Compass,
    after: Compass,
    batch: Batch,
    projection: ControlProjection,
    seed: int,
) -> list[ControlRow]:
    peaks = peaks_of(before, projection), peaks_of(after, projection)
    there = ~np.isnan(peaks[0]) & ~np.isnan(peaks[1])
    distance = np.full(there.shape, np.nan)
    distance[there] = stats.circular_distance(peaks[0][there] + 180.0, peaks[1][there])
    reversed_ = batch.over_draws(hits(distance))
    divergence = batch.over_draws(divergences(before, after))
    errors = batch.over_draws(errors_of(after, projection))
    clusters = batch.clusters
    rows = []
    for k, key in enumerate(batch.keys):
        build = RowBuilder(seed)
        at, column = batch.uniform_of(key), batch.column(key)
        own = Values.of(reversed_[:, k], clusters)
        build.mean("reversal", own)
        build.mean("divergence", Values.of(divergence[:, k], clusters))
        if condition == RECENTRED:
            build.mean("dae", Values.of(errors[:, k], clusters))
            if k != at:  # from a fixed centre the uniform map cannot turn at all
                build.mean("excess_dae", Values.of(errors[:, k] - errors[:, at], clusters))
                build.flip_test("over_uniform", own, Values.of(reversed_[:, at], clusters), "greater")
        build.leave_out(before[:, column], after[:, column])
        rows.append(build.row(key, projection.name, condition))
    return rows
