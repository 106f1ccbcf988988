"""``theodolite runs``: list, show and verify runs."""

from __future__ import annotations

import json as json_library
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.text import Text

from theodolite.cli.options import Group, command
from theodolite.cli.output import note, out, print_json
from theodolite.cli.output import show as show_tables
from theodolite.core.errors import StorageError, UsageError
from theodolite.core.options import RUN, Option, Options
from theodolite.core.tables import Cell, Column, Table
from theodolite.runs import Run, Tally, find_runs, verify_run

SOME_DAMAGED = 1
"""Exit status if a run is damaged."""


@dataclass(frozen=True, kw_only=True)
class ListRunsOptions(Options):
    """What `theodolite runs list` takes."""

    folder: Annotated[Path, Option("The folder to search.", metavar="DIR", is_argument=True)] = Path()


@dataclass(frozen=True, kw_only=True)
class ReadRunOptions(Options):
    """What the other commands take."""

    run: Annotated[Path, RUN]


def list_runs(options: ListRunsOptions, json: bool) -> None:
    """List the runs at or below a folder."""
    folder = options.folder
    rows = [_summary(path) for path in find_runs(folder)]
    if json:
        print_json(rows)
        return
    if not rows:
        note(f"no runs in {folder.absolute()}")
        return
    titles = ("run", "instrument", "model", "done", "failed", "created")
    show_tables([_text_table("runs.list", titles, map(_cells, rows))], json=False)


def _text_table(name: str, titles: Sequence[str], rows: Iterable[Sequence[Cell]]) -> Table:
    return Table.of(name, "", [Column(title, title) for title in titles], rows)


def _cells(row: dict[str, Any]) -> list[Cell]:
    if "problem" in row:
        return [row["run"], None, row["problem"], None, None, None]
    done = f"{row['answered'] + row['refused']} of {row['planned']}"
    return [row["run"], row["instrument"], row["model"], done, row["failed"], row["created"]]


def _summary(path: Path) -> dict[str, Any]:
    """Summarise a run. A run that cannot be opened is listed with the reason."""
    try:
        with Run.open(path) as run:
            return {
                "run": str(path),
                "instrument": run.info.instrument,
                "model": run.info.model,
                **_counts(run.tally()),
                "created": run.info.created.strftime("%Y-%m-%d %H:%M"),
            }
    except (StorageError, UsageError) as error:
        return {"run": str(path), "problem": str(error)}


def _counts(tally: Tally) -> dict[str, int]:
    return {
        "planned": tally.planned,
        "answered": tally.answered,
        "refused": tally.refused,
        "failed": tally.failed,
        "pending": tally.planned - tally.finished - tally.failed,
        "reused": tally.reused,
    }


def show(options: ReadRunOptions, json: bool) -> None:
    """Show the settings of a run, its progress, and why items failed."""
    with Run.open(options.run) as opened:
        info = opened.info.model_dump(mode="json")
        sessions = [json_library.loads(text) for text in opened.store.sessions()]
        counts = _counts(opened.tally())
        reasons = Counter(
            result.record.response.reason
            for result in opened.results(with_repeats=True)
            if result.record is not None and result.record.response.reason
        )
        scores = opened.scores()
    if json:
        print_json(
            {**info, "tally": counts, "reasons": dict(reasons), "sessions": sessions, "scores": scores}
        )
        return
    rows = {**{k: v for k, v in info.items() if k != "settings"}, **info["settings"], **counts}
    settings = [[key, str(value)] for key, value in rows.items()]
    measured = [
        [
            session["started"][:16],
            session["engine"],
            session["workers"],
            " ".join(f"{name} {version}" for name, version in session["versions"].items()),
        ]
        for session in sessions
    ]
    tables = [
        _text_table("runs.settings", ("setting", "value"), settings),
        _text_table("runs.sessions", ("measured", "engine", "workers", "versions"), measured),
    ]
    if reasons:
        tables.append(_text_table("runs.reasons", ("why no answer", "items"), reasons.most_common(10)))
    show_tables(tables, json=False)


def verify(options: ReadRunOptions, json: bool) -> None:
    """Check a run for damage: checksums of all records, the pictures, and the files themselves.

    Exits with status 1 if something is damaged. Repeating the command that made the run repairs it.
    """
    run = options.run
    damage = verify_run(run)
    if json:
        print_json({"run": str(run), "damage": [asdict(fault) for fault in damage]})
    elif damage:
        for fault in damage:
            out.print(Text(f"{fault.file}: {fault.what}: {fault.reason}"), soft_wrap=True)
        note(f"{len(damage)} findings; the command that made the run repairs it and asks again what was lost")
    else:
        note(f"{run} is whole")
    if damage:
        raise typer.Exit(SOME_DAMAGED)


app = typer.Typer(no_args_is_help=True, help="List, show and verify runs.", cls=Group)
command(app, "list", ListRunsOptions, list_runs)
command(app, "show", ReadRunOptions, show)
command(app, "verify", ReadRunOptions, verify)
