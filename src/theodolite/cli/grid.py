"""``theodolite grid``: scenes whose right explanation is known, made, audited and drawn."""

from __future__ import annotations

from dataclasses import asdict, replace
from pathlib import Path
from typing import Annotated, Any, cast

import typer

from theodolite.cli import options as o
from theodolite.cli.console import note, print_json
from theodolite.cli.grid_audit import audit_as_json, comparison_as_json, show_audit, show_comparison
from theodolite.cli.grid_explain import add_explain_commands
from theodolite.cli.grid_models import add_model_commands
from theodolite.cli.output import print_table
from theodolite.core.errors import UsageError
from theodolite.instruments.grid.data.audit import audit
from theodolite.instruments.grid.data.compare import compare
from theodolite.instruments.grid.data.dataset import DatasetPlan, make_dataset
from theodolite.instruments.grid.data.files import read_dataset, write_dataset
from theodolite.instruments.grid.data.recipe import Density, Guarantee, find_recipe
from theodolite.instruments.grid.data.world import BUCKET_KEYS, World

app = typer.Typer(no_args_is_help=True, help="Scenes on a grid: explainers against provable ground truth.")

BROKEN = 1
"""Exit status of an audit that found a broken promise."""

Preset = Annotated[
    str,
    typer.Option(
        "--preset", metavar="paper|sound", help="How many objects, and so how far guarantees reach."
    ),
]
Out = Annotated[Path, typer.Option("--out", metavar="DIR", help="Where to write; a folder of its own.")]


Mode = Annotated[
    str, typer.Option("--mode", metavar="pure|spur", help="With look-alikes everywhere, or with none at all.")
]
PerBucket = Annotated[int, typer.Option("--n", min=1, help="Scenes for each bucket at each density.")]
SplitName = Annotated[
    str | None,
    typer.Option("--split", metavar="train|validation|test", help="Only this split; all unless given."),
]
Densities = Annotated[
    str,
    typer.Option(
        "--density", metavar="LIST", help="sparse, dense, numbers of objects, or shares such as 0.5."
    ),
]
Buckets = Annotated[
    str | None,
    typer.Option("--buckets", metavar="LIST", help="Such as M-F0-D2,M-F1-D2; all 19 unless given."),
]
Rows = Annotated[int, typer.Option("--rows", help="Rows of the grid.")]
Columns = Annotated[int, typer.Option("--columns", help="Columns of the grid.")]
CellPx = Annotated[int, typer.Option("--cell-px", help="Side of a cell in pixels.")]
Boost = Annotated[
    float | None, typer.Option("--boost", help="Algorithm 2: how often the target is the most frequent kind.")
]
Overload = Annotated[
    float | None, typer.Option("--overload", help="Algorithm 3: how often a further object is a look-alike.")
]
Margin = Annotated[
    int | None, typer.Option("--margin", help="Cells that targets lie beyond their anchors, at least.")
]
MaxAnswer = Annotated[
    int | None, typer.Option("--max-answer", help="Largest count asked for, the same at every depth.")
]
Pictures = Annotated[bool, typer.Option("--pictures/--no-pictures", help="Whether to draw the scenes.")]


@app.command("make")
def make_command(  # noqa: PLR0913, PLR0917 - one parameter per option
    folder: Out,
    mode: Mode = "pure",
    preset: Preset = "paper",
    n: PerBucket = 50,
    seed: o.Seed = 0,
    split: SplitName = None,
    densities: Densities = "sparse,dense",
    buckets: Buckets = None,
    rows: Rows = 5,
    columns: Columns = 5,
    cell_px: CellPx = 64,
    boost: Boost = None,
    overload: Overload = None,
    margin: Margin = None,
    max_answer: MaxAnswer = None,
    pictures: Pictures = True,
    json: o.AsJson = False,
) -> None:
    """Make a data set: pictures, JSONL, Parquet and phrase grounding."""
    chosen = {"boost": boost, "overload": overload, "margin": margin, "max_answer": max_answer}
    given = cast("Any", {name: value for name, value in chosen.items() if value is not None})
    recipe = replace(find_recipe(preset), world=World(rows, columns, cell_px), **given)
    most = max(recipe.world.max_count, *map(recipe.objects, _densities(densities)))
    recipe = replace(recipe, world=replace(recipe.world, max_count=most))
    keys = tuple(_listed(buckets)) if buckets else BUCKET_KEYS
    plan = DatasetPlan(cast("Any", mode), n, seed, recipe, _densities(densities), keys, cast("Any", split))
    data = make_dataset(plan)
    path = write_dataset(data, folder, pictures=pictures)
    promises = plan.guarantees() if mode == "pure" else {}
    if json:
        found = [{"bucket": key, "objects": count, **asdict(p)} for (key, count), p in promises.items()]
        print_json({"folder": str(path), "scenes": len(data), "guarantees": found})
        return
    _show_promises(promises)
    note(f"wrote {len(data)} {mode} scenes to {path}")


def _show_promises(promises: dict[tuple[str, int], Guarantee]) -> None:
    """Only what is less than full: the rest goes without saying."""
    limited = [
        [
            key,
            str(count),
            ", ".join(f"{level} if {answer}" for answer, level in p.by_answer.items()) or p.level,
            p.reason,
        ]
        for (key, count), p in promises.items()
        if p.level not in {"full", "none"}
    ]
    if limited:
        print_table(
            ["bucket", "objects", "guarantee", "why not full"], limited, title="Guarantees with limits"
        )


def _listed(text: str) -> list[str]:
    return [part.strip() for part in text.split(",") if part.strip()]


def _densities(text: str) -> tuple[Density, ...]:
    found: list[Density] = []
    for part in _listed(text):
        if part in {"sparse", "dense"}:
            found.append(cast("Density", part))
            continue
        try:
            found.append(int(part) if part.isdigit() else float(part))
        except ValueError:
            raise UsageError(
                f"a density is sparse, dense, a number of objects or a share, not {part!r}"
            ) from None
    return tuple(found)


@app.command("audit")
def audit_command(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="A data set that `grid make` wrote.")],
    other: Annotated[
        Path | None,
        typer.Argument(
            metavar="[OTHER]", help="A second one: answers must agree, and no scene may cross splits."
        ),
    ] = None,
    permutations: Annotated[
        int, typer.Option("--permutations", min=1, help="Shuffles behind each information.")
    ] = 199,
    pictures: Annotated[
        int, typer.Option("--pictures", min=0, help="How many pictures to compare with their scenes.")
    ] = 200,
    seed: o.Seed = 0,
    json: o.AsJson = False,
) -> None:
    """Work out every label again, try every shortcut, and fail if a promise is broken."""
    stored = [read_dataset(each) for each in (folder, other) if each is not None]
    found = [audit(each, n_permutations=permutations, most_pictures=pictures, seed=seed) for each in stored]
    beside = compare(*stored, seed=seed) if other is not None else None
    if json:
        document: dict[str, Any] = {"data": [audit_as_json(each) for each in found]}
        document |= {"comparison": comparison_as_json(beside)} if beside else {}
        print_json(document)
    else:
        for each in found:
            show_audit(each)
        if beside is not None:
            show_comparison(beside)
    if not all(each.is_kept for each in found) or (beside is not None and not beside.is_kept):
        raise typer.Exit(BROKEN)


@app.command("figures")
def figures_command(
    folder: Annotated[Path, typer.Option("--out", metavar="DIR", help="Where to write.")],
    preset: Preset = "paper",
    seed: o.Seed = 0,
    kind: Annotated[str, typer.Option("--format", metavar="png|svg|pdf", help="Of the pictures.")] = "png",
    json: o.AsJson = False,
) -> None:
    """Draw the data: taxonomy, how scenes are made, answers, samples."""
    from theodolite.instruments.grid.figures.data import data_figures

    paths = [
        drawing.save(folder / f"{name}.{kind}") for name, drawing in data_figures(preset, seed=seed).items()
    ]
    print_json([str(path) for path in paths]) if json else note(f"wrote {len(paths)} figures to {folder}")


add_model_commands(app)
add_explain_commands(app)
