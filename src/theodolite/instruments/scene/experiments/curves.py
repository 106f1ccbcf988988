"""Scores of solvers on true graphs and on graphs of graded quality."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import get_args

import numpy as np

from theodolite import stats
from theodolite.core.scores import column
from theodolite.core.tables import Cell, Column, Table
from theodolite.instruments.scene.data.files import SceneQuestion
from theodolite.instruments.scene.experiments.blind import FloatArray, macro_mean
from theodolite.instruments.scene.experiments.noise import NOISY, Noisy, noisy_graphs
from theodolite.instruments.scene.formulas.layout import triangles
from theodolite.instruments.scene.formulas.mra import MraComparison, score_values
from theodolite.instruments.scene.formulas.sgc import score_graph
from theodolite.instruments.scene.formulas.solver import SOLVERS, Solver, SolverName
from theodolite.instruments.scene.kinds import GROUPS, Competency, group_name
from theodolite.worlds.scene_graph import Domain, SceneGraph, StarGraph

# The solver's ceiling: its score on true graphs. Derived QA and self-consistency cannot be expected to exceed it.


_DOMAINS: tuple[Domain | None, ...] = (None, "indoor", "outdoor")


@dataclass(frozen=True, slots=True)
class SolverCeiling:
    """One solver on the true graphs of one domain."""

    solver: SolverName
    domain: Domain | None
    """None: all."""
    n_questions: int
    macro: stats.Estimate | None
    """The macro mean over groups."""
    groups: Mapping[str, stats.Estimate]
    failed: Mapping[str, int]
    """Questions without an answer, by reason."""
    triangles: int
    """Triangles camera–centre–object in the true graphs."""
    impossible_triangles: int
    """0 unless the data set is wrong."""


def solver_ceilings(
    scenes: Mapping[str, SceneGraph], questions: Iterable[SceneQuestion], *, comparison: MraComparison = "<"
) -> tuple[SolverCeiling, ...]:
    """Answer every question from its scene's true graph, with each solver.

    Args:
        scenes: By id.
        questions: About them.
        comparison: How MRA compares numbers.
    """
    asked = list(questions)
    ceilings = []
    for name in SOLVERS:
        solvers = {scene.id: Solver(scene.star(), name) for scene in scenes.values()}
        answers = [solvers[question.scene].solve(question) for question in asked]
        values = score_values(asked, [answer.value for answer in answers], comparison=comparison)
        reasons = [answer.reason for answer in answers]
        for domain in _DOMAINS:
            keep = [i for i, question in enumerate(asked) if domain in {None, question.domain}]
            if keep:
                part = [asked[i] for i in keep]
                failed = Counter(reasons[i] for i in keep if reasons[i])
                ceilings.append(_ceiling(solvers, domain, part, values[keep], failed))
    return tuple(ceilings)


def _ceiling(
    solvers: Mapping[str, Solver],
    domain: Domain | None,
    questions: Sequence[SceneQuestion],
    values: FloatArray,
    failed: Counter[str],
) -> SolverCeiling:
    groups = {}
    for name in (group_name(*group) for group in GROUPS):
        inside = [i for i, question in enumerate(questions) if question.group_name == name]
        estimate = stats.clustered_mean(values[inside], [questions[i].scene for i in inside])
        if estimate is not None:
            groups[name] = estimate
    checks = [triangles(solvers[scene].graph) for scene in dict.fromkeys(q.scene for q in questions)]
    return SolverCeiling(
        next(iter(solvers.values())).name,
        domain,
        n_questions=len(questions),
        macro=macro_mean(questions, values),
        groups=groups,
        failed=dict(failed.most_common()),
        triangles=sum(n for n, _ in checks),
        impossible_triangles=sum(n_impossible for _, n_impossible in checks),
    )


def ceiling_tables(ceilings: Sequence[SolverCeiling]) -> list[Table]:
    """Return for each solver a table of groups by domain."""
    return [
        _solver_table(name, [ceiling for ceiling in ceilings if ceiling.solver == name])
        for name in dict.fromkeys(ceiling.solver for ceiling in ceilings)
    ]


def _solver_table(name: SolverName, ceilings: Sequence[SolverCeiling]) -> Table:
    groups = dict.fromkeys(group for ceiling in ceilings for group in ceiling.groups)
    notes = [
        f"{ceiling.domain or 'overall'}: {ceiling.n_questions} questions, {sum(ceiling.failed.values())} without an answer; "
        f"{ceiling.impossible_triangles} of {ceiling.triangles} triangles are impossible."
        for ceiling in ceilings
    ]
    return Table.of(
        f"scene.ceiling_{name}",
        f"The {name} solver on true graphs",
        [
            Column("group", "group"),
            *(
                column("scene.ceiling", ceiling.domain or "overall", ceiling.domain or "overall")
                for ceiling in ceilings
            ),
        ],
        [
            *([group, *(ceiling.groups.get(group) for ceiling in ceilings)] for group in groups),
            ["macro mean", *(ceiling.macro for ceiling in ceilings)],
        ],
        notes,
    )


# The solvers on graphs of graded quality: how much of a graph's worth each of them gets out of it.
#
# The ceiling is a solver's score on true graphs, but models write imperfect ones. Here true graphs get noise on their words, on their
# lengths, or on both, or their lengths are rounded (`theodolite.instruments.scene.experiments.noise`), and every solver answers every question from the same graphs.


CURVE_LEVELS = (0.0, 0.05, 0.1, 0.15, 0.25, 0.4)
"""Noise levels: the relative error of lengths, and the share of pairs of words that are replaced."""
ROUNDING_M = (0.0, 0.1, 0.25, 0.5, 1.0)
"""Steps to which lengths are rounded; 0: not at all."""
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
    levels: Sequence[float] = (),
    comparison: MraComparison = "<",
    seed: int = 0,
) -> tuple[CurvePoint, ...]:
    """Answer every question from noisy graphs, with each solver.

    Args:
        graphs: The true graphs, by scene.
        questions: About them.
        noisy: What noise is put on.
        levels: How much; by default `CURVE_LEVELS`, and `ROUNDING_M` for rounding.
        comparison: How MRA compares numbers.
        seed: Seed of the noise.
    """
    curve: list[CurvePoint] = []
    true: list[CurvePoint] = []
    for on in noisy:
        for level in levels or (ROUNDING_M if on == "rounding" else CURVE_LEVELS):
            if level == 0 and true:  # no noise is the same whatever it is not put on
                curve += [
                    CurvePoint(on, p.level, p.competency, p.quality, p.scores, p.better, p.gain) for p in true
                ]
                continue
            given = noisy_graphs(graphs, level, on=on, seed=seed)
            points = _points(on, level, graphs, given, questions, comparison)
            true = points if level == 0 else true
            curve += points
    return tuple(curve)


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
    """Return for each kind of noise a table of competencies and levels."""
    return [
        curve_table(on, [point for point in points if point.noisy == on])
        for on in dict.fromkeys(point.noisy for point in points)
    ]


def curve_table(on: Noisy, points: Sequence[CurvePoint]) -> Table:
    """Return the competencies and levels of one kind of noise."""
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
        "The solvers on graphs with rounded lengths"
        if on == "rounding"
        else f"The solvers on graphs with noise on {on}",
        [
            Column("competency", "competency"),
            Column("noise", "step, m" if on == "rounding" else "noise", "number"),
            column("scene.sgc", "quality", "SGC of the graph"),
            *(column("scene.solver_curve", name, name) for name in SOLVERS),
            Column("better", "better of the other two"),
            column("scene.solver_curve", "gain", "fused − better", difference=True),
        ],
        rows,
        [f"The solvers agree at every level on {', '.join(same)}: the graph states these answers."]
        if same
        else (),
    )


def _differ(points: Sequence[CurvePoint]) -> bool:
    """Return True if the solvers score differently at some level."""
    return any(np.ptp([_value(estimate) for estimate in point.scores.values()]) > 0 for point in points)
