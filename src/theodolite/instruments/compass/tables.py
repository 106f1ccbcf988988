"""The tables of a compass run: the main ones from item scores, and those of the experiments that were asked for."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, combinations
from typing import Annotated, Any, Literal

from theodolite import stats
from theodolite.core.errors import UsageError
from theodolite.core.options import Option, Options, Seed
from theodolite.core.scores import ItemScore, by_metric, column, definition, metric_of
from theodolite.core.tables import Cell, Column, Estimate, Table
from theodolite.instruments.compass.experiments import ablations, framework, utility
from theodolite.instruments.compass.experiments.ablations import (
    ABLATIONS,
    Criterion,
    DevelopmentSplit,
    default_key,
)
from theodolite.instruments.compass.experiments.controls.interventions import (
    FALSE_REFERENCE,
    PROBES,
    score_family,
)
from theodolite.instruments.compass.experiments.controls.plan import RELOCATION
from theodolite.instruments.compass.experiments.controls.results import ControlScore
from theodolite.instruments.compass.experiments.controls.score import CONTROLS, controls_tables
from theodolite.instruments.compass.experiments.framework import (
    METHOD,
    TARGET,
    FollowedRun,
    best_prompt,
    followed_table,
    has_diagonals,
    negated,
    octants_table,
    pairs_table,
    prompts_of,
    prompts_table,
    reported,
)
from theodolite.instruments.compass.formulas.baselines import BOX_ONLY
from theodolite.instruments.compass.formulas.dae import Readout
from theodolite.instruments.compass.formulas.projected import NO_PAIR, ProjectedRun, project_samples
from theodolite.instruments.compass.formulas.projection import (
    PROJECTIONS,
    Bins,
    Negative,
    ProjectionChanges,
    ProjectionOptions,
    read_sigma,
)
from theodolite.instruments.compass.measure import Sample, read_samples, shown_key, sinks_note, split_key
from theodolite.instruments.compass.questions import PLAIN
from theodolite.instruments.compass.score import (
    answer_scores,
    map_metric,
    map_scores,
)
from theodolite.pairs import AnsweredPair, answered_pairs
from theodolite.runs import Run
from theodolite.stats import RiskCoverage, score_mean
from theodolite.stats.scores import difference_table

TABLES = (
    "targets",
    "classes",
    "answers",
    "readouts",
    "labels",
    "exclusions",
    "prompts",
    "ablations",
    "utility",
    "controls",
    "octants",
)
"""The tables beside the main ones."""


@dataclass(frozen=True, kw_only=True)
class ScoreSettings(Options):
    """How a run is scored."""

    tables: Annotated[
        tuple[str, ...],
        Option(
            f"More tables: {', '.join(TABLES)}, or all; for a run that hid sectors: curves.",
            known=(*TABLES, "curves"),
        ),
    ] = ()
    projections: Annotated[
        tuple[str, ...],
        Option(
            "How maps are turned into directions.",
            name="projection",
            metavar="paper|sound|all",
            known=tuple(PROJECTIONS),
            can_be_empty=False,
        ),
    ] = tuple(PROJECTIONS)
    methods: Annotated[
        tuple[str, ...], Option("Relevance methods; see `theodolite list methods`. Default: all.")
    ] = ()
    prompt: Annotated[
        str,
        Option(
            "The prompt to report on. Default: the most accurate on the development pairs, or else the first.",
            metavar="NAME",
        ),
    ] = ""
    development: Annotated[
        int,
        Option("Select prompt and projection on N pairs, and report results on other pictures.", least=0),
    ] = 0
    criterion: Annotated[
        Criterion, Option("The criterion to minimise on the development pairs.", name="choose-by")
    ] = "excess"
    ablated: Annotated[
        str,
        Option("The map to ablate. Default: the paper's.", name="ablate", metavar="METHOD@TARGET"),
    ] = ""
    negative: Annotated[Negative, Option("How to treat negative relevance.")] = "error"
    sectors: Annotated[
        int | None, Option("Number of sectors. Default: 8 (CREG, A.11).", metavar="K", least=3)
    ] = None
    bins: Annotated[
        Bins | None,
        Option("Sectors that begin at 0°, or that are centred on it. Default: edge.", metavar="edge|centre"),
    ] = None
    sigma: Annotated[
        str | None,
        Option(
            "σ as a multiple of the distance from A to B, as a percentage of the diagonal, or none. "
            "Default: 1.2 (CREG, A.11) for the paper's projection, 35% for the sound one.",
            metavar="X|P%|none",
        ),
    ] = None
    reference: Annotated[
        Literal["count", "leave-out"] | None,
        Option(
            "Relevance on A's own box. Default: count for the paper's projection, leave-out for the sound one.",
            metavar="count|leave-out",
        ),
    ] = None
    coverages: Annotated[
        tuple[float, ...], Option("Utility: fractions of the answers to keep.", name="coverage")
    ] = (0.7,)
    readout: Annotated[Readout, Option("Utility: how the direction of a compass is read.")] = "peak"
    controls: Annotated[
        tuple[str, ...],
        Option(f"Controls: some of {', '.join(CONTROLS)}, or all.", known=CONTROLS),
    ] = CONTROLS
    n_centres: Annotated[
        int, Option("Controls: number of random centres per sample.", name="centres", least=1)
    ] = 100
    seed: Seed = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.methods == ("all",):
            object.__setattr__(self, "methods", ())
        if self.sigma is not None:
            read_sigma(self.sigma)
        if not self.coverages or not all(0 < coverage <= 1 for coverage in self.coverages):
            given = ", ".join(f"{coverage:g}" for coverage in self.coverages) or "none"
            raise UsageError(f"--coverage takes shares above 0 and at most 1, not {given}")

    @property
    def changes(self) -> ProjectionChanges:
        """Options that override those of the projections. Ablations and controls keep theirs."""
        leave_out = None if self.reference is None else self.reference == "leave-out"
        return ProjectionChanges(self.sectors, self.bins, self.sigma, leave_out)

    @property
    def has_ablations(self) -> bool:
        """True if maps are projected under every ablation."""
        return "ablations" in self.tables or self.development > 0

    @property
    def changed(self) -> str:
        """The changes to the projections, in words; empty if there are none."""
        is_changed = any(self.changes.of(PROJECTIONS[name]) != PROJECTIONS[name] for name in self.projections)
        return self.changes.words if is_changed else ""

    def options(self) -> dict[str, ProjectionOptions]:
        """Return the projections of all tables but the ablations."""
        options = {name: self.changes.of(PROJECTIONS[name]) for name in self.projections}
        if "utility" in self.tables:
            options[utility.HONEST] = utility.honest_options(options[self.projections[0]])
        return options


@dataclass(frozen=True, slots=True)
class CompassScore:
    """The tables of a run, and further data for figures."""

    model: str
    tables: tuple[Table, ...]
    sources: tuple[str, ...] = ()
    """Where the pairs come from."""
    chance: float = 0.0
    """Accuracy of guessing among the options."""
    curves: Mapping[str, RiskCoverage] = field(default_factory=dict)
    """Risk–coverage curves by confidence, if the utility was asked for."""

    def table(self, name: str) -> Table:
        """Return a table by its name without ``compass.``.

        Raises:
            KeyError: If there is none.
        """
        for table in self.tables:
            if table.name == f"compass.{name}":
                return table
        raise KeyError(name)


def score_run(run: Run, settings: ScoreSettings | None = None) -> CompassScore:
    """Score a run from its stored answers and maps, and store the tables in it if it is open for writing.

    Args:
        run: A run of the compass; one without maps has answers only.
        settings: Projections, prompt, tables and so on.
    """
    settings = settings or ScoreSettings()
    _, answers = answer_scores(run)
    samples = read_samples(run)
    first = next(samples, None)
    if first is None:
        score = CompassScore(run.info.model, tuple(_answers(answers, run.info.model)))
    else:
        score = score_samples(
            chain([first], samples),
            settings,
            model=run.info.model,
            answers=answers,
            pairs=tuple(answered_pairs(run)),
        )
        if "controls" in settings.tables:
            controls = controls_tables(
                run,
                controls=settings.controls,
                methods=settings.methods,
                projections=settings.projections,
                n_centres=settings.n_centres,
                seed=settings.seed,
            )
            score = replace(score, tables=(*score.tables, *controls))
    head = replace(score.tables[0], notes=(*score.tables[0].notes, *run_notes(run)))
    score = replace(score, tables=(head, *score.tables[1:]))
    run.write_tables(score.tables)
    return score


def run_notes(run: Run) -> list[str]:
    """Return notes for the readers of a run's tables: masked sinks, and planned items without an answer, by reason."""
    tally = run.tally()
    waiting = tally.planned - tally.finished - tally.failed
    counts = {"not measured yet": waiting, "failed": tally.failed, "refused": tally.refused}
    return [*sinks_note(run), *(f"Left out: {n} × {reason}." for reason, n in counts.items() if n)]


def score_samples(
    samples: Iterable[Sample],
    settings: ScoreSettings | None = None,
    *,
    model: str = "",
    answers: Sequence[ItemScore] | None = None,
    pairs: Sequence[AnsweredPair] = (),
) -> CompassScore:
    """Score samples with maps; see `score_run`.

    Args:
        samples: The samples; read once, one at a time.
        settings: Projections, prompt, tables and so on.
        model: Its name, to find the paper's numbers.
        answers: Item scores of the answers. Default: only whether they are right.
        pairs: The answers before and after edits.
    """
    settings = settings or ScoreSettings()
    left_out: Counter[str] = Counter()
    everything, ablated = _project(_plain(samples, settings.methods, left_out), settings)
    split = None
    if settings.development:
        split = ablations.split_samples(everything.samples, settings.development, seed=settings.seed)
    swept = everything if split is None else everything.select(lambda sample: sample.id in split.development)
    _check_prompt(everything, settings.prompt)
    prompt = settings.prompt or (best_prompt(swept) if split is not None else everything.samples[0].prompt)
    of_prompt = everything.select(lambda sample: sample.prompt == prompt)
    left_out["another prompt"] = len(everything.samples) - len(of_prompt.samples)
    reported = of_prompt
    if split is not None:
        reported = of_prompt.select(lambda sample: sample.id in split.reported)
        left_out["a development picture"] = len(of_prompt.samples) - len(reported.samples)
    parts = _Parts(settings, model, swept, of_prompt, reported, split, ablated, pairs)
    rows = _right(reported) if answers is None else answers
    kept = {sample.item_id for sample in reported.samples}
    dropped = {f"{s.id}/{s.prompt}" for s in everything.samples if s.item_id not in kept}
    answers_of = [row for row in rows if row.item not in dropped and row.item.endswith(f"/{prompt}")]
    notes = [f"Left out: {count} × {reason}." for reason, count in left_out.items() if count]
    tables, curves = _tables(parts)
    return CompassScore(
        model=model,
        tables=(*_answers(answers_of, _title(parts, prompt), [*_cautions(parts), *notes]), *tables),
        sources=reported.sources,
        chance=_chance(reported),
        curves=curves,
    )


@dataclass(frozen=True, slots=True)
class _Parts:
    """The samples of each table."""

    settings: ScoreSettings
    model: str
    swept: ProjectedRun
    """Of all prompts: the development pairs, or all."""
    of_prompt: ProjectedRun
    """Of the reported prompt, with the development pairs."""
    reported: ProjectedRun
    split: DevelopmentSplit | None
    ablated: str
    """The map that was projected under every ablation; empty if none."""
    pairs: Sequence[AnsweredPair]

    @property
    def published(self) -> str:
        """The model whose published numbers are comparable; empty if the projections are not the published ones."""
        return "" if self.settings.changed else self.model


def _tables(parts: _Parts) -> tuple[list[Table], dict[str, RiskCoverage]]:
    settings, reported, seed = parts.settings, parts.reported, parts.settings.seed
    means = _means(reported)
    tables = [
        framework.framework_table(reported, name, means, model=parts.published)
        for name in settings.projections
    ]
    if "octants" in settings.tables or has_diagonals(reported):
        tables += [octants_table(reported, name, settings.options()[name]) for name in settings.projections]
    tables.append(framework.evidence_table(reported, means))
    followed = FollowedRun.of(parts.model, reported, parts.pairs)
    if followed.relevant:
        tables.append(pairs_table([followed]))
        tables += [followed_table([followed], name, seed=seed) for name in settings.projections]
    if parts.split is not None:
        tables.append(
            ablations.development_table(
                parts.of_prompt, parts.ablated, parts.split, criterion=settings.criterion
            )
        )
    curves: dict[str, RiskCoverage] = {}
    for table in settings.tables:
        if table == "prompts":
            tables.append(_prompts(parts))
        elif table == "ablations":
            tables.append(ablations.ablations_table(reported, parts.ablated, model=parts.model))
        elif table == "utility":
            utility_tables, curves = _utility(parts)
            tables += utility_tables
        elif table not in {"controls", "octants"}:
            for name in settings.projections:
                tables += _by_projection(table, reported, name, seed)
    return [with_changes(table, settings) for table in tables], curves


def with_changes(table: Table, settings: ScoreSettings) -> Table:
    """Return a table of one projection, with the changes to that projection in its title."""
    is_changed = settings.changed and table.name.endswith(settings.projections)
    return replace(table, title=f"{table.title} ({settings.changed})") if is_changed else table


def _by_projection(table: str, reported: ProjectedRun, projection: str, seed: int) -> list[Table]:
    if table == "targets":
        return [framework.targets_table(reported, projection)]
    if table == "classes":
        return framework.directions_tables(reported, projection)
    if table == "answers":
        return [framework.answers_table(reported, projection, seed=seed)]
    if table == "readouts":
        return [framework.readouts_table(reported, projection, seed=seed)]
    if table == "labels":
        return [framework.labels_table(reported, projection)]
    return [framework.exclusions_table(reported, projection)]


def _prompts(parts: _Parts) -> Table:
    prompts = prompts_of(parts.swept)
    on = "all pairs" if parts.split is None else "development pairs"
    table = prompts_table(parts.swept, parts.settings.projections[0], model=parts.published, on=on)
    if len(prompts) > 1:
        return table
    note = f"Only prompt {prompts[0]} was asked; `compass run --prompt all` asks all three, `--prompt FILE` your own."
    return replace(table, notes=(*table.notes, note))


def _utility(parts: _Parts) -> tuple[list[Table], dict[str, RiskCoverage]]:
    settings, reported, seed = parts.settings, parts.reported, parts.settings.seed
    name = settings.projections[0]
    confidences = utility.all_confidences(reported, name, readout=settings.readout)
    model = parts.published
    how: dict[str, Any] = {"readout": settings.readout, "model": model, "seed": seed}
    tables = [
        utility.diagnosis_table(reported, name, model=model, seed=seed),
        utility.selective_table(reported, confidences, coverages=settings.coverages, model=model, seed=seed),
        utility.rerank_table(reported, utility.HONEST, **how),
    ]
    options = settings.options()
    if options[utility.HONEST] != options[name]:
        tables.append(utility.rerank_table(reported, name, **how))
    return tables, utility.risk_curves(reported, confidences)


def _plain(samples: Iterable[Sample], methods: Sequence[str], left_out: Counter[str]) -> Iterator[Sample]:
    """Yield plain samples with the chosen methods' maps; others are counted."""
    known: set[str] = set()
    for sample in samples:
        if sample.condition != PLAIN:
            left_out[f"condition {sample.condition}"] += 1
            continue
        known |= {relevance.method for relevance in sample.maps.values()}
        unknown = [method for method in methods if method not in known]
        if unknown:
            raise UsageError(
                f"the run holds no maps of {', '.join(unknown)}; it holds {', '.join(sorted(known))}"
            )
        yield with_methods(sample, methods)


def with_methods(sample: Sample, methods: Sequence[str]) -> Sample:
    """Return the sample with the maps of some methods; all if none is named."""
    if not methods:
        return sample
    return replace(
        sample, maps={key: relevance for key, relevance in sample.maps.items() if relevance.method in methods}
    )


def plain_pairs(samples: Iterable[Sample], settings: ScoreSettings) -> ProjectedRun:
    """Return the plain samples of one prompt, the first if the settings name none."""
    projected, _ = _project(_plain(samples, settings.methods, Counter()), settings)
    _check_prompt(projected, settings.prompt)
    return projected.select(lambda sample: sample.prompt == (settings.prompt or projected.samples[0].prompt))


def _check_prompt(projected: ProjectedRun, prompt: str) -> None:
    prompts = prompts_of(projected)
    if prompt and prompt not in prompts:
        raise UsageError(f"the run has no prompt {prompt!r}; it has {', '.join(prompts)}")


def _project(samples: Iterator[Sample], settings: ScoreSettings) -> tuple[ProjectedRun, str]:
    """Return all projections that the settings request, computed in one pass, and the map that was ablated."""
    ablated = ""
    wanted = settings.options()
    only: dict[str, Sequence[str]] = {}
    if settings.has_ablations:
        first = next(samples, None)
        if first is None:
            raise UsageError(NO_PAIR)
        ablated = settings.ablated or ablations.default_key(list(first.maps))
        if ablated not in first.maps:
            raise UsageError(f"there is no map {ablated!r} to ablate; there are {', '.join(first.maps)}")
        keys = ablations.ablation_keys(ablated)
        wanted |= ABLATIONS
        only = {name: keys if name == ablations.DEFAULT else keys[:1] for name in ABLATIONS}
        samples = chain([first], samples)
    projected = project_samples(samples, wanted, seed=settings.seed, only=only, negative=settings.negative)
    return projected, ablated


def _means(reported: ProjectedRun) -> framework.Means:
    keys = (*reported.baselines, *reported.keys)
    scores = by_metric(score for key in keys for score in map_scores(reported, key))

    def mean(kind: str, key: str) -> Estimate | None:
        metric = map_metric(kind, key)
        return score_mean(metric, scores.get(metric.key, ()))

    return mean


def _right(reported: ProjectedRun) -> list[ItemScore]:
    return [
        ItemScore(f"{sample.id}/{sample.prompt}", "compass.right", float(sample.is_correct), sample.cluster)
        for sample in reported.samples
    ]


def _chance(reported: ProjectedRun) -> float:
    return sum(1 / len(sample.directions) for sample in reported.samples) / len(reported.samples)


def _title(parts: _Parts, prompt: str) -> str:
    reported = parts.reported
    pictures = len(set(reported.clusters.tolist()))
    return f"{parts.model} · prompt {prompt} · {len(reported.samples)} pairs on {pictures} pictures"


def _cautions(parts: _Parts) -> list[str]:
    notes = [f"Guessing: {100 * _chance(parts.reported):.3g} %."]
    if parts.settings.changed:
        notes.append(f"Projections with {parts.settings.changed}; ablations and controls keep their own.")
    if len(set(parts.reported.clusters.tolist())) < 2:
        notes.append("Caution: all pairs are on one picture, so intervals are those of a single observation.")
    return notes


def _answers(scores: Sequence[ItemScore], title: str, notes: Iterable[str] = ()) -> list[Table]:
    """Build tables of the metrics of answers by split: of texts, and of log-probabilities if there are any."""
    rows = by_metric(scores)
    tables = []
    for name, columns in (("answers", _ANSWERS), ("shifts", _SHIFTS)):
        there = [column for column in columns if f"compass.{column.name}" in rows]
        if not there and name == "shifts":
            continue
        lines = []
        for split in dict.fromkeys(score.split for score in scores):
            own = {column.name: _of_split(rows, column.name, split) for column in there}
            asked = max((len(some) for some in own.values()), default=0)
            lost = Counter(s.reason for s in next(iter(own.values()), []) if s.reason)
            lines.append(
                [
                    split,
                    asked,
                    *(score_mean(metric_of(f"compass.{key}"), some) for key, some in own.items()),
                    ", ".join(f"{count} {reason}" for reason, count in lost.items()),
                ]
            )
        tables.append(
            Table.of(
                f"compass.{name}",
                title if name == "answers" else "Shifts of the answers' distribution",
                [
                    Column("split", "split"),
                    Column("items", "pairs", "count"),
                    *there,
                    Column("without", "not read"),
                ],
                lines,
                notes if name == "answers" else (),
            )
        )
    return tables


def _of_split(rows: Mapping[str, Sequence[ItemScore]], key: str, split: str) -> list[ItemScore]:
    return [score for score in rows[f"compass.{key}"] if score.split == split]


_ANSWERS = (
    column("compass.right"),
    column("compass.mirror_follows"),
    column("compass.mirror_changes"),
    column("compass.blank_changes"),
)
_SHIFTS = (
    column("compass.mirror_shift"),
    column("compass.blank_shift"),
    column("compass.target_effect"),
    column("compass.reference_effect"),
    column("compass.occlusion"),
)


# Several models and data sets in one table: Table 2, and Table 15 where the target was moved in the pictures.
#
# Numbers of one row are of one model, and columns of one data set. Models are compared on the pairs that they share, with the
# interval over their pictures; the p-values of all comparisons in a table are corrected together (Holm).


_MODEL = Column("model", "model")
_PROMPT = Column("prompt", "prompt")
_KINDS = {"dae": "compass.dae", "excess": "compass.excess_dae", "ea": "compass.ea"}


@dataclass(frozen=True, slots=True)
class ModelRun:
    """One run: a model on a data set."""

    model: str
    """The name to show."""
    name: str
    """The model's own name, to find what the paper reports; empty if the projections are not the published ones."""
    plain: ProjectedRun
    moved: ProjectedRun | None = None
    """The probes of the control relocation, if they were measured."""
    relocation: ControlScore | None = None
    notes: tuple[str, ...] = ()
    """What must be known about the run."""

    @property
    def prompt(self) -> str:
        """How the pairs were asked."""
        return self.plain.samples[0].prompt

    @property
    def data(self) -> str:
        """Where the pairs come from."""
        return " + ".join(self.plain.sources) or "pairs"


def read_model_run(run: Run, model: str, settings: ScoreSettings) -> ModelRun:
    """Project the plain pairs of a run, and the probes of relocation if it holds any.

    Args:
        run: A compass run with relevance maps.
        model: The name to show.
        settings: Projections, prompt, methods and seed.
    """
    samples = list(read_samples(run))
    plain = plain_pairs(samples, settings)
    name = "" if settings.changed else run.info.model
    model_run = ModelRun(model, name, plain, notes=tuple(run_notes(run)))
    probes = [s for s in samples if s.meta.get("control") == RELOCATION and s.prompt == model_run.prompt]
    if not probes:
        return model_run
    # A pair has several probes, so each needs an id of its own.
    named = [replace(probe, id=f"{probe.id}/{probe.condition}") for probe in probes]
    moved = project_samples(
        (with_methods(probe, settings.methods) for probe in named),
        {name: PROJECTIONS[name] for name in settings.projections},  # controls keep their own
        seed=settings.seed,
        negative=settings.negative,
    )
    control = score_family(RELOCATION, probes, (), methods=settings.methods, seed=settings.seed)
    return replace(model_run, moved=moved, relocation=control)


def model_tables(runs: Sequence[ModelRun], settings: ScoreSettings) -> list[Table]:
    """Build for each projection a table of models and their differences; then the same for relocated targets, if any."""
    tables: list[Table] = []
    seed = settings.seed
    for projection in settings.projections:
        scored = [_Scored.of(run, run.plain, projection) for run in runs]
        own = [
            _models_table(scored, projection),
            *_differences_table(scored, projection, seed, relocated=False),
        ]
        tables += [with_changes(table, settings) for table in own]
    for projection in settings.projections:
        moved = [_Scored.of(run, run.moved, projection) for run in runs if run.moved is not None]
        if moved:
            tables.append(_relocation_table(moved, projection))
            tables += _differences_table(moved, projection, seed, relocated=True)
    notes = [f"{run.model} on {run.data}: {note}" for run in runs for note in run.notes]
    if settings.changed:
        notes.append(f"Projections with {settings.changed}; relocated targets (Table 15) keep their own.")
    if not any(run.moved is not None for run in runs):
        notes.append(
            "Table 15 needs targets that were moved: measure with `theodolite compass run --controls relocation`."
        )
    tables[0] = replace(tables[0], notes=(*tables[0].notes, *notes))
    return tables


@dataclass(frozen=True, slots=True)
class _Scored:
    """One run under one projection, with its item scores by metric."""

    run: ModelRun
    projected: ProjectedRun
    scores: Mapping[str, list[ItemScore]]

    @classmethod
    def of(cls, run: ModelRun, projected: ProjectedRun, projection: str) -> _Scored:
        wanted = {f"{kind}_{projection}" for kind in _KINDS}
        scores = (score for key in projected.keys for score in map_scores(projected, key))
        # Drawn pairs of other pictures may have the same id.
        named = (replace(s, item=f"{s.cluster}/{s.item}") for s in scores if _kind(s.metric) in wanted)
        return cls(run, projected, by_metric(named))

    @property
    def pairs(self) -> set[str]:
        """Every pair with its prompt, as the scores name it."""
        return {score.item for some in self.scores.values() for score in some}

    def mean(self, kind: str, key: str) -> stats.Estimate | None:
        metric = map_metric(kind, key)
        estimate = stats.score_mean(metric, self.scores.get(metric.key, ()))
        return negated(estimate) if estimate is not None and kind.startswith("excess") else estimate


def _kind(metric: str) -> str:
    return metric.removeprefix("compass.").partition(":")[0]


def _shown_key(key: str, scored: _Scored) -> tuple[str, str]:
    """Return method and target of a map; an option by the direction that it stands for.

    The maps of single options are measured for the control of the target logit.
    """
    method, target = split_key(key)
    number = target.removeprefix("option:")
    if number == target:
        return method, target
    return method, f"option {scored.projected.samples[0].directions[int(number)]}"


def _models_table(runs: Sequence[_Scored], projection: str) -> Table:
    """Build Table 2: one row per model and map, with the numbers of each data set side by side."""
    sets = list(dict.fromkeys(scored.run.data for scored in runs))
    models = list(dict.fromkeys(scored.run.model for scored in runs))
    rows: list[list[Cell]] = []
    for model in models:
        own = {scored.run.data: scored for scored in runs if scored.run.model == model}
        for key in dict.fromkeys(key for scored in own.values() for key in scored.projected.keys):
            prompts = dict.fromkeys(scored.run.prompt for scored in own.values())
            row: list[Cell] = [model, ", ".join(prompts), *_shown_key(key, next(iter(own.values())))]
            published = []
            for name in sets:
                scored = own.get(name)
                has = scored is not None and key in scored.projected.grids
                row += [scored.mean(f"{k}_{projection}", key) if has and scored else None for k in _KINDS]
                row.append(len(scored.projected.angles[projection][key].kept) if has and scored else None)
                published += [reported(scored.projected, key, scored.run.name)] if has and scored else []
            rows.append([*row, "; ".join(filter(None, published))])
    columns = [_MODEL, _PROMPT, METHOD, TARGET]
    for index, name in enumerate(sets):
        columns += [
            column(key, f"{kind}_{index}", f"{name}: {definition(key).name}") for kind, key in _KINDS.items()
        ]
        columns.append(Column(f"n_{index}", "n", "count"))
    columns.append(Column("reported", "reported"))
    if not any(row[-1] for row in rows):
        columns, rows = columns[:-1], [row[:-1] for row in rows]
    return Table.of(
        f"compass.models_{projection}",
        f"Models and data sets (Table 2), {projection} projection",
        columns,
        rows,
        ["− uniform: minus the uniform map of the same grid on the same pairs."],
    )


def _differences_table(
    runs: Sequence[_Scored], projection: str, seed: int, *, relocated: bool
) -> list[Table]:
    """Compare every two models on one data set, map by map, over the pairs that they share; none for a single model."""
    if len(runs) < 2:
        return []
    by_index = {str(index): part for index, part in enumerate(runs)}
    compared: list[tuple[str, str]] = []
    notes: list[str] = []
    for (one, first), (other, second) in combinations(by_index.items(), 2):
        if first.run.data == second.run.data:
            if first.pairs & second.pairs:
                compared.append((one, other))
            else:
                notes.append(_not_compared(first.run, second.run))
    sets = Counter(part.run.data for part in runs)
    alone = [name for name in sorted(sets) if sets[name] == 1]
    if alone:
        notes.append(f"Only one model has {', '.join(alone)}, so there is nothing to compare it with.")
    scores = {
        index: [replace(score, split="") for some in part.scores.values() for score in some]
        for index, part in by_index.items()
    }
    maps = {
        map_metric(f"{kind}_{projection}", key).key: key
        for part in runs
        for key in part.projected.keys
        for kind in _KINDS
    }
    differences = stats.Scores(scores).difference(compared, maps, seed=seed)

    def labels(difference: stats.Difference) -> list[str]:
        first, second = (by_index[index].run for index in (difference.first, difference.second))
        return [first.data, first.model, second.model, *split_key(maps[difference.metric.key])]

    named = "model_differences" if not relocated else "model_differences_relocated"
    return [
        difference_table(
            f"compass.{named}_{projection}",
            f"Differences of models{' on relocated targets' * relocated}, paired, {projection} projection",
            map(_below_as_excess, differences),
            {
                f"compass.{kind}_{projection}": column(key, kind, difference=True)
                for kind, key in _KINDS.items()
            },
            labels=labels,
            heads=[Column("data", "data"), _MODEL, Column("minus", "minus"), METHOD, TARGET],
            notes=notes,
        )
    ]


def _below_as_excess(difference: stats.Difference) -> stats.Difference:
    """Flip the sign of an excess: the metric is positive below the uniform map's DAE, the table above it."""
    if difference.estimate is None or ".excess_" not in difference.metric.key:
        return difference
    return replace(difference, estimate=negated(difference.estimate))


def _not_compared(first: ModelRun, second: ModelRun) -> str:
    if first.prompt == second.prompt:
        return f"{first.model} and {second.model} share no pair of {first.data}, so they are not compared."
    return (
        f"{first.model} was asked about {first.data} with prompt {first.prompt} and {second.model} with {second.prompt}, so "
        "they are not compared; `--prompt` names one that both were asked with."
    )


def _relocation_table(runs: Sequence[_Scored], projection: str) -> Table:
    """Build Table 15: the paper's map after the target moved, beside the box and the false reference."""
    rows: list[list[Cell]] = []
    for scored in runs:
        if scored.run.relocation is None:
            continue
        key = default_key(list(scored.projected.grids))
        box = scored.projected.of_grid(BOX_ONLY, key)
        control = scored.run.relocation
        own = control.row(key, PROBES, projection)
        rows.append(
            [
                scored.run.model,
                scored.run.data,
                scored.run.prompt,
                shown_key(key),
                len(scored.projected.angles[projection][key].kept),
                *(own.estimates.get(name) for name in ("dae", "excess_dae", "peak_accuracy")),
                own.tests["over_uniform"].p_value if "over_uniform" in own.tests else None,
                control.row(box, PROBES, projection).estimates.get("dae"),
                control.row(key, FALSE_REFERENCE, projection).estimates.get("dae"),
                own.estimates.get("divergence"),
            ]
        )
    return Table.of(
        f"compass.models_relocation_{projection}",
        f"Models on relocated targets (Table 15), {projection} projection",
        [
            _MODEL,
            Column("data", "data"),
            _PROMPT,
            Column("map", "map"),
            Column("n", "probes", "count"),
            column("compass.dae"),
            column("compass.excess_dae"),
            column("compass.peak_accuracy"),
            Column("p", "p over uniform", "p"),
            column("compass.dae", "box_dae", "box-only: DAE"),
            column("compass.dae", "false_reference_dae", "false reference: DAE"),
            column("compass.divergence"),
        ],
        rows,
    )
