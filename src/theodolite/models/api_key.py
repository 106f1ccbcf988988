"""A server's API key: read from the environment, checked, and removed from all texts."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from dataclasses import replace

from theodolite.core.errors import ModelError
from theodolite.core.types import Response

_LONG = 8
"""A shorter key is a placeholder such as ``EMPTY``. It is removed only as a whole word, and never from an answer."""

_HIDDEN = "[key]"
_PIECE = 6
"""Any part of a key of this length is removed from an error message."""
_END = 4
"""The first or last characters of a key, standing alone, as in "ending in 4f2c"."""
_MASK = "[*•·.…xX#_-]"
_MOST_CLEANED = 1 << 14
"""Characters of an error message that are kept at all."""


class Secret:
    """A key that is revealed only to the request header.

    >>> Secret("sk-0123456789").clean("got Bearer sk-0123456789, sorry")
    'got Bearer [key], sorry'
    >>> Secret("sk-0123456789")
    Secret([key])
    >>> Secret("sk-0123456789").clean_error("wrong key sk-0****89, the one that ends in 6789")
    'wrong key [key], the one that ends in [key]'
    """

    __slots__ = ("_parts", "_value")

    def __init__(self, value: str) -> None:
        self._value = value
        self._parts = _parts_of(value) if len(value) >= _LONG else None

    @classmethod
    def from_environment(cls, variable: str) -> Secret:
        """Read the key from a variable, without surrounding white space. Empty if the variable is not set.

        Raises:
            ModelError: If an HTTP header cannot contain it. The message does not include the key.
        """
        value = os.environ.get(variable, "").strip()
        if any(not "!" <= character <= "~" for character in value):
            raise ModelError(
                f"the key in {variable} contains a space, a control or a non-ASCII character; set it again"
            )
        return cls(value)

    def __repr__(self) -> str:
        return f"Secret({_HIDDEN if self._value else ''})"

    def __bool__(self) -> bool:
        return bool(self._value)

    def reveal(self) -> str:
        """Return the key."""
        return self._value

    def clean(self, text: str) -> str:
        """Remove the key from a text. Call this before shortening the text: half a key would not be found."""
        if len(self._value) >= _LONG:
            return text.replace(self._value, _HIDDEN)
        if not self._value:
            return text
        return re.sub(rf"(?<!\w){re.escape(self._value)}(?!\w)", _HIDDEN, text)

    def clean_error(self, text: str) -> str:
        """Remove the key and parts of it, which some servers repeat: ``sk-ab…yz``, or its last four characters."""
        text = self.clean(text[:_MOST_CLEANED])
        return text if self._parts is None else self._parts.sub(_HIDDEN, text)

    def clean_response(self, response: Response) -> Response:
        """Remove the key from all texts of a response."""
        from_answer = self.clean if len(self._value) >= _LONG else str
        return replace(
            response,
            text=from_answer(response.text),
            reasoning=from_answer(response.reasoning),
            reason=self.clean_error(response.reason),
            finish=self.clean_error(response.finish),
        )


def _parts_of(key: str) -> re.Pattern[str]:
    """Return a pattern for masked and shortened forms of a key."""

    def any_of(parts: Iterable[str]) -> str:
        return "(?:" + "|".join(map(re.escape, sorted(set(parts), key=len, reverse=True))) + ")"

    starts = any_of(key[:n] for n in range(2, len(key)))
    ends = any_of(key[-n:] for n in range(2, len(key)))
    pieces = any_of(key[i : i + _PIECE] for i in range(len(key) - _PIECE + 1))
    alone = any_of(part for n in range(_END, _PIECE) for part in (key[:n], key[-n:]))
    return re.compile(
        rf"(?<!\w){starts}{_MASK}{{2,}}{ends}?|{starts}…{ends}?|{_MASK}{{2,}}{ends}(?!\w)|…{ends}(?!\w)"
        rf"|{pieces}+|(?<!\w){alone}(?!\w)"
    )
