"""One contract for everything that explains by hiding: a game over the cells and the words of one question.

`game(cell_mask, word_mask)` is the explained output where only some cells and words are shown. A game knows its players,
counts what it is asked, keeps to its budget, and asks for no coalition twice.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from theodolite.core.errors import UsageError
from theodolite.instruments.grid.data.batch import SceneBatch
from theodolite.instruments.grid.data.masks import word_roles
from theodolite.instruments.grid.data.words import PAD, WORD
from theodolite.instruments.grid.data.world import Flags, Integers

Floats: TypeAlias = NDArray[np.float64]
Evaluate: TypeAlias = Callable[[Flags, Flags], Floats]
"""The explained output of m coalitions, from what is shown: ``(m, cells)`` and ``(m, words)``."""

CellPlayers: TypeAlias = Literal["objects", "all"]
"""``objects``: cells that hold one; with white fill every other cell is a null player. ``all``: every cell."""
WordPlayers: TypeAlias = Literal["content", "all"]
"""``content``: colours, shapes and directions. ``all``: every word, the question mark too."""

_EMPTY_WORDS = [WORD[word] for word in ("of", "object", "objects")]
MOST_ENUMERATED = 20
"""2²⁰ coalitions are a million: above that nothing is enumerated, whatever the budget."""


class Game:
    """One explained output as a cooperative game.

    Players are numbered cells first, then words; what is no player is always shown. Each distinct coalition is one
    model call.

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
            cells: Places of the cells that play.
            words: Places of the words that play.
            shape: How many cells and words there are in all.
            budget: The most distinct coalitions that may be asked for; any number unless given.
            known: Values that another game over the same players has found already.
        """
        self.cells = np.asarray(cells, np.int64)
        self.words = np.asarray(words, np.int64)
        self.shape = shape
        self.budget = budget
        self._evaluate = evaluate
        self._known = {} if known is None else known
        self._asked: set[bytes] = set()
        self.fresh = 0
        """Model calls that this game really made; what was known already is not among them."""
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
        """Distinct coalitions asked for so far: what the budget counts."""
        return len(self._asked)

    @property
    def left(self) -> int:
        """How many more may be asked for; a large number where there is no budget."""
        return 2**62 if self.budget is None else self.budget - self.calls

    def with_budget(self, budget: int | None) -> Game:
        """The same game with a count and a budget of its own; values found by either serve both."""
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
            UsageError: the coalitions have another shape, or would break the budget; nothing is asked then.
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
        """The output where only these cells ``(m, cells)`` and words ``(m, words)`` are shown."""
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
                f"a budget of {self.budget} model calls is kept: {self.calls} are spent, and "
                f"{len(asked - self._asked)} more were asked for"
            )
        first = {key: place for place, key in reversed(list(enumerate(keys))) if key not in self._known}
        if first:
            places = sorted(first.values())
            found = self._evaluate(shown[places, : self.shape[0]], shown[places, self.shape[0] :])
            self._known.update(zip((keys[place] for place in places), map(float, found), strict=True))
            self.fresh += len(places)
        self._asked |= asked
        return np.array([self._known[key] for key in keys])

    @property
    def can_enumerate(self) -> bool:
        """Whether all 2ⁿ coalitions fit what is left of the budget."""
        return self.n <= MOST_ENUMERATED and 2**self.n <= self.left

    def enumerate(self) -> Floats:
        """All values, ``(2ⁿ,)``; bit i of the index says whether player i is shown."""
        return self.values(all_coalitions(self.n))


def all_coalitions(n: int) -> Flags:
    """Every subset of n players, ``(2ⁿ, n)``, in the order of `Game.enumerate`.

    >>> all_coalitions(2).astype(int).tolist()
    [[0, 0], [1, 0], [0, 1], [1, 1]]
    """
    return (np.arange(2**n)[:, None] >> np.arange(n) & 1).astype(bool)


@dataclass(frozen=True, slots=True)
class PlayerSet:
    """Which cells and which words play."""

    cells: CellPlayers = "objects"
    words: WordPlayers = "content"

    def __post_init__(self) -> None:
        if self.cells not in {"objects", "all"} or self.words not in {"content", "all"}:
            raise UsageError(
                f"cells that play are objects or all, words content or all; got {self.cells!r} and {self.words!r}"
            )

    def of(self, batch: SceneBatch, row: int) -> tuple[Integers, Integers]:
        """The places of the players of one scene."""
        cells = np.arange(batch.cells.shape[1])
        if self.cells == "objects":
            cells = np.flatnonzero(batch.cells[row])
        words = batch.words[row]
        if self.words == "all":
            return cells, np.flatnonzero(words != PAD)
        roles = word_roles(batch.take(slice(row, row + 1)))[0]
        is_content = np.isin(roles, ["target", "anchor", "direction"]) & ~np.isin(words, _EMPTY_WORDS)
        return cells, np.flatnonzero(is_content)
