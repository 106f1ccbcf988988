"""The cost of storing an answer, and the time to resume a finished run."""

import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from bench.plans import Instant, info, items
from bench.result import Result
from theodolite.runs import LocalEngine, Run, measure

SIZES = (1_000, 10_000, 100_000)


def run() -> Iterator[Result]:
    """Plan, measure with one commit per item, and resume."""
    cost: dict[int, float] = {}
    with tempfile.TemporaryDirectory() as folder:
        for n in SIZES:
            run_folder = Path(folder) / str(n)
            started = time.perf_counter()
            _measure(run_folder, n)
            cost[n] = (time.perf_counter() - started) / n * 1e3
            at_most = 0.5 if n == SIZES[-1] else None
            yield Result(f"plan and store, {n:,} items, one commit each", cost[n], "ms/item", at_most)
        yield Result(
            "ratio of the cost at 100,000 and at 1,000 items",
            cost[SIZES[-1]] / cost[SIZES[0]],
            "×",
            at_most=1.5,
        )
        started = time.perf_counter()
        _measure(Path(folder) / str(SIZES[-1]), SIZES[-1])
        yield Result(
            "resume over 100,000 finished items, closed whole",
            time.perf_counter() - started,
            "s",
            at_most=5.0,
        )


def _measure(folder: Path, n: int) -> None:
    with Run.start(folder, info()) as opened:
        opened.plan(items(n))
        tally = measure(opened, LocalEngine(Instant(), workers=1))
    assert tally.answered == n
