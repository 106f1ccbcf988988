"""RMA: relevance mass accuracy, the share of a map's mass inside a mask (GridVQA-X, equation 3).

    RMA = Σ_{M} |a| / Σ |a|

A uniform map scores the mask's area, and the published values largely follow it. Sound, beside it:

    normalised RMA = (RMA − area) / (1 − area),  area = |M| / N,

0 for a uniform map, 1 for a map inside the mask.
"""

from __future__ import annotations

from theodolite.instruments.grid.formulas.levels import Levels


def rma(levels: Levels) -> float:
    """RMA of a map that is not zero everywhere.

    >>> rma(Levels.of([0, 3, 1, 0], [False, True, False, False]))
    0.75
    """
    return float((levels.values * levels.inside).sum() / levels.total)


def area(levels: Levels) -> float:
    """The mask's share of the picture."""
    return levels.area


def normalised_rma(levels: Levels) -> float:
    """RMA beyond the mask's area.

    >>> normalised_rma(Levels.of([1, 1, 1, 1], [False, True, False, False]))
    0.0
    """
    return (rma(levels) - levels.area) / (1 - levels.area)
