"""What was read in a model's text."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

Status: TypeAlias = Literal["value", "none of these", "refused", "cut off", "ambiguous", "unreadable"]


@dataclass(frozen=True, slots=True)
class Answer:
    """What was read in a model's text.

    Attributes:
        status: ``value`` if there is an answer; otherwise why there is none.
        value: The label of the option, "yes" or "no", the number in the unit asked for, or the text.
        reason: Where the value was found, or why there is none.
    """

    status: Status
    value: str | float | None = None
    reason: str = ""

    @property
    def is_read(self) -> bool:
        """True if there is an answer to score."""
        return self.status == "value"
