"""Stories drawn in the background are the ones that would be drawn at once."""

import subprocess
import sys
import time
from pathlib import Path

import pytest

from theodolite.diagnose.background_data import Makers, making
from theodolite.instruments.trace.data.dataset import read_episodes
from theodolite.instruments.trace.data.drawn import write_stories


def test_a_set_made_beside_is_the_set_made_here(tmp_path):
    with making([(tmp_path / "beside", "aligned", 1, 3)]) as makers:
        write_stories(tmp_path / "here", "aligned", 1, 3)
        makers.wait(tmp_path / "beside")
    beside, here = (read_episodes(tmp_path / name).episodes for name in ("beside", "here"))
    assert [e.id for e in beside] == [e.id for e in here]
    assert [f.picture.digest for e in beside for f in e.frames] == [
        f.picture.digest for e in here for f in e.frames
    ]
    assert any(e.edit is not None for e in here)
    assert all(len(e.frames) == 4 for e in here)


def test_what_fails_beside_does_no_harm(tmp_path):
    makers = Makers()
    makers.start(tmp_path / "x", "sideways", 1, 0)
    makers.wait(tmp_path / "x")
    assert not (tmp_path / "x").exists()
    makers.wait(tmp_path / "never started")


def test_leaving_ends_what_is_at_work(tmp_path):
    with making([(tmp_path / "x", "aligned", 500, 0)]) as makers:
        process = makers._at_work[tmp_path / "x"]
    assert process.poll() is not None
    assert not (tmp_path / "x").exists()


def test_a_killed_parent_takes_it_along(tmp_path):
    words = f"""
import os, sys, time
from pathlib import Path
from theodolite.diagnose.background_data import Makers
makers = Makers()
makers.start(Path({str(tmp_path)!r}) / "x", "aligned", 500, 0)
print(makers._at_work[Path({str(tmp_path)!r}) / "x"].pid, flush=True)
time.sleep(4)
os.kill(os.getpid(), 9)
"""
    done = subprocess.run([sys.executable, "-c", words], capture_output=True, text=True, check=False)
    child = int(done.stdout)
    for _ in range(100):
        stat = Path(f"/proc/{child}/stat")
        if not stat.exists() or stat.read_text().rpartition(")")[2].split()[0] == "Z":
            return
        time.sleep(0.2)
    pytest.fail("it is still at work")
