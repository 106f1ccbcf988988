"""Reading a length out of free text.

A number is looked for, in this order: in an answer tag or a box; announced ("the answer is 3.2 m", the last time it is); as
the only one; as the only one with a unit; as the only one of the last sentence, or behind its last "=". Numbers that name an
object, an option or a step are not measurements.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

from theodolite.instruments.scene.reading.answer import Answer, nothing
from theodolite.instruments.scene.reading.numbers import Quantity, quantities
from theodolite.instruments.scene.reading.spoken import clauses_after, spoken, without_marks


def read_number(text: str) -> Answer:
    """Reads a length in metres.

    >>> read_number("It is approximately 2.5 meters from object 3.").number
    2.5
    >>> read_number("between 2 and 3 m").status
    'ambiguous'
    """
    if _BARE.fullmatch(text):
        return Answer("parsed", number=float(text))
    said = spoken(text)
    if said.is_unfinished:
        return Answer("unparsed", reason="the model was still thinking")
    if said.boxed is not None:
        boxed = quantities(_without_references(said.boxed))
        if _are_one(boxed):
            return _number(boxed[0])
    plain = _without_references(without_marks(said.text))
    for clause in clauses_after(_ANNOUNCED_NUMBER, plain):
        found = [q for q in quantities(clause) if not q.is_word or q.unit] or quantities(clause)
        if found and not re.match(r"\s*not\b", clause):
            return _number(found[0])
    return _only_number(plain)


_BARE = re.compile(r"\s*[0-9]{1,9}(?:\.[0-9]{1,9})?\s*")
"""Just a number, as it was asked for."""
_ANNOUNCED_NUMBER = re.compile(
    r"\b(?:final answer|answer|result|estimate)\b(?:\s+\w+){0,3}?\s*(?:is|are|was|would be|:|=|≈|~|->|→)+",
    re.IGNORECASE,
)
_REFERENCE = re.compile(
    r"(?:\b(?:objects?|obj|marks?|markers?|ids?|items?|labels?|labell?ed|options?|steps?|numbered|nodes?|boxes|box|no\.|"
    r"requirements?|questions?)\s*(?:number|no\.?|id|with id)?\s*|#\s?)[#:(<\[\"']*\s*\d+(?![.,]\d)[)>\]\"']*"
    r"(?:\s*(?:,|and|&|or|to|-)\s*(?:objects?\s*)?#?\d+(?![.\d]|,\d|\s*[a-z]))*",
    re.IGNORECASE,
)
_COUNTED = re.compile(
    r"(?<![\w.,])\d+(?:\.\d+)?\s*(?:%|°|percent\b|degrees?\b|px\b|(?:other |marked |more )?(?:objects?|things|items|marks|steps|"
    r"words|options|pixels|people|cars|chairs|times|tokens)\b)",
    re.IGNORECASE,
)
"""Numbers that count something, or that are no lengths."""
_LIST_NUMBER = re.compile(r"^\s*\d+[.)]\s+(?=\S*[A-Za-z*])", re.MULTILINE)


def _without_references(text: str) -> str:
    """Blanks numbers that name things, keeping every place."""
    for pattern in (_REFERENCE, _COUNTED, _LIST_NUMBER):
        text = pattern.sub(lambda match: re.sub(r"\d", " ", match.group()), text)
    return text


def _only_number(plain: str) -> Answer:
    everything = quantities(plain)
    if not everything:
        return nothing(plain)
    digits = [q for q in everything if not q.is_word or q.unit] or everything
    last = re.split(r"\n|(?<=[.!?])\s+", plain.strip())[-1]
    after = re.split(r"=|≈|→|\bso\b|\btherefore\b|\bthus\b|\bhence\b", last)[-1]
    for found in (
        digits,
        [q for q in digits if q.unit],
        *([q for q in quantities(part) if not q.is_word or q.unit] for part in (last, after)),
        [q for q in quantities(last) if q.unit],
    ):
        if _are_one(found):
            return _number(found[0])
    return Answer("ambiguous", reason=f"several numbers: {', '.join(f'{q.value:g}' for q in digits[:4])}")


def _are_one(found: Sequence[Quantity]) -> bool:
    """Whether all say the same; "3.2 m (10.5 ft)" does."""
    return bool(found) and all(math.isclose(q.value, found[0].value, rel_tol=0.01) for q in found)


def _number(quantity: Quantity) -> Answer:
    if quantity.is_range:
        return Answer("ambiguous", reason="a range, not a number")
    return Answer("parsed", number=quantity.value)
