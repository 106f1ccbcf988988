r"""What a map is worth, held against masks: mass, rank, overlap.

For a map a and a mask M, at cell or at pixel level, with |a| throughout:

- RMA = Σ_M |a| / Σ|a|, its area baseline |M|/N, and normalised (RMA − area)/(1 − area);
- RRA: of the |M| largest values, the share that lies in M; ties at the edge count by their expected share;
- AUC: the probability that a place in M ranks above one outside, ties half;
- IoU of M with the places above Otsu's threshold, which is found exactly over the sorted values.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.stats import rankdata

from theodolite.errors import UsageError
from theodolite.grid._explain.game import Floats
from theodolite.grid._world import Flags


@dataclass(frozen=True, slots=True)
class MapScore:
    """One map against one mask."""

    rma: float
    area: float
    """The mask's share of the picture: what a map without an opinion scores."""
    rra: float
    auc: float
    iou: float
    """Foreground is what lies above the threshold over all values."""
    iou_paper: float
    """Foreground is what reaches the threshold over the positive values alone, as the public code has it."""

    @property
    def normalised(self) -> float:
        """(RMA − area)/(1 − area): 0 for a uniform map, 1 for a map inside the mask."""
        return (self.rma - self.area) / (1 - self.area)


def otsu(values: ArrayLike) -> float:
    """The threshold that maximises w₀·w₁·(μ₀ − μ₁)² over every cut between distinct values, taken midway; exact.

    The one value that there is if all are alike.

    >>> otsu([0, 0, 1, 9, 10])
    5.0
    """
    ordered = np.sort(np.asarray(values, np.float64).reshape(-1))
    if not ordered.size:
        raise UsageError("a threshold needs at least one value")
    cuts = np.flatnonzero(np.diff(ordered) > 0) + 1
    if not cuts.size:
        return float(ordered[0])
    total = ordered.sum()
    below = np.cumsum(ordered)[cuts - 1]
    n, rest = cuts, ordered.size - cuts
    between = n * rest * (below / n - (total - below) / rest) ** 2
    cut = int(cuts[int(between.argmax())])
    return float((ordered[cut - 1] + ordered[cut]) / 2)


def overlap(foreground: Flags, mask: Flags) -> float:
    """|A∩B| / |A∪B|; 0 where both are empty."""
    union = (foreground | mask).sum()
    return float((foreground & mask).sum() / union) if union else 0.0


def rank_share(size: Floats, mask: Flags) -> float:
    """RRA: the expected share of the mask among its |M| largest values, ties broken at random."""
    k = int(mask.sum())
    edge = np.partition(size, size.size - k)[size.size - k]
    above, level = size > edge, size == edge
    free = k - int(above.sum())
    return float(((above & mask).sum() + free * (level & mask).sum() / level.sum()) / k)


def score_map(values: ArrayLike, mask: ArrayLike) -> MapScore | None:
    """Scores one map; None where the map holds no relevance at all.

    >>> found = score_map([0, 3, 1, 0], [False, True, False, False])
    >>> found.rma, found.rra, found.auc, found.iou
    (0.75, 1.0, 1.0, 1.0)

    Raises:
        UsageError: map and mask differ in size, or the mask is empty or everything.
    """
    size = np.abs(np.asarray(values, np.float64)).reshape(-1)
    inside = np.asarray(mask, bool).reshape(-1)
    if size.size != inside.size:
        raise UsageError(f"a map of {size.size} places cannot be held against a mask of {inside.size}")
    k = int(inside.sum())
    if not 0 < k < inside.size:
        raise UsageError(
            f"a mask must hold something and leave something out; this one holds {k} of {inside.size}"
        )
    total = size.sum()
    if not total > 0:
        return None
    ranks = rankdata(size)
    auc = (ranks[inside].sum() - k * (k + 1) / 2) / (k * (size.size - k))
    positive = size[size > 0]
    return MapScore(
        rma=float(size[inside].sum() / total),
        area=k / size.size,
        rra=rank_share(size, inside),
        auc=float(auc),
        iou=overlap(size > otsu(size), inside),
        iou_paper=overlap(size >= otsu(positive), inside),
    )
