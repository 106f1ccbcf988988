"""MRA, and the score of an answer: accuracy of a choice, mean relative accuracy of a number (CRISP, section 3.3).

For an answer ŷ to a question whose gold is y:

- choice: 1 if the letters are equal, else 0
- number: MRA = 1/10 Σ_θ 1[ |ŷ − y| / y < 1 − θ ],  θ = 0.50, 0.55 … 0.95

The paper writes ``<``; its public code, like VSI-Bench's, computes ``<=``. ``<`` is the default.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

if TYPE_CHECKING:
    from theodolite.instruments.scene.data.files import SceneQuestion

MraComparison: TypeAlias = Literal["<", "<="]
"""The paper's comparison, and the public code's."""
Value: TypeAlias = str | float | None
"""A letter, a number of metres, or no answer."""

_SHARES = np.arange(50, 0, -5) / 100
"""1 − θ: 0.50, 0.45 … 0.05."""
_ROUNDING = 1e-9
"""Of a relative error: far below the steps of two decimals, far above the rounding of doubles."""


def mean_relative_accuracy(
    answers: ArrayLike, golds: ArrayLike, *, comparison: MraComparison = "<"
) -> NDArray[np.float64]:
    """Return the MRA of each answer.

    The two comparisons differ for answers exactly on a threshold, so errors within rounding of a threshold count as on it.

    Args:
        answers: Numbers; NaN means no answer and scores 0.
        golds: Above zero.
        comparison: Comparison of the relative error with 1 − θ.

    >>> [float(mean_relative_accuracy([1.5, 1.05], [1, 1], comparison=c)[i]) for i in (0, 1) for c in ("<", "<=")]
    [0.0, 0.1, 0.9, 1.0]
    """
    given, true = np.broadcast_arrays(np.asarray(answers, np.float64), np.asarray(golds, np.float64))
    with np.errstate(invalid="ignore", over="ignore", divide="ignore"):
        errors = np.abs(given - true) / true
    errors = np.where(np.isfinite(errors) & (true > 0), errors, np.inf)[..., None]
    slack = -_ROUNDING if comparison == "<" else _ROUNDING
    return np.asarray((errors < _SHARES + slack).mean(axis=-1))


def score_values(
    questions: Sequence[SceneQuestion], values: Sequence[Value], *, comparison: MraComparison = "<"
) -> NDArray[np.float64]:
    """Return the score of each answer; 0 without an answer.

    Args:
        questions: What was asked.
        values: The answers to score.
        comparison: How MRA compares numbers.
    """
    golds = [q.gold_number if q.form == "number" else q.gold for q in questions]
    return agreement(questions, values, golds, comparison=comparison)


def agreement(
    questions: Sequence[SceneQuestion],
    values: Sequence[Value],
    references: Sequence[Value],
    *,
    comparison: MraComparison = "<",
) -> NDArray[np.float64]:
    """Score answers with other answers as gold; 0 if either is missing, or the reference is not above zero.

    Args:
        questions: What was asked.
        values: The answers to score.
        references: The answers taken as gold.
        comparison: How MRA compares numbers.
    """
    scores = np.array(
        [value is not None and value == gold for value, gold in zip(values, references, strict=True)]
    )
    scores = scores.astype(np.float64)
    numeric = [i for i, question in enumerate(questions) if question.form == "number"]
    if numeric:
        given, gold = ([_as_number(part[i]) for i in numeric] for part in (values, references))
        scores[numeric] = mean_relative_accuracy(given, gold, comparison=comparison)
    return scores


def score_value(question: SceneQuestion, value: Value, *, comparison: MraComparison = "<") -> float:
    """Return the score of one answer."""
    return float(score_values([question], [value], comparison=comparison)[0])


def _as_number(value: Value) -> float:
    return float(value) if isinstance(value, float | int) else float("nan")
