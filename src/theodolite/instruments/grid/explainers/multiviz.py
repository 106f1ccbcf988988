r"""MultiViz's second-order gradients: how the words' relevance changes with each pixel, or, of a checkpoint, each image token.

The formulas stand in `slopes`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol, runtime_checkable

from theodolite.core.errors import UnsupportedError
from theodolite.instruments.grid.explainers.contract import Case, Explainer, Explanation
from theodolite.instruments.grid.explainers.slopes import Slope, SlopeForm, SlopeRequest

_PAPER = "Liang et al. 2023, MultiViz"


@runtime_checkable
class Differentiable(Protocol):
    """A reader of something that can be differentiated twice."""

    can_differentiate: bool

    def slopes(self, requests: Sequence[SlopeRequest]) -> list[Slope]:
        """One slope for each request."""
        ...


def _request(case: Case, form: SlopeForm) -> SlopeRequest:
    return SlopeRequest(case.batch, case.row, case.answer, case.convention.explained, form)


def second_order(case: Case, form: SlopeForm) -> Explanation:
    """Gradients of the words' relevance by pixel or image token; the case's reader must be a white box."""
    if not isinstance(case.reader, Differentiable) or not case.reader.can_differentiate:
        name = case.reader.name if case.reader is not None else "this game"
        raise UnsupportedError(
            f"second-order gradients need a paired network such as grid:pure, or a checkpoint such as hf:PATH; {name} is neither"
        )
    request = _request(case, form)
    (found,) = case.reader.slopes([request])
    return Explanation(
        found.cells,
        found.relevance,
        found.heat,
        is_exact=True,
        calls=request.passes,
        method=f"one forward, {request.passes - 1} backward passes; a call is a pass"
        + ("" if found.heat is not None else "; by image token"),
    )


def _passes(form: SlopeForm) -> Callable[[Case], int]:
    return lambda case: _request(case, form).passes


def multiviz(case: Case) -> Explanation:
    """With the explained output."""
    return second_order(case, "explained")


def multiviz_sum(case: Case) -> Explanation:
    """With the sum of all logits."""
    return second_order(case, "sum of logits")


def multiviz_mixed(case: Case) -> Explanation:
    """Word by word."""
    return second_order(case, "mixed")


MULTIVIZ = Explainer(
    "multiviz",
    "gradient by pixels of the words' summed relevance",
    multiviz,
    paper=_PAPER,
    needs_gradients=True,
    least=_passes("explained"),
)
MULTIVIZ_SUM = Explainer(
    "multiviz-sum",
    "the same of the sum of all logits, as the public code has it",
    multiviz_sum,
    paper=_PAPER,
    reading="paper",
    caveat="cross-entropy leaves the sum of logits free, so it says nothing of the answer",
    needs_gradients=True,
    least=_passes("sum of logits"),
)
MULTIVIZ_MIXED = Explainer(
    "multiviz-mixed",
    "mixed second derivative of each word with each pixel, sizes summed",
    multiviz_mixed,
    paper=_PAPER,
    needs_gradients=True,
    least=_passes("mixed"),
)
