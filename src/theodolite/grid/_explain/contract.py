"""What an explainer is given, what it gives back, and what it says of itself."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal, TypeAlias, cast

import numpy as np
from numpy.typing import NDArray

from theodolite.errors import ContractError, UsageError
from theodolite.grid._batch import SceneBatch
from theodolite.grid._explain.game import Floats, Game, PlayerSet
from theodolite.grid._explain.readers import Explained, Fill, Hiding, Reader, Shown, explained_output
from theodolite.grid._world import Flags, Integers
from theodolite.registry import registry

Scope: TypeAlias = Literal["local", "global"]
"""``local``: a map for one question. ``global``: a figure for a bucket of questions, from its cross matrix."""
Reading: TypeAlias = Literal["sound", "paper", "baseline"]
"""``sound``: the definition done right. ``paper``: as published or as the public code has it. ``baseline``: a floor or a
ceiling to hold others against."""


@dataclass(frozen=True, slots=True)
class Convention:
    """What is explained, and how parts are hidden."""

    fill: Fill = "white"
    hiding: Hiding = "mask"
    explained: Explained = "expected"
    answer: Literal["said", "gold"] = "said"
    """Which answer the logit and the log-odds are of: the model's own, or the right one."""
    players: PlayerSet = field(default_factory=PlayerSet)

    def __post_init__(self) -> None:
        if self.answer not in {"said", "gold"}:
            raise UsageError(f"the answer explained is the one said or gold, not {self.answer!r}")


class Pool:
    """Scenes of one bucket at one density, and the model's logits for each picture with each question.

    F[i, j] = f(picture i, question j): DIME, EMAP and InterSHAP all read this one matrix; no entry is asked for twice.
    """

    def __init__(self, reader: Reader, batch: SceneBatch, rows: Integers, convention: Convention) -> None:
        if rows.size == 0 or np.unique(batch.bucket[rows]).size != 1:
            raise UsageError("the pool of a cross matrix holds scenes of one bucket, and at least one")
        self.reader, self.batch, self.rows, self.convention = reader, batch, rows, convention
        self._known: dict[tuple[int, int], Floats] = {}
        self.found: dict[tuple[object, ...], object] = {}
        """What explainers of one family have worked out for a scene, so that none pays twice."""

    @property
    def calls(self) -> int:
        """Model calls so far; all explanations of the bucket share them."""
        return len(self._known)

    def logits(self, pictures: Integers, questions: Integers) -> Floats:
        """Logits for every picture with every question, (pictures, questions, answers)."""
        if missing := self.missing(pictures, questions):
            self.learn(missing, self.whole(*(np.array(side) for side in zip(*missing, strict=True))))
        found = [self._known[int(i), int(j)] for i in pictures for j in questions]
        return np.stack(found).reshape(len(pictures), len(questions), -1)

    def whole(self, pictures: Integers, questions: Integers) -> Floats:
        """Logits (m, answers) of whole inputs; not kept."""
        m = len(pictures)
        shown = [np.ones((m, size), bool) for size in (self.batch.cells.shape[1], self.batch.words.shape[1])]
        return self.masked(pictures, questions, *shown)

    def masked(self, pictures: Integers, questions: Integers, cell_mask: Flags, word_mask: Flags) -> Floats:
        """Logits (m, answers) of inputs with parts hidden; not kept."""
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
        """The same pool and all that it knows, asked through another reader of the same model."""
        seen = Pool(reader, self.batch, self.rows, self.convention)
        seen._known, seen.found = self._known, self.found  # one and the same memory
        return seen

    def missing(self, pictures: Integers, questions: Integers) -> list[tuple[int, int]]:
        """Pairs that were never asked for."""
        wanted = dict.fromkeys((int(i), int(j)) for i in pictures for j in questions)
        return [pair for pair in wanted if pair not in self._known]

    def learn(self, pairs: list[tuple[int, int]], logits: Floats) -> None:
        """Takes in what was found for some pairs."""
        self._known.update(zip(pairs, logits, strict=True))


def fill_matrices(reader: Reader, pools: Iterable[Pool]) -> None:
    """Asks for all that the cross matrices of some pools still miss, in one batch."""
    missing = [(pool, pool.missing(pool.rows, pool.rows)) for pool in {id(p): p for p in pools}.values()]
    pairs = [pair for _, some in missing for pair in some]
    if not pairs:
        return
    first = missing[0][0]
    found = first.seen_by(reader).whole(*(np.array(side) for side in zip(*pairs, strict=True)))
    for pool, some in missing:
        pool.learn(some, found[: len(some)])
        found = found[len(some) :]


@dataclass(frozen=True, slots=True)
class Case:
    """One question about one picture, ready to be explained."""

    game: Game
    batch: SceneBatch
    row: int
    said: int
    """The model's answer, index into `World.answers`."""
    answer: int
    """The answer explained."""
    reader: Reader | None = None
    pool: Pool | None = None
    """Other scenes of the bucket, this one among them; for explainers that need references."""
    convention: Convention = field(default_factory=Convention)
    seed: int = 0

    @property
    def output(self) -> Callable[[Floats], Floats]:
        """From logits to the explained output."""
        return explained_output(
            self.convention.explained,
            world=self.batch.world,
            bucket=int(self.batch.bucket[self.row]),
            answer=self.answer,
        )

    def with_budget(self, budget: int | None) -> Case:
        """The same case; its game has a count and a budget of its own."""
        return replace(self, game=self.game.with_budget(budget))

    def need_pool(self) -> Pool:
        """The references.

        Raises:
            UsageError: there are none.
        """
        if self.pool is None:
            raise UsageError("this explainer compares with other scenes of the bucket; give the case a pool")
        return self.pool

    def explanation(self, players: Floats, **further: object) -> Explanation:
        """An explanation from one number per player, cells first."""
        cells, words = np.zeros(self.game.shape[0]), np.zeros(self.game.shape[1])
        cells[self.game.cells] = players[: self.game.n_cells]
        words[self.game.words] = players[self.game.n_cells :]
        return Explanation(cells, words, **cast("dict[str, Any]", further))


def make_case(
    reader: Reader,
    batch: SceneBatch,
    row: int,
    *,
    convention: Convention | None = None,
    pool: Pool | None = None,
    budget: int | None = None,
    seed: int = 0,
) -> Case:
    """The case of one scene: its players, its game, and what the model says to it.

    >>> from theodolite.grid import generate
    >>> from theodolite.grid._explain.readers import open_reader
    >>> case = make_case(open_reader("grid:symbolic-pure"), generate("M-F0-D1", 1, density=7, seed=0), 0)
    >>> case.game.n_cells, case.game.n_words, case.said == case.batch.answer[0]
    (7, 5, np.True_)
    """
    convention = convention or Convention()
    if not 0 <= row < len(batch):
        raise UsageError(f"there is no scene {row} among {len(batch)}")
    shape = (batch.cells.shape[1], batch.words.shape[1])

    def logits(cell_mask: Flags, word_mask: Flags) -> Floats:
        rows = np.full(len(cell_mask), row)
        return reader.logits(
            Shown(batch, rows, rows, cell_mask, word_mask, convention.fill, convention.hiding)
        )

    whole = logits(np.ones((1, shape[0]), bool), np.ones((1, shape[1]), bool))[0]
    said = int(whole.argmax())
    answer = said if convention.answer == "said" else int(batch.answer[row])
    output = explained_output(
        convention.explained, world=batch.world, bucket=int(batch.bucket[row]), answer=answer
    )
    cells, words = convention.players.of(batch, row)
    game = Game(lambda c, w: output(logits(c, w)), cells=cells, words=words, shape=shape, budget=budget)
    return Case(game, batch, row, said, answer, reader, pool, convention, seed)


@dataclass(frozen=True, slots=True)
class Explanation:
    """What an explainer says of one answer. Values keep their sign."""

    cells: Floats
    """Relevance of each cell, (cells,)."""
    words: Floats | None = None
    """Relevance of each word, (words,); None if the explainer says nothing of words."""
    pixels: NDArray[np.float32] | None = None
    """Relevance of each pixel, (height, width), where the explainer goes as fine as that."""
    scalars: Mapping[str, float] = field(default_factory=dict)
    """Figures beside the map."""
    is_exact: bool = True
    """False where it is an estimate from sampled coalitions."""
    calls: int = 0
    """Model calls: distinct coalitions asked for, and what else its method says."""
    method: str = ""
    """How it was computed, in words."""

    def __post_init__(self) -> None:
        for name, values in (("cells", self.cells), ("words", self.words), ("pixels", self.pixels)):
            if values is not None and not np.isfinite(values).all():
                raise ContractError(f"an explanation's {name} hold a value that is not finite")


ExplainFunction: TypeAlias = Callable[[Case], Explanation]


def _nothing(_: Case) -> int:
    return 0


@dataclass(frozen=True, slots=True)
class Explainer:
    """One way to explain, and what it says of itself."""

    name: str
    summary: str
    explain: ExplainFunction | None = None
    """From a case to its explanation; None for a global one."""
    summarise: Callable[[Pool], Mapping[str, float]] | None = None
    """From a pool to its figures; None for a local one."""
    paper: str = ""
    reading: Reading = "sound"
    caveat: str = ""
    """What is wrong with it, where it is as published."""
    samples: bool = False
    """Whether it spends whatever budget it is given; others cost what they cost."""
    family: str = ""
    """Explainers of one family read the same model calls, so they share one budget; its own name unless given."""
    least: Callable[[Case], int] = _nothing
    """The fewest model calls that give a map of a case; all that it costs, for one that does not sample."""
    needs_gradients: bool = False
    needs_truth: bool = False
    """An oracle: it reads the right explanation. Never to be compared as if it had found it."""

    def __post_init__(self) -> None:
        if (self.explain is None) == (self.summarise is None):
            raise ContractError(
                f"the explainer {self.name!r} must explain a case or summarise a pool, one of both"
            )
        object.__setattr__(self, "family", self.family or self.name)

    @property
    def scope(self) -> Scope:
        """Local or global."""
        return "local" if self.explain is not None else "global"


def find_explainers(names: Iterable[str]) -> list[Explainer]:
    """Explainers by name; ``all`` stands for every one, ``local`` and ``global`` for those.

    Names of the form ``relevance:METHOD`` are the relevance methods of a white box, through an adapter.

    Raises:
        UsageError: there is none of that name.
    """
    found: dict[str, Explainer] = {}
    for name in names:
        if name.startswith("relevance:"):
            from theodolite.grid._explain.adapters import relevance_explainer

            found[name] = relevance_explainer(name.partition(":")[2])
            continue
        entries = registry().entries("explainer")
        wanted = [e for e in entries if name in {"all", "local", "global"}] or [
            registry().entry("explainer", name)
        ]
        for entry in wanted:
            explainer = entry.load()
            if not isinstance(explainer, Explainer):
                raise ContractError(f"the explainer {entry.name!r} of {entry.origin} is not an Explainer")
            if explainer.name != entry.name:
                raise ContractError(
                    f"the explainer {entry.name!r} of {entry.origin} calls itself {explainer.name!r}"
                )
            if name not in {"local", "global"} or explainer.scope == name:
                found[explainer.name] = explainer
    if not found:
        raise UsageError("no explainer was named; `theodolite explainers list` shows them")
    return list(found.values())
