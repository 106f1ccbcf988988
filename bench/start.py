"""Time until the program answers, against importing what it is made of."""

import resource
import subprocess
import sys
from collections.abc import Iterator

from bench.result import Result

_LIBRARIES = ("-c", "import typer, rich, numpy")
_RUNS = 7


def run() -> Iterator[Result]:
    """Yield the processor time of the shortest of seven interleaved starts, the one least delayed by other work."""
    for words in (["--help"], ["list"]):
        programs = _LIBRARIES, ("-m", "theodolite", *words)
        libraries, program = map(
            min,
            zip(*([_cpu_seconds(*arguments) for arguments in programs] for _ in range(_RUNS)), strict=True),
        )
        yield Result(f"theodolite {' '.join(words)}", 1000 * program, "ms")
        yield Result(
            f"theodolite {' '.join(words)}, of its libraries", program / libraries, "times", at_most=2
        )


def _cpu_seconds(*words: str) -> float:
    """Return the processor time of a Python program."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, *words], capture_output=True, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
