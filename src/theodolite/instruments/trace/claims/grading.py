"""The final answer of a trace, and its score."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from theodolite.answers import (
    Answer,
    AnswerFormat,
    cut_note,
    guarded,
    normal_form,
    outer_layers,
    read_answer,
)
from theodolite.answers.grading import Grade
from theodolite.answers.items import format_from_json
from theodolite.answers.reading import with_note
from theodolite.instruments.trace.claims.steps import read_steps

__all__ = ["final_answer", "grade", "is_right_answer"]

_TAGGED = "in an answer tag"
_MERELY_NAMED = frozenset({"the only one named", "in the last sentence", "the whole text"})
"""Where `theodolite.answers` found an answer that is neither tagged, announced nor concluded, and does not open the text."""


def is_right_answer(answer: str, gold: str, *, has_options: bool) -> bool | None:
    """True if an answer that was read is the right one; None if there is no right answer.

    The answer to an open question is right if it contains the words of the right answer.

    >>> is_right_answer("The **cup** falls.", "cup", has_options=False), is_right_answer("", "cup", has_options=False)
    (True, False)
    """
    if not gold:
        return None
    said, right = normal_form(answer), normal_form(gold)
    return said == right if has_options else f" {right} " in f" {said} "


def grade(text: str, rubric: Mapping[str, Any], *, is_cut_off: bool = False, reasoning: str = "") -> Grade:
    """The final answer of a trace and its score (`theodolite.answers.grading`)."""
    expected = format_from_json(rubric["format"])
    answer = final_answer(text, expected, is_cut_off=is_cut_off, reasoning=reasoning)
    said = str(answer.value) if answer.is_read else ""
    golds = [is_right_answer(said, gold, has_options=bool(expected.options)) for gold in rubric["golds"]]
    return Grade(answer, float(any(golds)) if golds else None)


def final_answer(
    text: str, expected: AnswerFormat, *, is_cut_off: bool = False, reasoning: str = ""
) -> Answer:
    r"""The final answer of a trace, as `theodolite.answers` reads it.

    Steps name options all the time, so if the text holds steps, an option that is merely named in it is not an answer. Steps
    in JSON need an answer field.

    >>> sides = AnswerFormat.choice(("left", "right"), style="word")
    >>> final_answer("Step 1: A cup is left of a box. Step 2: It is gone.", sides).status
    'unreadable'
    >>> final_answer("Step 1: A cup is left of a box.\nFinal answer: nowhere", sides).status
    'none of these'
    """
    answer = guarded(
        lambda text, reasoning: _final_answer(text, expected, is_cut_off=is_cut_off, reasoning=reasoning),
        text,
        reasoning,
        unread=lambda why: Answer("unreadable", reason=why),
    )
    return with_note(answer, cut_note(text, reasoning))


def _final_answer(text: str, expected: AnswerFormat, *, is_cut_off: bool, reasoning: str) -> Answer:
    found = read_answer(text, expected, is_cut_off=is_cut_off, reasoning=reasoning)
    read = read_steps(text, reasoning=reasoning)
    is_weak = found.reason in _MERELY_NAMED or (read.is_json and not found.reason.startswith(_TAGGED))
    if found.is_read and not (is_weak and read.has_steps and not read.is_answer_apart):
        return found
    layers = outer_layers(text)
    announced = layers.tagged or layers.line
    if announced and expected.options and (found.is_read or found.status in {"unreadable", "ambiguous"}):
        found = read_answer(announced, expected, is_cut_off=is_cut_off)
        if found.status == "unreadable":
            return Answer("none of these", reason=f"announces {announced!r:.60}, which is not an option")
        return found
    is_from_steps = found.is_read or found.reason.startswith("names several")
    return Answer("unreadable", reason="announces no answer") if is_from_steps else found
