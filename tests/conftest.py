"""Fixtures that several test folders use. Nothing here reaches outside this machine."""

import fcntl
import hashlib
import os
import shutil
from contextlib import suppress
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, settings

from fault_server import FaultServer

os.environ["HF_HUB_OFFLINE"] = "1"
os.environ["TOKENIZERS_PARALLELISM"] = "false"
os.environ["OMP_NUM_THREADS"] = (
    "1"  # tiny models, and several test processes: more threads only get in each other's way
)

# How long a draw takes says how busy the machine is, not whether the code is right.
settings.register_profile("any machine", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("any machine")

HERE = Path(__file__).parent
SLOW = {"docs/test_filled.py", "docs/test_site.py", "docs/test_tutorial.py", "faults", "train"}
"""Folders and files of the slow lane, in addition to tests marked as slow and to those that open a browser."""


@pytest.hookimpl(tryfirst=True)  # before tests are chosen by their marks
def pytest_collection_modifyitems(items):
    for item in items:
        if not item.path.is_relative_to(HERE):
            continue
        path = item.path.relative_to(HERE)
        parts = {str(part) for part in (path, *path.parents)}
        if parts & SLOW or "chromium" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.slow)


@pytest.fixture(autouse=True)
def _no_keys(monkeypatch):
    """No test may use a developer's own key."""
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)


@pytest.fixture(scope="session")
def shared_data():
    """The folder of real pictures and logs beside the checkout; tests that need it skip where it is absent."""
    folder = Path(__file__).resolve().parents[2] / "shared" / "data"
    if not folder.is_dir():
        pytest.skip("the real data are not on this machine")
    return folder


def hash_of_package():
    """Changes with every byte of the package."""
    state = hashlib.sha256()
    package = HERE.parent / "src"
    for path in sorted(
        path for path in package.rglob("*") if path.is_file() and "__pycache__" not in path.parts
    ):
        state.update(str(path.relative_to(package)).encode() + b"\0" + path.read_bytes())
    return state.hexdigest()[:16]


@pytest.fixture(scope="session")
def made_once(pytestconfig):
    """``made_once(name, make)``: the folder that ``make(folder)`` fills, once for all test processes, until the package changes.

    The name says all that the content depends on but the package. Tests read the folder and leave it as it is.
    """
    home = pytestconfig.rootpath / "build" / "made"
    root = home / hash_of_package()
    root.mkdir(parents=True, exist_ok=True)
    os.utime(root)
    with suppress(FileNotFoundError):  # another process may delete the same
        for other in sorted(home.iterdir(), key=lambda path: path.stat().st_mtime)[:-3]:
            shutil.rmtree(other)

    def folder(name, make):
        with (root / f".{name}.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not (root / name).exists():
                draft = root / f".{name}.draft"
                shutil.rmtree(draft, ignore_errors=True)
                draft.mkdir()
                make(draft)
                draft.rename(root / name)
        return root / name

    return folder


@pytest.fixture(scope="session")
def drawn_stories(made_once):
    """The smallest data sets of trace in a diagnosis, aligned and crossed: drawing them takes longer than most tests."""
    from theodolite.instruments.instrument import Study, find_instruments

    def make(folder):
        list(find_instruments(["trace"])[0].plan(Study(folder, 6), "text"))  # planning makes the data

    return made_once("trace-6", make)


@pytest.fixture(scope="session")
def put_stories(drawn_stories):
    """``put_stories(home, size)``: lays the drawn stories where a diagnosis of any size looks for those of its own."""

    def put(home, size=6):
        home.mkdir(exist_ok=True)
        for drawn in drawn_stories.iterdir():
            (home / drawn.name.replace("-6-", f"-{size}-")).symlink_to(drawn)

    return put


@pytest.fixture(scope="session")
def tiny(tmp_path_factory):
    """The folder of a tiny checkpoint, by family; each is written once."""
    from theodolite.testing import tiny_checkpoint

    root = tmp_path_factory.mktemp("tiny")

    @cache
    def folder(family):
        return tiny_checkpoint(root / family, family)

    return folder


@pytest.fixture(scope="session")
def tiny_llava(tiny):
    return tiny("llava")


@pytest.fixture(scope="session")
def tiny_qwen2_vl(tiny):
    return tiny("qwen2_vl")


@pytest.fixture
def picture():
    """A small picture that is the same every time."""
    from theodolite.core.types import Picture

    return Picture.from_array(np.random.default_rng(0).integers(0, 256, (40, 60, 3), dtype=np.uint8))


@pytest.fixture
def fault_server():
    """A chat server whose requests say themselves what goes wrong."""
    server = FaultServer()
    yield server
    server.stop()
