"""``theodolite trace``: is each step of the reasoning supported by the frames?"""

from __future__ import annotations

from dataclasses import asdict, replace
from pathlib import Path
from typing import Annotated, cast

import typer
from rich.text import Text

from theodolite.cli import options as o
from theodolite.cli import (
    trace_checks as _trace_checks,
)
from theodolite.cli import (
    trace_labels as _trace_labels,
)
from theodolite.cli import (
    trace_make as _trace_make,
)
from theodolite.cli import (
    trace_predict as _trace_predict,
)
from theodolite.cli import (
    trace_recall as _trace_recall,
)
from theodolite.cli import (
    trace_relevance as _trace_relevance,
)
from theodolite.cli import (
    trace_similarity as _trace_similarity,
)
from theodolite.cli.console import note, out, print_json
from theodolite.cli.measuring import Asked, HowToMeasure, exit_if_failed, measure_plan
from theodolite.cli.output import print_table
from theodolite.cli.trace_figures import draw_rows, draw_score, tell
from theodolite.cli.trace_loading import (
    Granularity,
    HandlingName,
    Hedges,
    Tau,
    Traces,
    VerifierName,
    load_judged,
    options_of,
)
from theodolite.cli.trace_tables import (
    show_claims,
    show_consistency,
    show_grounding,
    show_problems,
    show_score,
    show_steps,
)
from theodolite.core.errors import UsageError
from theodolite.instruments.trace.claims.extract import extract_many
from theodolite.instruments.trace.claims.language import open_parser, sentence_spans
from theodolite.instruments.trace.data.dataset import read_episodes
from theodolite.instruments.trace.data.traces import read_traces
from theodolite.instruments.trace.formulas.sgr import grounding
from theodolite.instruments.trace.formulas.tcs import TAU, consistency_of
from theodolite.instruments.trace.prompts import STYLES, Style
from theodolite.instruments.trace.questions import Wording, plan_traces, without_pictures
from theodolite.instruments.trace.score import score_traces
from theodolite.instruments.trace.verifiers.judging import open_verifier
from theodolite.models import ask_factory
from theodolite.runs import Run

app = typer.Typer(
    no_args_is_help=True,
    help="Is each step of the reasoning supported by the frames, and does that predict robustness?",
)

app.add_typer(_trace_checks.app)
app.add_typer(_trace_labels.app)
app.add_typer(_trace_make.app)
app.add_typer(_trace_predict.app)
app.add_typer(_trace_recall.app)
app.add_typer(_trace_relevance.app)
app.add_typer(_trace_similarity.app)


@app.command("run")
def run_command(  # noqa: PLR0913, PLR0917 - one parameter per option
    data: o.Data,
    model: o.ModelName,
    folder: o.Out,
    styles: Annotated[
        str,
        typer.Option(
            "--styles", metavar="LIST", help=f"Which of {', '.join(STYLES)}; the first is the reference."
        ),
    ] = "structured",
    paraphrase: Annotated[
        bool, typer.Option("--paraphrase", help="Also ask every question, unchanged, after another lead-in.")
    ] = False,
    max_frames: Annotated[
        int | None, typer.Option("--max-frames", min=1, help="Show at most so many frames.")
    ] = None,
    max_tokens: Annotated[int, typer.Option("--max-tokens", min=1, help="The longest answer.")] = 1024,
    verifier: VerifierName = "annotation",
    seed: o.Seed = 0,
    limit: o.Limit = None,
    engine: o.Engine = "local",
    workers: o.Workers = None,
    ray_address: o.RayAddress = None,
    cache: o.Cache = None,
    json: o.AsJson = False,
) -> None:
    """Ask a model to reason about episodes, store every answer, and score. The same command goes on where it stopped."""
    chosen = _styles(styles)
    open_verifier(verifier)
    episode_set = read_episodes(data)
    bare = without_pictures(episode_set.episodes)
    if bare:
        named = ", ".join(episode.id for episode in bare[:3]) + (", …" if len(bare) > 3 else "")
        note(
            f"{len(bare)} of {len(episode_set.episodes)} episodes have no picture and are not asked about: {named}"
        )
    wordings: list[Wording] = ["original", "paraphrased"] if paraphrase else ["original"]
    items = plan_traces(
        episode_set.episodes, styles=chosen, wordings=wordings, max_frames=max_frames, max_tokens=max_tokens
    )
    settings = {
        "data": str(data.absolute()),
        "styles": chosen,
        "wordings": wordings,
        "max_frames": max_frames,
        "max_tokens": max_tokens,
    }
    tally = measure_plan(
        folder,
        Asked("trace", model, seed, settings),
        items,
        ask_factory(model),
        HowToMeasure(engine, workers, ray_address, cache, limit),
    )
    score(folder, verifier=verifier, seed=seed, json=json)
    exit_if_failed(tally, folder)


@app.command("score")
def score(  # noqa: PLR0913, PLR0917 - one parameter per option
    run: o.RunFolder,
    data: Annotated[
        Path | None, typer.Option("--data", metavar="PATH", help="The episodes, if they have moved.")
    ] = None,
    verifier: VerifierName = "annotation",
    handling: HandlingName = "exclude",
    claims: Granularity = "whole",
    guesses: Hedges = "abstract",
    tau: Tau = TAU,
    also_by: Annotated[
        str, typer.Option("--also-by", metavar="LIST", help="Further verifiers, to compare with.")
    ] = "",
    figures: Annotated[
        Path | None, typer.Option("--figures", metavar="DIR", help="Draw the figures into this folder.")
    ] = None,
    beside: Annotated[
        list[Path] | None,
        typer.Option("--beside", metavar="RUN", help="Another run to draw beside it; may be repeated."),
    ] = None,
    seed: o.Seed = 0,
    json: o.AsJson = False,
) -> None:
    """Score a run again from its stored answers; no model is called."""
    if beside and figures is None:
        raise UsageError("--beside draws other runs into the figures: name a folder for them with --figures")
    names = tuple(name.strip() for name in also_by.split(",") if name.strip())
    options = replace(options_of(verifier, handling, claims, guesses, seed), also_by=names, tau=tau)
    with Run.open(run, writable=True) as opened:
        result = score_traces(opened, data=data, options=options)
        rows = draw_rows(opened, options, figures, data=data) if figures is not None else []
    if figures is not None:
        scores = {result.model: result}
        for other in beside or []:
            with Run.open(other, writable=True) as opened:
                score_ = score_traces(opened, options=options)
            scores[score_.model if score_.model not in scores else f"{score_.model} ({other.name})"] = score_
        tell([*draw_score(scores, figures), *rows], figures)
    print_json(result.as_json()) if json else show_score(result)


@app.command("verify")
def verify(  # noqa: PLR0913, PLR0917 - one parameter per option
    data: o.Data,
    traces: Traces,
    verifier: VerifierName = "annotation",
    handling: HandlingName = "exclude",
    claims: Granularity = "whole",
    guesses: Hedges = "abstract",
    tau: Tau = TAU,
    noise: Annotated[
        float, typer.Option("--noise", min=0, max=1, help="Turn this share of verdicts round.")
    ] = 0.0,
    show: Annotated[int, typer.Option("--show", min=0, help="Print the steps of so many traces.")] = 0,
    seed: o.Seed = 0,
    json: o.AsJson = False,
) -> None:
    """Judge traces that exist already; no model is called."""
    options = replace(options_of(verifier, handling, claims, guesses, seed), tau=tau)
    loaded = load_judged(data, traces, options, noise)
    judged, judge_by = loaded.judged, loaded.verifier
    result = grounding(judged, handling=options.handling, granularity=options.granularity, seed=seed)
    beliefs = consistency_of(loaded.traces, loaded.episodes, judge_by, tau=options.tau, seed=seed)
    problems = list(dict.fromkeys([*loaded.problems, *beliefs.failures]))
    if json:
        print_json(
            {
                "instrument": "trace",
                "verifier": judge_by.name,
                "grounding": asdict(result),
                "consistency": asdict(beliefs),
                "problems": [asdict(problem) for problem in problems],
                "traces": [asdict(trace) for trace in judged[:show]],
            }
        )
        return
    for trace in judged[:show]:
        show_steps(trace)
    show_grounding({judge_by.name: result})
    show_consistency(beliefs)
    show_problems(problems)


@app.command("claims")
def claims_command(
    traces: Traces,
    show: Annotated[int, typer.Option("--show", min=0, help="Print the claims of so many steps.")] = 0,
    json: o.AsJson = False,
) -> None:
    """Read the claims out of traces, with nothing to judge them by."""
    read, problems = read_traces(traces)
    texts = [step.text for trace in read for step in trace.steps]
    parser = open_parser()
    counted = show_claims(
        texts, lambda part: extract_many(part, parser=parser), sentence_spans, show=0 if json else show
    )
    if json:
        print_json({"parser": parser.name, **counted, "problems": [asdict(p) for p in problems]})
        return
    print_table(
        ["what", "value"],
        [[str(k), f"{v:.3f}" if isinstance(v, float) else str(v)] for k, v in counted.items()],
    )
    out.print(Text(f"parser: {parser.name}"))
    show_problems(problems)
    if not counted["claims"]:
        note("no claim was found")


def _styles(text: str) -> list[Style]:
    chosen = [word.strip() for word in text.split(",") if word.strip()]
    unknown = [word for word in chosen if word not in STYLES]
    if unknown or not chosen:
        raise UsageError(f"--styles takes some of {', '.join(STYLES)}, not {text!r}")
    return cast("list[Style]", list(dict.fromkeys(chosen)))
