"""The options of a question that are given in fields."""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping, Sequence
from typing import Any

from theodolite.answers.listed_options import LETTERS, Offered
from theodolite.models.tables import Row, first

__all__ = ["given_options"]


def given_options(row: Row) -> Offered:
    """The options in the fields of a row: a list, an object by letter, text, or one field for each letter."""
    found = first(row, "options")
    if isinstance(found, str):
        found = _listed(found)
    if isinstance(found, Mapping):
        found = list(found.values())
    if not isinstance(found, Sequence) or not found:
        found = _lettered_fields(row)
    return tuple(str(option).strip() for option in found)


def _listed(text: str) -> list[Any]:
    """Options in one cell: a list in JSON or Python, or separated by ``|``, ``;`` or line breaks."""
    text = text.strip()
    if text[:1] in "[({":
        try:
            value = ast.literal_eval(text)
        except (ValueError, SyntaxError, MemoryError, RecursionError):
            value = None
        if isinstance(value, dict):
            return list(value.values())
        if isinstance(value, list | tuple):
            return list(value)
    mark = next((mark for mark in ("|", ";", "\n") if mark in text), ",")
    return [part.strip() for part in text.split(mark) if part.strip()]


def _lettered_fields(row: Row) -> list[Any]:
    names = {
        re.sub(r"^(?:option|choice)[\s_-]*", "", name.strip(), flags=re.IGNORECASE).upper(): name
        for name in row
    }
    found = []
    for letter in LETTERS:
        value = row.get(names.get(letter, ""))
        if value is None or not str(value).strip() or str(value) == "nan":
            break
        found.append(value)
    return found if len(found) > 1 else []
