"""The explainer contract: the case it is given, the explanation it returns, and its description."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, TypeAlias, cast

import numpy as np
from numpy.typing import NDArray

from theodolite.core.errors import ContractError, UsageError
from theodolite.instruments.grid.data.batch import SceneBatch
from theodolite.instruments.grid.data.world import Flags
from theodolite.instruments.grid.explainers.game import Convention, Floats, Game, explained_output
from theodolite.instruments.grid.explainers.readers import Pool, Reader, Shown

Scope: TypeAlias = Literal["local", "global"]
"""``local``: a map for one question. ``global``: numbers for a bucket of questions, from its cross matrix."""
Variant: TypeAlias = Literal["sound", "paper", "baseline"]
"""``sound``: without known defects. ``paper``: as published, or as in the public code. ``baseline``: a lower or upper
reference."""


@dataclass(frozen=True, slots=True)
class Case:
    """One question about one picture to be explained."""

    game: Game
    batch: SceneBatch
    row: int
    said: int
    """The model's answer, an index into `World.answers`."""
    answer: int
    """The explained answer."""
    reader: Reader | None = None
    pool: Pool | None = None
    """Scenes of the bucket, including this one, for explainers that compare scenes."""
    convention: Convention = field(default_factory=Convention)
    seed: int = 0

    @property
    def output(self) -> Callable[[Floats], Floats]:
        """The function from logits to the explained output."""
        return explained_output(
            self.convention.explained,
            world=self.batch.world,
            bucket=int(self.batch.bucket[self.row]),
            answer=self.answer,
        )

    def with_budget(self, budget: int | None) -> Case:
        """Return the same case with its own count of calls and a budget."""
        return replace(self, game=self.game.with_budget(budget))

    def need_pool(self) -> Pool:
        """Return the pool.

        Raises:
            UsageError: There is none.
        """
        if self.pool is None:
            raise UsageError("this explainer compares with other scenes of the bucket; give the case a pool")
        return self.pool

    def explanation(self, players: Floats, **further: object) -> Explanation:
        """Return an explanation from one number per player, cells first."""
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
    """Return the case of one scene: its players, its game and the model's answer.

    Args:
        reader: The model.
        batch: Scenes that include this one.
        row: The row of the scene.
        convention: What is explained, and how parts are hidden.
        pool: Scenes of the bucket, for explainers that compare scenes.
        budget: The most model calls; by default unlimited.
        seed: Seed of sampling explainers.

    >>> from theodolite.instruments.grid.data.generate import generate
    >>> from theodolite.instruments.grid.explainers.readers import open_reader
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
    own_answer = int(whole.argmax())
    answer = own_answer if convention.answer == "said" else int(batch.answer[row])
    output = explained_output(
        convention.explained, world=batch.world, bucket=int(batch.bucket[row]), answer=answer
    )
    cells, words = convention.players.of(batch, row)
    game = Game(lambda c, w: output(logits(c, w)), cells=cells, words=words, shape=shape, budget=budget)
    return Case(game, batch, row, own_answer, answer, reader, pool, convention, seed)


@dataclass(frozen=True, slots=True)
class Explanation:
    """The explanation of one answer. Values are signed."""

    cells: Floats
    """Relevance of each cell, (cells,)."""
    words: Floats | None = None
    """Relevance of each word, (words,); None if the explainer does not rate words."""
    pixels: NDArray[np.float32] | None = None
    """Relevance of each pixel, (height, width), if the explainer gives it."""
    scalars: Mapping[str, float] = field(default_factory=dict)
    """Numbers beside the map."""
    is_exact: bool = True
    """False if it was estimated from sampled coalitions."""
    calls: int = 0
    """Model calls: distinct coalitions, and what else `method` says."""
    method: str = ""
    """How it was computed."""

    def __post_init__(self) -> None:
        for name, values in (("cells", self.cells), ("words", self.words), ("pixels", self.pixels)):
            if values is not None and not np.isfinite(values).all():
                raise ContractError(f"an explanation's {name} hold a value that is not finite")


ExplainFunction: TypeAlias = Callable[[Case], Explanation]


def _nothing(_: Case) -> int:
    return 0


@dataclass(frozen=True, slots=True)
class Explainer:
    """An explainer and its description."""

    name: str
    summary: str
    explain: ExplainFunction | None = None
    """From a case to its explanation; None for a global explainer."""
    summarise: Callable[[Pool], Mapping[str, float]] | None = None
    """From a pool to numbers by name; None for a local explainer. It must use only `Pool.logits` of the pool's rows."""
    paper: str = ""
    reading: Variant = "sound"
    caveat: str = ""
    """Its known defect or limit."""
    samples: bool = False
    """True if it uses whatever budget it is given; others have a fixed cost."""
    family: str = ""
    """Explainers of one family use the same model calls, so they share one budget; by default its own name."""
    least: Callable[[Case], int] = _nothing
    """The fewest model calls for a map; the whole cost if it does not sample."""
    needs_gradients: bool = False
    needs_truth: bool = False
    """True for an oracle, which is given the right explanation."""

    def __post_init__(self) -> None:
        if (self.explain is None) == (self.summarise is None):
            raise ContractError(f"the explainer {self.name!r} must either explain a case or summarise a pool")
        object.__setattr__(self, "family", self.family or self.name)

    @property
    def requirements(self) -> str:
        """What it needs of the model."""
        if self.needs_truth:
            return "the truth"
        if self.needs_gradients:
            return "a white box" if self.name.startswith("relevance") else "second-order gradients"
        if self.scope == "global":
            return "a cross matrix"
        return "a budget of model calls" if self.samples else "few or no model calls"

    @property
    def scope(self) -> Scope:
        """Local or global."""
        return "local" if self.explain is not None else "global"


# How one scene's budget of model calls is divided among explainers.
#
# Explainers of one family use the same calls, so a family is paid once. Families of fixed cost come first, then those that
# sample get the fewest calls they need: sound before baseline before published, cheap before expensive. What is left is
# divided evenly among those that sample. A family that does not fit gets nothing, with the reason; nor does a published
# variant that would take more than half of what is left, so that it does not starve the sound ones.


_ORDER = {"sound": 0, "baseline": 1, "paper": 2}


@dataclass(frozen=True, slots=True)
class Share:
    """The budget of one explainer and its family for one scene."""

    least: int
    """The fewest calls it needs."""
    calls: int | None
    """What it gets; None if it does not fit."""
    left: int
    """What was available when its turn came."""

    @property
    def reason(self) -> str:
        """Why it gets nothing."""
        return f"it needs at least {self.least} model calls for this scene, and {self.left} were left for it"


def share_budget(
    explainers: Sequence[Explainer], case: Case, budget: int, *, taken: int = 1
) -> dict[str, Share]:
    """Return the share of every local explainer, by name. Of a family that does not fit, the members that do get theirs.

    Args:
        explainers: The explainers.
        case: The scene.
        budget: Model calls for the scene, all explainers together.
        taken: Calls already used: one for the model's answer, and the scene's part of the cross matrix.

    >>> from theodolite.instruments.grid.data.generate import generate
    >>> from theodolite.instruments.grid.explainers.contract import make_case
    >>> from theodolite.instruments.grid.explainers.find import find_explainers
    >>> from theodolite.instruments.grid.explainers.readers import open_reader
    >>> case = make_case(open_reader("grid:symbolic-pure"), generate("M-F0-D1", 1, density=7, seed=0), 0)
    >>> shares = share_budget(find_explainers(["removal", "multishap", "multishap-reference"]), case, 100)
    >>> shares["removal"].calls, shares["multishap"].calls, shares["multishap-reference"].calls
    (13, 86, None)
    """
    costs = {explainer.name: explainer.least(case) for explainer in explainers}
    members: defaultdict[str, list[Explainer]] = defaultdict(list)
    for explainer in explainers:
        members[explainer.family].append(explainer)

    def turn(family: str) -> tuple[bool, int, int]:
        some = members[family]
        return _samples(some), min(_ORDER[e.reading] for e in some), max(costs[e.name] for e in some)

    paid: dict[str, int] = {}
    allowed: dict[str, int] = {}
    left = budget - taken
    for family in sorted(members, key=turn):
        is_published = all(explainer.reading == "paper" for explainer in members[family])
        allowed[family] = max(0, left // 2 if is_published else left)
        fitting = [costs[e.name] for e in members[family] if costs[e.name] <= allowed[family]]
        if fitting:
            paid[family] = max(fitting)
            left -= paid[family]
    growing = [family for family in paid if _samples(members[family])]
    for family in growing:
        paid[family] += left // len(growing)
    return {
        explainer.name: Share(
            costs[explainer.name],
            paid[explainer.family] if costs[explainer.name] <= paid.get(explainer.family, -1) else None,
            allowed[explainer.family],
        )
        for explainer in explainers
    }


def _samples(explainers: Sequence[Explainer]) -> bool:
    return any(explainer.samples for explainer in explainers)
