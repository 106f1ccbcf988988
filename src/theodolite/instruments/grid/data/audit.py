"""Checks of a data set: what each scene must satisfy, and the scenes that do not."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from theodolite.core.errors import UsageError
from theodolite.core.scores import column
from theodolite.core.tables import Cell, Column, Table
from theodolite.core.types import Picture
from theodolite.instruments.grid.data.balanced import room_of
from theodolite.instruments.grid.data.batch import (
    GUARANTEES,
    ROLES,
    SceneBatch,
    Sight,
    bag_of_words,
    complete,
    dropped_anchor,
    find_anchors,
    hash_scenes,
    look,
    look_alikes,
    majority,
    split_of,
)
from theodolite.instruments.grid.data.files import DatasetPlan, StoredDataset
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
    Integers,
    Mode,
    class_name,
    read_cells,
)
from theodolite.instruments.grid.published import published_shortcut
from theodolite.stats import (
    Estimate,
    MutualInformation,
    clustered_mean,
    holm,
    mutual_information,
    wilson_interval,
)

# Learned shortcuts: the best map from what an incomplete reasoning sees to the answer.


FAMILIES = (
    "look-alikes",
    "dropped anchor",
    "half target",
    "half, dropped",
    "half anchor",
    "objects",
    "positions",
    "joint",
)
"""The families of clues, in the order of tables."""
ALLOWED = 0.03
"""How far a learned shortcut may be above the best constant answer."""
_LEVEL = 0.01
"""The adjusted p below which it is above that."""
_SEED = 0
"""Of the order in which scenes are split into halves."""
_CONSTANT, _OTHER_GROUP = "the best constant answer", "the best map from the other group's count"
_HALVES = ("colour", "shape")


@dataclass(frozen=True, slots=True)
class Clue:
    """What a shortcut sees of each scene."""

    family: str
    name: str
    values: Integers
    """(n, numbers)."""
    other_group: Integers | None = None
    """Comparisons: the right count of the group that is left whole, (n,). It alone tells something, so it is the baseline."""


@dataclass(frozen=True, slots=True)
class LearnedShortcut:
    """The best map from one clue, measured on scenes that it was not learned from."""

    family: str
    name: str
    baseline: str
    """What it is held against, in words: the best constant answer; with an `other_group`, the best map from that."""
    accuracy: Estimate
    base: Estimate
    """The accuracy of the baseline."""
    gain: Estimate
    """Accuracy minus that of the baseline."""
    above_constant: Estimate
    """Accuracy minus that of the best constant answer, whatever the baseline."""
    bits: Estimate
    """Information about the answer: mean of log₂ q(answer | clue) / q(answer), with q learned."""
    p_value: float
    """Of the hypothesis that the gain is at most `ALLOWED`."""


def learned_shortcuts(scenes: SceneBatch) -> list[LearnedShortcut]:
    """Return the best map from every clue, on scenes of one bucket and density; none for fewer than four scenes."""
    if len(scenes) < 4:
        return []
    mixed = scenes.take(
        np.random.default_rng(_SEED).permutation(len(scenes))
    )  # files may have answers in turn
    return [_learn(mixed, clue) for clue in clues(mixed)]


def clues(scenes: SceneBatch) -> Iterator[Clue]:
    """Yield every clue of one bucket."""
    world, cells, asked = scenes.world, scenes.cells, scenes.questions
    bucket = BUCKETS[int(scenes.bucket[0])]
    sight = look(world, cells, asked)
    alike, truth = _anywhere(cells, asked), sight.counts()
    n_objects = (cells > 0).sum(axis=1)[:, None]
    yield Clue("objects", "objects", n_objects)
    halves: list[Integers] = []
    for half in _HALVES if bucket.names_whole else ():
        half_targets = replace(asked, targets=_half(asked.targets, half))
        half_sight = look(world, cells, half_targets)
        yield Clue("half target", f"target by {half}", half_sight.counts())
        for k in range(bucket.n_anchors):
            seen, name = half_sight.counts(drop=k), f"target by {half} without anchor {k + 1}"
            yield Clue("half, dropped", name, seen)
            both = np.hstack([seen, sight.counts(drop=k)])
            yield Clue("half, dropped", f"{name}, and its count", both, _other_group(bucket, truth, k))
        halves.append(_anywhere(cells, half_targets))
        yield Clue("objects", f"objects of the target's {half}", halves[-1])
        yield from _half_anchors(scenes, bucket, half, truth)
    if not bucket.is_relational:
        return
    yield Clue("look-alikes", "look-alikes", alike)
    yield from _places(scenes, sight, bucket.n_anchors)
    yield Clue("joint", "all counts without relations", np.hstack([alike, *halves, n_objects]))
    for k in range(bucket.n_anchors):
        dropped, other = sight.counts(drop=k), _other_group(bucket, truth, k)
        yield Clue("dropped anchor", f"without anchor {k + 1}", dropped, other)
        yield Clue("joint", f"look-alikes and without anchor {k + 1}", np.hstack([alike, dropped]), other)


def _other_group(bucket: Bucket, truth: Integers, k: int) -> Integers | None:
    """Return, for comparisons, the right count of the group that anchor k does not restrict."""
    return truth[:, 1 - k // bucket.anchors_per_side] if bucket.is_comparison else None


def _half_anchors(scenes: SceneBatch, bucket: Bucket, half: str, truth: Integers) -> Iterator[Clue]:
    asked = scenes.questions
    halved = _half(asked.anchors, half)
    for k in range(bucket.n_anchors):
        anchors = asked.anchors.copy()
        anchors[:, k] = halved[:, k]
        seen = look(scenes.world, scenes.cells, replace(asked, anchors=anchors), gaps=True)
        yield Clue("half anchor", f"anchor {k + 1} by {half}", seen.counts(), _other_group(bucket, truth, k))
    if bucket.n_anchors > 1:
        seen = look(scenes.world, scenes.cells, replace(asked, anchors=halved), gaps=True)
        yield Clue("half anchor", f"anchors by {half}", seen.counts())


def _half(kinds: NDArray[np.uint8], half: str) -> NDArray[np.uint8]:
    """Return the descriptions by colour alone, or by shape alone."""
    colour, shape = np.divmod(kinds, 5)
    return (5 * colour if half == "colour" else shape).astype(np.uint8)


def _anywhere(cells: NDArray[np.uint8], asked: QuestionTable) -> Integers:
    sides = [
        look_alikes(cells, asked.targets[:, side]) & (asked.targets[:, side] > 0)[:, None] for side in (0, 1)
    ]
    return np.stack([matches.sum(axis=1) for matches in sides], axis=1)


def _places(scenes: SceneBatch, sight: Sight, n_anchors: int) -> Iterator[Clue]:
    regions = [sight.region(side) for side in range(sight.alike.shape[1])]
    inside = [(region & (scenes.cells > 0)).sum(axis=1) for region in regions]
    yield Clue("objects", "objects in the region", np.stack(inside, axis=1))
    positions, _ = find_anchors(scenes.cells, scenes.questions)
    row, column = np.divmod(positions, scenes.world.columns)
    ways = scenes.questions.directions[:, :n_anchors].astype(np.int64)
    line = np.where(ways <= 2, column, row)
    for k in range(n_anchors):
        yield Clue("positions", f"line of anchor {k + 1}", np.stack([ways[:, k], line[:, k]], axis=1))
    yield Clue("positions", "size of the region", np.stack([mask.sum(axis=1) for mask in regions], axis=1))


@dataclass(frozen=True, slots=True)
class _Map:
    """A map learned on every other row and tested on the rest."""

    is_right: NDArray[np.bool_]
    chance: NDArray[np.float64]
    """The probability that it gives to the right answer."""


def _learned(values: Integers, truth: Integers) -> _Map:
    """Learn the most frequent answer for each value; the overall more frequent one for unseen values and ties."""
    _, codes = np.unique(values, axis=0, return_inverse=True)
    codes = codes.ravel()
    n_answers = int(truth.max()) + 1
    learn, rest = slice(0, None, 2), slice(1, None, 2)
    table = np.zeros((int(codes.max()) + 1, n_answers))
    np.add.at(table, (codes[learn], truth[learn]), 1)
    prior = (table.sum(axis=0) + 1) / (table.sum() + n_answers)
    best = (table + prior / 2).argmax(axis=1)  # less than one count, so the prior only breaks ties
    shares = (table + n_answers * prior) / (table.sum(axis=1, keepdims=True) + n_answers)
    return _Map(best[codes[rest]] == truth[rest], shares[codes[rest], truth[rest]])


def _learn(scenes: SceneBatch, clue: Clue) -> LearnedShortcut:
    _, truth = np.unique(scenes.answer, return_inverse=True)
    nothing = np.zeros(len(scenes), np.int64) if clue.other_group is None else clue.other_group
    base, learned = _learned(nothing, truth), _learned(clue.values, truth)
    constant = truth[1::2] == np.bincount(truth).argmax()  # of all scenes, not of those learned from
    if clue.other_group is None:
        base = replace(base, is_right=constant)
    bits = np.log2(learned.chance / base.chance)
    difference, above = (learned.is_right * 1.0 - values for values in (base.is_right, constant))
    n = len(difference)
    gain, above_constant = (clustered_mean(values, bounds=(-1, 1)) for values in (difference, above))
    assert gain is not None and above_constant is not None  # noqa: S101, PT018 - there are scenes
    information = clustered_mean(bits, bounds=None)
    return LearnedShortcut(
        clue.family,
        clue.name,
        _CONSTANT if clue.other_group is None else _OTHER_GROUP,
        wilson_interval(int(learned.is_right.sum()), n),
        wilson_interval(int(base.is_right.sum()), n),
        gain,
        above_constant,
        information or Estimate(float(bits.mean()), *(float(bits.mean()),) * 2, n, 0.95, "does not vary"),
        _p_above(difference),
    )


def _p_above(difference: NDArray[np.float64]) -> float:
    """Return the one-sided p of a gain of at most `ALLOWED`, by the normal distribution.

    The variance of one scene is added, so that few scenes show nothing.
    """
    from scipy.stats import norm

    n = len(difference)
    return float(norm.sf((difference.mean() - ALLOWED) / _error(difference.var(), n)))


def _error(variance: float, n: int) -> float:
    return float(np.sqrt((variance + 1 / n) / n))


def least_gain(n: int, n_tests: int) -> float:
    """Return the smallest gain on n held-out scenes that `broken_promises` detects as the only one of `n_tests`.

    It is infinite if no gain is large enough.

    A gain g has the least variance, g − g², if the shortcut is never wrong where its baseline is right; otherwise it must be larger.

    >>> [round(least_gain(n, 800), 2) for n in (2, 25, 200, 2000)]
    [inf, 0.52, 0.14, 0.05]
    """
    from scipy.stats import norm

    needed = norm.isf(_LEVEL / n_tests)
    gains = np.arange(n + 1) / n
    enough = [gain for gain in gains if gain - ALLOWED > needed * _error(gain - gain**2, n)]
    return float(enough[0]) if enough else float("inf")


def broken_promises(found: Sequence[LearnedShortcut]) -> list[LearnedShortcut]:
    """Return the learned shortcuts significantly more than `ALLOWED` above the best constant answer (Holm over all given)."""
    if not found:
        return []
    adjusted = holm([shortcut.p_value for shortcut in found])
    return [shortcut for shortcut, p in zip(found, adjusted, strict=True) if p < _LEVEL]


def strongest(found: Sequence[LearnedShortcut], family: str = "") -> LearnedShortcut | None:
    """Return the learned shortcut with the largest gain, of one family or of all."""
    mine = [shortcut for shortcut in found if family in {"", shortcut.family}]
    return max(mine, key=lambda shortcut: shortcut.gain.value) if mine else None


_PLACE = (Column("data", "data"), Column("bucket", "bucket"), Column("objects", "objects", "count"))


def learned_tables(rows: Sequence[tuple[str, str, int, Sequence[LearnedShortcut]]]) -> list[Table]:
    """Return the strongest clue of each family: its share of right answers, and its bits.

    Args:
        rows: Data set, bucket, number of objects and learned shortcuts.
    """
    right: list[list[Cell]] = []
    bits: list[list[Cell]] = []
    for data, bucket, objects, shortcuts in rows:
        if not shortcuts:
            continue
        best = [strongest(shortcuts, family) for family in FAMILIES]
        most = max(shortcuts, key=lambda shortcut: shortcut.gain.value)
        right.append(
            [
                data,
                bucket,
                objects,
                next(shortcut.base for shortcut in shortcuts if shortcut.name == "objects"),
                *(clue.accuracy if clue else None for clue in best),
                most.name,
                most.gain,
                max((shortcut.above_constant for shortcut in shortcuts), key=lambda above: above.value),
            ]
        )
        bits.append([data, bucket, objects, *(clue.bits if clue else None for clue in best)])
    shares = [column("grid.learned_success", _name(family), family) for family in FAMILIES]
    notes = [
        "Of each family the clue with the largest gain; each map is measured on scenes it was not learned from.",
        "The baseline is the best constant answer; of a shortcut that counts one group of a comparison rightly, the best map from that count.",
    ]
    return [
        Table.of(
            "grid.learned_shortcuts",
            "Share of right answers by learned shortcut",
            [
                *_PLACE,
                column("grid.learned_success", "constant", "best constant"),
                *shares,
                Column("strongest", "strongest"),
                column("grid.learned_success", "gain", "above its baseline", difference=True),
                column("grid.learned_success", "above_constant", "most above constant", difference=True),
            ],
            right,
            notes,
        ),
        Table.of(
            "grid.learned_information",
            "Bits about the answer by learned shortcut",
            [
                *_PLACE,
                *(column("grid.learned_information", _name(family), family) for family in FAMILIES),
            ],
            bits,
            ["Measured on held-out scenes; below 0, the map learned nothing that holds there."],
        ),
    ]


def _name(family: str) -> str:
    return f"by_{family}".replace(",", "").replace(" ", "_").replace("-", "_")


def every_clue_table(rows: Sequence[tuple[str, str, int, Sequence[LearnedShortcut]]]) -> Table:
    """Return a table with one row per clue."""
    cells: list[list[Cell]] = [
        [
            data,
            bucket,
            objects,
            shortcut.family,
            shortcut.name,
            shortcut.accuracy,
            shortcut.baseline,
            shortcut.base,
            shortcut.gain,
            shortcut.above_constant,
            shortcut.bits,
        ]
        for data, bucket, objects, shortcuts in rows
        for shortcut in shortcuts
    ]
    columns = [
        *_PLACE,
        Column("family", "family"),
        Column("clue", "clue"),
        column("grid.learned_success", "right", "right"),
        Column("baseline", "baseline"),
        column("grid.learned_success", "base", "baseline right"),
        column("grid.learned_success", "gain", "above its baseline", difference=True),
        column("grid.learned_success", "above_constant", "above constant", difference=True),
        column("grid.learned_information", "bits", "bits"),
    ]
    return Table.of("grid.clues", "Every learned shortcut", columns, cells)


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
    "look-alikes": "the number of look-alikes",
    "dropped anchor": "counts without an anchor",
    "half target": "half a description of the target",
    "half, dropped": "half a description of the target without an anchor",
    "half anchor": "half a description of an anchor",
    "objects": "numbers of objects",
    "positions": "places",
    "joint": "look-alikes together with numbers of objects or a count without an anchor",
}


@dataclass(frozen=True, slots=True)
class Promise:
    """What holds for the scenes of a bucket."""

    sentence: str
    covers: tuple[str, ...] = ()
    """Families of learned shortcuts that do not pay."""
    leaks: tuple[str, ...] = ()
    """Families that are known to pay."""


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
    ('half, dropped',)
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
    left_out = (
        set()
        if bucket.is_relational
        else {"look-alikes", "dropped anchor", "half, dropped", "half anchor", "positions", "joint"}
    )
    leaks: list[str] = []
    if not bucket.names_whole:
        left_out |= {"half target", "half, dropped", "half anchor"}
    elif not room_of(bucket, objects, recipe).has_halves:
        leaks = ["half target", "half, dropped"]
    elif bucket.anchors_per_side > 1:
        leaks = ["half, dropped"]
    covers = tuple(family for family in FAMILIES if family not in {*left_out, *leaks})
    parts = [_WORDS[family] for family in covers]
    listed = f"{', '.join(parts[:-1])} or {parts[-1]}"
    points = f"{round(100 * ALLOWED)} points"
    words = [f"No map from {listed} is right {points} more often than the best constant answer"]
    if bucket.is_comparison and bucket.is_relational:
        words[0] += " or, if it counts one group rightly, than the best map from that count"
        words.append(f"that count alone is more than {points} above the best constant answer")
    if leaks:
        words.append(f"{' and '.join(_WORDS[family] for family in leaks)} can give the answer away")
    return Promise("; ".join(words) + ".", covers, tuple(leaks))


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
        notes = ["Nothing is promised of what can be learned from counts; `grid audit` measures it."]
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
        return [shortcut for shortcut in self.learned if shortcut.family in self.promise.covers]


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
    learned = learned_shortcuts(scenes)
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


def audit_tables(audits: Sequence[Audit], *, clues: bool = False) -> list[Table]:
    """Tabulate success and information of every shortcut by bucket, success over all buckets, and failed checks.

    Args:
        audits: The audits.
        clues: Add a table with every learned shortcut.
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
    return [f"{report.name}: not promised, and known to pay: {'; '.join(words)}."] if words else []


def _learnable(report: Audit) -> str:
    """Describe in how many buckets a shortcut pays, promised or not, and which gains could have been detected."""
    every = [shortcut for part in report.buckets for shortcut in part.learned]
    broken = {id(shortcut) for shortcut in broken_promises(every)}
    n = sum(any(id(shortcut) in broken for shortcut in part.learned) for part in report.buckets)
    least = []
    for part in report.buckets:
        seen = [least_gain(shortcut.accuracy.n, len(every)) for shortcut in part.learned]
        if any(gain <= 1 - shortcut.base.value for gain, shortcut in zip(seen, part.learned, strict=True)):
            least.append(min(seen))
    few = len(report.buckets) - len(least)
    if not least:
        return f"{report.name}: too few scenes of each bucket to tell whether a learned shortcut pays."
    span = " to ".join(dict.fromkeys(f"{100 * gain:.0f}" for gain in (min(least), max(least))))
    words = [
        f"{report.name}: in {n} of {len(least)} buckets a learned shortcut is surely more than {100 * ALLOWED:.0f} points above its baseline",
        f"with this many scenes, a gain below {span} points cannot be told from chance",
        *([f"{few} buckets have too few scenes to tell"] if few else []),
    ]
    return "; ".join(words) + "."


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
