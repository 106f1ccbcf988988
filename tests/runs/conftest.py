import pytest

from plans import Counting
from theodolite.runs import RunInfo


@pytest.fixture
def counting():
    return Counting()


@pytest.fixture
def info():
    return RunInfo(
        instrument="test", model="test:x", identity="counting", settings={"data": "d"}, theodolite="0.1.0"
    )
