"""Gradient times activation at the hidden states of one or several layers (CREG, equations 3 to 5).

    r_j^(l) = | Σ_d g_{j,d} h_{j,d} |,   g = ∇_h τ,   τ = z_tgt − z_neg
    w_l = softmax over layers of max_j r_j^(l),   r_j = Σ_l w_l r_j^(l)

At layer −2, the input of the last block, the sum is zero by Euler's theorem if that block begins with an RMSNorm or a
LayerNorm: both are invariant to scaling h, so h ⟂ g for every token but the last. What remains is rounding. In addition,
the softmax weights depend on the scale of the relevance: all layers count equally if it is small, a single layer
dominates if it is large. Both are computed as published. The sound variants omit layer −2, scale each layer by its
maximum and weight all equally, or sum |g h| instead.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from theodolite.attribution.evidence import LAYERS, Evidence
from theodolite.attribution.flow import upcast
from theodolite.attribution.method import Method, Need
from theodolite.core.errors import UnsupportedError

if TYPE_CHECKING:
    import torch

_EULER = "at layer −2 the sum is zero up to rounding if the last block begins with a norm"
_EULER_AND_SCALE = f"{_EULER}; the weights of the layers depend on the scale of the relevance"


def layer_relevance(evidence: Evidence, target: str, layer: int, *, contrastive: bool) -> torch.Tensor:
    """Compute equation 3 at one layer, (batch, tokens), float32."""
    if layer not in evidence.hidden:
        raise UnsupportedError(f"the model has too few layers for gradient times activation at layer {layer}")
    gradient = evidence.gradient(target, layer, contrastive=contrastive)
    return (gradient * upcast(evidence.hidden[layer].detach())).sum(dim=-1).abs()


def _layers(evidence: Evidence, target: str, *, contrastive: bool) -> torch.Tensor:
    """Compute equations 3 and 4 over layers −2 to −5, for the target's logit or against its rival's (equation 5)."""
    import torch

    layers = torch.stack(
        [layer_relevance(evidence, target, layer, contrastive=contrastive) for layer in LAYERS]
    )
    weights = torch.softmax(layers.amax(dim=-1), dim=0)  # (layers, batch)
    return (weights[..., None] * layers).sum(dim=0)


def _contrastive_sound(evidence: Evidence, target: str) -> torch.Tensor:
    """Combine layers −3 to −5, each scaled to a maximum of one, with equal weights."""
    import torch

    layers = torch.stack([layer_relevance(evidence, target, layer, contrastive=True) for layer in LAYERS[1:]])
    return (layers / layers.amax(dim=-1, keepdim=True).clamp(min=1e-30)).mean(dim=0)


def _plain(evidence: Evidence, target: str, layer: int = LAYERS[0]) -> torch.Tensor:
    return layer_relevance(evidence, target, layer, contrastive=False)


def _against_rival(evidence: Evidence, target: str, layer: int = LAYERS[0]) -> torch.Tensor:
    return layer_relevance(evidence, target, layer, contrastive=True)


def _absolute(evidence: Evidence, target: str, layer: int = LAYERS[0]) -> torch.Tensor:
    """Compute Σ_d |g h|, which the scale invariance does not make zero."""
    gradient = evidence.gradient(target, layer, contrastive=False)
    return (gradient * upcast(evidence.hidden[layer].detach())).abs().sum(dim=-1)


CONTRASTIVE = Method(
    name="contrastive-grad-act",
    summary="gradient × activation over the last four layers, against the rival answer",
    paper="CREG, equations 3 to 5",
    needs=Need.HIDDEN_GRADIENT,
    score=lambda evidence, target: _layers(evidence, target, contrastive=True),
    layers=LAYERS,
    is_contrastive=True,
    caveat=_EULER_AND_SCALE,
    sound_variant="contrastive-grad-act-sound",
)

CONTRASTIVE_SOUND = Method(
    name="contrastive-grad-act-sound",
    summary="the same without layer −2, layers scaled and equally weighted",
    paper="",
    needs=Need.HIDDEN_GRADIENT,
    score=_contrastive_sound,
    layers=LAYERS[1:],
    is_contrastive=True,
)

SINGLE = Method(
    name="grad-act",
    summary="gradient × activation at layer −2",
    paper="CREG, A.11",
    needs=Need.HIDDEN_GRADIENT,
    score=_plain,
    layers=LAYERS[:1],
    at_layer=_plain,
    caveat=_EULER,
    sound_variant="grad-act-absolute",
)

ABSOLUTE = Method(
    name="grad-act-absolute",
    summary="sum of |gradient × activation| at layer −2",
    paper="",
    needs=Need.HIDDEN_GRADIENT,
    score=_absolute,
    layers=LAYERS[:1],
    at_layer=_absolute,
)

CONTRASTIVE_SINGLE = Method(
    name="contrastive-grad-act-single",
    summary="gradient × activation at layer −2 alone, against the rival answer",
    paper="CREG, Table 6",
    needs=Need.HIDDEN_GRADIENT,
    score=_against_rival,
    layers=LAYERS[:1],
    at_layer=_against_rival,
    is_contrastive=True,
    caveat=_EULER,
    sound_variant="contrastive-grad-act-sound",
)

LAYERED = Method(
    name="grad-act-layers",
    summary="gradient × activation over the last four layers, without a rival",
    paper="CREG, Table 6",
    needs=Need.HIDDEN_GRADIENT,
    score=lambda evidence, target: _layers(evidence, target, contrastive=False),
    layers=LAYERS,
    caveat=_EULER_AND_SCALE,
    sound_variant="contrastive-grad-act-sound",
)
