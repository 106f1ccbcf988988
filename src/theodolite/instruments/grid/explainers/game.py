"""The cooperative game over the cells and words of one question, used by every explainer that hides parts of the input.

`game(cell_mask, word_mask)` is the explained output when only some cells and words are shown. A game knows its players,
counts model calls, keeps to its budget and computes no coalition twice.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import combinations
from math import comb
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from theodolite.core.errors import UsageError
from theodolite.instruments.grid.data.batch import SceneBatch, word_roles
from theodolite.instruments.grid.data.question_types import BUCKETS, PAD, WORD
from theodolite.instruments.grid.data.world import Flags, GridShape, Integers

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
        """Make a game.

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
        """Return the same game with its own count and budget; both share their values."""
        return self._part(self.cells, self.words, budget)

    def of_cells(self, budget: int | None = None) -> Game:
        """Return the game of the cells alone, all words shown."""
        return self._part(self.cells, np.zeros(0, np.int64), budget)

    def of_words(self, budget: int | None = None) -> Game:
        """Return the game of the words alone, all cells shown."""
        return self._part(np.zeros(0, np.int64), self.words, budget)

    def _part(self, cells: Integers, words: Integers, budget: int | None) -> Game:
        return Game(
            self._evaluate, cells=cells, words=words, shape=self.shape, budget=budget, known=self._known
        )

    def values(self, coalitions: Flags) -> Floats:
        """Return the output of coalitions of players, ``(m, n)``.

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
        """Return the output when only these cells ``(m, cells)`` and words ``(m, words)`` are shown."""
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
        first = {key: i for i, key in reversed(list(enumerate(keys))) if key not in self._known}
        if first:
            rows = sorted(first.values())
            outputs = self._evaluate(shown[rows, : self.shape[0]], shown[rows, self.shape[0] :])
            self._known.update(zip((keys[i] for i in rows), map(float, outputs), strict=True))
        self._asked |= asked
        return np.array([self._known[key] for key in keys])

    @property
    def can_enumerate(self) -> bool:
        """True if all 2ⁿ coalitions fit the remaining budget."""
        return self.n <= MOST_ENUMERATED and 2**self.n <= self.left

    def enumerate(self) -> Floats:
        """Return all values, ``(2ⁿ,)``; bit i of the index is set if player i is shown."""
        return self.values(all_coalitions(self.n))


def all_coalitions(n: int) -> Flags:
    """Return every subset of n players, ``(2ⁿ, n)``, in the order of `Game.enumerate`.

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
        """Return the indices of the players of one scene."""
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
    """Raise a `UsageError` for an unknown way to hide cells or words."""
    if fill not in FILLS or hiding not in HIDINGS:
        raise UsageError(
            f"hidden cells are filled with {', '.join(FILLS)}, hidden words become {' or '.join(HIDINGS)}; got {fill!r} "
            f"and {hiding!r}"
        )


def explained_output(
    explained: Explained, *, world: GridShape, bucket: int, answer: int
) -> Callable[[Floats], Floats]:
    """Return the function from logits (…, answers) to the explained output (…).

    Args:
        explained: The explained output.
        world: The grid, which fixes the answers.
        bucket: Index into `BUCKETS`.
        answer: The explained answer; not used by ``expected``.

    >>> spread = explained_output("expected", world=GridShape(2, 2, max_count=1), bucket=0, answer=0)
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


# Shapley interactions of all pairs by regression on coalitions and their complements, with a sparsity prior.


RATIOS = (0.0, 0.01, 0.03, 0.1, 0.3)
"""The prior weights r that are tried."""
_ROUNDS = 2
_JITTER = 1e-4
MOST_CALLS = 3000
"""Coalitions of one fit: with more, the linear system is too slow."""


@lru_cache(maxsize=64)
def symmetric(n: int) -> Floats:
    """Return E[k, m], the k-th elementary symmetric polynomial of n signs of which m are minus, ``(n + 1, n + 1)``.

    >>> symmetric(3)[2].tolist()  # pairs among +++, ++−, +−−, −−−
    [3.0, -1.0, -1.0, 3.0]
    """
    table = np.zeros((n + 1, n + 1))
    for minus in range(n + 1):
        row = np.ones(1)
        for sign in [-1.0] * minus + [1.0] * (n - minus):
            row = np.convolve(row, [1.0, sign])
        table[:, minus] = row
    table.setflags(write=False)  # cached
    return table


@dataclass(frozen=True, slots=True)
class _Fit:
    """One fit: K⁻¹, K⁻¹(e − mean), the leave-one-out error, and r."""

    inverse: Floats
    weights: Floats
    left_out: float
    ratio: float


class _Observations:
    """Coalitions as signs, the even part of their values, and what the kernel needs."""

    def __init__(self, signs: Floats, even: Floats) -> None:
        self.signs, self.even = signs, even
        self.n = n = signs.shape[1]
        self.first, self.second = np.triu_indices(n, 1)
        self.products = signs[:, self.first] * signs[:, self.second]  # (m, pairs)
        differ: NDArray[np.int64] = np.rint((n - signs @ signs.T) / 2).astype(np.int64)
        table = symmetric(n)
        self.higher = [table[k][differ] / comb(n, k) if k <= n else 0.0 for k in (4, 6)]

    def fit(self, prior: Floats, ratio: float) -> _Fit:
        m = len(self.even)
        kernel = (self.products * prior) @ self.products.T + _JITTER * np.eye(m)
        if ratio:
            kernel = kernel + ratio * self.higher[0] + ratio**2 * self.higher[1]
        inverse = np.asarray(np.linalg.inv(kernel), np.float64)
        ones = inverse.sum(axis=1)  # K⁻¹·1: the mean is free, found by generalised least squares
        mean = ones @ self.even / ones.sum()
        weights = inverse @ (self.even - mean)
        spread = np.diag(inverse) - ones**2 / ones.sum()
        return _Fit(inverse, weights, float(((weights / spread) ** 2).mean()), ratio)

    def best(self, prior: Floats, ratios: tuple[float, ...]) -> _Fit:
        """Return the fit with the smallest leave-one-out error."""
        return min((self.fit(prior, ratio) for ratio in ratios), key=lambda fit: fit.left_out)

    def relevance(self, prior: Floats, fit: _Fit) -> Floats:
        """Return the squared coefficient of each pair plus its variance, scaled to sum 1."""
        scale = fit.weights @ (self.even - self.even.mean()) / len(self.even)
        mean = prior * (self.products.T @ fit.weights)
        shrunk = np.einsum("mq,mq->q", self.products, fit.inverse @ self.products)
        squares = mean**2 + np.maximum(scale * (prior - prior**2 * shrunk), 0.0)
        total = squares.sum()
        return np.asarray(squares / total) if total > 0 else prior

    def interactions(self, prior: Floats, fit: _Fit) -> Floats:
        """Return the posterior mean of every I_ij, (n, n), upper half."""
        n, minus = self.n, self.signs < 0
        others = minus.sum(axis=1)[:, None] - minus[:, self.first] - minus[:, self.second]
        table = symmetric(n - 2)
        factor = 4.0 * prior + np.zeros_like(self.products)
        for k, weight in ((4, fit.ratio), (6, fit.ratio**2)):
            if weight and k <= n:
                factor += 4 / (k - 1) * weight / comb(n, k) * table[k - 2][others]
        matrix = np.zeros((n, n))
        matrix[self.first, self.second] = fit.weights @ (factor * self.products)
        return matrix


def paired_coalitions(n: int, pairs: int, rng: np.random.Generator) -> Flags:
    """Draw the whole, then distinct coalitions of sizes uniform on 1 … n−1, to be used with their complements.

    Fewer are returned if there are no more.
    """
    distinct = {b"": np.ones(n, bool)}
    for _ in range(20):
        rank = rng.random((pairs, n)).argsort(axis=1).argsort(axis=1)
        drawn = rank < rng.integers(1, n, pairs)[:, None]
        names = np.packbits(drawn ^ ~drawn[:, :1], axis=1)  # a coalition and its complement have one name
        for row, name in zip(drawn, names, strict=True):
            if len(distinct) <= pairs:
                distinct.setdefault(name.tobytes(), row)
        if len(distinct) > pairs:
            break
    return np.stack(list(distinct.values()))


def regressed_interactions(game: Game, budget: int, *, seed: int) -> Floats:
    """Estimate Shapley interactions of all pairs of players, (n, n), upper half, from at most `budget` coalitions.

    Args:
        game: The game.
        budget: The most coalitions.
        seed: Seed of the coalitions.
    """
    rng = np.random.default_rng(seed)
    fits = max(1, budget // MOST_CALLS)
    total = np.zeros((game.n, game.n))
    for _ in range(fits):
        total += _one_regression(game, min(budget, MOST_CALLS), rng)
    return total / fits


def _one_regression(game: Game, budget: int, rng: np.random.Generator) -> Floats:
    n = game.n
    some = paired_coalitions(n, (budget - 2) // 2, rng)
    values = game.values(np.vstack([some, ~some]))
    even = (values[: len(some)] + values[len(some) :]) / 2
    scale = float(even.std())
    if not scale > 0:
        return np.zeros((n, n))
    evidence = _Observations(np.where(some, 1.0, -1.0), even / scale)
    prior = np.full(n * (n - 1) // 2, 2.0 / (n * (n - 1)))
    fit = evidence.best(prior, RATIOS if n >= 4 else (0.0,))
    for _ in range(_ROUNDS):
        prior = evidence.relevance(prior, fit)
        fit = evidence.best(prior, tuple({fit.ratio / 3, fit.ratio, 2 * fit.ratio}))
    return evidence.interactions(prior, fit) * scale


# Shapley, Banzhaf and interaction indices of a game: exact from all 2ⁿ values, or estimated within a budget.
#
# Exact values come from the Möbius transform m(S) = Σ_{T⊆S} (−1)^{|S|−|T|} v(T):
#
# - Shapley value        φ_i  = Σ_{S∋i} m(S) / |S|
# - Banzhaf value        β_i  = Σ_{S∋i} m(S) / 2^{|S|−1}
# - Shapley interaction  I_ij = Σ_{S⊇ij} m(S) / (|S| − 1)
#
# so that in the unanimity game of t players every pair has I_ij = 1/(t−1).
#
# Estimated Shapley values are those of KernelSHAP on coalitions paired with their complements: the φ that minimise
# Σ_S k(|S|) (v(S) − v(∅) − Σ_{i∈S} φ_i)² under Σφ = v(N) − v(∅), with
#
#     k(s) = (n − 1) / (C(n, s) s (n − s)).
#
# Sizes are taken from the outside in: all coalitions of sizes s and n − s while the budget allows, then random pairs of
# complements, a size as often as the mass of its kernel.


Index: TypeAlias = Literal["shapley", "banzhaf"]


@dataclass(frozen=True, slots=True)
class Shares:
    """One number per player."""

    values: Floats
    is_exact: bool
    method: str


@dataclass(frozen=True, slots=True)
class Interactions:
    """One number per pair of cell and word."""

    values: Floats
    """(cells, words), players only."""
    is_exact: bool
    method: str


def moebius(values: Floats) -> Floats:
    """Return the Möbius transform of all 2ⁿ values, in the order of `Game.enumerate`.

    >>> moebius(np.array([0.0, 1.0, 1.0, 3.0])).tolist()  # two players that gain one more together
    [0.0, 1.0, 1.0, 1.0]
    """
    n = _players(values)
    table = values.astype(np.float64).reshape((2,) * n) if n else values.astype(np.float64)
    for axis in range(n):
        low, high = np.split(table, 2, axis=axis)
        table = np.concatenate([low, high - low], axis=axis)
    return table.reshape(-1)


def _players(values: Floats) -> int:
    n = int(values.size).bit_length() - 1
    if values.ndim != 1 or values.size != 2**n:
        raise UsageError(f"all coalitions of n players are 2ⁿ values, got {values.size}")
    return n


def exact_shares(values: Floats, index: Index) -> Floats:
    """Return Shapley or Banzhaf values, from all 2ⁿ values."""
    n = _players(values)
    members = all_coalitions(n)
    size = members.sum(axis=1)
    weight = 1 / np.maximum(size, 1) if index == "shapley" else 0.5 ** (np.maximum(size, 1) - 1)
    return np.asarray((moebius(values) * weight) @ members)


def exact_interactions(values: Floats) -> Floats:
    """Return the Shapley interaction indices of all pairs, (n, n) with zero diagonal, from all 2ⁿ values."""
    n = _players(values)
    members = all_coalitions(n).astype(np.float64)
    size = members.sum(axis=1)
    weighted = np.where(size > 1, moebius(values) / np.maximum(size - 1, 1), 0.0)
    indices = members.T @ (weighted[:, None] * members)
    np.fill_diagonal(indices, 0.0)
    return np.asarray(indices)


def fewest_calls(game: Game) -> int:
    """Return the fewest calls for values: all coalitions if few; otherwise each player, the whole and the empty coalition."""
    return int(min(2**game.n, game.n + 2))


def share_out(game: Game, index: Index, *, seed: int) -> Shares:
    """Return Shapley or Banzhaf values of a game, exact if all coalitions fit its budget.

    Otherwise Shapley values are those of KernelSHAP, and Banzhaf values are the slopes of the best linear fit to uniformly
    drawn coalitions, which tend to the Banzhaf values.

    Args:
        game: The game.
        index: Which values.
        seed: Seed of the coalitions.
    """
    if index not in {"shapley", "banzhaf"}:
        raise UsageError(f"the index is shapley or banzhaf, not {index!r}")
    if game.n == 0:
        return Shares(np.zeros(0), is_exact=True, method="no players")
    if game.can_enumerate:
        return Shares(
            exact_shares(game.enumerate(), index), is_exact=True, method=f"all {2**game.n} coalitions"
        )
    budget = game.left
    if budget < game.n + 2:
        raise UsageError(f"{game.n} players need a budget of at least {game.n + 2} model calls, got {budget}")
    if index == "banzhaf":
        return _sampled_banzhaf(game, budget, seed)
    values = kernel_shap(game, budget, seed=seed)
    return Shares(values, is_exact=False, method=f"KernelSHAP, {game.calls} coalitions")


def _sampled_banzhaf(game: Game, budget: int, seed: int) -> Shares:
    rng = np.random.default_rng(seed)
    coalitions = rng.random((budget, game.n)) < 0.5
    coalitions[0] = True
    values = game.values(coalitions)
    design = np.column_stack([np.ones(len(coalitions)), coalitions])
    slopes: Floats = np.asarray(np.linalg.lstsq(design, values, rcond=None)[0][1:], np.float64)
    return Shares(slopes, is_exact=False, method=f"linear fit to {game.calls} uniform coalitions")


def cross_interactions(game: Game, *, seed: int) -> Interactions:
    """Return the Shapley interaction indices of every cell with every word.

    Exact if all coalitions fit the budget, otherwise by regression on coalitions with their complements. At equal error,
    regression needs a fraction of the calls of sampling pair by pair (``bench/grid_explain.py``). With 30,000 calls its squared
    error was 2 to 9 times smaller than that of KernelSHAP-IQ, on sums of unanimity games of up to 5 or 8 of 16, 22 and 35
    players.
    """
    p = game.n_cells
    if not p or not game.n_words:
        return Interactions(np.zeros((p, game.n_words)), is_exact=True, method="one side has no players")
    if game.can_enumerate:
        return Interactions(
            exact_interactions(game.enumerate())[:p, p:], is_exact=True, method=f"all {2**game.n} coalitions"
        )
    budget = game.left
    if budget < game.n + 2:
        raise UsageError(f"{game.n} players need a budget of at least {game.n + 2} model calls, got {budget}")
    pairs = regressed_interactions(game, budget, seed=seed)
    return Interactions(pairs[:p, p:], is_exact=False, method=f"regression, {game.calls} coalitions")


def sampled_interactions(game: Game, *, seed: int, draws: int | None = None) -> Interactions:
    """Estimate Shapley interaction indices pair by pair, as the MultiSHAP paper does, but with correct indices.

    For each pair a size is drawn uniformly from 0 … n−2, then a coalition of that size from the others; the mean of
    v(S∪ij) − v(S∪i) − v(S∪j) + v(S) is unbiased. Each draw takes four model calls.

    Args:
        game: The game.
        seed: Seed of the draws.
        draws: Draws for each pair; by default as many as the budget allows.
    """
    p, t = game.n_cells, game.n_words
    draws = max(1, game.left // (4 * p * t)) if draws is None else draws
    rng = np.random.default_rng(seed)
    others = rng.random((p, t, draws, game.n)).argsort(axis=-1)
    coalitions = np.zeros((p, t, draws, game.n), bool)
    sizes = rng.integers(0, game.n - 1, (p, t, draws))
    for i in range(p):
        for j in range(t):
            order = others[i, j]
            free = order[(order != i) & (order != p + j)].reshape(draws, game.n - 2)
            rank = np.arange(game.n - 2) < sizes[i, j][:, None]
            np.put_along_axis(coalitions[i, j], free, rank, axis=1)
    corners = np.repeat(coalitions[..., None, :], 4, axis=-2)
    cell, word = np.arange(p)[:, None], np.arange(t)[None, :]
    for corner, (has_cell, has_word) in enumerate(((True, True), (True, False), (False, True))):
        corners[cell, word, :, corner, cell] = has_cell
        corners[cell, word, :, corner, p + word] = has_word
    values = game.values(corners.reshape(-1, game.n)).reshape(p, t, draws, 4)
    mixed = values @ np.array([1.0, -1.0, -1.0, 1.0])
    return Interactions(mixed.mean(axis=-1), is_exact=False, method=f"{draws} draws per pair")


def spectrum(values: Floats, *, keep: float) -> Floats:
    """Return the p-biased Fourier spectrum of a game: the variance of each set of players, ``(2ⁿ,)``.

    Each player is shown with probability p, independently. The functional ANOVA splits the variance of v into
    Σ_{S≠∅} σ²(S); entry S of the result is σ²(S), entry 0 the squared mean.

    >>> spectrum(np.array([0.0, 0.0, 0.0, 1.0]), keep=0.5).tolist()  # both must be shown
    [0.0625, 0.0625, 0.0625, 0.0625]
    """
    n = _players(values)
    if not 0 < keep < 1:
        raise UsageError(f"the probability to show a player is between 0 and 1, not {keep}")
    table: NDArray[np.float64] = (
        values.astype(np.float64).reshape((2,) * n) if n else values.astype(np.float64)
    )
    scale = np.sqrt(keep * (1 - keep))
    for axis in range(n):
        low, high = np.split(table, 2, axis=axis)
        table = np.concatenate([(1 - keep) * low + keep * high, scale * (high - low)], axis=axis)
    return np.asarray(table.reshape(-1) ** 2)


def _masses(n: int) -> Floats:
    """Return the kernel's mass of each size 1 … n−1: ∝ 1/(s(n−s))."""
    sizes = np.arange(1, n)
    return np.asarray(1.0 / (sizes * (n - sizes)))


def design(n: int, budget: int, rng: np.random.Generator) -> tuple[Flags, Floats]:
    """Draw at most `budget` coalitions, neither empty nor whole, with the weight of each in the regression.

    Args:
        n: Number of players.
        budget: The most coalitions.
        rng: Random generator.

    >>> coalitions, weights = design(4, 8, np.random.default_rng(0))  # all of sizes 1 and 3, nothing is drawn
    >>> sorted(coalitions.sum(axis=1).tolist()), weights.round(3).tolist()
    ([1, 1, 1, 1, 3, 3, 3, 3], [0.083, 0.083, 0.083, 0.083, 0.083, 0.083, 0.083, 0.083])
    """
    mass = _masses(n)
    rows: list[Flags] = []
    weights: list[Floats] = []
    left, size = budget, 1
    while size <= n // 2:
        is_middle = 2 * size == n
        count = comb(n, size) * (1 if is_middle else 2)
        if count > left:
            break
        inside = np.zeros((comb(n, size), n), bool)
        members = np.array(list(combinations(range(n), size)))
        np.put_along_axis(inside, members, True, axis=1)  # noqa: FBT003 - numpy's own signature
        layer = inside if is_middle else np.concatenate([inside, ~inside])
        rows.append(layer)
        weights.append(np.full(count, mass[size - 1] * (1 if is_middle else 2) / count))
        left, size = left - count, size + 1
    if size <= n // 2 and left > 1:
        drawn = _drawn(n, size, left // 2, rng)
        rows.append(drawn)
        weights.append(np.full(len(drawn), mass[size - 1 : n - size].sum() / len(drawn)))
    if not rows:
        return np.zeros((0, n), bool), np.zeros(0)
    return np.concatenate(rows), np.concatenate(weights)


def _drawn(n: int, smallest: int, pairs: int, rng: np.random.Generator) -> Flags:
    """Draw distinct pairs of complements, the smaller one of size `smallest` … n//2, with the sizes distributed by mass."""
    sizes = np.arange(smallest, n // 2 + 1)
    mass = _masses(n)[sizes - 1] * np.where(2 * sizes == n, 0.5, 1.0)
    distinct: dict[bytes, Flags] = {}
    for _ in range(20):
        some = rng.choice(sizes, pairs, p=mass / mass.sum())
        inside = rng.random((pairs, n)).argsort(axis=1).argsort(axis=1) < some[:, None]
        for row in inside:
            other = ~row if 2 * int(row.sum()) == n and not row[0] else row  # one name for both halves
            if len(distinct) < pairs:
                distinct.setdefault(np.packbits(other).tobytes(), other)
        if len(distinct) == pairs:
            break
    halves = np.stack(list(distinct.values()))
    return np.concatenate([halves, ~halves])


def kernel_shap(game: Game, budget: int, *, seed: int) -> Floats:
    """Estimate Shapley values of a game of at least two players, from at most `budget` coalitions."""
    n = game.n
    coalitions, weights = design(n, budget - 2, np.random.default_rng(seed))
    whole = np.ones((1, n), bool)
    values = game.values(np.concatenate([whole, ~whole, coalitions]))
    total, empty, rest = values[0] - values[1], values[1], values[2:]
    # Σφ = total eliminates the last player, which leaves an ordinary regression of n − 1 slopes.
    inside = coalitions.astype(np.float64)
    slopes = inside[:, :-1] - inside[:, -1:]
    target = rest - empty - inside[:, -1] * total
    root = np.sqrt(weights)
    coefficients = np.linalg.lstsq(slopes * root[:, None], target * root, rcond=None)[0]
    return np.append(coefficients, total - coefficients.sum())
