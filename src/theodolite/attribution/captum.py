"""Any attribution of captum, on the hidden states of any layer.

captum wants a function from inputs to outputs. Ours begins at a layer's hidden states and ends at the options' logits,
so every method that captum has for such a function becomes a relevance method here.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Literal

from theodolite.attribution.evidence import LAYERS, Evidence
from theodolite.attribution.method import Method
from theodolite.attribution.needs import Need
from theodolite.attribution.precision import wide
from theodolite.core.errors import UsageError

if TYPE_CHECKING:
    import torch


_REDUCTIONS: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "sum": lambda found: found.sum(dim=-1).abs(),
    "absolute sum": lambda found: found.abs().sum(dim=-1),
    "norm": lambda found: found.norm(dim=-1),
}


def captum_method(
    name: str,
    attribution: Any,
    *,
    layer: int = LAYERS[1],
    reduce: Literal["sum", "absolute sum", "norm"] = "absolute sum",
    arguments: dict[str, Any] | None = None,
) -> Method:
    """Makes a relevance method of a captum attribution.

    Args:
        name: for the maps.
        attribution: a captum class such as ``captum.attr.InputXGradient``, or anything that, called with a function,
            has ``attribute(inputs, target=…)``.
        layer: whose hidden states are attributed, one of `LAYERS`.
        reduce: how a token's many values become one: |Σ|, Σ|·| or the Euclidean length.
        arguments: further arguments of ``attribute``.
    """
    if layer not in LAYERS:
        raise UsageError(f"the layer must be one of {LAYERS}, not {layer}")

    def score(evidence: Evidence, target: str) -> torch.Tensor:
        import torch

        evidence.check_tail(layer)
        hidden = evidence.hidden[layer].detach()
        chosen = [int(index) for index in evidence.targets.roles[target]]
        with torch.enable_grad():
            method = attribution(lambda states: evidence.tail(states, layer))
            raw: torch.Tensor = method.attribute(hidden.requires_grad_(), target=chosen, **(arguments or {}))
        return _REDUCTIONS[reduce](wide(raw.detach()))

    return Method(
        name=name,
        summary=f"captum's {getattr(attribution, '__name__', attribution)} at layer {layer}",
        paper="",
        needs=Need.TAIL,
        score=score,
    )
