r"""Ways to share out a game: exact from all 2ⁿ values, or estimated within a budget.

Exact figures come from the Möbius transform m(S) = Σ_{T⊆S} (−1)^{|S|−|T|} v(T):

- Shapley value        φ_i  = Σ_{S∋i} m(S) / |S|
- Banzhaf value        β_i  = Σ_{S∋i} m(S) / 2^{|S|−1}
- Shapley interaction  I_ij = Σ_{S⊇ij} m(S) / (|S| − 1)

so that in the unanimity game of t players every pair inside has I_ij = 1/(t−1).
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from theodolite.core.errors import UsageError
from theodolite.instruments.grid.explainers.game import Floats, Game, all_coalitions
from theodolite.instruments.grid.explainers.interactions import MOST_CALLS, regressed_interactions
from theodolite.instruments.grid.explainers.kernel_shap import kernel_shap

FEWEST_FOR_KERNEL = 10 * MOST_CALLS
"""From so many calls on KernelSHAP-IQ errs less than regression on as many as that takes in, measured on sums of unanimity games."""

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

    >>> moebius(np.array([0.0, 1.0, 1.0, 3.0])).tolist()  # two players who earn one more together
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


def share_out(game: Game, index: Index, *, seed: int) -> Shares:
    """Shapley or Banzhaf values of a game, exact where all coalitions fit its budget.

    Otherwise Shapley values are those of KernelSHAP on coalitions with their complements; Banzhaf values are the slopes of the
    best linear fit to coalitions drawn evenly, which are Banzhaf values in the limit.
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
    return Shares(slopes, is_exact=False, method=f"linear fit to {game.calls} even coalitions")


def cross_interactions(game: Game, *, seed: int) -> Interactions:
    """Shapley interaction indices of every cell with every word.

    Exact where all coalitions fit the budget; otherwise regression on coalitions with their complements (`interactions`), and
    KernelSHAP-IQ (shapiq) where there are calls for more than that can take in. At equal error regression needs a fraction of the
    calls of sampling pair by pair; ``bench/grid_explain.py`` measures how many. `Interactions.method` says which.
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
    if budget < FEWEST_FOR_KERNEL:
        found = regressed_interactions(game, budget, seed=seed)
        return Interactions(found[:p, p:], is_exact=False, method=f"regression, {game.calls} coalitions")
    from shapiq.approximator import KernelSHAPIQ

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        approximator = KernelSHAPIQ(n=game.n, max_order=2, index="SII", random_state=seed)
        indices = approximator.approximate(budget=budget, game=game.values)
    values = np.array([[indices[(i, p + j)] for j in range(game.n_words)] for i in range(p)])
    return Interactions(values, is_exact=False, method=f"KernelSHAP-IQ, {game.calls} coalitions")


def sampled_interactions(game: Game, *, seed: int, draws: int | None = None) -> Interactions:
    """Shapley interaction indices pair by pair, as the MultiSHAP paper estimates them, but rightly indexed.

    For each pair a size is drawn evenly from 0 … n−2, then a coalition of that size from the others; the mean of
    v(S∪ij) − v(S∪i) − v(S∪j) + v(S) is unbiased. Four model calls a draw.
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
    return Interactions(mixed.mean(axis=-1), is_exact=False, method=f"{draws} draws a pair")


def spectrum(values: Floats, *, keep: float) -> Floats:
    """The p-biased Fourier spectrum of a game: how much variance each set of players carries, ``(2ⁿ,)``.

    Each player is shown with probability p, independently. The functional ANOVA then splits the variance of v into
    Σ_{S≠∅} σ²(S); entry S of the result is σ²(S), entry 0 the squared mean.

    >>> spectrum(np.array([0.0, 0.0, 0.0, 1.0]), keep=0.5).tolist()  # both must be shown
    [0.0625, 0.0625, 0.0625, 0.0625]
    """
    n = _players(values)
    if not 0 < keep < 1:
        raise UsageError(f"players are shown with a probability between 0 and 1, not {keep}")
    found: NDArray[np.float64] = (
        values.astype(np.float64).reshape((2,) * n) if n else values.astype(np.float64)
    )
    scale = np.sqrt(keep * (1 - keep))
    for axis in range(n):
        low, high = np.split(found, 2, axis=axis)
        found = np.concatenate([(1 - keep) * low + keep * high, scale * (high - low)], axis=axis)
    return np.asarray(found.reshape(-1) ** 2)
