"""``theodolite compass overlay`` and ``edits``: draw single pairs, and the edits of controls."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from theodolite.cli import options as o
from theodolite.cli.console import note, print_json
from theodolite.cli.output import show
from theodolite.core.errors import UsageError
from theodolite.instruments.compass.experiments.controls.edits import EDITS
from theodolite.instruments.compass.formulas.projection_options import PROJECTIONS
from theodolite.runs import Run

MinPlaces = Annotated[
    int,
    typer.Option("--min-places", min=1, max=4, help="Leave out pairs with room in fewer directions."),
]


def overlay(  # noqa: PLR0913, PLR0917 - one parameter per option
    run: o.RunFolder,
    items: Annotated[
        list[str],
        typer.Argument(
            metavar="ITEM…",
            help="The id of a pair or item, or its number in the run, from 1; several make rows.",
        ),
    ],
    out: Annotated[Path, typer.Option("--out", metavar="PNG", help="The file: PNG, SVG or PDF.")],
    method: Annotated[str, typer.Option("--method", help="The relevance method.")] = "chefer",
    target: Annotated[
        str, typer.Option("--target", metavar="gt|pred", help="The option whose logit is explained.")
    ] = "gt",
    projection: Annotated[
        str,
        typer.Option("--projection", metavar="paper|sound", help="How the map is turned into a direction."),
    ] = "paper",
    figure: Annotated[
        str, typer.Option("--figure", metavar="overlay|heat|polar|row", help="What to draw.")
    ] = "overlay",
    json: o.AsJson = False,
) -> None:
    """Draw the compass of a pair on its picture: wedges, and arrows for the peak and the true direction."""
    from theodolite.instruments.compass.figures.overlay import FIGURES, compass_rows
    from theodolite.instruments.compass.figures.views import facts_of, find_sample, view_of
    from theodolite.instruments.compass.measure import read_samples

    o.one_of(projection, tuple(PROJECTIONS), "--projection")
    o.one_of(figure, (*FIGURES, "row"), "--figure")
    if len(items) > 1 and figure != "row":
        raise UsageError(f"several items need --figure row; got {len(items)} items")
    with Run.open(run) as opened:
        samples = list(read_samples(opened))
    chosen = [find_sample(samples, item) for item in items]
    views = [view_of(sample, method=method, target=target, projection=projection) for sample in chosen]
    path = (compass_rows(views) if figure == "row" else FIGURES[figure](views[0])).save(out)
    if json:
        pairs = [facts_of(*pair) for pair in zip(chosen, views, strict=True)]
        print_json({"figure": str(path), "pairs": pairs})
    else:
        note(f"wrote {path}")


def edits(  # noqa: PLR0913, PLR0917 - one parameter per option
    data: o.Data,
    folder: o.Folder,
    controls: Annotated[
        str, typer.Option("--controls", metavar="LIST", help=f"Some of {', '.join(EDITS)}, or all.")
    ] = "all",
    size: Annotated[int, typer.Option("--size", min=1, help="Pairs per control, drawn at random.")] = 12,
    images: o.MaybeImages = None,
    min_places: MinPlaces = 2,
    seed: o.Seed = 0,
    json: o.AsJson = False,
) -> None:
    """Write sheets of edited pictures, to check them by eye."""
    from theodolite.cli.data import usable_pairs
    from theodolite.instruments.compass.experiments.controls.score import edits_table
    from theodolite.instruments.compass.figures.edit_sheets import write_sheets
    from theodolite.pairs.pictures.placing import PlacingOptions

    reports, written = write_sheets(
        usable_pairs(data, images),
        o.some_of(controls, EDITS, "--controls", can_be_empty=False),
        folder,
        size=size,
        placing=PlacingOptions(min_places=min_places),
        seed=seed,
    )
    show([edits_table(reports)], json=json, sheets=[str(path) for path in written])
    if not json:
        note(f"wrote {len(written)} sheets into {folder}")
