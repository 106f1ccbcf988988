r"""Shapley interactions of all pairs by regression on coalitions and their complements, with a sparsity prior.

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
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from math import comb

import numpy as np
from numpy.typing import NDArray

from theodolite.instruments.grid.data.world import Flags
from theodolite.instruments.grid.explainers.game import Floats, Game

RATIOS = (0.0, 0.01, 0.03, 0.1, 0.3)
"""The prior weights r that are tried."""
_ROUNDS = 2
_JITTER = 1e-4
MOST_CALLS = 3000
"""More coalitions make the linear system too slow."""


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
    """Shapley interactions of all pairs of players, (n, n), upper half, from at most `budget` coalitions."""
    n = game.n
    some = paired_coalitions(n, (min(budget, MOST_CALLS) - 2) // 2, np.random.default_rng(seed))
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
