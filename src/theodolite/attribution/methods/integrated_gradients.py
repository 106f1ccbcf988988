"""Integrated gradients at layer −2 (Sundararajan, Taly and Yan, ICML 2017; CREG, A.11).

    IG_j = | Σ_d (h − h₀)_{j,d} · mean over α of ∂z(h₀ + α(h − h₀))/∂h_{j,d} |,   50 values of α

From a zero baseline the path is a ray, along which an RMSNorm or a LayerNorm sees no change: the integrand is zero but
for the first step, where the norm's epsilon rules, and the result depends on where that step lies. The sound variant
starts from the mean token instead and takes the middle of each step.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from theodolite.attribution.evidence import LAYERS, Evidence
from theodolite.attribution.method import Method
from theodolite.attribution.needs import Need
from theodolite.attribution.precision import wide

if TYPE_CHECKING:
    from collections.abc import Sequence

    import torch

STEPS = 50


def integrate(
    evidence: Evidence, target: str, layer: int, *, baseline: torch.Tensor, alphas: Sequence[float]
) -> torch.Tensor:
    """The path integral, still per width, (batch, tokens, width), float32.

    Args:
        evidence: of the pass.
        target: whose logit.
        layer: whose hidden states.
        baseline: where the path begins, broadcastable to the hidden states.
        alphas: the places on the path, weighed alike.
    """
    import torch

    hidden = evidence.hidden[layer].detach()
    step = hidden - baseline
    total = torch.zeros_like(wide(hidden))
    chosen = evidence.targets.roles[target][:, None]
    with torch.enable_grad():
        for alpha in alphas:
            point = (baseline + alpha * step).to(hidden.dtype).requires_grad_()
            logits = evidence.tail(point, layer)
            (gradient,) = torch.autograd.grad(logits.gather(1, chosen.to(logits.device)).sum(), point)
            total += wide(gradient)
    return total / len(alphas) * wide(step)


def completeness_gap(
    evidence: Evidence, target: str, layer: int, attribution: torch.Tensor, baseline: torch.Tensor
) -> torch.Tensor:
    """How far the attributions are from summing to z(h) − z(h₀), (batch,): zero for an exact integral."""
    import torch

    hidden = evidence.hidden[layer].detach()
    with torch.no_grad():
        ends = [
            evidence.tail(point.to(hidden.dtype), layer) for point in (hidden, baseline.expand_as(hidden))
        ]
    chosen = evidence.targets.roles[target][:, None].to(ends[0].device)
    change = (ends[0] - ends[1]).gather(1, chosen)[:, 0]
    return attribution.sum(dim=(1, 2)).to(change.device) - change


def mean_token(evidence: Evidence, layer: int) -> torch.Tensor:
    """The mean hidden state of a request's tokens, (batch, 1, width)."""
    hidden = wide(evidence.hidden[layer].detach())
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
    summary="gradients along the ray from zero to layer −2, 50 steps",
    paper="Sundararajan, Taly and Yan, ICML 2017; CREG, A.11",
    needs=Need.TAIL,
    score=_from_zero,
    caveat="along a ray from zero a norm sees no change: the result is made by its epsilon at the first step",
    sound_variant="integrated-gradients-sound",
)

INTEGRATED_SOUND = Method(
    name="integrated-gradients-sound",
    summary="the same from the mean token, steps taken in their middle",
    paper="",
    needs=Need.TAIL,
    score=_from_mean,
)
