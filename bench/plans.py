"""A plan of the size of a large benchmark, and a measurer that costs nothing, so that only the run is measured."""

from collections.abc import Iterator, Sequence

from theodolite.core.types import Item, Record, Request, Response
from theodolite.runs import Reuse, RunInfo

ANSWER = "The red square is to the left of the blue square. " * 4


def items(n: int) -> Iterator[Item]:
    """Items as an instrument plans them, made one at a time."""
    for i in range(n):
        meta = {
            "gold": "left",
            "group": f"group {i % 19}",
            "cluster": f"scene {i // 8}",
            "options": ["left", "right"],
        }
        yield Item(f"item-{i}", Request.ask(f"Question {i}: where is the red square?", ref=str(i)), meta=meta)


class Instant:
    """Answers at once."""

    identity = "instant"
    batch_size = 32
    reuse: Reuse = "same request"

    def measure(self, items: Sequence[Item]) -> list[Record]:
        """The same answer for all."""
        return [Record(item.id, Response("answered", text=ANSWER, finish="stop")) for item in items]

    def close(self) -> None:
        """Holds nothing."""


def info() -> RunInfo:
    """A run that says nothing in particular."""
    return RunInfo(instrument="bench", model="bench:instant", identity="instant", theodolite="bench")
