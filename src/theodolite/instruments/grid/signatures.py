"""Signatures of the grid.

semantic shortcut   where a bag of words is wrong, the model gives its answer more often than not; and reversing the
                    direction changes less than half of the answers
"""

from __future__ import annotations

from collections.abc import Sequence

from theodolite.core.scores import ItemScore
from theodolite.core.signatures import Condition, Signature, SignatureKind, judge_signature
from theodolite.instruments.grid.experiments.edits import METRICS
from theodolite.stats import score_mean

HALF = 0.5

SEMANTIC_SHORTCUT = SignatureKind(
    "semantic shortcut",
    "Reverse the direction word: a model that uses the relation changes its answer (`theodolite diagnose --instruments grid`).",
    "A larger vision encoder, to refine metric perception; or training that supervises where the model looks.",
    "GridVQA-X, appendix A.2; CRISP, section 6",
)


def grid_signatures(scores: Sequence[ItemScore]) -> list[Signature]:
    """Semantic shortcut: the bag of words."""
    means = {
        metric.key: score_mean(metric, scores)
        for metric in METRICS
        if metric.key in {"grid.bag_of_words", "grid.swap_changes"}
    }
    return [
        judge_signature(
            SEMANTIC_SHORTCUT,
            [
                Condition(
                    "agreement with a bag of words where it is wrong",
                    means["grid.bag_of_words"],
                    lambda x: x.low > HALF,
                    "above ½",
                ),
                Condition(
                    "answers that change with the direction",
                    means["grid.swap_changes"],
                    lambda x: x.high < HALF,
                    "below ½",
                ),
            ],
        )
    ]
