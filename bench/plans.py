"""A plan of the size of a large benchmark, and a measurer without cost, so that only the run itself is measured."""

from collections.abc import Iterator, Sequence

from theodolite.core.types import Item, Record, Request, Response
from theodolite.runs import Reuse, RunInfo

ANSWER = "The red square is to the left of the blue square. " * 4


def items(n: int) -> Iterator[Item]:
    """Yield items like those of an instrument."""
    for i in range(n):
        meta = {
            "gold": "left",
            "group": f"group {i % 19}",
            "cluster": f"scene {i // 8}",
            "options": ["left", "right"],
        }
        yield Item(f"item-{i}", Request.ask(f"Question {i}: where is the red square?", ref=str(i)), meta=meta)


class Instant:
    """A measurer that answers immediately."""

    identity = "instant"
    batch_size = 32
    reuse: Reuse = "same request"

    def measure(self, items: Sequence[Item]) -> list[Record]:
        """Return the same answer for all items."""
        return [Record(item.id, Response("answered", text=ANSWER, finish="stop")) for item in items]

    def close(self) -> None:
        """Do nothing."""


def info() -> RunInfo:
    """Return a minimal run description."""
    return RunInfo(instrument="bench", model="bench:instant", identity="instant", theodolite="bench")
