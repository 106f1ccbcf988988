"""Numbers in free text, with their units: digits, decimal commas, fractions and English number words, in metres."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass

from theodolite.core.wording import NUMBER_WORDS

_UNITS_M = {
    "m": 1.0,
    "meter": 1.0,
    "meters": 1.0,
    "metre": 1.0,
    "metres": 1.0,
    "mtr": 1.0,
    "mtrs": 1.0,
    "cm": 0.01,
    "cms": 0.01,
    "centimeter": 0.01,
    "centimeters": 0.01,
    "centimetre": 0.01,
    "centimetres": 0.01,
    "mm": 0.001,
    "millimeter": 0.001,
    "millimeters": 0.001,
    "millimetre": 0.001,
    "millimetres": 0.001,
    "dm": 0.1,
    "km": 1000.0,
    "kilometer": 1000.0,
    "kilometers": 1000.0,
    "kilometre": 1000.0,
    "kilometres": 1000.0,
    "ft": 0.3048,
    "foot": 0.3048,
    "feet": 0.3048,
    "in": 0.0254,
    "inch": 0.0254,
    "inches": 0.0254,
    "yd": 0.9144,
    "yard": 0.9144,
    "yards": 0.9144,
}
_UNIT = r"(?:" + "|".join(sorted(_UNITS_M, key=len, reverse=True)) + r")(?![A-Za-z\d²³])"
_DIGITS = (
    r"(?:\d{1,3}(?:,\d{3})+(?:\.\d+)?(?![\d,])"
    r"|\d+,\d{1,2}(?![\d,])(?=\s*(?:" + _UNIT + r"|$|[^\d\s,]|\s))"
    r"|\d+\s+\d+\s*/\s*\d+|\d+\s*/\s*\d+(?!\s*/)"
    r"|\d+\.\d+|\.\d+|\d+\.?(?!\d))(?:\s?[x×·*]\s?10\s?\^?\s?\{?(?P<ten>-?\d+)\}?|[eE](?P<exp>[-+]?\d+))?"
)
_NUMBER = re.compile(
    rf"(?<![\w.,])(?P<sign>(?<![\d\w)])-)?(?P<digits>{_DIGITS})(?:\s?-?\s*(?P<unit>{_UNIT}))?", re.IGNORECASE
)
_TENS = ["twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"]
_WORD_VALUES = {word: i for i, word in enumerate(NUMBER_WORDS)} | {
    word: 10 * i for i, word in enumerate(_TENS, 2)
}
_FRACTIONS = {"half": 0.5, "quarter": 0.25, "third": 1 / 3, "tenth": 0.1}
_WORD = (
    r"(?:" + "|".join(sorted([*_WORD_VALUES, "hundred", "thousand", "point"], key=len, reverse=True)) + r")"
)
_WORDS = re.compile(
    rf"\b(?P<words>(?:{_WORD}|a (?=hundred|thousand|dozen)|dozen)(?:(?:[\s-]+and[\s-]+|[\s-]+)(?:{_WORD}|dozen))*)"
    rf"(?P<part>\s+and\s+(?:a\s+|one\s+|three\s+)?(?:half|quarters?|third|tenth))?\b(?:[\s-]+(?P<unit>{_UNIT}))?"
    rf"|\b(?:(?:a|one)\s+)?(?P<fraction>half|quarter)\s+(?:of\s+)?(?:an?\s+)?(?P<of>{_UNIT})",
    re.IGNORECASE,
)
_RANGE = re.compile(r"^\s*(?:-|–|—|~|to|or|and)\s*$", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Quantity:
    """A number that stands in a text."""

    value: float
    """In metres where it has a unit."""
    start: int
    end: int
    unit: str = ""
    is_word: bool = False
    is_range: bool = False
    """One of two ends: "2 to 3 metres", "between 2 and 3"."""


def quantities(text: str) -> list[Quantity]:
    """All numbers, in the order of the text; feet with inches and metres with centimetres are one.

    >>> [round(q.value, 3) for q in quantities("3,200; .5; 3,2 m; 45 cm; 5 ft 3 in; 1 1/2; two and a half metres")]
    [3200.0, 0.5, 3.2, 0.45, 1.6, 1.5, 2.5]
    """
    found = sorted([*_digits(text), *_words(text)], key=lambda q: q.start)
    return _ranges(text, _joined(text, found))


def _digits(text: str) -> Iterator[Quantity]:
    for match in _NUMBER.finditer(text):
        value = _value(match["digits"])
        if match["ten"] or match["exp"]:
            power = int(match["ten"] or match["exp"])
            value = value * 10.0**power if abs(power) <= 30 else math.inf
        value = -value if match["sign"] else value
        unit = (match["unit"] or "").lower()
        if unit == "in" and not re.match(r"\s*(?:[.,;)]|$)", text[match.end() : match.end() + 20]):
            unit = ""  # "3 in front of" is no length
        if math.isfinite(value):
            yield Quantity(value * _UNITS_M.get(unit, 1.0), match.start(), match.end(), unit)


def _value(digits: str) -> float:
    plain = re.sub(r"(?:\s?[x×·*]\s?10|[eE]).*$", "", digits).strip()
    if "/" in plain:
        *whole, above, below = re.split(r"[\s/]+", plain)
        return float(whole[0] if whole else 0) + (float(above) / float(below) if float(below) else math.inf)
    if re.fullmatch(r"\d{1,3}(?:,\d{3})+(?:\.\d+)?", plain):
        return float(plain.replace(",", ""))
    return float(plain.replace(",", "."))


def _words(text: str) -> Iterator[Quantity]:
    for match in _WORDS.finditer(text):
        if match["fraction"]:
            unit = match["of"].lower()
            value = _FRACTIONS[match["fraction"].lower()]
        else:
            unit = (match["unit"] or "").lower()
            value = word_value(match["words"])
            if match["part"]:
                part = match["part"].lower().split()
                times = 3 if "three" in part else 1
                value += times * _FRACTIONS[part[-1].removesuffix("s")]
        if unit == "in":
            unit = ""
        yield Quantity(value * _UNITS_M.get(unit, 1.0), match.start(), match.end(), unit, is_word=True)


def word_value(words: str) -> float:
    """The value of English number words.

    >>> word_value("one hundred and twenty-five"), word_value("three point two five")
    (125.0, 3.25)
    """
    whole, _, decimals = words.lower().replace("-", " ").partition(" point ")
    total, current = 0.0, 0.0
    for word in whole.split():
        if word in {"hundred", "thousand", "dozen"}:
            current = (current or 1) * {"hundred": 100, "thousand": 1000, "dozen": 12}[word]
            if word == "thousand":
                total, current = total + current, 0.0
        else:
            current += _WORD_VALUES.get(word, 0)
    digits = "".join(str(_WORD_VALUES[word]) for word in decimals.split() if word in _WORD_VALUES)
    return total + current + (float(f"0.{digits}") if digits else 0.0)


def _joined(text: str, found: list[Quantity]) -> list[Quantity]:
    """Two lengths side by side, the second of a smaller unit, are one: "1 m 20 cm"."""
    joined: list[Quantity] = []
    for quantity in found:
        last = joined[-1] if joined else None
        if last is not None and quantity.start < last.end:
            continue
        if (
            last is not None
            and last.unit
            and quantity.unit
            and _UNITS_M[quantity.unit] < _UNITS_M[last.unit]
            and re.fullmatch(r"(?:\s|,|and)*", text[last.end : quantity.start])
        ):
            joined[-1] = Quantity(last.value + quantity.value, last.start, quantity.end, last.unit)
        else:
            joined.append(quantity)
    return joined


def _ranges(text: str, found: list[Quantity]) -> list[Quantity]:
    """Marks the two ends of a range, and gives the first end the unit of the second."""
    marked = list(found)
    for i in range(len(marked) - 1):
        first, second = marked[i], marked[i + 1]
        between = text[first.end : second.start]
        is_between = bool(
            re.search(r"\bbetween\s*$", text[max(0, first.start - 20) : first.start], re.IGNORECASE)
        )
        if not _RANGE.match(between) or (between.strip().lower() == "and" and not is_between):
            continue
        unit = first.unit or second.unit
        value = first.value if first.unit else first.value * _UNITS_M.get(unit, 1.0)
        marked[i] = Quantity(value, first.start, first.end, unit, first.is_word, is_range=True)
        marked[i + 1] = Quantity(
            second.value, second.start, second.end, second.unit, second.is_word, is_range=True
        )
    return marked
