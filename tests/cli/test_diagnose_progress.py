"""The progress of the command: one line for the whole diagnosis, with what is going on and what is left."""

import io
from types import SimpleNamespace

import pytest
from rich.console import Console
from rich.progress import Progress

from theodolite.cli import diagnose as _diagnose
from theodolite.cli import output as _output
from theodolite.core.tables import duration
from theodolite.diagnose.api import Overall, printed
from theodolite.runs import Tally


@pytest.fixture
def shown(monkeypatch):
    """A terminal of our own, and the bars on it."""
    console = Console(file=io.StringIO(), force_terminal=True, width=200)
    monkeypatch.setattr(_output, "err", console)
    monkeypatch.setattr(_diagnose, "err", console)
    with _output.progress_bars() as progress:
        yield _diagnose._Bars(progress), progress, console


def announce(bars, models=("m",), instruments=("grid", "scene")):
    for model in models:
        for instrument in instruments:
            bars(model, instrument, "waiting")


def test_there_is_one_bar_for_all_and_a_line_for_each_finished_step(shown):
    bars, progress, console = shown
    announce(bars)
    bars("m", "grid", "making data")
    (task,) = progress.tasks
    assert (task.description, task.fields["trouble"]) == ("1 of 2  m grid", "making data")
    bars("m", "grid", Tally(planned=20, answered=4, refused=1, failed=2, reused=3))
    assert (task.completed, task.total) == (7, 20)
    assert task.fields["trouble"] == "1 refused, 2 failed, 3 reused"
    bars("m", "scene", Tally(planned=8, answered=8, refused=0, failed=0, reused=0))
    assert (task.description, task.completed, task.fields["trouble"]) == ("2 of 2  m scene", 8, "")
    bars("m", "grid", "scoring")
    assert task.fields["trouble"] == "scoring"
    bars("m", "grid", "done")
    assert "m grid: done, 20 items (under 1 s)" in console.file.getvalue()


def test_where_there_is_no_terminal_there_is_a_line_for_each_stage(capsys):
    with _output.progress_bars() as progress:
        assert isinstance(progress, Progress)
        bars = _diagnose._Bars(progress)
        announce(bars)
        bars("m", "grid", "making data")
        bars("m", "grid", Tally(planned=20, answered=20, refused=0, failed=0, reused=0))
        bars("m", "grid", "done")
    lines = lines_of(capsys.readouterr().err)
    assert [line.partition(" (")[0] for line in lines] == [
        "1 of 2: m grid, making data",
        "1 of 2: m grid, 20 of 20 items",
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
    announce(bars, instruments=("grid",))
    bars("m", "grid", "making data")
    clock[0] += 500
    bars("m", "grid", tally(4))  # taken up: these cost nothing
    (task,) = progress.tasks
    assert task.fields["left"] == ""
    clock[0] += 10
    bars("m", "grid", tally(8))
    assert task.fields["left"] == "30 s left"
    bars("m", "grid", tally(20))
    assert task.fields["left"] == ""


def test_what_is_left_counts_the_steps_to_come_by_those_of_other_models(clock):
    overall = Overall(lambda: clock[0])
    announce(overall, ("first", "second"))

    def step(model, instrument, seconds):
        overall(model, instrument, tally(0))
        clock[0] += seconds
        overall(model, instrument, tally(20))
        overall(model, instrument, "done")

    overall("first", "grid", tally(0))
    clock[0] += 10
    overall("first", "grid", tally(10))
    assert (
        overall.line() == "1 of 4: first grid, 10 of 20 items, at least 10 s left"
    )  # scene was never measured
    clock[0] += 10
    overall("first", "grid", "done")
    step("first", "scene", 60)
    assert overall.place == "2 of 4"
    step("second", "grid", 40)  # twice as slow as the first
    overall("second", "scene", "making data")
    overall("second", "scene", tally(0))
    assert overall.left == ""
    assert overall.spent("second", "grid") == 40
    announce(overall, ("third",))
    clock[0] += 6
    overall("second", "scene", tally(1))
    words = "4 of 6: second scene, 1 of 20 items, "
    assert (
        overall.line() == f"{words}{duration(19 * 6 + 30 + 60)} left"
    )  # the third as the mean of the others


def test_where_there_is_no_terminal_there_is_a_line_every_half_minute(capsys, clock):
    with _output.progress_bars() as progress:
        bars = _diagnose._Bars(progress)
        announce(bars, instruments=("grid",))
        for answered in range(8):
            bars("m", "grid", tally(answered))
            clock[0] += 10
    assert lines_of(capsys.readouterr().err) == [
        "1 of 1: m grid, 0 of 20 items",
        "1 of 1: m grid, 3 of 20 items, 2 min 50 s left",
        "1 of 1: m grid, 6 of 20 items, 2 min 20 s left",
    ]


def test_a_program_gets_one_line_that_is_rewritten(capsys):
    with printed(True) as told:
        announce(told)
        told("m", "grid", tally(3))
    assert capsys.readouterr().err.startswith("\r1 of 2: m grid, 3 of 20 items")
    with printed(False) as told:
        told("m", "grid", tally(3))
    assert capsys.readouterr().err == ""
