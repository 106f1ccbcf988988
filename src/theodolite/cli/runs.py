"""``theodolite runs``: list and show runs."""

from __future__ import annotations

import json as json_library
from collections import Counter
from pathlib import Path
from typing import Annotated, Any

import typer

from theodolite.cli import options as o
from theodolite.cli.console import note, out, print_json
from theodolite.cli.output import print_table
from theodolite.core.errors import StorageError, UsageError
from theodolite.runs import Run, Tally, find_runs

app = typer.Typer(no_args_is_help=True, help="List and show runs.")


@app.command("list")
def list_runs(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="The folder to search.")] = Path(),
    json: o.AsJson = False,
) -> None:
    """List the runs at or below a folder."""
    rows = [_summary(path) for path in find_runs(folder)]
    if json:
        print_json(rows)
        return
    if not rows:
        note(f"no runs in {folder.absolute()}")
        return
    print_table(["run", "instrument", "model", "done", "failed", "created"], [_cells(row) for row in rows])


def _cells(row: dict[str, Any]) -> list[str]:
    if "problem" in row:
        return [row["run"], "–", row["problem"]]
    done = f"{row['answered'] + row['refused']} of {row['planned']}"
    return [row["run"], row["instrument"], row["model"], done, str(row["failed"]), row["created"]]


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


@app.command("show")
def show(run: o.RunFolder, json: o.AsJson = False) -> None:
    """Show the settings of a run, its progress, and why items failed."""
    with Run.open(run) as opened:
        info = opened.info.model_dump(mode="json")
        sessions = [json_library.loads(text) for text in opened.store.sessions()]
        counts = _counts(opened.tally())
        reasons = Counter(
            result.record.response.reason
            for result in opened.results()
            if result.record is not None and result.record.response.reason
        )
        scores = opened.scores()
    if json:
        print_json(
            {**info, "tally": counts, "reasons": dict(reasons), "sessions": sessions, "scores": scores}
        )
        return
    rows = {**{k: v for k, v in info.items() if k != "settings"}, **info["settings"], **counts}
    print_table(["setting", "value"], [[key, str(value)] for key, value in rows.items()])
    out.print()
    print_table(
        ["measured", "engine", "workers", "versions"],
        [
            [
                s["started"][:16],
                s["engine"],
                str(s["workers"]),
                " ".join(f"{k} {v}" for k, v in s["versions"].items()),
            ]
            for s in sessions
        ],
    )
    if reasons:
        out.print()
        print_table(
            ["why no answer", "items"],
            [[reason, str(count)] for reason, count in reasons.most_common(10)],
        )
