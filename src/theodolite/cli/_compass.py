"""``theodolite compass``: is relevance organised by the direction that was asked for?"""

from __future__ import annotations

from typing import Annotated

import typer

from theodolite.cli import (
    _compass_controls,
    _compass_faithfulness,
    _compass_overlay,
    _compass_score,
    _compass_utility,
)
from theodolite.cli import _options as o
from theodolite.cli._measuring import Asked, HowToMeasure, exit_if_failed, measure_plan
from theodolite.cli._output import note
from theodolite.compass import PROMPTS, TARGETS, Prompt, attribution_factory, plan_pairs, read_pairs
from theodolite.errors import UsageError

app = typer.Typer(no_args_is_help=True, help="Directional evidence in attribution (CREG).")
app.add_typer(_compass_controls.app, name="controls")
app.command("faithfulness")(_compass_faithfulness.faithfulness)
app.command("overlay")(_compass_overlay.overlay)
app.command("score")(_compass_score.score)
app.command("utility")(_compass_utility.utility)


@app.command("run")
def run_command(  # noqa: PLR0913, PLR0917 - one parameter per option
    data: o.Data,
    model: o.ModelName,
    folder: o.Out,
    methods: Annotated[
        str, typer.Option("--methods", metavar="LIST", help="Relevance methods, or all.")
    ] = "all",
    targets: Annotated[
        str, typer.Option("--targets", metavar="LIST", help="Whose logit: gt, pred.")
    ] = ",".join(TARGETS),
    prompt: Annotated[
        str, typer.Option("--prompt", metavar="A|B|C|all", help="How the question is put.")
    ] = "A",
    limit: o.Limit = None,
    engine: o.Engine = "local",
    workers: o.Workers = None,
    ray_address: o.RayAddress = None,
) -> None:
    """Ask a white-box model about pairs, and keep every relevance map. The same command goes on where it stopped."""
    chosen = _listed(methods)
    explained = _listed(targets)
    pairs = read_pairs(data)
    settings = {"data": str(data.absolute()), "methods": chosen, "targets": explained, "prompt": prompt}
    tally = measure_plan(
        folder,
        Asked("compass", model, 0, settings),
        plan_pairs(pairs, _prompts(prompt)),
        attribution_factory(model, methods=chosen, targets=explained),
        HowToMeasure(engine, workers, ray_address, None, limit),
    )
    note(f"measured {tally.answered} of {tally.planned} pairs into {folder}")
    exit_if_failed(tally, folder)


def _prompts(name: str) -> list[Prompt]:
    if name == "all":
        return list(PROMPTS.values())
    if name not in PROMPTS:
        raise UsageError(f"--prompt takes {', '.join(PROMPTS)} or all, not {name!r}")
    return [PROMPTS[name]]


def _listed(text: str) -> list[str]:
    words = [word.strip() for word in text.split(",") if word.strip()]
    if not words:
        raise UsageError("an empty list was given; name at least one, or all")
    return words
