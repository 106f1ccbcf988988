"""Print text, tables, JSON and progress."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from rich.console import Console, ConsoleOptions, ConsoleRenderable, RenderableType, RenderHook, RenderResult
from rich.measure import Measurement
from rich.segment import Segment
from rich.text import Text

from theodolite.core.harmless import for_json, for_terminal

if TYPE_CHECKING:
    from rich.progress import Progress

    from theodolite.core.tables import Table
    from theodolite.runs import Tally

__all__ = [
    "err",
    "note",
    "notes",
    "out",
    "print_json",
]


# Results on standard output, progress and notes on standard error. The help of the program loads this module, so tables
# and progress bars load where they are shown.


class _Harmless:
    """Anything that is printed, without what would act on the terminal."""

    def __init__(self, printed: RenderableType) -> None:
        self._printed = printed

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        for text, style, control in console.render(self._printed, options):
            yield Segment(text if control else for_terminal(text), style, control)

    def __rich_measure__(self, console: Console, options: ConsoleOptions) -> Measurement:
        return Measurement.get(console, options, self._printed)


class _Filter(RenderHook):
    def process_renderables(self, renderables: list[ConsoleRenderable]) -> list[ConsoleRenderable]:
        """Filter all that a console prints."""
        return [_Harmless(printed) for printed in renderables]


def _console(**settings: Any) -> Console:
    """Create a console. Texts of models and strangers go through it, so it filters them."""
    console = Console(highlight=False, **settings)
    console.push_render_hook(_Filter())
    return console


out = _console()
err = _console(stderr=True)


def print_json(value: Any) -> None:
    """Print a JSON document, without wrapping or colours."""
    out.file.write(for_json(json.dumps(value, indent=2, ensure_ascii=False, default=str)) + "\n")


def note(text: str) -> None:
    """Print a note to standard error, without wrapping, so that paths can be copied."""
    err.print(Text(text), soft_wrap=True)


def notes(texts: Iterable[str]) -> None:
    """Print several notes."""
    for text in texts:
        note(text)


# Print tables on standard output, and progress on standard error.


_FILE_WIDTH = 160
"""Width of tables if there is no terminal."""


def show(tables: Iterable[Table], *, json: bool, **more: Any) -> None:
    """Print tables with their notes, or as JSON. Every command that computes numbers ends with it.

    Args:
        tables: The tables to print.
        json: If True, print JSON.
        more: Further entries of the JSON document.
    """
    from theodolite.report.tables import as_rich, tables_json

    all_tables = list(tables)
    if json:
        print_json(tables_json(all_tables, **more))
        return
    console = out if out.is_terminal else _console(file=out.file, width=_FILE_WIDTH)
    for number, table in enumerate(all_tables):
        if number:
            console.print()
        console.print(as_rich(table))
        for text in table.notes:
            console.print(Text(text, style="dim"), soft_wrap=True)


def print_table(columns: Sequence[str], rows: Sequence[Sequence[str | Text]], *, title: str = "") -> None:
    """Print a table of text. The text is not interpreted as mark-up."""
    from rich.table import Table as RichTable

    table = RichTable(
        title=title or None, title_justify="left", box=None, pad_edge=False, header_style="bold"
    )
    for column in columns:
        table.add_column(column, overflow="fold")
    for row in rows:
        table.add_row(*(cell if isinstance(cell, Text) else Text(cell) for cell in row))
    console = out if out.is_terminal else _console(file=out.file, width=_FILE_WIDTH)
    console.print(table)


def time_left(done: int, remaining: int, elapsed: float) -> str:
    """Estimate the remaining time as elapsed/done · remaining. Empty if nothing is done yet.

    >>> time_left(30, 90, 60.0), time_left(1, 4000, 2.0), time_left(0, 9, 5.0), time_left(9, 0, 5.0)
    ('3 min 00 s left', '2 h 13 min left', '', '')
    """
    if done <= 0 or remaining <= 0:
        return ""
    from theodolite.core.tables import duration

    return f"{duration(elapsed / done * remaining)} left"


class Bar:
    """A progress bar for the tally of a run: rate, remaining time, and counts of problems."""

    def __init__(self, progress: Progress, description: str, limit: int | None = None) -> None:
        self._progress = progress
        self._task = progress.add_task(description, total=None, rate="", left="", trouble="")
        self._limit = limit
        self._first: int | None = None
        self._began = 0.0

    def rename(self, description: str) -> None:
        """Change the description. The bar is reset if it differs."""
        if description != self._progress.tasks[self._task].description:
            self._first = None
            self._progress.update(
                self._task, description=description, total=None, completed=0, rate="", left=""
            )

    def __call__(self, tally: Tally, left: str | None = None) -> None:
        """Update the bar.

        Args:
            tally: The progress of the run.
            left: The remaining time in words. Default: that of this run.
        """
        done = tally.finished + tally.failed
        if self._first is None:
            self._first, self._began = done, time.monotonic()
        total = min(tally.planned, self._limit or tally.planned)
        new, elapsed = done - self._first, time.monotonic() - self._began
        rate = f"{new / elapsed:.1f}/s" if elapsed > 0.5 else ""
        left = time_left(new, max(total - done, 0), elapsed) if left is None else left
        counts = (("refused", tally.refused), ("failed", tally.failed), ("reused", tally.reused))
        trouble = ", ".join(f"{count} {word}" for word, count in counts if count)
        self._progress.update(
            self._task, completed=min(done, total), total=total, rate=rate, left=left, trouble=trouble
        )

    def say(self, word: str) -> None:
        """Show a word for the current step, until the next tally."""
        self._progress.update(self._task, trouble=word)


@contextmanager
def progress_bars() -> Iterator[Progress]:
    """Display any number of `Bar` within the context. Nothing is shown without a terminal."""
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    with Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[rate]}"),
        TimeElapsedColumn(),
        TextColumn("{task.fields[left]}"),
        TextColumn("{task.fields[trouble]}", style="yellow"),
        console=err,
        disable=not err.is_terminal,
    ) as progress:
        yield progress


@contextmanager
def progress_bar(description: str, limit: int | None = None) -> Iterator[Bar]:
    """Display one bar within the context. Nothing is shown without a terminal."""
    with progress_bars() as progress:
        yield Bar(progress, description, limit)


@contextmanager
def step_progress() -> Iterator[Callable[[str, int, int | None], None]]:
    """Display progress within the context. Yield a function of step, number done and total, if known."""
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    with Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.completed:.0f}"),
        TextColumn("{task.fields[total_words]}"),
        TimeElapsedColumn(),
        console=err,
        disable=not err.is_terminal,
    ) as progress:
        task = progress.add_task("", total=None, visible=False, total_words="")

        def update(step: str, done: int, total: int | None) -> None:
            words = "" if total is None else f"of {total}"
            progress.update(
                task, description=step, completed=done, total=total, visible=True, total_words=words
            )

        yield update
