"""Explainers that share out one game: MultiSHAP, PixelSHAP with TokenSHAP, and the plain removal of objects."""

from __future__ import annotations

import numpy as np

from theodolite.core.errors import UsageError
from theodolite.instruments.grid.explainers.contract import Case, Explainer, Explanation
from theodolite.instruments.grid.explainers.game import Floats, Game
from theodolite.instruments.grid.explainers.indices import Index, Interactions, cross_interactions, share_out

_MULTISHAP = "Wang and Wang 2026, arXiv 2508.00576"
_PIXELSHAP = "Goldshmidt 2025, PixelSHAP and TokenSHAP"


def _from_interactions(case: Case, found: Interactions, cells: Floats, words: Floats) -> Explanation:
    """MultiSHAP's map with the figures that its paper reports."""
    positive, negative = found.values[found.values > 0].sum(), -found.values[found.values < 0].sum()
    total = positive + negative
    scalars = {
        "positive": float(positive),
        "negative": float(negative),
        "mean_absolute": float(np.abs(found.values).mean()) if found.values.size else 0.0,
    }
    if total > 0:
        scalars["positive_share"] = float(positive / total)
    return case.explanation(
        np.concatenate([cells, words]),
        scalars=scalars,
        is_exact=found.is_exact,
        calls=case.game.calls,
        method=found.method,
    )


def multishap(case: Case) -> Explanation:
    """Σ_j |I_ij| for each cell, Σ_i |I_ij| for each word: signs do not cancel."""
    found = cross_interactions(case.game, seed=case.seed)
    size = np.abs(found.values)
    return _from_interactions(case, found, size.sum(axis=1), size.sum(axis=0))


def multishap_mean(case: Case) -> Explanation:
    """The same interactions, averaged over words with their signs, as the published figure draws them."""
    found = cross_interactions(case.game, seed=case.seed)
    return _from_interactions(case, found, found.values.mean(axis=1), found.values.mean(axis=0))


def multishap_reference(case: Case) -> Explanation:
    """The public code: coalitions in which cell k and word k are the same number, so that each draws the other in.

    Per pair a size s is drawn evenly from 0 … n−2, then s numbers out of the remaining cells' and words' numbers laid end
    to end; cell k and word k both join if k was drawn.
    """
    game = case.game
    p, t = game.n_cells, game.n_words
    if game.left < 4 * p * t:
        raise UsageError(f"one draw a pair needs {4 * p * t} model calls, got {game.left}")
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
    found = Interactions(
        mixed, is_exact=False, method=f"{draws} draws a pair, cells and words sharing numbers"
    )
    return _from_interactions(case, found, mixed.mean(axis=1), mixed.mean(axis=0))


def _least_of_side(side: Game) -> int:
    """All coalitions if they are few; otherwise one for each player, the whole and nothing."""
    return int(min(2**side.n, side.n + 2))


def _sides(game: Game) -> tuple[Game, Game]:
    """Cells with all words shown, words with all cells shown: each with its least, and half of the rest of the budget."""
    sides = game.of_cells(), game.of_words()
    if game.budget is None:
        return sides
    least = [_least_of_side(side) for side in sides]
    rest = max(0, game.budget - sum(least))
    more = min(rest - rest // 2, 2 ** sides[1].n - least[1])  # no more than all coalitions of the words
    return game.of_cells(least[0] + rest - more), game.of_words(least[1] + more)


def _least_of_sides(case: Case) -> int:
    return _least_of_side(case.game.of_cells()) + _least_of_side(case.game.of_words())


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


def pixel_token_shapley(case: Case) -> Explanation:
    """Shapley values of objects and of words, unnormalised."""
    return _both_sides(case, "shapley")


def pixel_token_banzhaf(case: Case) -> Explanation:
    """Banzhaf values: what the public code's mean difference is once every coalition is in."""
    return _both_sides(case, "banzhaf")


def pixel_token_reference(case: Case) -> Explanation:
    """The public code: all leave-one-out sets and some random ones, mean with minus mean without, shifted and scaled to sum 1."""
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


def removal(case: Case) -> Explanation:
    """v(N) − v(N∖i): each object taken away by itself, each word hidden by itself."""
    n = case.game.n
    coalitions = np.vstack([np.ones((1, n), bool), ~np.eye(n, dtype=bool)])
    values = case.game.values(coalitions)
    return case.explanation(values[0] - values[1:], calls=case.game.calls, method="one at a time")


def _least_of_players(case: Case) -> int:
    return _least_of_side(case.game)


def _one_draw_a_pair(case: Case) -> int:
    return 4 * case.game.n_cells * case.game.n_words


def _one_at_a_time(case: Case) -> int:
    return case.game.n + 1


MULTISHAP = Explainer(
    "multishap",
    "Shapley interactions of cells with words; a cell's relevance is the sum of their sizes",
    multishap,
    paper=_MULTISHAP,
    samples=True,
    least=_least_of_players,
)
MULTISHAP_MEAN = Explainer(
    "multishap-mean",
    "the same interactions, averaged over the words with their signs",
    multishap_mean,
    paper=_MULTISHAP,
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
    paper=_MULTISHAP,
    reading="paper",
    caveat="cell k and word k share a number, so drawing one draws both: coalitions have the wrong size and are not independent",
    samples=True,
    least=_one_draw_a_pair,
)
PIXEL_TOKEN_SHAPLEY = Explainer(
    "pixelshap-shapley",
    "PixelSHAP and TokenSHAP as Shapley values: objects given the question, words given the picture",
    pixel_token_shapley,
    paper=_PIXELSHAP,
    samples=True,
    least=_least_of_sides,
)
PIXEL_TOKEN_BANZHAF = Explainer(
    "pixelshap-banzhaf",
    "the same as Banzhaf values, which is what the published estimator tends to",
    pixel_token_banzhaf,
    paper=_PIXELSHAP,
    samples=True,
    least=_least_of_sides,
)
PIXEL_TOKEN_REFERENCE = Explainer(
    "pixelshap-reference",
    "the public code: leave-one-out and random coalitions, shifted and scaled",
    pixel_token_reference,
    paper=_PIXELSHAP,
    reading="paper",
    caveat="the least important player always gets 0 and signs are lost",
    samples=True,
    least=_least_of_sides,
)
REMOVAL = Explainer(
    "removal",
    "what changes when one object is taken away or one word hidden",
    removal,
    reading="baseline",
    caveat="says nothing where two objects can stand in for each other, as in existence answered yes",
    least=_one_at_a_time,
    family="removal",
)
