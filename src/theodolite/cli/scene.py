"""``theodolite scene``: compare answers to spatial questions with the 3D scene graph of the same model."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer
from rich.text import Text

from theodolite import __version__
from theodolite.cli import options as o
from theodolite.cli.console import err, note, notes, out, print_json
from theodolite.cli.making import whole_folder
from theodolite.cli.output import show
from theodolite.cli.running import Preview, named_runs, run_and_show
from theodolite.core.errors import UsageError
from theodolite.core.files import told_problems
from theodolite.core.registry import registry
from theodolite.core.tables import Column, Table

if TYPE_CHECKING:
    from theodolite.core.types import Item
    from theodolite.instruments.scene.data.files import SceneData
    from theodolite.instruments.scene.formulas.derived_qa import ScoreOptions
    from theodolite.instruments.scene.questions import Settings
    from theodolite.instruments.scene.score import SceneScore
    from theodolite.runs import Run

app = typer.Typer(
    no_args_is_help=True, help="Do answers agree with the 3D scene graph of the same model (CRISP)?"
)

_EXTRA = "groups, difficulty, readings, graph-parts, graph-problems, unsolved, cases, solver-curve"

Questions = Annotated[
    int | None,
    typer.Option("--questions", min=1, help="Keep N questions, balanced by group. Default: all."),
]
SettingNames = Annotated[
    str,
    typer.Option(
        "--settings",
        metavar="LIST",
        help="all (without noisy-graph, which asks every question once per noise level), or some of: base, blind, "
        "predicted-graph, true-graph, true-graph-alone, noisy-graph, graphs (graphs by the model, with and without the "
        "picture).",
    ),
]
ModeOption = Annotated[
    str, typer.Option("--mode", metavar="direct|chain-of-thought|thinking", help="How to answer.")
]
SolverOption = Annotated[
    str,
    typer.Option("--solver", metavar="fused|geometric|upstream", help="How answers are derived from graphs."),
]
MraOption = Annotated[
    str,
    typer.Option(
        "--mra", metavar="<|<=", help="The comparison in MRA: as in the paper, or as in its public code."
    ),
]


@app.command("make")
def make(  # noqa: PLR0913, PLR0917 - one parameter per option
    folder: o.NewFolder,
    indoor: Annotated[int, typer.Option("--indoor", min=0, help="Number of rooms.")] = 10,
    outdoor: Annotated[int, typer.Option("--outdoor", min=0, help="Number of streets.")] = 10,
    small: Annotated[
        int,
        typer.Option(
            "--small", min=0, help="Make only N small rooms, such as the pocket: twins have learnt."
        ),
    ] = 0,
    seed: o.Seed = 0,
    questions: Questions = None,
    render: Annotated[bool, typer.Option("--render/--no-render", help="Draw the pictures.")] = True,
    truth: Annotated[bool, typer.Option("--truth", help="Also write depth and instance maps.")] = False,
    figures: o.Figures = None,
    workers: o.Workers = None,
    json: o.AsJson = False,
) -> None:
    """Make scenes of rooms and streets, with questions and answers."""
    from theodolite.instruments.scene.data.files import read_data
    from theodolite.instruments.scene.data.make import MakeOptions, make_data

    if small:
        from theodolite.instruments.scene.data.small_rooms import scene_data

        if truth or questions is not None or not render:
            raise UsageError("--truth, --questions and --no-render do not apply to --small")
        _show_data(scene_data(folder, small, seed=seed), figures, json=json)
        return
    processes = workers or min(2, os.cpu_count() or 1)
    options = MakeOptions(indoor, outdoor, seed, questions, render, truth, processes)
    with err.status("making scenes") as status, whole_folder(folder) as place:
        make_data(
            place,
            options,
            version=__version__,
            progress=lambda stage, n: status.update(f"{stage}: {n} of {indoor + outdoor}"),
        )
    _show_data(read_data(folder), figures, json=json)


@app.command("build")
def build(  # noqa: PLR0913, PLR0917 - one parameter per option
    context: typer.Context,
    source: Annotated[
        str,
        typer.Option(
            "--source",
            metavar="NAME",
            help="nuscenes, scannetpp, kitti, sunrgbd, camera-boxes, a plug-in; or crisp, with its own questions.",
        ),
    ],
    root: Annotated[Path, typer.Option("--data", metavar="PATH", help="The files of the source.")],
    folder: o.NewFolder,
    size: Annotated[int | None, typer.Option("--size", min=1, help="Keep at most N scenes.")] = None,
    questions: Questions = None,
    least_visibility: Annotated[
        float,
        typer.Option(
            "--least-visibility", min=0, max=1, help="Minimum visible fraction of an object, in pixels."
        ),
    ] = 0.8,
    unknown_visibility: Annotated[
        str,
        typer.Option(
            "--unknown-visibility",
            metavar="estimate|keep|drop",
            help="How to treat objects of unknown visibility.",
        ),
    ] = "estimate",
    balance: Annotated[
        bool,
        typer.Option(
            "--balance/--no-balance", help="Keep sparse, common and dense scenes in the ratio 1 : 2 : 2."
        ),
    ] = True,
    seed: o.Seed = 0,
    figures: o.Figures = None,
    json: o.AsJson = False,
) -> None:
    """Build a data set from real scenes: filter objects, drop near-duplicates, mark the pictures, make questions.

    The source crisp is CRISP-Bench's published scenes with their own questions, as they are.
    """
    from theodolite.instruments.scene.data.build import BuildOptions, build_data
    from theodolite.instruments.scene.data.pipeline import KeepOptions

    if source == "crisp":
        _refuse_filters(context)
        _show_data(_published(folder, root, size, questions, seed), figures, json=json)
        return
    unknown = o.one_of(unknown_visibility, ("estimate", "keep", "drop"), "--unknown-visibility")
    keep = KeepOptions(least_visibility=least_visibility, unknown_visibility=cast("Any", unknown))
    options = BuildOptions(keep, most_scenes=size, is_balanced=balance, n_questions=questions, seed=seed)
    reader = _reader(source)
    with err.status("reading scenes") as status:
        data = build_data(
            folder,
            reader(root),
            options=options,
            made={"source": source, "root": root.name, "theodolite": __version__},
            progress=lambda n: status.update(f"pictures read: {n}"),
        )
    _show_data(data, figures, json=json)


def _reader(source: str) -> Callable[[Path], Iterable[Any]]:
    """Find a source of scenes by its name."""
    known = [each.name for each in registry().entries("source") if each.name.startswith("scene-")]
    o.one_of(source, (*(name.removeprefix("scene-") for name in known), "crisp"), "--source")
    return cast("Callable[[Path], Iterable[Any]]", registry().entry("source", f"scene-{source}").load())


def _refuse_filters(context: typer.Context) -> None:
    """Refuse options that filter scenes: those of CRISP-Bench are taken as published."""
    for name in ("least_visibility", "unknown_visibility", "balance"):
        if str(context.get_parameter_source(name)).endswith("COMMANDLINE"):
            option = name.replace("_", "-")
            raise UsageError(
                f"--{option} does not apply to --source crisp: its scenes are taken as published"
            )


def _published(folder: Path, root: Path, size: int | None, questions: int | None, seed: int) -> SceneData:
    """Build a data set from CRISP-Bench's published files."""
    from theodolite.instruments.scene.interop.crisp_build import build_crisp

    return build_crisp(folder, root, most_scenes=size, n_questions=questions, seed=seed, version=__version__)


def _show_data(data: SceneData, figures: Path | None, *, json: bool) -> None:
    """Show the content of a data set, and what was left out."""
    _draw_questions(data, figures)
    manifest = data.manifest
    counted = {**manifest.counts, "left out": manifest.left_out}
    tables = [
        Table.of(
            f"scene.{name.replace(' ', '_')}",
            name.capitalize(),
            [Column("what", name), Column("n", "n", "count")],
            [[key, cast("int", n)] for key, n in cast("dict[str, Any]", entries).items()],
            manifest.problems if name == "left out" else (),
        )
        for name, entries in counted.items()
    ]
    show(tables, json=json, folder=str(data.folder), manifest=asdict(manifest))
    if not json:
        note(f"wrote {manifest.n_scenes} scenes with {manifest.n_questions} questions to {data.folder}")


def _draw_questions(data: SceneData, figures: Path | None) -> None:
    if figures is not None:
        from theodolite.instruments.scene.figures.data import question_distribution

        drawing = question_distribution(data.questions, title="Questions")
        note(f"drew {drawing.save(figures / 'questions.png')}")


@app.command("run")
def run_command(  # noqa: PLR0913, PLR0917 - one parameter per option
    data: o.Data,
    model: o.ModelName = "",
    folder: Annotated[
        Path | None,
        typer.Option("--out", metavar="DIR", help="Where to write; an existing run is resumed."),
    ] = None,
    settings: SettingNames = "all",
    mode: ModeOption = "direct",
    budget: Annotated[int, typer.Option("--budget", min=1, help="Tokens for reasoning.")] = 1024,
    scene: Annotated[str, typer.Option("--scene", metavar="ID", help="Ask only about this scene.")] = "",
    seed: o.Seed = 0,
    limit: o.Limit = None,
    plan: o.PlanOnly = False,
    price: o.Price = "",
    prompts: Annotated[bool, typer.Option("--prompts", help="With --plan: print every prompt.")] = False,
    figures: Annotated[
        Path | None,
        typer.Option("--figures", metavar="DIR", help="With --plan: draw the distribution of questions."),
    ] = None,
    engine: o.Engine = "local",
    workers: o.Workers = None,
    ray_address: o.RayAddress = None,
    cache: o.Cache = None,
    json: o.AsJson = False,
) -> None:
    """Ask a model for graphs and answers, store them, and score. The same command resumes where it stopped."""
    from theodolite.instruments.scene.data.twin_rooms import unlearnt
    from theodolite.instruments.scene.instrument import SCENE
    from theodolite.instruments.scene.measure import next_items
    from theodolite.instruments.scene.questions import Mode, Settings
    from theodolite.models import ask_factory
    from theodolite.runs import EngineOptions, RunSettings

    chosen = Settings.parse(settings, Mode(cast("Any", mode.replace("-", " ")), budget))
    scenes = _only(_read(data), scene)
    notes(unlearnt(model, scenes.scenes))
    if plan:
        _draw_questions(scenes, figures)
    if prompts and plan:
        _show_prompts(scenes, chosen, seed, limit, json=json)
        return
    if not plan and (folder is None or not model):
        raise UsageError("--model and --out are needed, except with --plan")
    if not plan and (prompts or figures is not None):
        raise UsageError("--prompts and --figures need --plan; `theodolite scene score` draws the scores")
    asked = _asked(data, chosen, scene)
    if plan:
        chosen = _askable(scenes, chosen)
    run_and_show(
        folder or Path(),
        RunSettings("scene", model or "any model", seed, asked),
        partial(next_items, scenes, chosen, seed=seed),
        ask_factory(model) if model else None,
        options=EngineOptions(engine, workers, ray_address, cache),
        limit=limit,
        tables=SCENE.tables,
        json=json,
        preview=_preview(scenes, chosen, seed, price) if plan else None,
    )


def _read(folder: Path) -> SceneData:
    """Read a data set, and print a note about broken lines."""
    from theodolite.instruments.scene.data.files import read_data

    data = read_data(folder)
    notes(told_problems(data.problems))
    return data


def _asked(data: Path, chosen: Settings, scene: str) -> dict[str, Any]:
    """Collect the settings that a resumed run must share."""
    return {
        "data": str(data.absolute()),
        "settings": list(chosen.qa),
        "graphs": list(chosen.graph),
        "mode": chosen.mode.name,
        "budget": chosen.mode.budget_tokens,
        **({"scene": scene} if scene else {}),
    }


def _only(data: SceneData, scene: str) -> SceneData:
    """Select one scene, or return the whole data set."""
    if not scene:
        return data
    if scene not in data.scenes:
        known = ", ".join(list(data.scenes)[:5])
        raise UsageError(f"there is no scene {scene!r} in {data.folder}; it has {known} …")
    questions = tuple(question for question in data.questions if question.scene == scene)
    return replace(data, scenes={scene: data.scenes[scene]}, questions=questions)


def _preview(data: SceneData, chosen: Settings, seed: int, price: str) -> Preview | None:
    """What ``--plan`` shows: also, how many scenes each signature needs."""
    from theodolite.instruments.scene.experiments.needs import needs_table

    asked = {*chosen.qa, *(("graphs",) if chosen.graph else ())}
    more = len(data.questions) if "predicted graph" in chosen.qa else 0
    if more:
        note(f"{more} questions with the predicted graph are counted; fewer may be asked")
    needed = needs_table(data.questions, asked, seed=seed)
    return Preview.of(plan=True, price=price, more=more, tables=[needed])


def _askable(data: SceneData, chosen: Settings) -> Settings:
    """The settings that need no picture, if there are none."""
    from theodolite.instruments.scene.questions import WITHOUT_PICTURE, Settings

    if all(scene.marked for scene in data.scenes.values()):
        return chosen
    note("this data set has no pictures: only settings without a picture are planned")
    blind = cast("Any", tuple(s for s in chosen.qa if s in WITHOUT_PICTURE))
    return Settings(qa=blind or ("blind",), graph=("blind",), mode=chosen.mode)


def _show_prompts(data: SceneData, chosen: Settings, seed: int, limit: int | None, *, json: bool) -> None:
    """Print every prompt, but for questions that need graphs by the model."""
    from theodolite.instruments.scene.questions import plan_run

    if "predicted graph" in chosen.qa:
        note("not shown: questions with the predicted graph, which the model has not given yet")
    items = list(plan_run(data, _askable(data, chosen), seed=seed))[:limit]
    if json:
        print_json({"items": [_shown(item) for item in items]})
        return
    for item in items:
        shown = _shown(item)
        gold = f"; gold: {shown['gold']}" if item.meta["task"] == "qa" else ""
        out.print(Text(f"{shown['name']}  ({shown['picture']}{gold})", style="bold"), soft_wrap=True)
        out.print(Text(shown["prompt"]), soft_wrap=True)
        out.print()


def _shown(item: Item) -> dict[str, str]:
    paths = [str(picture.path) for picture in item.request.pictures]
    return {
        "name": item.name,
        "picture": paths[0] if paths else "no picture",
        "prompt": item.request.text,
        "gold": str(item.request.hint["gold"]),
    }


@app.command("score")
def score(  # noqa: PLR0913, PLR0917 - one parameter per option
    runs: o.RunFolders,
    solver: SolverOption = "fused",
    mra: MraOption = "<",
    mode: Annotated[
        str | None, typer.Option("--mode", help="The mode of answering, if the run has several.")
    ] = None,
    seed: o.Seed = 0,
    tables: Annotated[
        str, typer.Option("--tables", metavar="LIST", help=f"More tables: {_EXTRA}, or all.")
    ] = "",
    figures: o.Figures = None,
    beside: o.Beside = None,
    json: o.AsJson = False,
) -> None:
    """Score a run from its stored answers: Tables 1 and 2, confusion matrix, interventions, signatures.

    With several runs on the same questions: one table of all models, with paired differences from the first.
    """
    from theodolite.instruments.scene.experiments.compare import check_alike, compare_tables
    from theodolite.instruments.scene.score import score_run
    from theodolite.instruments.scene.tables import EXTRA_TABLES, score_tables
    from theodolite.runs import Run

    options = _options(solver, mra, seed)
    extra = o.some_of(tables, EXTRA_TABLES, "--tables")
    mode = mode.replace("-", " ") if mode is not None else None
    if beside and figures is None:
        raise UsageError("--beside adds other runs to the figures: also give a folder with --figures")
    scores: dict[str, SceneScore] = {}
    for key, folder in named_runs([*runs, *(beside or ())]):
        with Run.open(folder, writable=folder == runs[0]) as opened:
            if opened.info.instrument != "scene":
                raise UsageError(f"{folder} is a run of {opened.info.instrument}, not of scene")
            scores[key] = score_run(opened, options, mode=mode)
            if folder == runs[0]:
                found = score_tables(scores[key], extra)
                opened.write_tables(found)
    check_alike(scores)
    if len(runs) > 1:
        found = compare_tables(dict(list(scores.items())[: len(runs)]))
    if figures is not None:
        with Run.open(runs[0]) as opened:
            _draw(opened, scores, figures)
    shown = next(iter(scores))
    show(found, json=json, run=str(runs[0]), instrument="scene", model=shown)


def _draw(run: Run, scores: dict[str, SceneScore], figures: Path) -> None:
    from theodolite.instruments.scene.data.files import read_data
    from theodolite.instruments.scene.figures.maps import draw_cases
    from theodolite.instruments.scene.figures.scores import draw_scores

    drawn = draw_scores(scores, figures)
    place = run.info.settings.get("data")
    try:
        data = read_data(place) if place else None
    except UsageError:
        data = None
    if data is None:
        note("no maps are drawn: the data set of the run was not found")
    else:
        drawn += draw_cases(next(iter(scores.values())), data, figures)
    note(f"drew {len(drawn)} figures into {figures}")


@app.command("solver")
def solver(
    data: Annotated[Path, typer.Argument(metavar="DATA", help="A data set of scenes.")],
    mra: MraOption = "<",
    seed: o.Seed = 0,
    figures: o.Figures = None,
    json: o.AsJson = False,
) -> None:
    """Answer every question from true graphs and from noisy ones, with each solver: the most that derived QA can reach."""
    from theodolite.instruments.scene.experiments.ceiling import ceiling_tables, solver_ceilings
    from theodolite.instruments.scene.experiments.curves import curve_tables, solver_curves

    found = _read(data)
    if not found.questions:
        raise UsageError(f"{data} has no questions")
    how = _options("fused", mra, seed).comparison
    ceilings = solver_ceilings(found.scenes, found.questions, comparison=how)
    stars = {scene.id: scene.star() for scene in found.scenes.values()}
    with err.status("answering from noisy graphs"):
        curves = solver_curves(stars, found.questions, comparison=how, seed=seed)
    if figures is not None:
        from theodolite.instruments.scene.figures.curves import solver_figure

        drawing = solver_figure(curves, title="Answers from imperfect graphs, by solver")
        note(f"drew {drawing.save(figures / 'solver.png')}")
    show([*ceiling_tables(ceilings), *curve_tables(curves)], json=json, data=str(data))


def _options(solver: str, mra: str, seed: int) -> ScoreOptions:
    from theodolite.instruments.scene.formulas.derived_qa import ScoreOptions

    return ScoreOptions(
        cast("Any", o.one_of(solver, ("fused", "geometric", "upstream"), "--solver")),
        cast("Any", o.one_of(mra, ("<", "<="), "--mra")),
        seed,
    )
