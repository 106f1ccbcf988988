"""GradCAM at the vision features that enter the projector (Selvaraju et al., ICCV 2017).

    α_c = mean over features of ∂z/∂a_c,   cam = (Σ_c α_c a_c)⁺

The features are the output of the vision tower, in their own grid, which may be finer than that of the tokens. (In
LLaVA-1.5 the tower's last layer is not used and has no gradient.)
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from theodolite.attribution.evidence import Evidence, on_features
from theodolite.attribution.method import FeatureScores, Method, Need

if TYPE_CHECKING:
    import torch


def cam(features: torch.Tensor, gradients: torch.Tensor) -> torch.Tensor:
    """Return the class activation of one picture's features, (features,)."""
    return (features @ gradients.mean(dim=0)).clamp(min=0)


def _gradcam(evidence: Evidence, target: str) -> FeatureScores:
    return on_features(evidence, target, cam)


GRADCAM = Method(
    name="gradcam",
    summary="gradient-weighted activation of the vision features",
    paper="Selvaraju et al., ICCV 2017",
    needs=Need.FEATURE_GRADIENT,
    score=_gradcam,
    scores_on="features",
)
