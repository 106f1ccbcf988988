"""Generic commands ``run`` and ``score``, for instruments without their own."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from theodolite.cli import options as o
from theodolite.cli.console import note
from theodolite.cli.output import progress_bar, show
from theodolite.cli.running import exit_if_failed
from theodolite.core.errors import UsageError
from theodolite.core.tables import Table
from theodolite.diagnose.request import find_size
from theodolite.diagnose.user_data import find_user_data
from theodolite.instruments.instrument import Study, find_instruments
from theodolite.runs import Run, RunSettings, Tally, measure_run


def instrument_app(name: str) -> typer.Typer:
    """Build the commands of an instrument."""
    instrument = find_instruments([name])[0]
    app = typer.Typer(no_args_is_help=True, help=instrument.question)

    @app.command("run")
    def run_command(
        model: o.ModelName,
        folder: o.Out,
        data: Annotated[
            Path | None,
            typer.Option("--data", metavar="PATH", help="Your own data, if the instrument takes any."),
        ] = None,
        size: Annotated[
            str, typer.Option("--size", metavar="quick|standard|large|N", help="Sample size.")
        ] = "standard",
        seed: o.Seed = 0,
        json: o.AsJson = False,
    ) -> None:
        """Measure a model as in a diagnosis, and score it."""
        from theodolite.twins.workspace import model_capability

        own = find_user_data([f"{name}={data}"])[0] if data is not None else None
        if own is None and instrument.needs_data:
            raise UsageError(f"{name} has no built-in data; pass your own with --data: {instrument.takes}")
        study = Study(folder / "data", find_size(size), seed, data=own)
        tally, tables, trouble = Tally(), list[Table](), folder
        for plan in instrument.plan(study, model_capability(model)):
            with progress_bar(f"{name} {model}") as bar:
                done = measure_run(
                    folder / plan.name,
                    RunSettings(plan.kind, model, seed, plan.settings),
                    plan.items,
                    plan.factory(model),
                    progress=bar,
                )
            tally += done
            trouble = folder / plan.name if done.failed else trouble
            with Run.open(folder / plan.name, writable=True) as opened:
                found = instrument.tables(opened) if done.finished else []
                opened.write_tables(found)
            tables += found
        show(tables, json=json, run=str(folder), instrument=name, model=model, tally=asdict(tally))
        exit_if_failed(tally, trouble)

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
