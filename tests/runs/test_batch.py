"""The time of a batch: every second is counted once, whether the model tells it or not."""

import time

from theodolite.core.types import Item, Record, Request, Response
from theodolite.runs.engine import measure_batch

SLEPT_S = 0.06


class Passes:
    """Answers from inside a model for even items, and with text, whose time it tells, for odd ones."""

    batch_size = 4

    def measure(self, items):
        time.sleep(SLEPT_S)
        texts = Response("answered", text="left", finish="stop", seconds=SLEPT_S / 4)
        inside = Response("answered", text="left", finish="choice")
        return [Record(item.id, texts if i % 2 else inside) for i, item in enumerate(items)]

    def close(self):
        pass


def test_passes_inside_a_model_share_the_time_that_is_not_told():
    items = [Item(f"item-{i}", Request.ask(f"where is {i}?")) for i in range(4)]
    seconds = [record.response.seconds for record in measure_batch(Passes(), items)]
    assert seconds[1] == seconds[3] == SLEPT_S / 4
    assert seconds[0] == seconds[2] >= SLEPT_S / 4
    assert sum(seconds) >= SLEPT_S
