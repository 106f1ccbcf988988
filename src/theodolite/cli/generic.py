"""Generic commands ``run`` and ``score``, for instruments without their own."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from theodolite.cli import options as o
from theodolite.cli.console import note
from theodolite.cli.output import progress_bar, show
from theodolite.cli.running import Preview, exit_if_failed, show_costs
from theodolite.core.tables import Table
from theodolite.diagnose.api import make_request
from theodolite.diagnose.planning import plan_diagnosis
from theodolite.diagnose.request import DiagnosisRequest
from theodolite.instruments.instrument import Instrument, find_instruments
from theodolite.runs import Run, RunSettings, Tally, measure_run


def instrument_app(name: str) -> typer.Typer:
    """Build the commands of an instrument."""
    instrument = find_instruments([name])[0]
    app = typer.Typer(no_args_is_help=True, help=instrument.question)

    @app.command("run")
    def run_command(  # noqa: PLR0913, PLR0917 - one parameter per option
        model: o.ModelName,
        folder: o.Out,
        data: Annotated[
            Path | None,
            typer.Option("--data", metavar="PATH", help="Your own data, if the instrument takes any."),
        ] = None,
        size: Annotated[
            str,
            typer.Option(
                "--size", metavar="quick|standard|large|N", help="Sample size; N is a number of pairs."
            ),
        ] = "standard",
        seed: o.Seed = 0,
        plan: o.PlanOnly = False,
        price: o.Price = "",
        json: o.AsJson = False,
    ) -> None:
        """Measure a model as in a diagnosis, and score it."""
        sets = [f"{name}={data}"] if data is not None else ()
        request = make_request((model,), data=sets, size=size, instruments=name, out=folder, seed=seed)
        if (preview := Preview.of(plan, price)) is not None:
            show_costs(plan_diagnosis(request), preview.price, json=json)
            return
        tally, tables, trouble = _measure(request, instrument)
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


def _measure(request: DiagnosisRequest, instrument: Instrument) -> tuple[Tally, list[Table], Path]:
    """Measure and score all runs. Return the tally, the tables, and a run with failed items if there is one."""
    from theodolite.twins.workspace import model_capability

    (model,) = request.models
    tally, tables, trouble = Tally(), list[Table](), request.folder
    for plan in instrument.plan(request.study(instrument), model_capability(model)):
        folder = request.folder / plan.name
        with progress_bar(f"{instrument.name} {model}") as bar:
            done = measure_run(
                folder,
                RunSettings(plan.kind, model, request.seed, plan.settings),
                plan.items,
                plan.factory(model),
                progress=bar,
            )
        tally += done
        trouble = folder if done.failed else trouble
        with Run.open(folder, writable=True) as opened:
            found = instrument.tables(opened) if done.finished else []
            opened.write_tables(found)
        tables += found
    return tally, tables, trouble
