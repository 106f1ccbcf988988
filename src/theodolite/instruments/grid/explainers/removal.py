r"""Removal of objects and words, one at a time and among look-alikes.

**Removal** (baseline): what changes when one object is removed or one word hidden.

**Removal among look-alikes** (ours). Removing one object has no effect where another can replace it, and Shapley values
also try scenes without the anchor, where every look-alike counts. So all look-alikes are removed at once, and one is put
back:

    r(o) = max over G ∋ o of |v(N∖G ∪ o) − v(N∖G)|, and |v(N) − v(N∖o)|,

where G is all objects of o's class, of its colour, or of its shape. For a model that uses the relation, a distractor has no
effect in any of these scenes that still shows the anchor; for a bag of words it has the effect of a target.
"""

from __future__ import annotations

import numpy as np

from theodolite.core.errors import UsageError
from theodolite.instruments.grid.data.world import COLOUR_OF, SHAPE_OF, Flags
from theodolite.instruments.grid.explainers.contract import Case, Explainer, Explanation


def removal(case: Case) -> Explanation:
    """v(N) − v(N∖i): each object removed by itself, each word hidden by itself."""
    n = case.game.n
    coalitions = np.vstack([np.ones((1, n), bool), ~np.eye(n, dtype=bool)])
    values = case.game.values(coalitions)
    return case.explanation(values[0] - values[1:], calls=case.game.calls, method="one at a time")


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


def _one_at_a_time(case: Case) -> int:
    return case.game.n + 1


REMOVAL = Explainer(
    "removal",
    "what changes when one object is removed or one word hidden",
    removal,
    reading="baseline",
    caveat="no effect where one object can replace another, as in existence questions answered yes",
    least=_one_at_a_time,
    family="removal",
)
ALIKE_REMOVAL = Explainer(
    "alike-removal",
    "the effect of one object among all, and alone among its look-alikes; words hidden one at a time",
    alike_removal,
    family="removal",
    least=_removals,
)
