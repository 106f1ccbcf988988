"""The bars of the command: one for each model and instrument, with what is going on and what went wrong."""

import io
from types import SimpleNamespace

import pytest
from rich.console import Console
from rich.progress import Progress

from theodolite.cli import diagnose as _diagnose
from theodolite.cli import output as _output
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
    bars("m", "trace", tally(0))
    bars("m", "trace", tally(4))
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
    lines = lines_of(capsys.readouterr().err)
    assert [line.partition(" (")[0] for line in lines] == [
        "m grid: making data",
        "m grid: asking, 20 items",
        "m grid: done, 20 items",
    ]


def lines_of(text):
    """Without the empty line that rich below 15 ends with."""
    return list(filter(None, text.splitlines()))


def tally(answered):
    return Tally(planned=20, answered=answered, refused=0, failed=0, reused=0)


@pytest.fixture
def clock(monkeypatch):
    """A clock that only we move."""
    now = [100.0]
    for module in (_diagnose, _output):
        monkeypatch.setattr(module, "time", SimpleNamespace(monotonic=lambda: now[0]))
    return now


def test_the_time_that_is_left_is_that_of_what_was_done_since_it_began(shown, clock):
    bars, progress, _ = shown
    bars("m", "grid", "making data")
    clock[0] += 500
    bars("m", "grid", tally(4))  # taken up: these cost nothing
    assert progress.tasks[0].fields["left"] == ""
    clock[0] += 10
    bars("m", "grid", tally(8))
    assert progress.tasks[0].fields["left"] == "30 s left"
    bars("m", "grid", tally(20))
    assert progress.tasks[0].fields["left"] == ""


def test_where_there_is_no_terminal_there_is_a_line_every_half_minute(capsys, clock):
    with _output.progress_bars() as progress:
        bars = _diagnose._Bars(progress)
        for answered in range(8):
            bars("m", "grid", tally(answered))
            clock[0] += 10
    assert lines_of(capsys.readouterr().err) == [
        "m grid: asking, 20 items",
        "m grid: asking, 3 of 20 items, 2 min 50 s left",
        "m grid: asking, 6 of 20 items, 2 min 20 s left",
    ]
