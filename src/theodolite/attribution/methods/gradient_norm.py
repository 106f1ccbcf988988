"""The norm of the gradient at each token: ‖∇_h z‖₂ at layer −2 (CREG, A.11)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from theodolite.attribution.evidence import LAYERS, Evidence
from theodolite.attribution.method import Method, Need

if TYPE_CHECKING:
    import torch


def _norm(evidence: Evidence, target: str, layer: int = LAYERS[0]) -> torch.Tensor:
    norm: torch.Tensor = evidence.gradient(target, layer, contrastive=False).norm(dim=-1)
    return norm


GRADIENT_NORM = Method(
    name="gradient-norm",
    summary="norm of the gradient at layer −2",
    paper="CREG, A.11",
    needs=Need.HIDDEN_GRADIENT,
    score=_norm,
    layers=LAYERS[:1],
    at_layer=_norm,
)
