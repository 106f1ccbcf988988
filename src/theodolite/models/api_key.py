"""A server's key: read once, checked, and cut out of whatever goes further."""

from __future__ import annotations

import os
import re
from dataclasses import replace

from theodolite.core.errors import ModelError
from theodolite.core.types import Response

_LONG = 8
"""A shorter key is a placeholder such as ``EMPTY``: cut out where it stands alone, but never out of an answer."""

_HIDDEN = "[key]"


class Secret:
    """A key that shows itself to the request header alone.

    >>> Secret("sk-0123456789").clean("got Bearer sk-0123456789, sorry")
    'got Bearer [key], sorry'
    >>> Secret("sk-0123456789")
    Secret([key])
    """

    __slots__ = ("_value",)

    def __init__(self, value: str) -> None:
        self._value = value

    @classmethod
    def from_environment(cls, variable: str) -> Secret:
        """The key that a variable holds, without white space around it; empty if there is none.

        Raises:
            ModelError: no HTTP header can carry it. The message does not hold it.
        """
        value = os.environ.get(variable, "").strip()
        if any(not "!" <= character <= "~" for character in value):
            raise ModelError(
                f"the key in {variable} holds a space, a control character or one beyond ASCII; set it again"
            )
        return cls(value)

    def __repr__(self) -> str:
        return f"Secret({_HIDDEN if self._value else ''})"

    def __bool__(self) -> bool:
        return bool(self._value)

    def reveal(self) -> str:
        """The key itself."""
        return self._value

    def clean(self, text: str) -> str:
        """The text without the key. Clean first, cut to length afterwards: half a key is not found again."""
        if len(self._value) >= _LONG:
            return text.replace(self._value, _HIDDEN)
        if not self._value:
            return text
        return re.sub(rf"(?<!\w){re.escape(self._value)}(?!\w)", _HIDDEN, text)

    def clean_response(self, response: Response) -> Response:
        """The response without the key in any of its texts."""
        from_answer = self.clean if len(self._value) >= _LONG else str
        return replace(
            response,
            text=from_answer(response.text),
            reasoning=from_answer(response.reasoning),
            reason=self.clean(response.reason),
            finish=self.clean(response.finish),
        )
