"""The models of the ``grid:`` scheme. Each target is a line in `TARGETS`; the symbolic twins are here."""

from __future__ import annotations

import math
import re
import time
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import ClassVar, cast

import numpy as np

from theodolite.core.errors import UsageError
from theodolite.core.types import Choice, Request, Response
from theodolite.instruments.grid.data.parsing import read_questions
from theodolite.instruments.grid.data.render import read_cells
from theodolite.instruments.grid.data.words import words_of
from theodolite.instruments.grid.data.world import World
from theodolite.instruments.grid.models.symbolic import CONFIDENCE, Logic, symbolic_answer
from theodolite.models import Capability, ModelName, ModelOptions, VisionLanguageModel, read_options

TARGETS: Mapping[str, str] = {
    "pure": "theodolite.instruments.grid.models.paired.model:open_paired",
    "spur": "theodolite.instruments.grid.models.paired.model:open_paired",
    "symbolic-pure": "theodolite.instruments.grid.models.opening:open_symbolic",
    "symbolic-bow": "theodolite.instruments.grid.models.opening:open_symbolic",
}
"""What can follow ``grid:``, and the function that opens it."""

_QUESTION = re.compile(r"(?:How many|Is there any|Are there more)\b[^?]*\?")


def open_model(name: ModelName) -> VisionLanguageModel:
    """Opens a model of the grid by its target."""
    if name.target not in TARGETS:
        raise UsageError(
            f"there is no model grid:{name.target}; there are: {', '.join(f'grid:{t}' for t in TARGETS)}"
        )
    module, _, function = TARGETS[name.target].partition(":")
    opener = cast("Callable[[ModelName], VisionLanguageModel]", getattr(import_module(module), function))
    return opener(name)


class SymbolicOptions(ModelOptions):
    """What can follow the ``?`` in ``grid:symbolic-pure?…``: the grid that its pictures show."""

    rows: int = 5
    columns: int = 5
    cell_px: int = 64


def open_symbolic(name: ModelName) -> SymbolicModel:
    """Opens ``grid:symbolic-pure`` or ``grid:symbolic-bow``."""
    options = read_options(name, SymbolicOptions)
    world = World(options.rows, options.columns, options.cell_px)
    return SymbolicModel(name.text, cast("Logic", name.target.removeprefix("symbolic-")), world)


class SymbolicModel:
    """A symbolic twin behind the model contract: reads the cells off the pixels and the question off the text."""

    lacks: ClassVar[Mapping[Capability, str]] = {}
    batch_size = 64

    def __init__(self, name: str, logic: Logic, world: World) -> None:
        self.name = name
        self.identity = name
        self.logic = logic
        self.world = world

    def generate(self, requests: Sequence[Request]) -> list[Response]:
        """One word each: a number, yes or no."""
        return [self._answer(request) for request in requests]

    def choose(self, requests: Sequence[Request], options: Sequence[Sequence[str]]) -> list[Choice]:
        """`CONFIDENCE` for the option that it would say, the rest evenly; all evenly if it would say none of them."""
        return [
            _as_choice(self._answer(request).text, tuple(each))
            for request, each in zip(requests, options, strict=True)
        ]

    def close(self) -> None:
        """Holds nothing."""

    def _answer(self, request: Request) -> Response:
        started = time.monotonic()
        try:
            said = self._look(request)
        except UsageError as error:
            return Response.failed(str(error), seconds=time.monotonic() - started)
        return Response("answered", text=said, finish="stop", seconds=time.monotonic() - started)

    def _look(self, request: Request) -> str:
        asked = _QUESTION.search(request.text)
        if asked is None:
            raise UsageError(f"none of the grid's questions is in {request.text!r}")
        if len(request.pictures) != 1:
            raise UsageError(f"one picture is needed, not {len(request.pictures)}")
        cells = read_cells(self.world, request.pictures[0].pixels())[None]
        questions = read_questions(words_of(asked.group())[None])
        answer = symbolic_answer(self.world, cells, questions, logic=self.logic)
        return self.world.answers[int(answer[0])]


def _as_choice(said: str, options: tuple[str, ...]) -> Choice:
    if not options:
        raise UsageError("there are no options to choose from")
    chosen = np.array([option.strip().casefold() == said.strip().casefold() for option in options])
    if chosen.sum() != 1 or len(options) == 1:
        return Choice(options, (-math.log(len(options)),) * len(options))
    other = (1 - CONFIDENCE) / (len(options) - 1)
    return Choice(options, tuple(math.log(CONFIDENCE if is_it else other) for is_it in chosen))
