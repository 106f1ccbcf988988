"""The norm of the gradient at each token: ‖∇_h z‖₂ at layer −2 (CREG, A.11)."""

from __future__ import annotations

from theodolite.attribution.evidence import LAYERS
from theodolite.attribution.method import Method, Need

GRADIENT_NORM = Method(
    name="gradient-norm",
    summary="norm of the gradient at layer −2",
    paper="CREG, A.11",
    needs=Need.HIDDEN_GRADIENT,
    score=lambda evidence, target: evidence.gradient(target, LAYERS[0], contrastive=False).norm(dim=-1),
)
