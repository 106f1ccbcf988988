"""Whether grounding predicts robustness, and how far that depends on how it was measured."""

from theodolite.trace._paper import paper_rows, paper_tables, paper_vrs
from theodolite.trace._predict import (
    RETENTIONS,
    Association,
    MatchedPair,
    ModelRow,
    Prediction,
    Retention,
    predict_robustness,
)
from theodolite.trace._relevance import (
    BASELINES,
    Relevance,
    plan_relevance,
    relevance_factory,
    score_relevance,
)
from theodolite.trace._relevance import INSTRUMENT as RELEVANCE
from theodolite.trace._robustness import Condition, RobustnessRow, robustness_table
from theodolite.trace._rows import add_predictors, read_model_rows, rows_from_scores, with_relevance

__all__ = [
    "BASELINES",
    "RELEVANCE",
    "RETENTIONS",
    "Association",
    "Condition",
    "MatchedPair",
    "ModelRow",
    "Prediction",
    "Relevance",
    "Retention",
    "RobustnessRow",
    "add_predictors",
    "paper_rows",
    "paper_tables",
    "paper_vrs",
    "plan_relevance",
    "predict_robustness",
    "read_model_rows",
    "relevance_factory",
    "robustness_table",
    "rows_from_scores",
    "score_relevance",
    "with_relevance",
]
