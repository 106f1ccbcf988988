"""``theodolite compass faithfulness``: does hiding what the compass points at change the answer?"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, cast

import typer

from theodolite.cli import options as o
from theodolite.cli.compass_faithfulness_tables import show
from theodolite.cli.console import note, print_json
from theodolite.cli.measuring import Asked, HowToMeasure, exit_if_failed, measure_plan
from theodolite.core.errors import UsageError
from theodolite.instruments.compass.experiments.faithfulness.hiding import FILLS, Fill
from theodolite.instruments.compass.experiments.faithfulness.measure import (
    INSTRUMENT,
    faithfulness_settings,
    hiding_factory,
    plan_faithfulness,
)
from theodolite.instruments.compass.experiments.faithfulness.score import (
    FaithfulnessScore,
    paper_maps,
    score_faithfulness,
)
from theodolite.instruments.compass.experiments.faithfulness.trials import FaithfulnessOptions, Projection
from theodolite.instruments.compass.figures.plots import deletion_curves
from theodolite.runs import Run

_ALL_FILLS = ",".join(FILLS)

Maps = Annotated[
    str,
    typer.Option(
        "--maps", metavar="LIST", help="Maps as method@target; paper: those of Table 3; all: every one."
    ),
]
WhoseOrders = Annotated[
    str, typer.Option("--projection", metavar="paper|sound", help="Whose orders and peaks.")
]
Fills = Annotated[
    str, typer.Option("--fills", metavar="LIST", help="What hidden sectors become; curves use the first.")
]


def faithfulness(  # noqa: PLR0913, PLR0917 - one parameter per option
    run: o.RunFolder,
    folder: o.Out,
    model: o.ModelName = "",
    maps: Maps = "paper",
    projection: WhoseOrders = "paper",
    fills: Fills = _ALL_FILLS,
    random_orders: Annotated[int, typer.Option("--random-orders", min=1, help="Random orders per pair.")] = 4,
    n: Annotated[int | None, typer.Option("--n", min=1, help="How many pairs, drawn at random; all.")] = None,
    spare_reference: Annotated[
        bool, typer.Option("--spare-reference", help="Leave the reference's own box visible.")
    ] = False,
    score_only: Annotated[
        bool, typer.Option("--score-only", help="Score what DIR holds; open no model.")
    ] = False,
    figures: Annotated[
        Path | None, typer.Option("--figures", metavar="DIR", help="Write the deletion curves here.")
    ] = None,
    seed: o.Seed = 0,
    limit: o.Limit = None,
    engine: o.Engine = "local",
    workers: o.Workers = None,
    ray_address: o.RayAddress = None,
    cache: o.Cache = None,
    json: o.AsJson = False,
) -> None:
    """Hide sectors of a run's pictures, ask again, and score. The same command goes on where it stopped.

    MODEL is the run's own unless given.
    """
    tally = None
    with Run.open(run) as source:
        if not score_only:
            options = FaithfulnessOptions(
                _maps(maps, source),
                cast("Projection", projection),
                cast("tuple[Fill, ...]", tuple(_words(fills))),
                random_orders,
                n_pairs=n,
                spare_reference=spare_reference,
                seed=seed,
            )
            plan = plan_faithfulness(source, options)
            note(f"{plan.n_calls} maskings of {len(plan.trials.trials)} pairs")
            name = model or source.info.model
            tally = measure_plan(
                folder,
                Asked(INSTRUMENT, name, seed, faithfulness_settings(source, options)),
                plan.items,
                hiding_factory(name),
                HowToMeasure(engine, workers, ray_address, cache, limit),
            )
        with Run.open(folder, writable=True) as hidden:
            score = score_faithfulness(source, hidden, seed=seed)
    _draw(score, figures)
    print_json(score.as_json()) if json else show(score)
    if tally is not None:
        exit_if_failed(tally, folder)


def _words(text: str) -> list[str]:
    words = [word.strip() for word in text.split(",") if word.strip()]
    if not words:
        raise UsageError("an empty list was given; name at least one")
    return words


def _maps(text: str, run: Run) -> tuple[str, ...]:
    if text == "paper":
        return paper_maps(run)
    return () if text == "all" else tuple(_words(text))


def _draw(score: FaithfulnessScore, folder: Path | None) -> None:
    if folder is None:
        return
    for method in score.methods:
        if method.n_pairs > 1 and not method.is_control:
            path = folder / f"deletion-{method.key.replace('@', '-').rstrip('-')}.png"
            deletion_curves(
                {
                    name: [point.effect for point in points if point.effect is not None]
                    for name, points in method.curves.items()
                },
                title=method.key.rstrip("@"),
            ).save(path)
            note(f"wrote {path}")
