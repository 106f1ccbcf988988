"""What a run's store returns: items with their records and readings, and the progress."""

from __future__ import annotations

from dataclasses import dataclass

from theodolite.core.types import Item, Json, Record


@dataclass(frozen=True, slots=True)
class Parsed:
    """What a parser read in a raw answer."""

    item_id: str
    parser: str
    """Name and version of the parser, such as ``options/1``."""
    status: str
    """``parsed``, or the reason why not."""
    value: Json = None


@dataclass(frozen=True, slots=True)
class Result:
    """An item with its record, if it was measured, and what parsers read in it."""

    seq: int
    """Position in the plan, from 1."""
    item: Item
    record: Record | None
    parsed: tuple[Parsed, ...] = ()


@dataclass(frozen=True, slots=True)
class Tally:
    """The progress of a run."""

    planned: int = 0
    answered: int = 0
    refused: int = 0
    failed: int = 0
    reused: int = 0

    @property
    def finished(self) -> int:
        """Number of items that will not be asked again: answered or refused."""
        return self.answered + self.refused

    @property
    def pending(self) -> int:
        """Number of items that resuming would ask: not yet asked, or failed."""
        return self.planned - self.finished

    def __add__(self, other: Tally) -> Tally:
        """Add up the progress of two runs."""
        return Tally(
            self.planned + other.planned,
            self.answered + other.answered,
            self.refused + other.refused,
            self.failed + other.failed,
            self.reused + other.reused,
        )
