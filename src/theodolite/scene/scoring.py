"""Reading, solving and scoring: what a model's answers and graphs are worth, and whether they agree. Calls no model.

- reading: `parse_answer`, `parse_graph` (versions `ANSWER_PARSER`, `GRAPH_PARSER`)
- single scores: `score_answer`, `mean_relative_accuracy`, `score_graph`
- from a graph to an answer: `Solver`, `solve`, `solver_ceilings`; to a map: `lay_out`; against itself: `triangles`
- runs: `score_scenes`, or `read_rows` and `score_rows`; `ScoreOptions` names the readings
- graphs of graded quality: `noisy_graphs`, `NOISE_LEVELS`

Everything loads when it is first used: reading, solving and single scores need numpy alone (broken JSON: `json-repair`), runs
need pydantic.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from theodolite.scene._answer import Answer
    from theodolite.scene._answers import ANSWER_PARSER, parse_answer
    from theodolite.scene._blind import BlindTest
    from theodolite.scene._ceiling import Ceiling, solver_ceilings
    from theodolite.scene._confusion import CELLS, Confusion, PickedCase
    from theodolite.scene._graph_figures import GraphFigures, GraphParts
    from theodolite.scene._graph_parser import GRAPH_PARSER, GraphReading, parse_graph, read_graph
    from theodolite.scene._interventions import SettingFigures
    from theodolite.scene._layout import Layout, lay_out, triangles
    from theodolite.scene._metrics import (
        Comparison,
        GraphScore,
        mean_relative_accuracy,
        score_answer,
        score_graph,
    )
    from theodolite.scene._noise import NOISE_LEVELS, noisy_graph, noisy_graphs
    from theodolite.scene._rows import SceneRows, read_results, read_rows, star_from_json
    from theodolite.scene._score import (
        DomainScore,
        GroupScore,
        SceneScore,
        ScoreOptions,
        score_rows,
        score_scenes,
    )
    from theodolite.scene._signatures import SIGNATURES, Signature
    from theodolite.scene._solver import Derived, Solver, Solving, solve
    from theodolite.scene._threshold import Threshold

__all__ = [
    "ANSWER_PARSER",
    "CELLS",
    "GRAPH_PARSER",
    "NOISE_LEVELS",
    "SIGNATURES",
    "Answer",
    "BlindTest",
    "Ceiling",
    "Comparison",
    "Confusion",
    "Derived",
    "DomainScore",
    "GraphFigures",
    "GraphParts",
    "GraphReading",
    "GraphScore",
    "GroupScore",
    "Layout",
    "PickedCase",
    "SceneRows",
    "SceneScore",
    "ScoreOptions",
    "SettingFigures",
    "Signature",
    "Solver",
    "Solving",
    "Threshold",
    "lay_out",
    "mean_relative_accuracy",
    "noisy_graph",
    "noisy_graphs",
    "parse_answer",
    "parse_graph",
    "read_graph",
    "read_results",
    "read_rows",
    "score_answer",
    "score_graph",
    "score_rows",
    "score_scenes",
    "solve",
    "solver_ceilings",
    "star_from_json",
    "triangles",
]

_HOMES = {
    "_answer": ("Answer",),
    "_answers": ("ANSWER_PARSER", "parse_answer"),
    "_blind": ("BlindTest",),
    "_ceiling": ("Ceiling", "solver_ceilings"),
    "_confusion": ("CELLS", "Confusion", "PickedCase"),
    "_graph_figures": ("GraphFigures", "GraphParts"),
    "_graph_parser": ("GRAPH_PARSER", "GraphReading", "parse_graph", "read_graph"),
    "_interventions": ("SettingFigures",),
    "_layout": ("Layout", "lay_out", "triangles"),
    "_metrics": ("Comparison", "GraphScore", "mean_relative_accuracy", "score_answer", "score_graph"),
    "_noise": ("NOISE_LEVELS", "noisy_graph", "noisy_graphs"),
    "_rows": ("SceneRows", "read_results", "read_rows", "star_from_json"),
    "_score": ("DomainScore", "GroupScore", "SceneScore", "ScoreOptions", "score_rows", "score_scenes"),
    "_signatures": ("SIGNATURES", "Signature"),
    "_solver": ("Derived", "Solver", "Solving", "solve"),
    "_threshold": ("Threshold",),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}


def __getattr__(name: str) -> Any:
    if name not in _HOME_OF:
        raise AttributeError(f"module 'theodolite.scene.scoring' has no attribute {name!r}")
    return getattr(import_module(f"theodolite.scene.{_HOME_OF[name]}"), name)


def __dir__() -> list[str]:
    return sorted(__all__)
