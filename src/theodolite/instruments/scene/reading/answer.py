"""What a parser read in an answer, or why it read nothing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from theodolite.instruments.scene.reading.spoken import REFUSAL

ReadStatus: TypeAlias = Literal["parsed", "unparsed", "ambiguous", "refused"]


@dataclass(frozen=True, slots=True)
class Answer:
    """What was read."""

    status: ReadStatus
    letter: str = ""
    """Of a choice."""
    number: float | None = None
    """In metres."""
    reason: str = ""
    """Why nothing was read."""

    @property
    def is_read(self) -> bool:
        """Whether there is an answer to score."""
        return self.status == "parsed"

    @property
    def value(self) -> str | float | None:
        """The letter or the number; None if nothing was read."""
        return self.letter or self.number


def nothing(text: str) -> Answer:
    """No answer: because there is no text, because the text declines, or because it holds none."""
    if not text.strip():
        return Answer("unparsed", reason="empty")
    if REFUSAL.search(text):
        return Answer("refused", reason="declines to answer")
    return Answer("unparsed", reason="no answer found")
