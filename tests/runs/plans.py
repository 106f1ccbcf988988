"""Small plans, and a measurer that counts what it is asked."""

import numpy as np

from theodolite.core.types import Item, Picture, Record, Request, Response


class Counting:
    """Answers with the item's own name, and remembers what it was asked."""

    identity = "counting"
    reuse = "same request"

    def __init__(self, batch_size=4):
        self.batch_size = batch_size
        self.asked = []
        self.closed = False

    def measure(self, items):
        self.asked.extend(item.name for item in items)
        return [Record(item.id, Response("answered", text=f"answer to {item.name}")) for item in items]

    def close(self):
        self.closed = True


def items(n, **request):
    return [
        Item(f"item-{i}", Request.ask(f"question {i}", **request), meta={"gold": str(i)}) for i in range(n)
    ]


def pictured(n):
    rng = np.random.default_rng(0)
    return [
        Item(
            f"item-{i}", Request.ask(Picture.from_array(rng.integers(0, 256, (4, 4, 3), dtype=np.uint8)), "?")
        )
        for i in range(n)
    ]
