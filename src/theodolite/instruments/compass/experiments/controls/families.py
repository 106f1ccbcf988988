"""Families of edited pictures (section 5.1 and Table 15): does the compass follow what was moved?

    peak accuracy   share of probes with the peak within 45° of A → B as they lie now; also for right answers only
    JSD             divergence between every two probes of a pair, in bits; a pair's mean counts once
    binomial        p of the accuracy against 25 %, every probe on its own, as in the paper

``probes`` are the maps of the edited pictures. ``unmoved map`` projects the plain picture's map around the boxes as they lie
afterwards: a map that never moves scores this much, so only what a model's map has beyond it counts. ``false reference`` takes
B's centre, with θ_true and σ of A → B.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

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
    shared_keys,
)
from theodolite.instruments.compass.experiments.controls.edits import MOVE_A, RELOCATION, TRANSLATION
from theodolite.instruments.compass.experiments.controls.results import (
    ControlRow,
    ControlScore,
    RowBuilder,
    Values,
)
from theodolite.instruments.compass.formulas.compass import Compass
from theodolite.instruments.compass.measure import Sample

PROBES, UNMOVED, FALSE_REFERENCE = "probes", "unmoved map", "false reference"
ANSWERS = "the model's answers"
CHANCE = 0.25
NO_PLAIN = "the plain picture was not measured"

QUESTIONS = {
    RELOCATION: "Does the compass follow the target to another place in a real picture?",
    MOVE_A: "Does the compass turn when the reference moves and the target stays?",
    TRANSLATION: "Does the compass stay when both objects move together?",
}


@dataclass(frozen=True, slots=True, eq=False)
class _Probes:
    """How the probes of one control are grouped; all lists are one per probe."""

    batch: Batch
    """Which maps there are, and in which columns."""
    clusters: list[str]
    bases: list[tuple[str, str]]
    """The pair and prompt of each."""
    is_correct: NDArray[np.bool_]

    @classmethod
    def of(cls, batch: Batch) -> _Probes:
        return cls(
            batch,
            batch.clusters,
            [base_of(sample) for sample in batch.samples],
            np.array([sample.is_correct for sample in batch.samples]),
        )

    def where(self, mask: NDArray[np.bool_]) -> _Probes:
        chosen = np.flatnonzero(mask).tolist()
        return _Probes(
            self.batch,
            [self.clusters[i] for i in chosen],
            [self.bases[i] for i in chosen],
            self.is_correct[mask],
        )


def score_family(
    control: str,
    probes: Sequence[Sample],
    plain: Sequence[Sample],
    *,
    methods: Sequence[str] = (),
    seed: int = 0,
) -> ControlScore:
    """Scores relocation, fix-b-move-a or joint-translation.

    Args:
        control: Which of them.
        probes: The samples of the edited pictures.
        plain: The samples of the plain pictures.
        methods: Which methods; all if none is named.
        seed: Seed of random maps and the sign-flip test.
    """
    batch = Batch(probes, shared_keys(probes, methods), seed=seed)
    own = _Probes.of(batch)
    by_base = {base_of(sample): sample for sample in plain}
    has_plain = np.array([base in by_base for base in own.bases])
    unmoved = _unmoved(batch, by_base, seed)
    rows: list[ControlRow] = []
    for projection in PROJECTIONS:
        rows.append(answer_row(PROBES, own.is_correct, own.clusters, projection))
        rows += _rows(PROBES, batch.compass(projection), own, projection, seed)
        if unmoved is not None:
            placed = [sample for sample, there in zip(probes, has_plain, strict=True) if there]
            compass = unmoved.compass(
                projection,
                references=[sample.reference.box for sample in placed],
                targets=[sample.target.box for sample in placed],
            )
            rows += _rows(UNMOVED, compass, own.where(has_plain), projection, seed)
        if control == RELOCATION:
            centres = [[sample.target.box.centre_px] for sample in probes]
            compass = batch.compass(projection, centres_px=centres)[:, 0]
            rows += _rows(FALSE_REFERENCE, compass, own, projection, seed)
    lost = int((~has_plain).sum())
    notes = [f"{len(probes)} probes of {len(set(own.bases))} pairs."]
    if lost:
        notes.append(f"{UNMOVED}: {lost} probes are left out: {NO_PLAIN}.")
    return ControlScore(control, QUESTIONS[control], tuple(rows), tuple(notes))


def _unmoved(batch: Batch, plain: Mapping[tuple[str, str], Sample], seed: int) -> Batch | None:
    """The maps of the plain picture of each probe, where it was measured."""
    there = [plain[base_of(sample)] for sample in batch.samples if base_of(sample) in plain]
    return Batch(there, batch.method_keys, seed=seed) if there else None


def base_of(sample: Sample) -> tuple[str, str]:
    """The pair and prompt of a sample, whatever was done to it."""
    return sample.id, sample.prompt


def _rows(
    condition: str, compass: Compass, probes: _Probes, projection: ControlProjection, seed: int
) -> list[ControlRow]:
    """One row per map; the compass has shape (probes, columns)."""
    batch, clusters = probes.batch, probes.clusters
    by_column = errors_of(compass, projection)
    errors, found = batch.over_draws(by_column), batch.over_draws(hits(by_column))
    divergence = batch.over_draws(_within_pairs(compass, probes.bases))
    pictures = list(dict(zip(probes.bases, clusters, strict=True)).values())
    rows = []
    for k, key in enumerate(batch.keys):
        at = batch.uniform_of(key)
        build = RowBuilder(seed)
        hit = Values.of(found[:, k], clusters)
        build.mean("dae", Values.of(errors[:, k], clusters))
        if k != at:
            build.mean("excess_dae", Values.of(errors[:, k] - errors[:, at], clusters))
            build.flip_test("over_uniform", hit, Values.of(found[:, at], clusters), "greater")
        build.mean("peak_accuracy", hit)
        if condition == PROBES:
            build.mean("peak_accuracy_correct", hit.where(probes.is_correct))
        build.mean("divergence", Values.of(divergence[:, k], pictures))
        there = hit.is_there
        if there.any() and not batch.is_drawn(key):
            build.tests["binomial"] = stats.binomial_test(
                int(hit.numbers[there].sum()), int(there.sum()), probability=CHANCE, alternative="greater"
            )
        build.leave_out(compass[:, batch.column(key)])
        rows.append(build.row(key, projection.name, condition))
    return rows


def answer_row(
    condition: str, is_correct: NDArray[np.bool_], clusters: Sequence[str], projection: ControlProjection
) -> ControlRow:
    """How often the model itself is right."""
    build = RowBuilder(seed=0)
    build.mean("accuracy", Values.of(is_correct.astype(np.float64), clusters))
    return build.row(ANSWERS, projection.name, condition)


def _within_pairs(compass: Compass, bases: Sequence[tuple[str, str]]) -> NDArray[np.float64]:
    """The mean divergence between every two probes of each pair, shape (pairs, columns); NaN for a single probe."""
    members: dict[tuple[str, str], list[int]] = {}
    for i, base in enumerate(bases):
        members.setdefault(base, []).append(i)
    found = np.full((len(members), compass.shape[1]), np.nan)
    for place, own in enumerate(members.values()):
        twos = np.array(list(combinations(own, 2)), np.int64).reshape(-1, 2)
        values = divergences(compass[twos[:, 0]], compass[twos[:, 1]])
        there = (~np.isnan(values)).sum(axis=0)
        found[place] = np.where(there > 0, np.nansum(values, axis=0) / np.maximum(there, 1), np.nan)
    return found
