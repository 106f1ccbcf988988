import pytest


@pytest.fixture(autouse=True)
def _no_waiting(monkeypatch):
    """How long a retry waits is tested on its own; elsewhere it only costs time."""
    from theodolite.models import openai as _limiter

    monkeypatch.setattr(_limiter.random, "uniform", lambda *_: 0.0)
