r"""Two explainers of our own, built to pass the test that the published ones fail.

**Removal among look-alikes** (local). Taking one object away says nothing where another can stand in for it, and Shapley values
also try scenes without the anchor, where every look-alike counts. So all that looks alike goes at once, and one comes back:

    r(o) = max over G ∋ o of |v(N∖G ∪ o) − v(N∖G)|, and |v(N) − v(N∖o)|,

G: all objects of o's class, of its colour, of its shape. A distractor does nothing to a model that looks at the relation, in
any of these scenes that still shows the anchor; to a bag of words it does as much as a target.

**Interacting words** (scalar). With every player shown with probability p, the variance of v splits into parts σ²(S). Word w
acts together with the picture as much as

    C_w = Σ_{S∋w, S∩cells≠∅} σ²(S) = p(1−p) · E_t Var_x [v(x, t∪w) − v(x, t∖w)],

and the effective number of words that do is (Σ C_w)² / Σ C_w². Each relation brings words that a model which reads it must
join with the picture; a bag of words joins the target's words alone, at any depth.
"""

from __future__ import annotations

import numpy as np

from theodolite.core.errors import UsageError
from theodolite.instruments.grid.data.world import COLOUR_OF, SHAPE_OF, Flags
from theodolite.instruments.grid.explainers.contract import Case, Explainer, Explanation
from theodolite.instruments.grid.explainers.game import Floats, Game
from theodolite.instruments.grid.explainers.indices import spectrum

KEEP = 0.75
"""The probability that a player is shown."""


def alike_removal(case: Case) -> Explanation:
    """Removal among look-alikes for objects; words hidden one at a time."""
    game = case.game
    p, n = game.n_cells, game.n
    groups = _groups(case)
    if game.left < (needed := _removals(case)):
        raise UsageError(f"removal among look-alikes needs {needed} model calls here, got {game.left}")
    whole = np.ones(n, bool)
    singles = game.values(np.vstack([whole, ~np.eye(n, dtype=bool)]))
    relevance = np.abs(singles[0] - singles[1:])
    for group in groups:
        members = np.flatnonzero(group)
        coalitions = np.tile(~group, (members.size + 1, 1))
        coalitions[np.arange(1, members.size + 1), members] = True
        values = game.values(coalitions)
        relevance[members] = np.maximum(relevance[members], np.abs(values[1:] - values[0]))
    return case.explanation(
        relevance,
        calls=game.calls,
        method=f"{p} objects one at a time and within {len(groups)} groups of look-alikes",
    )


def _removals(case: Case) -> int:
    groups = _groups(case)
    return 1 + case.game.n + len(groups) + sum(int(group.sum()) for group in groups)


def _groups(case: Case) -> list[Flags]:
    """Every group of at least two objects that look alike in class, colour or shape, as players."""
    game = case.game
    ids = case.batch.cells[case.row][game.cells]
    found: dict[bytes, Flags] = {}
    for kinds in (ids, COLOUR_OF[ids], SHAPE_OF[ids]):
        for kind in np.unique(kinds[ids > 0]):
            group = np.zeros(game.n, bool)
            group[: game.n_cells] = (kinds == kind) & (ids > 0)
            if group.sum() > 1:
                found.setdefault(group.tobytes(), group)
    return list(found.values())


def effective_number(masses: Floats) -> float:
    """How many of the masses count: (Σm)² / Σm²; 0 if none does.

    >>> effective_number(np.array([2.0, 2.0, 0.0])), effective_number(np.array([1.0, 0.0]))
    (2.0, 1.0)
    """
    peak = masses.max(initial=0.0)
    if peak <= 0:
        return 0.0
    shares = masses / peak
    return float(shares.sum() ** 2 / (shares**2).sum())


def interacting_words(case: Case) -> Explanation:
    """C of every word and of every cell, exactly or from pairs of random coalitions; and how many words count."""
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
    """Two pictures with a question, each word flipped in turn; two questions with a picture, each cell flipped in turn."""
    return 2 * (1 + game.n_words) + 2 * (1 + game.n_cells)


def _one_draw(case: Case) -> int:
    return int(min(2**case.game.n, _per_draw(case.game)))


def _sampled(game: Game, seed: int) -> tuple[Floats, int]:
    """C of each player from draws (t, x, x′): ½ p(1−p) mean of (Δ_w(x, t) − Δ_w(x′, t))²; cells likewise from (x, t, t′)."""
    p, t = game.n_cells, game.n_words
    per_draw = _per_draw(game)
    draws = game.left // per_draw
    if draws < 1:
        raise UsageError(f"interacting words need {per_draw} model calls a draw here, got {game.left}")
    draws = min(draws, 512)
    rng = np.random.default_rng(seed)
    parts = []
    for flipped, other in ((range(p), slice(p, None)), (range(p, p + t), slice(0, p))):
        first = rng.random((draws, game.n)) < KEEP
        second = first.copy()
        second[:, other] = rng.random(second[:, other].shape) < KEEP
        pair = np.stack([first, second], axis=1)  # (draws, 2, n): the flipped side is shared
        flips = np.repeat(pair[:, :, None], len(flipped) + 1, axis=2)
        for place, player in enumerate(flipped, 1):
            flips[:, :, place, player] ^= True
        values = game.values(flips.reshape(-1, game.n)).reshape(draws, 2, len(flipped) + 1)
        changes = values[:, :, 1:] - values[:, :, :1]
        parts.append(KEEP * (1 - KEEP) / 2 * ((changes[:, 0] - changes[:, 1]) ** 2).mean(axis=0))
    return np.concatenate(parts), draws


ALIKE_REMOVAL = Explainer(
    "alike-removal",
    "what one object does among the rest, and alone among those that look like it; words hidden one at a time",
    alike_removal,
    family="removal",
    least=_removals,
)
INTERACTING_WORDS = Explainer(
    "interacting-words",
    "how much of each word's and each cell's effect needs the other side, and how many words that is",
    interacting_words,
    samples=True,
    least=_one_draw,
)
