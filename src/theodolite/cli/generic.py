"""Commands of an instrument that brings none of its own: ``run`` and ``score``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from theodolite.cli import options as o
from theodolite.cli.console import note
from theodolite.cli.output import progress_bar, show
from theodolite.runs import EngineOptions, Run, RunSettings, measure_run


def instrument_app(name: str) -> typer.Typer:
    """The commands of an instrument."""
    from theodolite.instruments.instrument import Study, find_instruments

    instrument = find_instruments([name])[0]
    app = typer.Typer(no_args_is_help=True, help=instrument.question)

    @app.command("run")
    def run_command(
        model: o.ModelName,
        folder: o.Out,
        data: Annotated[
            Path | None, typer.Option("--data", metavar="PATH", help="Your own data, if it takes any.")
        ] = None,
        size: Annotated[
            str, typer.Option("--size", metavar="quick|standard|large|N", help="How much to ask.")
        ] = "standard",
        seed: o.Seed = 0,
        json: o.AsJson = False,
    ) -> None:
        """Ask a model everything that the instrument asks in a diagnosis, and score it."""
        from theodolite.twins.workspace import model_capability

        own = instrument.find_data(data, None) if data is not None else None
        study = Study(folder / "data", int(size) if size.isdigit() else size, seed, data=own)
        for plan in instrument.plan(study, model_capability(model)):
            place = folder / plan.name
            with progress_bar(f"{name} {model}") as bar:
                measure_run(
                    place,
                    RunSettings(plan.kind, model, seed, plan.settings),
                    plan.items,
                    plan.factory(model),
                    options=EngineOptions(),
                    progress=bar,
                )
            score(place, json=json)

    @app.command("score")
    def score(run: o.RunFolder, json: o.AsJson = False) -> None:
        """Score a run from its stored answers."""
        with Run.open(run, writable=True) as opened:
            tables = instrument.tables(opened)
            opened.write_tables(tables)
            show(tables, json=json, run=str(run), instrument=name, model=opened.info.model)
        if not json:
            note(f"scored {run}")

    return app
