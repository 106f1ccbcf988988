"""QA of one setting, and the same questions in two settings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from theodolite import stats
from theodolite.core.estimates import Alternative
from theodolite.instruments.scene.data.questions import Layer, SceneQuestion
from theodolite.instruments.scene.formulas.mra import MraComparison, score_values
from theodolite.instruments.scene.reading.results import AnswerResult

FloatArray = NDArray[np.float64]
_PERMUTATIONS = 1999


@dataclass(frozen=True, slots=True, eq=False)
class QuestionScores:
    """The scores of questions in one setting."""

    questions: tuple[SceneQuestion, ...]
    values: FloatArray

    def mean(self) -> stats.Estimate | None:
        """The macro mean over groups."""
        return macro_mean(self.questions, self.values)

    def layer(self, layer: Layer | None) -> QuestionScores:
        """The atomic or the compositional questions; all for None."""
        keep = [i for i, question in enumerate(self.questions) if layer is None or question.layer == layer]
        return QuestionScores(tuple(self.questions[i] for i in keep), self.values[keep])


def macro_mean(questions: Sequence[SceneQuestion], values: FloatArray) -> stats.Estimate | None:
    """The mean over groups of questions, clustered by scene."""
    scenes, groups = [q.scene for q in questions], [q.group_name for q in questions]
    return stats.clustered_mean(values, scenes, groups=groups)


def question_scores(
    rows: Mapping[str, AnswerResult],
    *,
    comparison: MraComparison = "<",
    without_graph: Sequence[SceneQuestion] = (),
) -> QuestionScores:
    """The scores of all measured questions of a setting; refused and unreadable answers score 0.

    Args:
        rows: Rows of one setting, by question.
        comparison: How MRA compares numbers.
        without_graph: Questions that could not be asked since there was no graph; they score 0 too.
    """
    measured = [row for row in rows.values() if row.is_measured]
    questions = (*(row.question for row in measured), *without_graph)
    values = [*(row.answer.value for row in measured), *(None for _ in without_graph)]
    return QuestionScores(questions, score_values(questions, values, comparison=comparison))


@dataclass(frozen=True, slots=True, eq=False)
class PairedScores:
    """The scores of the same questions in two settings."""

    questions: tuple[SceneQuestion, ...]
    first: FloatArray
    second: FloatArray

    @property
    def scenes(self) -> list[str]:
        """Of the questions: the clusters."""
        return [question.scene for question in self.questions]

    @property
    def groups(self) -> list[str]:
        """Of the questions."""
        return [question.group_name for question in self.questions]

    def layer(self, layer: Layer | None) -> PairedScores:
        """The atomic or the compositional questions; all for None."""
        keep = [i for i, question in enumerate(self.questions) if layer is None or question.layer == layer]
        return PairedScores(tuple(self.questions[i] for i in keep), self.first[keep], self.second[keep])

    def gain(self) -> stats.Estimate | None:
        """The macro mean of second − first."""
        return stats.clustered_difference(self.second, self.first, self.scenes, groups=self.groups)

    def test(self, seed: int, *, alternative: Alternative = "two-sided") -> stats.HypothesisTest | None:
        """Tests whether second − first is zero, by flipping signs scene by scene; None without questions.

        Differences are weighted so that the statistic is their macro mean.
        """
        if not self.questions:
            return None
        _, codes, counts = np.unique(np.asarray(self.groups), return_inverse=True, return_counts=True)
        weights = len(self.questions) / (counts.size * counts[codes])
        return stats.sign_flip_test(
            (self.second - self.first) * weights,
            clusters=self.scenes,
            alternative=alternative,
            n_permutations=_PERMUTATIONS,
            seed=seed,
        )


def paired_scores(
    first: Mapping[str, AnswerResult], second: Mapping[str, AnswerResult], *, comparison: MraComparison = "<"
) -> PairedScores:
    """The questions that were measured in both settings."""
    keys = [
        key for key, row in first.items() if row.is_measured and key in second and second[key].is_measured
    ]
    questions = tuple(first[key].question for key in keys)
    sides = [
        score_values(questions, [rows[key].answer.value for key in keys], comparison=comparison)
        for rows in (first, second)
    ]
    return PairedScores(questions, *sides)
