"""Symbolic models: no weights, and their reasoning is known exactly, also with parts of scene and question hidden.

`pure` evaluates the question; `bow`, the bag of words, counts the targets' descriptions anywhere. With parts hidden:

- a hidden cell is empty;
- a hidden colour or shape word leaves that attribute open, so a target whose words are all hidden is any object;
- a hidden direction word drops its relation; words without content, such as "of", change nothing;
- an anchor that is not exactly one visible object drops its relation.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import ClassVar, Literal, TypeAlias, cast

import numpy as np
from numpy.typing import NDArray

from theodolite.core.errors import UsageError
from theodolite.core.types import Choice, Request, Response
from theodolite.instruments.grid.data.batch import SceneBatch, as_answer, look
from theodolite.instruments.grid.data.question_types import (
    ANCHOR_PHRASE,
    DIRECTION_PHRASE,
    MOST_ANCHORS,
    MOST_SIDES,
    TARGET_PHRASE,
    QuestionTable,
    question_words,
    read_questions,
)
from theodolite.instruments.grid.data.world import Cells, Flags, GridShape, Integers, read_cells
from theodolite.models import Capability, ModelName, ModelOptions, VisionLanguageModel, read_options

Logic: TypeAlias = Literal["pure", "bow"]
LOGICS: tuple[Logic, ...] = ("pure", "bow")
CONFIDENCE = 0.97
"""The probability that a symbolic model gives to its answer; the rest is divided evenly among the other answers."""


def symbolic_counts(world: GridShape, cells: Cells, questions: QuestionTable, *, logic: Logic) -> Integers:
    """Return the number of targets of each group that a model sees, (n, 2); objects and words may be missing.

    Args:
        world: The grid.
        cells: Class ids, (n, cells); 0 for hidden ones.
        questions: One for each scene; from `hide_words` if words are hidden.
        logic: ``pure`` or ``bow``.
    """
    if logic not in {"pure", "bow"}:
        raise UsageError(f"the logic of a symbolic model is pure or bow, not {logic!r}")
    sight = look(world, cells, questions, gaps=True)
    if logic == "pure":
        return sight.counts()
    counts = np.zeros((len(cells), MOST_SIDES), np.int64)
    counts[:, : sight.alike.shape[1]] = sight.alike.sum(axis=2)
    return counts


def symbolic_answer(
    world: GridShape, cells: Cells, questions: QuestionTable, *, logic: Logic
) -> NDArray[np.uint8]:
    """Return the answers of a symbolic model, as indices into `GridShape.answers`."""
    return as_answer(world, questions, symbolic_counts(world, cells, questions, logic=logic))


def hide_words(batch: SceneBatch, row: int, word_mask: Flags) -> QuestionTable:
    """Parse a question with only some of its words shown, one row per mask."""
    m = len(word_mask)
    questions, spans = batch.questions, batch.spans[row]

    def shown(kind: int, phrase: int) -> NDArray[np.uint8]:
        """Return a description with only the shown words: its colour is the first word, its noun the last."""
        first, last = (int(position) for position in spans[phrase])
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
    return QuestionTable(
        np.full(m, questions.bucket[row], np.uint8),
        np.stack(targets, axis=1),
        np.stack(anchors, axis=1),
        np.stack(directions, axis=1),
    )


class SymbolicOptions(ModelOptions):
    """Options after the ``?`` in ``grid:symbolic-pure?…``: the size of the grid."""

    rows: int = 5
    columns: int = 5
    cell_px: int = 64


def open_symbolic(name: ModelName) -> SymbolicModel:
    """Open ``grid:symbolic-pure`` or ``grid:symbolic-bow``."""
    options = read_options(name, SymbolicOptions)
    world = GridShape(options.rows, options.columns, options.cell_px)
    return SymbolicModel(name.text, cast("Logic", name.target.removeprefix("symbolic-")), world)


class SymbolicModel:
    """A symbolic model behind the model contract: cells from the pixels, the question from the text."""

    lacks: ClassVar[Mapping[Capability, str]] = {}
    batch_size = 64

    def __init__(self, name: str, logic: Logic, world: GridShape) -> None:
        self.name = name
        self.identity = name
        self.logic = logic
        self.world = world

    def generate(self, requests: Sequence[Request]) -> list[Response]:
        """Answer each request in one word: a number, yes or no."""
        return [self._answer(request) for request in requests]

    def choose(self, requests: Sequence[Request], options: Sequence[Sequence[str]]) -> list[Choice]:
        """Give `CONFIDENCE` to its answer and divide the rest evenly; divide all evenly if its answer is not an option."""
        return [
            _as_choice(self._answer(request).text, tuple(offered))
            for request, offered in zip(requests, options, strict=True)
        ]

    def close(self) -> None:
        """Do nothing: nothing is held."""

    def _answer(self, request: Request) -> Response:
        started = time.monotonic()
        try:
            text = self._look(request)
        except UsageError as error:
            return Response.failed(str(error), seconds=time.monotonic() - started)
        return Response("answered", text=text, finish="stop", seconds=time.monotonic() - started)

    def _look(self, request: Request) -> str:
        questions = read_questions(question_words(request.text)[None])
        if len(request.pictures) != 1:
            raise UsageError(f"one picture is needed, not {len(request.pictures)}")
        cells = read_cells(self.world, request.pictures[0].pixels())[None]
        answer = symbolic_answer(self.world, cells, questions, logic=self.logic)
        return self.world.answers[int(answer[0])]


def _as_choice(text: str, options: tuple[str, ...]) -> Choice:
    if not options:
        raise UsageError("there are no options to choose from")
    chosen = np.array([option.strip().casefold() == text.strip().casefold() for option in options])
    if chosen.sum() != 1 or len(options) == 1:
        return Choice(options, (-math.log(len(options)),) * len(options))
    other = (1 - CONFIDENCE) / (len(options) - 1)
    return Choice(options, tuple(math.log(CONFIDENCE if is_it else other) for is_it in chosen))


# The models of the ``grid:`` scheme.


TARGETS: Mapping[str, str] = {
    "pure": "theodolite.instruments.grid.models.paired:open_paired",
    "spur": "theodolite.instruments.grid.models.paired:open_paired",
    "symbolic-pure": "theodolite.instruments.grid.models.symbolic:open_symbolic",
    "symbolic-bow": "theodolite.instruments.grid.models.symbolic:open_symbolic",
}
"""What can follow ``grid:``, and the function that opens it."""


def open_model(name: ModelName) -> VisionLanguageModel:
    """Open a model of the grid."""
    if name.target not in TARGETS:
        raise UsageError(
            f"there is no model grid:{name.target}; there are: {', '.join(f'grid:{t}' for t in TARGETS)}"
        )
    module, _, function = TARGETS[name.target].partition(":")
    opener = cast("Callable[[ModelName], VisionLanguageModel]", getattr(import_module(module), function))
    return opener(name)
