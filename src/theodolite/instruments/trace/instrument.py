"""The trace instrument behind the `Instrument` type."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, cast

from theodolite import __version__
from theodolite.core.errors import UsageError
from theodolite.core.files import Problem, counted_problems, whole_folder
from theodolite.core.options import (
    BESIDE,
    CACHE,
    DATA,
    IMAGES,
    MAX_TOKENS,
    NEW_FOLDER,
    RUN,
    RUNS,
    Figures,
    Option,
    Options,
    PlanChoice,
    Seed,
    limit_of,
    out_of,
    size_of,
)
from theodolite.core.scores import OWN_SPLIT, Capability, ItemScore, Signature
from theodolite.core.tables import Cell, Column, Table
from theodolite.core.types import Item
from theodolite.instruments.instrument import (
    Instrument,
    Messages,
    Outcome,
    PlannedCost,
    RecordedModel,
    Reference,
    RunOptions,
    RunPlan,
    Study,
    UserData,
    Verb,
    check_distinct,
    first_keys,
    has_file,
    made,
    named_runs,
)
from theodolite.instruments.trace.formulas.sgr import Counting, Handling
from theodolite.instruments.trace.formulas.tcs import SENTENCE_MODEL
from theodolite.instruments.trace.questions import STYLES
from theodolite.models import ask_measurer
from theodolite.pairs.outcomes import with_repeats
from theodolite.runs import Price, Run
from theodolite.worlds.episodes import FAMILIES, Family

if TYPE_CHECKING:
    from theodolite.instruments.instrument import View
    from theodolite.instruments.trace.data.dataset import EpisodeSet
    from theodolite.instruments.trace.experiments.grounding import RunGroups, ScoredTraces
    from theodolite.instruments.trace.experiments.predict import ModelRow
    from theodolite.instruments.trace.score import TraceScoreOptions
    from theodolite.worlds.episodes import Episode

__all__ = [
    "VERBS",
    "TraceRun",
    "plan_relevance",
    "plan_traces",
]


# What can be done with traces: make and import episodes, run, score, audit, figures of both.


RUN_TABLES = ("claims", "pooled", "verbosity", "conditions", "controls", "calibration")
VERIFY_TABLES = ("steps", "claims", "pooled")

EPISODES = DATA.but(help="The episodes. For a run, only needed if they have moved.")
VERIFIER = Option(
    "The verifier that judges the claims, such as annotation; see `theodolite list verifiers`.",
    metavar="NAME",
)
EXTRACTED_BY = Option(
    "What finds the claims: rules, spacy:NAME or model:MODEL; see `theodolite list extractors`.",
    metavar="NAME",
    completion="extractor",
)
SENTENCES = Option(
    "The sentence model of TCS, equation 2: a folder or an OWNER/NAME on the Hugging Face hub.",
    metavar="NAME",
)
_SOURCES = Option("Traces in JSONL files, or run folders.", metavar="TRACES…", is_argument=True)


@dataclass(frozen=True, kw_only=True)
class Helping(PlanChoice):
    """The options of commands in which models may read or judge claims."""

    cache: Annotated[
        Path | None,
        CACHE.but(
            help="Keep answers of models that read or judge claims in this folder. Default: that of the run."
        ),
    ] = None
    budget: Annotated[
        int | None,
        Option(
            "Ask models that read or judge claims at most N times; the rest stays undecided.",
            metavar="N",
            least=0,
        ),
    ] = None


def _with_helpers(
    options: Helping,
    messages: Messages,
    compute: Callable[[], Outcome],
    *,
    folder: Path | None = None,
    preview: Callable[[], object] | None = None,
    after: Callable[[Outcome], Sequence[str]] = lambda _: (),
) -> Outcome:
    """Compute an outcome with models that help, or say what they would be asked.

    Args:
        options: Cache, budget, and whether to plan only.
        messages: Told how far the requests are.
        compute: Writes nothing, so that it can be repeated.
        folder: Where answers are kept if no other folder is named.
        preview: Also computed for a plan: what is asked once the first answers are known.
        after: Writes what is written, with the same helpers; what it returns is said.
    """
    from theodolite.instruments.trace import helpers
    from theodolite.instruments.trace.score import forget_runs

    if options.price and not options.plan:
        raise UsageError("--price is for --plan")
    price = Price.parse(options.price) if options.price else None
    desk = helpers.Desk(options.cache or folder, options.budget, progress=messages.progress)
    with helpers.at_desk(desk):
        if options.plan:
            costs = helpers.collected(*filter(None, (compute, preview)))
            forget_runs()
            by_model = {name: {"trace": cost} for name, cost in costs.items()}
            said = (
                []
                if by_model
                else ["no model is asked to read or judge claims, or all its answers are known"]
            )
            return Outcome(plan=PlannedCost(by_model, price), notes=said)
        outcome = helpers.settled(compute, forget_runs)
        written = after(outcome)
    messages.notes(written)
    if desk.refused:
        forget_runs()  # what was not asked may be asked next time
        messages.note(
            f"{desk.refused} requests were not sent, since the budget was spent; what they are about is undecided"
        )
    if desk.asked:
        messages.note(f"models that read or judge claims were asked {desk.asked:,} times")
    return outcome


# Episodes: made, edited, imported, audited.


@dataclass(frozen=True, kw_only=True)
class MakeEpisodes(Options):
    """What `theodolite trace make` takes."""

    out: Annotated[Path, NEW_FOLDER]
    world: Annotated[
        Literal["video", "navigation", "instruction", "miniworld", "stories"],
        Option(
            "Clips with events, walks, or missions; miniworld needs OpenGL; stories are short, and what pocket: twins know."
        ),
    ] = "video"
    size: Annotated[int, size_of("episodes per split")] = 20
    seed: Seed = 0
    of: Annotated[
        Path | None,
        Option("In place of new episodes: edits of these, each with its new ground truth.", metavar="DATA"),
    ] = None
    families: Annotated[
        tuple[Family, ...],
        Option(f"With --of: some of {', '.join(FAMILIES)}.", can_be_empty=False),
    ] = FAMILIES
    magnitudes: Annotated[
        tuple[float, ...],
        Option("With --of: the strength of edits, each in (0, 1].", can_be_empty=False),
    ] = (0.5,)
    limit: Annotated[int | None, limit_of("episodes, with --of")] = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if not all(0 < value <= 1 for value in self.magnitudes):
            listing = ", ".join(f"{value:g}" for value in self.magnitudes)
            raise UsageError(f"--magnitudes takes numbers in (0, 1], separated by commas, not {listing!r}")


def make_episodes(options: MakeEpisodes, messages: Messages) -> Outcome:
    """Make episodes with exact ground truth, in distribution and out of distribution, and audit them; or edit some (--of)."""
    from theodolite.instruments.trace.data.dataset import EpisodeManifest, write_episodes
    from theodolite.worlds.stories import make_world

    if options.of is not None:
        return _edit_episodes(options, options.of, messages)
    world, size, seed = options.world, options.size, options.seed
    episodes = _stories(size, seed) if world == "stories" else make_world(world, size, seed=seed)

    def counted() -> Iterator[Episode]:
        for n, episode in enumerate(episodes, 1):
            messages.progress("making episodes", n, max(n, 2 * size))
            yield episode

    manifest = EpisodeManifest(
        world=world,
        n_episodes=0,
        licence="CC0-1.0",
        source=f"theodolite trace make --world {world} --size {size} --seed {seed}",
        seed=seed,
        settings={"world": world, "n": size, "seed": seed, "version": __version__},
    )
    with whole_folder(options.out) as draft:
        write_episodes(counted(), draft, manifest=manifest)
    return audit_episodes(AuditEpisodes(data=options.out, seed=seed), messages)


def _stories(size: int, seed: int) -> Iterator[Episode]:
    """Yield episodes like those that the shipped twins learnt, with their edits."""
    from theodolite.instruments.trace.data.stories import episodes, with_edits

    return with_edits(episodes(size, seed=seed), seed=seed)


def _edit_episodes(options: MakeEpisodes, data: Path, messages: Messages) -> Outcome:
    """Edit episodes. Each edit has its new ground truth, and the id of the episode that it was made from."""
    from theodolite.instruments.trace.data.dataset import EpisodeManifest, read_episodes, write_episodes
    from theodolite.instruments.trace.experiments.grounding import problem_tables
    from theodolite.worlds.stories import perturbed

    families, magnitudes = options.families, list(dict.fromkeys(options.magnitudes))
    stored = read_episodes(data)
    base = [episode for episode in stored.episodes if episode.edit is None][: options.limit]
    if not base:
        raise UsageError(f"{data} has only edited episodes; use those that they were made from")
    _check_empty(options.out)
    done: Counter[tuple[str, bool]] = Counter()
    problems: list[Problem] = list(stored.problems)
    jobs = [(episode, family, value) for episode in base for family in families for value in magnitudes]

    def edited() -> Iterator[Episode]:
        yield from base
        for n, (episode, family, magnitude) in enumerate(jobs, 1):
            new = None
            try:
                new = perturbed(episode, family, magnitude=magnitude, seed=options.seed)
            except UsageError as error:
                problems.append(Problem(episode.id, str(error)))
            done[family, new is not None] += 1
            messages.progress("editing episodes", n, len(jobs))
            if new is not None:
                yield new

    written = {
        "families": "all" if families == FAMILIES else ",".join(families),
        "magnitudes": ",".join(f"{value:g}" for value in options.magnitudes),
    }
    words = " ".join(f"--{name} {value}" for name, value in written.items())
    manifest = EpisodeManifest(
        world=base[0].world,
        n_episodes=0,
        source=f"theodolite trace make --of {data} {words} --seed {options.seed}",
        seed=options.seed,
        settings={"families": families, "magnitudes": magnitudes, "of": str(data), "version": __version__},
    )
    write_episodes(edited(), options.out, manifest=manifest)
    title = f"{len(base)} episodes and their edits in {options.out}"
    table = _edits_table(done, families, title=title)
    return Outcome([table, *problem_tables(problems)], {"folder": str(options.out)})


def _edits_table(done: Counter[tuple[str, bool]], families: Sequence[str], *, title: str) -> Table:
    """Build the table of edits, one row per family."""
    columns = [
        Column("family", "edit"),
        Column("made", "made", "count"),
        Column("impossible", "impossible", "count"),
    ]
    rows: list[list[Cell]] = [[family, done[family, True], done[family, False]] for family in families]
    return Table.of("trace.made_edits", title, columns, rows)


@dataclass(frozen=True, kw_only=True)
class AuditEpisodes(Options):
    """What `theodolite trace audit` takes."""

    data: Annotated[Path, DATA.but(help="The episodes.", metavar="DATA", is_argument=True)]
    tables: Annotated[
        tuple[Literal["alignment"], ...],
        Option("More tables: alignment (how often steps are aligned with the right frames, by cue)."),
    ] = ()
    verifier: Annotated[str, VERIFIER] = "annotation"
    seed: Seed = 0


def audit_episodes(options: AuditEpisodes, messages: Messages) -> Outcome:
    """Check that the splits share nothing and are equally hard (status 1 if not), and how well a verifier judges them."""
    from theodolite.instruments.trace.data.dataset import audit_table, audit_world, read_episodes
    from theodolite.instruments.trace.experiments.alignment import alignment_table, score_alignment
    from theodolite.instruments.trace.experiments.calibration import calibrate, calibration_table
    from theodolite.instruments.trace.experiments.grounding import problem_tables
    from theodolite.instruments.trace.helpers import settled
    from theodolite.instruments.trace.verifiers.judging import open_verifier

    data, seed = options.data, options.seed
    stored = read_episodes(data)
    tables, is_sound = [], True
    if len({episode.split for episode in stored.episodes if episode.edit is None}) > 1:
        result = audit_world(stored.episodes, seed=seed)
        title = f"{result.world}: {result.n_in_distribution} episodes in-distribution, {result.n_ood} ood, in {data}"
        tables.append(audit_table(result, title=title))
        is_sound = result.is_sound
    else:
        messages.note(f"{data} has one split, so there are no two to compare")
    verifier = open_verifier(options.verifier)
    found = settled(lambda: calibrate(verifier, stored.episodes))
    tables.append(calibration_table([found]))
    if options.tables:
        tables.append(alignment_table(score_alignment(stored.episodes, seed=seed)))
    tables += problem_tables([*stored.problems, *found.problems])
    return Outcome(tables, {"data": str(data), "is_sound": is_sound}, is_good=is_sound)


@dataclass(frozen=True, kw_only=True)
class ImportEpisodes(Options):
    """What `theodolite trace import` takes."""

    format: Annotated[Literal["star", "r2r", "teach", "videos"], Option("The format of the data.")]
    data: Annotated[Path, DATA]
    out: Annotated[Path, NEW_FOLDER]
    images: Annotated[Path | None, IMAGES.but(help="The folder with the pictures (STAR, TEACh).")] = None
    classes: Annotated[Path | None, Option("The names of labels (STAR).")] = None
    video_fps: Annotated[
        str | None,
        Option(
            "Frames per second (STAR): its file video_fps, JSON by video, or one number. Default: video_fps in --classes.",
            metavar="FILE|NUMBER",
        ),
    ] = None
    frames: Annotated[
        int, Option("Number of frames of a video, if its line does not list them.", least=1)
    ] = 8


def import_episodes(options: ImportEpisodes, messages: Messages) -> Outcome:  # noqa: ARG001 - it has no steps
    """Import STAR, R2R or TEACh as published, or your own videos.

    Videos are listed in a JSONL file: {"id": "c1", "video": "c1.mp4", "task": "What falls?"}.
    """
    from tempfile import TemporaryDirectory

    from theodolite.instruments.trace.data.dataset import EpisodeManifest, contents_table, write_episodes
    from theodolite.instruments.trace.data.sources.r2r import read_r2r
    from theodolite.instruments.trace.data.sources.star import read_star
    from theodolite.instruments.trace.data.sources.teach import read_teach
    from theodolite.instruments.trace.data.sources.videos import read_videos
    from theodolite.instruments.trace.experiments.grounding import problem_tables

    form, data, images = options.format, options.data, options.images
    _check_empty(options.out)
    with TemporaryDirectory() as kept:
        if form == "star":
            episodes: EpisodeSet = read_star(
                data, frames=images, classes=options.classes, video_fps=options.video_fps
            )
        elif form == "r2r":
            episodes = read_r2r(data)
        elif form == "teach":
            episodes = read_teach(data, images=images)
        else:
            episodes = read_videos(data, kept, n_frames=options.frames)
        about = EpisodeManifest(world=form, n_episodes=0, source=f"{form}: {data.name}")
        write_episodes(episodes.episodes, options.out, manifest=about)
    contents = contents_table(episodes.episodes, title=f"{form} in {options.out}")
    return Outcome([contents, *problem_tables(episodes.problems)], {"folder": str(options.out)})


def _check_empty(folder: Path) -> None:
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise UsageError(f"{folder} is not empty; choose another --out")


# Run.


@dataclass(frozen=True, kw_only=True)
class TraceRun(RunOptions):
    """Settings of a run of traces."""

    data: Annotated[
        Path | None, DATA.but(help="Your own episodes. Default: as in a diagnosis.", stored="always")
    ] = None
    styles: Annotated[
        tuple[str, ...],
        Option(f"Some of {', '.join(STYLES)}; the first is the reference.", stored="always"),
    ] = ("structured",)
    paraphrase: Annotated[bool, Option("Also ask every question after another introduction.")] = False
    max_frames: Annotated[int | None, Option("Show at most this many frames.", least=1, stored="always")] = (
        None
    )
    max_tokens: Annotated[int, MAX_TOKENS] = 1024
    verifier: Annotated[str, VERIFIER] = "annotation"
    extractor: Annotated[str, EXTRACTED_BY] = "rules"
    sentence_model: Annotated[str, SENTENCES] = SENTENCE_MODEL
    relevance: Annotated[
        bool,
        Option(
            "In place of answers, measure the share of attention and gradient on the frames, for white-box models; `trace "
            "predict` takes the run as well."
        ),
    ] = False

    def __post_init__(self) -> None:
        super().__post_init__()
        chosen = tuple(dict.fromkeys(self.styles))  # in their order: the first is the reference
        if not chosen or set(chosen) - set(STYLES):
            raise UsageError(f"--styles takes some of {', '.join(STYLES)}, not {','.join(self.styles)!r}")
        object.__setattr__(self, "styles", chosen)


def plan_traces(study: Study, options: TraceRun, data: Path) -> RunPlan:
    """Plan a run that asks a model to reason about episodes."""
    from theodolite.instruments.trace import questions
    from theodolite.instruments.trace.claims.extractors import open_extractor
    from theodolite.instruments.trace.data.dataset import read_episodes
    from theodolite.instruments.trace.score import TraceScoreOptions
    from theodolite.instruments.trace.verifiers.judging import open_verifier

    open_verifier(options.verifier)  # fail before anything is asked if a name is unknown
    open_extractor(options.extractor)
    episodes = read_episodes(data).episodes
    wordings: Any = ["original", "paraphrased"] if options.paraphrase else ["original"]
    styles: Any = list(options.styles)
    items = list(
        questions.plan_traces(
            episodes,
            styles=styles,
            wordings=wordings,
            max_frames=options.max_frames,
            max_tokens=options.max_tokens,
        )
    )
    scoring = TraceScoreOptions(
        options.verifier, options.extractor, sentence_model=options.sentence_model, seed=study.seed
    )
    return RunPlan(
        "",
        "trace",
        {**options.stored(), "wordings": wordings},
        lambda _: items,
        ask_measurer,
        notes=(
            *_bare(questions.without_pictures(episodes), len(episodes)),
            *_unlearnt(study.model, episodes),
        ),
        tables=partial(_settled_tables, scoring),
    )


def _settled_tables(scoring: TraceScoreOptions, run: Run) -> list[Table]:
    """Return the tables of a run, once models that read or judge claims have answered; their answers are kept in the run."""
    from theodolite.instruments.trace import helpers
    from theodolite.instruments.trace.experiments.grounding import run_tables
    from theodolite.instruments.trace.score import forget_runs

    with helpers.at_desk(helpers.Desk(run.folder)):
        return helpers.settled(lambda: run_tables(run, options=scoring), forget_runs)


def _bare(bare: Sequence[Episode], n: int) -> list[str]:
    """Return a note on the episodes that have no picture."""
    if not bare:
        return []
    named = ", ".join(episode.id for episode in bare[:3]) + (", …" if len(bare) > 3 else "")
    return [f"{len(bare)} of {n} episodes have no picture and are not asked about: {named}"]


def _unlearnt(model: str, episodes: Sequence[Episode]) -> list[str]:
    """Return a note if a shipped twin is asked about a kind of episode that it was not trained on."""
    from theodolite.instruments.trace.data.stories import is_story

    unknown = sum(not is_story(episode) for episode in episodes)
    if not model.startswith("pocket:") or not unknown:
        return []
    return [
        (
            f"{model} never learnt {unknown} of these {len(episodes)} episodes, so its answers to them mean nothing;"
            " `theodolite trace make --world stories` makes what it knows"
        )
    ]


def plan_relevance(study: Study, options: TraceRun, data: Path) -> RunPlan:  # noqa: ARG001 - every planner's signature
    """Plan a run that measures the share of attention and gradient on the frames."""
    from theodolite.instruments.trace.data.dataset import read_episodes
    from theodolite.instruments.trace.experiments import relevance

    episodes = read_episodes(data).episodes
    items = list(relevance.plan_relevance(episodes))
    left_out = sum(episode.edit is None for episode in episodes) - len(items)
    notes = _unlearnt(study.model, episodes)
    if left_out:
        notes.append(f"{left_out} episodes without pictures or options are left out")
    return RunPlan(
        "",
        relevance.INSTRUMENT,
        {"data": str(data.absolute())},
        lambda _: items,
        relevance.RelevanceMeasurer,
        notes=tuple(notes),
        tables=lambda run: [relevance.relevance_table(run)],
    )


# Score.


@dataclass(frozen=True, kw_only=True)
class Judging(Helping):
    """Settings of judging and counting."""

    extractor: Annotated[str, EXTRACTED_BY] = "rules"

    unverifiable: Annotated[Handling, Option("How to count claims that cannot be judged.")] = "exclude"
    count: Annotated[
        Literal["whole", "every"],
        Option("Count only the largest claims (as in the paper), or every one."),
    ] = "whole"
    guesses: Annotated[
        Literal["abstract", "stated"],
        Option("Treat hedged claims as not verifiable, or judge them as stated."),
    ] = "abstract"
    tau: Annotated[
        float,
        Option(
            "Two beliefs above this similarity are the same (TCS, equation 2); see `trace calibrate`.",
            least=-1,
            most=1,
        ),
    ] = 0.8
    sentence_model: Annotated[str, SENTENCES] = SENTENCE_MODEL
    seed: Seed = 0

    def scoring(self, verifier: str, also_by: tuple[str, ...] = ()) -> TraceScoreOptions:
        """Return these settings as options for scoring."""
        from theodolite.instruments.trace.score import TraceScoreOptions

        hedges: Any = "as stated" if self.guesses == "stated" else "abstract"
        counting = Counting(self.unverifiable, self.count)
        return TraceScoreOptions(
            verifier,
            self.extractor,
            counting,
            hedges,
            self.tau,
            self.sentence_model,
            also_by=also_by,
            seed=self.seed,
        )


@dataclass(frozen=True, kw_only=True)
class ScoreTraces(Judging):
    """What `theodolite trace score` takes."""

    runs: Annotated[tuple[Path, ...], RUNS]
    data: Annotated[Path | None, EPISODES] = None
    verifier: Annotated[str, VERIFIER] = "annotation"
    also_by: Annotated[tuple[str, ...], Option("More verifiers, for the table of conditions.")] = ()
    tables: Annotated[
        tuple[str, ...], Option(f"More tables: {', '.join(RUN_TABLES)}, or all.", known=RUN_TABLES)
    ] = ()
    figures: Figures = None
    beside: Annotated[tuple[Path, ...], BESIDE] = ()


def score_traces(options: ScoreTraces, messages: Messages) -> Outcome:
    """Score a run from its stored answers, or compare several models in one table (Table 1).

    The models of the runs are not called; others are if they read (--extractor) or judge (--verifier) claims.
    """
    runs, extra = options.runs, options.tables
    if options.beside and options.figures is None:
        raise UsageError("--beside adds other runs to the figures: also give a folder with --figures")
    how = options.scoring(options.verifier, options.also_by)
    if options.also_by and "conditions" not in extra:
        extra = (*extra, "conditions")
    if len(runs) > 1 and (options.beside or options.figures is not None or extra):
        raise UsageError("figures and further tables are of one run: give a single one")
    compute = partial(_scored, runs, how, options.data, extra)
    by_rules = partial(_scored, runs, replace(how, extractor="rules"), options.data, extra)
    return _with_helpers(
        options,
        messages,
        compute,
        folder=runs[0],
        preview=by_rules if options.extractor != "rules" else None,
        after=partial(_write_scores, options, how),
    )


def _write_scores(options: ScoreTraces, how: TraceScoreOptions, outcome: Outcome) -> list[str]:
    """Write the tables of one run into it, and draw its figures."""
    if len(options.runs) > 1:
        return []
    with Run.open(options.runs[0], writable=True) as run:
        run.write_tables(outcome.tables)
    if options.figures is None:
        return []
    return [_draw(options.runs[0], options.beside, how, options.data, options.figures)]


def _scored(runs: Sequence[Path], how: TraceScoreOptions, data: Path | None, extra: Sequence[str]) -> Outcome:
    """Return the tables of one run, or of several side by side."""
    from theodolite.instruments.trace.experiments.grounding import run_tables

    if len(runs) > 1:
        tables = _table1(runs, how, data)
        return Outcome(tables, {"runs": [str(run) for run in runs], "instrument": "trace"})
    with Run.open(runs[0], writable=True) as run:
        tables = run_tables(run, data=data, options=how, extra=extra)
        return Outcome(tables, {"run": str(runs[0]), "instrument": "trace", "model": run.info.model})


def _table1(runs: Sequence[Path], options: TraceScoreOptions, data: Path | None) -> list[Table]:
    """Build Table 1 of several runs, each in its first prompt style."""
    from theodolite.instruments.trace.experiments.grounding import RunGroups, ScoredTraces, model_tables

    models: dict[str, RunGroups] = {}
    for name, folder in named_runs(runs):
        with Run.open(folder) as run:
            scored = ScoredTraces(run, data=data, options=options)
        style = (scored.read.styles or [""])[0]
        models[name] = RunGroups(name, [group for group in scored.groups if group.labels[0] == style])
    return model_tables(list(models.values()))


def _draw(
    folder: Path, beside: Sequence[Path], options: TraceScoreOptions, data: Path | None, figures: Path
) -> str:
    """Draw the figures of a run beside others, and return a note on how many."""
    from theodolite.instruments.trace.experiments.grounding import ScoredTraces
    from theodolite.instruments.trace.figures import draw_runs

    scored: dict[str, ScoredTraces] = {}
    for name, run_folder in named_runs([folder, *beside]):
        with Run.open(run_folder) as run:
            scored[name] = ScoredTraces(run, data=data if run_folder == folder else None, options=options)
    return _drawn(draw_runs(scored, figures), figures)


def _drawn(paths: Sequence[Path], folder: Path) -> str:
    """Return a note on how many figures were drawn."""
    return f"drew {len(paths)} figures into {folder}" if paths else "there is nothing to draw"


# Stored traces: judged, exported, labelled.


@dataclass(frozen=True, kw_only=True)
class VerifyTraces(Judging):
    """What `theodolite trace verify` takes."""

    traces: Annotated[tuple[Path, ...], _SOURCES.but(can_be_empty=False)]
    data: Annotated[Path | None, EPISODES] = None
    verifier: Annotated[
        tuple[str, ...],
        VERIFIER.but(
            help="The verifier that judges the claims. Default: annotation. Repeat it to compare verifiers.",
            repeats=True,
        ),
    ] = ()
    flip: Annotated[
        tuple[float, ...],
        Option("Also flip these fractions of verdicts, such as 0.02,0.05,0.1.", metavar="RATES"),
    ] = ()
    claims: Annotated[bool, Option("Only extract the claims, without judging them.")] = False
    ablate: Annotated[
        bool,
        Option(
            "Remove parts of the pipeline, singly and in pairs: SGR, and r and ρ with the whole pipeline. Takes several "
            "sources, one per model."
        ),
    ] = False
    pairs: Annotated[bool, Option("With --ablate: also remove pairs of parts.")] = True
    tables: Annotated[
        tuple[str, ...],
        Option(f"More tables: {', '.join(VERIFY_TABLES)}, or all.", known=VERIFY_TABLES),
    ] = ()
    limit: Annotated[int | None, limit_of("traces")] = None


def verify_traces(options: VerifyTraces, messages: Messages) -> Outcome:
    """Judge stored traces, from a file or a run; or with --ablate, by a pipeline without some of its parts.

    The models that wrote them are not called; others are if they read (--extractor) or judge (--verifier) claims.
    """
    names = options.verifier or ("annotation",)
    if options.ablate:
        return _with_helpers(options, messages, lambda: _ablate(options, names[0]))
    if len(options.traces) > 1:
        raise UsageError("several sources are for --ablate; give a single one")
    (source,) = options.traces
    folder = source if source.is_dir() else None
    compute = partial(_extracted if options.claims else _verified, source, options, names)
    by_rules = partial(_verified, source, replace(options, extractor="rules"), names)
    needs_preview = options.extractor != "rules" and not options.claims
    return _with_helpers(
        options, messages, compute, folder=folder, preview=by_rules if needs_preview else None
    )


def _extracted(source: Path, options: VerifyTraces, _: Sequence[str]) -> Outcome:
    """Return the claims of traces."""
    from theodolite.instruments.trace.experiments.grounding import problem_tables
    from theodolite.instruments.trace.experiments.verify import claim_tables, load_traces

    loaded = load_traces(source, options.data, limit=options.limit, needs_episodes=False)
    listed = "steps" in options.tables
    tables, lost = claim_tables(loaded.traces, extractor=options.extractor, list_steps=listed)
    problems = list(dict.fromkeys([*loaded.problems, *lost]))
    return Outcome([*tables, *problem_tables(problems)], {"traces": str(source)}, loaded.notes)


def _verified(source: Path, options: VerifyTraces, names: Sequence[str]) -> Outcome:
    """Return the tables of traces, judged."""
    from theodolite.instruments.trace.experiments.grounding import problem_tables
    from theodolite.instruments.trace.experiments.verify import load_traces, verify_tables
    from theodolite.instruments.trace.verifiers.judging import open_verifier

    how = options.scoring(names[0])
    opened = [open_verifier(name) for name in names]
    loaded = load_traces(source, options.data, extractor=options.extractor, limit=options.limit)
    tables, problems = verify_tables(loaded, opened, how, rates=list(options.flip), extra=options.tables)
    return Outcome([*tables, *problem_tables(problems)], {"traces": str(source)}, loaded.notes)


def _ablate(options: VerifyTraces, verifier: str) -> Outcome:
    """Measure the pipeline without some of its parts."""
    from theodolite.instruments.trace.experiments.ablation import ablate, ablation_table, across_models
    from theodolite.instruments.trace.experiments.grounding import problem_tables
    from theodolite.instruments.trace.experiments.verify import joined, load_traces
    from theodolite.instruments.trace.verifiers.judging import open_verifier

    check_distinct(options.traces, "a source")
    judge = open_verifier(verifier)
    how: Any = {"pairs": options.pairs, "seed": options.seed}
    parts = [load_traces(source, options.data, extractor=options.extractor) for source in options.traces]
    whole = joined(parts)
    pooled, failed = ablate(whole.traces, whole.episodes, judge, **how)
    models = []
    if len(parts) > 1:
        models = across_models([ablate(part.traces, part.episodes, judge, **how)[0] for part in parts])
    problems = list(dict.fromkeys([*whole.problems, *failed]))
    tables = [ablation_table(pooled, models), *problem_tables(problems)]
    return Outcome(tables, {"verifier": verifier}, whole.notes)


@dataclass(frozen=True, kw_only=True)
class ExportTraces(Options):
    """What `theodolite trace export` takes."""

    run: Annotated[Path, RUN]
    out: Annotated[Path, out_of("The JSONL file of traces to write.", metavar="FILE")]
    data: Annotated[Path | None, EPISODES] = None


def export_traces(options: ExportTraces, messages: Messages) -> Outcome:  # noqa: ARG001 - it is quick
    """Write the answers of a run as a file of traces, which `verify` and `annotate` take."""
    from theodolite.instruments.trace.experiments import verify

    out = options.out
    with Run.open(options.run) as run:
        n = verify.export_traces(run, out, options.data)
        data = options.data or Path(str(run.info.settings["data"]))
    return Outcome(
        values={"traces": str(out), "n": n, "data": str(data)},
        notes=[f"wrote {n} traces to {out}; judge them with `theodolite trace verify {out} --data {data}`"],
    )


@dataclass(frozen=True, kw_only=True)
class LabelClaims(Options):
    """What `theodolite trace annotate` takes."""

    labels: Annotated[
        tuple[Path, ...],
        Option("The labelled files of one or two people.", metavar="[LABELS]…", is_argument=True),
    ] = ()
    traces: Annotated[Path | None, Option("Traces in a JSONL file, or a run folder.")] = None
    data: Annotated[Path | None, EPISODES] = None
    out: Annotated[
        Path | None,
        out_of(
            "Write the claims of some steps for labelling: a page (.html) that saves the labels, or the file itself (.jsonl).",
            metavar="FILE",
        ),
    ] = None
    size: Annotated[int, size_of("steps to write")] = 120
    verifier: Annotated[str, VERIFIER] = "annotation"
    seed: Seed = 0


def label_claims(options: LabelClaims, messages: Messages) -> Outcome:
    """Write claims for people to label (--out), or score their labels.

    With --traces, labels are compared with the verdicts of a verifier on the same traces.
    """
    from theodolite.instruments.trace.experiments import agreement
    from theodolite.instruments.trace.experiments.grounding import problem_tables
    from theodolite.instruments.trace.experiments.verify import LoadedTraces, load_traces
    from theodolite.instruments.trace.verifiers.judging import judge, open_verifier

    labels, traces, out = list(options.labels), options.traces, options.out
    if bool(labels) == (out is not None):
        raise UsageError(
            "give files of labels to score, or --traces RUN --out FILE to write claims for labelling; not both"
        )
    if (out is not None or options.data is not None) and traces is None:
        raise UsageError("give the traces with --traces: a JSONL file, or a run folder")
    if out is not None and out.exists():
        raise UsageError(f"{out} exists already and may hold labels; give another file, or remove it")
    loaded = load_traces(traces, options.data) if traces is not None else LoadedTraces([], {})
    messages.notes(loaded.notes)
    judged = judge(loaded.traces, loaded.episodes, open_verifier(options.verifier))
    if out is not None:
        rows = agreement.label_rows(judged, loaded.episodes, n_steps=options.size, seed=options.seed)
        problems = [*loaded.problems]
        if out.suffix == ".html":
            problems += [Problem(name, why) for name, why in messages.write_labels(rows, out).items()]
        else:
            agreement.write_labels(rows, out)
        values = {"labels": str(out), "claims": len(rows)}
        return Outcome(problem_tables(problems), values, [f"wrote {len(rows)} claims to {out}"])
    scored = agreement.score_labels(labels, judged=judged, seed=options.seed)
    tables = [agreement.labels_table(scored)]
    if len(labels) == 2:
        tables.append(agreement.people_table(scored))
    return Outcome([*tables, *problem_tables([*loaded.problems, *scored.problems])])


# Does grounding predict robustness? And how sure are the verifiers?


@dataclass(frozen=True, kw_only=True)
class PredictRobustness(Options):
    """What `theodolite trace predict` takes."""

    runs: Annotated[
        tuple[Path, ...],
        Option(
            "Scored runs on both splits; runs with --relevance may be among them.",
            metavar="[RUN]…",
            is_argument=True,
        ),
    ] = ()
    table: Annotated[Path | None, Option("Your own table, with shares.", metavar="CSV")] = None
    paper: Annotated[bool, Option("Use Tables 1 to 3 of the paper.")] = False
    matched_within: Annotated[float, Option("Accuracies closer than this count as equal.", least=0)] = 0.01
    baselines: Annotated[
        Path | None,
        Option(
            "More predictors for the runs: columns model, benchmark, and any of attention, gradient …",
            metavar="CSV",
        ),
    ] = None
    figures: Figures = None
    seed: Seed = 0


def predict_from_runs(options: PredictRobustness, messages: Messages) -> Outcome:
    """Test whether grounding predicts robustness: correlations over models, with accuracy as a rival predictor."""
    from theodolite.instruments.trace.experiments import predict
    from theodolite.instruments.trace.figures import draw_prediction

    runs, table, paper = options.runs, options.table, options.paper
    if sum((bool(runs), table is not None, paper)) != 1:
        raise UsageError("give scored runs, or --table, or --paper: exactly one of them")
    if options.baselines is not None and not runs:
        raise UsageError("--baselines needs runs; in a --table, predictors are columns")
    further: list[Table] = []
    if runs:
        rows, further = _rows_of(runs, messages)
    else:
        rows = predict.paper_rows() if table is None else predict.read_model_rows(table)
    if options.baselines is not None:
        rows = predict.add_predictors(rows, options.baselines)
    result = predict.predict_robustness(rows, matched_within=options.matched_within, seed=options.seed)
    if options.figures is not None:
        messages.note(_drawn(draw_prediction(rows, result, options.figures), options.figures))
    tables = [*predict.prediction_tables(result), *further, predict.rows_table(rows)]
    if not paper:
        return Outcome(tables)
    printed = predict.paper_tables()
    note = f"{printed['source']}; the text prints: {_printed(printed['printed'])}"
    return Outcome(tables, {"printed": printed["printed"]}, [note])


def _printed(numbers: Mapping[str, Any]) -> str:
    """Format numbers by name: ``r pooled 0.83, VRS (GPT-4o 6.31)``."""
    return ", ".join(
        f"{name} ({_printed(value)})" if isinstance(value, Mapping) else f"{name} {value}"
        for name, value in numbers.items()
    )


def _rows_of(folders: Sequence[Path], messages: Messages) -> tuple[list[ModelRow], list[Table]]:
    """Return the rows of runs, and the table of how the result depends on the way of measuring."""
    from theodolite.instruments.trace.experiments.predict import read_scored_run, rows_from_runs
    from theodolite.instruments.trace.experiments.robustness import robustness, robustness_table

    check_distinct(folders)
    rows, conditions, why = rows_from_runs([read_scored_run(folder) for folder in folders])
    messages.notes(why)
    kept: dict[str, list[float]] = {}
    for row in rows:
        kept.setdefault(row.model, []).append(row.retention("ratio"))
    means = {model: sum(values) / len(values) for model, values in kept.items()}
    if not conditions:
        return rows, []
    return rows, [robustness_table(robustness(conditions[0], conditions[1:], means))]


@dataclass(frozen=True, kw_only=True)
class CalibrateVerifier(Helping):
    """What `theodolite trace calibrate` takes."""

    verifier: Annotated[
        tuple[str, ...],
        VERIFIER.but(
            help="Try a verifier on true and on false claims about --data: sensitivity, specificity, and what it judges. May be "
            "repeated; --out then writes a panel of them.",
            repeats=True,
        ),
    ] = ()

    pairs: Annotated[
        Path | None,
        Option(
            'For τ: a JSONL file of {"first": …, "second": …, "same": true}.',
            metavar="[PAIRS]",
            is_argument=True,
        ),
    ] = None
    data: Annotated[
        tuple[Path, ...],
        DATA.but(
            help="Annotated episodes, for all but τ; may be repeated, but for a detector.", repeats=True
        ),
    ] = ()
    model: Annotated[
        str, Option("A CLIP checkpoint or hub id. Default: the shipped one.", metavar="FOLDER")
    ] = ""
    detector: Annotated[
        str,
        Option(
            "Measure the recall of a detector, an ONNX file or a Hugging Face checkpoint: `not found` then refutes only objects "
            "that it rarely misses.",
            metavar="PATH",
        ),
    ] = ""
    threshold: Annotated[
        float, Option("With --detector: the lowest score of a detection.", least=0, most=1)
    ] = 0.4
    out: Annotated[
        Path | None,
        out_of(
            "Where to write the panel, the bounds or the recall. Default for bounds: next to the checkpoint of --model.",
            metavar="PATH",
        ),
    ] = None
    error: Annotated[float, Option("Maximum error rate of a bound.", least=0, most=0.5)] = 0.02
    sentence_model: Annotated[str, SENTENCES] = SENTENCE_MODEL
    seed: Seed = 0


def calibrate_verifier(options: CalibrateVerifier, messages: Messages) -> Outcome:
    """Measure verifiers on claims of known truth (--verifier); or calibrate τ of TCS, the CLIP verifier or a detector.

    Without --verifier and --model the shipped CLIP is measured, and nothing is written unless --out is given.
    """
    if (options.pairs is None) == (not options.data):
        raise UsageError(
            "give a file of labelled pairs for τ, or --data with annotated episodes for a verifier"
        )
    if options.verifier:
        return _with_helpers(
            options, messages, partial(_tried, options), after=partial(_write_panel, options)
        )
    if options.detector:
        return _recall(options, messages)
    if options.pairs is not None:
        from theodolite.instruments.trace.experiments.tau import calibrate_tau, read_pairs, tau_table

        tau = calibrate_tau(read_pairs(options.pairs), sentence_model=options.sentence_model)
        return Outcome([tau_table(tau)])
    from theodolite.instruments.trace.data.dataset import read_episodes
    from theodolite.instruments.trace.experiments.grounding import problem_tables
    from theodolite.instruments.trace.verifiers.similarity_calibration import (
        calibrate_checkpoint,
        calibration_table,
    )

    model, out = options.model, options.out
    sets = [read_episodes(path) for path in options.data]
    result, target = calibrate_checkpoint(model, sets, out, error=options.error, seed=options.seed)
    title = f"{model or 'the shipped CLIP'}, against the annotations of {result.n_units} episodes"
    problems = problem_tables([problem for episode_set in sets for problem in episode_set.problems])
    notes = []
    if target is None:
        notes = ["the shipped calibration is not changed; --out PATH writes this one"]
    elif out is not None:
        notes = [f"use it as --verifier 'similarity:{model}?calibration={target}'"]
    return Outcome([calibration_table(result, title=title), *problems], notes=notes)


def _tried(options: CalibrateVerifier) -> Outcome:
    """Try verifiers on claims of known truth."""
    from theodolite.instruments.trace.data.dataset import read_episodes
    from theodolite.instruments.trace.experiments.calibration import calibrate, calibration_table, members_of
    from theodolite.instruments.trace.experiments.grounding import problem_tables
    from theodolite.instruments.trace.verifiers.judging import open_verifier

    verifiers = [open_verifier(name) for name in dict.fromkeys(options.verifier)]
    sets = [read_episodes(path) for path in options.data]
    episodes = [episode for some in sets for episode in some.episodes]
    found = [calibrate(verifier, episodes) for verifier in verifiers]
    problems = [p for some in sets for p in some.problems] + [p for each in found for p in each.problems]
    members = [asdict(member) for member in members_of(found)]
    return Outcome([calibration_table(found), *problem_tables(problems)], {"panel": members})


def _write_panel(options: CalibrateVerifier, outcome: Outcome) -> list[str]:
    """Write the verifiers with their rates, and say how to use them."""
    from theodolite.instruments.trace.verifiers.panel import Member, write_panel

    if options.out is None:
        return []
    write_panel([Member(**member) for member in outcome.values["panel"]], options.out)
    return [f"use them together as --verifier panel:{options.out}"]


def _recall(options: CalibrateVerifier, messages: Messages) -> Outcome:
    """Measure the recall of a detector on annotated episodes."""
    from theodolite.instruments.trace.data.dataset import read_episodes
    from theodolite.instruments.trace.experiments.grounding import problem_tables
    from theodolite.instruments.trace.verifiers.detection import (
        calibrate_recall,
        open_detector,
        recall_table,
        write_recall,
    )

    detector, threshold, out = options.detector, options.threshold, options.out
    if len(options.data) > 1 or out is None:
        raise UsageError("--detector takes one --data, and --out for the recall")
    (data,) = options.data
    episodes, opened = read_episodes(data), open_detector(detector)
    measured = calibrate_recall(opened, episodes.episodes, threshold=threshold)
    problems = [*episodes.problems, *measured.problems]
    if not measured.classes:
        messages.notes(map(str, problems))
        raise UsageError(f"{data} has no readable picture with a box that the detector has a label for")
    try:
        write_recall(measured.classes, out, detector=detector, identity=opened.identity, threshold=threshold)
    except OSError as error:
        raise UsageError(f"cannot write {out}: {error.strerror}") from error
    return Outcome(
        [
            recall_table(measured.classes, title=f"{detector} at {threshold:g}"),
            *problem_tables(problems),
        ],
        {"detector": detector, "threshold": threshold},
        [f"use it as --verifier 'detector:{detector}?threshold={threshold:g}&recall={out}'"],
    )


VERBS: Mapping[str, Verb[Any]] = {
    "make": Verb(MakeEpisodes, make_episodes),
    "import": Verb(ImportEpisodes, import_episodes),
    "score": Verb(ScoreTraces, score_traces),
    "audit": Verb(AuditEpisodes, audit_episodes),
    "verify": Verb(VerifyTraces, verify_traces),
    "export": Verb(ExportTraces, export_traces),
    "annotate": Verb(LabelClaims, label_claims),
    "predict": Verb(PredictRobustness, predict_from_runs),
    "calibrate": Verb(CalibrateVerifier, calibrate_verifier),
}


_EPISODES: Mapping[str, int] = {"quick": 4, "standard": 7, "large": 40}
"""Number of episodes of each world in each split, by size."""
_EPISODES_OF_SIZE = 0.12
"""The same for each item of a size in numbers."""
_MORE_PAIRS = 2
"""Further episodes that are drawn for pairs, as a multiple."""
_PAIRS_OF_EPISODE = 12
"""Relevant pairs for each episode of a world and split: of 12 that are drawn for pairs, those with a fitting edit,
and again those about sides with the two things exchanged."""
_PAIR_SEEDS = 100_000
"""The episodes of pairs have seeds above it, the others below."""
_REPEATS = 12
"""Requests that are made again, of each split: traces are long."""
_MAX_TOKENS = 320
"""The longest response: four frames in a few short sentences each."""


class TraceInstrument(Instrument):
    """Is each step of the reasoning supported by the frames, and does that predict robustness?"""

    name = "trace"
    question = "Is each step of its reasoning supported by the frames?"
    run_kinds = ("trace", "trace-pairs")
    takes = "episodes made by `theodolite trace make` or `theodolite trace import`, or a log of traces beside its episodes"
    run_options = TraceRun
    run_help = "Ask a model to reason about episodes, store every answer, and score."
    makes_data_slowly = True

    def verbs(self) -> Mapping[str, Verb[Any]]:
        """Return the verbs: make and import episodes, score, audit; and judge, export, label, predict, calibrate."""
        return VERBS

    def plan(self, study: Study, gives: Capability) -> Iterator[RunPlan]:
        """Yield the runs: episodes of every split with their edits, each again without its frames; pairs; and the user's own."""
        asked = study.options
        if isinstance(asked, TraceRun) and asked.data is not None:
            yield (plan_relevance if asked.relevance else plan_traces)(study, asked, asked.data)
            return
        from theodolite.instruments.trace.data.stories import write_pairs, write_stories

        for write, sets in ((write_stories, _sets(study)), (write_pairs, _pair_sets(study))):
            for folder, split, n, seed in sets:
                made(folder, partial(write, split=cast("Any", split), n=n, seed=seed))
        folders = {split: folder for folder, split, _, _ in _sets(study)}
        if study.data is not None and study.data.form == "episodes":
            folders[OWN_SPLIT] = study.data.path
        for split, folder in folders.items():
            yield _run_plan(f"trace-{split.replace(' ', '-')}", folder, split=split)
        for folder, split, _, _ in _pair_sets(study):
            yield _run_plan(f"trace-pairs-{split}", folder, split=split, are_pairs=True)

    def score(self, run: Run) -> list[ItemScore]:
        """Compute every metric of every episode; nothing for pairs."""
        from theodolite.instruments.trace.score import item_scores

        return item_scores(run) if run.info.instrument == self.name else []

    def tables(self, run: Run) -> list[Table]:
        """Return the tables of grounding, consistency and edits; none for pairs."""
        from theodolite.instruments.trace.experiments.grounding import run_tables

        return run_tables(run) if run.info.instrument == self.name else []

    def view(self, run: Run) -> View:
        """Return the steps of each item with their claims and the verdict on each."""
        from theodolite.instruments.trace.score import view_of

        return view_of(run)

    def signatures(
        self, folders: Sequence[Path], scores: Sequence[ItemScore], *, seed: int
    ) -> list[Signature]:
        """Return temporal drift and language prior."""
        from theodolite.instruments.trace.score import trace_signatures

        return trace_signatures(folders, scores, seed=seed)

    def references(self) -> Iterator[Reference]:
        """Yield the lowest and the highest of the paper's eight models on STAR."""
        from theodolite.instruments.trace.experiments.predict import paper_rows

        rows = [row for row in paper_rows() if row.benchmark == "STAR"]
        for key in ("sgr", "hr", "tcs"):
            ordered = sorted(rows, key=lambda row: row.predictors[key])
            for row, word in ((ordered[0], "lowest"), (ordered[-1], "highest")):
                description = f"{row.model} on {row.benchmark}, the {word} of {len(rows)} models"
                yield Reference(
                    f"trace.{key}", round(row.predictors[key], 4), description, "step grounding, Table 1"
                )

    def describe(self, study: Study) -> str:
        """Return a description of what a study asks about."""
        own = f"; and {study.data.words}" if study.data else ""
        n = 6 * _episodes(study.size)
        return f"{n} drawn stories of four frames, with their edits, half of them against the shortcut{own}"

    def find_data(self, path: Path, images: Path | None) -> UserData | None:
        """Find episodes in a file or folder, or a log of traces beside its episodes."""
        if path.is_dir():
            if not has_file(path, "episodes.jsonl"):
                return None
            logs = tuple(
                log for log in sorted(path.glob("*.jsonl")) if log.name != "episodes.jsonl" and _is_log(log)
            )
            return UserData("trace", "episodes", path, logs=logs)
        if path.suffix != ".jsonl":
            return None
        if path.name == "episodes.jsonl" or {"task", "frames"} <= first_keys(path):
            return UserData("trace", "episodes", path)
        if not _is_log(path):
            return None
        if not (path.parent / "episodes.jsonl").is_file():
            raise UsageError(
                f"{path} holds traces, but {path.parent} has no episodes.jsonl with their frames; put it there "
                "(`theodolite trace import` makes it from STAR, R2R and TEACh)"
            )
        return UserData("trace", "traces", path.parent, logs=(path,))

    def unused(self, study: Study) -> Mapping[str, int]:
        """Return the number of invalid lines of a data set."""
        from theodolite.instruments.trace.data.dataset import read_episodes

        return counted_problems(read_episodes(study.data.path).problems) if study.data is not None else {}

    def size_for(self, pairs: int) -> int:
        """Return the smallest size with that many pairs."""
        return math.ceil(math.ceil(pairs / _PAIRS_OF_EPISODE) / _EPISODES_OF_SIZE)

    def recorded_models(self, data: UserData) -> list[RecordedModel]:
        """Return the models of the logs."""
        from theodolite.instruments.trace.data.traces import logged_models, write_log_run

        return [
            RecordedModel(model.name, model.identity, partial(write_log_run, model, data))
            for model in logged_models(data)
        ]


TRACE = TraceInstrument()


def _episodes(size: str | int) -> int:
    return _EPISODES[size] if isinstance(size, str) else max(2, round(_EPISODES_OF_SIZE * size))


def _sets(study: Study) -> list[tuple[Path, str, int, int]]:
    """Return folder, split, number of episodes per world, and seed of every data set.

    Episodes are named by their seed, and equal names would be one cluster, so each split has its own seed.
    """
    n, splits = _episodes(study.size), study.splits
    return [
        (study.place(f"trace-{split}"), split, n, len(splits) * study.seed + index)
        for index, split in enumerate(splits)
    ]


def _pair_sets(study: Study) -> list[tuple[Path, str, int, int]]:
    """Return the same for the data sets of pairs."""
    n, splits = _MORE_PAIRS * _episodes(study.size), study.splits
    return [
        (study.place(f"trace-pairs-{split}"), split, n, _PAIR_SEEDS + len(splits) * study.seed + index)
        for index, split in enumerate(splits)
    ]


def _is_log(path: Path) -> bool:
    keys = first_keys(path)
    ours = "episode" in keys and bool({"text", "steps", "reasoning"} & keys)
    return ours or {"question_id", "object_descriptions"} <= keys


def _run_plan(name: str, folder: Path, *, split: str, are_pairs: bool = False) -> RunPlan:
    """Plan a run on episodes with their edits; unless they are for pairs alone, each again without its frames."""
    from theodolite.instruments.trace.data.dataset import read_episodes
    from theodolite.instruments.trace.questions import plan_pairs, plan_study

    episodes = read_episodes(folder).episodes
    unedited = {episode.id for episode in episodes if episode.edit is None}

    def items(run: Run) -> Iterator[Item]:
        if not are_pairs:
            return plan_study(episodes, max_tokens=_MAX_TOKENS)
        planned = plan_pairs(episodes, max_tokens=_MAX_TOKENS)
        return with_repeats(
            planned, lambda item: item.meta["episode"] in unedited, model=run.info.model, most=_REPEATS
        )

    return RunPlan(
        name,
        "trace-pairs" if are_pairs else "trace",
        {"data": str(folder.absolute()), "split": split, "max_tokens": _MAX_TOKENS},
        items,
        ask_measurer,
    )
