"""``theodolite grid explain`` and ``grid score``: maps from every explainer, and what they are worth."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import Annotated, Any, cast

import typer

from theodolite.cli import options as o
from theodolite.cli.console import note, print_json
from theodolite.cli.grid_explain_tables import show_score
from theodolite.cli.measuring import Asked, HowToMeasure, exit_if_failed, measure_plan
from theodolite.core.errors import UsageError
from theodolite.instruments.grid.explainers.contract import find_explainers
from theodolite.instruments.grid.explainers.game import PlayerSet
from theodolite.instruments.grid.explainers.pool import Convention
from theodolite.instruments.grid.measure import explain_factory
from theodolite.instruments.grid.questions import DEFAULT_BUDGET, ExplainPlan, plan_explanations
from theodolite.instruments.grid.score import score_explanations
from theodolite.instruments.grid.stored import INSTRUMENT
from theodolite.runs import Run

Names = Annotated[
    str,
    typer.Option(
        "--explainers", metavar="LIST", help="Names, or all, local, global; see `theodolite list explainers`."
    ),
]
Budget = Annotated[
    int, typer.Option("--budget", min=8, help="Model calls for each scene, all explainers together.")
]
PerBucket = Annotated[
    int | None, typer.Option("--n", min=1, help="Scenes of each bucket and density; all unless given.")
]
Buckets = Annotated[
    str | None,
    typer.Option("--buckets", metavar="LIST", help="Such as M-F0-D2,M-F1-D2; all of the data unless given."),
]
Density = Annotated[
    str | None,
    typer.Option("--density", metavar="LIST", help="Of those in the data, such as sparse; all unless given."),
]
PoolSize = Annotated[int, typer.Option("--pool", min=2, help="Scenes behind each cross matrix, at most.")]
Output = Annotated[
    str, typer.Option("--output", metavar="answer|log-odds|expected", help="What is explained.")
]
FillWith = Annotated[
    str, typer.Option("--fill", metavar="white|grey|black", help="What hidden cells become.")
]
Hiding = Annotated[str, typer.Option("--words", metavar="mask|delete", help="What hidden words become.")]
Players = Annotated[str, typer.Option("--players", metavar="objects|all", help="Which cells play.")]
Device = Annotated[str, typer.Option("--device", help="Where paired networks run, such as cuda.")]


def explain_command(  # noqa: PLR0913, PLR0917 - one parameter per option
    data: o.Data,
    model: o.ModelName,
    folder: o.Out,
    explainers: Names = "all",
    budget: Budget = DEFAULT_BUDGET,
    n: PerBucket = None,
    buckets: Buckets = None,
    density: Density = None,
    pool: PoolSize = 32,
    output: Output = "expected",
    fill: FillWith = "white",
    hiding: Hiding = "mask",
    players: Players = "objects",
    device: Device = "cpu",
    seed: o.Seed = 0,
    limit: o.Limit = None,
    engine: o.Engine = "local",
    workers: o.Workers = None,
    ray_address: o.RayAddress = None,
    json: o.AsJson = False,
) -> None:
    """Explain a model's answers to a data set with every explainer. The same command goes on where it stopped."""
    names = tuple(each.name for each in find_explainers(_parts(explainers)))
    convention = Convention(
        cast("Any", fill), cast("Any", hiding), cast("Any", output), players=PlayerSet(cast("Any", players))
    )
    plan = ExplainPlan(
        str(data.absolute()),
        names,
        budget,
        pool,
        n,
        convention,
        seed,
        buckets=_parts(buckets or ""),
        densities=_parts(density or ""),
    )
    tally = measure_plan(
        folder,
        Asked(INSTRUMENT, model, seed, plan.as_json()),
        list(plan_explanations(plan)),
        explain_factory(model, plan, device=device),
        HowToMeasure(engine, workers, ray_address, None, limit),
    )
    if json:
        print_json(
            {"run": str(folder), "planned": tally.planned, "finished": tally.finished, "failed": tally.failed}
        )
    else:
        note(
            f"{tally.finished} of {tally.planned} items are measured; `theodolite grid score {folder}` scores them"
        )
    exit_if_failed(tally, folder)


def _parts(text: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in text.split(",") if part.strip())


def score_command(
    runs: Annotated[
        list[Path], typer.Argument(metavar="RUN…", help="Runs of `grid explain`: pure, spurious, cross.")
    ],
    figures: Annotated[
        Path | None,
        typer.Option("--figures", metavar="DIR", help="Draw the paper's figures 4 to 6 and 12 to 15 here."),
    ] = None,
    pid: Annotated[
        str, typer.Option("--pid", metavar="LIST", help="Of convex, gaussian, batch.")
    ] = "convex,gaussian",
    seed: o.Seed = 0,
    json: o.AsJson = False,
) -> None:
    """Score runs of `grid explain` from what they hold; no model is called."""
    estimators = _parts(pid)
    unknown = [name for name in estimators if name not in {"convex", "gaussian", "batch"}]
    if unknown:
        raise UsageError(f"--pid takes some of convex, gaussian, batch, not {unknown[0]!r}")
    with ExitStack() as stack:
        opened = [stack.enter_context(Run.open(path, writable=True)) for path in runs]
        found = score_explanations(opened, pid=cast("Any", estimators), seed=seed)
        opened[0].write_scores(found.as_json())
        if figures is not None:
            from theodolite.instruments.grid.figures.explained import explainer_figures

            drawings = explainer_figures(opened, found)
            for name, drawing in drawings.items():
                drawing.save(figures / f"{name}.png")
            note(f"wrote {len(drawings)} figures to {figures}")
    print_json(found.as_json()) if json else show_score(found)


def add_explain_commands(app: typer.Typer) -> None:
    """Adds both commands to ``theodolite grid``."""
    app.command("explain")(explain_command)
    app.command("score")(score_command)
