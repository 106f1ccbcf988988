"""Generation of a data set of the paper's size on two cores, without rendering: 1,162 scenes with 9,839 questions, half indoor.

Also the time to render one picture of each kind on one core.
"""

import resource
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from bench.result import Result
from theodolite.instruments.scene.data.make import MakeOptions, make_data, make_scenes, render_made

SCENES, QUESTIONS, WORKERS = 1162, 9839, 2
SECONDS, GIGABYTES = 180.0, 2.0


def run() -> Iterator[Result]:
    """Yield time and memory."""
    started = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        options = MakeOptions(
            SCENES // 2, SCENES // 2, n_questions=QUESTIONS, is_rendered=False, workers=WORKERS
        )
        data = make_data(Path(folder) / "data", options)
    taken = time.perf_counter() - started
    assert len(data.scenes) == SCENES
    assert len(data.questions) == QUESTIONS
    yield Result(f"{SCENES:,} scenes with {QUESTIONS:,} questions, unrendered", taken, "s", at_most=SECONDS)
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    busy = sum(usage.ru_utime + usage.ru_stime for usage in used)
    yield Result("the same, CPU time", busy, "s", at_most=WORKERS * SECONDS)
    kilobytes = sum(
        resource.getrusage(who).ru_maxrss for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    )
    peak = (kilobytes + (WORKERS - 1) * resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss) / 1e6
    yield Result("peak memory of all processes together", peak, "GB", at_most=GIGABYTES)
    for made in make_scenes(1, 1).scenes:
        render_made(made)
        started = time.perf_counter()
        render_made(made)
        yield Result(f"one {made.graph.domain} picture on one core", time.perf_counter() - started, "s")
