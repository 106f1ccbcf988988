"""Attention from the token before the answer: mean over all layers and heads, or of chosen ones.

    r_j = mean over layers and heads of A_l,h[t, j],   t the token whose next token is explained

``attention:20`` is layer 20, ``attention:20.3`` its head 3, ``attention:-1`` the last layer. It shows where information
was fetched, not whether the answer used it: attention does not depend on what is answered.
"""

from __future__ import annotations

import re
from functools import partial
from typing import TYPE_CHECKING

from theodolite.attribution.evidence import Evidence
from theodolite.attribution.method import Method, Need
from theodolite.core.errors import UsageError

if TYPE_CHECKING:
    import torch

_PLACE = re.compile(r"(-?\d+)(?:\.(\d+))?")


def _attention(
    evidence: Evidence, target: str, *, layer: int | None = None, head: int | None = None
) -> torch.Tensor:
    import torch

    calls = evidence.calls
    if layer is not None and not -len(calls) <= layer < len(calls):
        raise UsageError(f"the model has layers 0 to {len(calls) - 1}, not {layer}")
    chosen = calls if layer is None else [calls[layer]]
    n_heads = chosen[0].query.shape[1]
    if head is not None and head >= n_heads:
        raise UsageError(f"the model has heads 0 to {n_heads - 1}, not {head}")
    seed = evidence.seed(target)
    rows = torch.nonzero(seed.any(dim=0))[:, 0].tolist()
    total = torch.zeros_like(seed)
    for call in chosen:
        for row in rows:
            weights = call.weights(slice(row, row + 1))[:, :, 0]
            own = weights.mean(dim=1) if head is None else weights[:, head]
            total += (own * seed[:, row : row + 1].to(own.device)).to(total)
    return total / len(chosen)


def _variant(settings: str) -> Method:
    """Return the method at a layer, or at a head of a layer."""
    match = _PLACE.fullmatch(settings)
    if match is None:
        raise UsageError(f"write attention:LAYER or attention:LAYER.HEAD, not 'attention:{settings}'")
    layer, head = int(match[1]), None if match[2] is None else int(match[2])
    words = f"attention of layer {layer}" + (f", head {head}" if head is not None else "")
    return Method(
        name=f"attention:{settings}",
        summary=f"{words}; does not depend on the answer",
        paper="",
        needs=Need.ATTENTION,
        score=partial(_attention, layer=layer, head=head),
        has_target=False,
    )


ATTENTION = Method(
    name="attention",
    summary="attention, mean over layers and heads; attention:LAYER.HEAD for one; does not depend on the answer",
    paper="",
    needs=Need.ATTENTION,
    score=_attention,
    has_target=False,
    variant=_variant,
)
