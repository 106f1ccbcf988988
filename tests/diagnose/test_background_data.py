"""Data that are made in the background are those that would be made at once."""

import subprocess
import sys
import time
from pathlib import Path

import pytest

from theodolite.diagnose.background_data import Makers, make_in_background
from theodolite.instruments.instrument import Study, find_instruments

MANY = 4000


@pytest.fixture(scope="module")
def trace():
    """The instrument whose data take long."""
    (found,) = find_instruments(["trace"])
    assert found.makes_data_slowly
    return found


def files(folder):
    return {path.relative_to(folder): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_a_set_made_in_the_background_is_the_set_made_here(tmp_path, trace, drawn_stories):
    with make_in_background([trace], Study(tmp_path, 6, 0, ("aligned",))) as makers:
        makers.wait(trace)
    here = {path: data for path, data in files(drawn_stories).items() if "aligned" in path.parts[0]}
    assert files(tmp_path) == here
    assert len([path for path in here if path.suffix == ".png"]) > 4


def test_a_failure_in_the_background_does_no_harm(tmp_path, trace):
    makers = Makers()
    makers.start(trace, Study(tmp_path / "x", 6, 0, ("sideways",)))
    makers.wait(trace)
    assert not files(tmp_path)
    makers.wait(trace)  # nothing is being made any more


def test_leaving_ends_what_is_being_made(tmp_path, trace):
    study = Study(tmp_path, MANY, 0, ("aligned",))
    with make_in_background([trace], study) as makers:
        process = makers._processes["trace"]
    assert process.poll() is not None
    assert not [path for path in tmp_path.iterdir() if not path.name.startswith(".")]


def test_a_killed_parent_ends_it_too(tmp_path):
    words = f"""
import os, time
from pathlib import Path
from theodolite.diagnose.background_data import Makers
from theodolite.instruments.instrument import Study, find_instruments
makers = Makers()
makers.start(find_instruments(["trace"])[0], Study(Path({str(tmp_path)!r}), {MANY}, 0, ("aligned",)))
print(makers._processes["trace"].pid, flush=True)
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
