"""How the items of a metric are spread: one outline for each model, on one axis.

An outline is a histogram of equal bins, 2√n of them but at least 8 and at most 24, with n the items of the model that has
fewest; its height is the share of the model's items in a bin, over the largest share of any model in the figure. The same bins
serve all models, so that outlines can be held against each other.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

FEWEST_BINS, MOST_BINS = 8, 24
LEAST_VALUES = 8
"""A metric with fewer different values is told by its mean; a histogram of noughts and ones says no more."""
HIGH = 30.0
"""The height of the drawing, in units of which its width has 100."""


@dataclass(frozen=True, slots=True)
class Outline:
    """One model's items."""

    model: str
    path: str
    """An SVG path in a box of 100 by `HIGH`, the ground at the bottom."""
    n: int


@dataclass(frozen=True, slots=True)
class Spread:
    """One metric."""

    key: str
    name: str
    split: str
    label_low: str
    label_high: str
    outlines: tuple[Outline, ...]

    @property
    def words(self) -> str:
        """What the figure shows."""
        counts = ", ".join(f"{outline.n} of {outline.model}" for outline in self.outlines)
        return f"{self.name}: how the items are spread ({counts})"


def spread(
    values: Mapping[str, Sequence[float]],
    *,
    key: str,
    name: str,
    split: str,
    label: Callable[[float], str],
) -> Spread | None:
    """The outlines of several models' values; None if there are too few different ones.

    Args:
        values: by model.
        key: of the metric.
        name: in words.
        split: that the items are of.
        label: how the ends of the axis are written.
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
    """Steps from the left to the right, and back along the ground.

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
