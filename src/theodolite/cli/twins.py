"""``theodolite twins``: the shipped models of known reasoning, their certificates, and how metrics separate them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, cast

import typer

from theodolite.cli.options import Group, command
from theodolite.cli.output import note, show, step_progress
from theodolite.core.options import FIGURES, INSTRUMENTS, KEPT_FOLDER, SEED, Option, Options, size_of

app = typer.Typer(
    no_args_is_help=True,
    help="Models of known reasoning: one trained to use the picture, one trained to ignore it.",
    cls=Group,
)

TWINS = ("pocket:grounded", "pocket:shortcut")
PAIR = ("grid:pure", "grid:spur")
_MISSED = 1
"""Exit status if a requirement is missed, or if no metric of an instrument separates the twins."""


@dataclass(frozen=True, kw_only=True)
class CertificateOptions(Options):
    """What `theodolite twins certificate` takes."""

    models: Annotated[
        tuple[str, ...],
        Option(
            f"{', '.join((*TWINS, *PAIR[:1]))} or {PAIR[1]}; may be repeated. Default: both twins.",
            name="model",
            metavar="MODEL",
            repeats=True,
        ),
    ] = ()


def show_certificates(options: CertificateOptions, json: bool) -> None:
    """Show the certificates of the shipped models: what their answers depend on, and the requirements that they meet.

    Exits with status 1 if a requirement is missed.
    """
    from theodolite.instruments.grid.models import certificate as grid
    from theodolite.twins.certificate import certificate_tables, missed_bars, released_certificate

    names = options.models or TWINS
    tables, missed = [], []
    for name in names:
        if name in PAIR:
            kind = cast("grid.PairedKind", name.removeprefix("grid:"))
            tables += grid.certificate_tables(grid.released_certificate(kind))
        else:
            certificate = released_certificate(name)
            tables += certificate_tables(certificate)
            missed += missed_bars(certificate)
    show(tables, json=json, models=list(names), missed=missed)
    if missed:
        note(f"missed: {'; '.join(missed)}")
        raise typer.Exit(_MISSED)


@dataclass(frozen=True, kw_only=True)
class SeparateOptions(Options):
    """What `theodolite twins separate` takes."""

    out: Annotated[Path, KEPT_FOLDER] = Path("separation")
    grounded: Annotated[str, Option("The model that uses the picture.", metavar="MODEL")] = TWINS[0]
    shortcut: Annotated[str, Option("The model that ignores it.", metavar="MODEL")] = TWINS[1]
    mixed: Annotated[
        str | None, Option("A model trained on the shortcut for half of the questions.", metavar="MODEL")
    ] = None
    instruments: Annotated[tuple[str, ...], INSTRUMENTS] = ()
    size: Annotated[int, size_of("pictures, scenes or episodes per instrument", least=6)] = 100
    released: Annotated[bool, Option("Show the table of the shipped twins; measure nothing.")] = False
    figures: Annotated[Path | None, FIGURES] = None
    ask: Annotated[bool, Option("Measure pending items, or only score stored runs.")] = True
    only_right: Annotated[bool, Option("Use only items that both twins answer correctly.")] = False
    seed: Annotated[int, SEED] = 0


def separate_twins(options: SeparateOptions, json: bool) -> None:
    """Measure how well every metric separates the twins where both are correct. The same command resumes."""
    from theodolite.instruments.instrument import find_instruments
    from theodolite.twins.separate import Sides, released_table, separate, separation_tables, write_table
    from theodolite.twins.workspace import Workspace

    chosen = find_instruments(options.instruments) if options.instruments else ()
    if options.released:
        table = released_table()
        names = [instrument.name for instrument in chosen]
        rows = tuple(row for row in table.rows if not names or row.metric.instrument in names)
        table = replace(table, rows=rows)
    else:
        with step_progress() as progress:
            workspace = Workspace(
                options.out,
                size=options.size,
                seed=options.seed,
                progress=lambda name, tally: progress(name, tally.finished + tally.failed, None),
            )
            table = separate(
                workspace,
                sides=Sides(options.grounded, options.shortcut, options.mixed),
                chosen=chosen,
                asks=options.ask,
                only_right=options.only_right,
            )
        note(f"wrote {write_table(table, options.out)}")
    if options.figures is not None:
        from theodolite.report.slide import separation_figure

        options.figures.mkdir(parents=True, exist_ok=True)
        title = "Which metrics separate a model that uses the picture from one that ignores it, where both are correct"
        note(f"wrote {separation_figure(table, title=title).save(options.figures / 'separation.png')}")
    show(
        separation_tables(table), json=json, failing=list(table.failing), not_between=list(table.not_between)
    )
    if table.failing:
        raise typer.Exit(_MISSED)


command(app, "certificate", CertificateOptions, show_certificates)
command(app, "separate", SeparateOptions, separate_twins)
