"""Shapley interactions of cells with words: MultiSHAP, PixelSHAP, TokenSHAP."""

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
from theodolite.instruments.grid.explainers.game import (
    Floats,
    Game,
    Index,
    Interactions,
    cross_interactions,
    fewest_calls,
    share_out,
)

# MultiSHAP: Shapley interactions of cells with words (Wang and Wang 2026, arXiv 2508.00576).


_PAPER = "Wang and Wang 2026, arXiv 2508.00576"


def _from_interactions(case: Case, interactions: Interactions, cells: Floats, words: Floats) -> Explanation:
    """Return MultiSHAP's map with the numbers that its paper reports."""
    positive, negative = (
        interactions.values[interactions.values > 0].sum(),
        -interactions.values[interactions.values < 0].sum(),
    )
    total = positive + negative
    scalars = {
        "positive": float(positive),
        "negative": float(negative),
        "mean_absolute": float(np.abs(interactions.values).mean()) if interactions.values.size else 0.0,
    }
    if total > 0:
        scalars["positive_share"] = float(positive / total)
    return case.explanation(
        np.concatenate([cells, words]),
        scalars=scalars,
        is_exact=interactions.is_exact,
        calls=case.game.calls,
        method=interactions.method,
    )


def multishap(case: Case) -> Explanation:
    """Return Σ_j |I_ij| for each cell and Σ_i |I_ij| for each word, so that signs do not cancel."""
    interactions = cross_interactions(case.game, seed=case.seed)
    size = np.abs(interactions.values)
    return _from_interactions(case, interactions, size.sum(axis=1), size.sum(axis=0))


def multishap_mean(case: Case) -> Explanation:
    """Average the interactions over words with their signs, as in the published figure."""
    interactions = cross_interactions(case.game, seed=case.seed)
    return _from_interactions(
        case, interactions, interactions.values.mean(axis=1), interactions.values.mean(axis=0)
    )


def multishap_reference(case: Case) -> Explanation:
    """Follow the public code, in which cell k and word k share an index, so that drawing one draws both.

    For each pair a size s is drawn uniformly from 0 … n−2, then s indices of the remaining cells and words; cell k and word
    k both join if k was drawn.
    """
    game = case.game
    p, t = game.n_cells, game.n_words
    if game.left < 4 * p * t:
        raise UsageError(f"one draw per pair needs {4 * p * t} model calls, got {game.left}")
    draws = max(1, game.left // (4 * p * t))
    rng = np.random.default_rng(case.seed)
    corners = np.zeros((p, t, draws, 4, game.n), bool)
    for i in range(p):
        for j in range(t):
            numbers = np.array([k for k in range(p) if k != i] + [k for k in range(t) if k != j])
            for draw in range(draws):
                drawn = rng.permutation(numbers)[: rng.integers(0, game.n - 1)]
                inside = np.concatenate([np.isin(np.arange(p), drawn), np.isin(np.arange(t), drawn)])
                for corner, (has_cell, has_word) in enumerate(((1, 1), (1, 0), (0, 1), (0, 0))):
                    inside[i], inside[p + j] = has_cell, has_word
                    corners[i, j, draw, corner] = inside
    values = game.values(corners.reshape(-1, game.n)).reshape(p, t, draws, 4)
    mixed = (values @ np.array([1.0, -1.0, -1.0, 1.0])).mean(axis=-1)
    interactions = Interactions(
        mixed, is_exact=False, method=f"{draws} draws per pair, cells and words sharing indices"
    )
    return _from_interactions(case, interactions, mixed.mean(axis=1), mixed.mean(axis=0))


def _least_of_players(case: Case) -> int:
    return fewest_calls(case.game)


def _one_draw_a_pair(case: Case) -> int:
    return 4 * case.game.n_cells * case.game.n_words


MULTISHAP = Explainer(
    "multishap",
    "Shapley interactions of cells with words; a cell's relevance is the sum of their sizes",
    multishap,
    paper=_PAPER,
    samples=True,
    least=_least_of_players,
)
MULTISHAP_MEAN = Explainer(
    "multishap-mean",
    "the same interactions, averaged over words with their signs",
    multishap_mean,
    paper=_PAPER,
    reading="paper",
    caveat="positive and negative interactions cancel",
    samples=True,
    family="multishap",
    least=_least_of_players,
)
MULTISHAP_REFERENCE = Explainer(
    "multishap-reference",
    "the public code's sampler, pair by pair",
    multishap_reference,
    paper=_PAPER,
    reading="paper",
    caveat="cell k and word k share an index, so drawing one draws both: coalitions have the wrong size and are not independent",
    samples=True,
    least=_one_draw_a_pair,
)


# PixelSHAP and TokenSHAP: values of objects given the question, and of words given the picture (Goldshmidt 2025).


def _sides(game: Game) -> tuple[Game, Game]:
    """Return the games of cells and of words; each gets its fewest calls and half of the remaining budget."""
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
    """Explain cells with all words shown, and words with all cells shown."""
    sides = dict(zip(("cells", "words"), _sides(case.game), strict=True))
    shares = {name: share_out(side, index, seed=case.seed) for name, side in sides.items()}
    return case.explanation(
        np.concatenate([shares["cells"].values, shares["words"].values]),
        is_exact=all(share.is_exact for share in shares.values()),
        calls=sum(side.calls for side in sides.values()),
        method="; ".join(f"{name}: {share.method}" for name, share in shares.items()),
    )


def pixel_token_reference(case: Case) -> Explanation:
    """Follow the public code: leave-one-out and random coalitions, mean with minus mean without, shifted and scaled to sum 1."""
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
