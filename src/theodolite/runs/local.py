"""The single-process engine: batches for local models, concurrent requests for servers."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

from theodolite.core.errors import UsageError
from theodolite.runs.batch import measure_batch, measure_one
from theodolite.runs.engine import EngineName, Sink, Task
from theodolite.runs.event_loop import all_of, run_async
from theodolite.runs.measurer import AsyncMeasurer, Measurer


class LocalEngine:
    """Drives one measurer."""

    name: EngineName = "local"

    def __init__(self, measurer: Measurer, *, workers: int | None = None) -> None:
        """Create the engine.

        Args:
            measurer: The measurer to drive.
            workers: Number of items processed at once. Default: the measurer's batch size.
        """
        if workers is not None and workers < 1:
            raise UsageError(f"--workers must be at least 1, not {workers}")
        self.measurer = measurer
        self.identity = measurer.identity
        self.reuse = measurer.reuse
        self.workers = workers or measurer.batch_size

    def work(self, tasks: Iterator[Task], sink: Sink) -> None:
        """Measure all tasks."""
        measurer = self.measurer
        if isinstance(measurer, AsyncMeasurer):
            run_async(lambda: self._work_async(measurer, tasks, sink))
            return
        while batch := list(itertools.islice(tasks, self.workers)):
            records = measure_batch(measurer, [task.item for task in batch])
            sink(list(zip(batch, records, strict=True)))

    def close(self) -> None:
        """Close the measurer."""
        self.measurer.close()

    async def _work_async(self, measurer: AsyncMeasurer, tasks: Iterator[Task], sink: Sink) -> None:
        async def worker() -> None:
            for task in tasks:
                sink([(task, await measure_one(measurer, task.item))])

        try:
            await measurer.check()
            await all_of(worker() for _ in range(self.workers))
        finally:
            await measurer.aclose()
