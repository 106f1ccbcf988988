"""The symbolic evaluator and the shortcuts, vectorised over scenes.

A question restricts each group of targets by anchors; V_i is the half-plane that anchor i allows. The right answer
counts the objects that fit the target's description inside V_T = ⋂ V_i. A shortcut leaves something out:

- *bag of words* ignores every relation and counts the description anywhere;
- *dropped anchor k* counts inside ⋂_{i≠k} V_i;
- *majority* takes the most frequent kind of object for the target.

Answers of the evaluator and of shortcuts are indices into `World.answers`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from theodolite.core.errors import UsageError
from theodolite.instruments.grid.data.words import Questions
from theodolite.instruments.grid.data.world import (
    ANCHOR_SIDE,
    BUCKETS,
    COLOUR_OF,
    MATCHES,
    MOST_SIDES,
    N_CLASSES,
    SHAPE_OF,
    Cells,
    Flags,
    Integers,
    World,
    offsets,
)

IS_COMPARISON = np.array([b.is_comparison for b in BUCKETS])
IS_COUNT = np.array([b.is_count for b in BUCKETS])
_QTYPE = np.array([["A", "SO", "CO", "M", "CMP"].index(b.qtype) for b in BUCKETS])


def look_alikes(cells: Cells, kinds: NDArray[np.uint8]) -> Flags:
    """Cells that hold an object of a description, (n, cells)."""
    return np.take(_FLAT_MATCHES, kinds.astype(np.int64)[:, None] * (N_CLASSES + 1) + cells)


_FLAT_MATCHES = MATCHES.ravel()


def find_anchors(cells: Cells, questions: Questions) -> tuple[Integers, Integers]:
    """The first cell that fits each anchor's description and how many cells fit, both (n, anchors).

    The second dimension is the largest number of anchors in the batch; both are 0 where a question has no such anchor.
    """
    sides = ANCHOR_SIDE[questions.bucket]
    most = int((sides > 0).sum(axis=1).max(initial=0))
    places = np.zeros((len(cells), most), np.int64)
    counts = np.zeros((len(cells), most), np.int64)
    for k in range(most):
        fits = look_alikes(cells, questions.anchors[:, k]) & (sides[:, k] > 0)[:, None]
        places[:, k], counts[:, k] = fits.argmax(axis=1), fits.sum(axis=1)
    return places, counts


@dataclass(frozen=True, slots=True)
class Sight:
    """Regions and matching objects of each question in its scene.

    Computed once and used by the evaluator, the shortcuts, the roles and the guarantees. Arrays are as large as the
    question with most anchors and groups needs.
    """

    questions: Questions
    sides: NDArray[np.uint8]
    """The group that each anchor restricts, (n, anchors); 0 where a question has no such anchor."""
    valid: Flags
    """V_k, (n, anchors, cells): the cells in the direction of anchor k; all cells where there is no anchor k."""
    alike: Flags
    """Cells that hold an object of each group's description, (n, groups, cells)."""

    def region(self, side: int, drop: int | None = None) -> Flags:
        """V_T of a group (0 or 1), (n, cells): the intersection of its anchors' regions, without anchor `drop`."""
        inside = np.ones(self.valid.shape[::2], bool)
        for k in range(self.valid.shape[1]):
            if k != drop:
                inside &= self.valid[:, k] | (self.sides[:, k] != side + 1)[:, None]
        return inside

    def confusers(self, k: int) -> Flags:
        r"""C_k = (⋂_{i≠k} V_i) \ V_k over the anchors of k's group, (n, cells); empty where there is no anchor k."""
        relaxed = self.region(0, drop=k)
        if (self.sides[:, k] == 2).any():
            relaxed = np.where((self.sides[:, k] == 2)[:, None], self.region(1, drop=k), relaxed)
        return np.asarray(relaxed & ~self.valid[:, k] & (self.sides[:, k] > 0)[:, None])

    def own_alike(self, k: int) -> Flags:
        """Look-alikes of the group that anchor k restricts, (n, cells)."""
        if self.alike.shape[1] == 1:
            return self.alike[:, 0]
        return np.where((self.sides[:, k] == 2)[:, None], self.alike[:, 1], self.alike[:, 0])

    def counts(self, drop: int | None = None) -> Integers:
        """The number of look-alikes of each group in its region, (n, 2); the second is 0 without a comparison."""
        found = np.zeros((len(self.questions), MOST_SIDES), np.int64)
        for side in range(self.alike.shape[1]):
            found[:, side] = (self.alike[:, side] & self.region(side, drop)).sum(axis=1)
        return found


def look(world: World, cells: Cells, questions: Questions, *, gaps: bool = False) -> Sight:
    """Finds the regions and objects of every question in its scene.

    Args:
        world: The grid.
        cells: Class ids, (n, cells).
        questions: One for each scene.
        gaps: True if objects or words may be missing. Then a relation without a direction, or whose anchor is not
            exactly one object, restricts nothing. Otherwise such an anchor is an error.

    Raises:
        UsageError: An anchor's description fits no object of its scene, or several.
    """
    places, counts = find_anchors(cells, questions)
    most = places.shape[1]
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
    valid = offsets(world.rows, world.columns)[directions, places] >= 1
    groups = [look_alikes(cells, questions.targets[:, 0])]
    is_compared = IS_COMPARISON[questions.bucket]
    if is_compared.any():
        groups.append(look_alikes(cells, questions.targets[:, 1]) & is_compared[:, None])
    return Sight(questions, sides, np.asarray(valid), np.stack(groups, axis=1))


def as_answer(world: World, questions: Questions, counts: Integers) -> NDArray[np.uint8]:
    """From counts to answers: the count, whether there is any, or whether the first group is larger.

    Raises:
        UsageError: A count is larger than the largest answer. It is not clipped, since two counts would become one.
    """
    beyond = IS_COUNT[questions.bucket] & (counts[:, 0] > world.max_count)
    if beyond.any():
        raise UsageError(
            f"{int(counts[beyond, 0].max())} objects were counted, but the answers end at {world.max_count}; give the "
            "world a larger max_count"
        )
    is_yes = np.where(IS_COMPARISON[questions.bucket], counts[:, 0] > counts[:, 1], counts[:, 0] > 0)
    said = np.where(IS_COUNT[questions.bucket], counts[:, 0], np.where(is_yes, world.yes, world.yes + 1))
    return np.asarray(said.astype(np.uint8))


def answer(world: World, cells: Cells, questions: Questions) -> NDArray[np.uint8]:
    """The right answer to every question about its scene."""
    return as_answer(world, questions, look(world, cells, questions).counts())


def bag_of_words(world: World, cells: Cells, questions: Questions) -> NDArray[np.uint8]:
    """The answer of a bag of words: the targets' descriptions counted anywhere."""
    counts = [look_alikes(cells, questions.targets[:, side]).sum(axis=1) for side in range(MOST_SIDES)]
    return as_answer(world, questions, np.stack(counts, axis=1))


def dropped_anchor(world: World, cells: Cells, questions: Questions, *, k: int) -> NDArray[np.uint8]:
    """The answer without anchor k (from 0); the right one where there is no anchor k."""
    return as_answer(world, questions, look(world, cells, questions).counts(drop=k))


def majority(world: World, cells: Cells, questions: Questions) -> tuple[NDArray[np.uint8], Flags]:
    """The answer if the most frequent kind of object is taken for the target, and where several kinds tie.

    Kinds are shapes for shape-only questions, colours for colour-only ones, and classes otherwise. A count is that of
    the kind; existence and comparison are answered yes if the (first) target is of that kind, or of one of the tied.
    """
    n = len(cells)
    qtype = _QTYPE[questions.bucket]
    counts = np.zeros((n, N_CLASSES + 1), np.int64)
    rows = np.arange(n)
    for cell in range(cells.shape[1]):
        shown = np.where(qtype == 1, SHAPE_OF[cells[:, cell]], cells[:, cell])
        shown = np.where(qtype == 2, COLOUR_OF[cells[:, cell]], shown)
        counts[rows, shown] += 1
    counts[:, 0] = 0
    most = counts.max(axis=1)
    colour, shape = np.divmod(questions.targets[:, 0].astype(np.int64), 5)
    own = np.where(qtype == 1, shape, np.where(qtype == 2, colour, 4 * (colour - 1) + shape))
    is_yes = counts[rows, own] == most
    said = np.where(IS_COUNT[questions.bucket], most, np.where(is_yes, world.yes, world.yes + 1))
    return said.astype(np.uint8), np.asarray((counts == most[:, None]).sum(axis=1) > 1)
