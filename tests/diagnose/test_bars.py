"""The bars of the command: one for each model and instrument, with what is going on and what went wrong."""

import io

import pytest
from rich.console import Console
from rich.progress import Progress

from theodolite.cli import _diagnose, _output
from theodolite.runs import Tally


@pytest.fixture
def shown(monkeypatch):
    """A terminal of our own, and the bars on it."""
    console = Console(file=io.StringIO(), force_terminal=True, width=200)
    monkeypatch.setattr(_output, "err", console)
    monkeypatch.setattr(_diagnose, "err", console)
    with _output.progress_bars() as progress:
        yield _diagnose._Bars(progress), progress, console


def test_each_instrument_has_a_bar_that_follows_its_tally(shown):
    bars, progress, _ = shown
    bars("m", "grid", "making data")
    assert [task.fields["trouble"] for task in progress.tasks] == ["making data"]
    bars("m", "grid", Tally(planned=20, answered=4, refused=1, failed=2, reused=3))
    bars("m", "scene", Tally(planned=8, answered=8, refused=0, failed=0, reused=0))
    grid, scene = progress.tasks
    assert (grid.description, grid.completed, grid.total) == ("m grid", 7, 20)
    assert grid.fields["trouble"] == "1 refused, 2 failed, 3 reused"
    assert (scene.completed, scene.fields["trouble"]) == (8, "")
    bars("m", "grid", "reading")
    assert grid.fields["trouble"] == "reading"
    bars("m", "grid", "done")
    assert grid.fields["trouble"] == ""


def test_the_time_that_is_left_is_shown(shown):
    bars, progress, console = shown
    bars("m", "trace", Tally(planned=20, answered=4, refused=0, failed=0, reused=0))
    progress.refresh()
    text = console.file.getvalue()
    assert "m trace" in text
    assert "4/20" in text
    assert "left" in text


def test_where_there_is_no_terminal_there_is_a_line_for_each_stage(capsys):
    with _output.progress_bars() as progress:
        assert isinstance(progress, Progress)
        bars = _diagnose._Bars(progress)
        bars("m", "grid", "making data")
        bars("m", "grid", Tally(planned=20, answered=20, refused=0, failed=0, reused=0))
        bars("m", "grid", "done")
    lines = capsys.readouterr().err.splitlines()
    assert [line.rpartition(" (")[0] for line in lines] == ["m grid: making data", "m grid: done, 20 items"]
