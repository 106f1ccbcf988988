"""Removal of objects and words, and the baselines and oracles beside it."""

from __future__ import annotations

import numpy as np

from theodolite.core.errors import UsageError
from theodolite.instruments.grid.data.batch import MaskName, cell_mask, word_roles
from theodolite.instruments.grid.data.question_types import PAD
from theodolite.instruments.grid.data.world import COLOUR_OF, SHAPE_OF, Flags
from theodolite.instruments.grid.explainers.contract import Case, Explainer, Explanation

# Removal of objects and words, one at a time and among look-alikes.
#
# **Removal** (baseline): what changes when one object is removed or one word hidden.
#
# **Removal among look-alikes** (ours). Removing one object has no effect where another can replace it, and Shapley values
# also try scenes without the anchor, where every look-alike counts. So all look-alikes are removed at once, and one is put
# back:
#
#     r(o) = max over G ∋ o of |v(N∖G ∪ o) − v(N∖G)|, and |v(N) − v(N∖o)|,
#
# where G is all objects of o's class, of its colour, or of its shape. For a model that uses the relation, a distractor has no
# effect in any of these scenes that still shows the anchor; for a bag of words it has the effect of a target.


def removal(case: Case) -> Explanation:
    """Return v(N) − v(N∖i): each object removed by itself, each word hidden by itself."""
    n = case.game.n
    coalitions = np.vstack([np.ones((1, n), bool), ~np.eye(n, dtype=bool)])
    values = case.game.values(coalitions)
    return case.explanation(values[0] - values[1:], calls=case.game.calls, method="one at a time")


def alike_removal(case: Case) -> Explanation:
    """Remove objects in groups of look-alikes, and hide words one at a time."""
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
    """Return every group of at least two objects that look alike in class, colour or shape, as players."""
    game = case.game
    ids = case.batch.cells[case.row][game.cells]
    groups: dict[bytes, Flags] = {}
    for kinds in (ids, COLOUR_OF[ids], SHAPE_OF[ids]):
        for kind in np.unique(kinds[ids > 0]):
            group = np.zeros(game.n, bool)
            group[: game.n_cells] = (kinds == kind) & (ids > 0)
            if group.sum() > 1:
                groups.setdefault(group.tobytes(), group)
    return list(groups.values())


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


# Baselines: maps that do not use the model, and oracles that are given the truth.


def uniform(case: Case) -> Explanation:
    """Return the same relevance everywhere, so that its mass on a mask is the mask's area."""
    words = (case.batch.words[case.row] != PAD).astype(np.float64)
    return Explanation(np.ones(case.game.shape[0]), words, method="no model call")


def random(case: Case) -> Explanation:
    """Draw relevance uniformly from 0 … 1."""
    rng = np.random.default_rng([case.seed, case.row])
    words = (case.batch.words[case.row] != PAD) * rng.random(case.game.shape[1])
    return Explanation(rng.random(case.game.shape[0]), words, method="no model call")


def _marked(case: Case, masks: tuple[MaskName, ...], roles: list[str]) -> Explanation:
    one = case.batch.take(slice(case.row, case.row + 1))
    cells = np.any([cell_mask(one, name)[0].reshape(-1) for name in masks], axis=0)
    words = np.isin(word_roles(one)[0], roles)
    return Explanation(cells.astype(np.float64), words.astype(np.float64), method="the truth, no model call")


def oracle(case: Case) -> Explanation:
    """Mark anchors and targets, and the words that name them and their relations: the truth for a right model."""
    return _marked(case, ("anchors", "targets"), ["target", "anchor", "direction"])


def bow_oracle(case: Case) -> Explanation:
    """Mark everything that looks like a target, and the target's words: the truth for a bag of words."""
    return _marked(case, ("targets", "adversarial"), ["target"])


def all_objects(case: Case) -> Explanation:
    """Mark every object alike, as a detector would."""
    one = case.batch
    words = (one.words[case.row] != PAD).astype(np.float64)
    return Explanation((one.cells[case.row] > 0).astype(np.float64), words, method="no model call")


UNIFORM = Explainer("uniform", "the same everywhere", uniform, reading="baseline")
RANDOM = Explainer("random", "drawn at random", random, reading="baseline")
ALL_OBJECTS = Explainer("all-objects", "every object alike", all_objects, reading="baseline")
ORACLE = Explainer(
    "oracle",
    "anchors and targets: the truth for a model that uses the relation",
    oracle,
    reading="baseline",
    needs_truth=True,
)
BOW_ORACLE = Explainer(
    "bow-oracle",
    "everything that looks like a target: the truth for a bag of words",
    bow_oracle,
    reading="baseline",
    needs_truth=True,
)
