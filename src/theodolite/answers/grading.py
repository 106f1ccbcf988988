"""Read the answers of measured items in the form that each item asks for, and score them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol, cast

from theodolite.answers.reading import Answer, read_answer
from theodolite.answers.text import normal_form
from theodolite.core.registry import registry
from theodolite.core.types import AnswerFormat, Item, Json, Record

__all__ = [
    "FORMAT",
    "Grade",
    "Grader",
    "answers_right",
    "format_from_json",
    "format_of",
    "format_to_json",
    "gold_labels",
    "golds_of",
    "grade",
    "grader_of",
    "in_words",
    "is_right",
    "read_item",
    "read_record",
    "rubric_of",
    "rubric_of_item",
]


# Answers of measured items: each item carries the form of its answer and the right ones.


FORMAT = "format"
"""The key of an item's meta that held the form of its answer before items carried their truth."""


def format_to_json(expected: AnswerFormat) -> dict[str, Json]:
    """Convert the form of an answer to the JSON of a rubric."""
    fields: dict[str, Json] = {
        "kind": expected.kind,
        "options": dict(expected.options),
        "style": expected.style,
        "unit": expected.unit,
        "subject": expected.subject,
        "object": expected.object,
        "claim": expected.claim,
    }
    return {name: value for name, value in fields.items() if value}


def format_from_json(fields: Mapping[str, Any]) -> AnswerFormat:
    """Restore the form of an answer from `format_to_json`."""
    return AnswerFormat(**{**fields, "options": dict(fields.get("options") or {})})


def format_of(item: Item) -> AnswerFormat:
    """Return the form of answer that an item asks for: from its truth, else from its options, else text.

    >>> from theodolite.core.types import Truth
    >>> from theodolite.core.types import Request
    >>> asked = AnswerFormat.number("m")
    >>> format_of(Item("a", Request.ask("How far?"), truth=Truth(format=asked))) == asked
    True
    """
    if item.truth.format is not None:
        return item.truth.format
    stored = item.meta.get(FORMAT)
    if isinstance(stored, Mapping):
        return format_from_json(cast("Mapping[str, Any]", stored))
    return AnswerFormat.choice(list(item.options)) if item.options else AnswerFormat.text()


def read_record(item: Item, record: Record | None) -> Answer:
    """Return the answer to an item: the most probable option if options were scored, else the one in its text.

    The value is the label of an option; `read_item` gives its words.

    Returns:
        The answer. Never raises: the status says if a response was refused or failed, or if the item was not asked.
    """
    if record is None:
        return Answer("unreadable", reason="not asked yet")
    response = record.response
    if response.status == "refused":
        return Answer("refused", reason=response.reason or "refused by the model or its server")
    if not response.is_answered:
        return Answer("unreadable", reason=f"failed: {response.reason}")
    if record.choice is not None:
        return Answer("value", record.choice.best, "the most probable option")
    is_cut_off = response.finish == "length"
    if item.truth.grader:
        graded = grader_of(item.truth.grader)(
            response.text, rubric_of_item(item), is_cut_off=is_cut_off, reasoning=response.reasoning
        )
        return graded.answer
    return read_answer(response.text, format_of(item), is_cut_off=is_cut_off, reasoning=response.reasoning)


def in_words(answer: Answer, expected: AnswerFormat) -> Answer:
    """Return an answer with the label of an option replaced by its words.

    >>> in_words(Answer("value", "B"), AnswerFormat.choice(["left", "right"], style="letter")).value
    'right'
    """
    words = expected.options.get(str(answer.value)) if answer.is_read else None
    return answer if words is None else replace(answer, value=words)


def read_item(item: Item, record: Record | None) -> Answer:
    """Return the answer to an item in words, for comparison with its right answers."""
    return in_words(read_record(item, record), format_of(item))


def answers_right(item: Item, answer: Answer) -> bool:
    """Return True if an answer in words is one of an item's right answers. An unreadable answer is not."""
    return any(is_right(answer, gold) for gold in golds_of(item))


def golds_of(item: Item) -> tuple[str, ...]:
    """Return the right answers of an item in words, even if its truth names options by label."""
    words = format_of(item).options
    return tuple(words.get(gold, gold) for gold in item.truth.golds)


def is_right(answer: Answer, gold: str) -> bool:
    """Return True if an answer was read and equals the gold one: numbers by value, text up to case, mark-up and punctuation.

    An answer that was refused, cut off or could not be read is never right. Accuracies count it as 0 and keep the reason.

    >>> is_right(Answer("value", 3.0), "3"), is_right(Answer("value", "Left."), "left"), is_right(Answer("refused"), "no")
    (True, True, False)
    """
    if not answer.is_read:
        return False
    if isinstance(answer.value, str):
        return normal_form(answer.value) == normal_form(gold)
    try:
        return answer.value == float(gold)
    except ValueError:
        return False


# Score one answer against a *rubric*: all that is needed to read and to judge it, as JSON.
#
# Exported items carry their rubric, so that other harnesses score answers as a run does. Items whose answers are read in
# another way name a registered grader, a function of the same form as `grade`.


@dataclass(frozen=True, slots=True)
class Grade:
    """An answer as read, and its score."""

    answer: Answer
    value: float | None
    """From 0 to 1; an answer that cannot be read has 0. None if the rubric has no right answer."""


def rubric_of(expected: AnswerFormat, golds: Sequence[str]) -> dict[str, Json]:
    """Return the rubric of a question whose right answers are `golds`: labels of options, or words."""
    return {"format": format_to_json(expected), "golds": list(golds)}


def rubric_of_item(item: Item) -> dict[str, Json]:
    """Return the rubric of an item: its form and the labels of its right answers, or what its grader needs instead."""
    own = item.meta.get("rubric")
    expected = format_of(item)
    common = rubric_of(expected, gold_labels(expected, item.truth.golds))
    return {**({} if isinstance(own, Mapping) and "task" in own else common), **cast("Any", own or {})}


class Grader(Protocol):
    """A function that reads and scores one answer."""

    def __call__(
        self, text: str, rubric: Mapping[str, Any], *, is_cut_off: bool = False, reasoning: str = ""
    ) -> Grade:
        """Read an answer and score it by its rubric."""


def grader_of(name: str) -> Grader:
    """Return a registered grader; the default one if the name is empty."""
    return cast("Grader", registry().entry("grader", name).load()) if name else grade


def gold_labels(expected: AnswerFormat, golds: Sequence[str]) -> list[str]:
    """Return the labels of the options with these texts. A text that no option has is returned unchanged.

    >>> gold_labels(AnswerFormat.choice(["left", "right"], style="letter"), ["Right"])
    ['B']
    """
    labels = {normal_form(text): label for label, text in reversed(list(expected.options.items()))}
    return [labels.get(normal_form(gold), gold) for gold in golds]


def grade(text: str, rubric: Mapping[str, Any], *, is_cut_off: bool = False, reasoning: str = "") -> Grade:
    """Read an answer and score it: 1 if it is right, else 0.

    Args:
        text: What the model wrote.
        rubric: From `rubric_of`.
        is_cut_off: True if the answer ended at the token limit.
        reasoning: Reasoning that was returned separately from the answer.

    >>> rubric = rubric_of(AnswerFormat.choice(["left", "right"], style="letter"), ["B"])
    >>> [grade(text, rubric).value for text in ("Answer: (B) right", "left", "I cannot see a picture.")]
    [1.0, 0.0, 0.0]
    """
    answer = read_answer(text, format_from_json(rubric["format"]), is_cut_off=is_cut_off, reasoning=reasoning)
    golds = rubric["golds"]
    return Grade(answer, float(any(is_right(answer, gold) for gold in golds)) if golds else None)
