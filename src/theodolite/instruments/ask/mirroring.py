"""What mirroring a picture does to the right answer of a question, told by its words.

===================================================================================== ============================
the right answer says left or right, and the opposite can be answered                 it becomes the opposite
"Is the cup left of the plate?", and the right answer is yes                          it becomes no
nothing in question, options and answer is about sides, directions, text or clocks    it stays the same
anything else                                                                         it is not known
===================================================================================== ============================
"""

from __future__ import annotations

import re

from theodolite.answers import normal_form
from theodolite.answers.plain import word_set
from theodolite.instruments.ask.data.question import Question
from theodolite.pairs.edits import MIRROR, MIRROR_UNASKED, Edit

__all__ = ["mirrored"]

_OPPOSITE = {"left": "right", "right": "left", "leftmost": "rightmost", "rightmost": "leftmost"}
_SIDE = re.compile(r"\b(left|right|leftmost|rightmost)\b", re.IGNORECASE)
_PLACED = re.compile(
    r"\b(?:the|an?) [^?.!,]*\b(?:is|are)\b[^?.!,]*\b(?:left|right)(?:[- ]hand)?(?: side)? of\b"
    r"|\b(?:is|are) (?:the|an?) [^?.!,]*\b(?:left|right)(?:[- ]hand)?(?: side)? of\b",
    re.IGNORECASE,
)
"""One thing is placed to the left or right of another."""
_READ = word_set(
    "text letter letters word words write written writing read reads reading say says said spell spelled sign signs label labels "
    "brand logo name named title number numbers numeral digit digits license licence clock clocks time hour watch arrow arrows"
)
_TURNED = word_set(
    "left right leftmost rightmost side sides hand hands direction directions facing faces turn turned turning clockwise "
    "counterclockwise anticlockwise east west eastern western"
)


def mirrored(question: Question) -> tuple[Edit, str] | None:
    """Return the edit and the right answer after it. None if that is not known.

    >>> from theodolite.instruments.ask.data.question import Question
    >>> mirrored(Question("q", "Where is the cup?", "left", (), ("left", "right")))[1]
    'right'
    """
    if len(question.pictures) > 1:
        return None
    texts = (question.question, question.answer, *question.options)
    words = set(re.findall(r"[a-z]+", " ".join(texts).casefold()))
    if words & _READ:
        return None
    if not words & _TURNED:
        return MIRROR_UNASKED, question.answer
    other = _opposite(question)
    return (MIRROR, other) if other else None


def _opposite(question: Question) -> str:
    """The right answer in the mirrored picture, if it is another one and known; else empty."""
    if _SIDE.search(question.answer):
        other = _SIDE.sub(lambda found: _OPPOSITE[found[0].casefold()], question.answer)
        known = {normal_form(option): option for option in question.options}
        return known.get(normal_form(other), "") if known else other
    sides = {found.casefold() for found in _SIDE.findall(question.question)}
    is_placed = len(sides) == 1 and _PLACED.search(question.question) is not None
    is_there = re.search(r"\bthere\b", question.question, re.IGNORECASE) is not None
    return "no" if normal_form(question.answer) == "yes" and is_placed and not is_there else ""
