"""An explainer of one's own: how much each object matters because of the words for directions.

    r_i = [v(N) − v(N∖i)] − [v(N∖D) − v(N∖D∖i)],   D the direction words

A model that reads relations needs object and direction together; one that counts words does not, and gets a map of zeros.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from theodolite.instruments.grid.data.masks import word_roles
from theodolite.instruments.grid.explainers.contract import Case, Explainer, Explanation


def direction_interaction(case: Case) -> Explanation:
    """Two removals of each object: with the direction words shown, and with them hidden."""
    game = case.game
    roles = word_roles(case.batch.take(slice(case.row, case.row + 1)))[0]
    is_direction = roles[game.words] == "direction"
    whole = np.ones((1, game.n), bool)
    one_gone = np.vstack([whole, ~np.eye(game.n, dtype=bool)[: game.n_cells]])
    undirected = one_gone.copy()
    undirected[:, game.n_cells :] &= ~is_direction
    values = game.values(np.vstack([one_gone, undirected]))  # counted, kept to the budget, never asked twice
    shown, hidden = np.split(values, 2)
    players = np.zeros(game.n)
    players[: game.n_cells] = (shown[0] - shown[1:]) - (hidden[0] - hidden[1:])
    players[game.n_cells :] = is_direction * (shown[0] - hidden[0])
    return case.explanation(players, calls=game.calls, method="exact: 2 (objects + 1) coalitions")


EXPLAINER = Explainer(
    "direction-interaction",
    "what an object matters because of the words for directions",
    direction_interaction,
    least=lambda case: 2 * (case.game.n_cells + 1),
)


def register(add: Any) -> None:
    """`theodolite grid explain --explainers direction-interaction` then works; `check_explainer` checks it."""
    add("explainer", EXPLAINER.name, f"{__name__}:EXPLAINER", summary=EXPLAINER.summary)
