"""``kill -9`` at any moment: no finished item lost, none doubled, and the same command goes on."""

import json
import os
import random
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import pytest

from theodolite.runs import Run, RunInfo

WORKER = Path(__file__).with_name("worker.py")
N = 400


def heed_interrupts():
    """A process started from the background of a shell would ignore them."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def start(folder, journal, kind, workers):
    words = [sys.executable, WORKER, folder, journal, kind, str(workers), str(N), "0.004"]
    return subprocess.Popen(words, preexec_fn=heed_interrupts)  # noqa: PLW1509 - it calls one thing, which is safe


def check(folder, journal):
    """Every commit that was told of is in the store, each item has at most one record, and each is its own."""
    if not (folder / "run.json").exists():
        return 0
    with Run.open(folder) as run:
        results = [result for result in run.results() if result.record is not None]
    told = [json.loads(line) for line in journal.read_text().splitlines() if line.strip().isdigit()]
    assert len(results) >= max(told, default=0)
    assert len({result.item.id for result in results}) == len(results)
    assert all(result.record.response.text == f"answer to {result.item.name}" for result in results)
    with sqlite3.connect(folder / "measured.sqlite") as db:
        assert db.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    return len(results)


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "seed"), [("batch", 1), ("async", 2)])
def test_killed_at_25_random_moments_nothing_is_lost_or_doubled(tmp_path, kind, seed):
    rng = random.Random(seed)
    folder, journal = tmp_path / "run", tmp_path / "journal"
    journal.touch()
    kills = done = 0
    while kills < 25:
        process = start(folder, journal, kind, rng.choice([1, 2, 3, 7, 32]))
        time.sleep(rng.uniform(0.05, 0.75))
        process.send_signal(signal.SIGKILL)
        kills += process.wait() == -signal.SIGKILL
        found = check(folder, journal)
        assert found >= done
        done = found
        if done == N:  # finished early: begin again, so that every kill meets work in progress
            for path in sorted(folder.rglob("*"), reverse=True):
                path.unlink() if path.is_file() else path.rmdir()
            journal.write_text("")
            done = 0
    assert start(folder, journal, kind, 5).wait() == 0
    assert check(folder, journal) == N


def test_an_interrupted_run_can_be_taken_up(tmp_path):
    folder, journal = tmp_path / "run", tmp_path / "journal"
    process = start(folder, journal, "async", 4)
    while not journal.exists() or len(journal.read_text().splitlines()) < 20:
        time.sleep(0.02)
        assert process.poll() is None
    process.send_signal(signal.SIGINT)
    assert process.wait(20) != 0
    assert 20 <= check(folder, journal) < N
    assert start(folder, journal, "batch", 16).wait() == 0
    assert check(folder, journal) == N


@pytest.mark.parametrize(
    "left", [["measured.sqlite", "measured.sqlite-journal"], ["measured.sqlite-journal"]]
)
def test_killed_while_the_store_was_being_made_it_begins_anew(tmp_path, left):
    for name in left:
        (tmp_path / name).write_bytes(b"")
    info = RunInfo(instrument="kill", model="test:x", identity="counting", theodolite="0")
    with Run.start(tmp_path, info) as run:
        assert run.tally().planned == 0


@pytest.mark.slow
def test_every_command_that_asks_a_model_is_killed_and_resumed(tmp_path):
    """A short form of ``kills.py``, in a process of its own, as it forks."""
    script = "import sys, pathlib, kills\nkills.run_kills(int(sys.argv[1]), 5, pathlib.Path(sys.argv[2]))\n"
    (tmp_path / "short.py").write_text(
        f"if __name__ == '__main__':\n    {script.replace(chr(10), chr(10) + '    ')}"
    )
    places = os.pathsep.join([str(WORKER.parent), os.environ.get("PYTHONPATH", "")])
    (tmp_path / "place").mkdir()
    done = subprocess.run(
        [sys.executable, tmp_path / "short.py", "14", tmp_path / "place"],
        env={**os.environ, "PYTHONPATH": places},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
