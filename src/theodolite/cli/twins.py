"""``theodolite pocket``: the twins of known reasoning, their certificate, and which metrics tell them apart."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, cast

import typer
from rich.text import Text

from theodolite.cli import options as o
from theodolite.cli.console import note, out, print_json
from theodolite.cli.output import percent, points, print_table, told_progress
from theodolite.core.errors import UsageError
from theodolite.instruments.instrument import find_instruments
from theodolite.runs import slug
from theodolite.stats import Estimate
from theodolite.twins.certify import (
    TASKS,
    Certificate,
    Making,
    Task,
    Verdict,
    certify,
    figures_markdown,
    released_certificate,
    twin_of,
    verdicts,
    write_certificate,
)
from theodolite.twins.separate import (
    PASSES,
    Separation,
    SeparationTable,
    Sides,
    released_table,
    separate,
    write_table,
)
from theodolite.twins.workspace import Workspace

app = typer.Typer(
    no_args_is_help=True, help="Twins of known reasoning: one that must look, one that need not."
)

TWINS = ("pocket:grounded", "pocket:shortcut")
_MISSED = 1
"""The exit status where a bar is missed, or an instrument tells nothing apart."""

Models = Annotated[
    list[str] | None,
    typer.Option("--model", metavar="MODEL", help="A model; may be repeated. Both twins if not given."),
]
_Sides = Annotated[str, typer.Option(metavar="MODEL")]


@app.command("certify")
def certify_command(  # noqa: PLR0913, PLR0917 - one parameter per option
    models: Models = None,
    n: Annotated[
        int,
        typer.Option(
            "--n",
            min=10,
            help="Items of each task and split and after each edit, at least; parts have fewer.",
        ),
    ] = 1000,
    folder: Annotated[
        Path, typer.Option("--out", metavar="DIR", help="Where to write; what is done stays done.")
    ] = Path("certificates"),
    tasks: Annotated[
        str, typer.Option("--tasks", metavar="LIST", help=f"Some of {', '.join(TASKS)}.")
    ] = ",".join(TASKS),
    released: Annotated[
        bool,
        typer.Option("--released", help="Show the certificate that ships with the weights; ask nothing."),
    ] = False,
    markdown: Annotated[
        bool, typer.Option("--markdown", help="Print the figures as tables in Markdown, for a model's card.")
    ] = False,
    workers: Annotated[int, typer.Option("--workers", min=1, help="Processes that draw pictures.")] = 1,
    seed: o.Seed = 2026,
    json: o.AsJson = False,
) -> None:
    """Recompute the certificate from scratch: accuracy with and against the shortcut, edits, and every bar met or missed."""
    chosen = cast("tuple[Task, ...]", _listed(tasks, TASKS, "--tasks"))
    names = tuple(models or TWINS)
    if released:
        found = [_part(released_certificate(model), chosen) for model in names]
    else:
        with told_progress("certify") as progress:
            found = certify(names, folder, Making(n, seed, chosen, workers), progress=progress)
        for certificate in found:
            note(f"wrote {write_certificate(certificate, folder / slug(certificate.model))}")
    if json:
        print_json([_as_json(certificate) for certificate in found])
    elif markdown:
        for certificate in found:
            out.file.write(figures_markdown(certificate))
    else:
        for certificate in found:
            _show(certificate)
    if any(verdict.is_met is False for certificate in found for verdict in _verdicts(certificate)):
        raise typer.Exit(_MISSED)


def _part(certificate: Certificate, tasks: tuple[Task, ...]) -> Certificate:
    return replace(certificate, lines=tuple(line for line in certificate.lines if line.task in tasks))


def _verdicts(certificate: Certificate) -> tuple[Verdict, ...]:
    twin = twin_of(certificate.model)
    if twin is None:
        return ()
    return tuple(v for v in verdicts(certificate, twin) if v.bar.task in certificate.tasks)


def _as_json(certificate: Certificate) -> dict[str, object]:
    bars = [
        {
            "task": v.bar.task,
            "what": v.bar.what,
            "split": v.bar.split,
            "wanted": v.bar.wanted,
            "met": v.is_met,
        }
        for v in _verdicts(certificate)
    ]
    return {**certificate.as_json(), "bars": bars}


def _show(certificate: Certificate) -> None:
    rows = [
        [
            line.task,
            line.part or "all",
            line.split,
            line.what,
            _figure(line.what, line.estimate),
            _counts(line.estimate, line.unread),
        ]
        for line in certificate.lines
    ]
    print_table(
        ["task", "part", "split", "what", "figure", "n"],
        rows,
        title=f"{certificate.model}, seed {certificate.seed}",
    )
    found = _verdicts(certificate)
    if not found:
        note(f"{certificate.model} is neither twin by its name, so no bar applies")
        return
    bars: list[list[str | Text]] = [
        [
            v.bar.task,
            v.bar.name or v.bar.what,
            v.bar.split,
            v.bar.wanted,
            "–" if v.estimate is None else _figure(v.bar.what, v.estimate),
            _word(v.is_met),
        ]
        for v in found
    ]
    print_table(["task", "bar", "split", "wanted", "measured", ""], bars, title="bars")


def _word(is_met: bool | None) -> Text:
    if is_met is None:
        return Text("not measured")
    return Text("met", style="green") if is_met else Text("missed", style="bold red")


def _figure(what: str, estimate: Estimate) -> str:
    return points(estimate) if " less " in what else percent(estimate)


def _counts(estimate: Estimate, unread: int) -> str:
    items = f"{estimate.n}" if estimate.n_items == estimate.n else f"{estimate.n} ({estimate.n_items} items)"
    return f"{items}, {unread} unread" if unread else items


@app.command("separate")
def separate_command(  # noqa: PLR0913, PLR0917 - one parameter per option
    folder: Annotated[
        Path, typer.Option("--out", metavar="DIR", help="Where to write; what was measured there stays.")
    ] = Path("separation"),
    grounded: Annotated[str, typer.Option("--grounded", metavar="MODEL", help="The one that looks.")] = TWINS[
        0
    ],
    shortcut: Annotated[
        str, typer.Option("--shortcut", metavar="MODEL", help="The one that need not.")
    ] = TWINS[1],
    mixed: Annotated[
        str | None,
        typer.Option("--mixed", metavar="MODEL", help="One that looks half of the time: must be between."),
    ] = None,
    instruments: Annotated[
        str,
        typer.Option(
            "--instruments",
            metavar="LIST",
            help="Some instruments, separated by commas; see `theodolite list`.",
        ),
    ] = "",
    n: Annotated[
        int, typer.Option("--n", min=6, help="Pictures, scenes or episodes for each instrument.")
    ] = 100,
    released: Annotated[
        bool, typer.Option("--released", help="Show the table of the twins that ship; measure nothing.")
    ] = False,
    figure: Annotated[
        Path | None, typer.Option("--figure", metavar="FILE", help="Draw the areas: PNG, SVG or PDF.")
    ] = None,
    ask: Annotated[
        bool,
        typer.Option("--ask/--no-ask", help="Measure what is pending, or only read the runs that are there."),
    ] = True,
    only_right: Annotated[
        bool, typer.Option("--only-right", help="Count only items that both twins answer rightly.")
    ] = False,
    seed: o.Seed = 0,
    json: o.AsJson = False,
) -> None:
    """Tell the twins apart with every metric of every instrument, where both answer right. The same command goes on where it stopped."""
    chosen = find_instruments(o.listed(instruments)) if instruments else ()
    if released:
        table = released_table()
        names = [each.name for each in chosen]
        rows = tuple(row for row in table.rows if not names or row.metric.instrument in names)
        table = replace(table, rows=rows)
    else:
        with told_progress("separate") as progress:
            workspace = Workspace(
                folder,
                size=n,
                seed=seed,
                progress=lambda name, tally: progress(name, tally.finished + tally.failed),
            )
            sides = Sides(grounded, shortcut, mixed)
            table = separate(workspace, sides=sides, chosen=chosen, asks=ask, only_right=only_right)
        note(f"wrote {write_table(table, folder)}")
    if figure is not None:
        from theodolite.report.twin_figures import separation_figure

        title = "Which metrics tell a model that looks from one that does not, where both answer right"
        note(f"wrote {separation_figure(table, title=title).save(figure)}")
    print_json(table.as_json()) if json else _show_separation(table)
    if table.failing:
        raise typer.Exit(_MISSED)


def _show_separation(table: SeparationTable) -> None:
    for instrument in table.instruments:
        rows = [_separation_row(row) for row in table.of(instrument)]
        columns = ["metric", "origin", "AUC", table.sides.grounded, table.sides.shortcut]
        if table.sides.mixed:
            columns += [table.sides.mixed, "position"]
        print_table([*columns, "items"], rows, title=f"{instrument}, {table.split} split")
    for instrument in table.failing:
        note(f"no metric of {instrument} reaches an AUC of {PASSES}")
    for key in table.not_between:
        note(f"the mixed model does not lie between the twins on {key}")


def _separation_row(row: Separation) -> list[str | Text]:
    if row.auc is None:
        return [Text(row.metric.name, style="dim"), row.metric.origin, Text(row.why, style="dim")]
    auc = f"{row.auc.value:.3f} [{row.auc.low:.3f}, {row.auc.high:.3f}]"
    cells: list[str | Text] = [
        Text(row.metric.name, style="bold" if row.passes else ""),
        row.metric.origin,
        Text(auc, style="bold" if row.passes else ""),
        _mean(row.grounded),
        _mean(row.shortcut),
    ]
    if row.mixed is not None:
        cells += [_mean(row.mixed), "–" if row.position is None else f"{row.position:.2f}"]
    return [*cells, f"{row.n[0]} + {row.n[1]}"]


def _mean(estimate: Estimate | None) -> str:
    return "–" if estimate is None else f"{estimate.value:.3f}"


def _listed(text: str, known: Sequence[str], option: str) -> tuple[str, ...]:
    words = tuple(dict.fromkeys(word.strip() for word in text.split(",") if word.strip()))
    wrong = [word for word in words if word not in known]
    if wrong or not words:
        raise UsageError(f"{option} takes some of {', '.join(known)}, not {text!r}")
    return words
