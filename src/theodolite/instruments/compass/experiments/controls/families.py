"""Families of edited pictures: does the compass follow what was moved?

    peak accuracy   share of probes with the peak within 45° of A → B as they lie now
    JSD             divergence between every two probes of a pair, in bits; a pair's mean counts once
    VLM-correct     the same accuracy on probes that the model answers right
    binomial        p of the accuracy against 25 %, every probe on its own, as the paper has it

``probes`` are the maps of the edited pictures. ``unmoved map`` projects the plain picture's map around the boxes as they lie
afterwards: a map that never moves scores so much, so what a model's map has beyond it is its own. ``false reference`` stands
at B, with θ_true and σ of A → B.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from theodolite import stats
from theodolite.instruments.compass.experiments.controls.batch import (
    READINGS,
    UNIFORM,
    Batch,
    Reading,
    dae_of,
    divergences,
    hits,
    shared_keys,
)
from theodolite.instruments.compass.experiments.controls.edits import MOVE_A, RELOCATION, TRANSLATION
from theodolite.instruments.compass.experiments.controls.estimates import RowBuilder, Values, reasons_of
from theodolite.instruments.compass.experiments.controls.published import MOVE_A as PUBLISHED_MOVE_A
from theodolite.instruments.compass.experiments.controls.published import RELOCATION as PUBLISHED_RELOCATION
from theodolite.instruments.compass.experiments.controls.results import ControlRow, ControlScore
from theodolite.instruments.compass.formulas.distribution import Compass
from theodolite.instruments.compass.samples import Sample

PROBES, UNMOVED, FALSE_REFERENCE = "probes", "unmoved map", "false reference"
ANSWERS = "the model's answers"
CHANCE = 0.25
NO_PLAIN = "the plain picture was not measured"

QUESTIONS = {
    RELOCATION: "Does the compass follow the target to another place in a real picture?",
    MOVE_A: "Does the compass turn when the reference moves and the target stays?",
    TRANSLATION: "Does the compass stay when both objects move together?",
}
_PUBLISHED = {RELOCATION: PUBLISHED_RELOCATION, MOVE_A: PUBLISHED_MOVE_A, TRANSLATION: ()}


@dataclass(frozen=True, slots=True, eq=False)
class _Probes:
    """What the probes of one control are grouped and compared by; all lists are one per probe."""

    keys: tuple[str, ...]
    clusters: list[str]
    bases: list[tuple[str, str]]
    """The pair and prompt that each comes from."""
    is_correct: NDArray[np.bool_]

    @classmethod
    def of(cls, batch: Batch) -> _Probes:
        return cls(
            batch.keys,
            batch.clusters,
            [base_of(sample) for sample in batch.samples],
            np.array([sample.is_correct for sample in batch.samples]),
        )

    def where(self, mask: NDArray[np.bool_]) -> _Probes:
        chosen = np.flatnonzero(mask).tolist()
        return _Probes(
            self.keys,
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
        control: which.
        probes: the samples of the edited pictures.
        plain: the samples of the pictures as they are.
        methods: which relevance methods; all if none is named.
        seed: of random maps and bootstrap.
    """
    batch = Batch(probes, shared_keys(probes, methods), seed=seed)
    own = _Probes.of(batch)
    by_base = {base_of(sample): sample for sample in plain}
    has_plain = np.array([base in by_base for base in own.bases])
    unmoved = _unmoved(batch, by_base, seed)
    rows: list[ControlRow] = []
    for reading in READINGS:
        rows += [answer_row(PROBES, own.is_correct, own.clusters, reading, seed)]
        rows += _rows(PROBES, batch.compass(reading), own, reading, seed)
        if unmoved is not None:
            placed = [sample for sample, there in zip(probes, has_plain, strict=True) if there]
            compass = unmoved.compass(
                reading,
                references=[sample.reference.box for sample in placed],
                targets=[sample.target.box for sample in placed],
            )
            rows += _rows(UNMOVED, compass, own.where(has_plain), reading, seed)
        if control == RELOCATION:
            centres = [[sample.target.box.centre_px] for sample in probes]
            compass = batch.compass(reading, centres_px=centres)[:, 0]
            rows += _rows(FALSE_REFERENCE, compass, own, reading, seed)
    lost = int((~has_plain).sum())
    notes = [f"{len(probes)} probes of {len(set(own.bases))} pairs"]
    if lost:
        notes.append(f"{UNMOVED}: {lost} probes are not in it ({NO_PLAIN})")
    return ControlScore(control, QUESTIONS[control], tuple(rows), tuple(notes), _PUBLISHED[control])


def _unmoved(batch: Batch, plain: Mapping[tuple[str, str], Sample], seed: int) -> Batch | None:
    """For each probe whose plain picture was measured, that picture's maps."""
    there = [plain[base_of(sample)] for sample in batch.samples if base_of(sample) in plain]
    return Batch(there, batch.method_keys, seed=seed) if there else None


def base_of(sample: Sample) -> tuple[str, str]:
    """The pair and prompt that a sample comes from, whatever was done to it."""
    return sample.id, sample.prompt


def _rows(condition: str, compass: Compass, probes: _Probes, reading: Reading, seed: int) -> list[ControlRow]:
    """One row per method; the compass has shape (probes, keys)."""
    errors = dae_of(compass, reading)
    found = hits(errors)
    clusters = probes.clusters
    uniform = Values.of(found[:, probes.keys.index(UNIFORM)], clusters)
    uniform_errors = Values.of(errors[:, probes.keys.index(UNIFORM)], clusters)
    rows = []
    for k, key in enumerate(probes.keys):
        build = RowBuilder(seed)
        hit = Values.of(found[:, k], clusters)
        build.mean("dae_deg", Values.of(errors[:, k], clusters))
        if key != UNIFORM:
            build.difference("dae_excess_deg", Values.of(errors[:, k], clusters), uniform_errors)
        build.share("peak_accuracy", hit)
        if condition == PROBES:
            build.share("peak_accuracy_correct", hit.where(probes.is_correct))
        build.mean("jsd_bits", _within_pairs(compass[:, k], probes.bases, clusters))
        there = hit.is_there
        if there.any():
            build.tests["binomial"] = stats.binomial_test(
                int(hit.numbers[there].sum()), int(there.sum()), probability=CHANCE, alternative="greater"
            )
        if key != UNIFORM:
            build.flip_test("over_uniform", hit, uniform, "greater")
        build.leave_out(reasons_of(compass[:, k]))
        rows.append(
            ControlRow(key, reading.name, condition, build.figures, build.tests, dict(build.excluded))
        )
    return rows


def answer_row(
    condition: str, is_correct: NDArray[np.bool_], clusters: Sequence[str], reading: Reading, seed: int
) -> ControlRow:
    """How often the model itself is right."""
    build = RowBuilder(seed)
    build.share("answer_accuracy", Values.of(is_correct.astype(np.float64), clusters))
    return ControlRow(ANSWERS, reading.name, condition, build.figures, {}, dict(build.excluded))


def _within_pairs(compass: Compass, bases: Sequence[tuple[str, str]], clusters: Sequence[str]) -> Values:
    """For each pair the mean divergence between every two of its probes; NaN for a pair with a single one."""
    members: dict[tuple[str, str], list[int]] = {}
    for i, base in enumerate(bases):
        members.setdefault(base, []).append(i)
    found = []
    for own in members.values():
        twos = np.array(list(combinations(own, 2)), np.int64).reshape(-1, 2)
        values = divergences(compass[twos[:, 0]], compass[twos[:, 1]])
        values = values[~np.isnan(values)]
        found.append(float(values.mean()) if values.size else np.nan)
    return Values.of(found, [clusters[own[0]] for own in members.values()])
