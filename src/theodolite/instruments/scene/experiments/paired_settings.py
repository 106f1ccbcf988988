"""Questions that were answered in two settings, side by side; and the share of each status in one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from theodolite import stats
from theodolite.instruments.scene.data.questions import Layer, Question
from theodolite.instruments.scene.estimates import Alternative, Drawn
from theodolite.instruments.scene.formulas.derived import group_codes, scores_of
from theodolite.instruments.scene.formulas.sgc import Comparison
from theodolite.instruments.scene.results import QaRow


@dataclass(frozen=True, slots=True)
class QaCount:
    """What became of the questions of one setting."""

    setting: str
    asked: int
    pending: int
    failed: int
    """No answer came: of the server, the connection …"""
    refused: int
    unreadable: int
    """Answered, but nothing could be read in it."""
    ambiguous: int
    """Answered, with several answers."""
    without_graph: int
    """Not asked, because the model gave no graph to put into the prompt. Counted as wrong."""


@dataclass(frozen=True, slots=True, eq=False)
class QaScores:
    """The scores of one setting, as arrays."""

    questions: tuple[Question, ...]
    values: NDArray[np.float64]
    groups: NDArray[np.int64]
    scenes: tuple[str, ...]

    def macro(self, drawn: Drawn) -> stats.Estimate | None:
        """The mean over groups."""
        return drawn.macro(self.values, self.groups, self.scenes)

    def layer(self, layer: Layer | None) -> QaScores:
        """The atomic or the compositional questions; all for None."""
        keep = [i for i, question in enumerate(self.questions) if layer is None or question.layer == layer]
        return QaScores(
            tuple(self.questions[i] for i in keep),
            self.values[keep],
            self.groups[keep],
            tuple(self.scenes[i] for i in keep),
        )


def qa_scores(
    rows: Mapping[str, QaRow], *, comparison: Comparison = "<", without_graph: Sequence[Question] = ()
) -> QaScores:
    """The scores of every question that the model had its say on; refused and unreadable score 0.

    Args:
        rows: of one setting, by question.
        comparison: of MRA.
        without_graph: questions that could not be asked for want of a graph; they score 0 too.
    """
    measured = [row for row in rows.values() if row.is_measured]
    questions = (*(row.question for row in measured), *without_graph)
    values = [*(row.answer.value for row in measured), *(None for _ in without_graph)]
    return QaScores(
        questions,
        scores_of(questions, values, comparison=comparison),
        group_codes(questions),
        tuple(question.scene for question in questions),
    )


@dataclass(frozen=True, slots=True, eq=False)
class Paired:
    """The same questions in two settings."""

    questions: tuple[Question, ...]
    first: NDArray[np.float64]
    second: NDArray[np.float64]
    groups: NDArray[np.int64]
    scenes: tuple[str, ...]

    def gain(self, drawn: Drawn, layer: Layer | None = None) -> stats.Estimate | None:
        """Macro mean of second − first."""
        keep = self._places(layer)
        scenes = [self.scenes[i] for i in keep]
        return drawn.difference(self.second[keep], self.first[keep], self.groups[keep], scenes)

    def test(
        self, drawn: Drawn, layer: Layer | None = None, *, alternative: Alternative = "two-sided"
    ) -> stats.HypothesisTest | None:
        """Whether the second differs from the first, or is larger ("greater") or smaller ("less")."""
        keep = self._places(layer)
        scenes = [self.scenes[i] for i in keep]
        return drawn.test(
            self.second[keep], self.first[keep], scenes, groups=self.groups[keep], alternative=alternative
        )

    def _places(self, layer: Layer | None) -> list[int]:
        return [i for i, question in enumerate(self.questions) if layer is None or question.layer == layer]


def paired(
    first: Mapping[str, QaRow], second: Mapping[str, QaRow], *, comparison: Comparison = "<"
) -> Paired:
    """The questions that the model had its say on in both settings."""
    keys = [
        key for key, row in first.items() if row.is_measured and key in second and second[key].is_measured
    ]
    questions = tuple(first[key].question for key in keys)
    sides = [
        scores_of(questions, [rows[key].answer.value for key in keys], comparison=comparison)
        for rows in (first, second)
    ]
    return Paired(
        questions, sides[0], sides[1], group_codes(questions), tuple(question.scene for question in questions)
    )


def qa_count(setting: str, rows: Mapping[str, QaRow], without_graph: int = 0) -> QaCount:
    """Counts a setting."""
    statuses = Counter(row.status for row in rows.values())
    read = Counter(row.answer.status for row in rows.values() if row.is_measured)
    return QaCount(
        setting,
        asked=statuses["answered"] + statuses["refused"],
        pending=statuses["pending"],
        failed=statuses["failed"],
        refused=read["refused"],
        unreadable=read["unparsed"],
        ambiguous=read["ambiguous"],
        without_graph=without_graph,
    )


def share_of(rows: Mapping[str, QaRow], statuses: Sequence[str], drawn: Drawn) -> stats.Estimate | None:
    """The share of answers that were read so, scenes drawn whole."""
    measured = [row for row in rows.values() if row.is_measured]
    return drawn.mean(
        [row.answer.status in statuses for row in measured], [row.question.scene for row in measured]
    )
