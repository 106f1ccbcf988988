"""Signatures of the compass.

layout-driven    answers are right more often than by chance, but no method's map points 5° better than a uniform map
language prior   at most a tenth of the answers change when the picture is blank
"""

from __future__ import annotations

from collections.abc import Sequence

from theodolite.core.scores import ItemScore
from theodolite.core.signatures import Condition, Signature, SignatureKind, judge_signature
from theodolite.instruments.compass.score import METRICS
from theodolite.stats import score_mean

__all__ = ["compass_signatures"]

BEYOND_DEG = 5.0
"""A map follows the question if its error is smaller than the uniform map's by this much."""
FEW = 0.1
CHANCE = 0.25
"""Of four directions."""

LAYOUT_DRIVEN = SignatureKind(
    "layout-driven",
    "Change only the option whose logit is explained: a map that follows the question turns with it, one that follows the "
    "layout stays (`theodolite compass run --controls prompt-direction`).",
    "At test time, not in training: abstain where the compass points far from the answer, or answer by its peak.",
    "CREG, sections 4.5 and 5.1",
)
LANGUAGE_PRIOR = SignatureKind(
    "language prior",
    "Show the picture of another scene: an answer that stays was never about the picture (`theodolite ask run`).",
    "Enforce consistency between answers and perceived structure in training, and balance the answers of the data.",
    "CRISP, section 6; GridVQA-X, appendix B.1",
)


def compass_signatures(scores: Sequence[ItemScore]) -> list[Signature]:
    """Layout-driven and language prior, over all splits together."""
    means = {metric.key: score_mean(metric, scores) for metric in METRICS if _is_used(metric.key)}
    excess = {
        key: mean
        for key, mean in means.items()
        if key.startswith("compass.excess_sound:") and mean is not None
    }
    best = max(excess, key=lambda key: excess[key].high, default="")
    label = f"DAE below the uniform map's, best of {len(excess)} methods"
    if best:
        label += f" ({best.partition(':')[2]})"
    return [
        judge_signature(
            LAYOUT_DRIVEN,
            [
                Condition(
                    "answers that are right",
                    means["compass.right"],
                    lambda x: x.low > CHANCE,
                    "above chance",
                ),
                Condition(
                    label, excess.get(best), lambda x: x.high < BEYOND_DEG, f"less than {BEYOND_DEG:g}°"
                ),
            ],
        ),
        judge_signature(
            LANGUAGE_PRIOR,
            [
                Condition(
                    "answers that change with a blank picture",
                    means["compass.blank_changes"],
                    lambda x: x.high < FEW,
                    "below a tenth",
                )
            ],
        ),
    ]


def _is_used(key: str) -> bool:
    return key in {"compass.right", "compass.blank_changes"} or key.startswith("compass.excess_sound:")
