"""Grounding of groups of traces: the main tables, from the item scores of each group.

A group is a prompt style on a split of a run, or a set of traces as judged by one verifier.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from theodolite import stats
from theodolite.core.errors import UsageError
from theodolite.core.files import Problem
from theodolite.core.scores import ItemScore, column, metric_of
from theodolite.core.tables import Cell, Column, Table
from theodolite.instruments.trace.claims.extractors import EXTRACTOR
from theodolite.instruments.trace.claims.reading import NO_TRACE
from theodolite.instruments.trace.claims.types import LABELS, REASONS, Claim, Verdict, Verifier
from theodolite.instruments.trace.experiments.calibration import (
    Calibration,
    calibration_table,
    fault_table,
)
from theodolite.instruments.trace.experiments.edits import (
    Reliance,
    SensitivityCell,
    facts_table,
    reliance,
    reliance_table,
    sensitivity,
    sensitivity_table,
)
from theodolite.instruments.trace.experiments.robustness import (
    TwoWayControl,
    condition_scores,
    conditions_table,
    control_scores,
    controls_table,
    two_way_control,
    two_way_table,
    verbosity,
    verbosity_table,
)
from theodolite.instruments.trace.formulas.sgr import (
    AS_PAPER,
    STAGES,
    Counting,
    Stage,
    stage_sgr,
    step_grounding,
    step_hallucinates,
    trace_hr,
    trace_unverifiable,
)
from theodolite.instruments.trace.formulas.tcs import Transition, trace_contradictions, why_not_computed
from theodolite.instruments.trace.formulas.vrs import EditedTraces
from theodolite.instruments.trace.score import (
    OF_BLIND,
    OF_CHANGES,
    OF_EDITS,
    JudgedRun,
    TraceScoreOptions,
    difference_over,
    judged_run,
    mean_over,
    style_scores,
    write_answers,
)
from theodolite.instruments.trace.verifiers.judging import JudgedTrace, open_verifier
from theodolite.runs import Run
from theodolite.stats import Scores
from theodolite.stats.scores import difference_table

# All tables of a run: the main ones, and further ones by name.


EXTRA_TABLES = ("claims", "pooled", "verbosity", "conditions", "controls", "calibration")
"""Tables of a run beyond the main ones."""
_MOST_PROBLEMS = 20


class ScoredTraces:
    """A run with its groups and edited pairs, from which tables and figures are made."""

    def __init__(
        self, run: Run, *, data: str | Path | None = None, options: TraceScoreOptions | None = None
    ) -> None:
        self.options = options or TraceScoreOptions()
        self.read: JudgedRun = judged_run(run, data, self.options.extractor)
        self.verifier = open_verifier(self.options.verifier)
        self.groups: list[TraceGroup] = run_groups(self.read, self.verifier, self.options)
        style = (self.read.styles or [""])[0]
        self.own = [t for t in self.read.own(style) if t.trace is not None]
        both, self.lonely = self.read.edits(style)
        hedges = self.options.hedges
        pairs = [self.read.pair(before, after, self.verifier, hedges) for before, after in both]
        self.pairs: list[EditedTraces] = [pair for pair in pairs if pair is not None]

    @property
    def reliance(self) -> Reliance | None:
        """Visual reliance over all edits; None if there are none."""
        if not self.pairs and not self.lonely:
            return None
        how, seed = self.options.counting, self.options.seed
        return reliance(self.pairs, how=how, n_without_base=len(self.lonely), seed=seed)

    @property
    def sensitivity(self) -> list[SensitivityCell]:
        """Table 3; empty if there are no edits."""
        if not self.pairs:
            return []
        return sensitivity(self.pairs, how=self.options.counting, seed=self.options.seed)

    @property
    def two_way(self) -> TwoWayControl | None:
        """The two-way control; None without paraphrased tasks."""
        hedges, style = self.options.hedges, (self.read.styles or [""])[0]
        before = {t.episode.id: self.read.judged(t, self.verifier, hedges) for t in self.own}
        language = [
            (first, second)
            for t in self.read.traces
            if t.wording == "paraphrased" and t.style == style
            if (first := before.get(t.episode.id)) is not None
            and (second := self.read.judged(t, self.verifier, hedges)) is not None
        ]
        if not language:
            return None
        visual = [(p.before, p.after_old) for p in self.pairs if p.edit.is_relevant and not p.failure]
        return two_way_control(visual, language, how=self.options.counting, seed=self.options.seed)

    @property
    def problems(self) -> list[Problem]:
        """What was wrong with data, traces and verdicts, once each."""
        o = self.options
        failed = [Problem(t.trace.episode, t.failure) for g in self.groups for t in g.judged if t.failure]
        failed += [Problem(p.after_new.trace.episode, p.failure) for p in self.pairs if p.failure]
        failed += [
            Problem(t.episode.id, moves)
            for t in self.own
            if isinstance(
                moves := self.read.transitions(t, self.verifier, o.tau, o.sentence_model, o.hedges), str
            )
        ]
        return list(dict.fromkeys([*self.read.problems, *self.lonely, *failed]))

    def further_table(self, name: str) -> Table:
        """Return one of `EXTRA_TABLES`. Controls and conditions use the first style, in distribution; verbosity the first style."""
        o, read = self.options, self.read
        if name == "claims":
            return claims_table(self.groups, BY_STYLE)
        if name == "pooled":
            return pooled_table(self.groups, BY_STYLE, seed=o.seed)
        if name == "calibration":
            episodes = {t.episode.id: t.episode for t in self.own}
            return calibration_table(
                [Calibration.of(self.verifier.name, read.known(self.verifier), episodes)]
            )
        is_all = name == "verbosity"
        own = [t for t in self.own if is_all or t.episode.split == "in-distribution"]
        judged = [j for t in own if (j := read.judged(t, self.verifier, o.hedges)) is not None]
        if name == "verbosity":
            return verbosity_table(verbosity(judged, how=o.counting, seed=o.seed))
        if name == "controls":
            controls = control_scores(
                judged, read.episodes, self.verifier, how=o.counting, hedges=o.hedges, seed=o.seed
            )
            return controls_table(controls)
        return conditions_table(
            condition_scores(
                [t.trace for t in own if t.trace is not None],
                read.episodes,
                self.verifier,
                how=o.counting,
                hedges=o.hedges,
                others=[open_verifier(other) for other in o.also_by],
                seconds=next((g.seconds for g in self.groups), None),
                seed=o.seed,
            )
        )


def run_tables(
    run: Run,
    *,
    data: str | Path | None = None,
    options: TraceScoreOptions | None = None,
    extra: Sequence[str] = (),
) -> list[Table]:
    """Return the tables of a run, ending with its problems.

    Args:
        run: If it is open for writing, the answers that were read are stored in it.
        data: The episodes, if they were moved since the run.
        options: How to judge and count.
        extra: Some of `EXTRA_TABLES`.
    """
    scored = ScoredTraces(run, data=data, options=options)
    write_answers(run, scored.read)
    title = f"{scored.read.model}, judged by {scored.verifier.name}{extracted_by(scored.read.extractor)}"
    tables = main_tables(scored.groups, BY_STYLE, title=title, tau=scored.options.tau)
    if (relied := scored.reliance) is not None:
        tables += [reliance_table(relied), facts_table(scored.pairs)]
    if cells := scored.sensitivity:
        tables.append(sensitivity_table(cells))
    if (two_way := scored.two_way) is not None:
        tables.append(two_way_table(two_way))
    tables += [scored.further_table(name) for name in extra]
    tables = [_with_style(table, scored.read.styles) for table in tables if table.rows]
    return [*tables, *problem_tables(scored.problems)]


def extracted_by(extractor: str) -> str:
    """Return words for an extractor other than our rules; empty for the rules."""
    return "" if extractor == EXTRACTOR else f", claims by {extractor}"


def _with_style(table: Table, styles: Sequence[str]) -> Table:
    """Return the table with its prompt style added, if there are several styles and its rows do not name them."""
    if len(styles) < 2 or any(column.name == "style" for column in table.columns):
        return table
    return replace(
        table, notes=(*table.notes, f"in the prompt style {styles[0]}, the first of {len(styles)}")
    )


def problem_tables(problems: Sequence[Problem], *, most: int = _MOST_PROBLEMS) -> list[Table]:
    """Return a table of the first problems, or no table if there are none."""
    if not problems:
        return []
    rows = [[problem.where, problem.reason] for problem in problems[:most]]
    notes = [f"… and {len(problems) - most} more"] if len(problems) > most else []
    columns = [Column("where", "where"), Column("reason", "problem")]
    return [Table.of("trace.problems", f"{len(problems)} problems", columns, rows, notes)]


@dataclass(frozen=True, slots=True)
class TraceGroup:
    """Some traces and their item scores: one row of the main tables."""

    labels: tuple[str, ...]
    """Prompt style and split, or the verifier."""
    scores: Sequence[ItemScore]
    judged: Sequence[JudgedTrace]
    moves: Sequence[tuple[Sequence[Transition], str]]
    """The transitions of each trace, with its cluster."""
    counting: Counting = AS_PAPER
    seconds: float | None = None
    """Mean time of a response."""
    calibration: Calibration | None = None
    """What the verifier says of claims of known truth about the same episodes."""

    @property
    def corrected(self) -> stats.Estimate | None:
        """SGR without the errors of the verifier."""
        return self.calibration.rates.corrected(self.mean("sgr")) if self.calibration else None

    def mean(self, key: str) -> stats.Estimate | None:
        """Return the mean of a metric."""
        return stats.score_mean(metric_of(f"trace.{key}"), self.scores)

    @property
    def whole(self) -> list[JudgedTrace]:
        """The traces that the verifier did not fail on."""
        return [trace for trace in self.judged if not trace.failure]

    @property
    def verdicts(self) -> list[tuple[Claim, Verdict, str]]:
        """Every claim that counts, with its verdict and cluster."""
        return [
            (claim, verdict, trace.unit)
            for trace in self.whole
            for step in trace.steps
            for claim, verdict in step.counted(self.counting.granularity)
        ]


def unverifiable_share(group: TraceGroup) -> stats.Estimate | None:
    """Return the share of claims that cannot be judged, mean over traces."""
    return mean_over([(trace_unverifiable(trace, group.counting), trace.unit) for trace in group.whole])


def accuracy_gap(group: TraceGroup) -> stats.Estimate | None:
    """Return accuracy − SGR, over the episodes that have both."""
    right, sgr = (
        {s.item: s.value for s in group.scores if s.metric == f"trace.{key}" and s.value is not None}
        for key in ("right", "sgr")
    )
    units = {s.item: s.cluster for s in group.scores}
    return difference_over([(right[item], sgr.get(item), units[item]) for item in right])


def sgr_by_stage(group: TraceGroup) -> tuple[dict[Stage, stats.Estimate | None], stats.Estimate | None]:
    """Return SGR by stage, and the decline: SGR of the first quarter − that of the last."""
    stages = [(stage_sgr(trace, group.counting), trace.unit) for trace in group.whole]
    by_stage = {stage: mean_over([(by[stage], unit) for by, unit in stages]) for stage in STAGES}
    return by_stage, difference_over([(by["early"], by["late"], unit) for by, unit in stages])


def run_groups(read: JudgedRun, verifier: Verifier, how: TraceScoreOptions) -> list[TraceGroup]:
    """Return the groups of a run: one per prompt style and split."""
    groups = []
    for style in read.styles:
        scores = style_scores(read, style, verifier, how)
        for split in dict.fromkeys(score.split for score in scores):
            own = [t for t in read.own(style) if read.split_of(t.episode) == split]
            judged = [j for t in own if (j := read.judged(t, verifier, how.hedges)) is not None]
            moves = [
                (read.transitions(t, verifier, how.tau, how.sentence_model, how.hedges), t.episode.unit)
                for t in own
            ]
            times = [t.result.record.response.seconds for t in own if t.trace and t.result.record]
            groups.append(
                TraceGroup(
                    (style, split),
                    [score for score in scores if score.split == split],
                    judged,
                    [(steps, unit) for steps, unit in moves if not isinstance(steps, str)],
                    how.counting,
                    sum(times) / len(times) if times else None,
                    Calibration.of(
                        verifier.name, read.known(verifier), {t.episode.id: t.episode for t in own}
                    ),
                )
            )
    return groups


BY_STYLE = (Column("style", "style"), Column("split", "split"))
"""The first columns of tables whose rows are prompt styles and splits."""


def main_tables(
    groups: Sequence[TraceGroup], heads: Sequence[Column], *, title: str, tau: float
) -> list[Table]:
    """Return the tables of grounding, its course over a trace and consistency, and of edits and items without frames if any.

    Where the verifier cannot be believed, or most claims of a group cannot be judged, a table before all others says so.

    Args:
        groups: One row of each table per group.
        heads: The first columns, which identify a group.
        title: Title of the first table.
        tau: Threshold of equation 2, to report.
    """
    tables = [
        fault_table([group.calibration for group in groups if group.calibration is not None]),
        caution_table(groups, heads),
        _grounding_table(groups, heads, title),
        _bounds_table(groups, heads),
        _progress_table(groups, heads),
        _consistency_table(groups, heads, tau),
        _metric_table("trace.edits", "By episode: edited frames", groups, heads, OF_EDITS),
        _metric_table("trace.changes", "By episode: changes with edited frames", groups, heads, OF_CHANGES),
        _metric_table("trace.blind", "By episode: without frames", groups, heads, OF_BLIND),
    ]
    return [table for table in tables if table.rows]


def caution_table(groups: Sequence[TraceGroup], heads: Sequence[Column]) -> Table:
    """Return a table of the groups in which most claims cannot be judged."""
    columns = [
        *heads,
        column("trace.unverifiable", title="unverifiable"),
        Column("judged", "claims judged", "count"),
        Column("claims", "claims", "count"),
    ]
    rows: list[list[Cell]] = []
    for group in groups:
        share, labels = unverifiable_share(group), [v.label for _, v, _ in group.verdicts]
        if share is not None and share.value > 0.5:
            judged = len(labels) - labels.count("unverifiable")
            rows.append([*group.labels, share, judged, len(labels)])
    title = (
        "Most claims cannot be judged: SGR and HR below describe only the others, so read the bounds of SGR"
    )
    return Table.of("trace.caution", title, columns, rows)


def _grounding_table(groups: Sequence[TraceGroup], heads: Sequence[Column], title: str) -> Table:
    columns = [
        *heads,
        column("trace.sgr"),
        column("trace.sgr_corrected", title="corrected"),
        column("trace.hr", title="HR"),
        column("trace.unverifiable", title="unverifiable"),
        column("trace.right", title="accuracy"),
        column("trace.gap"),
        Column("traces", "traces", "count"),
        Column("claims", "claims", "count"),
        Column("seconds", "seconds", "number"),
    ]
    rows: list[list[Cell]] = []
    notes: list[str] = []
    for group in groups:
        means = [group.mean("sgr"), group.corrected, group.mean("hr")]
        means += [unverifiable_share(group), group.mean("right")]
        counts = [len(group.judged), len(group.verdicts), group.seconds]
        rows.append([*group.labels, *means, accuracy_gap(group), *counts])
        notes += notes_of(group)
    return Table.of("trace.grounding", title, columns, rows, notes)


def _bounds_table(groups: Sequence[TraceGroup], heads: Sequence[Column]) -> Table:
    """Return the bounds of SGR if the claims that are not judged are wrong or right, and the share that can be refuted at all."""
    columns = [
        *heads,
        column("trace.sgr_low", title="SGR, all unverifiable wrong"),
        column("trace.sgr_high", title="all right"),
        column("trace.refutable"),
        column("trace.not_understood"),
    ]
    rows: list[list[Cell]] = [
        [
            *group.labels,
            *(group.mean(key) for key in ("sgr_low", "sgr_high", "refutable", "not_understood")),
        ]
        for group in groups
    ]
    return Table.of("trace.bounds", "How sure the SGR is", columns, rows)


def notes_of(group: TraceGroup) -> Iterator[str]:
    """Yield notes on the items that the numbers of a group leave out, and why."""
    name, n = ", ".join(group.labels), len(group.judged)
    reasons = Counter(v.reason for _, v, _ in group.verdicts if v.reason is not None)
    if reasons:
        details = ", ".join(f"{reason} {reasons[reason]}" for reason in REASONS if reasons[reason])
        yield f"{name}: unverifiable because {details}"
    unread = Counter(t.trace.unread for t in group.whole if t.is_correct is not None and t.trace.unread)
    if unread:
        details = ", ".join(f"{count} {status}" for status, count in unread.items())
        yield f"{name}: {unread.total()} of {n} traces have no answer that could be read ({details}); they count as wrong"
    n_bare = sum(t.trace.is_lower_bound for t in group.whole)
    if n_bare:
        bound = "SGR is a lower bound" if 2 * n_bare > n else "their SGR is a lower bound"
        yield f"{name}: {n_bare} of {n} traces have no steps; {bound}"
    absent = Counter(t.failure.partition(": ")[2] for t in group.judged if t.failure.startswith(NO_TRACE))
    if absent:
        details = ", ".join(f"{count} {why}" for why, count in absent.items())
        yield f"{name}: {absent.total()} of {n} texts are no trace ({details}); they have no SGR"
    if failed := n - len(group.whole) - absent.total():
        yield f"{name}: the verifier failed on {failed} of {n} traces"
    absent = Counter(s.reason for s in group.scores if s.metric == "trace.sgr" and s.value is None)
    for reason, count in absent.items():
        if reason == "refused" or reason.startswith(("failed", "not asked")):
            yield f"{name}: {count} without a trace: {reason}"


def _progress_table(groups: Sequence[TraceGroup], heads: Sequence[Column]) -> Table:
    columns = [
        *heads,
        *(column("trace.sgr_profile", stage, stage) for stage in STAGES),
        column("trace.decline"),
    ]
    rows = []
    for group in groups:
        by_stage, decline = sgr_by_stage(group)
        rows.append([*group.labels, *by_stage.values(), decline])
    title = "SGR of the first quarter, the middle half and the last quarter of the steps"
    return Table.of("trace.progress", title, columns, rows)


def _consistency_table(groups: Sequence[TraceGroup], heads: Sequence[Column], tau: float) -> Table:
    columns = [
        *heads,
        column("trace.tcs"),
        column("trace.tcs_aware"),
        column("trace.contradictions"),
        Column("transitions", "transitions", "count"),
        Column("unverifiable", "not judged by equation 2", "count"),
        Column("without_slots", "without slots", "count"),
    ]
    rows, notes = [], []
    for group in groups:
        wrong = mean_over([(trace_contradictions(steps), unit) for steps, unit in group.moves])
        moves = [move for steps, _ in group.moves for move in steps]
        counts = (
            len(moves),
            sum(move.is_justified is None for move in moves),
            sum(move.n_kept + move.n_changed == 0 for move in moves),
        )
        why = why_not_computed(moves)
        tcs: Cell = "not computed" if why else group.mean("tcs")
        rows.append([*group.labels, tcs, group.mean("tcs_aware"), wrong, *counts])
        if why:
            notes.append(f"TCS of equation 2 is {why}")
    title = f"Temporal consistency, τ = {tau:g}"
    return Table.of("trace.consistency", title, columns, rows, dict.fromkeys(notes))


def _metric_table(
    name: str, title: str, groups: Sequence[TraceGroup], heads: Sequence[Column], keys: Sequence[str]
) -> Table:
    """Return the means of some metrics, only for the groups that have any of them."""
    columns = [column(f"trace.{key}") for key in keys]
    kept = [g for g in groups if any(s.metric == c.key for s in g.scores for c in columns)]
    rows = [[*group.labels, *(group.mean(key) for key in keys)] for group in kept]
    return Table.of(name, title, [*heads, *columns], rows)


def claims_table(groups: Sequence[TraceGroup], heads: Sequence[Column]) -> Table:
    """Return a table of steps, claims, verdicts, and the reasons why claims cannot be judged."""
    names = ("steps", "claims", *LABELS, *REASONS, "guesses")
    rows: list[list[Cell]] = []
    for group in groups:
        verdicts = group.verdicts
        labels, reasons = Counter(v.label for _, v, _ in verdicts), Counter(v.reason for _, v, _ in verdicts)
        counts = [sum(len(t.steps) for t in group.whole), len(verdicts), *(labels[label] for label in LABELS)]
        counts += [
            *(reasons[reason] for reason in REASONS),
            sum(bool(claim.hedge) for claim, _, _ in verdicts),
        ]
        rows.append([*group.labels, *counts])
    columns = [*heads, *(Column(name.replace(" ", "_"), name, "count") for name in names)]
    return Table.of("trace.claims", "Claims and verdicts", columns, rows)


def pooled_table(groups: Sequence[TraceGroup], heads: Sequence[Column], *, seed: int = 0) -> Table:
    """Return numbers over steps and claims instead of traces, and over claims about the observer's own movement."""
    columns = [
        *heads,
        column("trace.sgr_of_steps", title="SGR over all steps"),
        column("trace.hr_of_all_steps"),
        column("trace.hr_against_sgr"),
        column("trace.ego_motion", "ego_steps", "steps on ego-motion"),
        column("trace.ego_motion", "ego_claims", "claims on ego-motion"),
        column("trace.ego_motion", "ego_judged", "of these judged"),
        Column("ego_count", "ego-motion claims", "count"),
    ]
    rows = [
        [
            *group.labels,
            sgr_of_steps(group),
            mean_over([(trace_hr(t, group.counting, of_all=True), t.unit) for t in group.whole]),
            hr_against_sgr(group, seed),
            *ego_motion(group),
            sum(claim.kind == "ego-motion" for claim, _, _ in group.verdicts),
        ]
        for group in groups
    ]
    return Table.of("trace.pooled", "Over steps and claims", columns, rows)


def sgr_of_steps(group: TraceGroup) -> stats.Estimate | None:
    """Return the mean grounding over all steps of all traces."""
    return mean_over([(step_grounding(s, group.counting), t.unit) for t in group.whole for s in t.steps])


def ego_motion(group: TraceGroup) -> tuple[stats.Estimate | None, ...]:
    """Measure claims about the observer's own movement: the share of steps with one, of claims, and of these the share judged."""
    steps = [
        (float(any(c.kind == "ego-motion" for c, _ in s.counted(group.counting.granularity))), t.unit)
        for t in group.whole
        for s in t.steps
    ]
    claims = [(claim.kind == "ego-motion", verdict, unit) for claim, verdict, unit in group.verdicts]
    judged = [(float(v.label != "unverifiable"), unit) for is_ego, v, unit in claims if is_ego]
    of_claims = mean_over([(float(is_ego), unit) for is_ego, _, unit in claims])
    return mean_over(steps), of_claims, mean_over(judged)


def hr_against_sgr(group: TraceGroup, seed: int) -> stats.Estimate | None:
    """Return Pearson's r, over steps, of hallucination and 1 − g; None if either does not vary."""
    rows = [
        (float(h), 1 - g, trace.unit)
        for trace in group.whole
        for step in trace.steps
        if (g := step_grounding(step, group.counting)) is not None
        and (h := step_hallucinates(step, group.counting)) is not None
    ]
    wrong, short, units = [r[0] for r in rows], [r[1] for r in rows], [r[2] for r in rows]
    if len(set(units)) < 3 or len(set(wrong)) < 2 or len(set(short)) < 2:
        return None
    clusters = None if len(set(units)) == len(units) else units
    try:
        return stats.pearson(wrong, short, clusters=clusters, seed=seed)
    except UsageError:  # too few clusters vary for an interval
        return None


# Table 1 for several models: SGR, HR, TCS and accuracy of each run, and paired differences from the first.
#
# Runs are compared on the episodes that they share, with the interval over clusters, so that hard episodes count for both.


_SHOWN = (
    "sgr",
    "sgr_low",
    "sgr_high",
    "hr",
    "refutable",
    "unverifiable",
    "not_understood",
    "tcs",
    "tcs_aware",
    "right",
)
_COMPARED = ("sgr", "hr", "right")


@dataclass(frozen=True, slots=True)
class RunGroups:
    """The groups of one run, in its first prompt style."""

    model: str
    groups: Sequence[TraceGroup]

    def of_split(self, split: str) -> TraceGroup | None:
        """Return the group of a split."""
        return next((group for group in self.groups if group.labels[1] == split), None)


def model_tables(runs: Sequence[RunGroups]) -> list[Table]:
    """Return one row per model and split; and, per split, each model minus the first one, over shared episodes."""
    splits = list(dict.fromkeys(group.labels[1] for run in runs for group in run.groups))
    rows: list[list[Cell]] = []
    shown: list[TraceGroup] = []
    for split in splits:
        known = [(run.model, group) for run in runs if (group := run.of_split(split)) is not None]
        for model, group in known:
            shown.append(replace(group, labels=(model, split)))
            rows.append([model, split, *(group.mean(key) for key in _SHOWN), len(group.judged)])
    heads = [Column("model", "model"), Column("split", "split")]
    named = [column(f"trace.{key}") for key in _SHOWN]
    columns = [
        *heads,
        *named,
        Column("traces", "traces", "count"),
    ]
    tables = [
        caution_table(shown, heads),
        Table.of("trace.models", "Models (Table 1)", columns, rows, [n for g in shown for n in notes_of(g)]),
        _differences(runs),
    ]
    return [table for table in tables if table.rows]


def _differences(runs: Sequence[RunGroups]) -> Table:
    """Return each model minus the first one, per split."""
    scores = {
        run.model: [replace(score, split=group.labels[1]) for group in run.groups for score in group.scores]
        for run in runs
    }
    first, *others = scores
    return difference_table(
        "trace.model_differences",
        "Paired differences, over shared episodes",
        Scores(scores).difference(
            [(model, first) for model in others], [f"trace.{key}" for key in _COMPARED]
        ),
        {f"trace.{key}": column(f"trace.{key}", difference=True) for key in _COMPARED},
        labels=lambda difference: (difference.first, difference.second, difference.split),
        heads=[Column("model", "model"), Column("minus", "minus"), Column("split", "split")],
    )
