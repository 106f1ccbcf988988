"""The scene instrument behind the `Instrument` type."""

from __future__ import annotations

import math
import os
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, cast

from theodolite import __version__
from theodolite.core.errors import UsageError
from theodolite.core.files import counted_problems, link_or_copy, told_problems, whole_folder
from theodolite.core.options import (
    BESIDE,
    DATA,
    FIGURES,
    NEW_FOLDER,
    RUNS,
    WORKERS,
    Figures,
    Option,
    Options,
    Seed,
    one_of,
    size_of,
)
from theodolite.core.registry import registry
from theodolite.core.scores import ALIGNED, OWN_SPLIT, Capability, ItemScore, Signature
from theodolite.core.tables import Column, Table
from theodolite.instruments.instrument import (
    Instrument,
    Messages,
    Outcome,
    RunOptions,
    RunPlan,
    Study,
    UserData,
    Verb,
    has_file,
    made,
    named_runs,
)
from theodolite.models import ask_factory, ask_measurer
from theodolite.runs import Run

if TYPE_CHECKING:
    from theodolite.instruments.instrument import View
    from theodolite.instruments.scene.data.files import SceneData
    from theodolite.instruments.scene.formulas.derived_qa import ScoreOptions
    from theodolite.instruments.scene.questions import Settings
    from theodolite.instruments.scene.score import SceneScore

__all__ = [
    "VERBS",
    "SceneRun",
    "plan_scenes",
]


# What can be done with scenes: make and import, run, score, audit.


_EXTRA = (
    "groups",
    "difficulty",
    "readings",
    "graph-parts",
    "graph-problems",
    "relations",
    "unsolved",
    "cases",
    "solver-curve",
)
"""`theodolite.instruments.scene.score.EXTRA_TABLES`, which takes a second to import."""

QUESTIONS = Option("Keep N questions, balanced by group. Default: all.", least=1)
MRA = Option("The comparison in MRA: as in the paper, or as in its public code.", metavar="<|<=")
SOLVER = Option("How answers are derived from graphs.")

Mra = Literal["<", "<="]


# Scenes: made, or from public data sets.


@dataclass(frozen=True, kw_only=True)
class MakeScenes(Options):
    """What `theodolite scene make` takes."""

    out: Annotated[Path, NEW_FOLDER]
    indoor: Annotated[int, Option("Number of rooms.", least=0)] = 10
    outdoor: Annotated[int, Option("Number of streets.", least=0)] = 10
    small: Annotated[
        int, Option("Make only N small rooms, such as the pocket: twins have learnt.", least=0)
    ] = 0
    seed: Seed = 0
    questions: Annotated[int | None, QUESTIONS] = None
    render: Annotated[bool, Option("Draw the pictures.")] = True
    truth: Annotated[bool, Option("Also write depth and instance maps.")] = False
    figures: Figures = None
    workers: Annotated[int | None, WORKERS] = None


def make_scenes(options: MakeScenes, messages: Messages) -> Outcome:
    """Make scenes of rooms and streets, with questions and answers."""
    from theodolite.instruments.scene.data.files import read_data
    from theodolite.instruments.scene.data.make import MakeOptions, make_data

    if options.small:
        from theodolite.instruments.scene.data.small_rooms import scene_data

        if options.truth or options.questions is not None or not options.render:
            raise UsageError("--truth, --questions and --no-render do not apply to --small")
        return _shown(scene_data(options.out, options.small, seed=options.seed), options.figures)
    made = MakeOptions(
        options.indoor,
        options.outdoor,
        options.seed,
        options.questions,
        options.render,
        options.truth,
        options.workers or min(2, os.cpu_count() or 1),
    )
    n = options.indoor + options.outdoor
    with whole_folder(options.out) as draft:
        make_data(
            draft,
            made,
            version=__version__,
            progress=lambda stage, done: messages.progress(stage, done, n),
        )
    return _shown(read_data(options.out), options.figures)


@dataclass(frozen=True, kw_only=True)
class ImportScenes(Options):
    """What `theodolite scene import` takes."""

    format: Annotated[
        str,
        Option(
            "nuscenes, scannetpp, kitti, sunrgbd, camera-boxes, a plug-in; or crisp, with its own questions.",
            metavar="NAME",
        ),
    ]
    data: Annotated[Path, DATA.but(help="The files of the source.")]
    out: Annotated[Path, NEW_FOLDER]
    size: Annotated[int | None, size_of("scenes", " Default: all.")] = None
    questions: Annotated[int | None, QUESTIONS] = None
    least_visibility: Annotated[
        float, Option("Minimum visible fraction of an object, in pixels.", least=0, most=1)
    ] = 0.8
    unknown_visibility: Annotated[
        Literal["estimate", "keep", "drop"], Option("How to treat objects of unknown visibility.")
    ] = "estimate"
    balance: Annotated[bool, Option("Keep sparse, common and dense scenes in the ratio 1 : 2 : 2.")] = True
    seed: Seed = 0
    figures: Figures = None


def import_scenes(options: ImportScenes, messages: Messages) -> Outcome:
    """Build a data set from real scenes: filter objects, drop near-duplicates, mark the pictures, make questions.

    The format crisp is CRISP-Bench's published scenes with their own questions, as they are.
    """
    from theodolite.instruments.scene.data.build import BuildOptions, build_data
    from theodolite.instruments.scene.data.crisp import build_crisp
    from theodolite.instruments.scene.data.pipeline import KeepOptions

    if options.format == "crisp":
        filters = {"--least-visibility", "--unknown-visibility", "--balance"} & set(options.given())
        if filters:
            raise UsageError(
                f"{min(filters)} does not apply to --format crisp: its scenes are taken as published"
            )
        data = build_crisp(
            options.out,
            options.data,
            most_scenes=options.size,
            n_questions=options.questions,
            seed=options.seed,
            version=__version__,
        )
        return _shown(data, options.figures)
    read = _reader(options.format)
    keep = KeepOptions(
        least_visibility=options.least_visibility, unknown_visibility=options.unknown_visibility
    )
    data = build_data(
        options.out,
        read(options.data),
        options=BuildOptions(
            keep,
            most_scenes=options.size,
            is_balanced=options.balance,
            n_questions=options.questions,
            seed=options.seed,
        ),
        made={"source": options.format, "root": options.data.name, "theodolite": __version__},
        progress=lambda n: messages.progress("pictures read", n),
    )
    return _shown(data, options.figures)


def _reader(source: str) -> Callable[[Path], Iterable[Any]]:
    """Find a source of scenes by its name."""
    known = [each.name for each in registry().entries("source") if each.name.startswith("scene-")]
    one_of(source, (*(name.removeprefix("scene-") for name in known), "crisp"), "--format")
    return cast("Callable[[Path], Iterable[Any]]", registry().entry("source", f"scene-{source}").load())


def _shown(data: SceneData, figures: Path | None) -> Outcome:
    """Show the content of a data set, and what was left out."""
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
    notes = [
        *_drawn_questions(data, figures),
        f"wrote {manifest.n_scenes} scenes with {manifest.n_questions} questions to {data.folder}",
    ]
    return Outcome(tables, {"folder": str(data.folder), "manifest": asdict(manifest)}, notes)


def _drawn_questions(data: SceneData, figures: Path | None) -> list[str]:
    """Draw the distribution of questions if a folder is given, and return notes on what was written."""
    if figures is None:
        return []
    from theodolite.instruments.scene.figures.data import question_distribution

    drawing = question_distribution(data.questions, title="Questions")
    return [f"drew {drawing.save(figures / 'questions.png')}"]


# Run.


@dataclass(frozen=True, kw_only=True)
class SceneRun(RunOptions):
    """What a run asks."""

    data: Annotated[
        Path | None, DATA.but(help="Your own scenes. Default: as in a diagnosis.", stored="always")
    ] = None
    settings: Annotated[
        str,
        Option(
            "all (without noisy-graph, which asks every question once per noise level), or some of: base, blind, "
            "predicted-graph, true-graph, true-graph-alone, noisy-graph, graphs (graphs by the model, with and without the "
            "picture).",
            metavar="LIST",
        ),
    ] = "all"
    mode: Annotated[Literal["direct", "chain-of-thought", "thinking"], Option("How to answer.")] = "direct"
    budget: Annotated[int, Option("Tokens for reasoning.", least=1, stored="always")] = 1024
    scene: Annotated[str, Option("Ask only about this scene.", metavar="ID", stored="if given")] = ""
    figures: Annotated[
        Path | None, FIGURES.but(help="With --plan: draw the distribution of questions into this folder.")
    ] = None


def plan_scenes(study: Study, options: SceneRun, data: Path) -> RunPlan:
    """Plan a run that asks for graphs and answers."""
    from theodolite.instruments.scene.data.small_rooms import unlearnt
    from theodolite.instruments.scene.experiments.needs import needs_table
    from theodolite.instruments.scene.questions import Mode, Settings, next_items

    chosen = Settings.parse(
        options.settings, Mode(cast("Any", options.mode.replace("-", " ")), options.budget)
    )
    stored, notes = _read(data)
    scenes = _only(stored, options.scene)
    notes += unlearnt(study.model, scenes.scenes)
    if options.figures is not None and not study.is_preview:
        raise UsageError("--figures needs --plan; `theodolite scene score` draws the scores")
    notes += _drawn_questions(scenes, options.figures)
    settings = {
        **options.stored(),
        "settings": list(chosen.qa),
        "graphs": list(chosen.graph),
        "mode": chosen.mode.name,
    }
    if study.is_preview and not all(scene.marked for scene in scenes.scenes.values()):
        notes.append("this data set has no pictures: only settings without a picture are planned")
        chosen = _without_pictures(chosen)
    more = len(scenes.questions) if "predicted graph" in chosen.qa else 0
    if more and study.is_preview:
        notes.append(
            f"{more} questions with the predicted graph, which the model has not given yet, are counted; fewer may be asked"
        )
    asked = {*chosen.qa, *(("graphs",) if chosen.graph else ())}
    return RunPlan(
        "",
        "scene",
        settings,
        partial(next_items, scenes, chosen, seed=study.seed),
        ask_measurer,
        ask_factory,
        more=more,
        notes=tuple(notes),
        preview=lambda: [needs_table(scenes.questions, asked, seed=study.seed)],
    )


def _read(folder: Path) -> tuple[SceneData, list[str]]:
    """Read a data set; return it, and notes about broken lines."""
    from theodolite.instruments.scene.data.files import read_data

    data = read_data(folder)
    return data, list(told_problems(data.problems))


def _only(data: SceneData, scene: str) -> SceneData:
    """Select one scene, or return the whole data set."""
    if not scene:
        return data
    if scene not in data.scenes:
        known = ", ".join(list(data.scenes)[:5])
        raise UsageError(f"there is no scene {scene!r} in {data.folder}; it has {known} …")
    questions = tuple(question for question in data.questions if question.scene == scene)
    return replace(data, scenes={scene: data.scenes[scene]}, questions=questions)


def _without_pictures(chosen: Settings) -> Settings:
    """Return the settings that need no picture."""
    from theodolite.instruments.scene.questions import WITHOUT_PICTURE, Settings

    blind = cast("Any", tuple(setting for setting in chosen.qa if setting in WITHOUT_PICTURE))
    return Settings(qa=blind or ("blind",), graph=("blind",), mode=chosen.mode)


# Score, and audit of the solvers.


@dataclass(frozen=True, kw_only=True)
class ScoreScenes(Options):
    """What `theodolite scene score` takes."""

    runs: Annotated[tuple[Path, ...], RUNS]
    solver: Annotated[Literal["fused", "geometric", "upstream"], SOLVER] = "fused"
    mra: Annotated[Mra, MRA] = "<"
    mode: Annotated[str | None, Option("The mode of answering, if the run has several.", metavar="MODE")] = (
        None
    )
    tables: Annotated[
        tuple[str, ...], Option(f"More tables: {', '.join(_EXTRA)}, or all.", known=_EXTRA)
    ] = ()
    figures: Figures = None
    beside: Annotated[tuple[Path, ...], BESIDE] = ()
    seed: Seed = 0


def score_scenes(options: ScoreScenes, messages: Messages) -> Outcome:
    """Score a run from its stored answers: Tables 1 and 2, confusion matrix, interventions, signatures.

    With several runs on the same questions: one table of all models, with paired differences from the first.
    """
    from theodolite.instruments.scene.score import check_alike, compare_tables, score_run, score_tables

    runs, figures = options.runs, options.figures
    how = _score_options(options.solver, options.mra, options.seed)
    mode = options.mode.replace("-", " ") if options.mode is not None else None
    if options.beside and figures is None:
        raise UsageError("--beside adds other runs to the figures: also give a folder with --figures")
    scores: dict[str, SceneScore] = {}
    tables: list[Table] = []
    for name, folder in named_runs([*runs, *options.beside]):
        with Run.open(folder, writable=folder == runs[0]) as run:
            if run.info.instrument != "scene":
                raise UsageError(f"{folder} is a run of {run.info.instrument}, not of scene")
            scores[name] = score_run(run, how, mode=mode)
            if folder == runs[0]:
                tables = score_tables(scores[name], options.tables)
                run.write_tables(tables)
    check_alike(scores)
    if len(runs) > 1:
        tables = compare_tables(dict(list(scores.items())[: len(runs)]))
    if figures is not None:
        with Run.open(runs[0]) as run:
            _draw(run, scores, figures, messages)
    values = {"run": str(runs[0]), "instrument": "scene", "model": next(iter(scores))}
    return Outcome(tables, values)


def _draw(run: Run, scores: dict[str, SceneScore], figures: Path, messages: Messages) -> None:
    from theodolite.instruments.scene.data.files import read_data
    from theodolite.instruments.scene.figures.scores import draw_cases, draw_scores

    drawn = draw_scores(scores, figures)
    folder = run.info.settings.get("data")
    try:
        data = read_data(folder) if folder else None
    except UsageError:
        data = None
    if data is None:
        messages.note("no maps are drawn: the data set of the run was not found")
    else:
        drawn += draw_cases(next(iter(scores.values())), data, figures)
    messages.note(f"drew {len(drawn)} figures into {figures}")


@dataclass(frozen=True, kw_only=True)
class AuditScenes(Options):
    """What `theodolite scene audit` takes."""

    data: Annotated[Path, DATA.but(help="A data set of scenes.", metavar="DATA", is_argument=True)]
    mra: Annotated[Mra, MRA] = "<"
    seed: Seed = 0
    figures: Annotated[Path | None, FIGURES] = None


def audit_scenes(options: AuditScenes, messages: Messages) -> Outcome:
    """Answer every question from true graphs and from noisy ones, with each solver: the most that derived QA can reach."""
    from theodolite.instruments.scene.experiments.curves import (
        ceiling_tables,
        curve_tables,
        solver_ceilings,
        solver_curves,
    )

    data, notes = _read(options.data)
    messages.notes(notes)
    if not data.questions:
        raise UsageError(f"{options.data} has no questions")
    how = _score_options("fused", options.mra, options.seed).comparison
    ceilings = solver_ceilings(data.scenes, data.questions, comparison=how)
    stars = {scene.id: scene.star() for scene in data.scenes.values()}
    messages.progress("answering from noisy graphs", 0)
    curves = solver_curves(stars, data.questions, comparison=how, seed=options.seed)
    if options.figures is not None:
        from theodolite.instruments.scene.figures.scores import solver_figure

        drawing = solver_figure(curves, title="Answers from imperfect graphs, by solver")
        messages.note(f"drew {drawing.save(options.figures / 'solver.png')}")
    return Outcome([*ceiling_tables(ceilings), *curve_tables(curves)], {"data": str(options.data)})


def _score_options(solver: Literal["fused", "geometric", "upstream"], mra: Mra, seed: int) -> ScoreOptions:
    from theodolite.instruments.scene.formulas.derived_qa import ScoreOptions

    return ScoreOptions(solver, mra, seed)


VERBS: Mapping[str, Verb[Any]] = {
    "make": Verb(MakeScenes, make_scenes),
    "import": Verb(ImportScenes, import_scenes),
    "score": Verb(ScoreScenes, score_scenes),
    "audit": Verb(AuditScenes, audit_scenes),
}


_ROOMS: Mapping[str, int] = {"quick": 14, "standard": 18, "large": 120}
"""Rooms by size, and questions of each of the nine groups."""
_ROOM_PAIRS: Mapping[str, int] = {"quick": 40, "standard": 80, "large": 300}
"""Rooms with pairs by size; each has two relevant and one or two neutral pairs. 40 are enough to see that a model does not look."""
_ROOMS_OF_SIZE = 1.6
"""Rooms with pairs for each item of a size in numbers."""
_PAIRS_OF_OWN = 3
"""Pairs of each scene of the user."""
_SETTINGS = ("base", "blind")
_OWN_GRAPH = "predicted graph"
"""Asked only on the aligned split, where signatures are judged: only they need it, and its prompts are the longest."""


class Scene(Instrument):
    """Do answers agree with the model's own 3D scene graph? Is perception or reasoning the bottleneck?"""

    name = "scene"
    question = "Do answers agree with the model's own 3D scene graph (CRISP)?"
    run_kinds = ("scene", "scene-pictures", "scene-pairs")
    run_options = SceneRun
    run_help = "Ask a model for graphs and answers, store them, and score."
    takes = "scenes made by `theodolite scene make` or `theodolite scene import`"
    exported_kinds = ("scene", "scene-pictures")
    formats = ("crisp", "crisp-na")

    @property
    def shared_metrics(self) -> frozenset[str]:
        """The metrics of a scene's graph: the splits have the same rooms, and differ in the questions."""
        from theodolite.instruments.scene.score import GRAPH_METRICS

        return GRAPH_METRICS

    def verbs(self) -> Mapping[str, Verb[Any]]:
        """Return the verbs: make and import scenes, score, audit."""
        return VERBS

    def plan(self, study: Study, gives: Capability) -> Iterator[RunPlan]:
        """Yield runs on questions and graphs of every split, with its own picture, without one and with another scene's; and pairs."""
        from theodolite.instruments.scene.data.small_rooms import room_pairs, scene_data
        from theodolite.instruments.scene.questions import pairs_plan, run_plans

        asked = study.options
        if isinstance(asked, SceneRun) and asked.data is not None:
            yield plan_scenes(study, asked, asked.data)
            return
        is_named = isinstance(study.size, str)
        rooms = _ROOMS[cast("str", study.size)] if is_named else max(6, round(0.6 * int(study.size)))
        per_group = rooms if is_named else None
        folders = {
            split: made(
                study.place(f"scene-{split}"),
                partial(scene_data, n=rooms, seed=study.seed, split=cast("Any", split), per_group=per_group),
            )
            for split in study.splits
        }
        own = study.data
        if own is not None:
            folders[OWN_SPLIT] = own.path
            if own.form == "graphs":
                ask = partial(_write_questions, own.path, n=9 * rooms, seed=study.seed)
                folders[OWN_SPLIT] = made(study.place("scene-own"), ask)
        for split, folder in folders.items():
            settings = (*_SETTINGS, *((_OWN_GRAPH,) if split == ALIGNED and is_named else ()))
            yield from run_plans(folder, split=split, settings=settings, seed=study.seed)
        if study.splits:
            drawn = partial(room_pairs, n=_room_pairs(study.size), seed=study.seed)
            yield pairs_plan(made(study.place("scene-pairs"), drawn), name="scene-pairs")
        if own is not None:
            edited = made(
                study.place("scene-pairs-own"), partial(_write_pairs, folders[OWN_SPLIT], seed=study.seed)
            )
            if any(edited.iterdir()):
                yield pairs_plan(edited, name="scene-pairs-own", split=OWN_SPLIT)

    def score(self, run: Run) -> list[ItemScore]:
        """Score every metric on every question and scene; none on pairs."""
        from theodolite.instruments.scene.score import item_scores

        return [] if _has_pairs(run) else item_scores(run)

    def tables(self, run: Run) -> list[Table]:
        """Return Tables 1 and 2, graphs, confusion matrix, interventions and signatures."""
        from theodolite.instruments.scene.score import score_run, score_tables

        if run.info.instrument != self.name:
            return super().tables(run)
        return score_tables(score_run(run))

    def view(self, run: Run) -> View:
        """Return a function that shows the scene from above, with the true objects and those of the model's graph."""
        from theodolite.instruments.scene.score import scene_view

        return scene_view(run)

    def signatures(
        self, folders: Sequence[Path], scores: Sequence[ItemScore], *, seed: int
    ) -> list[Signature]:
        """Judge CRISP's signatures, on the aligned split."""
        from theodolite.instruments.scene.formulas.derived_qa import ScoreOptions
        from theodolite.instruments.scene.score import score_run

        signatures: list[Signature] = []
        for folder in folders:
            with Run.open(folder) as run:
                if run.info.instrument == self.name and run.info.settings.get("split") == ALIGNED:
                    signatures += score_run(run, ScoreOptions(seed=seed)).signatures
        return signatures

    def size_for(self, pairs: int) -> int:
        """Return the size for a number of pairs: one room for every two questions."""
        return math.ceil(pairs / (2 * _ROOMS_OF_SIZE))

    def describe(self, study: Study) -> str:
        """Describe what a study asks about."""
        rooms = _ROOMS[study.size] if isinstance(study.size, str) else max(6, round(0.6 * study.size))
        own = f"; and {study.data.words}" if study.data else ""
        edited = f"{_room_pairs(study.size)} before and after edits"
        return (
            f"{rooms} drawn rooms, with questions that the shortcut answers correctly and others that it does not; "
            f"{edited}{own}"
        )

    def find_data(self, path: Path, images: Path | None) -> UserData | None:
        """Return the data set of a folder, with or without questions; None if the path is none."""
        folder = path.parent if path.name in {"questions.jsonl", "scenes.jsonl"} else path
        if not folder.is_dir() or not has_file(folder, "scenes.jsonl"):
            return None
        form = "scenes" if has_file(folder, "questions.jsonl") and path.name != "scenes.jsonl" else "graphs"
        return UserData("scene", form, folder)

    def unused(self, study: Study) -> Mapping[str, int]:
        """Return the broken lines of a data set."""
        from theodolite.instruments.scene.data.files import read_data

        if study.data is None or study.data.form != "scenes":
            return {}
        return counted_problems(read_data(study.data.path).problems)

    def export(self, source: Path, out: Path, *, to: str) -> dict[str, int]:
        """Write a run or a data set for CRISP-Bench."""
        from theodolite.instruments.scene.data.crisp import export_data, export_run
        from theodolite.instruments.scene.data.files import read_data

        if (source / "run.json").exists():
            with Run.open(source) as run:
                return export_run(run, out, to)
        return export_data(read_data(source), out, to)


SCENE = Scene()


def _room_pairs(size: str | int) -> int:
    return _ROOM_PAIRS[size] if isinstance(size, str) else max(12, round(_ROOMS_OF_SIZE * size))


def _has_pairs(run: Run) -> bool:
    return run.info.instrument == "scene-pairs"


def _write_pairs(source: Path, folder: Path, *, seed: int) -> None:
    from theodolite.instruments.scene.data.files import read_data
    from theodolite.instruments.scene.data.make import editable_data, write_pairs

    write_pairs(folder, editable_data(read_data(source), seed=seed), per_scene=_PAIRS_OF_OWN)


def _write_questions(source: Path, folder: Path, *, n: int, seed: int) -> None:
    """Make a data set from the scenes of another one, with at most `n` questions. Pictures are linked, or copied."""
    from theodolite.instruments.scene.data.files import read_data, write_data
    from theodolite.instruments.scene.data.make import make_questions, thin_questions

    shutil.copytree(source, folder, copy_function=link_or_copy)
    for name, text in (("questions.jsonl", ""), ("manifest.json", "{}")):
        if not (folder / name).exists():
            (folder / name).write_text(text, encoding="utf-8")
    data = read_data(folder)
    scenes = list(data.scenes.values())
    if not all(scene.marked for scene in scenes):
        raise UsageError(
            f"{source} has scenes without marked pictures; make them with pictures (without --no-render)"
        )
    asked = make_questions(scenes, seed=seed).questions
    questions = thin_questions(asked, min(n, len(asked)), seed=seed)
    for name in ("scenes.jsonl", "questions.jsonl", "manifest.json"):
        (folder / name).unlink()  # a link: writing through it would change the original
    write_data(folder, scenes, questions, data.manifest)
