"""Checks of a data set: what each scene must satisfy, and the scenes that do not."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from theodolite.core.errors import UsageError, install_line
from theodolite.core.scores import column
from theodolite.core.tables import Cell, Column, Table
from theodolite.core.types import Picture
from theodolite.instruments.grid.data.balanced import balance_of
from theodolite.instruments.grid.data.batch import (
    GUARANTEES,
    ROLES,
    SceneBatch,
    bag_of_words,
    complete,
    dropped_anchor,
    find_anchors,
    hash_scenes,
    majority,
    split_of,
)
from theodolite.instruments.grid.data.files import DatasetPlan, StoredDataset
from theodolite.instruments.grid.data.ignorance import (
    ALLOWED,
    FAMILIES,
    LEARNERS,
    LearnedShortcut,
    broken_promises,
    can_learn,
    chance_above,
    ignorances,
    learned_shortcuts,
    least_gain,
    strongest,
)
from theodolite.instruments.grid.data.question_types import (
    ANCHOR_SIDE,
    BUCKET_KEYS,
    BUCKETS,
    MOST_ANCHORS,
    Bucket,
    QuestionTable,
    read_questions,
    words_of,
    write_questions,
)
from theodolite.instruments.grid.data.recipe import GridRecipe, guarantee_of
from theodolite.instruments.grid.data.world import (
    COLOUR_OF,
    COLOURS,
    N_CLASSES,
    SHAPE_OF,
    SHAPES,
    Flags,
    GridShape,
    Mode,
    class_name,
    read_cells,
)
from theodolite.instruments.grid.published import published_shortcut
from theodolite.stats import (
    Estimate,
    MutualInformation,
    holm,
    mutual_information,
    wilson_interval,
)

# What learners get out of scenes with one thing left out.


_PLACE = (Column("data", "data"), Column("bucket", "bucket"), Column("objects", "objects", "count"))


def learned_table(rows: Sequence[tuple[str, str, int, Sequence[LearnedShortcut]]]) -> Table:
    """Return what learners have right by family of ignorances: the strongest of each.

    Args:
        rows: Data set, bucket, number of objects and learned shortcuts.
    """
    cells: list[list[Cell]] = []
    for data, bucket, objects, shortcuts in rows:
        if not shortcuts:
            continue
        best = [strongest(shortcuts, family) for family in FAMILIES]
        most = max(shortcuts, key=lambda shortcut: shortcut.gain.value)
        constant = most.accuracy.value - most.above_constant.value
        shares = [None if each is None else each.accuracy for each in best]
        cells.append([data, bucket, objects, constant, *shares, most.name, most.gain])
    notes = [
        "Of each family the ignorance and the learner with the largest gain, on scenes that the learner was not fitted to.",
        f"Learners: {', '.join(LEARNERS)}. Each sees the whole scene, and all of the question but the part that is left out.",
        "The baseline is the best constant answer; in comparisons with one group known, the best map from its count.",
    ]
    columns = [
        *_PLACE,
        column("grid.learned_success", "constant", "best constant"),
        *(column("grid.learned_success", f"without_{_name(family)}", family) for family in FAMILIES),
        Column("strongest", "strongest"),
        column("grid.learned_success", "gain", "above its baseline", difference=True),
    ]
    title = "Share of right answers by what is left out"
    return Table.of("grid.learned_shortcuts", title, columns, cells, notes)


def _name(family: str) -> str:
    return family.replace(" ", "_")


def every_ignorance_table(rows: Sequence[tuple[str, str, int, Sequence[LearnedShortcut]]]) -> Table:
    """Return a table with one row per ignorance and learner."""
    cells: list[list[Cell]] = [
        [
            data,
            bucket,
            objects,
            shortcut.family,
            shortcut.name,
            shortcut.learner,
            shortcut.accuracy,
            shortcut.baseline,
            shortcut.base,
            None if shortcut.chance_above is None else shortcut.base.value + shortcut.chance_above,
            shortcut.gain,
            shortcut.above_constant,
        ]
        for data, bucket, objects, shortcuts in rows
        for shortcut in shortcuts
    ]
    columns = [
        *_PLACE,
        Column("family", "family"),
        Column("ignorance", "left out"),
        Column("learner", "learner"),
        column("grid.learned_success", "right", "right"),
        Column("baseline", "baseline"),
        column("grid.learned_success", "base", "baseline right"),
        column("grid.learned_success", "chance", "promised at most"),
        column("grid.learned_success", "gain", "above its baseline", difference=True),
        column("grid.learned_success", "above_constant", "above constant", difference=True),
    ]
    return Table.of("grid.ignorances", "Every ignorance", columns, cells)


@dataclass(frozen=True, slots=True)
class Fault:
    """A failed check."""

    check: str
    """What should hold."""
    count: int
    """How many scenes fail it."""
    example: str
    """One of them, with the reason."""


def _fault(data: StoredDataset, check: str, is_broken: NDArray[np.bool_], how: Callable[[int], str]) -> Fault:
    rows = np.flatnonzero(is_broken)
    example = f"{data.records[int(rows[0])].id}: {how(int(rows[0]))}" if len(rows) else ""
    return Fault(check, len(rows), example)


def broken_scenes(world: GridShape, data: StoredDataset, questions: QuestionTable) -> Iterator[Fault]:
    """Check bucket, objects and anchors; in spurious data also that a bag of words is right.

    Args:
        world: The grid.
        data: The stored data set.
        questions: Its questions, parsed from their words.
    """
    records = data.records
    asked = np.array([BUCKET_KEYS[i] for i in questions.bucket])
    kept = np.array([record.bucket for record in records])
    yield _fault(data, "the question is of its bucket", asked != kept, lambda i: f"asks {asked[i]}")
    objects = (data.cells > 0).sum(axis=1)
    planned = {str(density): data.plan.recipe.objects(density) for density in data.plan.densities}
    wanted = np.array([planned.get(record.density, -1) for record in records])
    yield _fault(
        data,
        "the scene has the objects of its density",
        objects != wanted,
        lambda i: f"{objects[i]}, not {wanted[i]}",
    )
    positions, counts = find_anchors(data.cells, questions)
    is_lost = (ANCHOR_SIDE[questions.bucket][:, : positions.shape[1]] > 0) & (counts != 1)
    yield _fault(
        data,
        "every anchor is exactly one object",
        is_lost.any(axis=1),
        lambda i: f"fitting objects {counts[i].tolist()}",
    )
    if data.plan.mode == "spur":
        answers = bag_of_words(world, data.cells, questions)
        texts = [world.answers[i] for i in answers]
        is_wrong = np.array([mine != record.answer for mine, record in zip(texts, records, strict=True)])
        yield _fault(
            data, "a bag of words is right", is_wrong, lambda i: f"{texts[i]}, not {records[i].answer}"
        )


def broken_labels(data: StoredDataset, scenes: SceneBatch, rows: NDArray[np.int64]) -> Iterator[Fault]:
    """Check answers, roles and guarantees against those recomputed from the scenes.

    Args:
        data: The stored data set.
        scenes: The recomputed scenes.
        rows: The record of each scene.
    """
    whole = np.zeros(len(data), bool)

    def marked(is_broken: NDArray[np.bool_]) -> NDArray[np.bool_]:
        spread = whole.copy()
        spread[rows] = is_broken
        return spread

    index = {int(row): i for i, row in enumerate(rows)}
    kept = [data.records[int(row)] for row in rows]
    truth = [scenes.answer_text(i) for i in range(len(scenes))]
    yield _fault(
        data,
        "the answer is what the evaluator says",
        marked(np.array([t != r.answer for t, r in zip(truth, kept, strict=True)])),
        lambda i: f"{data.records[i].answer}, not {truth[index[i]]}",
    )
    roles = [[ROLES[role] for role in row] for row in scenes.roles]
    yield _fault(
        data,
        "the roles are the question's",
        marked(np.array([mine != r.roles for mine, r in zip(roles, kept, strict=True)])),
        lambda i: (
            f"{sum(a != b for a, b in zip(roles[index[i]], data.records[i].roles, strict=False))} cells have others"
        ),
    )
    levels = [GUARANTEES[g] for g in scenes.guarantee]
    yield _fault(
        data,
        "the guarantee is as recorded",
        marked(np.array([mine != r.guarantee for mine, r in zip(levels, kept, strict=True)])),
        lambda i: f"{data.records[i].guarantee}, not {levels[index[i]]}",
    )
    if data.plan.mode == "pure" and data.plan.recipe.law != "balanced":
        guaranteed = [_guaranteed(scenes, i) for i in range(len(scenes))]
        is_less = np.array(
            [GUARANTEES.index(a) < GUARANTEES.index(b) for a, b in zip(levels, guaranteed, strict=True)]
        )
        yield _fault(
            data,
            "Theorem 1 holds as guaranteed",
            marked(is_less),
            lambda i: f"{levels[index[i]]}, not {guaranteed[index[i]]}",
        )


def _guaranteed(scenes: SceneBatch, row: int) -> str:
    """Return the guarantee that a scene of this bucket, number of objects and answer must have."""
    bucket = BUCKETS[int(scenes.bucket[row])]
    guarantee = guarantee_of(bucket, int((scenes.cells[row] > 0).sum()))
    answer = scenes.answer_text(row)
    group = ("1" if answer == "1" else "more") if bucket.is_count else answer
    return guarantee.by_answer.get(group, guarantee.level)


def broken_splits(data: StoredDataset, words: NDArray[np.uint8]) -> Iterator[Fault]:
    """Check hashes and splits."""
    hashes = hash_scenes(data.cells, words)
    splits = split_of(hashes)
    stored = np.array([record.hash for record in data.records])
    fresh = np.array([f"{int(value):016x}" for value in hashes])
    yield _fault(data, "the hash is the scene's", stored != fresh, lambda i: f"{stored[i]}, not {fresh[i]}")
    named = np.array([record.split for record in data.records])
    yield _fault(data, "the split is the hash's", named != splits, lambda i: f"{named[i]}, not {splits[i]}")
    if data.plan.split is not None:
        yield _fault(
            data, f"every scene is of {data.plan.split}", splits != data.plan.split, lambda i: str(splits[i])
        )


def compare_pictures(data: StoredDataset, most: int) -> tuple[int, list[Fault]]:
    """Compare pictures with their scenes; return how many were compared, and the faults."""
    named = [i for i, record in enumerate(data.records) if record.file_name]
    chosen = [
        named[int(i)] for i in np.unique(np.linspace(0, len(named) - 1, min(most, len(named))).astype(int))
    ]
    is_broken, how = np.zeros(len(data), bool), {}
    for row in chosen:
        try:
            picture = Picture.from_path(data.folder / str(data.records[row].file_name))
            seen = read_cells(data.plan.recipe.world, picture.pixels())
            is_broken[row] = (seen != data.cells[row]).any()
            how[row] = f"{int((seen != data.cells[row]).sum())} cells differ"
        except UsageError as error:
            is_broken[row], how[row] = True, str(error)
    return len(chosen), [_fault(data, "the picture shows the scene", is_broken, lambda i: how[i])]


# How often shortcuts are right on a bucket, and how much they reveal about the answer.
#
# Success is a share with Wilson's interval. Information is I(shortcut; answer) in bits minus that of shuffled answers: a
# shortcut that is always wrong may still be informative, as a bag of words that always counts too many is. Shortcuts that
# learn something, such as the most frequent answer, learn it on every other scene and are tried on the rest.


@dataclass(frozen=True, slots=True)
class Shortcut:
    """One shortcut on one bucket."""

    name: str
    """``prior``, ``bag of words``, ``majority``, ``salience`` or ``without anchor k``."""
    success: Estimate
    """The share of right answers."""
    information: MutualInformation
    """Mutual information of its answer and the right one, in bits."""
    note: str = ""
    """What it learnt, or what it was tried on."""


def try_shortcuts(scenes: SceneBatch, *, n_permutations: int = 199, seed: int = 0) -> list[Shortcut]:
    """Measure every shortcut on scenes of one bucket and density.

    Args:
        scenes: Scenes of one bucket and density.
        n_permutations: Shuffles behind each mutual information.
        seed: Seed of the shuffles.
    """
    world, cells, questions = scenes.world, scenes.cells, scenes.questions
    bucket = BUCKETS[int(scenes.bucket[0])]

    def tried(name: str, answers: NDArray[np.uint8], truth: NDArray[np.uint8], note: str = "") -> Shortcut:
        right = int((answers == truth).sum())
        information = mutual_information(answers, truth, n_permutations=n_permutations, seed=seed)
        return Shortcut(name, wilson_interval(right, len(truth)), information, note)

    frequent, is_tied = majority(world, cells, questions)
    shortcuts = [
        tried("prior", *_prior(scenes)),
        tried("bag of words", bag_of_words(world, cells, questions), scenes.answer),
        tried(
            "majority",
            frequent,
            scenes.answer,
            f"{int(is_tied.sum())} scenes with several most frequent kinds",
        ),
        tried("salience", *_salience(scenes)),
    ]
    for k in range(bucket.n_anchors):
        answers = dropped_anchor(world, cells, questions, k=k)
        shortcuts.append(tried(f"without anchor {k + 1}", answers, scenes.answer))
    return shortcuts


def _halves(n: int) -> tuple[slice, slice]:
    """Return the scenes to learn from and the scenes to test on; a single scene is used for both."""
    return (slice(0, None, 2), slice(1, None, 2)) if n > 1 else (slice(None), slice(None))


def _prior(scenes: SceneBatch) -> tuple[NDArray[np.uint8], NDArray[np.uint8], str]:
    """Answer every scene with the most frequent answer."""
    learn, rest = _halves(len(scenes))
    best = int(np.bincount(scenes.answer[learn]).argmax())
    truth = scenes.answer[rest]
    return np.full_like(truth, best), truth, f"always {scenes.world.answers[best]}"


def _salience(scenes: SceneBatch) -> tuple[NDArray[np.uint8], NDArray[np.uint8], str]:
    """Answer by the most predictive colour, shape or class: one answer if it is present, another if not."""
    names, present = _attributes(scenes)
    learn, rest = _halves(len(scenes))
    answers = scenes.answer[learn]
    best, best_right, best_pair = 0, -1, (0, 0)
    for i in range(len(names)):
        there = present[learn, i]
        tables = [
            np.bincount(answers[there == flag], minlength=len(scenes.world.answers)) for flag in (False, True)
        ]
        right = sum(int(table.max()) for table in tables)
        if right > best_right:
            best, best_right, best_pair = i, right, (int(tables[0].argmax()), int(tables[1].argmax()))
    chosen = np.where(present[rest, best], best_pair[1], best_pair[0]).astype(np.uint8)
    words = scenes.world.answers
    return (
        chosen,
        scenes.answer[rest],
        f"{names[best]}: {words[best_pair[1]]} if there, {words[best_pair[0]]} if not",
    )


def _attributes(scenes: SceneBatch) -> tuple[list[str], Flags]:
    """Return which colours, shapes and classes are present in each scene, (n, 24)."""
    names = [*COLOURS, *SHAPES, *map(class_name, range(1, N_CLASSES + 1))]
    columns = [(COLOUR_OF[scenes.cells] == i + 1).any(axis=1) for i in range(len(COLOURS))]
    columns += [(SHAPE_OF[scenes.cells] == i + 1).any(axis=1) for i in range(len(SHAPES))]
    columns += [(scenes.cells == i).any(axis=1) for i in range(1, N_CLASSES + 1)]
    return names, np.stack(columns, axis=1)


# What the scenes of a bucket promise, in one sentence; `audit` holds data to it.


_WORDS = {
    "half target": "half of the target's description",
    "target": "the target",
    "word": "the reading of the target's colour or shape",
    "anchor": "an anchor",
    "places": "an anchor, but knows all places",
    "half anchor": "half of an anchor's description",
    "direction": "a direction",
    "group": "a group",
}


@dataclass(frozen=True, slots=True)
class Promise:
    """What holds for the scenes of a bucket."""

    sentence: str
    covers: tuple[str, ...] = ()
    """Families of ignorances that pay no more than the sentence says."""
    leaks: tuple[str, ...] = ()
    """Families of which nothing is promised."""


def promise_of(bucket: Bucket, objects: int, recipe: GridRecipe, mode: Mode) -> Promise:
    """Return the promise of a bucket with a number of objects.

    Args:
        bucket: The bucket.
        objects: Number of objects in a scene.
        recipe: The parameters of the generator.
        mode: ``pure`` or ``spur``.

    >>> from theodolite.instruments.grid.data.recipe import PAPER, SOUND
    >>> from theodolite.instruments.grid.data.question_types import bucket_index
    >>> promise_of(BUCKETS[bucket_index("M-F0-D2")], 17, PAPER, "pure").sentence
    'Without any one of its anchors, a question gets a wrong answer (Theorem 1).'
    >>> promise_of(BUCKETS[bucket_index("M-F0-D2")], 17, SOUND, "pure").leaks
    ('places', 'half anchor')
    """
    if mode == "spur":
        return Promise("A bag of words is right.")
    if recipe.law == "balanced":
        return _balanced(bucket, objects, recipe)
    if not bucket.n_anchors:
        return Promise("Nothing: the question has no relation.")
    if recipe.law == "released":
        return Promise(
            "Nothing: Theorem 1 is claimed, but the public generator leaves confuser regions empty."
        )
    return _theorem(bucket, objects)


def _theorem(bucket: Bucket, objects: int) -> Promise:
    guarantee = guarantee_of(bucket, objects)
    theorem = "Without any one of its anchors, a question gets a wrong answer (Theorem 1)"
    if bucket.is_comparison:
        theorem = "Without any anchor whose absence can mislead, a question gets a wrong answer (Theorem 1)"
    if guarantee.level == "full":
        return Promise(f"{theorem}.")
    if guarantee.by_answer:
        kept = " or ".join(answer for answer, level in guarantee.by_answer.items() if level == "full")
        return Promise(f"{theorem}, if the answer is {kept}: {guarantee.reason}.")
    return Promise(f"As far as objects suffice: {theorem[0].lower()}{theorem[1:]}; {guarantee.reason}.")


def _balanced(bucket: Bucket, objects: int, recipe: GridRecipe) -> Promise:
    every = [(each, chance_above(each, bucket, objects, recipe)) for each in ignorances(bucket)]
    above: dict[str, float | None] = {}
    for ignorance, chance in every:
        known = above.get(ignorance.family, 0.0)
        above[ignorance.family] = None if chance is None or known is None else max(chance, known)
    covers = tuple(family for family in FAMILIES if above.get(family) is not None)
    leaks = tuple(family for family in FAMILIES if family in above and above[family] is None)
    nothing = [_WORDS[family] for family in covers if not above[family]]
    constant = 1 / (balance_of(bucket, objects, recipe).most + 1) if bucket.is_count else 1 / 2
    words = [f"Who leaves out {_listed(nothing)} is right no more often than the best constant answer"]
    if bucket.is_comparison:
        words[0] += ", or than the best map from the count of the other group"
    for family in covers:
        if above[family]:
            what = "the first group" if family == "group" else _WORDS[family]
            words.append(f"without {what}, at most {constant + (above[family] or 0.0):.0%}")
    if leaks:
        words.append(f"nothing of who leaves out {_listed([_WORDS[family] for family in leaks])}")
    return Promise("; ".join(words) + ".", covers, leaks)


def _listed(words: Sequence[str]) -> str:
    return " or ".join(filter(None, (", ".join(words[:-1]), words[-1])))


def promise_table(plan: DatasetPlan) -> Table:
    """Return every promise of a plan, with its buckets."""
    by_sentence: dict[str, dict[str, list[int]]] = {}
    for objects in map(plan.recipe.objects, plan.densities):
        for bucket in BUCKETS:
            if bucket.key in plan.buckets:
                sentence = promise_of(bucket, objects, plan.recipe, plan.mode).sentence
                by_sentence.setdefault(sentence, {}).setdefault(bucket.key, []).append(objects)
    everything = sorted({plan.recipe.objects(density) for density in plan.densities})
    rows: list[list[Cell]] = []
    for sentence, buckets in by_sentence.items():
        named = [
            key if sorted(counts) == everything else f"{key} with {', '.join(map(str, counts))} objects"
            for key, counts in buckets.items()
        ]
        rows.append([sentence, ", ".join(named)])
    notes = []
    if plan.mode == "pure" and plan.recipe.law != "balanced":
        notes = [
            "Nothing is promised of what can be learned with one thing left out; `grid audit` measures it."
        ]
    columns = [Column("promise", "promise"), Column("buckets", "buckets")]
    return Table.of("grid.promises", f"What the preset {plan.recipe.name} promises", columns, rows, notes)


# The audit of a data set: every label, guarantee and split recomputed from the stored scenes, and every shortcut tried.
#
# `compare_datasets` checks two data sets against each other: the same distribution of answers, and no scene in two splits.


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
        return [shortcut for shortcut in self.learned if shortcut.chance_above is not None]


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
    """Audit a data set from its files.

    Args:
        data: As `read_dataset` gives it.
        n_permutations: Shuffles behind each mutual information.
        most_pictures: Compare this many pictures with their scenes, evenly spread.
        seed: Seed of the shuffles.
    """
    world, mode = data.plan.recipe.world, data.plan.mode
    questions, words, spans = _questions(data)
    faults = list(broken_scenes(world, data, questions))
    positions, counts = find_anchors(data.cells, questions)
    is_lost = ((ANCHOR_SIDE[questions.bucket][:, : positions.shape[1]] > 0) & (counts != 1)).any(axis=1)
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


def _questions(data: StoredDataset) -> tuple[QuestionTable, NDArray[np.uint8], NDArray[np.uint8]]:
    words = np.stack([words_of(record.question) for record in data.records])
    questions = read_questions(words)
    return questions, *write_questions(questions)


def _audit_bucket(
    scenes: SceneBatch, name: tuple[str, str], plan: DatasetPlan, *, n_permutations: int, seed: int
) -> BucketAudit:
    objects = int(scenes.objects.max())
    promise = promise_of(BUCKETS[int(scenes.bucket[0])], objects, plan.recipe, scenes.mode)
    counts = np.bincount(scenes.guarantee, minlength=len(GUARANTEES))
    levels = {level: int(count) for level, count in zip(GUARANTEES, counts, strict=True) if count}
    shortcuts = try_shortcuts(scenes, n_permutations=n_permutations, seed=seed)
    learned = learned_shortcuts(scenes, plan.recipe) if can_learn() else []
    return BucketAudit(name[0], name[1], objects, len(scenes), promise, levels, shortcuts, learned)


def _broken_promises(parts: Sequence[BucketAudit]) -> Fault:
    """Report learned shortcuts that pay against the promise, tested together over all buckets."""
    covered = [(part, shortcut) for part in parts for shortcut in part.covered]
    broken = {id(shortcut) for shortcut in broken_promises([shortcut for _, shortcut in covered])}
    where = [(part, shortcut) for part, shortcut in covered if id(shortcut) in broken]
    example = ""
    if where:
        part, shortcut = max(where, key=lambda pair: pair[1].gain.value)
        example = f"{part.bucket} {part.density}: {shortcut.name}, {shortcut.accuracy.value:.0%} right, {shortcut.baseline} {shortcut.base.value:.0%}"
    n = sum(part.n for part in parts if any(part is other for other, _ in where))
    return Fault("no learned shortcut pays, as promised", n, example)


def _overall(parts: list[BucketAudit]) -> dict[str, Estimate]:
    """Return the success of each shortcut over all buckets that it applies to."""
    right: dict[str, list[int]] = {}
    for part in parts:
        for shortcut in part.shortcuts:
            hits = right.setdefault(shortcut.name, [0, 0])
            hits[0] += round(shortcut.success.value * shortcut.success.n)
            hits[1] += shortcut.success.n
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
        return [agreement for agreement in self.answers if agreement.p_value < self.level]

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
    """Compare the answers of two data sets bucket by bucket, and find scenes that are in both.

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
    distances = []
    for key in keys:
        mine, theirs = ours[key], others[key]
        labels = np.repeat([0, 1], [len(mine), len(theirs)])
        p = mutual_information(
            labels, np.array([*mine, *theirs]), n_permutations=n_permutations, seed=seed
        ).p_value
        distances.append((key, answer_distance(mine, theirs), p, (len(mine), len(theirs))))
    adjusted = holm([p for _, _, p, _ in distances])
    answers = [
        AnswerAgreement(bucket, density, distance, float(p), n)
        for ((bucket, density), distance, _, n), p in zip(distances, adjusted, strict=True)
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
    """Return the total variation distance ½ Σ |p − q| between the answers of two data sets."""
    a, b = Counter(first), Counter(second)
    return sum(abs(a[key] / len(first) - b[key] / len(second)) for key in {*a, *b}) / 2


_SHORTCUTS = ("prior", "bag of words", "majority", "salience")
_DROPPED = tuple(f"without anchor {k + 1}" for k in range(MOST_ANCHORS))
_SIGNIFICANT = 0.01


def audit_tables(audits: Sequence[Audit], *, every: bool = False) -> list[Table]:
    """Tabulate success and information of every shortcut by bucket, success over all buckets, and failed checks.

    Args:
        audits: The audits.
        every: Add a table with every ignorance and learner.
    """
    learned = [
        (report.name, part.bucket, part.objects, part.learned) for report in audits for part in report.buckets
    ]
    columns = [
        Column("data", "data"),
        Column("check", "failed check"),
        Column("scenes", "scenes", "count"),
        Column("example", "example"),
    ]
    faults: list[list[Cell]] = [
        [report.name, fault.check, fault.count, fault.example] for report in audits for fault in report.faults
    ]
    tables = [
        _success_table("grid.shortcuts", "Share of right answers by shortcut", audits, _SHORTCUTS),
        _success_table("grid.dropped_anchors", "Share of right answers without an anchor", audits, _DROPPED),
        _information_table(audits),
        learned_table(learned),
        *([every_ignorance_table(learned)] if every else []),
        _overall_table(audits),
        Table.of("grid.faults", "Failed checks", columns, faults),
    ]
    return [table for table in tables if table.rows]


def _place_columns() -> list[Column]:
    return [Column("data", "data"), Column("bucket", "bucket"), Column("objects", "objects", "count")]


def _success_table(name: str, title: str, audits: Sequence[Audit], shortcuts: Sequence[str]) -> Table:
    rows: list[list[Cell]] = []
    for report in audits:
        for part in report.buckets:
            kept = ", ".join(f"{level} {count}" for level, count in part.levels.items() if level != "none")
            success = {shortcut.name: shortcut.success for shortcut in part.shortcuts}
            cells = [success.get(shortcut) for shortcut in shortcuts]
            if any(cells):
                rows.append([report.name, part.bucket, part.objects, part.n, kept or "none", *cells])
    columns = [
        *_place_columns(),
        Column("n", "n", "count"),
        Column("guarantee", "guarantee"),
        *(column("grid.shortcut_success", word.replace(" ", "_"), word) for word in shortcuts),
    ]
    return Table.of(name, title, columns, rows)


def _information_table(audits: Sequence[Audit]) -> Table:
    rows: list[list[Cell]] = []
    for report in audits:
        for part in report.buckets:
            bits = {s.name: max(0.0, s.information.corrected) for s in part.shortcuts}
            sure = [s.name for s in part.shortcuts if s.information.p_value < _SIGNIFICANT]
            cells = [bits.get(name) for name in (*_SHORTCUTS, *_DROPPED)]
            rows.append([report.name, part.bucket, part.objects, *cells, ", ".join(sure)])
    columns = [
        *_place_columns(),
        *(
            column("grid.shortcut_information", name.replace(" ", "_"), name)
            for name in (*_SHORTCUTS, *_DROPPED)
        ),
        Column("significant", f"p < {_SIGNIFICANT}"),
    ]
    title = "Information of each shortcut about the answer: bits above that of shuffled answers"
    return Table.of("grid.shortcut_information", title, columns, rows, ["Estimates below 0 are shown as 0."])


def _overall_table(audits: Sequence[Audit]) -> Table:
    """Tabulate success over all buckets, and in the buckets for which the paper reports a number."""
    rows: list[list[Cell]] = []
    for report in audits:
        for name, success in report.overall.items():
            paper = published_shortcut(name, report.mode)
            words = paper.words if paper else ""
            rows.append([report.name, name, "all", success, paper.success if paper else None, words])
        for part in report.buckets:
            for shortcut in part.shortcuts:
                paper = published_shortcut(
                    shortcut.name, report.mode, bucket=part.bucket, density=part.density
                )
                if paper is not None:
                    where = f"{part.bucket} {part.density}"
                    rows.append(
                        [report.name, shortcut.name, where, shortcut.success, paper.success, paper.words]
                    )
    columns = [
        Column("data", "data"),
        Column("shortcut", "shortcut"),
        Column("bucket", "bucket"),
        column("grid.shortcut_success", "success", "right"),
        column("grid.shortcut_success", "paper", "paper"),
        Column("remark", "remark"),
    ]
    return Table.of(
        "grid.shortcuts_overall", "Shortcuts over all buckets", columns, rows, _audit_notes(audits)
    )


def _audit_notes(audits: Sequence[Audit]) -> list[str]:
    notes = []
    for report in audits:
        words = [f"{report.name}: {report.n} {report.mode} scenes, preset {report.preset}"]
        if report.duplicates:
            words.append(f"{report.duplicates} scenes occur more than once")
        words.append(f"{report.pictures_checked} pictures compared with their scenes")
        words.append("every check passed" if report.is_kept else "some checks failed")
        notes.append("; ".join(words) + ".")
        if report.mode == "pure":
            notes.append(_learnable(report))
            notes += _known_leaks(report)
    return notes


def _known_leaks(report: Audit) -> list[str]:
    where: dict[str, list[str]] = {}
    for part in report.buckets:
        for family in part.promise.leaks:
            where.setdefault(f"“{family}”", []).append(part.bucket)
    words = [f"{family} in {', '.join(dict.fromkeys(buckets))}" for family, buckets in where.items()]
    return [f"{report.name}: not promised: {'; '.join(words)}."] if words else []


def _learnable(report: Audit) -> str:
    """Tell in how many buckets a learner gains, promised or not, and which gains could have been seen."""
    if not can_learn():
        return f"{report.name}: nothing was learned, and no promise was tried: {install_line('audit')}."
    n_tests = sum(
        len(LEARNERS) * len(list(ignorances(BUCKETS[BUCKET_KEYS.index(p.bucket)]))) for p in report.buckets
    )
    every = [shortcut for part in report.buckets for shortcut in part.learned]
    broken = {id(shortcut) for shortcut in broken_promises(every)}
    paying = sum(any(id(shortcut) in broken for shortcut in part.learned) for part in report.buckets)
    tried = [part for part in report.buckets if part.learned]
    enough = f"{_scenes_for(n_tests):,} scenes of each bucket would show {100 * _WANTED:.0f} points"
    if not tried:
        fewest = min(part.n for part in report.buckets)
        return f"{report.name}: too few scenes of each bucket ({fewest}) to learn from, so nothing could be seen; {enough}."
    least = [least_gain(part.n, n_tests) for part in tried]
    span = " to ".join(dict.fromkeys(f"{100 * gain:.0f}" for gain in (min(least), max(least))))
    words = [
        f"{report.name}: in {paying} of {len(tried)} buckets a learner is surely more than {100 * ALLOWED:.0f} points above its baseline",
        f"with this many scenes, a gain below {span} points cannot be told from chance"
        + (f" ({enough})" if max(least) > _WANTED else ""),
    ]
    few = len(report.buckets) - len(tried)
    return "; ".join([*words, *([f"{few} buckets have too few scenes to learn from"] if few else [])]) + "."


_WANTED = 0.05
"""A gain that an audit should see."""


def _scenes_for(n_tests: int) -> int:
    """Return how many hundreds of scenes show the wanted gain."""
    return next(n for n in range(100, 100_000, 100) if least_gain(n, n_tests) <= _WANTED)


def comparison_table(found: DatasetComparison) -> Table:
    """Return the distributions of answers of two data sets, by bucket."""
    notes = [
        f"{found.shared} scenes are in both data sets, {found.shared_across_splits} of them in different splits.",
        *(f"Answers differ in {agreement.bucket}, {agreement.density}." for agreement in found.differing),
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
            column("grid.answer_distance", "distance"),
            Column("p", "p (Holm)", "p"),
        ],
        [
            [agreement.bucket, agreement.density, *agreement.n, agreement.distance, agreement.p_value]
            for agreement in found.answers
        ],
        notes,
    )
