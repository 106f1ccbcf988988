"""Text of models and strangers, made harmless where it is shown: in a terminal, and in the cells of a spreadsheet."""

from __future__ import annotations

import re

__all__ = ["for_cell", "for_json", "for_terminal"]

_CONTROLS = {*range(0x20), *range(0x7F, 0xA0)} - set(map(ord, "\n\t"))
_DIRECTIONS = {*range(0x202A, 0x202F), *range(0x2066, 0x206A)}
"""Overrides and isolates of direction, which show text in another order than it is read."""
_REPLACED = dict.fromkeys(_CONTROLS | _DIRECTIONS, "\ufffd")
_CELL = _REPLACED | {ord("\r"): "\r"}
_ACTING = re.compile(f"[{''.join(map(chr, sorted(_DIRECTIONS | {*range(0x7F, 0xA0)})))}]")
_FORMULA = re.compile(r"[=+\-@\t\r]")
_NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?")


def for_terminal(text: str) -> str:
    r"""Replace what would act on a terminal, or turn the words around.

    >>> for_terminal("a\x1b[31m\u202eb\n")
    'a�[31m�b\n'
    """
    return text.translate(_REPLACED)


def for_cell(text: str) -> str:
    r"""Return text as the cell of a CSV or TSV file that a spreadsheet shows and never runs.

    A formula gets an apostrophe in front, which spreadsheets do not show. Numbers stay numbers.

    >>> [for_cell(text) for text in ("=1+1", "-0.5", "- left", "@a", "a\x00\u202eb", "a-b")]
    ["'=1+1", '-0.5', "'- left", "'@a", 'a��b', 'a-b']
    """
    plain = text.translate(_CELL)
    return f"'{plain}" if _FORMULA.match(plain) and not _NUMBER.fullmatch(plain) else plain


def for_json(text: str) -> str:
    r"""Escape in JSON what would act on a terminal. It means the same.

    >>> for_json('{"a": "\u202eb"}')
    '{"a": "\\u202eb"}'
    """
    return _ACTING.sub(lambda match: f"\\u{ord(match[0]):04x}", text)
