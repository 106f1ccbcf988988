"""Integrated gradients at layer −2 (Sundararajan, Taly and Yan, ICML 2017; CREG, A.11).

    IG_j = | Σ_d (h − h₀)_{j,d} · mean over α of ∂z(h₀ + α(h − h₀))/∂h_{j,d} |,   50 values of α

From a zero baseline the path is a ray, along which the output of an RMSNorm or a LayerNorm is constant. The integrand is
zero except in the first step, where the norm's epsilon matters, so the result depends on the position of that step. The
sound variant starts from the mean token instead and uses the midpoint of each step.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from theodolite.attribution.evidence import LAYERS, Evidence
from theodolite.attribution.flow import upcast
from theodolite.attribution.method import Method, Need

if TYPE_CHECKING:
    from collections.abc import Sequence

    import torch

STEPS = 50


def integrate(
    evidence: Evidence, target: str, layer: int, *, baseline: torch.Tensor, alphas: Sequence[float]
) -> torch.Tensor:
    """Compute the path integral per dimension, (batch, tokens, width), float32.

    Args:
        evidence: Evidence of the shared pass.
        target: The target whose logit is explained.
        layer: The layer whose hidden states are attributed.
        baseline: Start of the path, broadcastable to the hidden states.
        alphas: Positions on the path, equally weighted.
    """
    import torch

    hidden = evidence.hidden[layer].detach()
    step = hidden - baseline
    total = torch.zeros_like(upcast(hidden))
    with torch.enable_grad():
        for alpha in alphas:
            point = (baseline + alpha * step).to(hidden.dtype).requires_grad_()
            logits = evidence.tail(point, layer)
            (gradient,) = torch.autograd.grad(evidence.targets.explained(logits, target).sum(), point)
            total += upcast(gradient)
    return total / len(alphas) * upcast(step)


def completeness_gap(
    evidence: Evidence, target: str, layer: int, attribution: torch.Tensor, baseline: torch.Tensor
) -> torch.Tensor:
    """Return the sum of the attributions minus z(h) − z(h₀), (batch,): zero for an exact integral.

    Args:
        evidence: Evidence of the shared pass.
        target: The target whose logit is explained.
        layer: The layer whose hidden states are attributed.
        attribution: From `integrate`.
        baseline: Start of the path.
    """
    import torch

    hidden = evidence.hidden[layer].detach()
    with torch.no_grad():
        ends = [
            evidence.tail(point.to(hidden.dtype), layer) for point in (hidden, baseline.expand_as(hidden))
        ]
    change = evidence.targets.explained(ends[0] - ends[1], target)
    return attribution.sum(dim=(1, 2)).to(change.device) - change


def mean_token(evidence: Evidence, layer: int) -> torch.Tensor:
    """Return the mean hidden state of a request's tokens, (batch, 1, width)."""
    hidden = upcast(evidence.hidden[layer].detach())
    real = evidence.is_token.to(hidden.device)[..., None].to(hidden.dtype)
    return (hidden * real).sum(dim=1, keepdim=True) / real.sum(dim=1, keepdim=True)


def _from_zero(evidence: Evidence, target: str) -> torch.Tensor:
    import torch

    layer = LAYERS[0]
    evidence.check_tail(layer)
    baseline = torch.zeros((), device=evidence.hidden[layer].device)
    alphas = torch.linspace(0, 1, STEPS).tolist()
    return integrate(evidence, target, layer, baseline=baseline, alphas=alphas).sum(dim=-1).abs()


def _from_mean(evidence: Evidence, target: str) -> torch.Tensor:
    layer = LAYERS[0]
    evidence.check_tail(layer)
    alphas = [(i + 0.5) / STEPS for i in range(STEPS)]
    return (
        integrate(evidence, target, layer, baseline=mean_token(evidence, layer), alphas=alphas)
        .sum(dim=-1)
        .abs()
    )


INTEGRATED = Method(
    name="integrated-gradients",
    summary="gradients along the path from zero to layer −2, 50 steps",
    paper="Sundararajan, Taly and Yan, ICML 2017; CREG, A.11",
    needs=Need.TAIL,
    score=_from_zero,
    layers=LAYERS[:1],
    caveat="along a ray from zero a norm's output is constant: the result depends on its epsilon in the first step",
    sound_variant="integrated-gradients-sound",
)

INTEGRATED_SOUND = Method(
    name="integrated-gradients-sound",
    summary="the same from the mean token, with midpoint steps",
    paper="",
    needs=Need.TAIL,
    score=_from_mean,
    layers=LAYERS[:1],
)
