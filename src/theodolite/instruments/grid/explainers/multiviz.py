"""MultiViz: second-order gradients, how the relevance of words changes with each pixel or image token (Liang et al. 2023).

The formulas are in `second_order`.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Protocol, runtime_checkable

from theodolite.core.errors import UnsupportedError
from theodolite.instruments.grid.explainers.contract import Case, Explainer, Explanation, Variant
from theodolite.instruments.grid.explainers.second_order import Slope, SlopeForm, SlopeRequest


@runtime_checkable
class Differentiable(Protocol):
    """A reader whose model can be differentiated twice."""

    can_differentiate: bool

    def slopes(self, requests: Sequence[SlopeRequest]) -> list[Slope]:
        """Return one slope for each request."""
        ...


def _request(case: Case, form: SlopeForm) -> SlopeRequest:
    return SlopeRequest(case.batch, case.row, case.answer, case.convention.explained, form)


def second_order(case: Case, form: SlopeForm) -> Explanation:
    """Differentiate the words' relevance by pixel or image token; the model must be a white box."""
    if not isinstance(case.reader, Differentiable) or not case.reader.can_differentiate:
        name = case.reader.name if case.reader is not None else "this game"
        raise UnsupportedError(
            f"second-order gradients need a paired network such as grid:pure, or a checkpoint such as hf:PATH; {name} is neither"
        )
    request = _request(case, form)
    (slope,) = case.reader.slopes([request])
    return Explanation(
        slope.cells,
        slope.relevance,
        slope.heat,
        is_exact=True,
        calls=request.passes,
        method=f"one forward, {request.passes - 1} backward passes; a call is a pass"
        + ("" if slope.heat is not None else "; by image token"),
    )


def _variant(
    name: str, summary: str, form: SlopeForm, reading: Variant = "sound", caveat: str = ""
) -> Explainer:
    return Explainer(
        name,
        summary,
        partial(second_order, form=form),
        paper="Liang et al. 2023, MultiViz",
        reading=reading,
        caveat=caveat,
        needs_gradients=True,
        least=lambda case: _request(case, form).passes,
    )


MULTIVIZ = _variant("multiviz", "gradient by pixels of the words' summed relevance", "explained")
MULTIVIZ_SUM = _variant(
    "multiviz-sum",
    "the same of the sum of all logits, as in the public code",
    "sum of logits",
    "paper",
    "cross-entropy leaves the sum of logits undetermined, so it does not depend on the answer",
)
MULTIVIZ_MIXED = _variant(
    "multiviz-mixed", "mixed second derivatives of each word and pixel, absolute values summed", "mixed"
)
