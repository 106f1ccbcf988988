"""Reference swap: the same target, asked about from another reference of the same picture.

    peak shift  share of pairs of references whose compasses have different peaks
    JSD         Jensen–Shannon divergence of the two compasses, in bits
    tracking    |(peak₂ − peak₁) − (θ₂ − θ₁)|: how far the peak's turn is from the turn of the true direction

Two things change at once: the place to stand and the question. So beside the paper's figure (``both``) each change stands
alone: ``question`` holds the two maps against each other from one centre, ``centre`` one map from two centres.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import permutations

import numpy as np
from numpy.typing import NDArray

from theodolite import stats
from theodolite.instruments.compass.experiments.controls.batch import (
    READINGS,
    Batch,
    Reading,
    divergences,
    peak_of,
    shared_keys,
)
from theodolite.instruments.compass.experiments.controls.estimates import RowBuilder, Values, reasons_of
from theodolite.instruments.compass.experiments.controls.published import REFERENCE_SWAP
from theodolite.instruments.compass.experiments.controls.results import (
    ControlRow,
    ControlScore,
    NothingToScoreError,
)
from theodolite.instruments.compass.formulas.baselines import random_sector
from theodolite.instruments.compass.formulas.distribution import KEPT, Compass
from theodolite.instruments.compass.samples import Sample

BOTH, QUESTION, CENTRE = "both", "question", "centre"
ORACLE, RANDOM_SECTOR = "geometry-oracle", "random-sector"


@dataclass(frozen=True, slots=True, eq=False)
class _Pairs:
    """Ordered pairs of samples that share picture, target and prompt."""

    first: NDArray[np.int64]
    second: NDArray[np.int64]
    group: NDArray[np.int64]
    """Which group each pair belongs to."""
    clusters: list[str]
    """The picture of each group."""

    def per_group(self, values: NDArray[np.float64]) -> Values:
        """The mean over each group's pairs that have a value; NaN for a group without any."""
        there = ~np.isnan(values)
        n = len(self.clusters)
        counts = np.bincount(self.group[there], minlength=n)
        sums = np.bincount(self.group[there], values[there], minlength=n)
        return Values.of(np.where(counts > 0, sums / np.maximum(counts, 1), np.nan), self.clusters)


def reference_swap(samples: Sequence[Sample], *, methods: Sequence[str] = (), seed: int = 0) -> ControlScore:
    """Scores the reference swap on stored maps.

    Args:
        samples: of a run, as they are (``plain``).
        methods: which relevance methods; all if none is named.
        seed: of random maps and bootstrap.

    Raises:
        NothingToScoreError: no target has two references.
    """
    pairs, used = _find_pairs(samples)
    chosen = [samples[i] for i in used]
    batch = Batch(chosen, shared_keys(chosen, methods), seed=seed)
    rows: list[ControlRow] = []
    for reading in READINGS:
        rows += _method_rows(batch, pairs, reading, seed)
        rows += _model_free_rows(chosen, pairs, reading, seed)
    left = len(samples) - len(chosen)
    return ControlScore(
        "reference-swap",
        "Does the compass turn when the same target is asked about from another reference?",
        tuple(rows),
        (
            f"{len(pairs.clusters)} groups of the same target with several references",
            f"{left} of {len(samples)} samples have no partner",
        ),
        REFERENCE_SWAP,
    )


def _find_pairs(samples: Sequence[Sample]) -> tuple[_Pairs, list[int]]:
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
    return _Pairs(first, second, group_of, [samples[group[0]].cluster for group in members]), used


def _method_rows(batch: Batch, pairs: _Pairs, reading: Reading, seed: int) -> list[ControlRow]:
    own = batch.compass(reading)
    first, second = pairs.first, pairs.second
    from_first, from_second = own[first], own[second]
    # Map of the first sample, seen from the second's reference.
    boxes = [batch.samples[j].reference.box for j in second]
    crossed = Batch([batch.samples[i] for i in first], batch.method_keys, seed=seed)
    moved = crossed.compass(reading, references=boxes)
    against = {BOTH: (from_first, from_second), QUESTION: (from_second, moved), CENTRE: (from_first, moved)}
    rows = []
    for k, key in enumerate(batch.keys):
        for name, (one, other) in against.items():
            rows.append(_row((key, name), one[:, k], other[:, k], pairs, (reading, seed)))
    return rows


def _model_free_rows(
    samples: Sequence[Sample], pairs: _Pairs, reading: Reading, seed: int
) -> list[ControlRow]:
    """What perfect knowledge and pure chance give: the sector of the truth, and a sector drawn at random."""
    references, targets = [s.reference.box for s in samples], [s.target.box for s in samples]
    drawn = random_sector(references, targets, seed=seed, options=reading.options)
    true = np.asarray(drawn.true_deg)
    nearest = stats.circular_distance(true[:, None], drawn.centres_deg).argmin(axis=1)
    kept = np.full(len(true), KEPT, np.uint8)
    oracle = Compass(
        np.eye(reading.options.sectors)[nearest], drawn.centres_deg, true, np.ones(len(true)), kept
    )
    return [
        _row((name, BOTH), compass[pairs.first], compass[pairs.second], pairs, (reading, seed))
        for name, compass in ((ORACLE, oracle), (RANDOM_SECTOR, drawn))
    ]


def _row(
    labels: tuple[str, str], one: Compass, other: Compass, pairs: _Pairs, how: tuple[Reading, int]
) -> ControlRow:
    key, condition = labels
    reading, seed = how
    build = RowBuilder(seed)
    peaks = peak_of(one, reading), peak_of(other, reading)
    there = ~np.isnan(peaks[0]) & ~np.isnan(peaks[1])
    shift = np.full(len(there), np.nan)
    shift[there] = stats.circular_distance(peaks[0][there], peaks[1][there]) > 1e-6
    build.share("peak_shift", pairs.per_group(shift))
    build.mean("jsd_bits", pairs.per_group(divergences(one, other)))
    if condition == BOTH and one.true_deg is not None and other.true_deg is not None:
        turn = np.full(len(there), np.nan)
        truth = other.true_deg - one.true_deg
        turn[there] = stats.circular_distance((peaks[1] - peaks[0])[there], truth[there])
        build.mean("tracking_deg", pairs.per_group(turn))
    build.leave_out(reasons_of(one))
    build.leave_out(reasons_of(other))
    return ControlRow(key, reading.name, condition, build.figures, build.tests, dict(build.excluded))
