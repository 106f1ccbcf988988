"""``theodolite scene``: 3D scene graphs, spatial questions, and whether they agree."""

from __future__ import annotations

import os
from typing import Annotated

import typer

from theodolite import __version__
from theodolite.cli import _options as o
from theodolite.cli._output import err, note, print_json, print_table
from theodolite.scene import MakeOptions, SceneData, make_data

app = typer.Typer(no_args_is_help=True, help="Do answers agree with the model's own 3D scene graph (CRISP)?")


@app.command("make")
def make(  # noqa: PLR0913, PLR0917 - one parameter per option
    folder: o.Out,
    indoor: Annotated[int, typer.Option("--indoor", min=0, help="How many rooms.")] = 10,
    outdoor: Annotated[int, typer.Option("--outdoor", min=0, help="How many streets.")] = 10,
    seed: o.Seed = 0,
    questions: Annotated[
        int | None,
        typer.Option("--questions", min=1, help="Keep so many questions, evenly; all if not given."),
    ] = None,
    render: Annotated[
        bool, typer.Option("--render/--no-render", help="Whether to draw the pictures.")
    ] = True,
    truth: Annotated[
        bool, typer.Option("--truth", help="Write depth and instance maps beside the pictures.")
    ] = False,
    workers: o.Workers = None,
    json: o.AsJson = False,
) -> None:
    """Make scenes of rooms and streets, with questions whose answers are known."""
    options = MakeOptions(
        indoor, outdoor, seed, questions, render, truth, workers or min(2, os.cpu_count() or 1)
    )
    with err.status("making scenes") as status:
        data = make_data(
            folder,
            options,
            version=__version__,
            progress=lambda stage, n: status.update(f"{stage}: {n} of {indoor + outdoor}"),
        )
    show_data(data, json=json)


def show_data(data: SceneData, *, json: bool) -> None:
    """What a data set holds and what was left out."""
    if json:
        print_json({"folder": str(data.folder), **data.manifest.model_dump()})
        return
    for name, counted in data.manifest.counts.items():
        rows = [[key, str(n)] for key, n in counted.items()] if isinstance(counted, dict) else []
        print_table([name, "n"], rows)
    print_table(["left out", "n"], [[key, str(n)] for key, n in data.manifest.left_out.items()])
    note(f"wrote {data.manifest.n_scenes} scenes with {data.manifest.n_questions} questions to {data.folder}")
