"""Adapts captum's attributions, applied to the hidden states of a layer.

captum attributes a function's outputs to its inputs. Here the function maps a layer's hidden states to the options'
logits, so any captum method for such functions can be used as a relevance method.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Literal

from theodolite.attribution.evidence import LAYERS, Evidence
from theodolite.attribution.flow import upcast
from theodolite.attribution.maps import Targets
from theodolite.attribution.method import Method, Need
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
    """Create a relevance method from a captum attribution.

    Args:
        name: Name of the method.
        attribution: A captum class such as ``captum.attr.InputXGradient``, or any callable that takes a function and
            returns an object with ``attribute(inputs, target=…)``.
        layer: The layer whose hidden states are attributed, one of `LAYERS`.
        reduce: How the values of a token are reduced to one: |Σ|, Σ|·| or the Euclidean norm.
        arguments: Further arguments of ``attribute``.
    """
    if layer not in LAYERS:
        raise UsageError(f"the layer must be one of {LAYERS}, not {layer}")

    def score(evidence: Evidence, target: str) -> torch.Tensor:
        import torch

        evidence.check_tail(layer)
        hidden = evidence.hidden[layer].detach()
        with torch.enable_grad():
            if isinstance(evidence.targets, Targets):
                method = attribution(lambda states: evidence.tail(states, layer))
                chosen = [int(index) for index in evidence.targets.roles[target]]
            else:  # captum's own `target` names one column; a span is a sum of several
                weights = evidence.targets
                method = attribution(lambda states: weights.explained(evidence.tail(states, layer), target))
                chosen = None
            raw: torch.Tensor = method.attribute(hidden.requires_grad_(), target=chosen, **(arguments or {}))
        return _REDUCTIONS[reduce](upcast(raw.detach()))

    return Method(
        name=name,
        summary=f"captum's {getattr(attribution, '__name__', attribution)} at layer {layer}",
        paper="",
        needs=Need.TAIL,
        score=score,
    )
