"""PixelSHAP and TokenSHAP: values of objects given the question, and of words given the picture (Goldshmidt 2025)."""

from __future__ import annotations

from functools import partial

import numpy as np

from theodolite.core.errors import UsageError
from theodolite.instruments.grid.explainers.contract import (
    Case,
    Explainer,
    ExplainFunction,
    Explanation,
    Variant,
)
from theodolite.instruments.grid.explainers.game import Game
from theodolite.instruments.grid.explainers.indices import Index, fewest_calls, share_out


def _sides(game: Game) -> tuple[Game, Game]:
    """The games of cells and of words, each with its fewest calls and half of the rest of the budget."""
    sides = game.of_cells(), game.of_words()
    if game.budget is None:
        return sides
    least = [fewest_calls(side) for side in sides]
    rest = max(0, game.budget - sum(least))
    more = min(rest - rest // 2, 2 ** sides[1].n - least[1])  # no more than all coalitions of the words
    return game.of_cells(least[0] + rest - more), game.of_words(least[1] + more)


def _least_of_sides(case: Case) -> int:
    return fewest_calls(case.game.of_cells()) + fewest_calls(case.game.of_words())


def _both_sides(case: Case, index: Index) -> Explanation:
    """Cells with all words shown, words with all cells shown."""
    sides = dict(zip(("cells", "words"), _sides(case.game), strict=True))
    found = {name: share_out(side, index, seed=case.seed) for name, side in sides.items()}
    return case.explanation(
        np.concatenate([found["cells"].values, found["words"].values]),
        is_exact=all(each.is_exact for each in found.values()),
        calls=sum(side.calls for side in sides.values()),
        method="; ".join(f"{name}: {each.method}" for name, each in found.items()),
    )


def pixel_token_reference(case: Case) -> Explanation:
    """The public code: leave-one-out and random coalitions, mean with minus mean without, shifted and scaled to sum 1."""
    rng = np.random.default_rng(case.seed)
    parts, calls = [], 0
    for side in _sides(case.game):
        n = side.n
        if side.left < min(n + 1, 2**n):
            raise UsageError(f"{n} players need a budget of at least {n + 1} model calls, got {side.left}")
        further = min(side.left - n, 2 ** min(n, 10), 512)
        codes = rng.random((further, n)) < 0.5
        coalitions = np.unique(np.concatenate([~np.eye(n, dtype=bool), codes]), axis=0)
        coalitions = coalitions[coalitions.any(axis=1) & ~coalitions.all(axis=1)]
        values = side.values(coalitions)
        calls += side.calls
        inside = np.array([values[coalitions[:, i]].mean() for i in range(n)])
        outside = np.array([values[~coalitions[:, i]].mean() for i in range(n)])
        shifted = inside - outside - (inside - outside).min() if n else inside
        parts.append(shifted / shifted.sum() if n and shifted.sum() > 0 else shifted)
    return case.explanation(
        np.concatenate(parts), is_exact=False, calls=calls, method="mean with minus mean without"
    )


def _variant(
    name: str, summary: str, explain: ExplainFunction, reading: Variant = "sound", caveat: str = ""
) -> Explainer:
    return Explainer(
        name,
        summary,
        explain,
        paper="Goldshmidt 2025, PixelSHAP and TokenSHAP",
        reading=reading,
        caveat=caveat,
        samples=True,
        least=_least_of_sides,
    )


PIXEL_TOKEN_SHAPLEY = _variant(
    "pixelshap-shapley",
    "PixelSHAP and TokenSHAP as Shapley values: objects given the question, words given the picture",
    partial(_both_sides, index="shapley"),
)
PIXEL_TOKEN_BANZHAF = _variant(
    "pixelshap-banzhaf",
    "the same as Banzhaf values, the limit of the published estimator",
    partial(_both_sides, index="banzhaf"),
)
PIXEL_TOKEN_REFERENCE = _variant(
    "pixelshap-reference",
    "the public code: leave-one-out and random coalitions, shifted and scaled",
    pixel_token_reference,
    "paper",
    "the least important player always gets 0 and signs are lost",
)
