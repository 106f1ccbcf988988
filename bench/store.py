"""What storing an answer costs, and how long it takes to find out that nothing is left to do."""

import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from bench.figure import Figure
from bench.plans import Instant, info, items
from theodolite.runs import LocalEngine, Run, measure

SIZES = (1_000, 10_000, 100_000)


def run() -> Iterator[Figure]:
    """Plan, measure one item at a time with a commit each, resume."""
    cost: dict[int, float] = {}
    with tempfile.TemporaryDirectory() as folder:
        for n in SIZES:
            place = Path(folder) / str(n)
            started = time.perf_counter()
            _measure(place, n)
            cost[n] = (time.perf_counter() - started) / n * 1e3
            at_most = 0.5 if n == SIZES[-1] else None
            yield Figure(f"plan and store, {n:,} items, a commit each", cost[n], "ms/item", at_most)
        yield Figure(
            "cost at 100,000 over cost at 1,000 items", cost[SIZES[-1]] / cost[SIZES[0]], "×", at_most=1.5
        )
        started = time.perf_counter()
        _measure(Path(folder) / str(SIZES[-1]), SIZES[-1])
        yield Figure("resume over 100,000 finished items", time.perf_counter() - started, "s", at_most=3.0)


def _measure(folder: Path, n: int) -> None:
    with Run.start(folder, info()) as opened:
        opened.plan(items(n))
        tally = measure(opened, LocalEngine(Instant(), workers=1))
    assert tally.answered == n
