"""The grid behind the `Instrument` type."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, cast

import numpy as np

from theodolite.core.errors import UsageError
from theodolite.core.files import told_problems, whole_folder
from theodolite.core.options import (
    ANSWER,
    DATA,
    DEVICE,
    FIGURES,
    MAX_TOKENS,
    NEW_FOLDER,
    RUNS,
    Option,
    Options,
    Seed,
    out_of,
    size_of,
)
from theodolite.core.scores import OWN_SPLIT, Capability, ItemScore, Signature, covers
from theodolite.core.tables import Table
from theodolite.core.types import Item
from theodolite.instruments.instrument import (
    Instrument,
    Messages,
    Outcome,
    RunOptions,
    RunPlan,
    Study,
    UserData,
    Verb,
    check_distinct,
    has_file,
    made,
)
from theodolite.models import Answering, ask_measurer
from theodolite.pairs import AnsweredPair
from theodolite.pairs.outcomes import with_repeats
from theodolite.runs import Run

if TYPE_CHECKING:
    from theodolite.instruments.instrument import View

__all__ = [
    "VERBS",
    "GridRun",
    "compare_runs",
    "plan_answers",
    "plan_explained",
]


# What can be done with the grid: make and import scenes, run, score, audit, figures.


PRESET = Option("As the paper says, without learnable shortcuts, or as the public generator does.")
VARIANT = Option("With look-alikes that mislead shortcuts (pure), or without (spur).")
BUCKETS = Option("Only these buckets, such as M-F0-D2,M-F1-D2. Default: all.")
_SCENES = "scenes per bucket and density"

Preset = Literal["paper", "sound", "released"]
Variant = Literal["pure", "spur"]


@dataclass(frozen=True, kw_only=True)
class MakeGrids(Options):
    """What `theodolite grid make` takes."""

    out: Annotated[Path, NEW_FOLDER]
    variant: Annotated[Variant, VARIANT] = "pure"
    preset: Annotated[Preset, PRESET] = "paper"
    size: Annotated[int, size_of(_SCENES)] = 50
    seed: Seed = 0
    split: Annotated[
        Literal["train", "validation", "test"] | None,
        Option("Only scenes of this split. Default: all.", metavar="train|validation|test"),
    ] = None
    density: Annotated[
        tuple[str, ...],
        Option("sparse, dense, numbers of objects, or fractions such as 0.5.", can_be_empty=False),
    ] = ("sparse", "dense")
    buckets: Annotated[tuple[str, ...], BUCKETS] = ()
    rows: Annotated[int, Option("Rows of the grid.")] = 5
    columns: Annotated[int, Option("Columns of the grid.")] = 5
    cell_px: Annotated[int, Option("Side of a cell in pixels.")] = 64
    boost: Annotated[
        float | None, Option("Algorithm 2: probability that the target is the most frequent kind.")
    ] = None
    overload: Annotated[
        float | None, Option("Algorithm 3: probability that a further object is a look-alike.")
    ] = None
    margin: Annotated[int | None, Option("Minimum distance of targets from their anchors, in cells.")] = None
    max_answer: Annotated[int | None, Option("Largest count in an answer, at every depth.")] = None
    pictures: Annotated[bool, Option("Draw the scenes.")] = True


def make_grids(options: MakeGrids, messages: Messages) -> Outcome:  # noqa: ARG001 - it has no steps
    """Make a data set: pictures, JSONL, Parquet and phrase grounding."""
    from theodolite.instruments.grid.data.audit import promise_table
    from theodolite.instruments.grid.data.files import DatasetPlan, make_dataset, write_dataset
    from theodolite.instruments.grid.data.question_types import BUCKET_KEYS
    from theodolite.instruments.grid.data.recipe import find_recipe
    from theodolite.instruments.grid.data.world import GridShape

    chosen = {name: getattr(options, name) for name in ("boost", "overload", "margin", "max_answer")}
    given = cast("Any", {name: value for name, value in chosen.items() if value is not None})
    world = GridShape(options.rows, options.columns, options.cell_px)
    recipe = replace(find_recipe(options.preset), world=world, **given)
    densities = tuple(_density(word) for word in options.density)
    most = max(recipe.world.max_count, *map(recipe.objects, densities))
    recipe = replace(recipe, world=replace(recipe.world, max_count=most))
    keys = options.buckets or BUCKET_KEYS
    plan = DatasetPlan(options.variant, options.size, options.seed, recipe, densities, keys, options.split)
    with whole_folder(options.out) as draft:
        data = make_dataset(plan)
        write_dataset(data, draft, pictures=options.pictures)
    return Outcome(
        [promise_table(plan)],
        {"folder": str(options.out), "scenes": len(data)},
        notes=[f"wrote {len(data)} {options.variant} scenes to {options.out}"],
    )


def _density(word: str) -> Any:
    if word in {"sparse", "dense"}:
        return word
    try:
        return int(word) if word.isdigit() else float(word)
    except ValueError:
        raise UsageError(
            f"a density is sparse, dense, a number of objects or a fraction, not {word!r}"
        ) from None


@dataclass(frozen=True, kw_only=True)
class ImportGrids(Options):
    """What `theodolite grid import` takes."""

    data: Annotated[
        Path,
        DATA.but(
            help="The published data: qa_*.jsonl, grounding_*.jsonl, images.", metavar="DIR", is_argument=True
        ),
    ]
    out: Annotated[Path, NEW_FOLDER]
    variant: Annotated[
        Variant | None,
        VARIANT.but(
            help="Which of the two data sets. Default: spur if a bag of words is always right.",
            metavar="pure|spur",
        ),
    ] = None
    redraw: Annotated[
        bool, Option("Draw the scenes as `grid make` does, which the grid: models were trained on.")
    ] = False


def import_grids(options: ImportGrids, messages: Messages) -> Outcome:
    """Import GridVQA-X as published: wording, pictures and answers stay, all else is computed from the pictures."""
    from theodolite.instruments.grid.data.files import import_published, write_dataset

    published = import_published(options.data, mode=options.variant)
    drawn = None if options.redraw else (picture.read() for picture in published.pictures)
    with whole_folder(options.out) as draft:
        write_dataset(published.data, draft, drawn=drawn)
    problems = list(told_problems(published.problems))
    messages.notes(problems)
    n, mode = len(published.data), published.data.plan.mode
    return Outcome(
        values={"folder": str(options.out), "scenes": n, "problems": problems},
        notes=[f"wrote {n} {mode} scenes to {options.out}"],
    )


@dataclass(frozen=True, kw_only=True)
class AuditGrids(Options):
    """What `theodolite grid audit` takes."""

    data: Annotated[Path, DATA.but(help="A data set.", metavar="DIR", is_argument=True)]
    other: Annotated[
        Path | None,
        Option(
            "A second data set: answers must agree, and no scene may be in two splits.",
            metavar="[OTHER]",
            is_argument=True,
        ),
    ] = None
    permutations: Annotated[int, Option("Number of permutations for each mutual information.", least=1)] = 199
    pictures: Annotated[int, Option("Number of pictures to compare with their scenes.", least=0)] = 200
    tables: Annotated[
        tuple[Literal["ignorances"], ...], Option("More tables: ignorances (all that was learned).")
    ] = ()
    seed: Seed = 0


def audit_grids(options: AuditGrids, messages: Messages) -> Outcome:  # noqa: ARG001 - it has no steps
    """Recompute every label, test every shortcut, and learn the answer with one thing left out. Exits with status 1 if a check or a promise fails."""
    from theodolite.instruments.grid.data.audit import audit, audit_tables, compare_datasets, comparison_table
    from theodolite.instruments.grid.data.files import read_dataset

    folders = [options.data, *([options.other] if options.other is not None else [])]
    stored = [read_dataset(folder) for folder in folders]
    how: Any = {
        "n_permutations": options.permutations,
        "most_pictures": options.pictures,
        "seed": options.seed,
    }
    audits = [audit(data, **how) for data in stored]
    compared = compare_datasets(*stored, seed=options.seed) if len(stored) > 1 else None
    tables = audit_tables(audits, every=bool(options.tables))
    tables += [comparison_table(compared)] if compared else []
    is_kept = all(report.is_kept for report in audits) and (compared is None or compared.is_kept)
    return Outcome(tables, {"is_kept": is_kept}, is_good=is_kept)


@dataclass(frozen=True, kw_only=True)
class DrawGrids(Options):
    """What `theodolite grid figures` takes."""

    out: Annotated[Path, out_of()]
    preset: Annotated[Preset, PRESET] = "paper"
    seed: Seed = 0
    format: Annotated[Literal["png", "svg", "pdf"], Option("The format of the figures.")] = "png"


def draw_grids(options: DrawGrids, messages: Messages) -> Outcome:  # noqa: ARG001 - it is quick
    """Draw figures of the data: taxonomy, generation, answers, samples (Figures 2, 3 and 7 to 11)."""
    from theodolite.instruments.grid.figures.data import data_figures

    drawings = data_figures(options.preset, seed=options.seed)
    paths = [drawing.save(options.out / f"{name}.{options.format}") for name, drawing in drawings.items()]
    return Outcome(
        values={"figures": [str(path) for path in paths]},
        notes=[f"wrote {len(paths)} figures to {options.out}"],
    )


# Run: answers to every scene, or explanations of them.


@dataclass(frozen=True, kw_only=True)
class GridRun(RunOptions):
    """What a run measures."""

    data: Annotated[
        Path | None, DATA.but(help="Your own scenes. Default: as in a diagnosis.", stored="always")
    ] = None
    answer: Annotated[Answering, ANSWER] = "write"
    max_tokens: Annotated[int, MAX_TOKENS] = 16
    explainers: Annotated[
        tuple[str, ...],
        Option(
            "Explain the answers, with these explainers: names, or all, local, global; see `theodolite list explainers`."
        ),
    ] = ()
    budget: Annotated[
        int,
        Option("With --explainers: model calls per scene, for all explainers together.", least=8),
    ] = 2000
    buckets: Annotated[tuple[str, ...], BUCKETS.but(help=f"With --explainers: {BUCKETS.help}")] = ()
    density: Annotated[
        tuple[str, ...],
        Option("With --explainers: only these densities, as named in the data. Default: all."),
    ] = ()
    pool: Annotated[
        int, Option("With --explainers: maximum number of scenes in a cross matrix.", least=2)
    ] = 32
    output: Annotated[
        Literal["answer", "log-odds", "expected"],
        Option("With --explainers: the output that is explained."),
    ] = "expected"
    fill: Annotated[
        Literal["white", "grey", "black"], Option("With --explainers: what replaces hidden cells.")
    ] = "white"
    words: Annotated[Literal["mask", "delete"], Option("With --explainers: how words are hidden.")] = "mask"
    players: Annotated[Literal["objects", "all"], Option("With --explainers: which cells are players.")] = (
        "objects"
    )
    device: Annotated[str, DEVICE.but(help=f"With --explainers: {DEVICE.help}")] = "cpu"

    @property
    def takes_size(self) -> bool:
        """True if answers are explained: for a number of scenes per bucket and density."""
        return bool(self.explainers)


def plan_answers(study: Study, options: GridRun, data: Path) -> RunPlan:  # noqa: ARG001 - nothing is drawn
    """Plan a run that asks about every scene: accuracy by bucket, and agreement with a bag of words (Tables 3 and 4)."""
    from theodolite.instruments.grid.data.files import read_dataset
    from theodolite.instruments.grid.questions import PLAIN_RUN, plan_accuracy

    items = list(plan_accuracy(read_dataset(data), max_tokens=options.max_tokens))
    return RunPlan(
        "",
        PLAIN_RUN,
        options.stored(),
        lambda _: items,
        partial(ask_measurer, answering=options.answer),
    )


def plan_explained(study: Study, options: GridRun, data: Path) -> RunPlan:
    """Plan a run that explains a model's answers with every explainer."""
    from theodolite.instruments.grid.explainers.find import find_explainers
    from theodolite.instruments.grid.explainers.game import Convention, PlayerSet
    from theodolite.instruments.grid.explainers.readers import CoreReader
    from theodolite.instruments.grid.measure import ExplainMeasurer, explain_factory
    from theodolite.instruments.grid.questions import EXPLAIN_RUN, ExplainPlan, plan_explanations

    wanted = ExplainPlan(
        str(data.absolute()),
        tuple(explainer.name for explainer in find_explainers(options.explainers)),
        options.budget,
        options.pool,
        study.size if isinstance(study.size, int) else None,
        Convention(
            options.fill,
            options.words,
            cast("Any", options.output),
            players=PlayerSet(cast("Any", options.players)),
        ),
        study.seed,
        buckets=options.buckets,
        densities=options.density,
    )
    items = list(plan_explanations(wanted))
    return RunPlan(
        "",
        EXPLAIN_RUN,
        wanted.settings(),
        lambda _: items,
        lambda model: ExplainMeasurer(CoreReader(cast("Any", model)), wanted),
        partial(explain_factory, plan=wanted, device=options.device),
        calls=options.budget,
    )


# Score.


_ESTIMATORS = ("convex", "gaussian", "batch")


@dataclass(frozen=True, kw_only=True)
class ScoreGrids(Options):
    """What `theodolite grid score` takes."""

    runs: Annotated[tuple[Path, ...], RUNS.but(metavar="[RUN…]", can_be_empty=True)] = ()
    maps: Annotated[
        Path | None,
        Option("Instead of runs: maps made elsewhere, an .npz file or a folder of them.", metavar="PATH"),
    ] = None
    data: Annotated[
        Path | None, DATA.but(help="With --maps: the scenes that they belong to.", metavar="DIR")
    ] = None
    figures: Annotated[Path | None, FIGURES] = None
    tables: Annotated[
        tuple[Literal["measures"], ...],
        Option(
            "More tables: measures (all means of explained runs by bucket, answer, correctness and form)."
        ),
    ] = ()
    pid: Annotated[
        tuple[str, ...],
        Option(f"Estimators of PID: some of {', '.join(_ESTIMATORS)}.", known=_ESTIMATORS),
    ] = ("convex", "gaussian")
    seed: Seed = 0


def score_grids(options: ScoreGrids, messages: Messages) -> Outcome:
    """Score stored runs. No model is called. Explained runs are scored together: pure, spurious, cross."""
    from theodolite.instruments.grid.experiments.accuracy import model_tables
    from theodolite.instruments.grid.experiments.explained import read_explained
    from theodolite.instruments.grid.questions import EXPLAIN_RUN, PLAIN_RUN
    from theodolite.instruments.grid.score import TABLE_NAMES, explain_tables, score_explanations

    if bool(options.runs) == (options.maps is not None) or (options.maps is None) != (options.data is None):
        raise UsageError("give runs, or maps with --maps PATH and their scenes with --data DIR")
    if options.maps is not None and options.data is not None:
        return _score_maps(options.maps, options.data, messages)
    check_distinct(options.runs)
    tables: list[Table] = []
    with ExitStack() as stack:
        opened = [stack.enter_context(Run.open(path, writable=True)) for path in options.runs]
        explained = [run for run in opened if run.info.instrument == EXPLAIN_RUN]
        for run in opened:
            if run not in explained:
                own = GRID.tables(run)
                run.write_tables(own)
                tables += own
        tables += model_tables([run for run in opened if run.info.instrument == PLAIN_RUN])
        if explained:
            read = [read_explained(run) for run in explained]
            score = score_explanations(read, pid=options.pid, seed=options.seed)
            own = explain_tables(score, TABLE_NAMES if options.tables else (), seed=options.seed)
            explained[0].write_tables(own)
            tables += own
            if options.figures is not None:
                from theodolite.instruments.grid.figures.scores import explainer_figures

                drawings = explainer_figures(list(zip(explained, read, strict=True)), score)
                for name, drawing in drawings.items():
                    drawing.save(options.figures / f"{name}.png")
                messages.note(f"wrote {len(drawings)} figures to {options.figures}")
    return Outcome(tables, {"runs": [str(path) for path in options.runs], "instrument": "grid"})


def _score_maps(maps: Path, data: Path, messages: Messages) -> Outcome:
    from theodolite.instruments.grid.data.files import read_dataset
    from theodolite.instruments.grid.experiments.given_maps import given_maps_table

    table, problems = given_maps_table(maps, read_dataset(data))
    told = list(told_problems(problems))
    messages.notes(told)
    return Outcome([table], {"maps": str(maps), "data": str(data), "problems": told})


def compare_runs(folders: list[Path]) -> list[Table]:
    """Compare models that answered the same scenes."""
    from theodolite.instruments.grid.experiments.accuracy import model_tables
    from theodolite.instruments.grid.questions import PLAIN_RUN

    with ExitStack() as stack:
        opened = [stack.enter_context(Run.open(path)) for path in folders]
        return model_tables([run for run in opened if run.info.instrument == PLAIN_RUN])


VERBS: Mapping[str, Verb[Any]] = {
    "make": Verb(MakeGrids, make_grids),
    "import": Verb(ImportGrids, import_grids),
    "score": Verb(ScoreGrids, score_grids),
    "audit": Verb(AuditGrids, audit_grids),
    "figures": Verb(DrawGrids, draw_grids),
}


_SCENES_OF_SIZE = 0.07
"""Scenes of each bucket, density and split for each item of a size in numbers."""
_PAIRS_OF_SCENE = 83
"""Relevant pairs for each scene of a bucket, density and split: 24 scenes with up to three each, and as many turned questions."""
_POOL = 8
"""Scenes of the cross matrix that DIME compares with."""


@dataclass(frozen=True, slots=True)
class _StudySize:
    """How much of the grid a study asks."""

    scenes: int
    """Of each relational bucket at each of two densities, in each split."""
    explained: int
    """Of each of six buckets that are explained; 0 for none."""
    budget: int
    """Model calls for each explained scene, all explainers together."""
    deep: int = 2
    """Of each of eight buckets with several anchors; 0 for none."""

    @classmethod
    def of(cls, size: str | int) -> _StudySize:
        if isinstance(size, str):
            return _SIZES[size]
        return cls(max(1, round(_SCENES_OF_SIZE * size)), max(2, round(0.04 * size)), 160, deep=0)


_SIZES: Mapping[str, _StudySize] = {
    "quick": _StudySize(3, 0, 300),
    "standard": _StudySize(3, 2, 110),
    "large": _StudySize(15, 10, 300, deep=12),
}


class Grid(Instrument):
    """Do explainers tell spatial reasoning from a shortcut, where the truth is known?"""

    name = "grid"
    question = "Does it use the relation, or count what the words name?"
    run_kinds = ("grid", "grid-behaviour", "grid-anchors", "grid-explain")
    run_options = GridRun
    run_help = "Ask models about every scene, or explain their answers (--explainers), and score."
    takes = "grids made by `theodolite grid make`"

    def verbs(self) -> Mapping[str, Verb[Any]]:
        """Return the verbs: make and import scenes, score, audit, figures."""
        return VERBS

    def compare(self, folders: Sequence[Path]) -> list[Table]:
        """Return the accuracy of several models on the same scenes, and paired tests."""
        return compare_runs(list(folders)) or super().compare(folders)

    def plan(self, study: Study, gives: Capability) -> Iterator[RunPlan]:
        """Yield runs on scenes and their edits, questions with several anchors, explained scenes, and the user's own scenes."""
        from theodolite.instruments.grid.data.files import grid_data, write_explained

        asked = study.options
        if isinstance(asked, GridRun) and asked.data is not None:
            yield (plan_explained if asked.explainers else plan_answers)(study, asked, asked.data)
            return
        size = _StudySize.of(study.size)
        folders = {
            split: made(
                study.place(f"grid-{split}"),
                partial(grid_data, n=size.scenes, seed=study.seed, split=cast("Any", split)),
            )
            for split in study.splits
        }
        yield _edits("grid", folders, gives=gives, seed=study.seed)
        if size.deep and study.splits:
            yield _anchors(study, size.deep, gives)
        if size.explained and covers(gives, "choices"):
            # Scenes of the first split only: where accuracy is the same, maps may differ.
            split = study.splits[0]
            folder = made(
                study.place(f"grid-explained-{split}"),
                partial(write_explained, n=size.explained, seed=study.seed, split=split),
            )
            yield _explained("grid-explained", folder, gives=gives, budget=size.budget, seed=study.seed)
        if study.data is not None:
            yield _edits("grid-own", {OWN_SPLIT: study.data.path}, gives=gives, seed=study.seed)

    def score(self, run: Run) -> list[ItemScore]:
        """Score every metric on every scene."""
        from theodolite.instruments.grid.score import item_scores

        return item_scores(run)

    def tables(self, run: Run) -> list[Table]:
        """Return accuracy by bucket, the tables of explained runs, or the mean of every metric."""
        from theodolite.instruments.grid.score import run_tables

        return run_tables(run) or super().tables(run)

    def pairs(self, run: Run) -> list[AnsweredPair]:
        """Return the answers before and after edits of the picture, those that change the right answer first."""
        return sorted(super().pairs(run), key=lambda pair: not pair.edit.is_relevant)

    def view(self, run: Run) -> View:
        """Return a function that gives the cells with their roles in the question, and explainers' maps."""
        from theodolite.instruments.grid.score import grid_view

        return grid_view(run)

    def signatures(
        self, folders: Sequence[Path], scores: Sequence[ItemScore], *, seed: int
    ) -> list[Signature]:
        """Judge the semantic shortcut."""
        from theodolite.instruments.grid.score import grid_signatures

        return grid_signatures(scores)

    def describe(self, study: Study) -> str:
        """Describe what a study asks about."""
        own = f"; and {study.data.words}" if study.data else ""
        n = 24 * _StudySize.of(study.size).scenes
        return f"{n} grids with a relation, half of them against the shortcut{own}"

    def size_for(self, pairs: int) -> int:
        """Return the smallest size that gives at least that many pairs."""
        return math.ceil(math.ceil(pairs / _PAIRS_OF_SCENE) / _SCENES_OF_SIZE)

    def find_data(self, path: Path, images: Path | None) -> UserData | None:
        """Return the data set of a folder; None if the path is none."""
        folder = path.parent if path.name == "dataset.json" else path
        return (
            UserData("grid", "grids", folder)
            if folder.is_dir() and has_file(folder, "dataset.json")
            else None
        )


GRID = Grid()


def _asked(
    name: str,
    kind: str,
    folders: Mapping[str, Path],
    items: Callable[[Run], Iterator[Item]],
    gives: Capability,
) -> RunPlan:
    """Plan a run of plain questions, answered by log-probabilities if the model gives them."""
    answering: Answering = "choose" if covers(gives, "choices") else "write"
    return RunPlan(
        name,
        kind,
        {"data": {split: str(folder.absolute()) for split, folder in folders.items()}, "gives": gives},
        items,
        partial(ask_measurer, answering=answering),
    )


def _edits(name: str, folders: Mapping[str, Path], *, gives: Capability, seed: int) -> RunPlan:
    """Plan a run on the relational scenes of data sets, unedited and edited, by split."""
    from theodolite.instruments.grid.questions import EDITS_RUN

    def edited() -> Iterator[Item]:
        for split, folder in folders.items():
            yield from _edited_items(folder, split, seed)

    def items(run: Run) -> Iterator[Item]:
        return with_repeats(edited(), lambda item: item.truth.is_plain, model=run.info.model)

    return _asked(name, EDITS_RUN, folders, items, gives)


def _edited_items(folder: Path, split: str, seed: int) -> Iterator[Item]:
    from theodolite.instruments.grid.data.question_types import BUCKETS
    from theodolite.instruments.grid.questions import ExplainPlan, plan_edits, prepare

    data = prepare(ExplainPlan(str(folder), ()))
    rows = [row for row in data.chosen.tolist() if BUCKETS[int(data.batch.bucket[row])].is_relational]
    if not rows:
        raise UsageError(f"{folder} has no scene with a relation; make some of depth one or more")
    names = [f"{split}/{data.names[row]}" for row in rows]
    yield from plan_edits(data.batch.take(np.array(rows)), names, split=split, seed=seed)


def _anchors(study: Study, n: int, gives: Capability) -> RunPlan:
    """Plan a run of questions with several anchors."""
    from theodolite.instruments.grid.data.files import write_grids
    from theodolite.instruments.grid.questions import (
        ANCHOR_BUCKETS,
        ANCHORS_RUN,
        ExplainPlan,
        plan_anchors,
        prepare,
    )

    folder = made(
        study.place("grid-anchors"), partial(write_grids, n=n, seed=study.seed, buckets=ANCHOR_BUCKETS)
    )

    def items(_: Run) -> Iterator[Item]:
        data = prepare(ExplainPlan(str(folder), ()))
        yield from plan_anchors(data.batch, [f"free/{name}" for name in data.names])

    return _asked("grid-anchors", ANCHORS_RUN, {"free": folder}, items, gives)


def _explained(name: str, folder: Path, *, gives: Capability, budget: int, seed: int) -> RunPlan:
    """Plan a run with every explainer that the model supports; `budget` is model calls per scene."""
    from theodolite.instruments.grid.experiments.map_quality import EXPLAINERS, needs_gradients
    from theodolite.instruments.grid.explainers.readers import CoreReader
    from theodolite.instruments.grid.measure import ExplainMeasurer, explain_factory
    from theodolite.instruments.grid.questions import EXPLAIN_RUN, ExplainPlan, plan_explanations

    wanted = tuple(
        explainer for explainer in EXPLAINERS if gives == "gradients" or not needs_gradients(explainer)
    )
    plan = ExplainPlan(str(folder.absolute()), wanted, budget, pool=_POOL, seed=seed)
    return RunPlan(
        name,
        EXPLAIN_RUN,
        plan.settings(),
        lambda _: plan_explanations(plan),
        lambda model: ExplainMeasurer(CoreReader(cast("Any", model)), plan),
        partial(explain_factory, plan=plan),
        calls=budget,
    )
