"""Explaining a data set with a model, and scoring what came of it."""

from theodolite.grid._explain.figures import (
    MEASURES,
    TEXT_MEASURES,
    Cell,
    Gap,
    Separation,
    separations,
    tables,
)
from theodolite.grid._explain.maps import MapScore, otsu, overlap, rank_share, score_map
from theodolite.grid._explain.measure import (
    DEFAULT_BUDGET,
    ExplainMeasurer,
    ExplainPlan,
    explain_factory,
    plan_explanations,
    prepare,
)
from theodolite.grid._explain.published import DEPTH, RMA, SOURCE
from theodolite.grid._explain.score import Cost, ExplainScore, score_explained, score_explanations
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
    DepthCheck,
    SynergyValue,
    cross_figures,
    depth_checks,
    synergy_values,
)

__all__ = [
    "DEFAULT_BUDGET",
    "DEPTH",
    "INSTRUMENT",
    "MEASURES",
    "RMA",
    "SOURCE",
    "TEXT_MEASURES",
    "WORD_ROLES",
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
    "Separation",
    "SynergyValue",
    "cross_figures",
    "depth_checks",
    "explain_factory",
    "otsu",
    "overlap",
    "plan_explanations",
    "prepare",
    "rank_share",
    "read_explained",
    "score_explained",
    "score_explanations",
    "score_map",
    "separations",
    "synergy_values",
    "tables",
]
