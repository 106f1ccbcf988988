"""Rank measures of a map.

RRA (relevance rank accuracy): the share of the |M| largest values that lies in the mask; ties at the edge count by their
expected share. AUC: the probability that a place inside the mask has a larger value than one outside, ties half.
"""

from __future__ import annotations

import numpy as np

from theodolite.instruments.grid.formulas.levels import Levels


def rra(levels: Levels) -> float:
    """The expected share of the |M| largest values that lies in the mask, ties broken at random.

    >>> rra(Levels.of([0, 3, 1, 0], [False, True, False, False]))
    1.0
    """
    k = int(levels.inside.sum())
    above = np.cumsum(levels.counts[::-1])[::-1] - levels.counts  # places with a larger value
    taken = np.clip((k - above) / levels.counts, 0.0, 1.0)
    return float((taken * levels.inside).sum() / k)


def map_auc(levels: Levels) -> float:
    """P(|a| inside > |a| outside) + ½ P(equal).

    >>> map_auc(Levels.of([0, 3, 1, 0], [False, True, False, False]))
    1.0
    """
    below = np.cumsum(levels.outside) - levels.outside
    won = (levels.inside * (below + levels.outside / 2)).sum()
    return float(won / (levels.inside.sum() * levels.outside.sum()))
