r"""Shapley values by weighted regression on coalitions with their complements (KernelSHAP, paired).

Shapley values are the φ that minimise Σ_S k(|S|) (v(S) − v(∅) − Σ_{i∈S} φ_i)² under Σφ = v(N) − v(∅), with

    k(s) = (n − 1) / (C(n, s) s (n − s)).

Sizes are taken from the outside in: as long as the budget holds all coalitions of sizes s and n − s, all are asked for; from the rest
pairs of complements are drawn, a size as often as its kernel's mass.
"""

from __future__ import annotations

from itertools import combinations
from math import comb

import numpy as np

from theodolite.instruments.grid.data.world import Flags
from theodolite.instruments.grid.explainers.game import Floats, Game


def _masses(n: int) -> Floats:
    """The kernel's mass on each size 1 … n−1, of both a size and its complement's: ∝ 1/(s(n−s))."""
    sizes = np.arange(1, n)
    return np.asarray(1.0 / (sizes * (n - sizes)))


def design(n: int, budget: int, rng: np.random.Generator) -> tuple[Flags, Floats]:
    """Coalitions, neither empty nor whole, at most `budget`, and the weight of each in the regression.

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
    """Different pairs of complements, their smaller half of size `smallest` … n//2, a size as often as its mass."""
    sizes = np.arange(smallest, n // 2 + 1)
    mass = _masses(n)[sizes - 1] * np.where(2 * sizes == n, 0.5, 1.0)
    found: dict[bytes, Flags] = {}
    for _ in range(20):
        some = rng.choice(sizes, pairs, p=mass / mass.sum())
        inside = rng.random((pairs, n)).argsort(axis=1).argsort(axis=1) < some[:, None]
        for row in inside:
            other = (
                ~row if 2 * int(row.sum()) == n and not row[0] else row
            )  # one name for a pair of two halves
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
    # Σφ = total is put in for the last player, which leaves an ordinary regression of n − 1 slopes.
    inside = coalitions.astype(np.float64)
    slopes = inside[:, :-1] - inside[:, -1:]
    target = rest - empty - inside[:, -1] * total
    root = np.sqrt(weights)
    found = np.linalg.lstsq(slopes * root[:, None], target * root, rcond=None)[0]
    return np.append(found, total - found.sum())
