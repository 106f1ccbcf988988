"""``theodolite grid accuracy | certify``: models that sit the test, and the pair of known reasoning."""

from __future__ import annotations

import json as jsonlib
from pathlib import Path
from typing import Annotated, cast

import typer

from theodolite.cli import options as o
from theodolite.cli.console import note, print_json
from theodolite.cli.measuring import Asked, HowToMeasure, exit_if_failed, measure_plan
from theodolite.cli.output import counter, percent, print_table
from theodolite.core.errors import UsageError
from theodolite.instruments.grid.data.files import read_dataset
from theodolite.instruments.grid.data.world import BUCKET_KEYS
from theodolite.instruments.grid.experiments.accuracy import AccuracyScore, plan_accuracy, score_accuracy
from theodolite.instruments.grid.models.certify import (
    ACCURACY,
    AGREES,
    FOLLOWS,
    INVARIANT,
    KEEPS,
    Certificate,
)
from theodolite.instruments.grid.models.released import (
    PairedKind,
    certify_model,
    released_certificate,
)
from theodolite.models import Answering, ask_factory
from theodolite.runs import Run, write_atomically

Which = Annotated[str, typer.Argument(metavar="pure|spur", help="Which of the pair.")]


def add_model_commands(app: typer.Typer) -> None:
    """Hooks the commands of this file into ``theodolite grid``."""
    app.command("accuracy")(accuracy_command)
    app.command("certify")(certify_command)


def accuracy_command(  # noqa: PLR0913, PLR0917 - one parameter per option
    model: o.ModelName,
    data: o.Data,
    folder: o.Out,
    answer: Annotated[
        str,
        typer.Option(
            "--answer", metavar="write|choose", help="In words, or by the options' log-probabilities."
        ),
    ] = "write",
    max_tokens: Annotated[int, typer.Option("--max-tokens", min=1, help="The longest answer.")] = 16,
    seed: o.Seed = 0,
    limit: o.Limit = None,
    engine: o.Engine = "local",
    workers: o.Workers = None,
    ray_address: o.RayAddress = None,
    cache: o.Cache = None,
    json: o.AsJson = False,
) -> None:
    """Let any model answer a data set: accuracy per bucket, and how much it is like a bag of words."""
    if answer not in {"write", "choose"}:
        raise UsageError(f"--answer is write or choose, not {answer!r}")
    stored = read_dataset(data)
    asked = {"data": str(data.absolute()), "answer": answer, "max_tokens": max_tokens}
    tally = measure_plan(
        folder,
        Asked("grid", model, seed, asked),
        list(plan_accuracy(stored, max_tokens=max_tokens)),
        ask_factory(model, cast("Answering", answer)),
        HowToMeasure(engine, workers, ray_address, cache, limit),
    )
    with Run.open(folder, writable=True) as run:
        score = score_accuracy(run)
    print_json(score.as_json()) if json else _show_accuracy(score)
    exit_if_failed(tally, folder)


def _show_accuracy(score: AccuracyScore) -> None:
    densities = list(dict.fromkeys(row.density for row in score.rows))
    cells = {(row.bucket, row.density): row for row in score.rows}
    rows = []
    for bucket in dict.fromkeys(row.bucket for row in score.rows):
        line = [bucket]
        for density in densities:
            found = cells.get((bucket, density))
            line += [percent(found.accuracy), percent(found.bag_of_words)] if found else ["", ""]
        rows.append(line)
    heads = [
        head for density in densities for head in (f"right, {density}", f"like a bag of words, {density}")
    ]
    print_table(["bucket", *heads], rows, title=score.model)
    for name in ("refused", "failed", "unreadable"):
        total = sum(getattr(row, name) for row in score.rows)
        if total:
            note(f"{total} of {sum(row.asked for row in score.rows)} answers {name}")


def certify_command(  # noqa: PLR0913, PLR0917 - one parameter per option
    which: Which,
    n: Annotated[int, typer.Option("--n", min=2, help="Scenes for each bucket at each density.")] = 1000,
    seed: o.Seed = 2026,
    weights: Annotated[
        Path | None, typer.Option("--weights", metavar="FILE", help="Other weights than the released ones.")
    ] = None,
    device: Annotated[str, typer.Option("--device", metavar="cpu|cuda", help="Where to run.")] = "cpu",
    is_released: Annotated[
        bool,
        typer.Option("--released", help="Show the certificate that ships with the weights; test nothing."),
    ] = False,
    out: Annotated[Path | None, typer.Option("--out", metavar="FILE", help="Write it as JSON, too.")] = None,
    json: o.AsJson = False,
) -> None:
    """Test from scratch what a paired model does: accuracy, bag of words, swapped directions, distractors."""
    kind = _kind(which)
    if is_released:
        found = released_certificate(kind)
    else:
        with counter(f"certifying grid:{kind}") as progress:
            found = certify_model(kind, weights=weights, n=n, seed=seed, device=device, progress=progress)
    if out is not None:
        write_atomically(out, jsonlib.dumps(found.as_json(), indent=1) + "\n")
    print_json(found.as_json()) if json else _show_certificate(found)


def _show_certificate(found: Certificate) -> None:
    columns = [
        ("pure scenes, sparse", ACCURACY, "pure", "sparse"),
        ("pure, dense", ACCURACY, "pure", "dense"),
        ("spurious, sparse", ACCURACY, "spur", "sparse"),
        ("spurious, dense", ACCURACY, "spur", "dense"),
        ("like a bag of words, dense", AGREES, "pure", "dense"),
        ("follows swap", FOLLOWS, "pure", "both"),
        ("same after swap", INVARIANT, "pure", "both"),
        ("same without distractors", KEEPS, "pure", "both"),
    ]
    shares = {(line.what, str(line.data), line.density, line.bucket): line.share for line in found.lines}
    rows = [
        [bucket, *(percent(shares.get((what, data, density, bucket))) for _, what, data, density in columns)]
        for bucket in BUCKET_KEYS
    ]
    print_table(["bucket", *(name for name, *_ in columns)], rows, title=f"{found.identity}, n = {found.n}")
    note(
        f"swapped scenes without a target left were left out of 'follows swap': {found.left_out}; "
        "buckets without a direction have no swap"
    )


def _kind(which: str) -> PairedKind:
    if which not in {"pure", "spur"}:
        raise UsageError(f"the pair is pure and spur; there is no {which!r}")
    return cast("PairedKind", which)
