"""One map against one mask: RMA, RRA, AUC and IoU together."""

from __future__ import annotations

from dataclasses import dataclass

from numpy.typing import ArrayLike

from theodolite.instruments.grid.formulas.iou import iou, iou_paper
from theodolite.instruments.grid.formulas.levels import Levels
from theodolite.instruments.grid.formulas.rma import normalised_rma, rma
from theodolite.instruments.grid.formulas.rra import map_auc, rra


@dataclass(frozen=True, slots=True)
class MapScore:
    """All scores of a map."""

    rma: float
    normalised_rma: float
    area: float
    rra: float
    auc: float
    iou: float
    iou_paper: float


def score_map(values: ArrayLike, mask: ArrayLike) -> MapScore | None:
    """Scores a map; None if it is zero everywhere.

    >>> found = score_map([0, 3, 1, 0], [False, True, False, False])
    >>> found.rma, found.rra, found.auc, found.iou
    (0.75, 1.0, 1.0, 1.0)

    Raises:
        UsageError: Map and mask do not fit; see `Levels.of`.
    """
    levels = Levels.of(values, mask)
    if not levels.total > 0:
        return None
    return MapScore(
        rma=rma(levels),
        normalised_rma=normalised_rma(levels),
        area=levels.area,
        rra=rra(levels),
        auc=map_auc(levels),
        iou=iou(levels),
        iou_paper=iou_paper(levels),
    )
