"""Explaining a data set with a model, and scoring what came of it."""

from theodolite.grid._explain.depth import DepthCheck, depth_checks, equal_answers
from theodolite.grid._explain.figures import (
    MEASURES,
    TEXT_MEASURES,
    Cell,
    Gap,
    tables,
)
from theodolite.grid._explain.maps import MapScore, otsu, overlap, rank_share, score_map
from theodolite.grid._explain.measure import ExplainMeasurer, explain_factory
from theodolite.grid._explain.plan import DEFAULT_BUDGET, ExplainPlan, plan_explanations, prepare
from theodolite.grid._explain.published import (
    DEPTH,
    RMA,
    SOURCE,
    TABLES_SOURCE,
    Beside,
    PaperCell,
    paper_tables,
)
from theodolite.grid._explain.score import (
    BucketScore,
    Cost,
    ExplainScore,
    join_scores,
    score_buckets,
    score_explained,
    score_explanations,
    score_run,
    separate_all,
)
from theodolite.grid._explain.separation import Separation, separations
from theodolite.grid._explain.stored import (
    INSTRUMENT,
    WORD_ROLES,
    CrossRow,
    ExplainedRun,
    MapRow,
    read_explained,
)
from theodolite.grid._explain.synergy import (
    CrossFigure,
    SynergyValue,
    cross_figures,
    synergy_values,
)

__all__ = [
    "DEFAULT_BUDGET",
    "DEPTH",
    "INSTRUMENT",
    "MEASURES",
    "RMA",
    "SOURCE",
    "TABLES_SOURCE",
    "TEXT_MEASURES",
    "WORD_ROLES",
    "Beside",
    "BucketScore",
    "Cell",
    "Cost",
    "CrossFigure",
    "CrossRow",
    "DepthCheck",
    "ExplainMeasurer",
    "ExplainPlan",
    "ExplainScore",
    "ExplainedRun",
    "Gap",
    "MapRow",
    "MapScore",
    "PaperCell",
    "Separation",
    "SynergyValue",
    "cross_figures",
    "depth_checks",
    "equal_answers",
    "explain_factory",
    "join_scores",
    "otsu",
    "overlap",
    "paper_tables",
    "plan_explanations",
    "prepare",
    "rank_share",
    "read_explained",
    "score_buckets",
    "score_explained",
    "score_explanations",
    "score_map",
    "score_run",
    "separate_all",
    "separations",
    "synergy_values",
    "tables",
]
