"""The options that a question lists in its own words, and the one that an answer key names."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from theodolite.answers.plain import normal_form

__all__ = ["LETTERS", "LONGEST_ANSWER", "NoSuchOption", "Offered", "named_option", "options_in_words"]

LETTERS = "ABCDEFGHIJ"
LONGEST_ANSWER = 12
"""The longest answer to an open question, in words. Longer ones cannot be compared with a model's words."""
_MARK = re.compile(r"(?<![\w'])\(?([A-J])\s?[).:]\s*(?=\S)")
_LISTED = re.compile(r"\b(?:one of|choose from|options)\b[^:\n]{0,40}:\s*([^\n.?!]+)", re.IGNORECASE)
_END = re.compile(r"\n|(?<=[.?!])\s+(?=[A-Z])")
Offered = tuple[str, ...]


class NoSuchOption(ValueError):  # noqa: N818 - it is counted, not reported
    """The answer names none of the options. The message is the reason."""


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
        run = [mark for mark, letter in zip(marks[start:], LETTERS, strict=False) if mark[1] == letter]
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
        NoSuchOption: If the options are not distinct, or the answer is none of them.

    >>> [named_option(answer, ("To the left", "On top")) for answer in ("on top", "(B)", 1, "Left")]
    ['On top', 'On top', 'On top', 'To the left']
    """
    if not _are_distinct(options):
        raise NoSuchOption("options not distinct")
    text = str(answer).strip()
    normal = {normal_form(option): option for option in options}
    if normal_form(text) in normal:
        return normal[normal_form(text)]
    lettered = re.fullmatch(r"\(?([A-Ja-j])(?:[).:]\s*(.*)|\)?)", text, flags=re.DOTALL)
    place = (
        LETTERS.index(lettered[1].upper())
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
    raise NoSuchOption("answer not among the options")
