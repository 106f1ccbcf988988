"""Numbers with their units: digits, decimal commas, fractions, powers of ten, English and Chinese number words."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from theodolite.answers.text import simple

_FACTORS: Mapping[str, Mapping[float, str]] = {
    "length": {
        1.0: "m meter meters metre metres mtr mtrs metern metro metros metri mètre mètres м метр метра метров متر 米 公尺 "
        "メートル 미터",
        0.01: "cm cms centimeter centimeters centimetre centimetres zentimeter centímetros centimetri centimètres "
        "см сантиметров 厘米 公分 センチ センチメートル 센티미터",
        0.001: "mm millimeter millimeters millimetre millimetres milímetros millimetri millimètres мм 毫米 ミリ ミリメートル "
        "밀리미터",
        0.1: "dm decimeter decimeters decimetre decimetres dezimeter дм",
        1000.0: "km kilometer kilometers kilometre kilometres kilómetros chilometri kilomètres км 公里 千米 キロメートル 킬로미터",
        0.3048: "ft foot feet 英尺 '",
        0.0254: 'in inch inches 英寸 "',
        0.9144: "yd yds yard yards",
        1609.344: "mi mile miles",
    },
    "angle": {1.0: "deg degs degree degrees ° 度", 180 / math.pi: "rad rads radian radians"},
    "time": {
        1.0: "s sec secs second seconds 秒",
        0.001: "ms",
        60.0: "min mins minute minutes",
        3600.0: "h hour hours",
    },
    "share": {1.0: "% percent"},
    "pixels": {1.0: "px pixel pixels"},
}
_UNITS = {
    name: (dimension, factor)
    for dimension, table in _FACTORS.items()
    for factor, names in table.items()
    for name in names.split()
}
_ALSO_WORDS = frozenset({"in", "s", "h"})
"""Words that are units only at the end of a clause: "3 in front" is not a length."""
_MARKS = frozenset("'\"")
"""Feet and inches, where they close no quotation."""
_NAMES = [re.escape(name) for name in sorted(_UNITS.keys() - _MARKS, key=len, reverse=True)]
_UNIT = "(?:" + "|".join(_NAMES) + r")(?![A-Za-zÀ-ɏЀ-ӿ\d^])"
_DIGITS = (
    r"\d{1,9} {1,2}\d{1,3} ?/ ?\d{1,3}(?![\d.,/])"  # 2 1/2
    r"|\d{1,9} ?/ ?\d{1,9}(?![\d.,]*\d|/)"  # 1/2
    r"|\d{1,3}(?:,\d{3})++(?:\.\d++)?(?![\d,])"  # 1,234.5
    r"|\d{1,3}(?:\.\d{3})++,\d++(?![\d,])"  # 1.234,5
    rf"|\d{{1,3}}(?: \d{{3}})++(?=\s?{_UNIT})"  # 2 500 mm
    r"|\d++,\d{1,2}(?![\d,])"  # 3,2
    r"|\d*+\.\d++|\d++"
)
_POWER = r"\s?(?:[x×·*]\s?10\s?(?:\^|\*\*)?\s?[{(]?(?P<ten>[-+]?\d++)[})]?|(?<=\d)[eE](?P<exp>[-+]?\d++))"
_NUMBER = re.compile(
    rf"(?<![A-Za-z0-9_.,^])(?P<sign>(?<![\w)])[-+])?(?P<digits>{_DIGITS})(?:{_POWER})?(?:[\s-]?\s?(?P<unit>{_UNIT})|(?P<mark>['\"](?![A-Za-z])))?",
    re.IGNORECASE,
)
_QUOTATION = re.compile(r"(?<![\w'\"])(['\"])(?=\S)[^'\"\n]*$")
"""What has been opened and not closed."""
_LONGEST_QUOTATION = 80
_CENTIMETRES = re.compile(r"\s?(?:m|米)(?P<digits>\d{1,2})(?![\w.,])", re.IGNORECASE)
"""What follows the metres of "1m50" and "1米8"."""
_NOT_A_NUMBER = re.compile(r":\d|[A-WYZ_]|\s?[a-z]{1,2}\^", re.IGNORECASE)
"""What follows the digits of "2nd", "3D", "0:03" and "3 m²"."""
_SMALL = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen "
    "eighteen nineteen twenty"
)
NUMBER_WORDS = tuple(_SMALL.split())
"""The words for 0 to 20, each at the index of its value."""
_TENS = "thirty forty fifty sixty seventy eighty ninety"
_VALUES = {word: float(i) for i, word in enumerate(NUMBER_WORDS)}
_VALUES |= {word: 10.0 * i for i, word in enumerate(_TENS.split(), 3)}
_SCALES = {"hundred": 100.0, "thousand": 1000.0, "dozen": 12.0}
_PARTS = {"half": 0.5, "quarter": 0.25, "third": 1 / 3, "tenth": 0.1}
_WORD = "(?:" + "|".join(sorted([*_VALUES, *_SCALES, "point"], key=len, reverse=True)) + ")(?![a-z])"
_WORDS = re.compile(
    rf"(?<![A-Za-z0-9_])(?:(?P<words>(?:an? (?=hundred|thousand|dozen))?{_WORD}(?:[\s-](?:and[\s-])?{_WORD})*+)"
    r"(?P<part> and (?:an? |one |three )?(?:half|quarters?|third|tenth)(?![a-z]))?"
    rf"(?:[\s-](?P<unit>{_UNIT}))?"
    r")",
    re.IGNORECASE,
)
_FRACTION = re.compile(
    r"(?<![A-Za-z0-9_])(?:(?P<times>an?|one|two|three|[1-9]) )?(?P<fraction>half|quarter|third|tenth)s?[ -](?:of )?(?:an? |the )?"
    rf"(?P<of>{_UNIT})|(?<![A-Za-z0-9_])(?:an?|one) (?P<half>{_UNIT}) and a half(?![a-z])",
    re.IGNORECASE,
)
_CHINESE = {char: float(i) for i, char in enumerate("零一二三四五六七八九")} | {
    "〇": 0.0,
    "两": 2.0,
    "兩": 2.0,
}
_CHINESE_SCALES = {"十": 10.0, "百": 100.0, "千": 1000.0, "万": 10000.0}
_NUMERALS = "".join([*_CHINESE, *_CHINESE_SCALES])
_IN_CHINESE = re.compile(
    rf"(?<![第之分{_NUMERALS}])(?P<words>[{_NUMERALS}]{{1,12}}(?:[点點][{_NUMERALS}]{{1,6}})?|半)"
    rf"(?:(?P<unit>{_UNIT})(?P<rest>[一二三四五六七八九半](?![{_NUMERALS}]))?|(?<!一)(?=[个個只隻张張辆輛把件])"
    rf"|(?<![\u3400-\u9fff]{{2}})(?![\u3400-\u9fff]))"
)
"""Chinese numerals that have a unit or a counter, or stand alone: 一 is a part of many words, and an article before a counter."""
_JOINT = re.compile(r"\s*(?:(?P<range>-|–|—|~|to)|or|x|×|by|(?P<and>and))\s*", re.IGNORECASE)
_TOLERANCE = re.compile(r"\s*[,(]?\s*(?:±|\+\s?/\s?-|\+-|plus or minus|give or take)\s*", re.IGNORECASE)
_BESIDE = re.compile(r"[\s,]*(?:and)?\s*", re.IGNORECASE)
_LONGEST_GAP = 20
_MOST_DIGITS, _LARGEST_POWER = 300, 99


@dataclass(frozen=True, slots=True)
class Quantity:
    """A number in a text, with its unit.

    Attributes:
        value: As written.
        unit: In lower case; empty if there is none.
        start: Its first character in the simplified text.
        end: One past its last character.
        is_word: True if it is spelled out in words.
        is_bound: True if it is one end of a range: "2 to 3 m".
    """

    value: float
    unit: str
    start: int
    end: int
    is_word: bool = False
    is_bound: bool = False

    def to(self, unit: str) -> float | None:
        """Return the value in another unit; None if that unit measures something else.

        A number without a unit is assumed to be in the requested unit.

        >>> quantities("10 mm")[0].to("m"), quantities("45°")[0].to("m")
        (0.01, None)
        """
        asked = unit.lower()
        if not self.unit or not unit or asked == self.unit:
            return self.value
        if asked not in _UNITS or _UNITS[asked][0] != _UNITS[self.unit][0]:
            return None
        value = float(f"{self.value * _UNITS[self.unit][1] / _UNITS[asked][1]:.12g}")
        return value if math.isfinite(value) else None


def quantities(text: str) -> list[Quantity]:
    r"""Return all numbers in a text, in order. Compound lengths are one number; tolerances are left out.

    >>> [f"{q.value:g}{q.unit}" for q in quantities("3,200; .5; 3,2 m; 1 1/2; 2½ m; 2 500 mm; 2.5 ± 0.3 m; 大约2.5米")]
    ['3200', '0.5', '3.2m', '1.5', '2.5m', '2500mm', '2.5m', '2.5米']
    >>> [round(q.to("m"), 3) for q in quantities("5 ft 3 in; two and a half metres; 1.5e3 mm")]
    [1.6, 2.5, 1.5]
    >>> [round(q.to("m"), 3) for q in quantities("6'2\"; 72\"; two thirds of a metre; 1m50; 十二米; 一米八")]
    [1.88, 1.829, 0.667, 1.5, 12.0, 1.8]
    """
    text = simple(text)
    found = [*_in_digits(text), *_fractions(text), *_in_words(text), *_in_chinese(text)]
    numbers = sorted(found, key=lambda quantity: (quantity.start, -quantity.end))
    return _with_ranges(text, _joined(text, numbers))


def _in_digits(text: str) -> Iterator[Quantity]:
    for match in _NUMBER.finditer(text):
        power = match["ten"] or match["exp"]
        centimetres = _CENTIMETRES.match(text, match.end("digits"))
        if centimetres and match["digits"].isdigit() and len(match["digits"]) < _MOST_DIGITS:
            metres = float(match["digits"]) + float(f"0.{centimetres['digits']}")
            yield Quantity(metres, "m", match.start(), centimetres.end())
            continue
        if match["unit"] is None and not power and _NOT_A_NUMBER.match(text, match.end("digits")):
            continue
        unit, end = (match["unit"] or match["mark"] or "").lower(), match.end()
        if unit in _MARKS and _QUOTATION.search(text[max(0, end - 1 - _LONGEST_QUOTATION) : end - 1]):
            unit = ""
        if unit not in _UNITS or (
            unit in _ALSO_WORDS and not re.match(r"\s*(?:[.,;)\n]|$)", text[end : end + _LONGEST_GAP])
        ):
            unit, end = "", max(match.end("digits"), match.end("ten"), match.end("exp"))
        value = _value(match["digits"], power or "0")
        if value is not None:
            yield Quantity(-value if match["sign"] == "-" else value, unit, match.start(), end)


def _value(digits: str, power: str) -> float | None:
    """Return the number that digits spell; None if it is too large for a float."""
    if len(digits) > _MOST_DIGITS or len(power) > 4 or abs(int(power)) > _LARGEST_POWER:
        return None
    if "/" in digits:
        *whole, above, below = map(float, re.split(r"[ /]+", digits))
        value = sum(whole) + above / below if below else math.inf
    elif re.fullmatch(r"\d{1,3}(?:\.\d{3})+,\d+", digits):
        value = float(digits.replace(".", "").replace(",", "."))
    elif re.fullmatch(r"\d{1,3}(?:[, ]\d{3})+(?:\.\d+)?", digits):
        value = float(digits.replace(",", "").replace(" ", ""))
    else:
        value = float(digits.replace(",", "."))
    value *= 10.0 ** int(power)
    return value if math.isfinite(value) else None


def _fractions(text: str) -> Iterator[Quantity]:
    for match in _FRACTION.finditer(text):
        times = (match["times"] or "one").lower()
        count = 1.0 if times in {"a", "an"} else float(times) if times.isdigit() else _VALUES[times]
        unit = (match["of"] or match["half"]).lower()
        if match["half"]:
            yield Quantity(1.5, unit, match.start(), match.end(), is_word=True)
        elif unit not in _ALSO_WORDS:
            value = count * _PARTS[match["fraction"].lower()]
            yield Quantity(value, unit, match.start(), match.end(), is_word=True)


def _in_chinese(text: str) -> Iterator[Quantity]:
    for match in _IN_CHINESE.finditer(text):
        words, rest = match["words"], match["rest"]
        if words == "半" and not match["unit"]:
            continue
        value = 0.5 if words == "半" else _chinese_value(words)
        if rest:
            value += 0.5 if rest == "半" else _CHINESE[rest] / 10
        yield Quantity(value, match["unit"] or "", match.start(), match.end())


def _chinese_value(words: str) -> float:
    whole, _, decimals = words.replace("點", "点").partition("点")
    total = current = 0.0
    for char in whole:
        if char in _CHINESE_SCALES:
            total, current = total + (current or 1.0) * _CHINESE_SCALES[char], 0.0
        else:
            current = 10 * current + _CHINESE[char] if not total else _CHINESE[char]
    digits = "".join(f"{_CHINESE[char]:g}" for char in decimals if char in _CHINESE)
    return total + current + float(f"0.{digits or 0}")


def _in_words(text: str) -> Iterator[Quantity]:
    for match in _WORDS.finditer(text):
        unit = (match["unit"] or "").lower()
        value = word_value(match["words"])
        if match["part"]:
            part = match["part"].lower().split()
            value += (3 if "three" in part else 1) * _PARTS[part[-1].removesuffix("s")]
        if math.isfinite(value):
            unit = unit if unit in _UNITS and unit not in _ALSO_WORDS else ""
            yield Quantity(value, unit, match.start(), match.end(), is_word=True)


def word_value(words: str) -> float:
    """Return the value of English number words.

    >>> word_value("one hundred and twenty-five"), word_value("three point two five")
    (125.0, 3.25)
    """
    whole, _, decimals = words.lower().replace("-", " ").partition(" point ")
    total = current = 0.0
    for word in whole.split():
        current = (current or 1.0) * _SCALES[word] if word in _SCALES else current + _VALUES.get(word, 0.0)
        if word == "thousand":
            total, current = total + current, 0.0
    digits = "".join(f"{_VALUES[word]:g}" for word in decimals.split() if word in _VALUES)
    return total + current + float(f"0.{digits[:_MOST_DIGITS]}")


def _joined(text: str, numbers: list[Quantity]) -> list[Quantity]:
    """Join "1 m 20 cm", where the second unit is the smaller one, and drop the tolerance of "2.5 ± 0.3 m"."""
    joined: list[Quantity] = []
    for new in numbers:
        last = joined[-1] if joined else None
        gap = text[last.end : new.start][: _LONGEST_GAP + 1] if last else ""
        if last and new.start < last.end:
            continue
        if last and _TOLERANCE.fullmatch(gap):
            joined[-1] = replace(last, unit=last.unit or new.unit, end=new.end)
        elif last and last.unit and new.unit and _is_smaller(new.unit, last.unit) and _BESIDE.fullmatch(gap):
            joined[-1] = replace(last, value=last.value + (new.to(last.unit) or 0.0), end=new.end)
        else:
            joined.append(new)
    return joined


def _is_smaller(unit: str, than: str) -> bool:
    (dimension, factor), (other, other_factor) = _UNITS[unit], _UNITS[than]
    return dimension == other and factor < other_factor


def _with_ranges(text: str, numbers: list[Quantity]) -> list[Quantity]:
    """Give the first end of a range the unit of the second: "2 to 3 m", "1 x 2 m"."""
    for i in range(len(numbers) - 2, -1, -1):
        first, second = numbers[i], numbers[i + 1]
        joint = _JOINT.fullmatch(text[first.end : second.start][: _LONGEST_GAP + 1])
        is_between = (
            text[max(0, first.start - _LONGEST_GAP) : first.start].lower().rstrip().endswith("between")
        )
        if joint and (is_between or not joint["and"]):
            is_range = is_between or joint["range"] is not None
            numbers[i] = replace(first, unit=first.unit or second.unit, is_bound=is_range)
            numbers[i + 1] = replace(second, is_bound=second.is_bound or is_range)
    return numbers
