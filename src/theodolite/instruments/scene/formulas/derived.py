"""What each question gets from the model directly, from the model's own graph, and from the true graph."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from theodolite.instruments.scene.data.graph import StarGraph
from theodolite.instruments.scene.data.questions import GROUPS, Question
from theodolite.instruments.scene.formulas.sgc import Comparison, mean_relative_accuracy
from theodolite.instruments.scene.formulas.solver import Derived, Solver, Solving
from theodolite.instruments.scene.reading.answer import Answer
from theodolite.instruments.scene.results import SceneRows

DERIVABLE = 0.9
"""A question counts as derivable if the solver scores at least this with the true graph: below it, a derived answer says
more of the solver than of the graph."""

FloatArray = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Case:
    """One question with all its answers."""

    question: Question
    direct: Answer
    """What the model said, with the picture."""
    derived: Derived
    """What its own graph says."""
    from_truth: Derived
    """What the true graph says."""


@dataclass(frozen=True, slots=True, eq=False)
class Cases:
    """Every question of the base setting, with its scores as arrays."""

    cases: tuple[Case, ...]
    groups: NDArray[np.int64]
    scenes: tuple[str, ...]
    base: FloatArray
    derived: FloatArray
    ceiling: FloatArray
    """Of the solver: the true graph's answer against the gold."""
    agreement: FloatArray
    """The derived answer scored with the direct one as reference: the self-consistency of the question."""
    chance: FloatArray
    """The same with direct answers exchanged between questions of one kind: what agreement comes of nothing."""

    @property
    def is_derivable(self) -> NDArray[np.bool_]:
        """Where the solver is right with the true graph."""
        return self.ceiling >= DERIVABLE

    def where(self, keep: NDArray[np.bool_]) -> Cases:
        """Some of the questions."""
        places = np.flatnonzero(keep)
        return Cases(
            tuple(self.cases[i] for i in places),
            self.groups[places],
            tuple(self.scenes[i] for i in places),
            *(getattr(self, name)[places] for name in ("base", "derived", "ceiling", "agreement", "chance")),
        )


def scores_of(
    questions: Iterable[Question], values: Iterable[str | float | None], *, comparison: Comparison = "<"
) -> FloatArray:
    """Accuracy or MRA of many answers at once; None scores 0."""
    asked, given = list(questions), list(values)
    found = np.zeros(len(asked))
    numeric = [i for i, question in enumerate(asked) if question.form == "number"]
    for i, question in enumerate(asked):
        if question.form == "choice":
            found[i] = given[i] == question.gold
    if numeric:
        said = [_as_number(given[i]) for i in numeric]
        golds = [asked[i].gold_number for i in numeric]
        found[numeric] = mean_relative_accuracy(said, golds, comparison=comparison)
    return found


def agreement_of(
    questions: Iterable[Question],
    values: Iterable[str | float | None],
    references: Iterable[str | float | None],
    *,
    comparison: Comparison = "<",
) -> FloatArray:
    """Answers scored with other answers as reference; 0 where either is missing, or the reference is not above zero."""
    asked, given, against = list(questions), list(values), list(references)
    found = np.zeros(len(asked))
    numeric = [i for i, question in enumerate(asked) if question.form == "number"]
    for i, question in enumerate(asked):
        if question.form == "choice":
            found[i] = given[i] is not None and given[i] == against[i]
    if numeric:
        said, other = ([_as_number(part[i]) for i in numeric] for part in (given, against))
        found[numeric] = mean_relative_accuracy(said, other, comparison=comparison)
    return found


def _as_number(value: str | float | None) -> float:
    return float(value) if isinstance(value, float | int) else float("nan")


def group_codes(questions: Iterable[Question]) -> NDArray[np.int64]:
    """The place of each question's group among the nine."""
    return np.array([GROUPS.index(question.group) for question in questions], np.int64)


def derive(rows: SceneRows, *, reading: Solving, comparison: Comparison, seed: int) -> Cases:
    """Every question that was measured in the base setting, with its own graph's and the true graph's answer."""
    measured = [row for row in rows.of("base").values() if row.is_measured]
    graphs = rows.graphs.get("base", {})
    own = _solvers(lambda scene: graphs[scene].reading.graph if scene in graphs else None, reading)
    true = _solvers(rows.true_graph, reading)
    cases = tuple(
        Case(
            row.question,
            row.answer,
            own(row.question.scene)(row.question),
            true(row.question.scene)(row.question),
        )
        for row in measured
    )
    questions = [case.question for case in cases]
    direct = [case.direct.value for case in cases]
    derived = [case.derived.value for case in cases]
    return Cases(
        cases,
        group_codes(questions),
        tuple(question.scene for question in questions),
        base=scores_of(questions, direct, comparison=comparison),
        derived=scores_of(questions, derived, comparison=comparison),
        ceiling=scores_of(questions, [case.from_truth.value for case in cases], comparison=comparison),
        agreement=agreement_of(questions, derived, direct, comparison=comparison),
        chance=chance_agreement(questions, derived, direct, comparison=comparison, seed=seed),
    )


def _solvers(
    graph_of: Callable[[str], StarGraph | None], reading: Solving
) -> Callable[[str], Callable[[Question], Derived]]:
    """The solver of each scene, made when it is first asked."""
    made: dict[str, Callable[[Question], Derived]] = {}

    def of(scene: str) -> Callable[[Question], Derived]:
        if scene not in made:
            graph = graph_of(scene)
            made[scene] = Solver(graph, reading).solve if graph is not None else _no_graph
        return made[scene]

    return of


def _no_graph(_: Question) -> Derived:
    return Derived(reason="no graph")


def chance_agreement(
    questions: list[Question],
    values: list[str | float | None],
    references: list[str | float | None],
    *,
    comparison: Comparison = "<",
    seed: int,
    n_rounds: int = 8,
) -> FloatArray:
    """The agreement that is left when references are dealt anew among questions of one domain and kind."""
    if not questions:
        return np.zeros(0)
    cells: dict[tuple[str, str, int], list[int]] = {}
    for i, question in enumerate(questions):
        cells.setdefault((question.domain, question.kind, len(question.options)), []).append(i)
    rng = np.random.default_rng(seed)
    total = np.zeros(len(questions))
    for _ in range(n_rounds):
        dealt: list[str | float | None] = [None] * len(questions)
        for places in cells.values():
            for place, other in zip(places, rng.permutation(places), strict=True):
                dealt[place] = references[other]
        total += agreement_of(questions, values, dealt, comparison=comparison)
    return total / n_rounds


def failure_reasons(cases: Iterable[Case]) -> Mapping[str, int]:
    """Why graphs gave no answer, counted."""
    found: dict[str, int] = {}
    for case in cases:
        if not case.derived.is_solved:
            found[case.derived.reason] = found.get(case.derived.reason, 0) + 1
    return dict(sorted(found.items(), key=lambda pair: -pair[1]))
