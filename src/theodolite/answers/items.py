"""Answers of measured items: each item says in its meta what form of answer it asks for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from theodolite.answers.formats import Answer, AnswerFormat
from theodolite.answers.plain import normal_form
from theodolite.answers.reading import read_answer
from theodolite.core.types import Item, Json, Record

__all__ = ["FORMAT", "format_from_json", "format_of", "format_to_json", "is_right", "read_record"]

FORMAT = "format"
"""The key of an item's meta that holds the form of its answer."""


def format_to_json(expected: AnswerFormat) -> dict[str, Json]:
    """What an item's meta stores under `FORMAT`."""
    fields: dict[str, Json] = {
        "kind": expected.kind,
        "options": dict(expected.options),
        "style": expected.style,
        "unit": expected.unit,
        "subject": expected.subject,
        "object": expected.object,
    }
    return {name: value for name, value in fields.items() if value}


def format_from_json(fields: Mapping[str, Any]) -> AnswerFormat:
    """The form of answer that `format_to_json` wrote."""
    return AnswerFormat(**{**fields, "options": dict(fields.get("options") or {})})


def format_of(item: Item) -> AnswerFormat:
    """The form of answer that an item asks for; an item that does not say asks for one of its options, or for text.

    >>> from theodolite.core.types import Request
    >>> asked = AnswerFormat.number("m")
    >>> format_of(Item("a", Request.ask("How far?"), meta={FORMAT: format_to_json(asked)})) == asked
    True
    """
    stored = item.meta.get(FORMAT)
    if isinstance(stored, Mapping):
        return format_from_json(cast("Mapping[str, Any]", stored))
    return AnswerFormat.choice(list(item.options)) if item.options else AnswerFormat.text()


def read_record(item: Item, record: Record | None) -> Answer:
    """The answer to an item: the most probable option where options were scored, else what its text says.

    Returns:
        Never raises. A response that was refused or failed, and an item that was not asked, have their own statuses.
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
    return read_answer(response.text, format_of(item), is_cut_off=is_cut_off, reasoning=response.reasoning)


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
