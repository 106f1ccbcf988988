"""How much relevance lies on the picture and on each object, and how much an edit moves the answer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from theodolite.core.errors import UsageError
from theodolite.geometry import Box, TokenGrid
from theodolite.instruments.compass.formulas.dae import DegenerateError, Exclusion
from theodolite.instruments.compass.formulas.projection import (
    Negative,
    OnGrid,
    check_values,
    has_area,
    without_negative,
)

# Evidence share: how much relevance is on the picture, and on each object, before anything is normalised.
#
#     image share = Σ relevance on image tokens / Σ relevance on image and text tokens; likewise for the boxes of A and B
#
# A compass divides by its own sum, so it looks the same whether a third of all relevance is on the picture or a hundredth. On
# models of known reasoning this share separated those that use the picture from those that do not, and the compass alone did
# not. A token's relevance is divided by the area that each box covers of it; where the boxes overlap, each gets half.
# Shares depend on the method's unit: compare models under one method.


@dataclass(frozen=True, slots=True, eq=False)
class EvidenceMass:
    """Where the relevance of one picture's maps lies, in the method's own unit, shape (...)."""

    image: NDArray[np.float64]
    """On all image tokens."""
    text: NDArray[np.float64] | None
    """On the text's tokens; None if the method does not give it."""
    reference: NDArray[np.float64]
    """On A's box."""
    target: NDArray[np.float64]
    """On B's box."""
    rest: NDArray[np.float64]
    """On the picture elsewhere, on padding, and on image tokens without a place. reference + target + rest = image."""

    @property
    def total(self) -> NDArray[np.float64]:
        """On image and text; on the image alone if the text is unknown."""
        return self.image if self.text is None else self.image + self.text

    @property
    def image_share(self) -> NDArray[np.float64]:
        """Share of image and text that is on the image."""
        if self.text is None:
            raise UsageError(
                "the share on the image needs the relevance on the text, which this method does not give"
            )
        return self.image / self.total

    @property
    def reference_share(self) -> NDArray[np.float64]:
        """Share of all relevance that is on A."""
        return self.reference / self.total

    @property
    def target_share(self) -> NDArray[np.float64]:
        """Share of all relevance that is on B."""
        return self.target / self.total

    @property
    def rest_share(self) -> NDArray[np.float64]:
        """Share of all relevance that is on the picture outside A and B."""
        return self.rest / self.total


def evidence(relevance: OnGrid, *, reference: Box, target: Box, negative: Negative = "error") -> EvidenceMass:
    """Divide a picture's relevance between A, B and the rest, and compare it with the text's.

    The text's relevance is the map's ``text_mass``, if it has one. It is a sum, so the policy for negative values is applied
    to it as a whole.

    Args:
        relevance: Values (..., tokens) on a grid.
        reference: A's box.
        target: B's box.
        negative: What to do with values below zero.

    Raises:
        DegenerateError: If relevance is not finite, or there is none, or no token has a position.

    >>> from theodolite.instruments.compass.formulas.projection import TokenMap
    >>> grid = TokenGrid.regular((40, 40), (4, 4))
    >>> mass = evidence(TokenMap(np.ones(16), grid, text_mass=48.0), reference=Box(0, 0, 10, 10), target=Box(20, 20, 40, 40))
    >>> float(mass.image_share), float(mass.target_share)
    (0.25, 0.0625)
    """
    grid, raw = relevance.grid, check_values(relevance)
    if not has_area(grid).any():
        raise DegenerateError(Exclusion.EMPTY_GRID)
    text = _text(relevance, negative)
    if not np.isfinite(raw).all() or (text is not None and not np.isfinite(text).all()):
        raise DegenerateError(Exclusion.NOT_FINITE)
    values = without_negative(raw, negative)
    image = values.sum(axis=-1)
    if (image + (0.0 if text is None else text) <= 0).any():
        raise DegenerateError(Exclusion.ZERO_MASS)
    on_reference, on_target = _shares(grid, reference, target)
    amounts = values @ on_reference, values @ on_target
    return EvidenceMass(
        image=image,
        text=text,
        reference=amounts[0],
        target=amounts[1],
        rest=np.maximum(image - amounts[0] - amounts[1], 0.0),
    )


def _text(relevance: OnGrid, negative: Negative) -> NDArray[np.float64] | None:
    mass = cast("Any", getattr(relevance, "text_mass", None))
    if mass is None:
        return None
    return without_negative(np.asarray(mass, np.float64), negative)


def _shares(grid: TokenGrid, reference: Box, target: Box) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the share of each token that A and B get, shape (tokens,) each; half each where they overlap."""
    placed = has_area(grid)
    rects = grid.rects_px[placed]
    both = np.zeros(len(rects))
    x0, y0 = max(reference.x0, target.x0), max(reference.y0, target.y0)
    x1, y1 = min(reference.x1, target.x1), min(reference.y1, target.y1)
    if x0 < x1 and y0 < y1:
        both = Box(x0, y0, x1, y1).covers(rects)
    shares = np.zeros((2, grid.n_tokens))
    shares[0, placed] = reference.covers(rects) - both / 2
    shares[1, placed] = target.covers(rects) - both / 2
    return shares[0], shares[1]


# How much an edit of the picture moves the answer, from the options' log-probabilities (ours).
#
# shift       ½ Σ |p − p_edited|: total variation distance between two distributions over the options
# margin      m = log p(said) − log p(next best)
# effect      (m − m_edited) / max(|m|, 0.001), both margins of the option said about the original picture
# occlusion   max over the hidden parts of |effect|


_LEAST_MARGIN = 1e-3
"""In nats: below it the options are practically tied, and a ratio to the margin has no meaning."""


def answer_shift(before: NDArray[np.float64], after: NDArray[np.float64]) -> float:
    """Return the total variation distance between two distributions, given as log-probabilities.

    >>> round(answer_shift(np.log([0.5, 0.5]), np.log([0.9, 0.1])), 6)
    0.4
    """
    return 0.5 * float(np.abs(_softmax(before) - _softmax(after)).sum())


def hiding_effect(before: NDArray[np.float64], after: NDArray[np.float64]) -> float:
    """Return how much of its margin the answer loses.

    >>> hiding_effect(np.array([-1.0, -2.0]), np.array([-1.5, -1.5]))
    1.0
    """
    best = int(before.argmax())
    margin = _margin(before, best)
    return (margin - _margin(after, best)) / max(abs(margin), _LEAST_MARGIN)


def occlusion(before: NDArray[np.float64], *parts: NDArray[np.float64]) -> float:
    """Return the largest effect of hiding one part, in absolute value."""
    return max(abs(hiding_effect(before, after)) for after in parts)


def _margin(log_probabilities: NDArray[np.float64], option: int) -> float:
    others = np.delete(log_probabilities, option)
    return float(log_probabilities[option] - others.max())


def _softmax(values: NDArray[np.float64]) -> NDArray[np.float64]:
    weights = np.exp(values - values.max())
    return np.asarray(weights / weights.sum())
