"""Scenes and questions as plain arrays."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

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
from theodolite.instruments.grid.data.world import BUCKET_KEYS, MOST_ANCHORS, MOST_SIDES, Cells, Mode, World

ROLES = (
    "background",
    *(f"anchor_{k + 1}" for k in range(MOST_ANCHORS)),
    *(f"target_{side + 1}" for side in range(MOST_SIDES)),
    "adversarial",
    "other",
)
"""What a cell is to its question, by role id. Adversarial: looks like a target, but lies where the question does not look."""
BACKGROUND, FIRST_ANCHOR, FIRST_TARGET = 0, 1, 1 + MOST_ANCHORS
ADVERSARIAL, OTHER = FIRST_TARGET + MOST_SIDES, FIRST_TARGET + MOST_SIDES + 1

GUARANTEES = ("none", "impossible", "partial", "full")
"""How far Theorem 1 holds in a scene, by id; `theodolite.instruments.grid.data.recipe.guarantee_of` says it of a bucket.

- *full*: every confuser region holds a target look-alike, and every dropped-anchor logic that any scene could
  defeat is wrong here;
- *partial*: some region holds none, or some such logic is still right;
- *impossible*: no scene of its kind can do it: existence answered yes, where a superset of a non-empty set is not
  empty either; or fewer objects than anchors and their confusers;
- *none*: nothing is claimed: no relation in the question, or a spurious scene.
"""
NO_CLAIM, IMPOSSIBLE, PARTIAL, FULL = range(4)


@dataclass(frozen=True, slots=True)
class SceneBatch:
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
    """What each cell is to the question, index into `ROLES`, (n, cells)."""
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
        """How many objects each scene has."""
        return np.asarray((self.cells > 0).sum(axis=1))

    def take(self, rows: NDArray[np.integer] | NDArray[np.bool_] | slice) -> SceneBatch:
        """Some of the scenes, in the order of `rows`."""
        return replace(
            self,
            cells=self.cells[rows],
            questions=self.questions.take(rows),
            words=self.words[rows],
            spans=self.spans[rows],
            roles=self.roles[rows],
            answer=self.answer[rows],
            guarantee=self.guarantee[rows],
        )

    def text(self, row: int) -> str:
        """The question of one scene as a sentence."""
        return text_of(self.words[row])

    def answer_text(self, row: int) -> str:
        """The answer of one scene in words."""
        return self.world.answers[int(self.answer[row])]

    def bucket_key(self, row: int) -> str:
        """The bucket of one scene."""
        return BUCKET_KEYS[int(self.bucket[row])]


def join(batches: Sequence[SceneBatch]) -> SceneBatch:
    """Batches of one world and mode, one after the other."""
    if not batches:
        raise UsageError("there are no scenes to join")
    first = batches[0]
    if any((each.world, each.mode) != (first.world, first.mode) for each in batches):
        raise UsageError("only scenes of one world and one mode can be joined")
    if len(batches) == 1:
        return first

    def all_of(arrays: Sequence[NDArray[np.uint8]]) -> NDArray[np.uint8]:
        return np.concatenate(arrays)

    questions = [each.questions for each in batches]
    return SceneBatch(
        first.world,
        first.mode,
        all_of([each.cells for each in batches]),
        Questions(
            all_of([q.bucket for q in questions]),
            all_of([q.targets for q in questions]),
            all_of([q.anchors for q in questions]),
            all_of([q.directions for q in questions]),
        ),
        all_of([each.words for each in batches]),
        all_of([each.spans for each in batches]),
        all_of([each.roles for each in batches]),
        all_of([each.answer for each in batches]),
        all_of([each.guarantee for each in batches]),
    )


def roles_of(cells: Cells, sight: Sight) -> NDArray[np.uint8]:
    """What each cell is to its question, from the scene alone; see `ROLES`."""
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
    """How far Theorem 1 holds in each scene, from the scene alone; see `GUARANTEES`."""
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
    """Scenes with all that follows from them: answer, roles, guarantee. `written` are words and spans."""
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
