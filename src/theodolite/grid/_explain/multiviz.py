r"""MultiViz's second-order gradients: how the words' relevance changes with each pixel; the formulas stand in `slopes`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol, runtime_checkable

import numpy as np

from theodolite.errors import UnsupportedError
from theodolite.grid._explain.contract import Case, Explainer, Explanation
from theodolite.grid._explain.slopes import Slope, SlopeForm, SlopeRequest

_PAPER = "Liang et al. 2023, MultiViz"


@runtime_checkable
class Differentiable(Protocol):
    """A reader of a network that can be differentiated twice."""

    def slopes(self, requests: Sequence[SlopeRequest]) -> list[Slope]:
        """One slope for each request."""
        ...


def _request(case: Case, form: SlopeForm) -> SlopeRequest:
    return SlopeRequest(case.batch, case.row, case.answer, case.convention.explained, form)


def second_order(case: Case, form: SlopeForm) -> Explanation:
    """Gradients of the words' relevance by pixel; the case's reader must be a paired network."""
    if not isinstance(case.reader, Differentiable):
        name = case.reader.name if case.reader is not None else "this game"
        raise UnsupportedError(
            f"second-order gradients need a paired network such as grid:pure; {name} has none"
        )
    request, world = _request(case, form), case.batch.world
    (found,) = case.reader.slopes([request])
    px = world.cell_px
    cells = found.heat.astype(np.float64).reshape(world.rows, px, world.columns, px).sum(axis=(1, 3))
    return Explanation(
        cells.reshape(-1),
        found.relevance,
        found.heat,
        is_exact=True,
        calls=request.passes,
        method=f"one forward, {request.passes - 1} backward passes; a call is a pass",
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
