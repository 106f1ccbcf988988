"""Scenes and questions as arrays, with what follows from them: answers, roles, guarantees, hashes and splits.

The split of a scene follows from its hash, so data made at different times on different machines never overlap: training
leaves out whatever hashes to validation or test.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from theodolite.core.errors import UsageError
from theodolite.instruments.grid.data.evaluate import (
    IS_COMPARISON,
    IS_COUNT,
    Sight,
    as_answer,
    look,
    look_alikes,
)
from theodolite.instruments.grid.data.words import Questions, text_of
from theodolite.instruments.grid.data.world import (
    BUCKET_KEYS,
    MOST_ANCHORS,
    MOST_SIDES,
    Cells,
    Mode,
    RowTable,
    World,
)

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

    world: World
    mode: Mode
    cells: Cells
    """Class ids, (n, cells) uint8; 0 is an empty cell."""
    questions: Questions
    """What is asked."""
    words: NDArray[np.uint8]
    """Word ids, (n, `MAX_WORDS`), padded with 0."""
    spans: NDArray[np.uint8]
    """First word and the word after the last of each phrase of `PHRASES`, (n, phrases, 2)."""
    roles: NDArray[np.uint8]
    """The role of each cell, index into `ROLES`, (n, cells)."""
    answer: NDArray[np.uint8]
    """Index into `World.answers`, (n,)."""
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
        """The question of one scene as a sentence."""
        return text_of(self.words[row])

    def answer_text(self, row: int) -> str:
        """The right answer of one scene as text."""
        return self.world.answers[int(self.answer[row])]

    def bucket_key(self, row: int) -> str:
        """The bucket of one scene."""
        return BUCKET_KEYS[int(self.bucket[row])]


def join(batches: Sequence[SceneBatch]) -> SceneBatch:
    """Concatenates batches of one world and mode."""
    if not batches:
        raise UsageError("there are no scenes to join")
    first = batches[0]
    if any((each.world, each.mode) != (first.world, first.mode) for each in batches):
        raise UsageError("only scenes of one world and one mode can be joined")
    return SceneBatch.concatenate(batches) if len(batches) > 1 else first


def roles_of(cells: Cells, sight: Sight) -> NDArray[np.uint8]:
    """The role of each cell; see `ROLES`."""
    roles = np.where(cells > 0, np.uint8(OTHER), np.uint8(BACKGROUND))
    for side in range(sight.alike.shape[1]):
        alike, inside = sight.alike[:, side], sight.region(side)
        np.copyto(roles, np.uint8(ADVERSARIAL), where=alike & ~inside)
        np.copyto(roles, np.uint8(FIRST_TARGET + side), where=alike & inside)
    for k in range(sight.valid.shape[1]):
        is_anchor = look_alikes(cells, sight.questions.anchors[:, k]) & (sight.sides[:, k] > 0)[:, None]
        np.copyto(roles, np.uint8(FIRST_ANCHOR + k), where=is_anchor)
    return roles


def guarantees(world: World, cells: Cells, sight: Sight, mode: Mode) -> NDArray[np.uint8]:
    """How far Theorem 1 holds in each scene; see `GUARANTEES`."""
    questions = sight.questions
    n, n_anchors = sight.sides.shape
    if mode == "spur" or not n_anchors:
        return np.zeros(n, np.uint8)
    truth = as_answer(world, questions, sight.counts())
    is_yes = truth == world.yes
    is_compared = IS_COMPARISON[questions.bucket]
    is_full = np.ones(n, bool)
    for k in range(n_anchors):
        is_there = sight.sides[:, k] > 0
        is_full &= (sight.own_alike(k) & sight.confusers(k)).any(axis=1) | ~is_there
        dropped = as_answer(world, questions, sight.counts(drop=k))
        could_fail = ~is_compared | (is_yes == (sight.sides[:, k] == 2))
        is_full &= (dropped != truth) | ~could_fail | ~is_there
    is_existence = ~IS_COUNT[questions.bucket] & ~is_compared
    is_hopeless = (is_existence & is_yes) | ((cells > 0).sum(axis=1) < 2 * (sight.sides > 0).sum(axis=1))
    level = np.where(is_hopeless, IMPOSSIBLE, np.where(is_full, FULL, PARTIAL))
    return np.where(sight.sides[:, 0] > 0, level, NO_CLAIM).astype(np.uint8)


def complete(
    world: World,
    mode: Mode,
    *,
    cells: Cells,
    questions: Questions,
    written: tuple[NDArray[np.uint8], NDArray[np.uint8]],
) -> SceneBatch:
    """Scenes with their answers, roles and guarantees. `written` are words and spans."""
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
    """The finaliser of splitmix64 (Steele, Lea and Flood 2014)."""
    value = (value ^ (value >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    value = (value ^ (value >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return value ^ (value >> np.uint64(31))


@lru_cache(maxsize=16)
def _weights(length: int) -> NDArray[np.uint64]:
    """Odd 64-bit numbers, one per position: the golden-ratio sequence, mixed."""
    steps = np.arange(1, length + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    return _mix(steps) | np.uint64(1)


def hash_scenes(cells: NDArray[np.uint8], words: NDArray[np.uint8]) -> NDArray[np.uint64]:
    """A 64-bit hash of each scene with its question, (n,): mix(Σ wᵢ · (byteᵢ + 1) mod 2⁶⁴) over cells and words.

    It depends only on class ids and word ids, so it is the same on every machine.
    """
    content = np.concatenate([cells, words], axis=1).astype(np.uint64) + np.uint64(1)
    return _mix(content @ _weights(content.shape[1]))


def split_of(hashes: NDArray[np.uint64]) -> NDArray[np.str_]:
    """The split that each hash belongs to: 1/16 test, 1/16 validation, the rest train.

    >>> split_of(np.array([0, 1, 2, 15, 16], np.uint64)).tolist()
    ['test', 'validation', 'train', 'train', 'test']
    """
    part = (hashes % np.uint64(_PARTS)).astype(np.int64)
    return np.array(["test", "validation", "train"])[np.minimum(part, 2)]
