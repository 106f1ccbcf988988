"""``theodolite report``: write the HTML page of a diagnosis or of runs."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from theodolite.cli.options import one_command
from theodolite.cli.output import note, out, print_json
from theodolite.core.errors import UsageError
from theodolite.core.harmless import for_terminal
from theodolite.core.options import Option, Options, out_of
from theodolite.diagnose.api import open_diagnosis
from theodolite.diagnose.record import DIAGNOSIS_FILE, read_diagnosis
from theodolite.report.card import model_card
from theodolite.report.html.write import write_report, write_run_report
from theodolite.runs import find_runs


@dataclass(frozen=True, kw_only=True)
class ReportOptions(Options):
    """What `theodolite report` takes."""

    folders: Annotated[
        tuple[Path, ...],
        Option("A diagnosis, runs, or folders of runs.", metavar="RUN…", is_argument=True),
    ]
    out: Annotated[
        Path | None,
        out_of(
            "The folder of the page. Default: the diagnosis itself, `report` in the run, or `report` here for several runs."
        ),
    ] = None
    one_file: Annotated[bool, Option("Embed the pictures, so that the page is a single file.")] = False
    figures: Annotated[
        Path | None,
        Option(
            "Also write the figures of a diagnosis as PNG and SVG into this folder, and the slide as PNG and PDF.",
            metavar="DIR",
        ),
    ] = None
    slide: Annotated[
        Path | None,
        Option(
            "Also write a summary on one slide of 16:9, as PNG, PDF or SVG, chosen by the file extension.",
            metavar="FILE",
        ),
    ] = None
    card: Annotated[bool, Option("Print a section of a model card in Markdown, and write no page.")] = False


def report(options: ReportOptions, json: bool) -> None:
    """Write a page that opens from disk: verdict, numbers with their intervals, and a browser of all items."""
    folders, figures, slide = options.folders, options.figures, options.slide
    diagnoses = [folder for folder in folders if (folder / DIAGNOSIS_FILE).is_file()]
    if diagnoses and len(folders) > 1:
        raise UsageError(
            f"a page shows one diagnosis or several runs; got the diagnosis {diagnoses[0]} and "
            f"{len(folders) - 1} more; `theodolite view {' '.join(map(str, folders))}` shows all of them"
        )
    if options.card and diagnoses:
        print(for_terminal(model_card(read_diagnosis(diagnoses[0]))))  # noqa: T201 - as it is, to be piped into a file
        return
    drawn: list[Path] = []
    if diagnoses:
        page = write_report(diagnoses[0], out=options.out, one_file=options.one_file)
        if figures is not None or slide is not None:
            drawn = _draw(diagnoses[0], figures, slide)
    elif options.card or figures is not None or slide is not None:
        raise UsageError(
            "--figures, --slide and --card are about a diagnosis; `score --figures` draws the figures of a run"
        )
    else:
        runs = list(dict.fromkeys(run for folder in folders for run in _runs_of(folder)))
        home = runs[0] if len(runs) == 1 else Path()
        page = write_run_report(runs, out=options.out or home / "report", one_file=options.one_file)
    if json:
        print_json({"page": str(page), "figures": [str(path) for path in drawn]})
        return
    out.print(str(page), soft_wrap=True)
    if drawn:
        note(f"{len(drawn)} figures in {figures}" if figures is not None else f"slide in {slide}")
    note("open it in a browser; no network is needed")


def _draw(folder: Path, figures: Path | None, slide: Path | None) -> list[Path]:
    """Write the figures of a diagnosis."""
    from theodolite.report.figures import write_figures  # loads matplotlib
    from theodolite.report.slide import slide_figure

    diagnosed = open_diagnosis(folder)
    drawn = write_figures(diagnosed, figures) if figures is not None else []
    return drawn if slide is None else [*drawn, slide_figure(diagnosed).save(slide)]


def _runs_of(folder: Path) -> list[Path]:
    runs = find_runs(folder)
    if not runs:
        raise UsageError(
            f"there is neither a diagnosis nor a run in {folder}; `theodolite diagnose --out {folder}` makes one"
        )
    return runs


app = one_command("report", ReportOptions, report)
