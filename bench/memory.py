"""The additional memory of a run of 100,000 items compared with 1,000."""

import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from bench.result import Result

_MEASURED = """
import sys
from pathlib import Path
from bench.plans import Instant, info, items
from theodolite.runs import LocalEngine, Run, measure
folder, n = Path(sys.argv[1]), int(sys.argv[2])
with Run.start(folder, info()) as run:
    run.plan(items(n))
    measure(run, LocalEngine(Instant()))
print(next(line.split()[1] for line in open("/proc/self/status") if line.startswith("VmHWM")))
"""


def run() -> Iterator[Result]:
    """Compare the peak resident size of two processes that differ only in the length of the plan."""
    with tempfile.TemporaryDirectory() as folder:
        small, large = (_peak(Path(folder) / str(n), n) for n in (1_000, 100_000))
    yield Result("peak memory of a process, 1,000 items", small, "MB")
    yield Result("growth from 1,000 to 100,000 items", large - small, "MB", at_most=50)


def _peak(folder: Path, n: int) -> float:
    command = [sys.executable, "-c", _MEASURED, str(folder), str(n)]
    return float(subprocess.run(command, capture_output=True, text=True, check=True).stdout) / 1024
