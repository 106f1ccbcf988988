"""``theodolite twins``: the shipped models of known reasoning, their certificates, and how metrics separate them."""

from __future__ import annotations

import json as json_library
from dataclasses import replace
from pathlib import Path
from typing import Annotated, cast

import typer

from theodolite.cli import options as o
from theodolite.cli.console import note, out
from theodolite.cli.output import open_ended_progress, show
from theodolite.core.errors import UsageError
from theodolite.core.tables import Table
from theodolite.report.tables import as_markdown

app = typer.Typer(
    no_args_is_help=True,
    help="Models of known reasoning: one trained to use the picture, one trained to ignore it.",
)

TWINS = ("pocket:grounded", "pocket:shortcut")
_MISSED = 1
"""Exit status if a requirement is missed, or if no metric of an instrument separates the twins."""
_TASKS = ("relation", "grid", "scene", "trace")
_PAIR = ("grid:pure", "grid:spur")
_LEAST = 10
"""The minimum number of items per task and split."""

Models = Annotated[
    list[str] | None,
    typer.Option(
        "--model",
        metavar="MODEL",
        help="pocket:…, grid:pure, grid:spur or a checkpoint; may be repeated. Default: both twins.",
    ),
]

Mixed = Annotated[
    str | None,
    typer.Option(
        "--mixed", metavar="MODEL", help="A model trained on the shortcut for half of the questions."
    ),
]
Asking = Annotated[
    bool,
    typer.Option("--ask/--no-ask", help="Measure pending items, or only score stored runs."),
]


@app.command("certify")
def certify_command(  # noqa: PLR0913, PLR0917 - one parameter per option
    models: Models = None,
    size: Annotated[
        int,
        typer.Option(
            "--size",
            min=2,
            help="Minimum number of items per task, split and edit; for a grid model, scenes per bucket and density.",
        ),
    ] = 1000,
    folder: o.KeptFolder = Path("certificates"),
    tasks: Annotated[
        str, typer.Option("--tasks", metavar="LIST", help=f"Some of {', '.join(_TASKS)}.")
    ] = "all",
    released: Annotated[
        bool,
        typer.Option("--released", help="Show the shipped certificate; measure nothing."),
    ] = False,
    weights: Annotated[
        Path | None, typer.Option("--weights", metavar="FILE", help="Other weights, for a grid model.")
    ] = None,
    markdown: Annotated[bool, typer.Option("--markdown", help="Print the tables as Markdown.")] = False,
    device: o.Device = "cpu",
    workers: o.Workers = None,
    seed: o.Seed = 2026,
    json: o.AsJson = False,
) -> None:
    """Test a model of known reasoning: accuracy where the shortcut is right and wrong, answers under edits, requirements.

    Exits with status 1 if a requirement is missed.
    """
    names = tuple(models or TWINS)
    chosen = o.some_of(tasks, _TASKS, "--tasks")
    grids = [name for name in names if name in _PAIR]
    others = [name for name in names if name not in grids]
    tables, missed = _pocket(others, folder, (size, seed, workers or 1), chosen, released=released)
    for name in grids:
        tables += _grid(name, folder, (size, seed, device), weights, released=released)
    if markdown and not json:
        out.file.write("\n\n".join(as_markdown(table) for table in tables) + "\n")
    else:
        show(tables, json=json, models=list(names), missed=missed)
    if missed:
        note(f"missed: {'; '.join(missed)}")
        raise typer.Exit(_MISSED)


def _pocket(
    names: list[str], folder: Path, how: tuple[int, int, int], tasks: tuple[str, ...], *, released: bool
) -> tuple[list[Table], list[str]]:
    """Return the tables of pocket models and checkpoints, and the missed requirements."""
    from theodolite.runs import slug
    from theodolite.twins.certificate import (
        Task,
        certificate_tables,
        released_certificate,
        twin_of,
        verdicts,
        write_certificate,
    )
    from theodolite.twins.certify import CertificateSettings, certify

    if not names:
        return [], []
    if released:
        found = [released_certificate(name) for name in names]
        found = [replace(c, lines=tuple(x for x in c.lines if x.task in tasks)) for c in found]
    else:
        size, seed, workers = how
        if size < _LEAST:
            raise UsageError(
                f"--size must be at least {_LEAST} for a pocket model or a checkpoint, not {size}"
            )
        settings = CertificateSettings(size, seed, cast("tuple[Task, ...]", tasks), workers)
        with open_ended_progress("certify") as progress:
            found = certify(names, folder, settings, progress=progress)
        for certificate in found:
            note(f"wrote {write_certificate(certificate, folder / slug(certificate.model))}")
    missed = [
        f"{certificate.model} {v.bar.task}: {v.bar.name or v.bar.what} ({v.bar.split}, required {v.bar.wanted})"
        for certificate in found
        if (twin := twin_of(certificate.model)) is not None
        for v in verdicts(certificate, twin)
        if v.is_met is False and v.bar.task in tasks
    ]
    return [table for certificate in found for table in certificate_tables(certificate)], missed


def _grid(
    name: str, folder: Path, how: tuple[int, int, str], weights: Path | None, *, released: bool
) -> list[Table]:
    """Return the tables of the certificate of ``grid:pure`` or ``grid:spur``."""
    from theodolite.cli.output import counter
    from theodolite.instruments.grid.models.certify import (
        PairedKind,
        certificate_tables,
        certify_model,
        released_certificate,
    )
    from theodolite.runs import write_atomically

    kind = name.removeprefix("grid:")
    paired = cast("PairedKind", kind)
    if released:
        return certificate_tables(released_certificate(paired))
    with counter(f"certifying {name}") as progress:
        found = certify_model(
            paired, weights=weights, n=how[0], seed=how[1], device=how[2], progress=progress
        )
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"grid-{kind}.json"
    write_atomically(path, json_library.dumps(found.as_json(), indent=1) + "\n")
    note(f"wrote {path}")
    return certificate_tables(found)


@app.command("separate")
def separate_command(  # noqa: PLR0913, PLR0917 - one parameter per option
    folder: o.KeptFolder = Path("separation"),
    grounded: Annotated[
        str, typer.Option("--grounded", metavar="MODEL", help="The model that uses the picture.")
    ] = TWINS[0],
    shortcut: Annotated[
        str, typer.Option("--shortcut", metavar="MODEL", help="The model that ignores it.")
    ] = TWINS[1],
    mixed: Mixed = None,
    instruments: o.Instruments = "",
    size: Annotated[
        int, typer.Option("--size", min=6, help="Sample size per instrument: pictures, scenes or episodes.")
    ] = 100,
    released: Annotated[
        bool, typer.Option("--released", help="Show the table of the shipped twins; measure nothing.")
    ] = False,
    figures: o.Figures = None,
    ask: Asking = True,
    only_right: Annotated[
        bool, typer.Option("--only-right", help="Use only items that both twins answer correctly.")
    ] = False,
    seed: o.Seed = 0,
    json: o.AsJson = False,
) -> None:
    """Measure how well every metric separates the twins where both are correct. The same command resumes."""
    from theodolite.instruments.instrument import find_instruments
    from theodolite.twins.separate import Sides, released_table, separate, separation_tables, write_table
    from theodolite.twins.workspace import Workspace

    chosen = find_instruments(o.listed(instruments)) if instruments else ()
    if released:
        table = released_table()
        names = [each.name for each in chosen]
        rows = tuple(row for row in table.rows if not names or row.metric.instrument in names)
        table = replace(table, rows=rows)
    else:
        with open_ended_progress("separate") as progress:
            workspace = Workspace(
                folder,
                size=size,
                seed=seed,
                progress=lambda name, tally: progress(name, tally.finished + tally.failed),
            )
            sides = Sides(grounded, shortcut, mixed)
            table = separate(workspace, sides=sides, chosen=chosen, asks=ask, only_right=only_right)
        note(f"wrote {write_table(table, folder)}")
    if figures is not None:
        from theodolite.report.twin_figures import separation_figure

        figures.mkdir(parents=True, exist_ok=True)
        title = "Which metrics separate a model that uses the picture from one that ignores it, where both are correct"
        note(f"wrote {separation_figure(table, title=title).save(figures / 'separation.png')}")
    show(
        separation_tables(table), json=json, failing=list(table.failing), not_between=list(table.not_between)
    )
    if table.failing:
        raise typer.Exit(_MISSED)
