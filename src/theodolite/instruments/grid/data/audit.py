"""The audit of a data set: every label, guarantee and split recomputed from the stored scenes, and every shortcut tried.

`compare_datasets` checks two data sets against each other: the same distribution of answers, and no scene in two splits.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from theodolite.core.errors import UsageError
from theodolite.core.tables import Cell, Column, Table
from theodolite.instruments.grid.data.batch import GUARANTEES, SceneBatch, complete, hash_scenes
from theodolite.instruments.grid.data.dataset import DatasetPlan
from theodolite.instruments.grid.data.evaluate import find_anchors
from theodolite.instruments.grid.data.faults import (
    Fault,
    broken_labels,
    broken_scenes,
    broken_splits,
    compare_pictures,
)
from theodolite.instruments.grid.data.files import StoredDataset
from theodolite.instruments.grid.data.learned import (
    ALLOWED,
    LearnedShortcut,
    broken_promises,
    every_clue_table,
    learned_shortcuts,
    learned_tables,
    least_gain,
)
from theodolite.instruments.grid.data.promise import Promise, promise_of
from theodolite.instruments.grid.data.shortcuts import Shortcut, try_shortcuts
from theodolite.instruments.grid.data.words import Questions, read_questions, words_of, write_questions
from theodolite.instruments.grid.data.world import ANCHOR_SIDE, BUCKETS, MOST_ANCHORS, Mode
from theodolite.instruments.grid.published import published_shortcut
from theodolite.stats import Estimate, holm, mutual_information, wilson_interval


@dataclass(frozen=True, slots=True)
class BucketAudit:
    """One bucket at one density."""

    bucket: str
    density: str
    objects: int
    n: int
    promise: Promise
    levels: dict[str, int]
    """The number of scenes at each level of guarantee."""
    shortcuts: list[Shortcut]
    learned: list[LearnedShortcut]

    @property
    def covered(self) -> list[LearnedShortcut]:
        """The learned shortcuts that the promise is about."""
        return [each for each in self.learned if each.family in self.promise.covers]


@dataclass(frozen=True, slots=True)
class Audit:
    """The audit of one data set."""

    name: str
    """Its folder."""
    mode: Mode
    preset: str
    n: int
    duplicates: int
    """Scenes that occur more than once with the same question."""
    pictures_checked: int
    buckets: list[BucketAudit]
    overall: dict[str, Estimate]
    """Success of each shortcut over all buckets."""
    faults: list[Fault]

    @property
    def is_kept(self) -> bool:
        """True if every check passed."""
        return not self.faults


def audit(
    data: StoredDataset,
    *,
    n_permutations: int = 199,
    most_pictures: int = 200,
    seed: int = 0,
) -> Audit:
    """Audits a data set from its files.

    Args:
        data: As `read_dataset` gives it.
        n_permutations: Shuffles behind each mutual information.
        most_pictures: Compare this many pictures with their scenes, evenly spread.
        seed: Seed of the shuffles.
    """
    world, mode = data.plan.recipe.world, data.plan.mode
    questions, words, spans = _questions(data)
    faults = list(broken_scenes(world, data, questions))
    places, counts = find_anchors(data.cells, questions)
    is_lost = ((ANCHOR_SIDE[questions.bucket][:, : places.shape[1]] > 0) & (counts != 1)).any(axis=1)
    rows = np.flatnonzero(~is_lost)
    if not len(rows):
        raise UsageError(f"no scene of {data.folder} has its anchors; it cannot be audited")
    scenes = complete(
        world,
        mode,
        cells=data.cells[rows],
        questions=questions.take(rows),
        written=(words[rows], spans[rows]),
    )
    faults += broken_labels(data, scenes, rows)
    faults += broken_splits(data, words)
    checked, broken = compare_pictures(data, most_pictures)
    faults += broken
    parts = []
    for key, density in dict.fromkeys((r.bucket, r.density) for r in data.records):
        mine = np.array([data.records[i].bucket == key and data.records[i].density == density for i in rows])
        if mine.any():
            parts.append(
                _audit_bucket(
                    scenes.take(mine), (key, density), data.plan, n_permutations=n_permutations, seed=seed
                )
            )
    faults.append(_broken_promises(parts))
    hashes = hash_scenes(data.cells, words)
    return Audit(
        data.folder.name,
        mode,
        data.plan.recipe.name,
        len(data),
        len(data) - len(np.unique(hashes)),
        checked,
        parts,
        _overall(parts),
        [fault for fault in faults if fault.count],
    )


def _questions(data: StoredDataset) -> tuple[Questions, NDArray[np.uint8], NDArray[np.uint8]]:
    said = np.stack([words_of(record.question) for record in data.records])
    questions = read_questions(said)
    return questions, *write_questions(questions)


def _audit_bucket(
    scenes: SceneBatch, name: tuple[str, str], plan: DatasetPlan, *, n_permutations: int, seed: int
) -> BucketAudit:
    objects = int(scenes.objects.max())
    promise = promise_of(BUCKETS[int(scenes.bucket[0])], objects, plan.recipe, scenes.mode)
    counts = np.bincount(scenes.guarantee, minlength=len(GUARANTEES))
    levels = {level: int(count) for level, count in zip(GUARANTEES, counts, strict=True) if count}
    found = try_shortcuts(scenes, n_permutations=n_permutations, seed=seed)
    learned = learned_shortcuts(scenes)
    return BucketAudit(name[0], name[1], objects, len(scenes), promise, levels, found, learned)


def _broken_promises(parts: Sequence[BucketAudit]) -> Fault:
    """Learned shortcuts that pay although the promise says they do not; tested together, over all buckets."""
    covered = [(part, each) for part in parts for each in part.covered]
    broken = {id(each) for each in broken_promises([each for _, each in covered])}
    where = [(part, each) for part, each in covered if id(each) in broken]
    example = ""
    if where:
        part, each = max(where, key=lambda pair: pair[1].gain.value)
        example = f"{part.bucket} {part.density}: {each.name}, {each.accuracy.value:.0%} right, {each.baseline} {each.base.value:.0%}"
    n = sum(part.n for part in parts if any(part is other for other, _ in where))
    return Fault("no learned shortcut pays, as promised", n, example)


def _overall(parts: list[BucketAudit]) -> dict[str, Estimate]:
    """Success over all buckets that a shortcut applies to."""
    right: dict[str, list[int]] = {}
    for part in parts:
        for each in part.shortcuts:
            hits = right.setdefault(each.name, [0, 0])
            hits[0] += round(each.success.value * each.success.n)
            hits[1] += each.success.n
    return {name: wilson_interval(hits, n) for name, (hits, n) in right.items()}


@dataclass(frozen=True, slots=True)
class AnswerAgreement:
    """The distributions of answers of two data sets in one bucket."""

    bucket: str
    density: str
    distance: float
    """Total variation distance of the answers' shares, ½ Σ |p − q|."""
    p_value: float
    """Of the hypothesis that both distributions are the same, by permutation; Holm-adjusted over buckets."""
    n: tuple[int, int]


@dataclass(frozen=True, slots=True)
class DatasetComparison:
    """Two data sets compared."""

    answers: list[AnswerAgreement]
    shared_across_splits: int
    """Scenes that are in both data sets under different splits; must be 0."""
    shared: int
    """Scenes that are in both data sets."""
    level: float

    @property
    def differing(self) -> list[AnswerAgreement]:
        """Buckets with different distributions of answers."""
        return [each for each in self.answers if each.p_value < self.level]

    @property
    def is_kept(self) -> bool:
        """True if distributions agree and no scene is in two splits."""
        return not self.differing and not self.shared_across_splits


def compare_datasets(
    first: StoredDataset,
    second: StoredDataset,
    *,
    n_permutations: int | None = None,
    level: float = 0.01,
    seed: int = 0,
) -> DatasetComparison:
    """Compares the answers of two data sets bucket by bucket, and finds scenes that are in both.

    Whether answers depend on the data set is tested by their mutual information, with a permutation test.

    Args:
        first: A data set.
        second: Another one, with some bucket at the same density.
        n_permutations: In each bucket. The smallest p of m permutations is 1/(m + 1), which Holm multiplies by the number
            of buckets; by default there are enough to reach half of `level`.
        level: The adjusted p below which distributions differ.
        seed: Seed of the permutations.

    Raises:
        UsageError: They have no bucket in common, or too few permutations for any p below `level`.
    """
    ours, others = _groups(first), _groups(second)
    keys = [key for key in ours if key in others]
    if not keys:
        raise UsageError(f"{first.folder} and {second.folder} have no bucket at the same density in common")
    n_permutations = n_permutations or math.ceil(2 * len(keys) / level)
    if len(keys) / (n_permutations + 1) >= level:
        raise UsageError(
            f"{n_permutations} permutations cannot show a difference at {level} in {len(keys)} buckets; "
            f"give at least {math.ceil(len(keys) / level)}"
        )
    found = []
    for key in keys:
        mine, theirs = ours[key], others[key]
        labels = np.repeat([0, 1], [len(mine), len(theirs)])
        p = mutual_information(
            labels, np.array([*mine, *theirs]), n_permutations=n_permutations, seed=seed
        ).p_value
        found.append((key, answer_distance(mine, theirs), p, (len(mine), len(theirs))))
    adjusted = holm([p for _, _, p, _ in found])
    answers = [
        AnswerAgreement(bucket, density, distance, float(p), n)
        for ((bucket, density), distance, _, n), p in zip(found, adjusted, strict=True)
    ]
    splits = {record.hash: record.split for record in first.records}
    both = [record for record in second.records if record.hash in splits]
    crossing = sum(splits[record.hash] != record.split for record in both)
    return DatasetComparison(answers, crossing, len(both), level)


def _groups(data: StoredDataset) -> dict[tuple[str, str], list[str]]:
    groups: dict[tuple[str, str], list[str]] = {}
    for record in data.records:
        groups.setdefault((record.bucket, record.density), []).append(record.answer)
    return groups


def answer_distance(first: Sequence[str], second: Sequence[str]) -> float:
    """Total variation distance ½ Σ |p − q| between the answers of two data sets."""
    a, b = Counter(first), Counter(second)
    return sum(abs(a[key] / len(first) - b[key] / len(second)) for key in {*a, *b}) / 2


_SHORTCUTS = ("prior", "bag of words", "majority", "salience")
_DROPPED = tuple(f"without anchor {k + 1}" for k in range(MOST_ANCHORS))
_SIGNIFICANT = 0.01


def audit_tables(audits: Sequence[Audit], *, clues: bool = False) -> list[Table]:
    """Success and information of every shortcut by bucket, success over all buckets, and failed checks.

    Args:
        audits: The audits.
        clues: Add a table with every learned shortcut.
    """
    learned = [
        (each.name, part.bucket, part.objects, part.learned) for each in audits for part in each.buckets
    ]
    columns = [
        Column("data", "data"),
        Column("check", "failed check"),
        Column("scenes", "scenes", "count"),
        Column("example", "example"),
    ]
    faults: list[list[Cell]] = [
        [each.name, fault.check, fault.count, fault.example] for each in audits for fault in each.faults
    ]
    tables = [
        _success_table("grid.shortcuts", "Share of right answers by shortcut", audits, _SHORTCUTS),
        _success_table("grid.dropped_anchors", "Share of right answers without an anchor", audits, _DROPPED),
        _information_table(audits),
        *learned_tables(learned),
        *([every_clue_table(learned)] if clues else []),
        _overall_table(audits),
        Table.of("grid.faults", "Failed checks", columns, faults),
    ]
    return [table for table in tables if table.rows]


def _place_columns() -> list[Column]:
    return [Column("data", "data"), Column("bucket", "bucket"), Column("objects", "objects", "count")]


def _success_table(name: str, title: str, audits: Sequence[Audit], shortcuts: Sequence[str]) -> Table:
    rows: list[list[Cell]] = []
    for each in audits:
        for part in each.buckets:
            kept = ", ".join(f"{level} {count}" for level, count in part.levels.items() if level != "none")
            success = {shortcut.name: shortcut.success for shortcut in part.shortcuts}
            cells = [success.get(shortcut) for shortcut in shortcuts]
            if any(cells):
                rows.append([each.name, part.bucket, part.objects, part.n, kept or "none", *cells])
    columns = [
        *_place_columns(),
        Column("n", "n", "count"),
        Column("guarantee", "guarantee"),
        *(Column(word.replace(" ", "_"), word, "share", "grid.shortcut_success") for word in shortcuts),
    ]
    return Table.of(name, title, columns, rows)


def _information_table(audits: Sequence[Audit]) -> Table:
    rows: list[list[Cell]] = []
    for each in audits:
        for part in each.buckets:
            bits = {s.name: max(0.0, s.information.corrected) for s in part.shortcuts}
            sure = [s.name for s in part.shortcuts if s.information.p_value < _SIGNIFICANT]
            cells = [bits.get(name) for name in (*_SHORTCUTS, *_DROPPED)]
            rows.append([each.name, part.bucket, part.objects, *cells, ", ".join(sure)])
    columns = [
        *_place_columns(),
        *(
            Column(name.replace(" ", "_"), name, "bits", "grid.shortcut_information")
            for name in (*_SHORTCUTS, *_DROPPED)
        ),
        Column("significant", f"p < {_SIGNIFICANT}"),
    ]
    title = "Information of each shortcut about the answer: bits above that of shuffled answers"
    return Table.of("grid.shortcut_information", title, columns, rows, ["Estimates below 0 are shown as 0."])


def _overall_table(audits: Sequence[Audit]) -> Table:
    """Over all buckets, and for the buckets of which the paper reports a number."""
    rows: list[list[Cell]] = []
    for each in audits:
        for name, success in each.overall.items():
            paper = published_shortcut(name, each.mode)
            words = paper.words if paper else ""
            rows.append([each.name, name, "all", success, paper.success if paper else None, words])
        for part in each.buckets:
            for shortcut in part.shortcuts:
                paper = published_shortcut(shortcut.name, each.mode, bucket=part.bucket, density=part.density)
                if paper is not None:
                    where = f"{part.bucket} {part.density}"
                    rows.append(
                        [each.name, shortcut.name, where, shortcut.success, paper.success, paper.words]
                    )
    columns = [
        Column("data", "data"),
        Column("shortcut", "shortcut"),
        Column("bucket", "bucket"),
        Column("success", "right", "share", "grid.shortcut_success"),
        Column("paper", "paper", "share", "grid.shortcut_success"),
        Column("remark", "remark"),
    ]
    return Table.of(
        "grid.shortcuts_overall", "Shortcuts over all buckets", columns, rows, _audit_notes(audits)
    )


def _audit_notes(audits: Sequence[Audit]) -> list[str]:
    notes = []
    for each in audits:
        words = [f"{each.name}: {each.n} {each.mode} scenes, preset {each.preset}"]
        if each.duplicates:
            words.append(f"{each.duplicates} scenes occur more than once")
        words.append(f"{each.pictures_checked} pictures compared with their scenes")
        words.append("every check passed" if each.is_kept else "some checks failed")
        notes.append("; ".join(words) + ".")
        if each.mode == "pure":
            notes.append(_learnable(each))
            notes += _known_leaks(each)
    return notes


def _known_leaks(found: Audit) -> list[str]:
    where: dict[str, list[str]] = {}
    for part in found.buckets:
        for family in part.promise.leaks:
            where.setdefault(f"“{family}”", []).append(part.bucket)
    words = [f"{family} in {', '.join(dict.fromkeys(buckets))}" for family, buckets in where.items()]
    return [f"{found.name}: not promised, and known to pay: {'; '.join(words)}."] if words else []


def _learnable(found: Audit) -> str:
    """In how many buckets something pays, whether or not it is promised that nothing does, and what could have been seen."""
    every = [each for part in found.buckets for each in part.learned]
    broken = {id(each) for each in broken_promises(every)}
    n = sum(any(id(each) in broken for each in part.learned) for part in found.buckets)
    least = []
    for part in found.buckets:
        seen = [least_gain(each.accuracy.n, len(every)) for each in part.learned]
        if any(gain <= 1 - each.base.value for gain, each in zip(seen, part.learned, strict=True)):
            least.append(min(seen))
    few = len(found.buckets) - len(least)
    if not least:
        return f"{found.name}: too few scenes of each bucket to tell whether a learned shortcut pays."
    span = " to ".join(dict.fromkeys(f"{100 * gain:.0f}" for gain in (min(least), max(least))))
    words = [
        f"{found.name}: in {n} of {len(least)} buckets a learned shortcut is surely more than {100 * ALLOWED:.0f} points above its baseline",
        f"with this many scenes, a gain below {span} points cannot be told from chance",
        *([f"{few} buckets have too few scenes to tell"] if few else []),
    ]
    return "; ".join(words) + "."


def comparison_table(found: DatasetComparison) -> Table:
    """The distributions of answers of two data sets, by bucket."""
    notes = [
        f"{found.shared} scenes are in both data sets, {found.shared_across_splits} of them in different splits.",
        *(f"Answers differ in {each.bucket}, {each.density}." for each in found.differing),
    ]
    if found.is_kept:
        notes.append("Answers agree, and no scene is in two splits.")
    return Table.of(
        "grid.answer_agreement",
        "Do both data sets have the same answers? Total variation distance by bucket",
        [
            Column("bucket", "bucket"),
            Column("density", "density"),
            Column("n_first", "n, first", "count"),
            Column("n_second", "n, second", "count"),
            Column("distance", "distance", "number", "grid.answer_distance"),
            Column("p", "p (Holm)", "p"),
        ],
        [[each.bucket, each.density, *each.n, each.distance, each.p_value] for each in found.answers],
        notes,
    )
