"""``theodolite ask``: ask your own questions with the picture, without it, with another one, and with it edited."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Annotated, cast

import typer

from theodolite.cli import options as o
from theodolite.cli.console import note
from theodolite.cli.output import show
from theodolite.cli.running import Preview, run_and_show
from theodolite.core.types import Item
from theodolite.instruments.ask.data.questions import draw_questions, load_questions
from theodolite.instruments.ask.instrument import ASK
from theodolite.instruments.ask.questions import SETTINGS, Setting, plan_questions
from theodolite.models import Answering, ask_factory
from theodolite.models.replay import has_pictures, is_log, missing_answers, recorded_only
from theodolite.runs import EngineOptions, Run, RunSettings

app = typer.Typer(no_args_is_help=True, help=ASK.question)


@app.command("run")
def run_command(  # noqa: PLR0913, PLR0917 - one parameter per option
    data: o.Data,
    model: o.ModelName,
    folder: o.Out,
    images: o.MaybeImages = None,
    settings: Annotated[
        str, typer.Option("--settings", metavar="LIST", help=f"Some of {', '.join(SETTINGS)}.")
    ] = "all",
    answer: o.Answer = "write",
    max_tokens: o.MaxTokens = 512,
    seed: o.Seed = 0,
    limit: o.Limit = None,
    plan: o.PlanOnly = False,
    price: o.Price = "",
    engine: o.Engine = "local",
    workers: o.Workers = None,
    ray_address: o.RayAddress = None,
    cache: o.Cache = None,
    json: o.AsJson = False,
) -> None:
    """Ask a model, store every answer, and score. The same command resumes where it stopped."""
    chosen = cast("tuple[Setting, ...]", o.some_of(settings, SETTINGS, "--settings", can_be_empty=False))
    answering = cast("Answering", o.one_of(answer, ("write", "choose"), "--answer"))
    loaded = load_questions(data, images)
    if is_log(model):
        chosen = _recorded_settings(model, chosen)
    else:
        loaded = draw_questions(loaded, len(loaded.questions), seed)
    for reason, n in loaded.unused.items():
        note(f"left out: {n} × {reason}")
    edits = None if plan else folder / "edited"
    items = partial(
        plan_questions,
        loaded.questions,
        settings=chosen,
        seed=seed,
        max_tokens=max_tokens,
        folder=edits,
        model=model,
    )
    asked = {
        "data": str(data.absolute()),
        "settings": list(chosen),
        "answer": answering,
        "max_tokens": max_tokens,
        **({"images": str(images.absolute())} if images else {}),
        **({"questions": len(loaded.questions)} if is_log(model) else {}),
    }
    if not plan:
        _note_missing(model, items)
    run_and_show(
        folder,
        RunSettings("ask", model, seed, asked),
        lambda _: recorded_only(model, list(items())) if is_log(model) else items(),
        ask_factory(model, answering),
        options=EngineOptions(engine, workers, ray_address, cache),
        limit=limit,
        tables=ASK.tables,
        json=json,
        preview=Preview.of(plan, price),
    )


def _recorded_settings(model: str, chosen: tuple[Setting, ...]) -> tuple[Setting, ...]:
    """The settings that a log can answer: without its pictures, edits are not found."""
    known = chosen if has_pictures(model) else ("picture", "swapped")
    return tuple(setting for setting in chosen if setting in known) or ("picture",)


def _note_missing(model: str, items: partial[Iterator[Item]]) -> None:
    """Print why a log has no answer to some items, with an example of each reason."""
    if not is_log(model):
        return
    with tempfile.TemporaryDirectory() as scratch:  # there is no run yet to keep edited pictures in
        found = missing_answers(model, list(items(folder=Path(scratch))))
    for kind, (n, example) in found.items():
        note(f"not asked: {n} × {kind}" + (f"; for example: {example}" if example != kind else ""))


@app.command("score")
def score(run: o.RunFolder, json: o.AsJson = False) -> None:
    """Score a run from its stored answers. No model is called."""
    with Run.open(run, writable=True) as opened:
        show(ASK.tables(opened), json=json, run=str(run), instrument="ask", model=opened.info.model)
