"""Histograms of the item scores of a metric, one outline per model on one axis.

All models have the same bins of equal width, 2√n of them but at least 8 and at most 24, where n is the smallest number of
items of a model. The height is the share of the items of the model in a bin, divided by the largest share of any model.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

FEWEST_BINS, MOST_BINS = 8, 24
LEAST_VALUES = 8
"""Metrics with fewer distinct values have no histogram, since the mean says enough."""
HIGH = 30.0
"""Height of the drawing if its width is 100."""


@dataclass(frozen=True, slots=True)
class Outline:
    """The histogram of one model."""

    model: str
    path: str
    """An SVG path in a box of 100 by `HIGH`, with the base at the bottom."""
    n: int


@dataclass(frozen=True, slots=True)
class Spread:
    """The histograms of one metric."""

    key: str
    name: str
    split: str
    label_low: str
    label_high: str
    outlines: tuple[Outline, ...]

    @property
    def words(self) -> str:
        """A text alternative."""
        counts = ", ".join(f"{outline.n} of {outline.model}" for outline in self.outlines)
        return f"{self.name}: distribution of items ({counts})"


def spread(
    values: Mapping[str, Sequence[float]],
    *,
    key: str,
    name: str,
    split: str,
    label: Callable[[float], str],
) -> Spread | None:
    """Compute the outlines of several models. None if there are too few distinct values.

    Args:
        values: Item scores, by model.
        key: Key of the metric.
        name: Name of the metric.
        split: The split of the items.
        label: Function that formats the ends of the axis.
    """
    held = {model: np.asarray(some, float) for model, some in values.items() if len(some)}
    every = np.concatenate([*held.values(), np.zeros(0)])
    if len(np.unique(every)) < LEAST_VALUES:
        return None
    low, high = float(every.min()), float(every.max())
    fewest = min(map(len, held.values()))
    n_bins = min(MOST_BINS, max(FEWEST_BINS, round(2 * fewest**0.5)))
    edges = np.linspace(low, high, n_bins + 1)
    shares = {model: np.histogram(some, edges)[0] / len(some) for model, some in held.items()}
    highest = max(float(each.max()) for each in shares.values())
    outlines = tuple(
        Outline(model, _outline(each / highest), len(held[model])) for model, each in shares.items()
    )
    return Spread(key, name, split, label(low), label(high), outlines)


def _outline(heights: NDArray[np.float64]) -> str:
    """Draw the steps from left to right, and back along the base.

    >>> _outline(np.array([0.5, 1.0]))
    'M0 30V15H50V0H100V30Z'
    """
    width = 100 / len(heights)
    steps = "".join(
        f"V{_short(HIGH * (1 - height))}H{_short((i + 1) * width)}"
        for i, height in enumerate(heights.tolist())
    )
    return f"M0 {_short(HIGH)}{steps}V{_short(HIGH)}Z"


def _short(number: float) -> str:
    return f"{number:.2f}".rstrip("0").rstrip(".")
