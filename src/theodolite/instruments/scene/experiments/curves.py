"""The solvers on graphs of graded quality: how much of a graph's worth each of them gets out of it.

The ceiling is a solver's score on true graphs, but models write imperfect ones. Here true graphs get noise on their words, on their
lengths, or on both (`theodolite.instruments.scene.experiments.noise`), and every solver answers every question from the same graphs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import get_args

import numpy as np

from theodolite import stats
from theodolite.core.tables import Cell, Column, Table
from theodolite.instruments.scene.data.graph import StarGraph
from theodolite.instruments.scene.data.questions import Competency, SceneQuestion
from theodolite.instruments.scene.experiments.noise import NOISY, Noisy, noisy_graphs
from theodolite.instruments.scene.experiments.paired import FloatArray
from theodolite.instruments.scene.formulas.mra import MraComparison, score_values
from theodolite.instruments.scene.formulas.sgc import score_graph
from theodolite.instruments.scene.formulas.solver import SOLVERS, Solver, SolverName

CURVE_LEVELS = (0.0, 0.05, 0.1, 0.15, 0.25, 0.4)
"""Noise levels: the relative error of lengths, and the share of pairs of words that are replaced."""
_COMPETENCIES: tuple[Competency, ...] = get_args(Competency)


@dataclass(frozen=True, slots=True)
class CurvePoint:
    """The solvers on one competency, from graphs with one kind and level of noise."""

    noisy: Noisy
    level: float
    competency: Competency | None
    """None: the macro mean over the nine groups."""
    quality: stats.Estimate | None
    """SGC of the graphs."""
    scores: Mapping[SolverName, stats.Estimate | None]
    better: SolverName
    """The better of the geometric and the public solver here."""
    gain: stats.Estimate | None
    """Fused minus that one, question by question."""


def solver_curves(
    graphs: Mapping[str, StarGraph],
    questions: Sequence[SceneQuestion],
    *,
    noisy: Sequence[Noisy] = NOISY,
    levels: Sequence[float] = CURVE_LEVELS,
    comparison: MraComparison = "<",
    seed: int = 0,
) -> tuple[CurvePoint, ...]:
    """Answers every question from noisy graphs, with each solver.

    Args:
        graphs: The true graphs, by scene.
        questions: About them.
        noisy: What noise is put on.
        levels: How much.
        comparison: How MRA compares numbers.
        seed: Seed of the noise.
    """
    found: list[CurvePoint] = []
    true: list[CurvePoint] = []
    for on in noisy:
        for level in levels:
            if level == 0 and true:  # no noise is the same whatever it is not put on
                found += [
                    CurvePoint(on, p.level, p.competency, p.quality, p.scores, p.better, p.gain) for p in true
                ]
                continue
            given = noisy_graphs(graphs, level, on=on, seed=seed)
            points = _points(on, level, graphs, given, questions, comparison)
            true = points if level == 0 else true
            found += points
    return tuple(found)


def _points(
    on: Noisy,
    level: float,
    true: Mapping[str, StarGraph],
    given: Mapping[str, StarGraph],
    questions: Sequence[SceneQuestion],
    comparison: MraComparison,
) -> list[CurvePoint]:
    sgc = {scene: score_graph(graph, true[scene]).sgc for scene, graph in given.items()}
    quality = stats.clustered_mean(list(sgc.values()), list(sgc))
    values: dict[SolverName, FloatArray] = {}
    for name in SOLVERS:
        solvers = {scene: Solver(graph, name) for scene, graph in given.items()}
        answers = [solvers[question.scene].solve(question).value for question in questions]
        values[name] = score_values(questions, answers, comparison=comparison)
    points = []
    for competency in (None, *_COMPETENCIES):
        inside = [i for i, q in enumerate(questions) if competency in {None, q.competency}]
        if not inside:
            continue
        scenes, groups = [questions[i].scene for i in inside], [questions[i].group_name for i in inside]
        part = {name: each[inside] for name, each in values.items()}
        scores = {name: stats.clustered_mean(each, scenes, groups=groups) for name, each in part.items()}
        better: SolverName = max(SOLVERS[1:], key=lambda name: _value(scores[name]))
        gain = stats.clustered_difference(part["fused"], part[better], scenes, groups=groups)
        points.append(CurvePoint(on, level, competency, quality, scores, better, gain))
    return points


def _value(estimate: stats.Estimate | None) -> float:
    return estimate.value if estimate is not None else -1.0


def curve_tables(points: Sequence[CurvePoint]) -> list[Table]:
    """For each kind of noise a table of competencies and levels."""
    return [
        curve_table(on, [point for point in points if point.noisy == on])
        for on in dict.fromkeys(point.noisy for point in points)
    ]


def curve_table(on: Noisy, points: Sequence[CurvePoint]) -> Table:
    """The competencies and levels of one kind of noise."""
    by_competency: dict[Competency | None, list[CurvePoint]] = {}
    for point in points:
        by_competency.setdefault(point.competency, []).append(point)
    same = [name for name, part in by_competency.items() if name is not None and not _differ(part)]
    rows: list[list[Cell]] = [
        [
            competency or "macro mean",
            point.level,
            point.quality,
            *(point.scores[name] for name in SOLVERS),
            point.better,
            point.gain,
        ]
        for competency, part in by_competency.items()
        if competency not in same
        for point in part
    ]
    return Table.of(
        f"scene.curve_{on.replace(' ', '_')}",
        f"The solvers on graphs with noise on {on}",
        [
            Column("competency", "competency"),
            Column("noise", "noise", "number"),
            Column("quality", "SGC of the graph", "share", "scene.sgc"),
            *(Column(name, name, "share", "scene.solver_curve") for name in SOLVERS),
            Column("better", "better of the other two"),
            Column("gain", "fused − better", "points", "scene.solver_curve"),
        ],
        rows,
        [f"The solvers agree at every level on {', '.join(same)}: the graph states these answers."]
        if same
        else (),
    )


def _differ(points: Sequence[CurvePoint]) -> bool:
    """True if the solvers score differently at some level."""
    return any(np.ptp([_value(estimate) for estimate in point.scores.values()]) > 0 for point in points)
