"""``theodolite diagnose``: all instruments on one model or several, one verdict, one report."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.progress import Progress
from rich.text import Text

from theodolite.cli import options as o
from theodolite.cli.console import err, note, out, print_json
from theodolite.cli.output import Bar, print_table, progress_bars, time_left
from theodolite.cli.running import SOME_FAILED
from theodolite.core.errors import UsageError
from theodolite.diagnose.api import DEFAULT_MODELS, diagnose
from theodolite.diagnose.readability import readability_table
from theodolite.diagnose.record import Diagnosis, schema
from theodolite.diagnose.result import Diagnosed, position_words, raised
from theodolite.report.html.write import write_report
from theodolite.runs import EngineOptions, Tally

_COLOURS = {
    "grounded": "green",
    "shortcut": "red",
    "between": "yellow",
    "mixed": "yellow",
    "outside": "yellow",
}
_MOST_LINES = 4
"""Of each list below the table: a verdict fits on a screen, the report has the rest."""

_LINE_EVERY_S = 30.0
"""Between two lines on how far it is, where there is no terminal."""


def diagnose_command(  # noqa: PLR0913, PLR0917 - one parameter per option
    model: Annotated[
        list[str] | None,
        typer.Option(
            "--model",
            metavar="MODEL",
            help="A model, such as hf:PATH or openai:NAME@URL; may be repeated. Both embedded twins if not given.",
        ),
    ] = None,
    instruments: o.Instruments = "",
    quick: Annotated[bool, typer.Option("--quick", help="Fewer items: wider intervals, sooner.")] = False,
    size: Annotated[
        str, typer.Option("--size", metavar="quick|standard|large|N", help="How many items.")
    ] = "standard",
    data: Annotated[
        list[str] | None,
        typer.Option(
            "--data",
            metavar="PATH",
            help="Your own questions, COCO instances or pairs, grids, scenes, episodes or logs of traces, measured as well; may be repeated.",
        ),
    ] = None,
    folder: Annotated[
        Path, typer.Option("--out", metavar="DIR", help="Where to write; what is there goes on.")
    ] = Path("report"),
    seed: o.Seed = 0,
    engine: o.Engine = "local",
    workers: o.Workers = None,
    ray_address: o.RayAddress = None,
    json: o.AsJson = False,
    show_schema: Annotated[
        bool, typer.Option("--schema", help="Print the JSON schema of diagnosis.json, and stop.")
    ] = False,
) -> None:
    """Run every instrument on a model, and say with evidence whether and where it is grounded.

    With no option: both embedded twins of known reasoning, side by side. The same command goes on where it stopped.
    """
    if show_schema:
        print_json(schema())
        return
    if quick and size != "standard":
        raise UsageError("--quick is --size quick; give one of them")
    with progress_bars() as progress:
        found = diagnose(
            *(model or DEFAULT_MODELS),
            out=folder,
            size="quick" if quick else size,
            instruments=o.listed(instruments),
            data=data or (),
            seed=seed,
            options=EngineOptions(engine, workers, ray_address),
            tell=_Bars(progress),
        )
        page = write_report(folder, out=folder)
    if json:
        print_json(found.diagnosis.model_dump(mode="json"))
    else:
        show_verdict(found, page)
    _exit_if_failed(found.diagnosis, folder)


def show_verdict(found: Diagnosed, page: Path | None = None) -> None:
    """The verdict on one screen."""
    diagnosis = found.diagnosis
    models = [model.name for model in diagnosis.models]
    rows: list[list[str | Text]] = []
    for instrument in diagnosis.instruments:
        views = {view.model: view for view in instrument.models}
        rows.append([instrument.name, *(_place(views[name]) for name in models)])
    rows.append(["verdict", *(_standing(model.verdict.standing) for model in diagnosis.models)])
    print_table(
        ["instrument", *models],
        rows,
        title="Position: 0 like the twin that need not look, 1 like the one that must",
    )
    out.print()
    for model in diagnosis.models:
        out.print(Text(f"{model.name}: ", style="bold") + Text(model.verdict.sentence))
    unread = [row for row in readability_table(diagnosis).text_rows() if row[3] != "100.0 %"]
    _list("read", [f"{row[3]} of {row[2]} answers ({row[0]}, {row[1]})" for row in unread])
    _list("signature", [f"{s.name} ({s.model}, {s.instrument}): {s.because}" for s in raised(diagnosis)])
    _list(
        "left out",
        [f"{x.what} ({m.name}, {x.instrument}): {x.why}" for m in diagnosis.models for x in m.left_out],
    )
    _list("open", [_open(question) for question in diagnosis.open_questions])
    out.print(Text("Signatures name behaviour, not its cause.", style="dim"))
    if page is not None:
        out.print(Text(f"The whole report: {page}"), soft_wrap=True)


def _open(question: Any) -> str:
    needed = f"{question.n_needed} units would" if question.n_needed else "no number of units would"
    return f"{question.model}, {question.instrument}: {question.question} {needed} settle it ({question.n_now} now)"


def _list(word: str, lines: list[str]) -> None:
    for line in lines[:_MOST_LINES]:
        out.print(Text(f"{word}: ", style="bold") + Text(line))
    if len(lines) > _MOST_LINES:
        out.print(Text(f"{word}: {len(lines) - _MOST_LINES} more in the report", style="dim"))


def _place(view: Any) -> Text:
    return Text(f"{position_words(view)} ") + _standing(view.verdict.standing)


def _standing(standing: str) -> Text:
    return Text(standing, style=f"bold {_COLOURS[standing]}" if standing in _COLOURS else "")


def _exit_if_failed(diagnosis: Diagnosis, folder: Path) -> None:
    failed = [
        view for each in diagnosis.instruments for view in each.models if view.counts and view.counts.failed
    ]
    if failed:
        n = sum(view.counts.failed for view in failed if view.counts)
        run = f"{folder}/{failed[0].runs[0]}" if failed[0].runs else folder
        note(
            f"{n} items failed; `theodolite runs show {run}` tells why, and the same command asks them again"
        )
        raise typer.Exit(SOME_FAILED)


class _Bars:
    """One bar for each model and instrument; a line for each where there is no terminal."""

    def __init__(self, progress: Progress) -> None:
        self._progress = progress
        self._bars: dict[tuple[str, str], Bar] = {}
        self._began: dict[tuple[str, str], float] = {}
        self._told: dict[tuple[str, str], Tally] = {}
        self._asked: dict[tuple[str, str], tuple[float, int]] = {}
        """When the first tally came, and how much was done by then."""
        self._last: dict[tuple[str, str], float] = {}

    def __call__(self, model: str, instrument: str, how_far: Tally | str) -> None:
        key = model, instrument
        if key not in self._bars:
            self._bars[key] = Bar(self._progress, f"{model} {instrument}")
            self._began[key] = time.monotonic()
        if isinstance(how_far, str):
            self._say(key, how_far)
        else:
            self._told[key] = how_far
            self._bars[key](how_far)
            if not err.is_terminal:
                self._count(key, how_far)

    def _count(self, key: tuple[str, str], tally: Tally) -> None:
        """A line when asking begins, and one every half minute."""
        now, done = time.monotonic(), tally.finished + tally.failed
        began, first = self._asked.setdefault(key, (now, done))
        if key in self._last and now - self._last[key] < _LINE_EVERY_S:
            return
        is_first = key not in self._last
        self._last[key] = now
        left = time_left(done - first, tally.planned - done, now - began)
        how_far = f"{tally.planned} items" if is_first else f"{done} of {tally.planned} items"
        note(f"{key[0]} {key[1]}: asking, {how_far}" + (f", {left}" if left else ""))

    def _say(self, key: tuple[str, str], word: str) -> None:
        self._bars[key].say("" if word == "done" else word)
        if err.is_terminal:
            return
        spent = time.monotonic() - self._began[key]
        asked = f", {self._told[key].planned} items" if key in self._told else ""
        note(f"{key[0]} {key[1]}: {word}{asked} ({spent:.0f} s)")
