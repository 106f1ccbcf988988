"""Models as explainers call them: symbolic, paired network, or any other, with parts of scene and question hidden."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, cast

import numpy as np
from numpy.typing import NDArray

from theodolite.attribution import is_white_box
from theodolite.core.errors import ModelError, UnsupportedError, UsageError
from theodolite.core.types import Choice, Picture, Request
from theodolite.instruments.grid.data.batch import IS_COUNT, SceneBatch
from theodolite.instruments.grid.data.question_types import BUCKETS, MASK, PAD, text_of
from theodolite.instruments.grid.data.world import Flags, GridShape, Integers, render
from theodolite.instruments.grid.explainers.game import Convention, Fill, Floats, Hiding, check_hiding
from theodolite.instruments.grid.models.symbolic import CONFIDENCE, Logic, hide_words, symbolic_answer
from theodolite.instruments.grid.questions import prompt_of
from theodolite.models import ChoosingModel, open_model, require

if TYPE_CHECKING:
    from theodolite.instruments.grid.explainers.second_order import Slope, SlopeRequest
    from theodolite.instruments.grid.models.paired import PairedNetwork

_GREYS: dict[Fill, int] = {"white": 255, "grey": 128, "black": 0}
_NEVER = -14.0
"""The log-probability of an answer of the wrong kind, such as 3 to a yes-no question."""


@dataclass(frozen=True, slots=True)
class Shown:
    """m inputs with parts hidden, each the picture of one scene and the question of one."""

    batch: SceneBatch
    pictures: Integers
    """The scene whose picture is shown, (m,)."""
    questions: Integers
    """The scene whose question is asked, (m,)."""
    cell_mask: Flags
    """Which cells are shown, (m, cells)."""
    word_mask: Flags
    """Which words are shown, (m, words)."""
    fill: Fill = "white"
    hiding: Hiding = "mask"

    def __post_init__(self) -> None:
        check_hiding(self.fill, self.hiding)

    def __len__(self) -> int:
        return len(self.pictures)

    def words(self) -> NDArray[np.uint8]:
        """Return the word ids with hidden words replaced, (m, words)."""
        words = self.batch.words[self.questions]
        hidden = ~self.word_mask & (words != PAD)
        if self.hiding == "mask":
            return np.where(hidden, MASK, words).astype(np.uint8)
        order = np.argsort(hidden | (words == PAD), axis=1, kind="stable")
        return np.take_along_axis(np.where(hidden, PAD, words), order, axis=1).astype(np.uint8)


class Reader(Protocol):
    """A model that gives logits over the answers of a world, with parts of its input hidden."""

    name: str
    identity: str
    can_differentiate: bool

    def logits(self, shown: Shown) -> Floats:
        """Return logits (or log-probabilities) over `GridShape.answers`, (m, answers)."""
        ...


class SymbolicReader:
    """A symbolic model. A hidden cell is empty to it, whatever the fill."""

    can_differentiate = False

    def __init__(self, logic: Logic) -> None:
        self.name = self.identity = f"grid:symbolic-{logic}"
        self.logic = logic

    def logits(self, shown: Shown) -> Floats:
        """Give `CONFIDENCE` to the model's answer; the other answers of that kind share the rest."""
        batch = shown.batch
        world, answers = batch.world, np.zeros(len(shown), np.int64)
        cells = np.where(shown.cell_mask, batch.cells[shown.pictures], 0).astype(np.uint8)
        for question in np.unique(shown.questions):
            rows = np.flatnonzero(shown.questions == question)
            asked = hide_words(batch, int(question), shown.word_mask[rows])
            answers[rows] = symbolic_answer(world, cells[rows], asked, logic=self.logic)
        is_count = IS_COUNT[batch.bucket[shown.questions]]
        fits = is_count[:, None] == (np.arange(len(world.answers)) <= world.max_count)
        others = np.where(is_count, world.max_count, 1)[:, None]
        logits = np.where(fits, np.log((1 - CONFIDENCE) / others), _NEVER)
        logits[np.arange(len(shown)), answers] = np.log(CONFIDENCE)
        return np.asarray(logits, np.float64)


class NetworkReader:
    """A paired network."""

    can_differentiate = True

    def __init__(self, name: str, network: PairedNetwork, digest: str, *, device: str = "cpu") -> None:
        from theodolite.instruments.grid.models.paired import PairedReader

        self.name, self.identity = name, f"{name}@{digest}"
        self.network, self.device = network, device
        self._reader = PairedReader(network, device=device)

    def check(self, world: GridShape) -> None:
        """Check that the network can answer questions about this world.

        Raises:
            UsageError: It knows other answers, or only smaller grids.
        """
        size = self.network.size
        if len(world.answers) != size.answers:
            raise UsageError(
                f"{self.name} knows {size.answers} answers, and this data set has {len(world.answers)}: counts up to "
                f"{world.max_count}; make it with --max-answer, or on a grid of 5×5"
            )
        if max(world.rows, world.columns) > size.side:
            raise UsageError(
                f"{self.name} reads grids up to {size.side} cells wide, and this data set has {world.rows}×{world.columns}"
            )

    def logits(self, shown: Shown) -> Floats:
        """Run one forward pass for each input."""
        from theodolite.instruments.grid.models.paired import FILLS as TILES

        batch = shown.batch
        self.check(batch.world)
        cells = np.where(shown.cell_mask, batch.cells[shown.pictures], TILES[shown.fill]).astype(np.uint8)
        side = (batch.world.rows, batch.world.columns)
        return self._reader.logits(cells, shown.words(), side=side).astype(np.float64)

    def slopes(self, requests: Sequence[SlopeRequest]) -> list[Slope]:
        """Return the second-order gradients of the network."""
        from theodolite.instruments.grid.explainers.second_order import find_slopes

        return find_slopes(self.network, requests, device=self.device)


class CoreReader:
    """Any other model that gives log-probabilities of options; the picture is redrawn and the question rewritten."""

    def __init__(self, model: ChoosingModel) -> None:
        require(model, "choose")
        self.name, self.identity, self.model = model.name, model.identity, model
        self.can_differentiate = is_white_box(model)

    def logits(self, shown: Shown) -> Floats:
        """Return log-probabilities of the answers that fit the question; the others get `_NEVER`."""
        world = shown.batch.world
        words = shown.words()
        requests, options = [], []
        for m in range(len(shown)):
            question = int(shown.questions[m])
            asks = BUCKETS[int(shown.batch.bucket[question])].asks
            picture = Picture.from_array(draw(shown, m))
            requests.append(Request.ask(picture, prompt_of(text_of(words[m]), asks), max_tokens=4))
            options.append(asks.options(world))
        choices = self.model.choose(requests, options)
        logits = np.full((len(shown), len(world.answers)), _NEVER)
        for m, (choice, names) in enumerate(zip(choices, options, strict=True)):
            if not isinstance(choice, Choice):
                raise ModelError(f"{self.name} gave no answer: {choice.reason or choice.status}")
            logits[m, [world.answers.index(name) for name in names]] = np.maximum(
                choice.log_probabilities, _NEVER
            )
        return logits

    def slopes(self, requests: Sequence[SlopeRequest]) -> list[Slope]:
        """Return the second-order gradients of a white box."""
        from theodolite.instruments.grid.explainers.second_order import checkpoint_slope

        return [checkpoint_slope(self.model, request) for request in requests]


def draw(shown: Shown, m: int) -> NDArray[np.uint8]:
    """Return the picture of the m-th input, with hidden cells filled."""
    world = shown.batch.world
    pixels: NDArray[np.uint8] = render(world, shown.batch.cells[int(shown.pictures[m])][None])[0].copy()
    for cell in np.flatnonzero(~shown.cell_mask[m]):
        left, top, right, bottom = world.box_px(int(cell))
        pixels[top:bottom, left:right] = _GREYS[shown.fill]
    return pixels


def open_reader(model: str, *, device: str = "cpu") -> Reader:
    """Open a model by name.

    ``weights:FILE`` is a network that ``python -m train grid`` wrote. Models outside the ``grid:`` scheme must give the
    log-probabilities of options.

    >>> open_reader("grid:symbolic-bow").identity
    'grid:symbolic-bow'
    """
    scheme, _, target = model.partition(":")
    if (
        scheme == "grid"
        and target.startswith("symbolic-")
        and target.removeprefix("symbolic-") in {"pure", "bow"}
    ):
        return SymbolicReader(cast("Logic", target.removeprefix("symbolic-")))
    if scheme == "weights" or model in {"grid:pure", "grid:spur"}:
        return _open_network(model, target, device)
    opened = open_model(model)
    try:
        require(opened, "choose")
    except UnsupportedError as error:
        opened.close()
        raise UnsupportedError(f"explaining needs the log-probabilities of answers, and {error}") from error
    return CoreReader(cast("ChoosingModel", opened))


def _open_network(model: str, target: str, device: str) -> NetworkReader:
    from pathlib import Path

    from theodolite.instruments.grid.models import paired

    path = Path(target) if model.startswith("weights:") else paired.released(cast("Any", target))
    network, digest = paired.open_network(path, device)
    return NetworkReader(model, network, digest, device=device)


# The scenes of one bucket, and the model's logits for each picture with each question.


class Pool:
    """Scenes of one bucket at one density with their cross matrix F[i, j] = f(picture i, question j).

    DIME, EMAP, InterSHAP and PID all use this matrix. No entry is computed twice.

    Args:
        reader: The model; None if the pool holds stored logits only (see `learn`).
        batch: Scenes.
        rows: The scenes of the pool, all of one bucket.
        convention: What is explained.
        seed: Seed of whatever a global explainer draws.
    """

    def __init__(
        self,
        reader: Reader | None,
        batch: SceneBatch,
        rows: Integers,
        convention: Convention,
        *,
        seed: int = 0,
    ) -> None:
        if rows.size == 0 or np.unique(batch.bucket[rows]).size != 1:
            raise UsageError("a pool needs at least one scene, and all of them of one bucket")
        self.reader, self.batch, self.rows, self.convention = reader, batch, rows, convention
        self.seed = seed
        self._known: dict[tuple[int, int], Floats] = {}
        self.found: dict[tuple[object, ...], object] = {}
        """Results that explainers of one family share for a scene."""

    @property
    def calls(self) -> int:
        """Model calls so far, shared by all explanations of the bucket."""
        return len(self._known)

    def logits(self, pictures: Integers, questions: Integers) -> Floats:
        """Return the logits of every picture with every question, (pictures, questions, answers)."""
        if missing := self.missing(pictures, questions):
            self.learn(missing, self.whole(*(np.array(side) for side in zip(*missing, strict=True))))
        rows = [self._known[int(i), int(j)] for i in pictures for j in questions]
        return np.stack(rows).reshape(len(pictures), len(questions), -1)

    def whole(self, pictures: Integers, questions: Integers) -> Floats:
        """Return the logits (m, answers) of whole inputs; not cached."""
        m = len(pictures)
        shown = [np.ones((m, size), bool) for size in (self.batch.cells.shape[1], self.batch.words.shape[1])]
        return self.masked(pictures, questions, *shown)

    def masked(self, pictures: Integers, questions: Integers, cell_mask: Flags, word_mask: Flags) -> Floats:
        """Return the logits (m, answers) of inputs with parts hidden; not cached.

        Args:
            pictures: The scene whose picture is shown, (m,).
            questions: The scene whose question is asked, (m,).
            cell_mask: Which cells are shown, (m, cells).
            word_mask: Which words are shown, (m, words).
        """
        if self.reader is None:
            raise UsageError("this pool has stored answers only; the model is needed here")
        shown = Shown(
            self.batch,
            pictures,
            questions,
            cell_mask,
            word_mask,
            self.convention.fill,
            self.convention.hiding,
        )
        return self.reader.logits(shown)

    def seen_by(self, reader: Reader) -> Pool:
        """Return the same pool with the same cache, through another reader of the same model."""
        seen = Pool(reader, self.batch, self.rows, self.convention, seed=self.seed)
        seen._known, seen.found = self._known, self.found
        return seen

    def missing(self, pictures: Integers, questions: Integers) -> list[tuple[int, int]]:
        """Return the pairs that are not known yet."""
        wanted = dict.fromkeys((int(i), int(j)) for i in pictures for j in questions)
        return [pair for pair in wanted if pair not in self._known]

    def learn(self, pairs: list[tuple[int, int]], logits: Floats) -> None:
        """Add known logits of some pairs."""
        self._known.update(zip(pairs, logits, strict=True))


def fill_matrices(reader: Reader, pools: Iterable[Pool]) -> None:
    """Compute all missing entries of the cross matrices of some pools, in one batch."""
    missing = [(pool, pool.missing(pool.rows, pool.rows)) for pool in {id(p): p for p in pools}.values()]
    pairs = [pair for _, some in missing for pair in some]
    if not pairs:
        return
    first = missing[0][0]
    logits = first.seen_by(reader).whole(*(np.array(side) for side in zip(*pairs, strict=True)))
    for pool, some in missing:
        pool.learn(some, logits[: len(some)])
        logits = logits[len(some) :]
