"""Derived QA and self-consistency: the answers that the model's own graph implies."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from theodolite.instruments.scene.data.files import SceneQuestion
from theodolite.instruments.scene.formulas.mra import MraComparison, Value, agreement, score_values
from theodolite.instruments.scene.formulas.solver import SolvedAnswer, Solver, SolverName
from theodolite.instruments.scene.results import AnswerResult, SceneResults

# Self-consistency: whether the model answers what its own graph implies (CRISP, section 3.3).
#
# The answer that the solver derives from the model's graph is scored with the model's direct answer as gold: 1 or 0 of a choice,
# MRA of a number. It is 0 if either is missing.
#
# Some agreement is due to chance: a model that always says "A" agrees with any graph that implies "A". Chance agreement is what is
# left when direct answers are exchanged between questions of one domain and kind.


_ROUNDS = 8


def self_consistency(
    questions: Sequence[SceneQuestion],
    derived: Sequence[Value],
    direct: Sequence[Value],
    *,
    comparison: MraComparison = "<",
) -> NDArray[np.float64]:
    """Return the self-consistency of each question.

    Args:
        questions: What was asked.
        derived: The answers that the model's graph implies.
        direct: The model's own answers.
        comparison: How MRA compares numbers.
    """
    return agreement(questions, derived, direct, comparison=comparison)


def chance_agreement(
    questions: Sequence[SceneQuestion],
    values: Sequence[Value],
    references: Sequence[Value],
    *,
    comparison: MraComparison = "<",
    seed: int,
) -> NDArray[np.float64]:
    """Return the agreement of each question when references are permuted among questions of one domain and kind.

    Args:
        questions: What was asked.
        values: The answers to score.
        references: The answers taken as gold.
        comparison: How MRA compares numbers.
        seed: Seed of the permutations; the mean over several is taken.
    """
    if not questions:
        return np.zeros(0)
    cells: dict[tuple[str, str, int], list[int]] = {}
    for i, question in enumerate(questions):
        cells.setdefault((question.domain, question.kind, len(question.options)), []).append(i)
    rng = np.random.default_rng(seed)
    total = np.zeros(len(questions))
    for _ in range(_ROUNDS):
        permuted: list[Value] = [None] * len(questions)
        for cell in cells.values():
            for row, other in zip(cell, rng.permutation(cell), strict=True):
                permuted[row] = references[other]
        total += agreement(questions, values, permuted, comparison=comparison)
    return total / _ROUNDS


# Derived QA: the score of the answers that a solver derives from the model's own graph (CRISP, section 3.3).
#
# Three answers to each question are compared: the model's direct one, the one its own graph implies, and the one the true graph
# implies. The score of the last is the solver's ceiling: derived QA and self-consistency cannot be expected to exceed it. A
# question is *solvable* if its ceiling is at least 0.9; below, a derived answer says more about the solver than about the graph.
# The solver's own error is never the model's: where the solver is wrong even with the true graph, its wrong answer says nothing
# about the model's.


SOLVABLE = 0.9
"""The smallest ceiling of a solvable question."""

FloatArray = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class ScoreOptions:
    """How answers are scored and derived. The defaults define the metrics' plain keys."""

    solver: SolverName = "fused"
    comparison: MraComparison = "<"
    """Of MRA: the paper's ``<``, or the public code's ``<=``."""
    seed: int = 0
    """Of tests and bootstraps."""

    @property
    def suffix(self) -> str:
        """What keys of metrics end in under these options: empty for the defaults.

        >>> ScoreOptions().suffix, ScoreOptions("geometric").suffix, ScoreOptions("upstream", "<=").suffix
        ('', ':geometric', ':upstream-le')
        """
        words = [self.solver] * (self.solver != "fused") + ["le"] * (self.comparison == "<=")
        return f":{'-'.join(words)}" if words else ""


@dataclass(frozen=True, slots=True)
class DerivedCase:
    """One question with its three answers."""

    result: AnswerResult
    """The direct answer, given with the picture."""
    derived: SolvedAnswer
    """From the model's own graph."""
    from_truth: SolvedAnswer
    """From the true graph."""

    @property
    def question(self) -> SceneQuestion:
        """What was asked."""
        return self.result.question


@dataclass(frozen=True, slots=True, eq=False)
class DerivedCases:
    """Questions of the base setting, with their scores as arrays."""

    cases: tuple[DerivedCase, ...]
    base: FloatArray
    derived: FloatArray
    ceiling: FloatArray
    consistency: FloatArray
    chance: FloatArray
    """Chance agreement."""
    solver: SolverName
    """By which answers are derived."""
    has_graph: NDArray[np.bool_]
    """True if the model was asked for its graph of the scene, and answered or refused."""

    @property
    def scenes(self) -> list[str]:
        """Of the questions: the clusters."""
        return [case.question.scene for case in self.cases]

    @property
    def groups(self) -> list[str]:
        """Of the questions."""
        return [case.question.group_name for case in self.cases]

    @property
    def is_solvable(self) -> NDArray[np.bool_]:
        """True where the solver is right with the true graph."""
        return self.ceiling >= SOLVABLE

    @property
    def beyond_derived(self) -> FloatArray:
        """What direct answers score beyond derived ones, as far as the solver can follow: min(base, ceiling) − derived."""
        return np.asarray(np.minimum(self.base, self.ceiling) - self.derived)

    def where(self, keep: NDArray[np.bool_]) -> DerivedCases:
        """Return some of the questions."""
        rows = np.flatnonzero(keep)
        names = ("base", "derived", "ceiling", "consistency", "chance", "has_graph")
        kept = {name: getattr(self, name)[rows] for name in names}
        return replace(self, cases=tuple(self.cases[i] for i in rows), **kept)


def derived_qa(results: SceneResults, options: ScoreOptions | None = None) -> DerivedCases:
    """Score every measured question of the base setting, and the answers that its own graph and the true graph imply."""
    options = options or ScoreOptions()
    graphs = results.measured_graphs("base")
    own = {scene: row.reading.graph for scene, row in graphs.items()}
    own_solvers = {s: Solver(graph, options.solver) for s, graph in own.items() if graph is not None}
    true = {scene: results.true_graph(scene) for scene in results.domains}
    true_solvers = {s: Solver(graph, options.solver) for s, graph in true.items() if graph is not None}
    cases = tuple(
        DerivedCase(row, _solved(own_solvers, row.question), _solved(true_solvers, row.question))
        for row in results.answers("base").values()
        if row.is_measured
    )
    questions = [case.question for case in cases]
    direct = [case.result.answer.value for case in cases]
    derived = [case.derived.value for case in cases]
    how = options.comparison
    return DerivedCases(
        cases,
        base=score_values(questions, direct, comparison=how),
        derived=score_values(questions, derived, comparison=how),
        ceiling=score_values(questions, [case.from_truth.value for case in cases], comparison=how),
        consistency=self_consistency(questions, derived, direct, comparison=how),
        chance=chance_agreement(questions, derived, direct, comparison=how, seed=options.seed),
        solver=options.solver,
        has_graph=np.array([question.scene in graphs for question in questions], bool),
    )


def _solved(solvers: Mapping[str, Solver], question: SceneQuestion) -> SolvedAnswer:
    solver = solvers.get(question.scene)
    return solver.solve(question) if solver is not None else SolvedAnswer(reason="no graph")


def unsolved_reasons(cases: Iterable[DerivedCase]) -> Mapping[str, int]:
    """Count why graphs imply no answer, the most frequent reason first."""
    return dict(Counter(case.derived.reason for case in cases if not case.derived.is_solved).most_common())
