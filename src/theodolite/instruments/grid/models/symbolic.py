"""Symbolic twins: models without weights whose reasoning is known exactly, as games over objects and words.

`pure` evaluates the question; `bow`, the bag of words, counts the targets' descriptions anywhere. Both are defined for
every subset of objects and words, so that Shapley values, interactions and maps can be computed exactly.

What is missing is read so:

- a hidden cell is empty;
- a hidden colour or shape word leaves that attribute open, so that a target whose words are all hidden is any object;
- a hidden direction word drops its relation; "of", like all words that carry no content, changes nothing;
- an anchor that is not exactly one visible object, because it is hidden or its words fit several, drops its relation.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from theodolite.core.errors import UsageError
from theodolite.instruments.grid.data.batch import SceneBatch
from theodolite.instruments.grid.data.evaluate import as_answer, look
from theodolite.instruments.grid.data.words import (
    ANCHOR_PHRASE,
    DIRECTION_PHRASE,
    PAD,
    TARGET_PHRASE,
    Questions,
)
from theodolite.instruments.grid.data.world import (
    BUCKETS,
    MOST_ANCHORS,
    MOST_SIDES,
    Cells,
    Flags,
    Integers,
    World,
)

Logic: TypeAlias = Literal["pure", "bow"]
Output: TypeAlias = Literal["count", "probability", "log-odds"]

LOGICS: tuple[Logic, ...] = ("pure", "bow")
CONFIDENCE = 0.97
"""The probability that a symbolic twin gives to its answer; the rest is shared evenly by the other possible answers."""


def symbolic_counts(world: World, cells: Cells, questions: Questions, *, logic: Logic) -> Integers:
    """How many targets of each group a twin sees, (n, 2), where objects and words may be missing."""
    if logic not in {"pure", "bow"}:
        raise UsageError(f"the logic of a symbolic twin is pure or bow, not {logic!r}")
    sight = look(world, cells, questions, gaps=True)
    if logic == "pure":
        return sight.counts()
    counts = np.zeros((len(cells), MOST_SIDES), np.int64)
    counts[:, : sight.alike.shape[1]] = sight.alike.sum(axis=2)
    return counts


def symbolic_answer(world: World, cells: Cells, questions: Questions, *, logic: Logic) -> NDArray[np.uint8]:
    """What a twin answers, as indices into `World.answers`."""
    return as_answer(world, questions, symbolic_counts(world, cells, questions, logic=logic))


@dataclass(frozen=True, slots=True)
class SymbolicGame:
    """One scene with its question, as a game: `game(cell_mask, word_mask)` is the twin's output for each coalition.

    Outputs, for the answer that the twin gives to the whole scene:

    - ``count``: the number of targets; for a comparison the difference n₁ − n₂; exact integers;
    - ``probability``: `CONFIDENCE` where the twin says the same, otherwise what is left for each other answer;
    - ``log-odds``: log p / (1 − p) of that probability.

    >>> from theodolite.instruments.grid.data.generate import generate
    >>> batch = generate("M-F0-D2", 1, seed=0)
    >>> game = SymbolicGame(batch, 0, logic="pure")
    >>> everything = game(np.ones((1, 25), bool), np.ones((1, 28), bool))
    >>> float(everything[0]) == float(batch.answer[0])
    True
    """

    batch: SceneBatch
    row: int
    logic: Logic
    output: Output = "count"

    def __post_init__(self) -> None:
        if self.output not in {"count", "probability", "log-odds"}:
            raise UsageError(f"the output is count, probability or log-odds, not {self.output!r}")
        if not 0 <= self.row < len(self.batch):
            raise UsageError(f"there is no scene {self.row} among {len(self.batch)}")
        symbolic_counts(
            self.batch.world, self.batch.cells[:1], self.batch.questions.take(slice(0, 1)), logic=self.logic
        )

    @property
    def object_cells(self) -> Integers:
        """The cells that hold an object: hiding any other cell changes nothing."""
        return np.flatnonzero(self.batch.cells[self.row])

    @property
    def words(self) -> Integers:
        """The places of the question's words."""
        return np.flatnonzero(self.batch.words[self.row] != PAD)

    def __call__(self, cell_mask: Flags, word_mask: Flags) -> NDArray[np.float64]:
        """The output for m coalitions: `cell_mask` (m, cells) and `word_mask` (m, words) say what is shown."""
        n_cells, n_words = self.batch.cells.shape[1], self.batch.words.shape[1]
        if cell_mask.shape[1:] != (n_cells,) or word_mask.shape != (len(cell_mask), n_words):
            raise UsageError(
                f"coalitions need masks of shapes (m, {n_cells}) and (m, {n_words}), got {cell_mask.shape} and {word_mask.shape}"
            )
        cells = np.where(cell_mask, self.batch.cells[self.row], 0).astype(np.uint8)
        questions = hide_words(self.batch, self.row, word_mask)
        counts = symbolic_counts(self.batch.world, cells, questions, logic=self.logic)
        if self.output == "count":
            return (counts[:, 0] - counts[:, 1]).astype(np.float64)
        return self._confidence(as_answer(self.batch.world, questions, counts))

    def _confidence(self, said: NDArray[np.uint8]) -> NDArray[np.float64]:
        world, row = self.batch.world, slice(self.row, self.row + 1)
        whole = symbolic_answer(
            world, self.batch.cells[row], self.batch.questions.take(row), logic=self.logic
        )
        is_count = BUCKETS[int(self.batch.bucket[self.row])].is_count
        others = world.max_count if is_count else 1
        share = np.where(said == whole, CONFIDENCE, (1 - CONFIDENCE) / others)
        return np.asarray(share if self.output == "probability" else np.log(share / (1 - share)))


def hide_words(batch: SceneBatch, row: int, word_mask: Flags) -> Questions:
    """What one question still asks when only some of its words are shown, one row for each mask."""
    m = len(word_mask)
    questions, spans = batch.questions, batch.spans[row]

    def shown(kind: int, phrase: int) -> NDArray[np.uint8]:
        """A description of which only the shown words count: its colour is the first word, its noun the last."""
        first, last = (int(place) for place in spans[phrase])
        if last == first:
            return np.full(m, kind, np.uint8)
        colour, shape = divmod(kind, 5)
        return (5 * colour * word_mask[:, first] + shape * word_mask[:, last - 1]).astype(np.uint8)

    targets = [shown(int(questions.targets[row, i]), TARGET_PHRASE + i) for i in range(MOST_SIDES)]
    anchors = [shown(int(questions.anchors[row, k]), ANCHOR_PHRASE + k) for k in range(MOST_ANCHORS)]
    directions = [
        (int(questions.directions[row, k]) * word_mask[:, spans[DIRECTION_PHRASE + k, 0]]).astype(np.uint8)
        for k in range(MOST_ANCHORS)
    ]
    return Questions(
        np.full(m, questions.bucket[row], np.uint8),
        np.stack(targets, axis=1),
        np.stack(anchors, axis=1),
        np.stack(directions, axis=1),
    )
