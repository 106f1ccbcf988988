"""A relevance method of one's own: ‖∂(z_tgt − z_neg)/∂h‖ · ‖h‖ of each token, three blocks from the end.

The product of the two lengths is never below Grad×Act's sum and, unlike it, does not vanish where a layer's output does
not depend on the length of its input.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from theodolite.attribution import Evidence, Method, Need

if TYPE_CHECKING:
    import torch

LAYER = -3
"""As transformers counts hidden states: −2 is what the last block is given."""


def norm_product(evidence: Evidence, target: str) -> torch.Tensor:
    """Relevance of every token, (batch, tokens). The shared pass has done the work: nothing is run again here."""
    gradient = evidence.gradient(target, LAYER, contrastive=True)  # (batch, tokens, width)
    hidden = evidence.hidden[LAYER].float()
    return gradient.norm(dim=-1) * hidden.norm(dim=-1).to(gradient.device)


NORM_PRODUCT = Method(
    name="norm-product",
    summary="length of the contrastive gradient times length of the hidden state at layer −3",
    paper="",
    needs=Need.HIDDEN_GRADIENT,  # the pass goes no deeper than the methods of a run need
    score=norm_product,
    is_contrastive=True,
)


def register(add: Any) -> None:
    """`theodolite compass run --methods norm-product` then works, and `methods list` shows it."""
    add("method", "norm-product", f"{__name__}:NORM_PRODUCT", summary=NORM_PRODUCT.summary)
