"""``theodolite compass``: is relevance organised by the direction that was asked for?"""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

import typer

from theodolite.attribution import check_targets, find_methods
from theodolite.cli import (
    compass_controls as _compass_controls,
)
from theodolite.cli import (
    compass_faithfulness as _compass_faithfulness,
)
from theodolite.cli import (
    compass_overlay as _compass_overlay,
)
from theodolite.cli import (
    compass_score as _compass_score,
)
from theodolite.cli import (
    compass_utility as _compass_utility,
)
from theodolite.cli import options as o
from theodolite.cli.compass_prompts import PromptNames, prompt_settings
from theodolite.cli.console import note, print_json
from theodolite.cli.data import note_cautions
from theodolite.cli.measuring import Asked, HowToMeasure, exit_if_failed, measure_plan
from theodolite.core.errors import UsageError
from theodolite.instruments.compass.data.checks import pair_cautions
from theodolite.instruments.compass.data.pair_files import read_pairs
from theodolite.instruments.compass.measure import TARGETS, attribution_factory
from theodolite.instruments.compass.prompt_files import find_prompts
from theodolite.instruments.compass.questions import plan_pairs

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
        str,
        typer.Option(
            "--methods", metavar="LIST", help="Relevance methods, or all; see `theodolite list methods`."
        ),
    ] = "all",
    targets: Annotated[
        str, typer.Option("--targets", metavar="LIST", help="Whose logit: gt, pred, option:0 and so on.")
    ] = ",".join(TARGETS),
    prompt: PromptNames = "A",
    limit: o.Limit = None,
    engine: o.Engine = "local",
    workers: o.Workers = None,
    ray_address: o.RayAddress = None,
    json: o.AsJson = False,
) -> None:
    """Ask a white-box model about pairs, and keep every relevance map. The same command goes on where it stopped."""
    chosen = _listed(methods)
    explained = _listed(targets)
    prompts = find_prompts(prompt)
    check_targets(explained)
    find_methods(chosen)
    pairs = read_pairs(data)
    note_cautions(pair_cautions(pairs))
    settings = {
        "data": str(data.absolute()),
        "methods": chosen,
        "targets": explained,
        **prompt_settings(prompt, prompts),
    }
    tally = measure_plan(
        folder,
        Asked("compass", model, 0, settings),
        plan_pairs(pairs, prompts),
        attribution_factory(model, methods=chosen, targets=explained),
        HowToMeasure(engine, workers, ray_address, None, limit),
    )
    if json:
        print_json({"run": str(folder), **asdict(tally), "prompts": [each.name for each in prompts]})
    else:
        asked = f" with {len(prompts)} prompts" if len(prompts) > 1 else ""
        note(
            f"measured {tally.answered} of {tally.planned} questions about {len(pairs)} pairs{asked} into {folder}"
        )
    exit_if_failed(tally, folder)


def _listed(text: str) -> list[str]:
    words = [word.strip() for word in text.split(",") if word.strip()]
    if not words:
        raise UsageError("an empty list was given; name at least one, or all")
    return words
