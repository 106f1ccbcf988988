"""``theodolite trace``: check whether each step of the reasoning is supported by the frames."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from theodolite.cli import options as o
from theodolite.cli.console import note, notes
from theodolite.cli.output import show
from theodolite.cli.running import Preview, named_runs, run_and_show
from theodolite.cli.trace_checks import Episodes, SentenceModel, Verifier, note_drawn, note_unlearnt
from theodolite.cli.trace_checks import app as checks_app
from theodolite.cli.trace_data import app as data_app
from theodolite.core.errors import UsageError
from theodolite.instruments.trace.questions import STYLES
from theodolite.instruments.trace.sentence_model import SENTENCE_MODEL
from theodolite.runs import EngineOptions, Run, RunSettings

if TYPE_CHECKING:
    from collections.abc import Sequence

    from theodolite.core.tables import Table
    from theodolite.instruments.trace.data.episode import Episode
    from theodolite.instruments.trace.score import ScoreOptions

app = typer.Typer(
    no_args_is_help=True,
    help="Is each step of the reasoning supported by the frames, and does that predict robustness?",
)
app.add_typer(data_app)

_RUN_TABLES = ("claims", "pooled", "verbosity", "conditions", "controls", "refutation")
_VERIFY_TABLES = ("steps", "claims", "pooled")

_Styles = Annotated[
    str,
    typer.Option(
        "--styles", metavar="LIST", help=f"Some of {', '.join(STYLES)}; the first is the reference."
    ),
]
_Paraphrase = Annotated[
    bool, typer.Option("--paraphrase", help="Also ask every question after another introduction.")
]
_MaxFrames = Annotated[int | None, typer.Option("--max-frames", min=1, help="Show at most this many frames.")]
_Unverifiable = Annotated[
    str,
    typer.Option(
        "--unverifiable",
        metavar="exclude|penalise|neutral|credit",
        help="How to count claims that cannot be judged.",
    ),
]
_Count = Annotated[
    str,
    typer.Option(
        "--count",
        metavar="whole|every",
        help="Count only the largest claims (as in the paper), or every one.",
    ),
]
_Guesses = Annotated[
    str,
    typer.Option(
        "--guesses",
        metavar="abstract|stated",
        help="Treat hedged claims as not verifiable, or judge them as stated.",
    ),
]
_Tau = Annotated[
    float,
    typer.Option(
        "--tau",
        min=-1,
        max=1,
        help="Two beliefs above this similarity are the same (TCS, equation 2); see `trace calibrate`.",
    ),
]


def _options(
    verifier: str, handling: str, count: str, guesses: str, tau: float, sentence_model: str, seed: int
) -> ScoreOptions:
    from theodolite.instruments.trace.formulas.sgr import HANDLINGS, Counting
    from theodolite.instruments.trace.score import ScoreOptions

    how: Any = o.one_of(handling, HANDLINGS, "--unverifiable")
    which: Any = o.one_of(count, ("whole", "every"), "--count")
    is_stated = o.one_of(guesses, ("abstract", "stated"), "--guesses") == "stated"
    hedges: Any = "as stated" if is_stated else "abstract"
    return ScoreOptions(verifier, Counting(how, which), hedges, tau, sentence_model, seed=seed)


@app.command("run")
def run_command(  # noqa: PLR0913, PLR0917 - one parameter per option
    data: o.Data,
    model: o.ModelName,
    folder: o.Out,
    styles: _Styles = "structured",
    paraphrase: _Paraphrase = False,
    max_frames: _MaxFrames = None,
    max_tokens: o.MaxTokens = 1024,
    verifier: Verifier = "annotation",
    sentence_model: SentenceModel = SENTENCE_MODEL,
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
    """Ask a model to reason about episodes, store every answer, and score. The same command resumes where it stopped."""
    from theodolite.instruments.trace.data.dataset import read_episodes
    from theodolite.instruments.trace.experiments.run_tables import run_tables
    from theodolite.instruments.trace.questions import plan_traces, without_pictures
    from theodolite.instruments.trace.score import ScoreOptions
    from theodolite.instruments.trace.verifiers.judging import open_verifier
    from theodolite.models import ask_factory

    chosen: Any = list(dict.fromkeys(o.listed(styles)))
    if not chosen or set(chosen) - set(STYLES):
        raise UsageError(f"--styles takes some of {', '.join(STYLES)}, not {styles!r}")
    open_verifier(verifier)  # fail before anything is asked if the name is unknown
    episodes = read_episodes(data).episodes
    _note_bare(without_pictures(episodes), len(episodes))
    note_unlearnt(model, episodes)
    wordings: Any = ["original", "paraphrased"] if paraphrase else ["original"]
    items = list(
        plan_traces(episodes, styles=chosen, wordings=wordings, max_frames=max_frames, max_tokens=max_tokens)
    )
    settings = {
        "data": str(data.absolute()),
        "styles": chosen,
        "wordings": wordings,
        "max_frames": max_frames,
        "max_tokens": max_tokens,
    }
    run_and_show(
        folder,
        RunSettings("trace", model, seed, settings),
        items,
        ask_factory(model),
        options=EngineOptions(engine, workers, ray_address, cache),
        limit=limit,
        tables=lambda run: run_tables(
            run, options=ScoreOptions(verifier, sentence_model=sentence_model, seed=seed)
        ),
        json=json,
        preview=Preview.of(plan, price),
    )


def _note_bare(bare: Sequence[Episode], n: int) -> None:
    if bare:
        named = ", ".join(episode.id for episode in bare[:3]) + (", …" if len(bare) > 3 else "")
        note(f"{len(bare)} of {n} episodes have no picture and are not asked about: {named}")


@app.command("score")
def score(  # noqa: PLR0913, PLR0917 - one parameter per option
    runs: o.RunFolders,
    data: Episodes = None,
    verifier: Verifier = "annotation",
    handling: _Unverifiable = "exclude",
    count: _Count = "whole",
    guesses: _Guesses = "abstract",
    tau: _Tau = 0.8,
    sentence_model: SentenceModel = SENTENCE_MODEL,
    also_by: Annotated[
        str,
        typer.Option("--also-by", metavar="LIST", help="More verifiers, for the table of conditions."),
    ] = "",
    tables: Annotated[
        str,
        typer.Option("--tables", metavar="LIST", help=f"More tables: {', '.join(_RUN_TABLES)}, or all."),
    ] = "",
    figures: o.Figures = None,
    beside: o.Beside = None,
    seed: o.Seed = 0,
    json: o.AsJson = False,
) -> None:
    """Score a run from its stored answers, or compare several models in one table (Table 1). No model is called."""
    from dataclasses import replace

    from theodolite.instruments.trace.experiments.run_tables import run_tables

    if beside and figures is None:
        raise UsageError("--beside adds other runs to the figures: also give a folder with --figures")
    others = tuple(o.listed(also_by))
    chosen = _options(verifier, handling, count, guesses, tau, sentence_model, seed)
    options = replace(chosen, also_by=others)
    extra = o.some_of(tables, _RUN_TABLES, "--tables")
    if others and "conditions" not in extra:
        extra = (*extra, "conditions")
    if len(runs) > 1:
        if beside or figures is not None or extra:
            raise UsageError("figures and further tables are of one run: give a single one")
        show(_table1(runs, options, data), json=json, runs=[str(run) for run in runs], instrument="trace")
        return
    run = runs[0]
    with Run.open(run, writable=True) as opened:
        found = run_tables(opened, data=data, options=options, extra=extra)
        opened.write_tables(found)
        model = opened.info.model
    if figures is not None:
        _draw(run, beside or [], options, data, figures)
    show(found, json=json, run=str(run), instrument="trace", model=model)


def _table1(runs: Sequence[Path], options: ScoreOptions, data: Path | None) -> list[Table]:
    """Table 1 of several runs, each in its first prompt style."""
    from theodolite.instruments.trace.experiments.run_tables import ScoredTraces
    from theodolite.instruments.trace.experiments.table1 import ModelRun, model_tables

    found: dict[str, ModelRun] = {}
    for name, place in named_runs(runs):
        with Run.open(place) as opened:
            scored = ScoredTraces(opened, data=data, options=options)
        style = (scored.read.styles or [""])[0]
        found[name] = ModelRun(name, [group for group in scored.groups if group.labels[0] == style])
    return model_tables(list(found.values()))


def _draw(run: Path, beside: list[Path], options: ScoreOptions, data: Path | None, folder: Path) -> None:
    from theodolite.instruments.trace.experiments.run_tables import ScoredTraces
    from theodolite.instruments.trace.figures import draw_runs

    scored: dict[str, ScoredTraces] = {}
    for name, place in named_runs([run, *beside]):
        with Run.open(place) as opened:
            scored[name] = ScoredTraces(opened, data=data if place == run else None, options=options)
    note_drawn(draw_runs(scored, folder), folder)


@app.command("verify")
def verify(  # noqa: PLR0913, PLR0917 - one parameter per option
    traces: Annotated[
        Path, typer.Option("--traces", metavar="PATH", help="Traces in a JSONL file, or a run folder.")
    ],
    data: Episodes = None,
    verifiers: Annotated[
        list[str] | None,
        typer.Option(
            "--verifier",
            metavar="NAME",
            help="The verifier that judges the claims. Default: annotation. Repeat it to compare verifiers.",
        ),
    ] = None,
    flip: Annotated[
        str,
        typer.Option(
            "--flip", metavar="RATES", help="Also flip these fractions of verdicts, such as 0.02,0.05,0.1."
        ),
    ] = "",
    claims: Annotated[
        bool, typer.Option("--claims", help="Only extract the claims, without judging them.")
    ] = False,
    handling: _Unverifiable = "exclude",
    count: _Count = "whole",
    guesses: _Guesses = "abstract",
    tau: _Tau = 0.8,
    sentence_model: SentenceModel = SENTENCE_MODEL,
    tables: Annotated[
        str,
        typer.Option("--tables", metavar="LIST", help=f"More tables: {', '.join(_VERIFY_TABLES)}, or all."),
    ] = "",
    limit: Annotated[int | None, typer.Option("--limit", min=1, help="Use only the first N traces.")] = None,
    seed: o.Seed = 0,
    json: o.AsJson = False,
) -> None:
    """Judge stored traces, from a file or a run. No model is called."""
    from theodolite.instruments.trace.experiments.run_tables import problem_tables
    from theodolite.instruments.trace.experiments.verify import claim_tables, load_traces, verify_tables
    from theodolite.instruments.trace.verifiers.judging import open_verifier

    extra = o.some_of(tables, _VERIFY_TABLES, "--tables")
    if claims:
        loaded = load_traces(traces, data, limit=limit, needs_episodes=False)
        notes(loaded.notes)
        found = claim_tables(loaded.traces, list_steps="steps" in extra)
        show([*found, *problem_tables(loaded.problems)], json=json, traces=str(traces))
        return
    names = verifiers or ["annotation"]
    options = _options(names[0], handling, count, guesses, tau, sentence_model, seed)
    opened = [open_verifier(name) for name in names]
    rates = _rates(flip)
    loaded = load_traces(traces, data, limit=limit)
    notes(loaded.notes)
    found, problems = verify_tables(loaded, opened, options, rates=rates, extra=extra)
    show([*found, *problem_tables(problems)], json=json, traces=str(traces))


def _rates(text: str) -> list[float]:
    try:
        return [float(word) for word in o.listed(text)]
    except ValueError:
        raise UsageError(f"--flip takes numbers separated by commas, not {text!r}") from None


app.add_typer(checks_app)
