"""Generation speed of grid scenes on one core, beside the public generator of GridVQA-X in the same run if it is there.

``GRIDVQA_X`` names a checkout of the public repository. Its generator runs in a process of its own, on the same kinds of scenes: depth 2,
mixed, 17 objects, without and with rendering to arrays. Without it the ratios are left out, and the benchmark says so.
"""

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

from bench.result import Result
from theodolite.instruments.grid.data.generate import generate
from theodolite.instruments.grid.data.question_types import BUCKET_KEYS
from theodolite.instruments.grid.data.recipe import PRESETS
from theodolite.instruments.grid.data.world import render

TIMES = 10
SCENES, BLOCK, PUBLIC_SCENES = 20_000, 64, 1_000
CHECKOUT = "GRIDVQA_X"
_PUBLIC = """
import contextlib, io, json, sys, time
from generator import DatasetGenerator
from templates import QuestionTemplates

maker = DatasetGenerator(density=0.7)


def scene():
    question, holes = QuestionTemplates.instantiate(2, "M", 0)
    return maker.sample_scene(holes, 2, "M", 0)


def rate(make):
    best = 0.0
    for _ in range(3):
        done, started = 0, time.perf_counter()
        while done < N:
            try:
                make()
                done += 1
            except ValueError:
                continue
        best = max(best, done / (time.perf_counter() - started))
    return best


with contextlib.redirect_stdout(io.StringIO()):
    rates = rate(scene), rate(lambda: maker.generate_example(2, "M", 0))
print(json.dumps(rates))
"""


def run() -> Iterator[Result]:
    """Yield scenes per second, each with question, answer, roles, spans and guarantee."""
    public = _public_rates()
    for preset in PRESETS:
        generate("M-F0-D2", 100, preset=preset, seed=0)
        made = _rate(
            lambda preset=preset: len(generate("M-F0-D2", SCENES, density="dense", preset=preset, seed=1))
        )
        yield Result(f"scenes per second, M-F0-D2, 17 objects, {preset}", made, "1/s")
        if public is not None:
            yield Result(
                f"ratio to the public generator, {preset}",
                made / public[0],
                "×",
                at_least=TIMES if preset == "paper" else None,
            )
    rendered = _rate(lambda: _render(4096))
    yield Result("scenes per second with 320×320 pixels, new arrays", rendered, "1/s")
    if public is not None:
        yield Result("ratio to the public generator, with pixels", rendered / public[1], "×", at_least=TIMES)
    yield Result("the same, one array reused", _rate(lambda: _render(4096, reuse=True)), "1/s")
    every = _rate(
        lambda: sum(
            len(generate(key, 1000, density=d, seed=2)) for key in BUCKET_KEYS for d in ("sparse", "dense")
        )
    )
    yield Result("scenes per second, all buckets and densities", every, "1/s")
    stream = _rate(lambda: len(generate("M-F0-D2", SCENES, density="dense", seed=3, split="train")))
    yield Result("scenes per second, M-F0-D2, training split only", stream, "1/s")


def _public_rates() -> tuple[float, float] | None:
    """Return the public generator's scenes per second without and with rendering; None, after printing why, if it fails."""
    named = os.environ.get(CHECKOUT)
    folder = Path(named or ".") / "dataset_generation" / "pure"
    if named is None or not (folder / "generator.py").is_file():
        why = f"{CHECKOUT} is not set" if named is None else f"{folder} has no generator.py"
        print(f"the public generator is not measured: {why}")
        return None
    code = _PUBLIC.replace("N:", f"{PUBLIC_SCENES}:")
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=folder, capture_output=True, text=True, check=False
    )
    if done.returncode:
        print(f"the public generator failed: {done.stderr.strip().splitlines()[-1:]}")
        return None
    unrendered, rendered = json.loads(done.stdout)
    print(f"public generator: {unrendered:.0f} scenes per second, {rendered:.0f} with pixels")
    return unrendered, rendered


def _render(n: int, *, reuse: bool = False) -> int:
    """Generate n scenes and render them in blocks, into a new array per block or into the same one."""
    scenes = generate("M-F0-D2", n, density="dense", seed=1)
    out = np.empty((BLOCK, 320, 320, 3), np.uint8) if reuse else None
    for start in range(0, n, BLOCK):
        pictures = render(scenes.world, scenes.cells[start : start + BLOCK], out=out)
        assert pictures.shape == (BLOCK, 320, 320, 3)
    return n


def _rate(work: Callable[[], int]) -> float:
    """Return the best rate of three single-threaded runs, by wall-clock time."""
    best = 0.0
    for _ in range(3):
        started = time.perf_counter()
        done = work()
        best = max(best, done / (time.perf_counter() - started))
    return best
