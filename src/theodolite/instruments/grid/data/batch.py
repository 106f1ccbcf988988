"""Scenes and questions as arrays, the symbolic evaluator, and the ground truth as masks."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from theodolite.core.errors import UsageError
from theodolite.core.types import PLAIN
from theodolite.instruments.grid.data.question_types import (
    ALL_ASKS,
    ANCHOR_SIDE,
    BUCKET_KEYS,
    BUCKETS,
    MOST_ANCHORS,
    MOST_SIDES,
    PHRASES,
    Asks,
    Bucket,
    QuestionTable,
    character_spans,
    text_of,
    write_questions,
)
from theodolite.instruments.grid.data.world import (
    COLOUR_OF,
    MATCHES,
    N_CLASSES,
    OPPOSITE,
    SHAPE_OF,
    Cells,
    Flags,
    GridShape,
    Integers,
    Mode,
    Rows,
    RowTable,
    class_name,
    offsets,
)
from theodolite.pairs.outcomes import (
    CLEAR,
    DECOY,
    EXCHANGE,
    EXCHANGE_UNASKED,
    MOVE_REFERENCE,
    MOVE_TARGET,
    MOVE_UNASKED,
)

# The symbolic evaluator and the shortcuts, vectorised over scenes.
#
# A question restricts each group of targets by anchors; V_i is the half-plane that anchor i allows. The right answer
# counts the objects that fit the target's description inside V_T = ⋂ V_i. A shortcut leaves something out:
#
# - *bag of words* ignores every relation and counts the description anywhere;
# - *dropped anchor k* counts inside ⋂_{i≠k} V_i;
# - *majority* takes the most frequent kind of object for the target.
#
# Answers of the evaluator and of shortcuts are indices into `World.answers`.


IS_COUNT = np.array([b.is_count for b in BUCKETS])
_IS_COMPARISON = np.array([b.is_comparison for b in BUCKETS])
_ASKS_OF = np.array([ALL_ASKS.index(b.asks) for b in BUCKETS])
_HAS_COLOUR, _HAS_SHAPE = (
    np.array([getattr(b.type.naming, name) for b in BUCKETS]) for name in ("has_colour", "has_shape")
)


def look_alikes(cells: Cells, kinds: NDArray[np.uint8]) -> Flags:
    """Return which cells hold an object of a description, (n, cells)."""
    return np.take(_FLAT_MATCHES, kinds.astype(np.int64)[:, None] * (N_CLASSES + 1) + cells)


_FLAT_MATCHES = MATCHES.ravel()


def find_anchors(cells: Cells, questions: QuestionTable) -> tuple[Integers, Integers]:
    """Return the first cell that fits each anchor's description and how many cells fit, both (n, anchors).

    The second dimension is the largest number of anchors in the batch; both are 0 where a question has no such anchor.
    """
    sides = ANCHOR_SIDE[questions.bucket]
    most = int((sides > 0).sum(axis=1).max(initial=0))
    positions = np.zeros((len(cells), most), np.int64)
    counts = np.zeros((len(cells), most), np.int64)
    for k in range(most):
        fits = look_alikes(cells, questions.anchors[:, k]) & (sides[:, k] > 0)[:, None]
        positions[:, k], counts[:, k] = fits.argmax(axis=1), fits.sum(axis=1)
    return positions, counts


@dataclass(frozen=True, slots=True)
class Sight:
    """Regions and matching objects of each question in its scene.

    Computed once and used by the evaluator, the shortcuts, the roles and the guarantees. Arrays are as large as the
    question with most anchors and groups needs.
    """

    questions: QuestionTable
    sides: NDArray[np.uint8]
    """The group that each anchor restricts, (n, anchors); 0 where a question has no such anchor."""
    valid: Flags
    """V_k, (n, anchors, cells): the cells in the direction of anchor k; all cells where there is no anchor k."""
    alike: Flags
    """Cells that hold an object of each group's description, (n, groups, cells)."""

    def region(self, side: int, drop: int | None = None) -> Flags:
        """Return V_T of a group (0 or 1), (n, cells): the intersection of its anchors' regions, without anchor `drop`."""
        inside = np.ones(self.valid.shape[::2], bool)
        for k in range(self.valid.shape[1]):
            if k != drop:
                inside &= self.valid[:, k] | (self.sides[:, k] != side + 1)[:, None]
        return inside

    def confusers(self, k: int) -> Flags:
        r"""Return C_k = (⋂_{i≠k} V_i) \ V_k over the anchors of k's group, (n, cells); empty where there is no anchor k."""
        relaxed = self.region(0, drop=k)
        if (self.sides[:, k] == 2).any():
            relaxed = np.where((self.sides[:, k] == 2)[:, None], self.region(1, drop=k), relaxed)
        return np.asarray(relaxed & ~self.valid[:, k] & (self.sides[:, k] > 0)[:, None])

    def own_alike(self, k: int) -> Flags:
        """Return the look-alikes of the group that anchor k restricts, (n, cells)."""
        if self.alike.shape[1] == 1:
            return self.alike[:, 0]
        return np.where((self.sides[:, k] == 2)[:, None], self.alike[:, 1], self.alike[:, 0])

    def counts(self, drop: int | None = None) -> Integers:
        """Return the number of look-alikes of each group in its region, (n, 2); the second is 0 without a comparison."""
        counts = np.zeros((len(self.questions), MOST_SIDES), np.int64)
        for side in range(self.alike.shape[1]):
            counts[:, side] = (self.alike[:, side] & self.region(side, drop)).sum(axis=1)
        return counts


def look(world: GridShape, cells: Cells, questions: QuestionTable, *, gaps: bool = False) -> Sight:
    """Find the regions and objects of every question in its scene.

    Args:
        world: The grid.
        cells: Class ids, (n, cells).
        questions: One for each scene.
        gaps: True if objects or words may be missing. Then a relation without a direction, or whose anchor is not
            exactly one object, restricts nothing. Otherwise such an anchor is an error.

    Raises:
        UsageError: An anchor's description fits no object of its scene, or several.
    """
    positions, counts = find_anchors(cells, questions)
    most = positions.shape[1]
    sides = ANCHOR_SIDE[questions.bucket][:, :most]
    is_lost = (sides > 0) & (counts != 1)
    directions = questions.directions[:, :most]
    if is_lost.any():
        if not gaps:
            scene, k = np.argwhere(is_lost)[0]
            raise UsageError(
                f"anchor {k + 1} of scene {scene} must be one object, but {counts[scene, k]} fit its description"
            )
        directions = np.where(is_lost, 0, directions)
    valid = offsets(world.rows, world.columns)[directions, positions] >= 1
    groups = [look_alikes(cells, questions.targets[:, 0])]
    is_compared = _IS_COMPARISON[questions.bucket]
    if is_compared.any():
        groups.append(look_alikes(cells, questions.targets[:, 1]) & is_compared[:, None])
    return Sight(questions, sides, np.asarray(valid), np.stack(groups, axis=1))


def _by_asks(questions: QuestionTable) -> Iterator[tuple[Asks, Rows]]:
    """Yield each form of question that occurs, with its rows."""
    asks_of = _ASKS_OF[questions.bucket]
    there = np.flatnonzero(np.bincount(asks_of))
    for index in there.tolist():
        yield ALL_ASKS[index], slice(None) if len(there) == 1 else asks_of == index


def as_answer(world: GridShape, questions: QuestionTable, counts: Integers) -> NDArray[np.uint8]:
    """Return the answers that numbers of targets imply, by the rule of each question type.

    Raises:
        UsageError: A count is larger than the largest answer. It is not clipped, since two counts would become one.
    """
    beyond = IS_COUNT[questions.bucket] & (counts[:, 0] > world.max_count)
    if beyond.any():
        raise UsageError(
            f"{int(counts[beyond, 0].max())} objects were counted, but the answers end at {world.max_count}; give the "
            "world a larger max_count"
        )
    answers = np.zeros(len(counts), np.uint8)
    for asks, rows in _by_asks(questions):
        answers[rows] = asks.answer(world, counts[rows])
    return answers


def answer(world: GridShape, cells: Cells, questions: QuestionTable) -> NDArray[np.uint8]:
    """Return the right answer to every question about its scene."""
    return as_answer(world, questions, look(world, cells, questions).counts())


def bag_of_words(world: GridShape, cells: Cells, questions: QuestionTable) -> NDArray[np.uint8]:
    """Return the answer of a bag of words: the targets' descriptions counted anywhere."""
    counts = [look_alikes(cells, questions.targets[:, side]).sum(axis=1) for side in range(MOST_SIDES)]
    return as_answer(world, questions, np.stack(counts, axis=1))


def dropped_anchor(world: GridShape, cells: Cells, questions: QuestionTable, *, k: int) -> NDArray[np.uint8]:
    """Return the answer without anchor k (from 0); the right answer where there is no anchor k."""
    return as_answer(world, questions, look(world, cells, questions).counts(drop=k))


def majority(world: GridShape, cells: Cells, questions: QuestionTable) -> tuple[NDArray[np.uint8], Flags]:
    """Return the answers if the most frequent kind of object is taken for the target, and where several kinds tie.

    Kinds are shapes for shape-only questions, colours for colour-only ones, and classes otherwise. A count is that of
    the kind; other questions are answered as if all these objects were the (first) targets if the target is of that kind,
    or of one of the tied, and as if there were none otherwise.
    """
    n = len(cells)
    is_by_shape, is_by_colour = ~_HAS_COLOUR[questions.bucket], ~_HAS_SHAPE[questions.bucket]
    counts = np.zeros((n, N_CLASSES + 1), np.int64)
    rows = np.arange(n)
    for cell in range(cells.shape[1]):
        shown = np.where(is_by_shape, SHAPE_OF[cells[:, cell]], cells[:, cell])
        shown = np.where(is_by_colour, COLOUR_OF[cells[:, cell]], shown)
        counts[rows, shown] += 1
    counts[:, 0] = 0
    most = counts.max(axis=1)
    colour, shape = np.divmod(questions.targets[:, 0].astype(np.int64), 5)
    own = np.where(is_by_shape, shape, np.where(is_by_colour, colour, 4 * (colour - 1) + shape))
    is_first = IS_COUNT[questions.bucket] | (counts[rows, own] == most)
    targets = np.stack([np.where(is_first, most, 0), np.where(is_first, 0, most)], axis=1)
    is_tied = np.asarray((counts == most[:, None]).sum(axis=1) > 1)
    return as_answer(world, questions, targets), is_tied


# Scenes and questions as arrays, with what follows from them: answers, roles, guarantees, hashes and splits.
#
# The split of a scene follows from its hash, so data made at different times on different machines never overlap: training
# leaves out whatever hashes to validation or test.


ROLES = (
    "background",
    *(f"anchor_{k + 1}" for k in range(MOST_ANCHORS)),
    *(f"target_{side + 1}" for side in range(MOST_SIDES)),
    "adversarial",
    "other",
)
"""The role of a cell in its question, by role id. Adversarial: looks like a target, but is outside the valid region."""
BACKGROUND, FIRST_ANCHOR, FIRST_TARGET = 0, 1, 1 + MOST_ANCHORS
ADVERSARIAL, OTHER = FIRST_TARGET + MOST_SIDES, FIRST_TARGET + MOST_SIDES + 1

GUARANTEES = ("none", "impossible", "partial", "full")
"""How far Theorem 1 holds in a scene, by id; `guarantee_of` says it for a bucket.

- *full*: every confuser region holds a look-alike, and every dropped-anchor shortcut that can fail gives a wrong answer;
- *partial*: a region holds no look-alike, or such a shortcut is right;
- *impossible*: no scene of this kind can do it: existence questions answered yes, since a superset of a non-empty set is
  not empty; or fewer objects than anchors and confusers;
- *none*: nothing is claimed: a question without a relation, or a spurious scene.
"""
NO_CLAIM, IMPOSSIBLE, PARTIAL, FULL = range(4)


@dataclass(frozen=True, slots=True)
class SceneBatch(RowTable):
    """n scenes, each with one question, as arrays with n rows."""

    world: GridShape
    mode: Mode
    cells: Cells
    """Class ids, (n, cells) uint8; 0 is an empty cell."""
    questions: QuestionTable
    """What is asked."""
    words: NDArray[np.uint8]
    """Word ids, (n, `MAX_WORDS`), padded with 0."""
    spans: NDArray[np.uint8]
    """First word and the word after the last of each phrase of `PHRASES`, (n, phrases, 2)."""
    roles: NDArray[np.uint8]
    """The role of each cell, index into `ROLES`, (n, cells)."""
    answer: NDArray[np.uint8]
    """Index into `GridShape.answers`, (n,)."""
    guarantee: NDArray[np.uint8]
    """Index into `GUARANTEES`, (n,)."""

    def __len__(self) -> int:
        return len(self.cells)

    @property
    def bucket(self) -> NDArray[np.uint8]:
        """Index into `BUCKETS`, (n,)."""
        return self.questions.bucket

    @property
    def objects(self) -> NDArray[np.int64]:
        """The number of objects of each scene."""
        return np.asarray((self.cells > 0).sum(axis=1))

    def text(self, row: int) -> str:
        """Return the question of one scene as a sentence."""
        return text_of(self.words[row])

    def answer_text(self, row: int) -> str:
        """Return the right answer of one scene as text."""
        return self.world.answers[int(self.answer[row])]

    def bucket_key(self, row: int) -> str:
        """Return the bucket of one scene."""
        return BUCKET_KEYS[int(self.bucket[row])]


def join(batches: Sequence[SceneBatch]) -> SceneBatch:
    """Concatenate batches of one world and mode."""
    if not batches:
        raise UsageError("there are no scenes to join")
    first = batches[0]
    if any((batch.world, batch.mode) != (first.world, first.mode) for batch in batches):
        raise UsageError("only scenes of one world and one mode can be joined")
    return SceneBatch.concatenate(batches) if len(batches) > 1 else first


def roles_of(cells: Cells, sight: Sight) -> NDArray[np.uint8]:
    """Return the role of each cell; see `ROLES`."""
    roles = np.where(cells > 0, np.uint8(OTHER), np.uint8(BACKGROUND))
    for side in range(sight.alike.shape[1]):
        alike, inside = sight.alike[:, side], sight.region(side)
        np.copyto(roles, np.uint8(ADVERSARIAL), where=alike & ~inside)
        np.copyto(roles, np.uint8(FIRST_TARGET + side), where=alike & inside)
    for k in range(sight.valid.shape[1]):
        is_anchor = look_alikes(cells, sight.questions.anchors[:, k]) & (sight.sides[:, k] > 0)[:, None]
        np.copyto(roles, np.uint8(FIRST_ANCHOR + k), where=is_anchor)
    return roles


def guarantees(world: GridShape, cells: Cells, sight: Sight, mode: Mode) -> NDArray[np.uint8]:
    """Return how far Theorem 1 holds in each scene; see `GUARANTEES`.

    Args:
        world: The grid.
        cells: Class ids, (n, cells).
        sight: Regions and objects of the questions, from `look`.
        mode: ``pure`` or ``spur``.
    """
    questions = sight.questions
    n, n_anchors = sight.sides.shape
    if mode == "spur" or not n_anchors:
        return np.zeros(n, np.uint8)
    counts = sight.counts()
    truth = as_answer(world, questions, counts)
    can_be_misled = np.zeros((n, MOST_SIDES), bool)
    for asks, rows in _by_asks(questions):
        for side in range(asks.sides):
            can_be_misled[rows, side] = asks.can_be_misled(counts[rows], side)
    is_full = np.ones(n, bool)
    for k in range(n_anchors):
        is_there = sight.sides[:, k] > 0
        is_full &= (sight.own_alike(k) & sight.confusers(k)).any(axis=1) | ~is_there
        dropped = as_answer(world, questions, sight.counts(drop=k))
        could_fail = np.where(sight.sides[:, k] == 2, can_be_misled[:, 1], can_be_misled[:, 0])
        is_full &= (dropped != truth) | ~could_fail | ~is_there
    is_short = (cells > 0).sum(axis=1) < 2 * (sight.sides > 0).sum(axis=1)
    is_hopeless = ~can_be_misled.any(axis=1) | is_short
    level = np.where(is_hopeless, IMPOSSIBLE, np.where(is_full, FULL, PARTIAL))
    return np.where(sight.sides[:, 0] > 0, level, NO_CLAIM).astype(np.uint8)


def complete(
    world: GridShape,
    mode: Mode,
    *,
    cells: Cells,
    questions: QuestionTable,
    written: tuple[NDArray[np.uint8], NDArray[np.uint8]],
) -> SceneBatch:
    """Add answers, roles and guarantees to scenes.

    Args:
        world: The grid.
        mode: ``pure`` or ``spur``.
        cells: Class ids, (n, cells).
        questions: One for each scene.
        written: Words and spans of the questions, from `write_questions`.
    """
    sight = look(world, cells, questions)
    return SceneBatch(
        world,
        mode,
        cells,
        questions,
        *written,
        roles_of(cells, sight),
        as_answer(world, questions, sight.counts()),
        guarantees(world, cells, sight, mode),
    )


DataSplit: TypeAlias = Literal["train", "validation", "test"]
DATA_SPLITS: tuple[DataSplit, ...] = ("train", "validation", "test")

_PARTS = 16
"""One part in sixteen is validation, one is test."""


def _mix(value: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Apply the finaliser of splitmix64 (Steele, Lea and Flood 2014)."""
    value = (value ^ (value >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    value = (value ^ (value >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return value ^ (value >> np.uint64(31))


@lru_cache(maxsize=16)
def _weights(length: int) -> NDArray[np.uint64]:
    """Return odd 64-bit numbers, one per position: the golden-ratio sequence, mixed."""
    steps = np.arange(1, length + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    return _mix(steps) | np.uint64(1)


def hash_scenes(cells: NDArray[np.uint8], words: NDArray[np.uint8]) -> NDArray[np.uint64]:
    """Return a 64-bit hash of each scene with its question, (n,): mix(Σ wᵢ · (byteᵢ + 1) mod 2⁶⁴) over cells and words.

    It depends only on class ids and word ids, so it is the same on every machine.
    """
    content = np.concatenate([cells, words], axis=1).astype(np.uint64) + np.uint64(1)
    return _mix(content @ _weights(content.shape[1]))


def split_of(hashes: NDArray[np.uint64]) -> NDArray[np.str_]:
    """Return the split that each hash belongs to: 1/16 test, 1/16 validation, the rest train.

    >>> split_of(np.array([0, 1, 2, 15, 16], np.uint64)).tolist()
    ['test', 'validation', 'train', 'train', 'test']
    """
    part = (hashes % np.uint64(_PARTS)).astype(np.int64)
    return np.array(["test", "validation", "train"])[np.minimum(part, 2)]


# Ground truth as masks: cells and pixels of anchors, targets, look-alikes, other objects and background.


MaskName: TypeAlias = Literal["anchors", "targets", "adversarial", "other", "background", "truth"]

_ANCHORS = tuple(range(FIRST_ANCHOR, FIRST_TARGET))
_TARGETS = tuple(range(FIRST_TARGET, ADVERSARIAL))
_ROLES: dict[MaskName, tuple[int, ...]] = {
    "anchors": _ANCHORS,
    "targets": _TARGETS,
    "adversarial": (ADVERSARIAL,),
    "other": (OTHER,),
    "background": (BACKGROUND,),
    "truth": (*_ANCHORS, *_TARGETS),
}
PARTS: tuple[MaskName, ...] = ("anchors", "targets", "adversarial", "other", "background")
"""The masks that partition a picture. ``truth`` is anchors and targets together: what a right answer depends on."""


def cell_mask(batch: SceneBatch, name: MaskName) -> Flags:
    """Return a mask at cell level, (n, rows, columns).

    >>> from theodolite.instruments.grid.data.generate import generate
    >>> batch = generate("M-F0-D2", 2, seed=0)
    >>> int(cell_mask(batch, "anchors")[0].sum()), int(cell_mask(batch, "targets")[0].sum()) == int(batch.answer[0])
    (2, True)
    """
    if name not in _ROLES:
        raise UsageError(f"there is no mask {name!r}; there are: {', '.join(_ROLES)}")
    shape = (len(batch), batch.world.rows, batch.world.columns)
    return np.isin(batch.roles, _ROLES[name]).reshape(shape)


def pixel_mask(batch: SceneBatch, name: MaskName) -> Flags:
    """Return a mask at pixel level, (n, height, width): whole cells."""
    px = batch.world.cell_px
    return cell_mask(batch, name).repeat(px, axis=1).repeat(px, axis=2)


@dataclass(frozen=True, slots=True)
class GridObject:
    """One object of a scene."""

    cell: int
    class_id: int
    name: str
    """Such as ``red circle``."""
    role: str
    """One of `ROLES`."""
    box_px: tuple[int, int, int, int]
    """Its whole cell: left, top, right, bottom (exclusive)."""
    phrase: str
    """The phrase of the question that names it, one of `PHRASES`; empty for a distractor."""


def scene_objects(batch: SceneBatch, row: int) -> list[GridObject]:
    """Return all objects of one scene, row by row from the top left."""
    objects = []
    for cell in np.flatnonzero(batch.cells[row]):
        class_id, role = int(batch.cells[row, cell]), ROLES[int(batch.roles[row, cell])]
        phrase = role if role in PHRASES else ""
        objects.append(
            GridObject(int(cell), class_id, class_name(class_id), role, batch.world.box_px(int(cell)), phrase)
        )
    return objects


@dataclass(frozen=True, slots=True)
class SceneRegions:
    """The regions of a question."""

    valid: Flags
    """V_T of each group of targets, (n, 2, cells); all cells for a group that is not in the question."""
    confusers: Flags
    """C_k of each anchor, (n, 4, cells); no cell where there is no anchor k."""


def regions_of(batch: SceneBatch) -> SceneRegions:
    r"""Return the valid and the confuser regions: V_T = ⋂ V_i, C_k = (⋂_{i≠k} V_i) \ V_k."""
    sight = look(batch.world, batch.cells, batch.questions)
    valid = np.stack([sight.region(side) for side in range(MOST_SIDES)], axis=1)
    confusers = np.zeros((len(batch), MOST_ANCHORS, batch.world.n_cells), bool)
    for k in range(sight.valid.shape[1]):
        confusers[:, k] = sight.confusers(k)
    return SceneRegions(valid, confusers)


def phrase_spans(batch: SceneBatch, row: int) -> dict[str, tuple[int, int]]:
    """Return the characters of each phrase of the question: first, and one after the last.

    >>> from theodolite.instruments.grid.data.generate import generate
    >>> batch = generate("M-F0-D1", 1, seed=0)
    >>> first, last = phrase_spans(batch, 0)["direction_1"]
    >>> batch.text(0)[first:last] in {"left of", "right of", "above", "below"}
    True
    """
    return character_spans(batch.text(row), batch.spans[row])


def word_roles(batch: SceneBatch) -> NDArray[np.str_]:
    """Return the role of each word: target, anchor, direction, other, or empty after the end, (n, words)."""
    roles = np.where(batch.words > 0, "other", "").astype("<U9")
    position = np.arange(batch.words.shape[1])[None]
    for phrase, name in enumerate(PHRASES):
        inside = (position >= batch.spans[:, phrase, :1]) & (position < batch.spans[:, phrase, 1:])
        roles[inside] = name.rpartition("_")[0]
    return roles


# Edits of scenes and questions with known effect on the right answer.


SWAPPED, DECOYED, CLEARED, EMPTIED = "swapped", "decoyed", "cleared", "emptied"
"""The edits: every direction reversed; look-alikes added outside the valid region; unrelated objects removed; all
objects removed."""
EXCHANGED, TARGET_MOVED, ANCHOR_MOVED = "exchanged", "target moved", "anchor moved"
"""The edits of places, which change the right answer: two objects exchange their cells; an object that looks like a target,
or an anchor, moves to an empty cell."""
EXCHANGED_UNASKED, MOVED_UNASKED = "exchanged unasked", "moved unasked"
"""The same without a change of the right answer, of objects that are not asked about if it can be."""
PICTURE_EDITS = {
    EXCHANGED: EXCHANGE,
    TARGET_MOVED: MOVE_TARGET,
    ANCHOR_MOVED: MOVE_REFERENCE,
    DECOYED: DECOY,
    CLEARED: CLEAR,
    EXCHANGED_UNASKED: EXCHANGE_UNASKED,
    MOVED_UNASKED: MOVE_UNASKED,
}
"""The edits of the picture. A reversed direction is an edit of the question, so it does not show that a model looks."""
_MOST_TRIED = 500
"""Exchanges of two cells that are tried for each scene and edit."""
_QUESTIONS_TRIED = 400
"""QuestionTable of each kind among which a turned one is sought."""
_MOST_TURNED = 60
"""Exchanges of two cells for which a turned question is sought."""


def harmless_contents(batch: SceneBatch) -> Flags:
    """Return the contents of each cell that leave the answer unchanged, (n, cells, 1 + classes); class 0 is empty.

    A class is harmless in a cell if it looks like no anchor, and if it looks like no target or the cell is outside V_T.
    """
    questions = batch.questions
    sight = look(batch.world, batch.cells, questions)
    harmless = np.ones((*batch.cells.shape, MATCHES.shape[1]), bool)
    for side in range(sight.alike.shape[1]):
        is_asked = (questions.targets[:, side] > 0)[:, None, None]
        looks = MATCHES[questions.targets[:, side]][:, None, :]
        harmless &= ~(looks & sight.region(side)[:, :, None] & is_asked)
    for k in range(sight.sides.shape[1]):
        looks = MATCHES[questions.anchors[:, k]] & (sight.sides[:, k] > 0)[:, None]
        harmless &= ~looks[:, None, :]
    return harmless


def safe_changes(batch: SceneBatch) -> Flags:
    """Return where equation 1 holds: ``[scene, cell, class]`` is True if do(o_d → class) at that cell keeps the answer.

    True only for cells that hold a distractor, and for contents that are harmless there; class 0 removes it.
    """
    is_distractor = np.isin(batch.roles, (ADVERSARIAL, OTHER))
    return harmless_contents(batch) & is_distractor[:, :, None]


def remove_roles(batch: SceneBatch, roles: Sequence[str]) -> SceneBatch:
    """Remove all objects of some roles, such as ``["adversarial"]``, and compute the new answers.

    Anchors cannot be removed: the question would have no answer.
    """
    unknown = [role for role in roles if role not in ROLES or role.startswith("anchor")]
    if unknown:
        raise UsageError(f"{unknown[0]!r} cannot be removed; targets, adversarial and other objects can")
    gone = np.isin(batch.roles, [ROLES.index(role) for role in roles])
    return with_cells(batch, np.where(gone, 0, batch.cells).astype(np.uint8))


def swap_directions(batch: SceneBatch, *, k: int | None = None) -> SceneBatch:
    """Reverse the direction of anchor k (from 0), or of all anchors, and compute the new answers."""
    directions = batch.questions.directions.copy()
    which = slice(None) if k is None else slice(k, k + 1)
    if k is not None and not (ANCHOR_SIDE[batch.bucket, k] > 0).all():
        raise UsageError(f"not every question has an anchor {k + 1}")
    directions[:, which] = OPPOSITE[directions[:, which]]
    return with_questions(batch, replace(batch.questions, directions=directions))


def with_questions(batch: SceneBatch, questions: QuestionTable) -> SceneBatch:
    """Return the same scenes with other questions, and their answers."""
    return complete(
        batch.world, batch.mode, cells=batch.cells, questions=questions, written=write_questions(questions)
    )


def with_cells(batch: SceneBatch, cells: NDArray[np.uint8]) -> SceneBatch:
    """Return the same questions about other scenes, with new answers."""
    return complete(
        batch.world, batch.mode, cells=cells, questions=batch.questions, written=(batch.words, batch.spans)
    )


@dataclass(frozen=True, slots=True)
class EditedScenes:
    """Scenes after one edit."""

    kind: str
    """One of `PLAIN`, `SWAPPED`, `DECOYED`, `CLEARED`, `EXCHANGED`, `TARGET_MOVED` and `ANCHOR_MOVED`."""
    scenes: SceneBatch
    rows: Integers
    """Which of the given scenes they were."""
    turned: QuestionTable | None = None
    """For each scene another question about the same two pictures, whose right answers are the other way round. Of edits of places."""


def edited_scenes(scenes: SceneBatch, *, seed: int) -> list[EditedScenes]:
    """Return the unedited scenes, and the scenes after every edit. A scene that an edit does not apply to is left out of its rows.

    Swapped scenes are those where the right answer changes and a bag of words is wrong afterwards. Decoys are added until
    a bag of words is wrong; the right answer stays. Edits of places are made where the right answer changes; which objects
    there are stays the same, and so do all answers that do not depend on places. Each has a turned question, and a neutral edit of the
    same kind, which exchanges or moves objects without a change of the answer.

    Args:
        scenes: Scenes of questions with a relation.
        seed: Seed of the places of decoys, and of what is exchanged and moved.
    """
    if not all(BUCKETS[int(bucket)].is_relational for bucket in scenes.bucket):
        raise UsageError("these metrics are about relations: give scenes of relational buckets alone")
    everything = np.arange(len(scenes))
    swapped = swap_directions(scenes)
    is_swapped = (swapped.answer != scenes.answer) & (shortcut_answer(swapped) != swapped.answer)
    decoyed, is_decoyed = _with_decoys(scenes, seed)
    others = scenes.roles == OTHER
    cleared = with_cells(scenes, np.where(others, 0, scenes.cells).astype(np.uint8))
    return [
        EditedScenes(PLAIN, scenes, everything),
        EditedScenes(SWAPPED, swapped.take(is_swapped), everything[is_swapped]),
        EditedScenes(DECOYED, decoyed.take(is_decoyed), everything[is_decoyed]),
        EditedScenes(CLEARED, cleared.take(others.any(axis=1)), everything[others.any(axis=1)]),
        *(move_objects(scenes, kind, [seed, number]) for number, kind in enumerate(_PLACE_EDITS)),
        *(
            move_unasked(scenes, kind, [seed, number])
            for number, kind in enumerate(_NEUTRAL_EDITS, len(_PLACE_EDITS))
        ),
    ]


def shortcut_answer(scenes: SceneBatch) -> NDArray[np.uint8]:
    """Return the answer of a bag of words, as indices into `GridShape.answers`."""
    return bag_of_words(scenes.world, scenes.cells, scenes.questions)


def _with_decoys(scenes: SceneBatch, seed: int) -> tuple[SceneBatch, Flags]:
    """Place look-alikes in empty cells where they are harmless, until a bag of words is wrong."""
    rng = np.random.default_rng(seed)
    cells = scenes.cells.copy()
    done = np.zeros(len(scenes), bool)
    for row in range(len(scenes)):
        one = scenes.take(slice(row, row + 1))
        for side in rng.permutation(MOST_SIDES):
            kind = int(one.questions.targets[0, side])
            changed = _decoyed(one, kind, rng) if kind else None
            if changed is not None:
                cells[row], done[row] = changed, True
                break
    return with_cells(scenes, cells), done


def _decoyed(one: SceneBatch, kind: int, rng: np.random.Generator) -> NDArray[np.uint8] | None:
    """Return the cells of one scene with the fewest decoys of a kind that mislead a bag of words; None if none do."""
    harmless = harmless_contents(one)[0] & MATCHES[kind][None]
    harmless[:, 0] = False
    free = rng.permutation(np.flatnonzero(harmless.any(axis=1) & (one.cells[0] == 0)))
    cells = one.cells.copy()
    for cell in free:
        cells[0, cell] = rng.choice(np.flatnonzero(harmless[cell]))
        if shortcut_answer(with_cells(one, cells))[0] != one.answer[0]:
            return np.asarray(cells[0])
    return None


def _exchanges(one: SceneBatch) -> list[Integers]:
    """Return the pairs of cells with different objects, (n, 2): first those without an anchor, then those with one."""
    taken = np.flatnonzero(one.cells[0])
    first, second = np.triu_indices(len(taken), 1)
    pairs = np.stack([taken[first], taken[second]], axis=1)
    pairs = pairs[one.cells[0][pairs[:, 0]] != one.cells[0][pairs[:, 1]]]
    has_anchor = _is_anchor(one.roles[0])[pairs].any(axis=1)
    return [pairs[~has_anchor], pairs[has_anchor]]


def _target_moves(one: SceneBatch) -> list[Integers]:
    """Pair each object that looks like a target with each empty cell."""
    is_alike = np.isin(one.roles[0], (ADVERSARIAL, *range(FIRST_TARGET, FIRST_TARGET + MOST_SIDES)))
    return [_moves(one, is_alike)]


def _anchor_moves(one: SceneBatch) -> list[Integers]:
    """Pair each anchor with each empty cell."""
    return [_moves(one, _is_anchor(one.roles[0]))]


_PLACE_EDITS: Mapping[str, Callable[[SceneBatch], list[Integers]]] = {
    EXCHANGED: _exchanges,
    TARGET_MOVED: _target_moves,
    ANCHOR_MOVED: _anchor_moves,
}
"""The pairs of cells of a scene whose contents may be exchanged, in groups of falling preference."""


def _unasked_exchanges(one: SceneBatch) -> list[Integers]:
    """Return the pairs of cells with different objects: first those that are not asked about, then all."""
    is_other = one.roles[0] == OTHER
    pairs = np.concatenate(_exchanges(one))
    return [pairs[is_other[pairs].all(axis=1)], pairs]


def _unasked_moves(one: SceneBatch) -> list[Integers]:
    """Pair each object that is not asked about with each empty cell, then each object."""
    return [_moves(one, one.roles[0] == OTHER), _moves(one, one.cells[0] > 0)]


_NEUTRAL_EDITS: Mapping[str, Callable[[SceneBatch], list[Integers]]] = {
    EXCHANGED_UNASKED: _unasked_exchanges,
    MOVED_UNASKED: _unasked_moves,
}
"""The same for edits that leave the answer as it is."""


def _is_anchor(roles: NDArray[np.uint8]) -> Flags:
    return (roles >= FIRST_ANCHOR) & (roles < FIRST_TARGET)


def _moves(one: SceneBatch, is_moved: Flags) -> Integers:
    moved, empty = np.flatnonzero(is_moved), np.flatnonzero(one.cells[0] == 0)
    return np.stack([np.repeat(moved, len(empty)), np.tile(empty, len(moved))], axis=1)


def move_objects(scenes: SceneBatch, kind: str, seed: Sequence[int]) -> EditedScenes:
    """Return the scenes for which an edit of places changes the answer, after that edit, and with a turned question.

    Args:
        scenes: Scenes of questions with a relation.
        kind: `EXCHANGED`, `TARGET_MOVED` or `ANCHOR_MOVED`.
        seed: Seed of what is exchanged or moved.
    """
    rng = np.random.default_rng(seed)
    cells, done, turned = scenes.cells.copy(), np.zeros(len(scenes), bool), []
    for row in range(len(scenes)):
        one = scenes.take(slice(row, row + 1))
        for pairs in _PLACE_EDITS[kind](one):
            changed = _with_other_answer(one, pairs, rng, np.random.default_rng([*seed, row]))
            if changed is not None:
                cells[row], question = changed
                done[row] = True
                turned.append(question)
                break
    asked = QuestionTable.concatenate(turned) if turned else scenes.questions.take(done)
    return EditedScenes(kind, with_cells(scenes, cells).take(done), np.flatnonzero(done), asked)


def move_unasked(scenes: SceneBatch, kind: str, seed: Sequence[int]) -> EditedScenes:
    """Return the scenes after an edit of places that leaves the answer as it is, of objects that are not asked about if it can be.

    Args:
        scenes: Scenes of questions with a relation.
        kind: `EXCHANGED_UNASKED` or `MOVED_UNASKED`.
        seed: Seed of what is exchanged or moved.
    """
    rng = np.random.default_rng(seed)
    cells, done = scenes.cells.copy(), np.zeros(len(scenes), bool)
    for row in range(len(scenes)):
        one = scenes.take(slice(row, row + 1))
        for pairs in _NEUTRAL_EDITS[kind](one):
            made, answers = _exchanged_cells(one, rng.permutation(pairs)[:_MOST_TRIED])
            same = made[answers == one.answer[0]]
            if len(same):
                cells[row], done[row] = same[0], True
                break
    return EditedScenes(kind, with_cells(scenes, cells).take(done), np.flatnonzero(done))


def _exchanged_cells(one: SceneBatch, pairs: Integers) -> tuple[NDArray[np.uint8], NDArray[np.uint8]]:
    """Return the cells of one scene after the exchange of each pair of cells, and the answers after it."""
    cells = np.repeat(one.cells, len(pairs), axis=0)
    cells[np.arange(len(pairs))[:, None], pairs] = one.cells[0][pairs[:, ::-1]]
    return cells, answer(one.world, cells, one.questions.take(np.zeros(len(pairs), np.int64)))


def _with_other_answer(
    one: SceneBatch, pairs: Integers, rng: np.random.Generator, questions: np.random.Generator
) -> tuple[NDArray[np.uint8], QuestionTable] | None:
    """Exchange two cells of one scene so that the answer changes; None if no pair does that and has a turned question.

    All new answers that the pairs give are equally likely to be tried first.

    Args:
        one: The scene.
        pairs: The pairs of cells.
        rng: Decides which pair is tried first.
        questions: Decides which questions are tried.
    """
    cells, answers = _exchanged_cells(one, rng.permutation(pairs)[:_MOST_TRIED])
    others = np.setdiff1d(answers, one.answer)
    if len(others) == 0:
        return None
    first = int(rng.choice(np.flatnonzero(answers == rng.choice(others))))
    asked = _other_questions(one, questions)
    before = answer(one.world, np.repeat(one.cells, len(asked), axis=0), asked)
    more = np.flatnonzero((answers != one.answer[0]) & np.isin(answers, before))
    for place in (first, *more[more != first][:_MOST_TURNED].tolist()):
        fitting = np.flatnonzero(before == answers[place])
        after = answer(one.world, np.repeat(cells[place][None], len(fitting), axis=0), asked.take(fitting))
        turned = fitting[after == one.answer[0]]
        if len(turned):
            return cells[place], asked.take(turned[:1])
    return None


def _other_questions(one: SceneBatch, rng: np.random.Generator) -> QuestionTable:
    """Return other questions with answers of the same form about one scene, those with the same things first.

    They name other directions, then other targets as well, then other anchors as well, then things by other descriptions and with
    other numbers of relations.
    """
    own = BUCKETS[int(one.bucket[0])]
    others = [bucket for bucket in BUCKETS if bucket.asks == own.asks and bucket.is_relational]
    tried = [_drawn_questions(one, own, rng, keeps) for keeps in (("targets", "anchors"), ("anchors",), ())]
    tried += [_drawn_questions(one, bucket, rng) for bucket in others if bucket != own]
    return QuestionTable.concatenate(tried)


def _drawn_questions(
    one: SceneBatch, bucket: Bucket, rng: np.random.Generator, keeps: Sequence[str] = ()
) -> QuestionTable:
    """Draw questions of a bucket about one scene, all of which have an answer.

    Args:
        one: The scene.
        bucket: Of the questions.
        rng: Random generator.
        keeps: What is as in the scene's own question: ``targets``, ``anchors``.
    """
    naming, sides, anchors = bucket.type.naming, bucket.sides, bucket.n_anchors
    kinds = [code for code in range(len(MATCHES)) if naming.fits(*divmod(code, 5)) and MATCHES[code].any()]
    single = [code for code in kinds if MATCHES[code][one.cells[0]].sum() == 1]
    n = _QUESTIONS_TRIED if single else 0
    own = one.questions.take(np.zeros(n, np.int64))
    targets, named, directions = (np.zeros_like(part) for part in (own.targets, own.anchors, own.directions))
    directions[:, :anchors] = rng.integers(1, len(OPPOSITE), (n, anchors))
    if n:
        targets[:, :sides] = rng.choice(kinds, (n, sides))
        named[:, :anchors] = rng.choice(single, (n, anchors))
    targets = own.targets if "targets" in keeps else targets
    named = own.anchors if "anchors" in keeps else named
    things = np.sort(np.concatenate([targets[:, :sides], named[:, :anchors]], axis=1), axis=1).astype(int)
    is_distinct = np.asarray((np.diff(things, axis=1) > 0).all(axis=1))
    index = np.full(n, BUCKETS.index(bucket), np.uint8)
    return QuestionTable(index, targets, named, directions).take(is_distinct)
