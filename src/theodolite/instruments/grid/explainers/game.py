"""The cooperative game over the cells and words of one question, used by every explainer that hides parts of the input.

`game(cell_mask, word_mask)` is the explained output when only some cells and words are shown. A game knows its players,
counts model calls, keeps to its budget and computes no coalition twice.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from theodolite.core.errors import UsageError
from theodolite.instruments.grid.data.batch import SceneBatch, word_roles
from theodolite.instruments.grid.data.question_types import BUCKETS
from theodolite.instruments.grid.data.wording import PAD, WORD
from theodolite.instruments.grid.data.world import Flags, Integers, World

Floats: TypeAlias = NDArray[np.float64]
Evaluate: TypeAlias = Callable[[Flags, Flags], Floats]
"""The explained output of m coalitions, given what is shown: ``(m, cells)`` and ``(m, words)``."""

CellPlayers: TypeAlias = Literal["objects", "all"]
"""``objects``: cells that hold an object; with white fill every other cell is a null player. ``all``: every cell."""
WordPlayers: TypeAlias = Literal["content", "all"]
"""``content``: colours, shapes and directions. ``all``: every word, including the question mark."""

_EMPTY_WORDS = [WORD[word] for word in ("of", "object", "objects")]
MOST_ENUMERATED = 20
"""With more players (2²⁰ is a million coalitions) nothing is enumerated, whatever the budget."""


class Game:
    """One explained output as a cooperative game.

    Players are numbered cells first, then words; everything else is always shown. Each distinct coalition is one model call.

    >>> game = Game(lambda c, w: c.sum(1) * w[:, 0] * 1.0, cells=[0, 2], words=[0], shape=(3, 1), budget=8)
    >>> game.values(np.array([[True, True, True], [False, True, True]])).tolist(), game.calls
    ([3.0, 2.0], 2)
    """

    def __init__(
        self,
        evaluate: Evaluate,
        *,
        cells: Integers | list[int],
        words: Integers | list[int],
        shape: tuple[int, int],
        budget: int | None = None,
        known: dict[bytes, float] | None = None,
    ) -> None:
        """Makes a game.

        Args:
            evaluate: The explained output.
            cells: Indices of the cells that play.
            words: Indices of the words that play.
            shape: The number of cells and of words in all.
            budget: The most distinct coalitions; by default unlimited.
            known: Values already found by another game over the same players.
        """
        self.cells = np.asarray(cells, np.int64)
        self.words = np.asarray(words, np.int64)
        self.shape = shape
        self.budget = budget
        self._evaluate = evaluate
        self._known = {} if known is None else known
        self._asked: set[bytes] = set()
        for name, players, most in (("cells", self.cells, shape[0]), ("words", self.words, shape[1])):
            if players.size and (
                players.min() < 0 or players.max() >= most or np.unique(players).size < players.size
            ):
                raise UsageError(
                    f"the {name} that play must be different and below {most}, got {players.tolist()}"
                )

    @property
    def n_cells(self) -> int:
        """Cells that play."""
        return int(self.cells.size)

    @property
    def n_words(self) -> int:
        """Words that play."""
        return int(self.words.size)

    @property
    def n(self) -> int:
        """All players."""
        return self.n_cells + self.n_words

    @property
    def calls(self) -> int:
        """Distinct coalitions so far: what the budget counts."""
        return len(self._asked)

    @property
    def left(self) -> int:
        """Remaining calls; a large number if there is no budget."""
        return 2**62 if self.budget is None else self.budget - self.calls

    def with_budget(self, budget: int | None) -> Game:
        """The same game with its own count and budget; both share the values they find."""
        return self._part(self.cells, self.words, budget)

    def of_cells(self, budget: int | None = None) -> Game:
        """The game of the cells alone, all words shown."""
        return self._part(self.cells, np.zeros(0, np.int64), budget)

    def of_words(self, budget: int | None = None) -> Game:
        """The game of the words alone, all cells shown."""
        return self._part(np.zeros(0, np.int64), self.words, budget)

    def _part(self, cells: Integers, words: Integers, budget: int | None) -> Game:
        return Game(
            self._evaluate, cells=cells, words=words, shape=self.shape, budget=budget, known=self._known
        )

    def values(self, coalitions: Flags) -> Floats:
        """The output of coalitions of players, ``(m, n)``.

        Raises:
            UsageError: The coalitions have another shape, or would exceed the budget; nothing is computed then.
        """
        coalitions = np.asarray(coalitions, bool)
        if coalitions.ndim != 2 or coalitions.shape[1] != self.n:
            raise UsageError(
                f"coalitions of {self.n} players have shape (m, {self.n}), got {coalitions.shape}"
            )
        cell_mask = np.ones((len(coalitions), self.shape[0]), bool)
        word_mask = np.ones((len(coalitions), self.shape[1]), bool)
        cell_mask[:, self.cells] = coalitions[:, : self.n_cells]
        word_mask[:, self.words] = coalitions[:, self.n_cells :]
        return self(cell_mask, word_mask)

    def __call__(self, cell_mask: Flags, word_mask: Flags) -> Floats:
        """The output when only these cells ``(m, cells)`` and words ``(m, words)`` are shown."""
        shown = np.concatenate([np.asarray(cell_mask, bool), np.asarray(word_mask, bool)], axis=1)
        if shown.shape[1] != sum(self.shape):
            raise UsageError(
                f"masks need {self.shape[0]} cells and {self.shape[1]} words, got {cell_mask.shape[1:]} and "
                f"{word_mask.shape[1:]}"
            )
        keys = [row.tobytes() for row in np.packbits(shown, axis=1)]
        asked = set(keys)
        if self.budget is not None and len(asked | self._asked) > self.budget:
            raise UsageError(
                f"the budget is {self.budget} model calls: {self.calls} are used, and "
                f"{len(asked - self._asked)} more were requested"
            )
        first = {key: place for place, key in reversed(list(enumerate(keys))) if key not in self._known}
        if first:
            places = sorted(first.values())
            found = self._evaluate(shown[places, : self.shape[0]], shown[places, self.shape[0] :])
            self._known.update(zip((keys[place] for place in places), map(float, found), strict=True))
        self._asked |= asked
        return np.array([self._known[key] for key in keys])

    @property
    def can_enumerate(self) -> bool:
        """True if all 2ⁿ coalitions fit the remaining budget."""
        return self.n <= MOST_ENUMERATED and 2**self.n <= self.left

    def enumerate(self) -> Floats:
        """All values, ``(2ⁿ,)``; bit i of the index is set if player i is shown."""
        return self.values(all_coalitions(self.n))


def all_coalitions(n: int) -> Flags:
    """Every subset of n players, ``(2ⁿ, n)``, in the order of `Game.enumerate`.

    >>> all_coalitions(2).astype(int).tolist()
    [[0, 0], [1, 0], [0, 1], [1, 1]]
    """
    return (np.arange(2**n)[:, None] >> np.arange(n) & 1).astype(bool)


@dataclass(frozen=True, slots=True)
class PlayerSet:
    """Which cells and words are players."""

    cells: CellPlayers = "objects"
    words: WordPlayers = "content"

    def __post_init__(self) -> None:
        if self.cells not in {"objects", "all"} or self.words not in {"content", "all"}:
            raise UsageError(
                f"players are objects or all cells, content or all words; got {self.cells!r} and {self.words!r}"
            )

    def of(self, batch: SceneBatch, row: int) -> tuple[Integers, Integers]:
        """The indices of the players of one scene."""
        cells = np.arange(batch.cells.shape[1])
        if self.cells == "objects":
            cells = np.flatnonzero(batch.cells[row])
        words = batch.words[row]
        if self.words == "all":
            return cells, np.flatnonzero(words != PAD)
        roles = word_roles(batch.take(slice(row, row + 1)))[0]
        is_content = np.isin(roles, ["target", "anchor", "direction"]) & ~np.isin(words, _EMPTY_WORDS)
        return cells, np.flatnonzero(is_content)


# What is explained: which number of the model's output, and how parts of the input are hidden.


Explained: TypeAlias = Literal["answer", "log-odds", "expected"]
"""``answer``: the logit of one answer. ``log-odds``: log p/(1−p) of that answer. ``expected``: the expected count Σ c·p(c),
or the log-odds of yes; it needs no answer and does not saturate where counts change."""
EXPLAINED: tuple[Explained, ...] = ("answer", "log-odds", "expected")
Fill: TypeAlias = Literal["white", "grey", "black"]
"""What a hidden cell becomes. White removes its object; grey and black cover it, which no training scene shows."""
Hiding: TypeAlias = Literal["mask", "delete"]
"""What a hidden word becomes: the word ``<mask>``, or nothing, so that the rest moves up."""
FILLS: tuple[Fill, ...] = ("white", "grey", "black")
HIDINGS: tuple[Hiding, ...] = ("mask", "delete")


@dataclass(frozen=True, slots=True)
class Convention:
    """What is explained, and how parts are hidden."""

    fill: Fill = "white"
    hiding: Hiding = "mask"
    explained: Explained = "expected"
    answer: Literal["said", "gold"] = "said"
    """The answer of the logit and the log-odds: the model's own, or the right one."""
    players: PlayerSet = field(default_factory=PlayerSet)

    def __post_init__(self) -> None:
        if self.answer not in {"said", "gold"}:
            raise UsageError(f"the explained answer is said or gold, not {self.answer!r}")
        if self.explained not in EXPLAINED:
            raise UsageError(f"what can be explained is {', '.join(EXPLAINED)}, not {self.explained!r}")
        check_hiding(self.fill, self.hiding)


def check_hiding(fill: str, hiding: str) -> None:
    """Raises a `UsageError` for an unknown way to hide cells or words."""
    if fill not in FILLS or hiding not in HIDINGS:
        raise UsageError(
            f"hidden cells are filled with {', '.join(FILLS)}, hidden words become {' or '.join(HIDINGS)}; got {fill!r} "
            f"and {hiding!r}"
        )


def explained_output(
    explained: Explained, *, world: World, bucket: int, answer: int
) -> Callable[[Floats], Floats]:
    """The function from logits (…, answers) to the explained output (…).

    >>> spread = explained_output("expected", world=World(2, 2, max_count=1), bucket=0, answer=0)
    >>> float(spread(np.array([[0.0, 0.0, -9.0, -9.0]]))[0])  # 0 and 1 equally likely
    0.5
    """
    if explained not in EXPLAINED:
        raise UsageError(f"what can be explained is {', '.join(EXPLAINED)}, not {explained!r}")
    if explained == "answer":
        return lambda logits: np.asarray(logits[..., answer])
    if explained == "log-odds":
        others = np.arange(len(world.answers)) != answer
        return lambda logits: np.asarray(
            logits[..., answer] - np.logaddexp.reduce(logits[..., others], axis=-1)
        )
    if not BUCKETS[bucket].is_count:
        return lambda logits: np.asarray(logits[..., world.yes] - logits[..., world.yes + 1])

    def expected(logits: Floats) -> Floats:
        counts = logits[..., : world.max_count + 1]
        weights = np.exp(counts - counts.max(axis=-1, keepdims=True))
        return np.asarray((weights * np.arange(counts.shape[-1])).sum(axis=-1) / weights.sum(axis=-1))

    return expected
