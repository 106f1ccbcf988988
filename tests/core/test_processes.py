"""Worker processes that die: told at once, with the cause; and none outlives its parent."""

import os
import signal
import subprocess
import sys
import time

import pytest

from theodolite.core.errors import UsageError, WorkerError
from theodolite.core.processes import worker_pool
from theodolite.runs import find_runs


@pytest.mark.parametrize(
    ("death", "told"),
    [
        (
            (signal.raise_signal, signal.SIGKILL),
            r"killed by signal 9 \(SIGKILL\), as happens when memory runs out",
        ),
        ((signal.raise_signal, signal.SIGSEGV), r"killed by signal 11 \(SIGSEGV\)"),
        ((signal.raise_signal, signal.SIGTERM), r"killed by signal 15 \(SIGTERM\)"),
        ((os._exit, 3), "ended with status 3"),
    ],
)
def test_a_worker_that_dies_ends_the_work_with_its_cause(death, told):
    function, argument = death
    with pytest.raises(WorkerError, match=told), worker_pool(2) as pool:
        waiting = [pool.submit(time.sleep, 600), pool.submit(function, argument)]
        for each in reversed(waiting):
            each.result(timeout=120)


def test_an_error_of_the_work_is_passed_on():
    with pytest.raises(UsageError, match="there is no folder"), worker_pool(1) as pool:
        pool.submit(find_runs, "/nowhere").result()


ORPHANS = """
import sys, time
from theodolite.core.processes import worker_pool
if __name__ == "__main__":
    with worker_pool(2) as pool:
        for each in [pool.submit(time.sleep, 0.01) for _ in range(8)]:
            each.result()
        print("ready", flush=True)
        time.sleep(600)
"""


def test_no_worker_outlives_a_killed_parent(tmp_path):
    script = tmp_path / "orphans.py"
    script.write_text(ORPHANS)
    parent = subprocess.Popen([sys.executable, str(script)], stdout=subprocess.PIPE, start_new_session=True)
    assert parent.stdout.readline() == b"ready\n"
    parent.kill()
    parent.wait()
    for _ in range(600):
        if not _alive(parent.pid):
            break
        time.sleep(0.1)
    assert not _alive(parent.pid)
    parent.stdout.close()


def _alive(group):
    """Processes of a session that are not zombies."""
    rows = subprocess.run(["ps", "-eo", "sid=,stat="], capture_output=True, text=True, check=True).stdout
    return [row for row in rows.splitlines() if row.split()[0] == str(group) and "Z" not in row.split()[1]]
