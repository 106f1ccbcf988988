"""``theodolite compass controls``: does the compass follow the direction, or the picture's layout?"""

from __future__ import annotations

from itertools import groupby
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from theodolite.cli import options as o
from theodolite.cli.compass_prompts import PromptNames, prompt_settings
from theodolite.cli.compass_score import Projection, projections
from theodolite.cli.console import note, out, print_json
from theodolite.cli.measuring import Asked, HowToMeasure, exit_if_failed, measure_plan
from theodolite.cli.output import p_value, print_table
from theodolite.core.errors import UsageError
from theodolite.instruments.compass.data.pair_files import read_pairs
from theodolite.instruments.compass.experiments.controls.edits import EDITS, find_edits
from theodolite.instruments.compass.experiments.controls.measure import controls_factory
from theodolite.instruments.compass.experiments.controls.placing import PlacingOptions
from theodolite.instruments.compass.experiments.controls.plan import MEASURED, plan_controls
from theodolite.instruments.compass.experiments.controls.results import (
    FIGURES,
    TESTS,
    ControlRow,
    ControlScore,
)
from theodolite.instruments.compass.experiments.controls.score import CONTROLS, ControlScores, score_controls
from theodolite.instruments.compass.experiments.controls.sheets import edit_sheet
from theodolite.instruments.compass.measure import TARGETS
from theodolite.instruments.compass.prompt_files import find_prompts
from theodolite.runs import Run
from theodolite.stats import Estimate

app = typer.Typer(
    no_args_is_help=True, help="Controls: does the compass follow the direction, or the layout?"
)

Controls = Annotated[
    str, typer.Option("--controls", metavar="LIST", help=f"Some of {', '.join(MEASURED)}, or all.")
]
Methods = Annotated[str, typer.Option("--methods", metavar="LIST", help="Relevance methods, or all.")]
MinPlaces = Annotated[
    int,
    typer.Option("--min-places", min=1, max=4, help="Leave out pairs with room in fewer directions."),
]
Images = Annotated[
    Path | None, typer.Option("--images", metavar="DIR", help="What the pictures' names are relative to.")
]


@app.command("run")
def run_command(  # noqa: PLR0913, PLR0917 - one parameter per option
    data: o.Data,
    model: o.ModelName,
    folder: o.Out,
    controls: Controls = "all",
    methods: Methods = "all",
    prompt: PromptNames = "A",
    images: Images = None,
    n_squares: Annotated[
        int, typer.Option("--squares", min=2, help="Pictures of coloured squares, if they are asked for.")
    ] = 160,
    min_places: MinPlaces = 2,
    seed: o.Seed = 0,
    limit: o.Limit = None,
    engine: o.Engine = "local",
    workers: o.Workers = None,
    ray_address: o.RayAddress = None,
    json: o.AsJson = False,
) -> None:
    """Ask a white-box model about pairs as they are and edited, keep every map, and score.

    The same command goes on where it stopped. `score` scores the run again, and any plain compass run.
    """
    chosen, relevance = _listed(controls, MEASURED), _listed(methods, ())
    prompts = find_prompts(prompt)
    plan = plan_controls(
        read_pairs(data, images=images),
        prompts,
        controls=chosen,
        n_squares=n_squares,
        seed=seed,
        placing=PlacingOptions(min_places=min_places),
    )
    note(
        f"{plan.n_items} items: {len(plan.pairs)} pairs as they are, {len(plan.edits)} edits, {len(plan.squares)} squares"
    )
    settings = {
        "data": str(data.absolute()),
        "methods": relevance,
        "targets": list(TARGETS),
        **prompt_settings(prompt, prompts),
        "min_places": min_places,
        **plan.as_settings(),
    }
    tally = measure_plan(
        folder,
        Asked("compass", model, seed, settings),
        plan.items(),
        controls_factory(model, methods=relevance),
        HowToMeasure(engine, workers, ray_address, None, limit),
    )
    score_command(folder, seed=seed, json=json)
    exit_if_failed(tally, folder)


@app.command("score")
def score_command(
    run: o.RunFolder,
    controls: Annotated[
        str, typer.Option("--controls", metavar="LIST", help=f"Some of {', '.join(CONTROLS)}, or all.")
    ] = "all",
    methods: Methods = "all",
    projection: Projection = "both",
    n_centres: Annotated[int, typer.Option("--centres", min=1, help="Random centres per sample.")] = 100,
    seed: o.Seed = 0,
    json: o.AsJson = False,
) -> None:
    """Score the controls that a run's stored maps allow; no model is called."""
    relevance = _listed(methods, ())
    shown = projections(projection)
    with Run.open(run) as opened:
        found = score_controls(
            opened,
            controls=_listed(controls, CONTROLS),
            methods=() if relevance == ["all"] else relevance,
            n_centres=n_centres,
            seed=seed,
        )
    print_json(found.as_json()) if json else _show(found, shown)


@app.command("pictures")
def pictures_command(  # noqa: PLR0913, PLR0917 - one parameter per option
    data: o.Data,
    folder: Annotated[Path, typer.Option("--out", metavar="DIR", help="Where to write.")],
    controls: Annotated[
        str, typer.Option("--controls", metavar="LIST", help=f"Some of {', '.join(EDITS)}, or all.")
    ] = "all",
    n: Annotated[int, typer.Option("--n", min=1, help="How many pairs, drawn at random.")] = 12,
    images: Images = None,
    min_places: MinPlaces = 2,
    seed: o.Seed = 0,
    json: o.AsJson = False,
) -> None:
    """Write sheets of edited pictures, to look at them."""
    pairs = read_pairs(data, images=images)
    folder.mkdir(parents=True, exist_ok=True)
    reports, written = [], []
    for control in _listed(controls, EDITS):
        edits, report = find_edits(pairs, control, PlacingOptions(min_places=min_places))
        reports.append(report)
        own = {edit.pair.id: [each for each in edits if each.pair.id == edit.pair.id] for edit in edits}
        ids = np.random.default_rng(seed).permutation(sorted(own))[:n]
        for pair_id in sorted(ids.tolist()):
            path = folder / f"{control}-{pair_id.replace('/', '_')}.png"
            edit_sheet(own[pair_id]).save(path)
            written.append(str(path))
    if json:
        print_json({"sheets": written, "edits": [_report(report) for report in reports]})
        return
    _show_edits([_report(report) for report in reports])
    note(f"wrote {len(written)} sheets into {folder}")


def _report(report: Any) -> dict[str, Any]:
    return {name: getattr(report, name) for name in ("control", "pairs", "edits", "excluded", "cut_by_box")}


def _show(found: ControlScores, shown: tuple[str, ...]) -> None:
    if found.edits:
        _show_edits(list(found.edits))
        out.print()
    for score in found.scores:
        _show_score(score, shown)
        out.print()
    for reason in dict.fromkeys(found.unscored.values()):
        names = ", ".join(control for control, each in found.unscored.items() if each == reason)
        note(f"not scored: {names}; {reason}")
    if found.failed or found.pending:
        note(f"{found.failed} items failed and {found.pending} are not measured yet; no figure holds them")


def _show_edits(reports: list[Any]) -> None:
    rows = [
        [
            report["control"],
            str(report["pairs"]),
            str(report["edits"]),
            str(report["cut_by_box"]),
            "; ".join(f"{count}: {reason}" for reason, count in report["excluded"].items()) or "–",
        ]
        for report in reports
    ]
    print_table(["edits", "pairs", "made", "cut by box", "not made"], rows)


def _show_score(score: ControlScore, shown: tuple[str, ...]) -> None:
    figures = [name for name in FIGURES if any(name in row.figures for row in score.rows)]
    tests = [name for name in TESTS if any(name in row.tests for row in score.rows)]
    heads = ["method", "condition", *map(_words, figures), *(f"p {_words(test)}" for test in tests)]
    for projection in (each for each in shown if any(row.projection == each for row in score.rows)):
        rows = [_cells(row, figures, tests) for row in score.rows if row.projection == projection]
        title = f"{score.control} ({projection} projection): {score.question}"
        print_table([*heads, "n", "left out"], rows, title=title)
        out.print()
    for each in (*score.notes, *_reasons(score.rows)):
        note(each)
    if score.published:
        told = [name for name in FIGURES if any(name in each.values for each in score.published)]
        print_table(
            ["reported in the paper (not a bar)", "condition", *map(_words, told)],
            [
                [each.source, each.condition, *(_number(name, each.values.get(name)) for name in told)]
                for each in score.published
            ],
        )


def _cells(row: ControlRow, figures: list[str], tests: list[str]) -> list[str]:
    first: Estimate | None = next(iter(row.figures.values()), None)
    count = (
        "–" if first is None else f"{first.n}" if first.n == first.n_items else f"{first.n} ({first.n_items})"
    )
    return [
        row.method,
        row.condition,
        *(_figure(name, row.figures.get(name)) for name in figures),
        *(p_value(row.tests[name].p_value) if name in row.tests else "–" for name in tests),
        count,
        str(sum(row.excluded.values()) or "–"),
    ]


def _reasons(rows: tuple[ControlRow, ...]) -> list[str]:
    """Why something was left out, with the rows it concerns counted."""
    found = sorted((reason, count) for row in rows for reason, count in row.excluded.items())
    return [
        f"left out in {len(counts)} rows, up to {max(counts)} each: {reason}"
        for reason, group in groupby(found, key=lambda each: each[0])
        for counts in [[count for _, count in group]]
    ]


def _words(name: str) -> str:
    return name.removesuffix("_deg").removesuffix("_bits").replace("_", " ")


def _number(name: str, value: float | None) -> str:
    if value is None:
        return "–"
    if name.endswith("_deg"):
        return f"{value:.1f}°"
    return f"{value:.3f}" if name.endswith(("_bits", "_squared", "consistent")) else f"{value:.2f}"


def _figure(name: str, estimate: Estimate | None) -> str:
    if estimate is None:
        return "–"
    ends = (estimate.low, estimate.high)
    low, high = (f"{end:.0f}" if name.endswith("_deg") else _number(name, end) for end in ends)
    return f"{_number(name, estimate.value)} [{low}, {high}]"


def _listed(text: str, known: tuple[str, ...]) -> list[str]:
    """The words of a list; ``all`` stands for everything known."""
    words = [word.strip() for word in text.split(",") if word.strip()]
    if not words:
        raise UsageError("an empty list was given; name at least one, or all")
    return list(known) if words == ["all"] and known else words
