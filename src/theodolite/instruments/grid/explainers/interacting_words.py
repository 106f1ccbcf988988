r"""Interacting words (ours): how many words act together with the picture.

With every player shown with probability p, the variance of v splits into parts σ²(S). The interaction of word w with the
picture is

    C_w = Σ_{S∋w, S∩cells≠∅} σ²(S) = p(1−p) · E_t Var_x [v(x, t∪w) − v(x, t∖w)],

and the effective number of interacting words is (Σ C_w)² / Σ C_w². Each relation adds words that a model which uses it must
combine with the picture; a bag of words combines the target's words alone, at any depth.
"""

from __future__ import annotations

import numpy as np

from theodolite.core.errors import UsageError
from theodolite.instruments.grid.explainers.contract import Case, Explainer, Explanation
from theodolite.instruments.grid.explainers.game import Floats, Game, spectrum

KEEP = 0.75
"""The probability that a player is shown."""


def effective_number(masses: Floats) -> float:
    """Return the effective number of masses: (Σm)² / Σm²; 0 if all are 0.

    >>> effective_number(np.array([2.0, 2.0, 0.0])), effective_number(np.array([1.0, 0.0]))
    (2.0, 1.0)
    """
    peak = masses.max(initial=0.0)
    if peak <= 0:
        return 0.0
    shares = masses / peak
    return float(shares.sum() ** 2 / (shares**2).sum())


def interacting_words(case: Case) -> Explanation:
    """Return C of every word and cell, exact or from pairs of random coalitions, and the effective number of words."""
    game = case.game
    if not game.n_cells or not game.n_words:
        raise UsageError("an interaction of picture and question needs players on both sides")
    if game.can_enumerate:
        masses, scalars, method = _enumerated(game)
        is_exact = True
    else:
        masses, draws = _sampled(game, case.seed)
        scalars, is_exact, method = {}, False, f"{draws} draws for words and for cells"
    scalars["interacting_words"] = effective_number(masses[game.n_cells :])
    scalars["interacting_cells"] = effective_number(masses[: game.n_cells])
    return case.explanation(masses, scalars=scalars, is_exact=is_exact, calls=game.calls, method=method)


def _enumerated(game: Game) -> tuple[Floats, dict[str, float], str]:
    parts = spectrum(game.enumerate(), keep=KEEP)
    sets = np.arange(parts.size)
    n_cells = np.bitwise_count(sets & ((1 << game.n_cells) - 1)).astype(np.int64)
    order = np.bitwise_count(sets).astype(np.int64)
    is_cross = (n_cells > 0) & (order > n_cells)
    cross = np.where(is_cross, parts, 0.0)
    masses = np.array([cross[sets >> i & 1 == 1].sum() for i in range(game.n)])
    variance = parts[1:].sum()
    scalars = {}
    if variance > 0:
        scalars["cross_share"] = float(cross.sum() / variance)
        scalars["higher_order_share"] = float(cross[order >= 3].sum() / variance)
    if cross.sum() > 0:
        scalars["mean_order"] = float((cross * order).sum() / cross.sum())
    return masses, scalars, f"all {parts.size} coalitions"


def _per_draw(game: Game) -> int:
    """Return the calls per draw: two pictures with each word flipped in turn, two questions with each cell flipped in turn."""
    return 2 * (1 + game.n_words) + 2 * (1 + game.n_cells)


def _one_draw(case: Case) -> int:
    return int(min(2**case.game.n, _per_draw(case.game)))


def _sampled(game: Game, seed: int) -> tuple[Floats, int]:
    """Estimate C of each player from draws (t, x, x′): ½ p(1−p) mean of (Δ_w(x, t) − Δ_w(x′, t))²; cells likewise from (x, t, t′)."""
    p, t = game.n_cells, game.n_words
    per_draw = _per_draw(game)
    draws = game.left // per_draw
    if draws < 1:
        raise UsageError(f"interacting words need {per_draw} model calls per draw here, got {game.left}")
    draws = min(draws, 512)
    rng = np.random.default_rng(seed)
    parts = []
    for flipped, other in ((range(p), slice(p, None)), (range(p, p + t), slice(0, p))):
        first = rng.random((draws, game.n)) < KEEP
        second = first.copy()
        second[:, other] = rng.random(second[:, other].shape) < KEEP
        pair = np.stack([first, second], axis=1)  # (draws, 2, n): the flipped side is shared
        flips = np.repeat(pair[:, :, None], len(flipped) + 1, axis=2)
        for step, player in enumerate(flipped, 1):
            flips[:, :, step, player] ^= True
        values = game.values(flips.reshape(-1, game.n)).reshape(draws, 2, len(flipped) + 1)
        changes = values[:, :, 1:] - values[:, :, :1]
        parts.append(KEEP * (1 - KEEP) / 2 * ((changes[:, 0] - changes[:, 1]) ** 2).mean(axis=0))
    return np.concatenate(parts), draws


INTERACTING_WORDS = Explainer(
    "interacting-words",
    "how much of the effect of each word and cell depends on the other modality, and how many words do",
    interacting_words,
    samples=True,
    least=_one_draw,
)
