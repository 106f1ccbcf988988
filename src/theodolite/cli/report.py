"""``theodolite report``: write the HTML page of a diagnosis or of runs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from theodolite.cli import options as o
from theodolite.cli.console import note, out, print_json
from theodolite.core.errors import UsageError
from theodolite.diagnose.api import open_diagnosis
from theodolite.diagnose.record import DIAGNOSIS_FILE
from theodolite.report.html.write import write_report, write_run_report
from theodolite.runs import find_runs


def report(
    folders: Annotated[
        list[Path],
        typer.Argument(metavar="RUN…", help="A diagnosis, runs, or folders of runs."),
    ],
    target: Annotated[
        Path | None,
        typer.Option(
            "--out",
            metavar="DIR",
            help="The folder of the page. Default: the diagnosis itself, `report` in the run, or `report` here for several runs.",
        ),
    ] = None,
    one_file: Annotated[
        bool, typer.Option("--one-file", help="Embed the pictures, so that the page is a single file.")
    ] = False,
    figures: Annotated[
        Path | None,
        typer.Option(
            "--figures",
            metavar="DIR",
            help="Also write the shares and the examples of a diagnosis as PNG and SVG into this folder.",
        ),
    ] = None,
    json: o.AsJson = False,
) -> None:
    """Write a page that opens from disk: verdict, numbers with their intervals, and a browser of all items."""
    diagnoses = [folder for folder in folders if (folder / DIAGNOSIS_FILE).is_file()]
    if diagnoses and len(folders) > 1:
        raise UsageError(
            f"a page shows one diagnosis or several runs; got the diagnosis {diagnoses[0]} and "
            f"{len(folders) - 1} more; `theodolite view {' '.join(map(str, folders))}` shows all of them"
        )
    drawn: list[Path] = []
    if diagnoses:
        page = write_report(diagnoses[0], out=target, one_file=one_file)
        if figures is not None:
            from theodolite.report.pair_figures import write_pair_figures  # loads matplotlib

            drawn = write_pair_figures(open_diagnosis(diagnoses[0]), figures)
    else:
        if figures is not None:
            raise UsageError(
                "--figures draws the pairs of a diagnosis; `score --figures` draws those of a run"
            )
        runs = list(dict.fromkeys(run for folder in folders for run in _runs_of(folder)))
        home = runs[0] if len(runs) == 1 else Path()
        page = write_run_report(runs, out=target or home / "report", one_file=one_file)
    if json:
        print_json({"page": str(page), "figures": [str(path) for path in drawn]})
        return
    out.print(str(page), soft_wrap=True)
    if drawn:
        note(f"{len(drawn)} figures in {figures}")
    note("open it in a browser; no network is needed")


def _runs_of(folder: Path) -> list[Path]:
    runs = find_runs(folder)
    if not runs:
        raise UsageError(
            f"there is neither a diagnosis nor a run in {folder}; `theodolite diagnose --out {folder}` makes one"
        )
    return runs
