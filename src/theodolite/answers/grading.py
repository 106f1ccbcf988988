"""Score one answer against a *rubric*: all that is needed to read and to judge it, as JSON.

Exported items carry their rubric, so that other harnesses score answers as a run does. An instrument that reads its answers in
another way names its own function of the same form (`theodolite.instruments.instrument.Instrument.grader`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from theodolite.answers.formats import Answer, AnswerFormat
from theodolite.answers.items import format_from_json, format_to_json, is_right
from theodolite.answers.plain import normal_form
from theodolite.answers.reading import read_answer
from theodolite.core.types import Json

__all__ = ["Grade", "gold_labels", "grade", "rubric_of"]


@dataclass(frozen=True, slots=True)
class Grade:
    """What was read in an answer, and its score."""

    answer: Answer
    value: float | None
    """From 0 to 1; an answer that cannot be read has 0. None if the rubric has no right answer."""


def rubric_of(expected: AnswerFormat, golds: Sequence[str]) -> dict[str, Json]:
    """The rubric of an answer that is right if it is one of `golds`: labels of options, or words."""
    return {"format": format_to_json(expected), "golds": list(golds)}


def gold_labels(expected: AnswerFormat, golds: Sequence[str]) -> list[str]:
    """The labels of the options with these texts; texts that no option has stay as they are.

    >>> gold_labels(AnswerFormat.choice(["left", "right"], style="letter"), ["Right"])
    ['B']
    """
    labels = {normal_form(text): label for label, text in reversed(list(expected.options.items()))}
    return [labels.get(normal_form(gold), gold) for gold in golds]


def grade(text: str, rubric: Mapping[str, Any], *, is_cut_off: bool = False, reasoning: str = "") -> Grade:
    """Read an answer and score it: 1 if it is one of the right ones, else 0.

    Args:
        text: What the model wrote.
        rubric: From `rubric_of`.
        is_cut_off: True if the answer ended at the limit of tokens.
        reasoning: Thinking that was returned apart from the answer.

    >>> rubric = rubric_of(AnswerFormat.choice(["left", "right"], style="letter"), ["B"])
    >>> [grade(text, rubric).value for text in ("Answer: (B) right", "left", "I cannot see a picture.")]
    [1.0, 0.0, 0.0]
    """
    answer = read_answer(text, format_from_json(rubric["format"]), is_cut_off=is_cut_off, reasoning=reasoning)
    golds = rubric["golds"]
    return Grade(answer, float(any(is_right(answer, gold) for gold in golds)) if golds else None)
