"""Explainers of the grid: the game that all of them share out, what they are given, and what they give back."""

from theodolite.grid._explain.adapters import (
    array_explainer,
    as_cells,
    relevance_explainer,
    token_map_as_cells,
)
from theodolite.grid._explain.contract import Case, Explainer, Explanation, find_explainers, make_case
from theodolite.grid._explain.cross import Projection, matrix_of, project
from theodolite.grid._explain.game import Game, PlayerSet, all_coalitions
from theodolite.grid._explain.global_pid import SUMMARIES, score_pid, summarise_scenes
from theodolite.grid._explain.indices import (
    cross_interactions,
    exact_interactions,
    exact_shares,
    moebius,
    sampled_interactions,
    share_out,
    spectrum,
)
from theodolite.grid._explain.ours import effective_number
from theodolite.grid._explain.outputs import EXPLAINED, explained_output
from theodolite.grid._explain.pid import Decomposition, PidScore, convex_pid, gaussian_pid, with_null
from theodolite.grid._explain.pool import Convention, Pool
from theodolite.grid._explain.readers import FILLS, CoreReader, Reader, Shown, open_reader

__all__ = [
    "EXPLAINED",
    "FILLS",
    "SUMMARIES",
    "Case",
    "Convention",
    "CoreReader",
    "Decomposition",
    "Explainer",
    "Explanation",
    "Game",
    "PidScore",
    "PlayerSet",
    "Pool",
    "Projection",
    "Reader",
    "Shown",
    "all_coalitions",
    "array_explainer",
    "as_cells",
    "convex_pid",
    "cross_interactions",
    "effective_number",
    "exact_interactions",
    "exact_shares",
    "explained_output",
    "find_explainers",
    "gaussian_pid",
    "make_case",
    "matrix_of",
    "moebius",
    "open_reader",
    "project",
    "relevance_explainer",
    "sampled_interactions",
    "score_pid",
    "share_out",
    "spectrum",
    "summarise_scenes",
    "token_map_as_cells",
    "with_null",
]
