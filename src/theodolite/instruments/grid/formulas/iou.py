"""IoU: overlap of a mask with the foreground of a map, |F ∩ M| / |F ∪ M| (GridVQA-X, section 5.1).

Sound: F is what lies above Otsu's threshold of all values. Paper: F is what reaches Otsu's threshold of the positive values
alone, as in the public code. Otsu's threshold is found exactly, over the sorted values. At the level of pixels IoU measures
granularity: a heavy-tailed map with its mass inside the mask may score 0, so compare at the level of cells.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from theodolite.core.errors import UsageError
from theodolite.instruments.grid.data.world import Flags
from theodolite.instruments.grid.explainers.game import Floats
from theodolite.instruments.grid.formulas.levels import Levels


def iou(levels: Levels) -> float:
    """Overlap with the places above Otsu's threshold of all values.

    >>> iou(Levels.of([0, 3, 1, 0], [False, True, False, False]))
    1.0
    """
    return _overlap(levels, levels.values > _otsu(levels.values, levels.counts))


def iou_paper(levels: Levels) -> float:
    """Overlap with the places that reach Otsu's threshold of the positive values."""
    above = levels.values > 0
    return _overlap(levels, levels.values >= _otsu(levels.values[above], levels.counts[above]))


def otsu(values: ArrayLike) -> float:
    """The threshold that maximises w₀·w₁·(μ₀ − μ₁)² over every cut between distinct values, taken midway.

    If all values are equal, that value.

    >>> otsu([0, 0, 1, 9, 10])
    5.0
    """
    distinct, counts = np.unique(np.asarray(values, np.float64), return_counts=True)
    return _otsu(distinct, counts)


def _otsu(values: Floats, counts: NDArray[np.int64]) -> float:
    """Of distinct ascending values with their counts."""
    if not values.size:
        raise UsageError("a threshold needs at least one value")
    if values.size == 1:
        return float(values[0])
    n = np.cumsum(counts)[:-1]
    below = np.cumsum(counts * values)
    rest, total = counts.sum() - n, below[-1]
    between = n * rest * (below[:-1] / n - (total - below[:-1]) / rest) ** 2
    cut = int(between.argmax())
    return float((values[cut] + values[cut + 1]) / 2)


def _overlap(levels: Levels, foreground: Flags) -> float:
    both = int(levels.inside[foreground].sum())
    either = int(levels.inside.sum()) + int(levels.outside[foreground].sum())
    return both / either if either else 0.0
