"""An example relevance method: ‖∂(z_tgt − z_neg)/∂h‖ · ‖h‖ of each token, three blocks from the end.

The product of the norms is never below the sum of Grad×Act. Unlike that sum, it does not vanish where a layer's output
does not depend on the norm of its input.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from theodolite.attribution import Evidence, Method, Need

if TYPE_CHECKING:
    import torch

LAYER = -3
"""Numbered as in transformers: −2 is the input of the last block."""


def norm_product(evidence: Evidence, target: str) -> torch.Tensor:
    """Return the relevance of every token, (batch, tokens), from the results of the shared pass."""
    gradient = evidence.gradient(target, LAYER, contrastive=True)  # (batch, tokens, width)
    hidden = evidence.hidden[LAYER].float()
    return gradient.norm(dim=-1) * hidden.norm(dim=-1).to(gradient.device)


NORM_PRODUCT = Method(
    name="norm-product",
    summary="norm of the contrastive gradient times norm of the hidden state at layer −3",
    paper="",
    needs=Need.HIDDEN_GRADIENT,  # limits how far gradients are propagated
    score=norm_product,
    is_contrastive=True,
)


def register(add: Any) -> None:
    """Register the method for `theodolite compass run --methods norm-product` and `theodolite list methods`."""
    add("method", "norm-product", f"{__name__}:NORM_PRODUCT", summary=NORM_PRODUCT.summary)
