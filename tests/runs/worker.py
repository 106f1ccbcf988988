"""A program that measures a run until it is done or killed: what the kill tests start."""

import asyncio
import json
import sys
import time
from pathlib import Path

from plans import Counting, items
from theodolite.runs import LocalEngine, MeasureOptions, Run, RunInfo, measure


class Journaling(Counting):
    """Writes down every item that it finished measuring, as it hands it over."""

    def __init__(self, journal, batch_size, delay):
        super().__init__(batch_size)
        self.journal, self.delay = journal, delay

    def measure(self, items):
        records = super().measure(items)
        time.sleep(self.delay)
        return records


class JournalingAsync(Journaling):
    async def check(self):
        pass

    async def measure_one(self, item):
        await asyncio.sleep(self.delay)
        return self.measure([item])[0]

    async def aclose(self):
        pass


def main():
    folder, journal, kind, workers, n, delay = sys.argv[1:]
    measurer = {"batch": Journaling, "async": JournalingAsync}[kind](journal, int(workers), float(delay))
    info = RunInfo(instrument="kill", model="test:x", identity="counting", theodolite="0")
    with Run.start(folder, info) as run, Path(journal).open("a") as log:
        run.plan(items(int(n)))
        told = 0

        def committed(tally):
            """Called after each commit: what is told here may not be lost."""
            nonlocal told
            if tally.answered > told:
                log.write(json.dumps(tally.answered) + "\n")
                log.flush()
                told = tally.answered

        measure(run, LocalEngine(measurer, workers=int(workers)), MeasureOptions(progress=committed))


if __name__ == "__main__":
    main()
