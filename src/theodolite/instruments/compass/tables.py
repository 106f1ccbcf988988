"""The tables of a compass run: the main ones from item scores, and those of the experiments that were asked for."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import Any

from theodolite.core.errors import UsageError
from theodolite.core.estimates import Estimate
from theodolite.core.scores import ItemScore, by_metric
from theodolite.core.tables import Column, Table
from theodolite.instruments.compass.experiments import ablations, comparisons, confidence, framework, utility
from theodolite.instruments.compass.experiments.ablations import ABLATIONS, Criterion, DevelopmentSplit
from theodolite.instruments.compass.experiments.controls.score import CONTROLS, controls_tables
from theodolite.instruments.compass.experiments.followed import FollowedRun, followed_table, pairs_table
from theodolite.instruments.compass.experiments.octants import has_diagonals, octants_table
from theodolite.instruments.compass.experiments.prompts import best_prompt, prompts_of, prompts_table
from theodolite.instruments.compass.formulas.compass import Readout
from theodolite.instruments.compass.formulas.projected import NO_PAIR, ProjectedRun
from theodolite.instruments.compass.formulas.projecting import project_samples
from theodolite.instruments.compass.formulas.projection_options import (
    PROJECTIONS,
    Negative,
    ProjectionChanges,
    ProjectionOptions,
)
from theodolite.instruments.compass.measure import Sample, read_samples, sinks_note
from theodolite.instruments.compass.questions import PLAIN
from theodolite.instruments.compass.score import (
    METRICS,
    answer_scores,
    answered_pairs,
    map_metric,
    map_scores,
)
from theodolite.pairs import AnsweredPair
from theodolite.runs import Run
from theodolite.stats import RiskCoverage, score_mean

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


@dataclass(frozen=True, slots=True)
class ScoreSettings:
    """How a run is scored."""

    projections: tuple[str, ...] = tuple(PROJECTIONS)
    tables: tuple[str, ...] = ()
    """Some of `TABLES`."""
    methods: tuple[str, ...] = ()
    """All methods if empty."""
    prompt: str = ""
    """The prompt to report on. If empty: the most accurate on the development pairs, or else the first."""
    ablated: str = ""
    """The ``method@target`` to ablate; if empty, the paper's."""
    development: int = 0
    """Pairs to choose settings on; their pictures are not reported on. 0: nothing is chosen."""
    criterion: Criterion = "excess"
    negative: Negative = "error"
    coverages: tuple[float, ...] = (0.7,)
    """Shares of answers to keep in selective prediction."""
    readout: Readout = "peak"
    """The direction that stands for a compass in selective prediction and re-ranking."""
    controls: tuple[str, ...] = CONTROLS
    n_centres: int = 100
    """Random centres per sample, for the control ``centres``."""
    changes: ProjectionChanges = field(default_factory=ProjectionChanges)
    """Choices of the projections that are not their own. Ablations and controls keep theirs."""
    seed: int = 0
    """Of bootstraps, random baselines and the development split."""

    def __post_init__(self) -> None:
        unknown = [name for name in self.projections if name not in PROJECTIONS]
        if unknown or not self.projections:
            raise UsageError(
                f"projections are some of {', '.join(PROJECTIONS)}, not {', '.join(unknown) or 'none'}"
            )
        strange = [name for name in self.tables if name not in TABLES]
        if strange:
            raise UsageError(f"tables are some of {', '.join(TABLES)}, not {', '.join(strange)}")
        if self.development < 0:
            raise UsageError(f"--development must not be negative, got {self.development}")
        if not self.coverages or not all(0 < coverage <= 1 for coverage in self.coverages):
            given = ", ".join(f"{coverage:g}" for coverage in self.coverages) or "none"
            raise UsageError(f"--coverage takes shares above 0 and at most 1, not {given}")

    @property
    def has_ablations(self) -> bool:
        """True if maps are projected under every ablation."""
        return "ablations" in self.tables or self.development > 0

    @property
    def changed(self) -> str:
        """What the changes change, in words; empty if every projection is its own."""
        is_changed = any(self.changes.of(PROJECTIONS[name]) != PROJECTIONS[name] for name in self.projections)
        return self.changes.words if is_changed else ""

    def options(self) -> dict[str, ProjectionOptions]:
        """The projections of all tables but the ablations."""
        found = {name: self.changes.of(PROJECTIONS[name]) for name in self.projections}
        if "utility" in self.tables:
            found[confidence.HONEST] = confidence.honest_options(found[self.projections[0]])
        return found


@dataclass(frozen=True, slots=True)
class CompassScore:
    """The tables of a run, and what figures need besides."""

    model: str
    tables: tuple[Table, ...]
    sources: tuple[str, ...] = ()
    """Where the pairs come from."""
    chance: float = 0.0
    """Accuracy of guessing among the options."""
    curves: Mapping[str, RiskCoverage] = field(default_factory=dict)
    """Risk–coverage curves by confidence, if the utility was asked for."""

    def table(self, name: str) -> Table:
        """A table by its name without ``compass.``.

        Raises:
            KeyError: There is none.
        """
        for table in self.tables:
            if table.name == f"compass.{name}":
                return table
        raise KeyError(name)


def score_run(run: Run, settings: ScoreSettings | None = None) -> CompassScore:
    """Scores a run from its stored answers and maps, and stores the tables in it if it is open for writing.

    Args:
        run: A run of the compass; one without maps has answers only.
        settings: Projections, prompt, tables and so on.
    """
    settings = settings or ScoreSettings()
    _, answers = answer_scores(run)
    samples = read_samples(run)
    first = next(samples, None)
    if first is None:
        found = CompassScore(run.info.model, tuple(_answers(answers, run.info.model)))
    else:
        found = score_samples(
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
            found = replace(found, tables=(*found.tables, *controls))
    head = replace(found.tables[0], notes=(*found.tables[0].notes, *run_notes(run)))
    found = replace(found, tables=(head, *found.tables[1:]))
    run.write_tables(found.tables)
    return found


def run_notes(run: Run) -> list[str]:
    """What a reader of a run's tables must know: masked sinks, and planned items without an answer, by reason."""
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
    """Scores samples with maps; see `score_run`.

    Args:
        samples: Read once, one at a time.
        settings: Projections, prompt, tables and so on.
        model: Its name, to find what the paper reports.
        answers: Item scores of the answers; only whether they are right, if not given.
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
    """The samples that each table is about."""

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
            found, curves = _utility(parts)
            tables += found
        elif table not in {"controls", "octants"}:
            for name in settings.projections:
                tables += _by_projection(table, reported, name, seed)
    return [with_changes(table, settings) for table in tables], curves


def with_changes(table: Table, settings: ScoreSettings) -> Table:
    """A table of one projection, with what was changed in that projection in its title."""
    is_changed = settings.changed and table.name.endswith(settings.projections)
    return replace(table, title=f"{table.title} ({settings.changed})") if is_changed else table


def _by_projection(table: str, reported: ProjectedRun, projection: str, seed: int) -> list[Table]:
    if table == "targets":
        return [comparisons.targets_table(reported, projection)]
    if table == "classes":
        return comparisons.directions_tables(reported, projection)
    if table == "answers":
        return [comparisons.answers_table(reported, projection, seed=seed)]
    if table == "readouts":
        return [comparisons.readouts_table(reported, projection, seed=seed)]
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
    found = confidence.all_confidences(reported, name, readout=settings.readout)
    model = parts.published
    how: dict[str, Any] = {"readout": settings.readout, "model": model, "seed": seed}
    tables = [
        utility.diagnosis_table(reported, name, model=model, seed=seed),
        utility.selective_table(reported, found, coverages=settings.coverages, model=model, seed=seed),
        utility.rerank_table(reported, confidence.HONEST, **how),
    ]
    options = settings.options()
    if options[confidence.HONEST] != options[name]:
        tables.append(utility.rerank_table(reported, name, **how))
    return tables, utility.risk_curves(reported, found)


def _plain(samples: Iterable[Sample], methods: Sequence[str], left_out: Counter[str]) -> Iterator[Sample]:
    """Plain samples with the chosen methods' maps; others are counted."""
    known: set[str] = set()
    for sample in samples:
        if sample.condition != PLAIN:
            left_out[f"condition {sample.condition}"] += 1
            continue
        known |= {each.method for each in sample.maps.values()}
        unknown = [method for method in methods if method not in known]
        if unknown:
            raise UsageError(
                f"the run holds no maps of {', '.join(unknown)}; it holds {', '.join(sorted(known))}"
            )
        yield with_methods(sample, methods)


def with_methods(sample: Sample, methods: Sequence[str]) -> Sample:
    """The sample with the maps of some methods; all if none is named."""
    if not methods:
        return sample
    return replace(sample, maps={key: each for key, each in sample.maps.items() if each.method in methods})


def plain_pairs(samples: Iterable[Sample], settings: ScoreSettings) -> ProjectedRun:
    """The plain samples of one prompt, the first if the settings name none."""
    found, _ = _project(_plain(samples, settings.methods, Counter()), settings)
    _check_prompt(found, settings.prompt)
    return found.select(lambda sample: sample.prompt == (settings.prompt or found.samples[0].prompt))


def _check_prompt(found: ProjectedRun, prompt: str) -> None:
    known = prompts_of(found)
    if prompt and prompt not in known:
        raise UsageError(f"the run has no prompt {prompt!r}; it has {', '.join(known)}")


def _project(samples: Iterator[Sample], settings: ScoreSettings) -> tuple[ProjectedRun, str]:
    """All projections that the settings ask for, in one pass, and the map that was ablated."""
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
    found = project_samples(samples, wanted, seed=settings.seed, only=only, negative=settings.negative)
    return found, ablated


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
    """The metrics of answers by split: of what was said, and of log-probabilities if there are any."""
    metrics = {metric.key.removeprefix("compass."): metric for metric in METRICS}
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
                    *(score_mean(metrics[key], some) for key, some in own.items()),
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
    Column("right", "answers right", "share", "compass.accuracy"),
    Column("mirror_follows", "follow the mirror", "share", "compass.mirror_follows"),
    Column("mirror_changes", "change with the mirror", "share", "compass.mirror_changes"),
    Column("blank_changes", "change when blank", "share", "compass.blank_changes"),
)
_SHIFTS = (
    Column("mirror_shift", "mirror: shift", "share", "compass.mirror_shift"),
    Column("blank_shift", "blank: shift", "share", "compass.blank_shift"),
    Column("target_effect", "target hidden", "ratio", "compass.object_effect"),
    Column("reference_effect", "reference hidden", "ratio", "compass.object_effect"),
    Column("occlusion", "occlusion", "ratio", "compass.occlusion"),
)
