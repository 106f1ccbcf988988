"""Base QA against derived QA, question by question: where right and wrong come from.

========================  ==========================================================================================
grounded success          both right
shortcut success          the model is right, its graph says otherwise
disconnect failure        the model is wrong, its graph is right
consistent hallucination  both wrong, and with the *same* answer (the public code counts any two wrong answers)
other failure             both wrong, with different answers
FAILED                    the graph gives no answer
unread                    the model gave no answer that could be read
========================  ==========================================================================================

A choice is right if its letter is. A number is right if its MRA is 1, and two numbers are the same answer if the MRA of one
with the other as reference is 1: they differ by less than 5 %.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias, get_args

import numpy as np

from theodolite import stats
from theodolite.instruments.scene.data.questions import Form
from theodolite.instruments.scene.estimates import Drawn
from theodolite.instruments.scene.formulas.derived import Case, Cases

Cell: TypeAlias = Literal[
    "grounded success",
    "shortcut success",
    "disconnect failure",
    "consistent hallucination",
    "other failure",
    "FAILED",
    "unread",
]
CELLS: tuple[Cell, ...] = get_args(Cell)
_RIGHT = 1 - 1e-9


@dataclass(frozen=True, slots=True)
class Confusion:
    """How the questions of one form are spread over the cells."""

    form: Form
    counts: Mapping[Cell, int]
    shares: Mapping[Cell, stats.Estimate]
    """Of all questions of this form, scenes drawn whole."""
    by_row: Mapping[str, int]
    """The full table: ``<right|wrong|unread> / <right|wrong|FAILED>`` of base and derived answer."""


@dataclass(frozen=True, slots=True)
class PickedCase:
    """A question that shows what a cell means."""

    cell: Cell
    question: str
    scene: str
    text: str
    gold: str
    direct: str
    derived: str
    sgc: float | None
    """Of the scene's graph."""


def cells_of(cases: Cases) -> list[Cell]:
    """The cell of each question."""
    return [
        _cell(case, base, derived, agreement)
        for case, base, derived, agreement in zip(
            cases.cases, cases.base, cases.derived, cases.agreement, strict=True
        )
    ]


def _cell(case: Case, base: float, derived: float, agreement: float) -> Cell:
    if not case.direct.is_read:
        return "unread"
    if not case.derived.is_solved:
        return "FAILED"
    if base >= _RIGHT:
        return "grounded success" if derived >= _RIGHT else "shortcut success"
    if derived >= _RIGHT:
        return "disconnect failure"
    return "consistent hallucination" if agreement >= _RIGHT else "other failure"


def confusion(cases: Cases, form: Form, drawn: Drawn) -> Confusion | None:
    """The matrix of one form of question; None without such questions."""
    part = cases.where(np.array([case.question.form == form for case in cases.cases], bool))
    if not part.cases:
        return None
    cells = cells_of(part)
    counts = Counter(cells)
    shares = {}
    for cell in CELLS:
        share = drawn.mean([found == cell for found in cells], part.scenes)
        if share is not None:
            shares[cell] = share
    table: Counter[str] = Counter()
    for case, base, derived in zip(part.cases, part.base, part.derived, strict=True):
        first = "unread" if not case.direct.is_read else "right" if base >= _RIGHT else "wrong"
        second = "FAILED" if not case.derived.is_solved else "right" if derived >= _RIGHT else "wrong"
        table[f"{first} / {second}"] += 1
    return Confusion(form, {cell: counts[cell] for cell in CELLS}, shares, dict(sorted(table.items())))


_PICKED: tuple[tuple[Cell, bool], ...] = (
    ("grounded success", True),
    ("shortcut success", False),
    ("disconnect failure", True),
    ("consistent hallucination", False),
)
"""The four quadrants, and whether the best or the worst graph shows it most clearly."""


def pick_cases(cases: Cases, sgc: Mapping[str, float], *, n: int = 3) -> tuple[PickedCase, ...]:
    """The clearest cases of each quadrant: successes and disconnects with the best graphs, shortcuts and hallucinations with
    the worst; derivable questions only, choices before numbers, one of a scene.
    """  # noqa: D205 - one sentence
    cells = cells_of(cases)
    picked = []
    for cell, is_best in _PICKED:
        places = [i for i, found in enumerate(cells) if found == cell and cases.is_derivable[i]]
        places.sort(
            key=lambda i: (
                cases.cases[i].question.form == "number",
                (-1 if is_best else 1) * sgc.get(cases.scenes[i], 0.0),
                cases.cases[i].question.layer == "atomic",
                cases.cases[i].question.id,
            )
        )
        seen: set[str] = set()
        for i in places:
            if len(seen) == n:
                break
            if cases.scenes[i] not in seen:
                seen.add(cases.scenes[i])
                picked.append(_picked(cell, cases.cases[i], sgc.get(cases.scenes[i])))
    return tuple(picked)


def _picked(cell: Cell, case: Case, sgc: float | None) -> PickedCase:
    question = case.question
    return PickedCase(
        cell,
        question.id,
        question.scene,
        question.lines,
        question.gold,
        str(case.direct.value),
        str(case.derived.value),
        sgc,
    )
