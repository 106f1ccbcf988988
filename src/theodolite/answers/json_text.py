"""JSON in free text: fenced or not, with drafts, broken or cut off. Linear in the length of the text.

Brackets are matched in one pass. Each outermost value that closes is decoded; what strict JSON does not allow is read by a
tolerant parser (single quotes, missing quotes and commas, comments, escaped underscores, Python constants).
"""

from __future__ import annotations

import json
import math
import re
from dataclasses import dataclass
from typing import Any, TypeAlias

Json: TypeAlias = dict[str, Any] | list[Any]

_OPEN = r"""(?P<open>\{(?=\s{0,20}(?:["'{}]|//|[\w ]{1,40}:|$))|\[(?=\s{0,20}(?:["'{\[\]\d.-]|\w{1,40}[,\]]|$)))"""
"""A bracket that is followed by something that JSON may begin with."""
_OPENING = re.compile(_OPEN)
_BRACKET = re.compile(_OPEN + r"""|(?P<close>[}\]])|"(?:[^"\\\n]|\\.)*+"?""")
_ESCAPED = re.compile(r"\\([_\-*#\[\]{}.])")
_PIECE = re.compile(
    r"""(?P<comment>//[^\n]*+|/\*(?:[^*]|\*(?!/))*+(?:\*/)?|\#[^\n]*+)|(?P<mark>[{}\[\]:,])"""
    r"""|"(?P<double>(?:[^"\\\n]|\\.)*+)(?P<closed>")?|'(?P<single>(?:[^'\\\n]|\\.|'(?!\s*+[,:}\]\n]))*+)(?P<ended>')?"""
    r"""|(?P<bare>[^\s{}\[\]:,"']+)"""
)
_CONSTANTS = {"true": True, "false": False, "null": None, "none": None, "nan": math.nan, "infinity": math.inf}
_DEEPEST = 64
"""Values nested more deeply are left out."""
_LONGEST_INT = 18
"""Longer whole numbers become floats, which may be infinite, so that no later conversion fails."""


@dataclass(frozen=True, slots=True)
class JsonValue:
    """A value found in a text.

    Attributes:
        value: A table or a list.
        is_complete: True if its last bracket was closed.
        is_repaired: True if it is no valid JSON as it stands.
    """

    value: Json
    is_complete: bool = True
    is_repaired: bool = False


def json_values(text: str) -> list[JsonValue]:
    r"""The tables and lists in a text, the most likely answer first.

    The last complete value comes first, since drafts come before the final version; then a value that was cut off; then
    the complete parts of that value.

    >>> [found.value for found in json_values('Draft: {"a": 1} Final: ```json\n{"a": 2, "dist\\_to\\_cam": 3}\n```')]
    [{'a': 2, 'dist_to_cam': 3}, {'a': 1}]
    >>> json_values('{"id": 1, "size": [2, 3')
    [JsonValue(value={'id': 1, 'size': [2]}, is_complete=False, is_repaired=True)]
    """
    spans, unclosed = _spans(text)
    decoded = [(start, value) for start, end in reversed(spans) if (value := _decoded(text[start:end]))]
    found = [value for start, value in decoded if start < unclosed]
    if unclosed < len(text) and (cut := _Mender(text[unclosed:]).value) is not None:
        found.append(JsonValue(cut, is_complete=False, is_repaired=True))
    return found + [value for start, value in decoded if start > unclosed]


def _spans(text: str) -> tuple[list[tuple[int, int]], int]:
    """The outermost bracketed parts that close, and where one begins that never closes (else the text's length)."""
    opened: list[tuple[str, int, int]] = []
    closed: list[tuple[int, int]] = []
    deepest = place = 0
    while match := (_BRACKET if opened else _OPENING).search(text, place):
        mark, place = match.group(), match.end()
        if match["open"]:
            deepest = max(deepest, len(opened) + 1) if opened else 1
            opened.append(("}" if mark == "{" else "]", match.start(), len(closed)))
        elif match["close"] and opened[-1][0] == mark:
            _, start, inner = opened.pop()
            del closed[inner:]
            if deepest - len(opened) <= _DEEPEST:
                closed.append((start, match.end()))
    return closed, opened[0][1] if opened else len(text)


def _decoded(part: str) -> JsonValue | None:
    for candidate in dict.fromkeys((part, _ESCAPED.sub(r"\1", part))):
        try:
            return JsonValue(json.loads(candidate, parse_int=_whole), is_repaired=candidate != part)
        except (ValueError, RecursionError):
            continue
    value = _Mender(part).value
    return None if value is None else JsonValue(value, is_repaired=True)


def _whole(digits: str) -> int | float:
    return int(digits) if len(digits) <= _LONGEST_INT else float(digits)


class _Mender:
    """Reads broken JSON: what is missing is put in, what makes no sense is skipped."""

    def __init__(self, part: str) -> None:
        self.value: Json | None = None
        self._open: list[Json] = []
        self._keys: list[str | None] = []
        self._words: list[Any] = []
        self._too_deep = 0
        for match in _PIECE.finditer(_ESCAPED.sub(r"\1", part)):
            if match["mark"]:
                self._put_words()
                self._turn(match["mark"])
            elif not match["comment"]:
                self._add(match)
            if self.value is not None and not self._open:
                break

    def _add(self, match: re.Match[str]) -> None:
        """Adds a word or a string. One that ends with the text may have been cut off and is left out."""
        bare = match["bare"]
        if bare is None:
            self._put_words()
        if match.end() < len(match.string) or match["closed"] or match["ended"]:
            self._words.append(
                _bare_value(bare)
                if bare
                else re.sub(r"\\(.)", r"\1", match["double"] or match["single"] or "")
            )
        if bare is None:
            self._put_words()

    def _put_words(self) -> None:
        """Several bare words in a row are one string."""
        if self._words:
            self._put(self._words[0] if len(self._words) == 1 else " ".join(map(str, self._words)))
            self._words = []

    def _put(self, value: Any) -> None:
        container = self._open[-1] if self._open else None
        if isinstance(container, list):
            container.append(value)
        elif container is not None and self._keys[-1] is None:
            self._keys[-1] = "" if isinstance(value, dict | list) else str(value)
        elif container is not None:
            container[self._keys[-1] or ""], self._keys[-1] = value, None

    def _turn(self, mark: str) -> None:
        if mark in "{[" and (self._too_deep or len(self._open) >= _DEEPEST):
            self._too_deep += 1
        elif mark in "{[":
            new: Json = {} if mark == "{" else []
            self._put(new)
            self.value = new if self.value is None else self.value
            self._open.append(new)
            self._keys.append(None)
        elif mark in "}]" and self._too_deep:
            self._too_deep -= 1
        elif mark in "}]":
            self._open.pop()
            self._keys.pop()


def _bare_value(word: str) -> Any:
    if word.lower() in _CONSTANTS:
        return _CONSTANTS[word.lower()]
    try:
        return _whole(word) if word.lstrip("-").isdecimal() else float(word)
    except ValueError:
        return word
