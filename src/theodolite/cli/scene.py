"""``theodolite scene``: 3D scene graphs, spatial questions, and whether they agree. Data and measuring; scores stand apart."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Annotated, cast

import typer
from rich.text import Text

from theodolite import __version__
from theodolite.cli import options as o
from theodolite.cli import scene_export as _scene_export
from theodolite.cli import scene_score as _scene_score
from theodolite.cli.console import err, note, out, print_json
from theodolite.cli.measuring import Asked, HowToMeasure, exit_if_failed, measure_plan
from theodolite.cli.output import print_table
from theodolite.core.errors import UsageError
from theodolite.core.registry import registry
from theodolite.core.types import Item
from theodolite.instruments.scene.data.build_data import BuildOptions, build_data
from theodolite.instruments.scene.data.files import SceneData, read_data
from theodolite.instruments.scene.data.make_data import MakeOptions, make_data
from theodolite.instruments.scene.data.pipeline import KeepOptions, Unknown
from theodolite.instruments.scene.data.sources.views import SourceView
from theodolite.instruments.scene.figures.data import question_distribution
from theodolite.instruments.scene.plan_rounds import run_items
from theodolite.instruments.scene.questions import Settings
from theodolite.instruments.scene.settings import QA_SETTINGS, THINKING_BUDGET, Mode, ModeName
from theodolite.models import ask_factory
from theodolite.runs import Run

app = typer.Typer(no_args_is_help=True, help="Do answers agree with the model's own 3D scene graph (CRISP)?")
app.command("export")(_scene_export.export)
app.command("score")(_scene_score.score)
app.command("solver")(_scene_score.solver)

DataFolder = Annotated[Path, typer.Argument(metavar="DIR", help="A data set of scenes.")]
SettingNames = Annotated[
    str,
    typer.Option(
        "--settings",
        metavar="LIST",
        help="all (without noisy-graph, which asks every question once for each level of noise), or some of: base, blind, "
        "predicted-graph, true-graph, true-graph-alone, noisy-graph, graphs (the model's own graphs, with and without the "
        "picture).",
    ),
]
ModeOption = Annotated[
    str, typer.Option("--mode", metavar="direct|chain-of-thought|thinking", help="How to answer.")
]
Budget = Annotated[int, typer.Option("--budget", min=1, help="Tokens that reasoning may cost.")]


@app.command("make")
def make(  # noqa: PLR0913, PLR0917 - one parameter per option
    folder: _scene_export.NewFolder,
    indoor: Annotated[int, typer.Option("--indoor", min=0, help="How many rooms.")] = 10,
    outdoor: Annotated[int, typer.Option("--outdoor", min=0, help="How many streets.")] = 10,
    seed: o.Seed = 0,
    questions: Annotated[
        int | None,
        typer.Option("--questions", min=1, help="Keep so many questions, evenly; all if not given."),
    ] = None,
    render: Annotated[
        bool, typer.Option("--render/--no-render", help="Whether to draw the pictures.")
    ] = True,
    truth: Annotated[
        bool, typer.Option("--truth", help="Write depth and instance maps beside the pictures.")
    ] = False,
    workers: o.Workers = None,
    json: o.AsJson = False,
) -> None:
    """Make scenes of rooms and streets, with questions whose answers are known."""
    processes = workers or min(2, os.cpu_count() or 1)
    options = MakeOptions(indoor, outdoor, seed, questions, render, truth, processes)
    with err.status("making scenes") as status:
        data = make_data(
            folder,
            options,
            version=__version__,
            progress=lambda stage, n: status.update(f"{stage}: {n} of {indoor + outdoor}"),
        )
    _show_data(data, json=json)


@app.command("build")
def build(  # noqa: PLR0913, PLR0917 - one parameter per option
    root: Annotated[Path, typer.Option("--root", metavar="PATH", help="Where the source lies.")],
    folder: _scene_export.NewFolder,
    source: Annotated[
        str,
        typer.Option(
            "--source",
            metavar="NAME",
            help="nuscenes, scannetpp, kitti, sunrgbd, camera-boxes, or a plug-in's.",
        ),
    ],
    most: Annotated[int | None, typer.Option("--most", min=1, help="Keep at most so many scenes.")] = None,
    questions: Annotated[
        int | None, typer.Option("--questions", min=1, help="Keep so many questions, evenly.")
    ] = None,
    least_visibility: Annotated[
        float,
        typer.Option("--least-visibility", min=0, max=1, help="Of an object, as a share of its pixels."),
    ] = KeepOptions().least_visibility,
    unknown_visibility: Annotated[
        str,
        typer.Option(
            "--unknown-visibility", metavar="estimate|keep|drop", help="What to do where it is not known."
        ),
    ] = "estimate",
    balance: Annotated[
        bool,
        typer.Option("--balance/--no-balance", help="Keep sparse, common and dense scenes as 1 : 2 : 2."),
    ] = True,
    seed: o.Seed = 0,
    json: o.AsJson = False,
) -> None:
    """Build a data set from real scenes: filter the objects, drop near-duplicates, mark the pictures, ask questions."""
    if unknown_visibility not in {"estimate", "keep", "drop"}:
        raise UsageError(f"--unknown-visibility takes estimate, keep or drop, not {unknown_visibility!r}")
    keep = replace(
        KeepOptions(),
        least_visibility=least_visibility,
        unknown_visibility=cast("Unknown", unknown_visibility),
    )
    options = BuildOptions(keep, most_scenes=most, is_balanced=balance, n_questions=questions, seed=seed)
    reader = cast(
        "Callable[[Path], Iterable[SourceView]]", registry().entry("source", f"scene-{source}").load()
    )
    made = {"source": source, "root": root.name, "theodolite": __version__}
    with err.status("reading scenes") as status:
        data = build_data(
            folder,
            reader(root),
            options=options,
            made=made,
            progress=lambda n: status.update(f"pictures read: {n}"),
        )
    _show_data(data, json=json)


def _show_data(data: SceneData, *, json: bool) -> None:
    """What a data set holds and what was left out."""
    if json:
        print_json({"folder": str(data.folder), **data.manifest.model_dump()})
        return
    for name, counted in data.manifest.counts.items():
        rows = [[key, str(n)] for key, n in counted.items()] if isinstance(counted, dict) else []
        print_table([name, "n"], rows)
    print_table(["left out", "n"], [[key, str(n)] for key, n in data.manifest.left_out.items()])
    note(f"wrote {data.manifest.n_scenes} scenes with {data.manifest.n_questions} questions to {data.folder}")


@app.command("ask")
def ask(  # noqa: PLR0913, PLR0917 - one parameter per option
    folder: DataFolder,
    scene: Annotated[str, typer.Option("--scene", metavar="ID", help="Only this scene.")] = "",
    settings: SettingNames = "base",
    mode: ModeOption = "direct",
    budget: Budget = THINKING_BUDGET,
    limit: Annotated[int, typer.Option("--limit", min=1, help="Show so many.")] = 10,
    prompts: Annotated[
        bool, typer.Option("--prompts", help="Show the whole text that a model gets.")
    ] = False,
    figure: Annotated[
        Path | None,
        typer.Option("--figure", metavar="FILE", help="Draw what the questions ask (PNG, SVG, PDF)."),
    ] = None,
    json: o.AsJson = False,
) -> None:
    """Show the questions of a data set, and what a model is told. No model is called."""
    data = _only(read_data(folder), scene=scene)
    chosen = _settings(settings, mode, budget)
    if figure is not None:
        note(f"drew {question_distribution(data.questions, title='What is asked').save(figure)}")
    if prompts or json:
        items = [item for item, _ in zip(_first_items(data, chosen), range(limit), strict=False)]
        shown = [
            {
                "name": i.name,
                "picture": _pictures(i),
                "prompt": i.request.text,
                "gold": i.request.hint["gold"],
            }
            for i in items
        ]
        if json:
            print_json({"items": shown})
            return
        for item, row in zip(items, shown, strict=True):
            gold = f"; gold: {row['gold']}" if item.meta["task"] == "qa" else ""
            out.print(Text(f"{row['name']}  ({row['picture']}{gold})", style="bold"), soft_wrap=True)
            out.print(Text(str(row["prompt"])), soft_wrap=True)
            out.print()
        return
    print_table(
        ["question", "group", "difficulty", "text", "options", "gold"],
        [
            [
                q.id,
                " ".join(q.group),
                q.difficulty,
                q.text,
                " / ".join(option.text for option in q.options),
                q.gold,
            ]
            for q in data.questions[:limit]
        ],
    )
    note(
        f"{min(limit, len(data.questions))} of {len(data.questions)} questions; --prompts shows what a model is told"
    )


def _pictures(item: Item) -> str:
    paths = [str(picture.path) for picture in item.request.pictures]
    return paths[0] if paths else "no picture"


def _first_items(data: SceneData, chosen: Settings) -> Iterator[Item]:
    """What can be shown without a model: all but the questions that need its graphs; those with noisy graphs last."""
    if "predicted graph" in chosen.qa:
        note("questions with the model's own graph are not shown: no model has given one yet")
    has_pictures = all(scene.marked for scene in data.scenes.values())
    if not has_pictures:
        note("this data set has no pictures: only what is asked without one is shown")
        blind = tuple(s for s in chosen.qa if s in {"blind", "true graph alone"})
        chosen = Settings(qa=blind or ("blind",), graph=("blind",), mode=chosen.mode)
    return run_items(data, chosen, ())


@app.command("run")
def run_command(  # noqa: PLR0913, PLR0917 - one parameter per option
    data: o.Data,
    model: o.ModelName,
    folder: o.Out,
    settings: SettingNames = "all",
    mode: ModeOption = "direct",
    budget: Budget = THINKING_BUDGET,
    seed: o.Seed = 0,
    limit: Annotated[
        int | None, typer.Option("--limit", min=1, help="Ask about the first so many scenes only.")
    ] = None,
    engine: o.Engine = "local",
    workers: o.Workers = None,
    ray_address: o.RayAddress = None,
    cache: o.Cache = None,
    json: o.AsJson = False,
) -> None:
    """Ask a model for graphs and answers, and store them. The same command goes on where it stopped."""
    chosen = _settings(settings, mode, budget)
    scenes = _only(read_data(data), limit=limit)
    asked = {
        "data": str(data.absolute()),
        "settings": list(chosen.qa),
        "graphs": list(chosen.graph),
        "mode": chosen.mode.name,
        "budget": chosen.mode.budget_tokens,
    }

    def items(run: Run) -> Iterator[Item]:
        measured = ((result.item, result.record) for result in run.results())
        return run_items(scenes, chosen, measured, seed=seed)

    tally = measure_plan(
        folder,
        Asked("scene", model, seed, asked),
        items,
        ask_factory(model),
        HowToMeasure(engine, workers, ray_address, cache, None),
    )
    counts = {
        "planned": tally.planned,
        "answered": tally.answered,
        "refused": tally.refused,
        "failed": tally.failed,
    }
    if json:
        print_json({"run": str(folder), **counts})
    else:
        print_table(list(counts), [[str(n) for n in counts.values()]], title=f"scene {model}")
        note(f"`theodolite scene score {folder}` tells what it means")
    exit_if_failed(tally, folder)


def _only(data: SceneData, *, scene: str = "", limit: int | None = None) -> SceneData:
    """A part of a data set: one scene, or the first so many."""
    if scene and scene not in data.scenes:
        raise UsageError(
            f"there is no scene {scene!r} in {data.folder}; there are {', '.join(list(data.scenes)[:5])} …"
        )
    names = [scene] if scene else list(data.scenes)[:limit]
    kept = {name: data.scenes[name] for name in names}
    return replace(data, scenes=kept, questions=tuple(q for q in data.questions if q.scene in kept))


def _settings(text: str, mode: str, budget: int) -> Settings:
    """From words with hyphens. Graphs and base questions are asked for where they are needed."""
    how = Mode(cast("ModeName", mode.replace("-", " ")), budget)
    if text == "all":
        return Settings(mode=how)
    words = [word.strip().replace("-", " ") for word in text.split(",") if word.strip()]
    unknown = [word for word in words if word not in {*QA_SETTINGS, "graphs"}]
    if unknown or not words:
        known = ", ".join(s.replace(" ", "-") for s in QA_SETTINGS)
        raise UsageError(f"--settings takes all, or some of {known} and graphs, not {text!r}")
    words += ["base"] if "predicted graph" in words else []
    qa = tuple(setting for setting in QA_SETTINGS if setting in words)
    needs_graphs = "graphs" in words or "predicted graph" in qa
    graph: tuple[str, ...] = ("base", "blind") if "graphs" in words else ("base",) if needs_graphs else ()
    return Settings(qa=qa, graph=graph, mode=how)  # type: ignore[arg-type]  # checked just above
