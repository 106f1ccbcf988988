"""Base QA against derived QA, question by question: where right and wrong answers come from.

========================  ==========================================================================================
grounded success          both right
shortcut success          the model is right, its graph implies otherwise
disconnect failure        the model is wrong, its graph is right
consistent hallucination  both wrong, and with the *same* answer (the public code counts any two wrong answers)
other failure             both wrong, with different answers
no derived answer         the graph implies no answer
no direct answer          the model's answer is refused or cannot be read
solver's own error        the derived answer is wrong, and so is the one that the solver derives from the *true* graph
========================  ==========================================================================================

A choice is right if its letter is. A number is right if its MRA is 1, and two numbers are the same answer if the MRA of one
with the other as gold is 1: they differ by less than 5 %.

The last cell is the sound reading: a wrong derived answer counts against the model only if the solver is right with the true graph.
So a model that is right in everything has no shortcut success, whatever the solver. In the paper's reading that cell is empty, and
its questions count as shortcut success or as failures.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias, get_args

import numpy as np

from theodolite import stats
from theodolite.core.tables import Column, Table
from theodolite.instruments.scene.data.questions import Form
from theodolite.instruments.scene.formulas.derived_qa import DerivedCase, DerivedCases
from theodolite.instruments.scene.formulas.solver import SolverName

Cell: TypeAlias = Literal[
    "grounded success",
    "shortcut success",
    "disconnect failure",
    "consistent hallucination",
    "other failure",
    "no derived answer",
    "no direct answer",
    "solver's own error",
]
CELLS: tuple[Cell, ...] = get_args(Cell)
ConfusionReading: TypeAlias = Literal["sound", "paper"]
_RIGHT = 1 - 1e-9


@dataclass(frozen=True, slots=True)
class ConfusionMatrix:
    """The questions of one form, by cell."""

    form: Form
    counts: Mapping[Cell, int]
    shares: Mapping[Cell, stats.Estimate | None]
    """Of all questions of this form."""
    solver: SolverName
    reading: ConfusionReading = "sound"


@dataclass(frozen=True, slots=True)
class ExampleCase:
    """A question that illustrates a cell."""

    cell: Cell
    case: DerivedCase
    sgc: float
    """Of the scene's graph."""

    @property
    def title(self) -> str:
        """The question and its three answers."""
        question = self.case.question
        return (
            f"{self.cell}: {question.text}\ngold {question.gold}, answered {self.case.result.answer.value}, "
            f"its graph implies {self.case.derived.value}"
        )


def cells_of(cases: DerivedCases, reading: ConfusionReading = "sound") -> list[Cell]:
    """The cell of each question.

    Args:
        cases: The questions.
        reading: ``paper`` also counts what the solver gets wrong with the true graph against the model.
    """
    is_fair = (cases.ceiling >= _RIGHT) | (reading == "paper")
    scores = zip(cases.cases, cases.base, cases.derived, cases.consistency, is_fair, strict=True)
    return [_cell(*each) for each in scores]


def _cell(case: DerivedCase, base: float, derived: float, consistency: float, is_fair: bool) -> Cell:  # noqa: FBT001
    if not case.result.answer.is_read:
        return "no direct answer"
    if not case.derived.is_solved:
        return "no derived answer"
    if derived < _RIGHT and not is_fair:
        return "solver's own error"
    if base >= _RIGHT:
        return "grounded success" if derived >= _RIGHT else "shortcut success"
    if derived >= _RIGHT:
        return "disconnect failure"
    return "consistent hallucination" if consistency >= _RIGHT else "other failure"


def confusion_matrices(
    cases: DerivedCases, reading: ConfusionReading = "sound"
) -> tuple[ConfusionMatrix, ...]:
    """A matrix for choices and one for numbers, over questions about scenes whose graph was asked for."""
    found = []
    forms: tuple[Form, ...] = ("choice", "number")
    for form in forms:
        is_in = np.array([case.question.form == form for case in cases.cases], bool)
        part = cases.where(is_in & cases.has_graph)
        cells = cells_of(part, reading)
        if cells:
            shares = {
                cell: stats.clustered_mean([each == cell for each in cells], part.scenes) for cell in CELLS
            }
            counts = Counter(cells)
            table = {cell: counts[cell] for cell in CELLS}
            found.append(ConfusionMatrix(form, table, shares, cases.solver, reading))
    return tuple(found)


_EXAMPLES: tuple[tuple[Cell, bool], ...] = (
    ("grounded success", True),
    ("shortcut success", False),
    ("disconnect failure", True),
    ("consistent hallucination", False),
)
"""The four quadrants, and whether the best or the worst graph illustrates it best."""


def example_cases(cases: DerivedCases, sgc: Mapping[str, float], *, n: int = 3) -> tuple[ExampleCase, ...]:
    """The clearest cases of each quadrant, one per scene, choices before numbers, solvable questions only.

    Successes and disconnects are shown with the best graphs, shortcuts and hallucinations with the worst.

    Args:
        cases: To choose from.
        sgc: SGC of the scenes' graphs.
        n: The most cases of a quadrant.
    """
    cells, scenes = cells_of(cases), cases.scenes
    picked = []
    for cell, is_best in _EXAMPLES:
        places = [i for i, found in enumerate(cells) if found == cell and cases.is_solvable[i]]
        places.sort(
            key=lambda i: (
                cases.cases[i].question.form == "number",
                (-1 if is_best else 1) * sgc.get(scenes[i], 0.0),
                cases.cases[i].question.layer == "atomic",
                cases.cases[i].question.id,
            )
        )
        first = {scenes[i]: i for i in reversed(places)}
        of_scene = [i for i in places if first[scenes[i]] == i][:n]
        picked += [ExampleCase(cell, cases.cases[i], sgc.get(scenes[i], 0.0)) for i in of_scene]
    return tuple(picked)


def confusion_table(matrices: Sequence[ConfusionMatrix]) -> Table:
    """The shares of all cells, of matrices by one solver."""
    keys = {"sound": "scene.confusion", "paper": "scene.confusion_paper"}
    return Table.of(
        "scene.confusion",
        f"Base QA against derived QA; solver {matrices[0].solver}",
        [
            Column("cell", "cell"),
            *(
                Column(
                    m.form if m.reading == "sound" else f"{m.form}_paper",
                    f"{m.form}s" if m.reading == "sound" else f"{m.form}s, paper",
                    "share",
                    keys[m.reading],
                )
                for m in matrices
            ),
        ],
        [[cell, *(matrix.shares[cell] for matrix in matrices)] for cell in CELLS],
    )


def cases_table(cases: Sequence[ExampleCase]) -> Table:
    """The examples of each quadrant."""
    return Table.of(
        "scene.cases",
        "Examples of each quadrant",
        [
            Column("cell", "cell"),
            Column("question", "question"),
            Column("text", "text"),
            Column("gold", "gold"),
            Column("direct", "answered"),
            Column("derived", "its graph implies"),
            Column("sgc", "SGC", "share", "scene.sgc"),
        ],
        [
            [
                each.cell,
                each.case.question.id,
                each.case.question.lines,
                each.case.question.gold,
                str(each.case.result.answer.value),
                str(each.case.derived.value),
                each.sgc,
            ]
            for each in cases
        ],
    )
