"""``theodolite trace export | annotate | ablate | predict | relevance | recall | calibrate``: check and calibrate the numbers."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from theodolite.cli import options as o
from theodolite.cli.console import note, notes
from theodolite.cli.output import show
from theodolite.cli.running import Preview, run_and_show
from theodolite.core.errors import UsageError
from theodolite.instruments.trace.sentence_model import SENTENCE_MODEL
from theodolite.runs import EngineOptions, RunSettings

if TYPE_CHECKING:
    from collections.abc import Sequence

    from theodolite.core.tables import Table
    from theodolite.instruments.trace.data.episode import Episode
    from theodolite.instruments.trace.experiments.predict import ModelRow

app = typer.Typer()

Episodes = Annotated[
    Path | None,
    typer.Option("--data", metavar="PATH", help="The episodes. For a run, only needed if they have moved."),
]
Verifier = Annotated[
    str,
    typer.Option(
        "--verifier",
        metavar="NAME",
        help="The verifier that judges the claims, such as annotation; see `theodolite list verifiers`.",
    ),
]

SentenceModel = Annotated[
    str,
    typer.Option(
        "--sentence-model",
        metavar="NAME",
        help="The sentence model of TCS, equation 2: a folder or an OWNER/NAME on the Hugging Face hub.",
    ),
]


def note_unlearnt(model: str, episodes: Sequence[Episode]) -> None:
    """Print a note if a shipped twin is asked about episodes of a kind that it never learnt."""
    from theodolite.instruments.trace.data.stories import is_story

    unknown = sum(not is_story(episode) for episode in episodes)
    if model.startswith("pocket:") and unknown:
        note(
            f"{model} never learnt {unknown} of these {len(episodes)} episodes, so its answers to them mean nothing;"
            " `theodolite trace make --world stories` makes what it knows"
        )


def note_drawn(drawn: list[Path], folder: Path) -> None:
    """Print a note with the number of figures drawn."""
    note(f"drew {len(drawn)} figures into {folder}" if drawn else "there is nothing to draw")


@app.command("export")
def export(
    run: o.RunFolder,
    out: Annotated[Path, typer.Option("--out", metavar="FILE", help="The JSONL file of traces to write.")],
    data: Episodes = None,
    json: o.AsJson = False,
) -> None:
    """Write the answers of a run as a file of traces, which `verify`, `annotate` and `ablate` take."""
    from theodolite.instruments.trace.experiments.verify import export_traces
    from theodolite.runs import Run

    with Run.open(run) as opened:
        n = export_traces(opened, out, data)
        where = data or Path(str(opened.info.settings["data"]))
    show([], json=json, traces=str(out), n=n, data=str(where))
    note(f"wrote {n} traces to {out}; use them as --traces {out} --data {where}")


@app.command("annotate")
def annotate(  # noqa: PLR0913, PLR0917 - one parameter per option
    labels: Annotated[
        list[Path] | None,
        typer.Argument(metavar="[LABELS]…", help="The labelled files of one or two people."),
    ] = None,
    traces: Annotated[
        Path | None, typer.Option("--traces", metavar="PATH", help="Traces in a JSONL file, or a run folder.")
    ] = None,
    data: Episodes = None,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            metavar="FILE",
            help="Write the claims of some steps for labelling: a page (.html) that saves the labels, or the file itself (.jsonl).",
        ),
    ] = None,
    size: Annotated[int, typer.Option("--size", min=1, help="Number of steps to write.")] = 120,
    verifier: Verifier = "annotation",
    seed: o.Seed = 0,
    json: o.AsJson = False,
) -> None:
    """Write claims for people to label (--out), or score their labels.

    With --traces, labels are compared with the verdicts of a verifier on the same traces.
    """
    from theodolite.core.files import Problem
    from theodolite.instruments.trace.experiments import annotate as labelling
    from theodolite.instruments.trace.experiments.run_tables import problem_tables
    from theodolite.instruments.trace.experiments.verify import LoadedTraces, load_traces
    from theodolite.instruments.trace.verifiers.judging import judge, open_verifier
    from theodolite.report.html.labels import write_label_page

    if bool(labels) == (out is not None):
        raise UsageError(
            "give files of labels to score, or --traces RUN --out FILE to write claims for labelling; not both"
        )
    if (out is not None or data is not None) and traces is None:
        raise UsageError("give the traces with --traces: a JSONL file, or a run folder")
    if out is not None and out.exists():
        raise UsageError(f"{out} exists already and may hold labels; give another file, or remove it")
    loaded = load_traces(traces, data) if traces is not None else LoadedTraces([], {})
    notes(loaded.notes)
    judged = judge(loaded.traces, loaded.episodes, open_verifier(verifier))
    if out is not None:
        rows = labelling.label_rows(judged, loaded.episodes, n_steps=size, seed=seed)
        problems = loaded.problems
        if out.suffix == ".html":
            problems = [*problems, *(Problem(name, why) for name, why in write_label_page(rows, out).items())]
        else:
            labelling.write_labels(rows, out)
        show(problem_tables(problems), json=json, labels=str(out), claims=len(rows))
        note(f"wrote {len(rows)} claims to {out}")
        return
    found = labelling.score_labels(labels or [], judged=judged, seed=seed)
    shown = [labelling.labels_table(found)]
    if len(labels or []) == 2:
        shown.append(labelling.people_table(found))
    show([*shown, *problem_tables([*loaded.problems, *found.problems])], json=json)


@app.command("ablate")
def ablate(
    sources: Annotated[
        list[Path],
        typer.Argument(metavar="SOURCE…", help="Runs, one per model; or JSONL files of traces, with --data."),
    ],
    data: Episodes = None,
    verifier: Verifier = "annotation",
    pairs: Annotated[bool, typer.Option("--pairs/--singles", help="Also remove pairs of parts.")] = True,
    seed: o.Seed = 0,
    json: o.AsJson = False,
) -> None:
    """Remove parts of the pipeline, singly and in pairs: SGR, and r and ρ with the whole pipeline."""
    from theodolite.instruments.trace.experiments.ablation import ablate as ablate_traces
    from theodolite.instruments.trace.experiments.ablation import ablation_table, across_models
    from theodolite.instruments.trace.experiments.run_tables import problem_tables
    from theodolite.instruments.trace.experiments.verify import joined, load_traces
    from theodolite.instruments.trace.verifiers.judging import open_verifier

    if len({source.resolve() for source in sources}) < len(sources):
        raise UsageError("a source is given twice; give each one once, one per model")
    judge_by = open_verifier(verifier)
    parts = [load_traces(source, data) for source in sources]
    whole = joined(parts)
    notes(whole.notes)
    pooled, failed = ablate_traces(whole.traces, whole.episodes, judge_by, pairs=pairs, seed=seed)
    models = []
    if len(parts) > 1:
        each = (ablate_traces(p.traces, p.episodes, judge_by, pairs=pairs, seed=seed)[0] for p in parts)
        models = across_models(list(each))
    problems = list(dict.fromkeys([*whole.problems, *failed]))
    show([ablation_table(pooled, models), *problem_tables(problems)], json=json, verifier=verifier)


def _printed(numbers: Mapping[str, Any]) -> str:
    """Numbers by name, in words: ``r pooled 0.83, VRS (GPT-4o 6.31)``."""
    return ", ".join(
        f"{name} ({_printed(value)})" if isinstance(value, Mapping) else f"{name} {value}"
        for name, value in numbers.items()
    )


@app.command("predict")
def predict(  # noqa: PLR0913, PLR0917 - one parameter per option
    runs: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="[RUN]…", help="Scored runs on both splits; runs of `trace relevance` may be among them."
        ),
    ] = None,
    table: Annotated[
        Path | None, typer.Option("--table", metavar="CSV", help="Your own table, with shares.")
    ] = None,
    paper: Annotated[bool, typer.Option("--paper", help="Use Tables 1 to 3 of the paper.")] = False,
    within: Annotated[
        float, typer.Option("--matched-within", min=0, help="Accuracies closer than this count as equal.")
    ] = 0.01,
    baselines: Annotated[
        Path | None,
        typer.Option(
            "--baselines",
            metavar="CSV",
            help="More predictors for the runs: columns model, benchmark, and any of attention, gradient …",
        ),
    ] = None,
    figures: o.Figures = None,
    seed: o.Seed = 0,
    json: o.AsJson = False,
) -> None:
    """Test whether grounding predicts robustness: correlations over models, with accuracy as a rival predictor."""
    from theodolite.instruments.trace.experiments import prediction_rows as source
    from theodolite.instruments.trace.experiments.paper import paper_rows, paper_tables
    from theodolite.instruments.trace.experiments.predict import predict_robustness, prediction_tables
    from theodolite.instruments.trace.figures import draw_prediction

    if sum((bool(runs), table is not None, paper)) != 1:
        raise UsageError("give scored runs, or --table, or --paper: exactly one of them")
    if baselines is not None and not runs:
        raise UsageError("--baselines needs runs; in a --table, predictors are columns")
    further: list[Table] = []
    if runs:
        rows, further = _rows_of(runs)
    else:
        rows = paper_rows() if table is None else source.read_model_rows(table)
    if baselines is not None:
        rows = source.add_predictors(rows, baselines)
    result = predict_robustness(rows, matched_within=within, seed=seed)
    if figures is not None:
        note_drawn(draw_prediction(rows, result, figures), figures)
    more = {"printed": paper_tables()["printed"]} if paper else {}
    show([*prediction_tables(result), *further, source.rows_table(rows)], json=json, **more)
    if paper and not json:
        note(f"{paper_tables()['source']}; the text prints: {_printed(paper_tables()['printed'])}")


def _rows_of(folders: list[Path]) -> tuple[list[ModelRow], list[Table]]:
    """Return the rows of runs, and the table of how the result depends on the conditions of measuring."""
    from theodolite.instruments.trace.experiments.prediction_rows import read_scored_run, rows_from_runs
    from theodolite.instruments.trace.experiments.robustness import robustness, robustness_table

    if len({folder.resolve() for folder in folders}) < len(folders):
        raise UsageError("a run is given twice; give each one once")
    rows, conditions, why = rows_from_runs([read_scored_run(folder) for folder in folders])
    for reason in why:
        note(reason)
    kept: dict[str, list[float]] = {}
    for row in rows:
        kept.setdefault(row.model, []).append(row.retention("ratio"))
    means = {model: sum(values) / len(values) for model, values in kept.items()}
    if not conditions:
        return rows, []
    return rows, [robustness_table(robustness(conditions[0], conditions[1:], means))]


@app.command("relevance")
def relevance(  # noqa: PLR0913, PLR0917 - one parameter per option
    data: o.Data,
    model: o.ModelName,
    folder: o.Out,
    seed: o.Seed = 0,
    limit: o.Limit = None,
    plan: o.PlanOnly = False,
    price: o.Price = "",
    engine: o.Engine = "local",
    workers: o.Workers = None,
    ray_address: o.RayAddress = None,
    json: o.AsJson = False,
) -> None:
    """Measure the share of attention and gradient on the frames, for white-box models. `predict` takes the run as well."""
    from theodolite.instruments.trace.data.dataset import read_episodes
    from theodolite.instruments.trace.experiments.relevance import INSTRUMENT, plan_relevance, relevance_table
    from theodolite.instruments.trace.measure import relevance_factory

    episodes = read_episodes(data).episodes
    note_unlearnt(model, episodes)
    items = list(plan_relevance(episodes))
    left_out = sum(episode.edit is None for episode in episodes) - len(items)
    if left_out:
        note(f"{left_out} episodes without pictures or options are left out")
    run_and_show(
        folder,
        RunSettings(INSTRUMENT, model, seed, {"data": str(data.absolute())}),
        items,
        relevance_factory(model),
        options=EngineOptions(engine, workers, ray_address),
        limit=limit,
        tables=lambda run: [relevance_table(run)],
        json=json,
        preview=Preview.of(plan, price),
    )


@app.command("recall")
def recall(
    data: o.Data,
    detector: Annotated[
        str, typer.Option("--detector", metavar="PATH", help="An ONNX file, or a Hugging Face checkpoint.")
    ],
    out: Annotated[Path, typer.Option("--out", metavar="FILE", help="Where to write the recall.")],
    threshold: Annotated[
        float, typer.Option("--threshold", min=0, max=1, help="The lowest score of a detection.")
    ] = 0.4,
    json: o.AsJson = False,
) -> None:
    """Measure the recall of a detector on annotated episodes. `not found` then refutes only objects it rarely misses."""
    from theodolite.instruments.trace.data.dataset import read_episodes
    from theodolite.instruments.trace.experiments.run_tables import problem_tables
    from theodolite.instruments.trace.verifiers.detection import open_detector
    from theodolite.instruments.trace.verifiers.recall import calibrate_recall, recall_table, write_recall

    episodes, opened = read_episodes(data), open_detector(detector)
    measured = calibrate_recall(opened, episodes.episodes, threshold=threshold)
    problems = problem_tables([*episodes.problems, *measured.problems])
    if not measured.classes:
        show(problems, json=False)
        raise UsageError(f"{data} has no readable picture with a box that the detector has a label for")
    try:
        write_recall(measured.classes, out, detector=detector, identity=opened.identity, threshold=threshold)
    except OSError as error:
        raise UsageError(f"cannot write {out}: {error.strerror}") from error
    shown = [recall_table(measured.classes, title=f"{detector} at {threshold:g}"), *problems]
    show(shown, json=json, detector=detector, threshold=threshold)
    note(f"use it as --verifier 'detector:{detector}?threshold={threshold:g}&recall={out}'")


@app.command("calibrate")
def calibrate(  # noqa: PLR0913, PLR0917 - one parameter per option
    pairs: Annotated[
        Path | None,
        typer.Argument(
            metavar="[PAIRS]", help='For τ: a JSONL file of {"first": …, "second": …, "same": true}.'
        ),
    ] = None,
    data: Annotated[
        list[Path] | None,
        typer.Option("--data", metavar="PATH", help="For CLIP: annotated episodes; may be repeated."),
    ] = None,
    model: Annotated[
        str,
        typer.Option(
            "--model", metavar="FOLDER", help="A CLIP checkpoint or hub id. Default: the shipped one."
        ),
    ] = "",
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            metavar="PATH",
            help="Where to write the bounds. Default: next to the checkpoint of --model.",
        ),
    ] = None,
    error: Annotated[
        float, typer.Option("--error", min=0, max=0.5, help="Maximum error rate of a bound.")
    ] = 0.02,
    sentence_model: SentenceModel = SENTENCE_MODEL,
    seed: o.Seed = 0,
    json: o.AsJson = False,
) -> None:
    """Calibrate τ of TCS on labelled pairs of beliefs, or the bounds of the CLIP verifier on annotated episodes.

    Without --model the shipped CLIP is measured, and nothing is written unless --out is given.
    """
    if (pairs is None) == (not data):
        raise UsageError("give a file of labelled pairs for τ, or --data with annotated episodes for a CLIP")
    if pairs is not None:
        from theodolite.instruments.trace.experiments.tau import calibrate_tau, read_pairs, tau_table

        show([tau_table(calibrate_tau(read_pairs(pairs), sentence_model=sentence_model))], json=json)
        return
    from theodolite.instruments.trace.data.dataset import read_episodes
    from theodolite.instruments.trace.experiments.run_tables import problem_tables
    from theodolite.instruments.trace.verifiers.similarity_calibration import (
        calibrate_checkpoint,
        calibration_table,
    )

    sets = [read_episodes(path) for path in data or []]
    result, target = calibrate_checkpoint(model, sets, out, error=error, seed=seed)
    title = f"{model or 'the shipped CLIP'}, against the annotations of {result.n_units} episodes"
    problems = problem_tables([problem for each in sets for problem in each.problems])
    show([calibration_table(result, title=title), *problems], json=json)
    if target is None:
        note("the shipped calibration is not changed; --out PATH writes this one")
    elif out is not None:
        note(f"use it as --verifier 'similarity:{model}?calibration={target}'")
