"""An example explainer: how much each object matters because of the direction words.

    r_i = [v(N) − v(N∖i)] − [v(N∖D) − v(N∖D∖i)],   D the direction words

A model that uses relations needs object and direction together. A bag-of-words model does not, and its map is zero.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from theodolite.instruments.grid.data.batch import word_roles
from theodolite.instruments.grid.explainers.contract import Case, Explainer, Explanation


def direction_interaction(case: Case) -> Explanation:
    """Remove each object twice: with the direction words shown and with them hidden."""
    game = case.game
    roles = word_roles(case.batch.take(slice(case.row, case.row + 1)))[0]
    is_direction = roles[game.words] == "direction"
    whole = np.ones((1, game.n), bool)
    one_gone = np.vstack([whole, ~np.eye(game.n, dtype=bool)[: game.n_cells]])
    undirected = one_gone.copy()
    undirected[:, game.n_cells :] &= ~is_direction
    values = game.values(
        np.vstack([one_gone, undirected])
    )  # counts calls, respects the budget, caches values
    shown, hidden = np.split(values, 2)
    players = np.zeros(game.n)
    players[: game.n_cells] = (shown[0] - shown[1:]) - (hidden[0] - hidden[1:])
    players[game.n_cells :] = is_direction * (shown[0] - hidden[0])
    return case.explanation(players, calls=game.calls, method="exact: 2 (objects + 1) coalitions")


EXPLAINER = Explainer(
    "direction-interaction",
    "how much an object matters because of the direction words",
    direction_interaction,
    least=lambda case: 2 * (case.game.n_cells + 1),
)


def register(add: Any) -> None:
    """Register the explainer for `theodolite grid run --explainers direction-interaction`."""
    add("explainer", EXPLAINER.name, f"{__name__}:EXPLAINER", summary=EXPLAINER.summary)
