"""The options of a question, given in fields or in its own words, and the right one among them."""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping, Sequence
from typing import Any

from theodolite.answers import normal_form
from theodolite.instruments.ask.data.pictures import Unusable
from theodolite.models.tables import Row, first

__all__ = ["Offered", "given_options", "named_option", "options_in_words"]

_LETTERS = "ABCDEFGHIJ"
_MARK = re.compile(r"(?<![\w'])\(?([A-J])\s?[).:]\s*(?=\S)")
_LISTED = re.compile(r"\b(?:one of|choose from|options)\b[^:\n]{0,40}:\s*([^\n.?!]+)", re.IGNORECASE)
_END = re.compile(r"\n|(?<=[.?!])\s+(?=[A-Z])")
Offered = tuple[str, ...]


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
    for letter in _LETTERS:
        value = row.get(names.get(letter, ""))
        if value is None or not str(value).strip() or str(value) == "nan":
            break
        found.append(value)
    return found if len(found) > 1 else []


def options_in_words(text: str) -> tuple[Offered, bool]:
    """The options that a question lists itself, and whether they have letters. Empty if it lists none.

    >>> options_in_words("Where is it? A :To the left, B: On top")
    (('To the left', 'On top'), True)
    >>> options_in_words("Your answer must be exactly one of: Left, Right, or Under.")
    (('Left', 'Right', 'Under'), False)
    """
    marks = list(_MARK.finditer(text))
    starts = [i for i, mark in enumerate(marks) if mark[1] == "A"]
    for start in reversed(starts):
        run = [mark for mark, letter in zip(marks[start:], _LETTERS, strict=False) if mark[1] == letter]
        ends = [mark.start() for mark in run[1:]] + [len(text)]
        parts = [text[mark.end() : end] for mark, end in zip(run, ends, strict=True)]
        found = tuple(_END.split(part.strip())[0].strip(" ,;.") for part in parts)
        if len(found) > 1 and _are_distinct(found):
            return found, True
    listed = _LISTED.search(text)
    parts = re.split(r",\s*(?:or\s+|and\s+)?|\s+or\s+|;|\||/", listed[1]) if listed else []
    found = tuple(part.strip(" '\"") for part in parts if part.strip(" '\""))
    return (found, False) if len(found) > 1 and _are_distinct(found) else ((), False)


def _are_distinct(options: Sequence[str]) -> bool:
    normal = [normal_form(option) for option in options]
    return "" not in normal and len(set(normal)) == len(normal)


def named_option(answer: Any, options: Offered) -> str:
    """The option that an answer names: by its words, its letter or its index (from 0), or the only one with its words.

    Raises:
        Unusable: If the options are not distinct, or the answer is none of them.

    >>> [named_option(answer, ("To the left", "On top")) for answer in ("on top", "(B)", 1, "Left")]
    ['On top', 'On top', 'On top', 'To the left']
    """
    if not _are_distinct(options):
        raise Unusable("options not distinct")
    text = str(answer).strip()
    normal = {normal_form(option): option for option in options}
    if normal_form(text) in normal:
        return normal[normal_form(text)]
    lettered = re.fullmatch(r"\(?([A-Ja-j])(?:[).:]\s*(.*)|\)?)", text, flags=re.DOTALL)
    place = (
        _LETTERS.index(lettered[1].upper())
        if lettered
        else int(text)
        if re.fullmatch(r"\d{1,2}", text)
        else -1
    )
    if 0 <= place < len(options):
        return options[place]
    words = set(normal_form(text).split())
    having = [option for option in options if words and words <= set(normal_form(option).split())]
    if len(having) == 1:
        return having[0]
    raise Unusable("answer not among the options")
