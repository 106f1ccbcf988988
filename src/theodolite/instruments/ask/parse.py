"""Reading an answer out of free text. What cannot be read is said so, never guessed."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from theodolite.core.wording import without_thinking

PARSER = "answer/2"
"""The name and version that is stored beside each reading."""

Reading: TypeAlias = Literal["parsed", "unparsed", "ambiguous"]


@dataclass(frozen=True, slots=True)
class Answer:
    """What was read."""

    status: Reading
    value: str = ""


def parse_answer(text: str, options: Sequence[str]) -> Answer:
    """The option that an answer settles on, or the whole text of an open answer.

    Thinking tags are left out. In order: the text is an option; it announces one ("the answer is left"); it names
    exactly one. What is denied ("not on the left") is not named, and a number within another (1 in -1 or 1.5) neither.

    >>> parse_answer("The cup is on the **Left**.", ["left", "right"]).value
    'left'
    >>> parse_answer("It is not on the left", ["left", "right"]).status
    'unparsed'
    >>> parse_answer("left or right, hard to say", ["left", "right"]).status
    'ambiguous'
    """
    said = normal_form(without_thinking(text))
    if not said:
        return Answer("unparsed")
    if not options:
        return Answer("parsed", said)
    plain = {normal_form(option): option for option in options}
    if said in plain:
        return Answer("parsed", plain[said])
    announced = re.findall(r"\banswer(?: is|:)?\s*:?\s+(?:the\s+|to the\s+|on the\s+)?(.+?)(?:[.,;]|$)", said)
    for part in (*(phrase.strip() for phrase in reversed(announced)), said):
        named = _named(part, list(plain))
        if len(named) == 1:
            return Answer("parsed", plain[named[0]])
    return Answer("ambiguous" if _named(said, list(plain)) else "unparsed")


def normal_form(text: str) -> str:
    """What two answers must share to be the same: lower case, no mark-up, no punctuation at the ends, single spaces.

    >>> normal_form(" **Left**. ") == normal_form("left")
    True
    """
    return " ".join(re.sub(r"[*_`\"'“”‘’()\[\]]", " ", text.casefold()).split()).strip(" .,:;!?")


_DENIAL = re.compile(
    r"(?:\b(?:not|never|neither|nor|cannot|isnt|wasnt|arent)|n t)\b(?:\s+(?!but\b|rather\b|instead\b)\w+){0,4}\s+$"
)
"""What makes the words after it denied, up to four words before them and in the same clause; apostrophes are gone."""


def _named(text: str, options: list[str]) -> list[str]:
    """The options that occur as whole words, longer ones first taken out ("top left" is not also "left")."""
    found = []
    for option in sorted(options, key=len, reverse=True):
        pattern = rf"(?<!\w){re.escape(option)}(?!\w)"
        if option[:1].isdigit():
            pattern = rf"(?<![\w.,+−-]){re.escape(option)}(?!\w|[.,]\d)"
        if any(not _DENIAL.search(text[: match.start()]) for match in re.finditer(pattern, text)):
            found.append(option)
        text = re.sub(pattern, " , ", text)
    return found
