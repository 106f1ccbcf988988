"""``theodolite compass score``: how well relevance points, beside what the layout alone gives."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from theodolite.cli import options as o
from theodolite.cli.compass_cells import NOTHING, degrees, hundredths, share
from theodolite.cli.compass_details import show_details
from theodolite.cli.compass_figures import save_score_figures
from theodolite.cli.console import note, out, print_json
from theodolite.cli.output import percent, print_table
from theodolite.core.errors import UsageError
from theodolite.instruments.compass.experiments.framework import Row
from theodolite.instruments.compass.score import score_run
from theodolite.instruments.compass.score_records import PROJECTIONS, SECTIONS, CompassScore, ScoreSettings
from theodolite.runs import Run

Projection = Annotated[
    str,
    typer.Option("--projection", metavar="paper|sound|both", help="How maps become directions."),
]
Methods = Annotated[str, typer.Option("--methods", metavar="LIST", help="Relevance methods, or all.")]
PromptName = Annotated[str, typer.Option("--prompt", metavar="NAME", help="Which prompt to report on.")]
NegativeRelevance = Annotated[
    str,
    typer.Option(
        "--negative", metavar="error|absolute|positive", help="What to do with relevance below zero."
    ),
]
Figures = Annotated[
    Path | None, typer.Option("--figures", metavar="DIR", help="Where to draw the figures, if anywhere.")
]
_SHOWN = (*SECTIONS, "labels", "prompts", "exclusions")


def score(  # noqa: PLR0913, PLR0917 - one parameter per option
    run: o.RunFolder,
    projection: Projection = "both",
    show: Annotated[
        str,
        typer.Option("--show", metavar="LIST", help=f"More tables: {', '.join(_SHOWN)}, or all."),
    ] = "",
    methods: Methods = "all",
    prompt: PromptName = "",
    development: Annotated[
        int,
        typer.Option(
            "--development",
            min=0,
            metavar="N",
            help="Choose prompt and projection on N pairs, and report on other pictures.",
        ),
    ] = 0,
    choose_by: Annotated[
        str,
        typer.Option(
            "--choose-by", metavar="excess|dae", help="What is made small on the development pairs."
        ),
    ] = "excess",
    ablate: Annotated[
        str, typer.Option("--ablate", metavar="METHOD@TARGET", help="Whose ablations to show.")
    ] = "",
    negative: NegativeRelevance = "error",
    figures: Figures = None,
    seed: o.Seed = 0,
    json: o.AsJson = False,
) -> None:
    """Score a run from its stored maps; no model is called. Every row stands beside the uniform map's."""
    shown = listed(show, _SHOWN, "--show")
    settings = ScoreSettings(
        projections=projections(projection),
        methods=() if methods == "all" else tuple(words(methods)),
        prompt=prompt,
        sections=tuple(n for n in SECTIONS if n in shown or (figures is not None and n == "classes")),
        ablated=ablate,
        development=development,
        criterion=one_of(choose_by, ("excess", "dae"), "--choose-by"),
        negative=one_of(negative, ("error", "absolute", "positive"), "--negative"),
        seed=seed,
    )
    with Run.open(run, writable=True) as opened:
        result = score_run(opened, settings)
    if figures is not None:
        save_score_figures(result, figures)
    if json:
        print_json(result.as_json())
        return
    _show_main(result)
    for name in shown:
        show_details(result, name)


def words(text: str) -> list[str]:
    """A comma-separated list."""
    return [word.strip() for word in text.split(",") if word.strip()]


def listed(text: str, known: tuple[str, ...], option: str) -> tuple[str, ...]:
    """Some of a few words, in their own order; ``all`` for every one."""
    wanted = list(known) if text == "all" else words(text)
    unknown = [word for word in wanted if word not in known]
    if unknown:
        raise UsageError(f"{option} takes {', '.join(known)} or all, not {', '.join(unknown)}")
    return tuple(word for word in known if word in wanted)


def one_of(text: str, known: tuple[str, ...], option: str) -> Any:
    """One of a few words."""
    if text not in known:
        raise UsageError(f"{option} takes {' or '.join(known)}, not {text!r}")
    return text


def projections(text: str) -> tuple[str, ...]:
    """One projection, or all."""
    return tuple(PROJECTIONS) if text == "both" else (one_of(text, (*PROJECTIONS, "both"), "--projection"),)


def flagged(row: Row) -> str:
    """The method's name, with a mark if it is degenerate."""
    return f"{row.method} †" if row.caveat else row.method


def heading(result: CompassScore) -> str:
    """What was measured, in one line."""
    return (
        f"{result.model} · prompt {result.prompt} · {result.n} pairs on {result.n_pictures} pictures · "
        f"answers right {percent(result.accuracy)}, guessing {100 * result.chance:.0f} %"
    )


def _show_main(result: CompassScore) -> None:
    names = list(result.tables)
    if len(names) == 1:
        _show_one(result, names[0])
    else:
        _show_side_by_side(result, names)
    out.print(
        "− uniform: DAE minus that of a uniform map on the same pairs; below 0 knows more than the layout. "
        "Shares in % of all relevance.",
        style="dim",
    )
    for name in names:
        rows = [row for row in result.tables[name] if row.kind == "method"]
        better = result.beyond_layout(name)
        said = ", ".join(row.name for row in better) or "none"
        out.print(f"{name}: {len(better)} of {len(rows)} point better than the uniform map ({said})")
    if any(row.caveat for row in result.tables[names[0]]):
        out.print("† computed as published, but degenerate: `theodolite list methods` says why", style="dim")
    lost = {name: max(r.excluded.values()) for name in names for r in result.tables[name] if r.excluded}
    if lost:
        out.print("rows leave out pairs without a direction: `--show exclusions` counts them", style="dim")
    for reason, count in result.left_out.items():
        note(f"left out of the score: {count} × {reason}")
    for warning in result.warnings:
        note(f"caution: {warning}")
    if result.development is not None:
        _show_development(result)


def _show_side_by_side(result: CompassScore, names: list[str]) -> None:
    first = {row.name: row for row in result.tables[names[0]]}
    has_published = any(row.published for row in first.values())
    columns = ["method", "for"]
    for name in names:
        columns += [f"{name}: DAE", "− uniform", "EA"]
    columns += ["image", "A", "B", "rest", *(["reported"] if has_published else [])]
    by_name = {name: {row.name: row for row in result.tables[name]} for name in names}
    cells = []
    for key, row in first.items():
        line = [flagged(row), row.target]
        for name in names:
            other = by_name[name][key]
            line += [
                degrees(other.dae),
                degrees(other.excess_dae, signed=True),
                share(other.edge_accuracy),
            ]
        cells.append([*line, *_evidence(row), *([_published(row)] if has_published else [])])
    print_table(columns, cells, title=heading(result))


def _show_one(result: CompassScore, name: str) -> None:
    rows = result.tables[name]
    has_published = any(row.published for row in rows)
    columns = ["method", "for", "DAE", "− uniform", "mean DAE", "EA", "octant", "concentration"]
    columns += ["image", "A", "B", "rest", *(["reported"] if has_published else [])]
    print_table(
        columns,
        [
            [
                flagged(row),
                row.target,
                degrees(row.dae),
                degrees(row.excess_dae, signed=True),
                degrees(row.mean_dae),
                share(row.edge_accuracy),
                share(row.octant_accuracy),
                share(row.concentration),
                *_evidence(row),
                *([_published(row)] if has_published else []),
            ]
            for row in rows
        ],
        title=f"{heading(result)} · {name} projection",
    )


def _evidence(row: Row) -> list[str]:
    found = row.evidence
    if found is None:
        return [NOTHING] * 4
    return [hundredths(each) for each in (found.image, found.reference, found.target, found.rest)]


def _published(row: Row) -> str:
    """What the paper reports, named by its source."""
    return "; ".join(
        f"{p.dae_deg:g} / {p.edge_accuracy:.3f} ({p.source}, {p.data}, n={p.n})".replace("0.", ".")
        for p in row.published
    )


def _show_development(result: CompassScore) -> None:
    found = result.development
    if found is None:
        return
    out.print()
    out.print(
        f"{found.method}@{found.target}: chosen on {found.n_development} development pairs by {found.criterion}: "
        f"{found.chosen} – on {found.n_reported} others DAE {degrees(found.reported.dae)}, "
        f"− uniform {degrees(found.reported.excess_dae, signed=True)} "
        f"(default {degrees(found.reported_default.dae)}, {degrees(found.reported_default.excess_dae, signed=True)})"
    )
