"""``theodolite trace relevance``: the attention and gradient baselines of a white box."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

import typer

from theodolite.cli import options as o
from theodolite.cli.console import note, print_json
from theodolite.cli.measuring import Asked, HowToMeasure, exit_if_failed, measure_plan
from theodolite.cli.output import percent, print_table
from theodolite.instruments.trace.data.dataset import read_episodes
from theodolite.instruments.trace.experiments.relevance import (
    BASELINES,
    Relevance,
    plan_relevance,
    relevance_factory,
    score_relevance,
)
from theodolite.instruments.trace.experiments.relevance import (
    INSTRUMENT as RELEVANCE,
)
from theodolite.runs import Run

app = typer.Typer()


@app.command("relevance")
def relevance(
    data: o.Data,
    model: Annotated[str, typer.Option("--model", metavar="MODEL", help="A white box, such as hf:PATH.")],
    folder: o.Out,
    seed: o.Seed = 0,
    limit: o.Limit = None,
    workers: o.Workers = None,
    json: o.AsJson = False,
) -> None:
    """How much of a white box's attention and gradient lies on the frames; `predict` takes the run beside the others."""
    episodes = read_episodes(data).episodes
    items = list(plan_relevance(episodes))
    tally = measure_plan(
        folder,
        Asked(RELEVANCE, model, seed, {"data": str(data.absolute())}),
        items,
        relevance_factory(model),
        HowToMeasure(workers=workers, limit=limit),
    )
    with Run.open(folder, writable=True) as run:
        result = score_relevance(run, benchmark=episodes[0].world or data.name, seed=seed)
    left_out = sum(episode.edit is None for episode in episodes) - len(items)
    print_json({**asdict(result), "left_out": left_out}) if json else _show(result, left_out)
    exit_if_failed(tally, folder)


def _show(result: Relevance, left_out: int) -> None:
    print_table(
        ["baseline", "read from", "share on the frames", "share of the largest frame", "episodes"],
        [
            [
                name,
                method,
                percent(result.shares[name]),
                percent(result.largest_frame[name]),
                str(_n(result, name)),
            ]
            for name, method in BASELINES.items()
        ],
        title=f"{result.model} on {result.benchmark}, in distribution",
    )
    if left_out:
        note(f"{left_out} episodes without pictures or options are left out")
    if result.n_without_relevance:
        note(
            f"{result.n_without_relevance} times a method gave no relevance at all; those episodes are left out of its mean"
        )
    if result.failed or result.pending:
        note(f"{result.failed} failed, {result.pending} not asked yet")


def _n(result: Relevance, name: str) -> int:
    found = result.shares[name]
    return 0 if found is None else found.n
