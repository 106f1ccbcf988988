"""A server's API key: read from the environment, checked, and removed from all texts."""

from __future__ import annotations

import os
import re
from dataclasses import replace

from theodolite.core.errors import ModelError
from theodolite.core.types import Response

_LONG = 8
"""A shorter key is a placeholder such as ``EMPTY``. It is removed only as a whole word, and never from an answer."""

_HIDDEN = "[key]"


class Secret:
    """A key that is revealed only to the request header.

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

    def clean_response(self, response: Response) -> Response:
        """Remove the key from all texts of a response."""
        from_answer = self.clean if len(self._value) >= _LONG else str
        return replace(
            response,
            text=from_answer(response.text),
            reasoning=from_answer(response.reasoning),
            reason=self.clean(response.reason),
            finish=self.clean(response.finish),
        )
