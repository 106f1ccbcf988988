"""Fixtures that several test folders use. Nothing here reaches outside this machine."""

import os
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from fault_server import FaultServer

os.environ["HF_HUB_OFFLINE"] = "1"
os.environ["TOKENIZERS_PARALLELISM"] = "false"
os.environ["OMP_NUM_THREADS"] = (
    "1"  # tiny models, and several test processes: more threads only get in each other's way
)


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
