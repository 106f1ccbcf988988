"""The solver's ceiling: its score on true graphs. Derived QA and self-consistency cannot be expected to exceed it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from theodolite import stats
from theodolite.core.tables import Column, Table
from theodolite.instruments.scene.data.graph import Domain, SceneGraph
from theodolite.instruments.scene.data.questions import GROUPS, SceneQuestion, group_name
from theodolite.instruments.scene.experiments.paired import FloatArray, macro_mean
from theodolite.instruments.scene.formulas.layout import triangles
from theodolite.instruments.scene.formulas.mra import MraComparison, score_values
from theodolite.instruments.scene.formulas.solver import SOLVERS, Solver, SolverName

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
    """Answers every question from its scene's true graph, with each solver.

    Args:
        scenes: By id.
        questions: About them.
        comparison: How MRA compares numbers.
    """
    asked = list(questions)
    found = []
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
                found.append(_ceiling(solvers, domain, part, values[keep], failed))
    return tuple(found)


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
    """For each solver a table of groups by domain."""
    return [
        _solver_table(name, [each for each in ceilings if each.solver == name])
        for name in dict.fromkeys(each.solver for each in ceilings)
    ]


def _solver_table(name: SolverName, ceilings: Sequence[SolverCeiling]) -> Table:
    groups = dict.fromkeys(group for each in ceilings for group in each.groups)
    notes = [
        f"{each.domain or 'overall'}: {each.n_questions} questions, {sum(each.failed.values())} without an answer; "
        f"{each.impossible_triangles} of {each.triangles} triangles are impossible."
        for each in ceilings
    ]
    return Table.of(
        f"scene.ceiling_{name}",
        f"The {name} solver on true graphs",
        [
            Column("group", "group"),
            *(
                Column(each.domain or "overall", each.domain or "overall", "share", "scene.ceiling")
                for each in ceilings
            ),
        ],
        [
            *([group, *(each.groups.get(group) for each in ceilings)] for group in groups),
            ["macro mean", *(each.macro for each in ceilings)],
        ],
        notes,
    )
