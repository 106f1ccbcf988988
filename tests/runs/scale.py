"""A run of very many items, killed again and again and resumed: what it holds at the end is what one process measures.

    python tests/runs/scale.py [ITEMS] [KILLS]

It prints how long it took, how much memory its processes needed, and how large the run is on disk.
"""

import hashlib
import os
import random
import resource
import signal
import sys
import tempfile
import time
from pathlib import Path

from plans import Counting
from theodolite.core.types import Item, Request
from theodolite.runs import LocalEngine, Run, RunInfo, measure, verify_run

INFO = RunInfo(instrument="scale", model="test:x", identity="counting", theodolite="0")


def items(n):
    """Makes them one by one, so that only the run holds them."""
    return (Item(f"item-{i}", Request.ask(f"question {i}"), meta={"gold": str(i)}) for i in range(n))


def work(folder, n):
    """Plans and measures, as a command does."""
    with Run.start(folder, INFO) as run:
        run.plan(items(n), whole=True)
        measure(run, LocalEngine(Counting(batch_size=256)))


def content(folder):
    """A hash of all items and answers in order, and their number."""
    digest, n = hashlib.sha256(), 0
    with Run.open(folder) as run:
        for result in run.results():
            digest.update(
                f"{result.item.id} {result.record.response.status} {result.record.response.text}\n".encode()
            )
            n += 1
    return digest.hexdigest(), n


def in_process(work, kill_after=None):
    """Does some work in a process of its own. Returns whether it ended by itself, and its peak memory in MB."""
    pid = os.fork()
    if not pid:
        try:
            work()
            os._exit(0)
        finally:
            os._exit(1)
    if kill_after is not None:
        end = time.monotonic() + kill_after
        while time.monotonic() < end:
            done, status, used = os.wait4(pid, os.WNOHANG)
            if done:
                break
            time.sleep(0.02)
        else:
            os.kill(pid, signal.SIGKILL)
            _, status, used = os.wait4(pid, 0)
    else:
        _, status, used = os.wait4(pid, 0)
    assert status in {0, signal.SIGKILL}, status
    return status == 0, used.ru_maxrss >> 10


def killed_and_resumed(n, kills, home, *, seed=0):
    """Measures once undisturbed and once with kills, and compares. Returns what was needed."""
    rng = random.Random(seed)
    begun = time.monotonic()
    _, memory = in_process(lambda: work(home / "undisturbed", n))
    seconds = time.monotonic() - begun
    killed = 0
    for _ in range(kills):
        is_done, _ = in_process(
            lambda: work(home / "killed", n), kill_after=rng.uniform(0.02, 2 * seconds / max(kills, 1))
        )
        killed += not is_done
    in_process(lambda: work(home / "killed", n))
    begun = time.monotonic()
    in_process(lambda: work(home / "killed", n))
    again = time.monotonic() - begun
    assert content(home / "killed") == content(home / "undisturbed")
    assert content(home / "killed")[1] == n
    assert not list(verify_run(home / "killed"))
    size = sum(path.stat().st_size for path in (home / "killed").rglob("*") if path.is_file())
    return {
        "items": n,
        "killed": killed,
        "seconds": seconds,
        "resuming a finished run, seconds": again,
        "MB": memory,
        "MB on disk": size >> 20,
    }


def main():
    n, kills = (int(word) for word in (*sys.argv[1:], *("1000000", "10")[len(sys.argv) - 1 :]))
    with tempfile.TemporaryDirectory() as folder:
        for name, value in killed_and_resumed(n, kills, Path(folder)).items():
            sys.stdout.write(f"{name}: {value if isinstance(value, int) else round(value, 1)}\n")
    sys.stdout.write(f"this process, MB: {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10}\n")


if __name__ == "__main__":
    main()
