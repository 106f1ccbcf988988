"""Shapley interactions of all pairs by regression on coalitions and their complements, with a sparsity prior.

Write a coalition as signs s_i = ±1 and the game as v(s) = Σ_T v̂(T) χ_T(s), χ_T = Π_{i∈T} s_i. Averaged over coalitions with
the weights of the index (sizes uniform), the mixed difference of χ_T by i and j is 4/(|T|−1) if T ⊇ ij has an even number of
players, and 0 otherwise, so that for every game

    I_ij = Σ_{T⊇ij, |T| even} 4/(|T|−1) · v̂(T).

Only terms of even order matter, and e(s) = (v(s) + v(−s))/2 contains only those. Their coefficients have independent normal
priors: v̂(ij) its own variance λ_ij, terms of four players r/C(n,4) each, of six r²/C(n,6). Then e is a Gaussian process with

    k(s, s′) = Σ_ij λ_ij χ_ij(s) χ_ij(s′) + r·E₄(d)/C(n,4) + r²·E₆(d)/C(n,6),

where E_k(d) is the k-th elementary symmetric polynomial of n signs of which d (where s and s′ differ) are minus; I_ij, linear
in the coefficients, has a posterior mean in closed form. r is chosen by leave-one-out error. λ starts uniform and is twice
replaced by v̂(ij)² plus its variance, as in automatic relevance determination, so that pairs without effect are shrunk. Exact
in the limit for games with terms of up to three players; for others the prior decides how higher terms are separated from
pairs.

A fit takes time cubic in its coalitions. A larger budget is therefore spent on several fits, each on coalitions of its own,
whose mean is returned: their errors are nearly independent.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations
from math import comb
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from theodolite.core.errors import UsageError
from theodolite.instruments.grid.data.world import Flags
from theodolite.instruments.grid.explainers.game import Floats, Game, all_coalitions

RATIOS = (0.0, 0.01, 0.03, 0.1, 0.3)
"""The prior weights r that are tried."""
_ROUNDS = 2
_JITTER = 1e-4
MOST_CALLS = 3000
"""Coalitions of one fit: with more, the linear system is too slow."""


@lru_cache(maxsize=64)
def symmetric(n: int) -> Floats:
    """E[k, m]: the k-th elementary symmetric polynomial of n signs of which m are minus, ``(n + 1, n + 1)``.

    >>> symmetric(3)[2].tolist()  # pairs among +++, ++−, +−−, −−−
    [3.0, -1.0, -1.0, 3.0]
    """
    found = np.zeros((n + 1, n + 1))
    for minus in range(n + 1):
        row = np.ones(1)
        for sign in [-1.0] * minus + [1.0] * (n - minus):
            row = np.convolve(row, [1.0, sign])
        found[:, minus] = row
    found.setflags(write=False)  # cached
    return found


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
        """The fit with the smallest leave-one-out error."""
        return min((self.fit(prior, ratio) for ratio in ratios), key=lambda fit: fit.left_out)

    def relevance(self, prior: Floats, fit: _Fit) -> Floats:
        """The squared coefficient of each pair plus its variance, scaled to sum 1."""
        scale = fit.weights @ (self.even - self.even.mean()) / len(self.even)
        mean = prior * (self.products.T @ fit.weights)
        shrunk = np.einsum("mq,mq->q", self.products, fit.inverse @ self.products)
        found = mean**2 + np.maximum(scale * (prior - prior**2 * shrunk), 0.0)
        total = found.sum()
        return np.asarray(found / total) if total > 0 else prior

    def interactions(self, prior: Floats, fit: _Fit) -> Floats:
        """The posterior mean of every I_ij, (n, n), upper half."""
        n, minus = self.n, self.signs < 0
        others = minus.sum(axis=1)[:, None] - minus[:, self.first] - minus[:, self.second]
        table = symmetric(n - 2)
        factor = 4.0 * prior + np.zeros_like(self.products)
        for k, weight in ((4, fit.ratio), (6, fit.ratio**2)):
            if weight and k <= n:
                factor += 4 / (k - 1) * weight / comb(n, k) * table[k - 2][others]
        found = np.zeros((n, n))
        found[self.first, self.second] = fit.weights @ (factor * self.products)
        return found


def paired_coalitions(n: int, pairs: int, rng: np.random.Generator) -> Flags:
    """The whole, then distinct coalitions of sizes drawn uniformly from 1 … n−1, to be used with their complements.

    Fewer are returned if there are no more.
    """
    found = {b"": np.ones(n, bool)}
    for _ in range(20):
        rank = rng.random((pairs, n)).argsort(axis=1).argsort(axis=1)
        drawn = rank < rng.integers(1, n, pairs)[:, None]
        names = np.packbits(drawn ^ ~drawn[:, :1], axis=1)  # a coalition and its complement have one name
        for row, name in zip(drawn, names, strict=True):
            if len(found) <= pairs:
                found.setdefault(name.tobytes(), row)
        if len(found) > pairs:
            break
    return np.stack(list(found.values()))


def regressed_interactions(game: Game, budget: int, *, seed: int) -> Floats:
    """Return Shapley interactions of all pairs of players, (n, n), upper half, from at most `budget` coalitions."""
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
    """The Möbius transform of all 2ⁿ values, in the order of `Game.enumerate`.

    >>> moebius(np.array([0.0, 1.0, 1.0, 3.0])).tolist()  # two players that gain one more together
    [0.0, 1.0, 1.0, 1.0]
    """
    n = _players(values)
    found = values.astype(np.float64).reshape((2,) * n) if n else values.astype(np.float64)
    for axis in range(n):
        low, high = np.split(found, 2, axis=axis)
        found = np.concatenate([low, high - low], axis=axis)
    return found.reshape(-1)


def _players(values: Floats) -> int:
    n = int(values.size).bit_length() - 1
    if values.ndim != 1 or values.size != 2**n:
        raise UsageError(f"all coalitions of n players are 2ⁿ values, got {values.size}")
    return n


def exact_shares(values: Floats, index: Index) -> Floats:
    """Shapley or Banzhaf values from all 2ⁿ values."""
    n = _players(values)
    members = all_coalitions(n)
    size = members.sum(axis=1)
    weight = 1 / np.maximum(size, 1) if index == "shapley" else 0.5 ** (np.maximum(size, 1) - 1)
    return np.asarray((moebius(values) * weight) @ members)


def exact_interactions(values: Floats) -> Floats:
    """Shapley interaction indices of all pairs, (n, n) with zero diagonal, from all 2ⁿ values."""
    n = _players(values)
    members = all_coalitions(n).astype(np.float64)
    size = members.sum(axis=1)
    weighted = np.where(size > 1, moebius(values) / np.maximum(size - 1, 1), 0.0)
    found = members.T @ (weighted[:, None] * members)
    np.fill_diagonal(found, 0.0)
    return np.asarray(found)


def fewest_calls(game: Game) -> int:
    """All coalitions if they are few; otherwise one for each player, the whole and the empty coalition."""
    return int(min(2**game.n, game.n + 2))


def share_out(game: Game, index: Index, *, seed: int) -> Shares:
    """Shapley or Banzhaf values of a game, exact if all coalitions fit its budget.

    Otherwise Shapley values are those of KernelSHAP, and Banzhaf values are the slopes of the best linear fit to uniformly
    drawn coalitions, which tend to the Banzhaf values.
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
    found = regressed_interactions(game, budget, seed=seed)
    return Interactions(found[:p, p:], is_exact=False, method=f"regression, {game.calls} coalitions")


def sampled_interactions(game: Game, *, seed: int, draws: int | None = None) -> Interactions:
    """Shapley interaction indices pair by pair, as the MultiSHAP paper estimates them, but with correct indices.

    For each pair a size is drawn uniformly from 0 … n−2, then a coalition of that size from the others; the mean of
    v(S∪ij) − v(S∪i) − v(S∪j) + v(S) is unbiased. Each draw takes four model calls.
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
    """The p-biased Fourier spectrum of a game: the variance of each set of players, ``(2ⁿ,)``.

    Each player is shown with probability p, independently. The functional ANOVA splits the variance of v into
    Σ_{S≠∅} σ²(S); entry S of the result is σ²(S), entry 0 the squared mean.

    >>> spectrum(np.array([0.0, 0.0, 0.0, 1.0]), keep=0.5).tolist()  # both must be shown
    [0.0625, 0.0625, 0.0625, 0.0625]
    """
    n = _players(values)
    if not 0 < keep < 1:
        raise UsageError(f"the probability to show a player is between 0 and 1, not {keep}")
    found: NDArray[np.float64] = (
        values.astype(np.float64).reshape((2,) * n) if n else values.astype(np.float64)
    )
    scale = np.sqrt(keep * (1 - keep))
    for axis in range(n):
        low, high = np.split(found, 2, axis=axis)
        found = np.concatenate([(1 - keep) * low + keep * high, scale * (high - low)], axis=axis)
    return np.asarray(found.reshape(-1) ** 2)


def _masses(n: int) -> Floats:
    """The kernel's mass of each size 1 … n−1: ∝ 1/(s(n−s))."""
    sizes = np.arange(1, n)
    return np.asarray(1.0 / (sizes * (n - sizes)))


def design(n: int, budget: int, rng: np.random.Generator) -> tuple[Flags, Floats]:
    """At most `budget` coalitions, neither empty nor whole, and the weight of each in the regression.

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
    """Distinct pairs of complements, the smaller one of size `smallest` … n//2, a size as often as its mass."""
    sizes = np.arange(smallest, n // 2 + 1)
    mass = _masses(n)[sizes - 1] * np.where(2 * sizes == n, 0.5, 1.0)
    found: dict[bytes, Flags] = {}
    for _ in range(20):
        some = rng.choice(sizes, pairs, p=mass / mass.sum())
        inside = rng.random((pairs, n)).argsort(axis=1).argsort(axis=1) < some[:, None]
        for row in inside:
            other = ~row if 2 * int(row.sum()) == n and not row[0] else row  # one name for both halves
            if len(found) < pairs:
                found.setdefault(np.packbits(other).tobytes(), other)
        if len(found) == pairs:
            break
    halves = np.stack(list(found.values()))
    return np.concatenate([halves, ~halves])


def kernel_shap(game: Game, budget: int, *, seed: int) -> Floats:
    """Estimated Shapley values of a game of at least two players, from at most `budget` coalitions."""
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
    found = np.linalg.lstsq(slopes * root[:, None], target * root, rcond=None)[0]
    return np.append(found, total - found.sum())
