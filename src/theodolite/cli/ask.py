"""``theodolite ask``: one's own questions with the picture, without it, and with another picture."""

from __future__ import annotations

from typing import Annotated, cast

import typer
from rich.text import Text

from theodolite.cli import options as o
from theodolite.cli.measuring import Asked, HowToMeasure, exit_if_failed, measure_plan
from theodolite.cli.output import note, out, p_value, percent, points, print_json, print_table
from theodolite.core.errors import UsageError
from theodolite.instruments.ask.data.questions import read_questions
from theodolite.instruments.ask.data.questions import write_questions as write
from theodolite.instruments.ask.data.squares import make_squares
from theodolite.instruments.ask.questions import SETTINGS, Setting, plan_questions
from theodolite.instruments.ask.score import AskScore, score_ask
from theodolite.models import Answering, ask_factory
from theodolite.runs import Run

app = typer.Typer(no_args_is_help=True, help="Your own questions: does the picture matter to the answers?")


@app.command("make")
def make(folder: o.Out, n: o.Number = 200, seed: o.Seed = 0, json: o.AsJson = False) -> None:
    """Make questions about coloured squares, to try things out."""
    path = write(make_squares(n, seed=seed), folder)
    print_json({"questions": str(path), "n": n}) if json else note(f"wrote {n} questions to {path}")


@app.command("run")
def run_command(  # noqa: PLR0913, PLR0917 - one parameter per option
    data: o.Data,
    model: o.ModelName,
    folder: o.Out,
    settings: Annotated[
        str, typer.Option("--settings", help="Which of picture, blind, swapped.", metavar="LIST")
    ] = ",".join(SETTINGS),
    answer: Annotated[
        str,
        typer.Option(
            "--answer", metavar="write|choose", help="In words, or by the options' log-probabilities."
        ),
    ] = "write",
    max_tokens: Annotated[int, typer.Option("--max-tokens", min=1, help="The longest answer.")] = 512,
    seed: o.Seed = 0,
    limit: Annotated[
        int | None, typer.Option("--limit", min=1, help="Ask only the first so many questions.")
    ] = None,
    engine: o.Engine = "local",
    workers: o.Workers = None,
    ray_address: o.RayAddress = None,
    cache: o.Cache = None,
    json: o.AsJson = False,
) -> None:
    """Ask a model, store every answer, and score. The same command goes on where it stopped."""
    chosen = _settings(settings)
    questions = read_questions(data)
    answering = _answering(answer)
    settings_asked = {
        "data": str(data.absolute()),
        "settings": chosen,
        "answer": answering,
        "max_tokens": max_tokens,
    }
    items = list(plan_questions(questions, settings=chosen, seed=seed, max_tokens=max_tokens))
    first = {question.id for question in questions[:limit]}
    n_items = sum(item.meta["question"] in first for item in items)
    tally = measure_plan(
        folder,
        Asked("ask", model, seed, settings_asked),
        items,
        ask_factory(model, answering),
        HowToMeasure(engine, workers, ray_address, cache, n_items if limit is not None else None),
    )
    score(folder, seed=seed, json=json)
    exit_if_failed(tally, folder)


@app.command("score")
def score(run: o.RunFolder, seed: o.Seed = 0, json: o.AsJson = False) -> None:
    """Score a run again from its stored answers; no model is called."""
    with Run.open(run, writable=True) as opened:
        result = score_ask(opened, seed=seed)
    print_json(result.as_json()) if json else _show(result)


def _show(result: AskScore) -> None:
    print_table(
        ["setting", "accuracy", "asked", "refused", "failed", "unreadable"],
        [
            [s.setting, percent(s.accuracy), str(s.asked), str(s.refused), str(s.failed), str(s.unreadable)]
            for s in result.settings
        ],
        title=result.model,
    )
    if result.comparisons:
        out.print()
        print_table(
            ["picture against", "drop in points", "p", "same answer in both", "follows the picture shown"],
            [
                [c.against, points(c.drop), p_value(c.p_value), percent(c.same_answer), percent(c.follows)]
                for c in result.comparisons
            ],
        )
    out.print()
    colour = {"looks": "green", "does not look": "red", "undecided": "yellow"}[result.verdict]
    out.print(Text(f"{result.verdict}", style=f"bold {colour}"), Text(f"– {result.because}"))


def _settings(text: str) -> list[Setting]:
    chosen = [word.strip() for word in text.split(",") if word.strip()]
    unknown = [word for word in chosen if word not in SETTINGS]
    if unknown or not chosen:
        raise UsageError(f"--settings takes some of {', '.join(SETTINGS)}, not {text!r}")
    return [setting for setting in SETTINGS if setting in chosen]


def _answering(text: str) -> Answering:
    if text not in {"write", "choose"}:
        raise UsageError(f"--answer takes write or choose, not {text!r}")
    return cast("Answering", text)
