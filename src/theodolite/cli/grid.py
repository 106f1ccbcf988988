"""``theodolite grid``: make scenes with known explanations, measure answers and explanations, and score them."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from theodolite.cli import options as o
from theodolite.cli.console import note, print_json
from theodolite.cli.making import whole_folder
from theodolite.cli.output import show
from theodolite.cli.running import (
    Preview,
    exit_if_failed,
    measure_with_bar,
    preview_cost,
    run_and_show,
    run_folders,
    show_costs,
)
from theodolite.core.errors import UsageError
from theodolite.instruments.grid.instrument import GRID
from theodolite.runs import EngineOptions, Run, RunSettings

if TYPE_CHECKING:
    from theodolite.instruments.grid.explainers.conventions import Convention

app = typer.Typer(
    no_args_is_help=True,
    help="Do explainers distinguish spatial reasoning from a shortcut, where the truth is known?",
)

BROKEN = 1
"""Exit status of an audit with a failed check."""
_PID = ("convex", "gaussian", "batch")

Preset = Annotated[
    str,
    typer.Option(
        "--preset",
        metavar="paper|sound|released",
        help="As the paper says, without learnable shortcuts, or as the public generator does.",
    ),
]
Mode = Annotated[
    str,
    typer.Option(
        "--mode",
        metavar="pure|spur",
        help="With look-alikes that mislead shortcuts (pure), or without (spur).",
    ),
]
Size = Annotated[int, typer.Option("--size", min=1, help="Number of scenes per bucket and density.")]
SplitName = Annotated[
    str | None,
    typer.Option("--split", metavar="train|validation|test", help="Only scenes of this split. Default: all."),
]
Densities = Annotated[
    str,
    typer.Option(
        "--density", metavar="LIST", help="sparse, dense, numbers of objects, or fractions such as 0.5."
    ),
]
Buckets = Annotated[
    str,
    typer.Option(
        "--buckets", metavar="LIST", help="Only these buckets, such as M-F0-D2,M-F1-D2. Default: all."
    ),
]
Margin = Annotated[
    int | None, typer.Option("--margin", help="Minimum distance of targets from their anchors, in cells.")
]


@app.command("make")
def make_command(  # noqa: PLR0913, PLR0917 - one parameter per option
    folder: o.NewFolder,
    mode: Mode = "pure",
    preset: Preset = "paper",
    size: Size = 50,
    seed: o.Seed = 0,
    split: SplitName = None,
    densities: Densities = "sparse,dense",
    buckets: Buckets = "",
    rows: Annotated[int, typer.Option("--rows", help="Rows of the grid.")] = 5,
    columns: Annotated[int, typer.Option("--columns", help="Columns of the grid.")] = 5,
    cell_px: Annotated[int, typer.Option("--cell-px", help="Side of a cell in pixels.")] = 64,
    boost: Annotated[
        float | None,
        typer.Option("--boost", help="Algorithm 2: probability that the target is the most frequent kind."),
    ] = None,
    overload: Annotated[
        float | None,
        typer.Option("--overload", help="Algorithm 3: probability that a further object is a look-alike."),
    ] = None,
    margin: Margin = None,
    max_answer: Annotated[
        int | None, typer.Option("--max-answer", help="Largest count in an answer, at every depth.")
    ] = None,
    pictures: Annotated[bool, typer.Option("--pictures/--no-pictures", help="Draw the scenes.")] = True,
    json: o.AsJson = False,
) -> None:
    """Make a data set: pictures, JSONL, Parquet and phrase grounding."""
    from dataclasses import replace

    from theodolite.instruments.grid.data.dataset import DatasetPlan, make_dataset
    from theodolite.instruments.grid.data.files import write_dataset
    from theodolite.instruments.grid.data.promise import promise_table
    from theodolite.instruments.grid.data.recipe import find_recipe
    from theodolite.instruments.grid.data.world import BUCKET_KEYS, World

    chosen = {"boost": boost, "overload": overload, "margin": margin, "max_answer": max_answer}
    given = cast("Any", {name: value for name, value in chosen.items() if value is not None})
    recipe = replace(find_recipe(preset), world=World(rows, columns, cell_px), **given)
    wanted = tuple(_density(word) for word in o.listed(densities))
    if not wanted:
        raise UsageError("--density needs at least one density, such as sparse")
    most = max(recipe.world.max_count, *map(recipe.objects, wanted))
    recipe = replace(recipe, world=replace(recipe.world, max_count=most))
    keys = tuple(o.listed(buckets)) or BUCKET_KEYS
    plan = DatasetPlan(cast("Any", mode), size, seed, recipe, wanted, keys, cast("Any", split))
    with whole_folder(folder) as place:
        data = make_dataset(plan)
        write_dataset(data, place, pictures=pictures)
    show([promise_table(plan)], json=json, folder=str(folder), scenes=len(data))
    if not json:
        note(f"wrote {len(data)} {mode} scenes to {folder}")


@app.command("import")
def import_command(
    source: Annotated[
        Path, typer.Argument(metavar="DIR", help="The published data: qa_*.jsonl, grounding_*.jsonl, images.")
    ],
    folder: o.NewFolder,
    mode: Annotated[
        str | None,
        typer.Option(
            "--mode",
            metavar="pure|spur",
            help="Which of the two data sets. Default: spur if a bag of words is always right.",
        ),
    ] = None,
    redraw: Annotated[
        bool,
        typer.Option(
            "--redraw", help="Draw the scenes as `grid make` does, which the grid: models were trained on."
        ),
    ] = False,
    json: o.AsJson = False,
) -> None:
    """Import GridVQA-X as published: wording, pictures and answers stay, all else is computed from the pictures."""
    from theodolite.core.files import told_problems
    from theodolite.instruments.grid.data.files import write_dataset
    from theodolite.instruments.grid.data.imported import import_published

    wanted = o.one_of(mode, ("pure", "spur"), "--mode") if mode is not None else None
    found = import_published(source, mode=cast("Any", wanted))
    with whole_folder(folder) as place:
        write_dataset(
            found.data, place, drawn=None if redraw else (picture.read() for picture in found.pictures)
        )
    told = told_problems(found.problems)
    if json:
        print_json({"folder": str(folder), "scenes": len(found.data), "problems": list(told)})
        return
    for line in told:
        note(line)
    note(f"wrote {len(found.data)} {found.data.plan.mode} scenes to {folder}")


def _density(word: str) -> Any:
    if word in {"sparse", "dense"}:
        return word
    try:
        return int(word) if word.isdigit() else float(word)
    except ValueError:
        raise UsageError(
            f"a density is sparse, dense, a number of objects or a fraction, not {word!r}"
        ) from None


@app.command("audit")
def audit_command(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="A data set from `grid make`.")],
    other: Annotated[
        Path | None,
        typer.Argument(
            metavar="[OTHER]",
            help="A second data set: answers must agree, and no scene may be in two splits.",
        ),
    ] = None,
    permutations: Annotated[
        int, typer.Option("--permutations", min=1, help="Number of permutations for each mutual information.")
    ] = 199,
    pictures: Annotated[
        int, typer.Option("--pictures", min=0, help="Number of pictures to compare with their scenes.")
    ] = 200,
    tables: Annotated[
        str, typer.Option("--tables", metavar="LIST", help="More tables: clues (every learned shortcut).")
    ] = "",
    seed: o.Seed = 0,
    json: o.AsJson = False,
) -> None:
    """Recompute every label, test every shortcut and learn new ones. Exits with status 1 if a check or a promise fails."""
    from theodolite.instruments.grid.data.audit import (
        audit,
        audit_tables,
        compare_datasets,
        comparison_table,
    )
    from theodolite.instruments.grid.data.files import read_dataset

    stored = [read_dataset(each) for each in (folder, other) if each is not None]
    found = [audit(each, n_permutations=permutations, most_pictures=pictures, seed=seed) for each in stored]
    compared = compare_datasets(*stored, seed=seed) if other is not None else None
    made = audit_tables(found, clues=bool(o.some_of(tables, ("clues",), "--tables")))
    made += [comparison_table(compared)] if compared else []
    is_kept = all(each.is_kept for each in found) and (compared is None or compared.is_kept)
    show(made, json=json, is_kept=is_kept)
    if not is_kept:
        raise typer.Exit(BROKEN)


@app.command("figures")
def figures_command(
    folder: o.Folder,
    preset: Preset = "paper",
    seed: o.Seed = 0,
    kind: Annotated[
        str, typer.Option("--format", metavar="png|svg|pdf", help="The format of the figures.")
    ] = "png",
    json: o.AsJson = False,
) -> None:
    """Draw figures of the data: taxonomy, generation, answers, samples (Figures 2, 3 and 7 to 11)."""
    from theodolite.instruments.grid.figures.data import data_figures

    drawings = data_figures(preset, seed=seed)
    paths = [drawing.save(folder / f"{name}.{kind}") for name, drawing in drawings.items()]
    if json:
        print_json({"figures": [str(path) for path in paths]})
    else:
        note(f"wrote {len(paths)} figures to {folder}")


Models = Annotated[
    list[str],
    typer.Option(
        "--model",
        metavar="MODEL",
        help="The model. Give it several times to compare models on the same scenes.",
    ),
]


@app.command("accuracy")
def accuracy_command(  # noqa: PLR0913, PLR0917 - one parameter per option
    models: Models,
    data: o.Data,
    folder: o.Out,
    answer: o.Answer = "write",
    max_tokens: o.MaxTokens = 16,
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
    """Ask models about every scene: accuracy by bucket, and agreement with a bag of words (Tables 3 and 4).

    With several models, each has a run of its own in --out, and paired tests compare them.
    """
    from theodolite.instruments.grid.data.files import read_dataset
    from theodolite.instruments.grid.experiments.model_tables import model_tables
    from theodolite.instruments.grid.questions import PLAIN_RUN, plan_accuracy
    from theodolite.models import Answering, ask_factory

    answering = cast("Answering", o.one_of(answer, ("write", "choose"), "--answer"))
    items = list(plan_accuracy(read_dataset(data), max_tokens=max_tokens))
    settings = {"data": str(data.absolute()), "answer": answering, "max_tokens": max_tokens}
    options = EngineOptions(engine, workers, ray_address, cache)
    folders = run_folders(folder, models)
    runs = [
        (place, RunSettings(PLAIN_RUN, model, seed, settings), ask_factory(model, answering))
        for model, place in folders.items()
    ]
    preview = Preview.of(plan, price)
    if preview is not None:
        costs = {
            chosen.model: {
                PLAIN_RUN: preview_cost(chosen, items, source, options=options, limit=limit, preview=preview)
            }
            for _, chosen, source in runs
        }
        show_costs(costs, preview.price, json=json)
        return
    if len(runs) == 1:
        place, chosen, source = runs[0]
        run_and_show(
            place, chosen, items, source, options=options, limit=limit, tables=GRID.tables, json=json
        )
        return
    tallies = {
        place: measure_with_bar(place, chosen, items, source, options=options, limit=limit)
        for place, chosen, source in runs
    }
    with ExitStack() as stack:
        opened = [stack.enter_context(Run.open(place, writable=True)) for place in tallies]
        found = [table for run in opened for table in GRID.tables(run)] + model_tables(opened)
    show(found, json=json, runs=[str(place) for place in tallies], instrument=PLAIN_RUN)
    for place, tally in tallies.items():
        exit_if_failed(tally, place)


Explainers = Annotated[
    str,
    typer.Option(
        "--explainers", metavar="LIST", help="Names, or all, local, global; see `theodolite list explainers`."
    ),
]
Budget = Annotated[
    int, typer.Option("--budget", min=8, help="Model calls per scene, for all explainers together.")
]
ExplainedSize = Annotated[
    int | None, typer.Option("--size", min=1, help="Number of scenes per bucket and density. Default: all.")
]
ExplainedDensities = Annotated[
    str,
    typer.Option(
        "--density", metavar="LIST", help="Only these densities, as named in the data. Default: all."
    ),
]
PoolSize = Annotated[int, typer.Option("--pool", min=2, help="Maximum number of scenes in a cross matrix.")]
Output = Annotated[
    str, typer.Option("--output", metavar="answer|log-odds|expected", help="The output that is explained.")
]
CellFill = Annotated[
    str, typer.Option("--fill", metavar="white|grey|black", help="What replaces hidden cells.")
]
WordHiding = Annotated[str, typer.Option("--words", metavar="mask|delete", help="How words are hidden.")]
Players = Annotated[str, typer.Option("--players", metavar="objects|all", help="Which cells are players.")]


@app.command("explain")
def explain_command(  # noqa: PLR0913, PLR0917 - one parameter per option
    data: o.Data,
    model: o.ModelName,
    folder: o.Out,
    explainers: Explainers = "all",
    budget: Budget = 2000,
    size: ExplainedSize = None,
    buckets: Buckets = "",
    density: ExplainedDensities = "",
    pool: PoolSize = 32,
    output: Output = "expected",
    fill: CellFill = "white",
    hiding: WordHiding = "mask",
    players: Players = "objects",
    device: o.Device = "cpu",
    seed: o.Seed = 0,
    limit: o.Limit = None,
    plan: o.PlanOnly = False,
    price: o.Price = "",
    engine: o.Engine = "local",
    workers: o.Workers = None,
    ray_address: o.RayAddress = None,
    json: o.AsJson = False,
) -> None:
    """Explain a model's answers with every explainer, and score the maps. The same command resumes."""
    from theodolite.instruments.grid.explainers.find import find_explainers
    from theodolite.instruments.grid.measure import explain_factory
    from theodolite.instruments.grid.questions import EXPLAIN_RUN, ExplainPlan, plan_explanations

    wanted = ExplainPlan(
        str(data.absolute()),
        tuple(each.name for each in find_explainers(o.listed(explainers))),
        budget,
        pool,
        size,
        _convention(fill, hiding, output, players),
        seed,
        buckets=tuple(o.listed(buckets)),
        densities=tuple(o.listed(density)),
    )
    items = list(plan_explanations(wanted))
    run_and_show(
        folder,
        RunSettings(EXPLAIN_RUN, model, seed, wanted.as_json()),
        items,
        explain_factory(model, wanted, device=device),
        options=EngineOptions(engine, workers, ray_address),
        limit=limit,
        tables=GRID.tables,
        json=json,
        preview=Preview.of(plan, price, calls=budget),
    )


def _convention(fill: Any, hiding: Any, output: Any, players: Any) -> Convention:
    from theodolite.instruments.grid.explainers.conventions import Convention
    from theodolite.instruments.grid.explainers.game import PlayerSet

    return Convention(fill, hiding, output, players=PlayerSet(players))


@app.command("score")
def score_command(
    runs: o.RunFolders,
    figures: o.Figures = None,
    tables: Annotated[
        str,
        typer.Option(
            "--tables",
            metavar="LIST",
            help="More tables: measures (all means of explained runs by bucket, answer, correctness and form).",
        ),
    ] = "",
    pid: Annotated[
        str, typer.Option("--pid", metavar="LIST", help=f"Estimators of PID: some of {', '.join(_PID)}.")
    ] = "convex,gaussian",
    seed: o.Seed = 0,
    json: o.AsJson = False,
) -> None:
    """Score stored runs. No model is called. Explained runs are scored together: pure, spurious, cross."""
    from theodolite.instruments.grid.experiments.explained import read_explained
    from theodolite.instruments.grid.experiments.model_tables import model_tables
    from theodolite.instruments.grid.questions import EXPLAIN_RUN, PLAIN_RUN
    from theodolite.instruments.grid.score import TABLE_NAMES, explain_tables, score_explanations

    if len({path.resolve() for path in runs}) < len(runs):
        raise UsageError("a run is named twice; give each once")
    chosen = TABLE_NAMES if o.some_of(tables, ("measures",), "--tables") else ()
    estimators = o.some_of(pid, _PID, "--pid")
    with ExitStack() as stack:
        opened = [stack.enter_context(Run.open(path, writable=True)) for path in runs]
        explained = [run for run in opened if run.info.instrument == EXPLAIN_RUN]
        plain = [run for run in opened if run.info.instrument == PLAIN_RUN]
        found = []
        for run in opened:
            if run not in explained:
                made = GRID.tables(run)
                run.write_tables(made)
                found += made
        found += model_tables(plain)
        if explained:
            read = [read_explained(run) for run in explained]
            score = score_explanations(read, pid=estimators, seed=seed)
            made = explain_tables(score, chosen, seed=seed)
            explained[0].write_tables(made)
            found += made
            if figures is not None:
                from theodolite.instruments.grid.figures.maps import explainer_figures

                drawings = explainer_figures(list(zip(explained, read, strict=True)), score)
                for name, drawing in drawings.items():
                    drawing.save(figures / f"{name}.png")
                note(f"wrote {len(drawings)} figures to {figures}")
    show(found, json=json, runs=[str(path) for path in runs], instrument="grid")
