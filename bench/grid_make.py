"""Generation speed of grid scenes on one core: depth 2, mixed, 17 objects, without and with rendering to arrays.

The public GridVQA-X generator (commit dca15b8) made 2,078 such scenes per second without and 486 with rendering on one core
of the machine on which the limits were set. The limits are ten times that.
"""

import time
from collections.abc import Callable, Iterator

import numpy as np

from bench.result import Result
from theodolite.instruments.grid.data.generate import generate
from theodolite.instruments.grid.data.render import render
from theodolite.instruments.grid.data.world import BUCKET_KEYS

PUBLIC_UNRENDERED, PUBLIC_RENDERED = 2078, 486
TIMES = 10
SCENES, BLOCK = 20_000, 64


def run() -> Iterator[Result]:
    """Scenes per second, each with question, answer, roles, spans and guarantee."""
    generate("M-F0-D2", 100, seed=0)
    unrendered = _rate(lambda: len(generate("M-F0-D2", SCENES, density="dense", seed=1)))
    yield Result(
        "scenes per second, M-F0-D2, 17 objects", unrendered, "1/s", at_least=TIMES * PUBLIC_UNRENDERED
    )
    rendered = _rate(lambda: _render(4096))
    yield Result(
        "scenes per second with 320×320 pixels, new arrays", rendered, "1/s", at_least=TIMES * PUBLIC_RENDERED
    )
    yield Result("the same, one array reused", _rate(lambda: _render(4096, reuse=True)), "1/s")
    yield Result("ratio to the public generator's 2,078, unrendered", unrendered / PUBLIC_UNRENDERED, "×")
    yield Result("ratio to the public generator's 486, rendered", rendered / PUBLIC_RENDERED, "×")
    every = _rate(
        lambda: sum(
            len(generate(key, 1000, density=d, seed=2)) for key in BUCKET_KEYS for d in ("sparse", "dense")
        )
    )
    yield Result("scenes per second, all buckets and densities", every, "1/s")
    stream = _rate(lambda: len(generate("M-F0-D2", SCENES, density="dense", seed=3, split="train")))
    yield Result("scenes per second, M-F0-D2, training split only", stream, "1/s")


def _render(n: int, *, reuse: bool = False) -> int:
    """Generate n scenes and render them in blocks, into a new array per block or into the same one."""
    scenes = generate("M-F0-D2", n, density="dense", seed=1)
    out = np.empty((BLOCK, 320, 320, 3), np.uint8) if reuse else None
    for start in range(0, n, BLOCK):
        pictures = render(scenes.world, scenes.cells[start : start + BLOCK], out=out)
        assert pictures.shape == (BLOCK, 320, 320, 3)
    return n


def _rate(work: Callable[[], int]) -> float:
    """Best of three by wall-clock time, single-threaded."""
    best = 0.0
    for _ in range(3):
        started = time.perf_counter()
        done = work()
        best = max(best, done / (time.perf_counter() - started))
    return best
