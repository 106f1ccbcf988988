"""What a compass is good for: diagnosis, selective prediction, re-ranking, composite scores.

- all at once: `score_utility`, `utility_of_samples` with `UtilitySettings`
- step by step, from `theodolite.compass.scores.project_samples`: `diagnose_answers`, `selective_table`, `rerank_answers`;
  `utility_curves` and `risk_coverage_curves` are for drawing
- `composite_scores`: faithfulness and alignment in one number, against the AUC
"""

from __future__ import annotations

from theodolite.compass._composites import COMPOSITES, Composite, composite_scores
from theodolite.compass._confidence import (
    Confidence,
    compass_confidences,
    honest_options,
    logit_confidences,
)
from theodolite.compass._utility import (
    Diagnosis,
    RerankRow,
    SelectiveRow,
    diagnose_answers,
    rerank_answers,
    risk_coverage_curves,
    selective_table,
)
from theodolite.compass._utility_score import (
    HONEST,
    UtilityScore,
    UtilitySettings,
    confidences,
    score_utility,
    utility_curves,
    utility_of_samples,
)

__all__ = [
    "COMPOSITES",
    "HONEST",
    "Composite",
    "Confidence",
    "Diagnosis",
    "RerankRow",
    "SelectiveRow",
    "UtilityScore",
    "UtilitySettings",
    "compass_confidences",
    "composite_scores",
    "confidences",
    "diagnose_answers",
    "honest_options",
    "logit_confidences",
    "rerank_answers",
    "risk_coverage_curves",
    "score_utility",
    "selective_table",
    "utility_curves",
    "utility_of_samples",
]
