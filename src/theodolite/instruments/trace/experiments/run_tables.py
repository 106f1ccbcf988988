"""All tables of a run: the main ones, and further ones by name."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from theodolite.core.files import Problem
from theodolite.core.tables import Column, Table
from theodolite.instruments.trace.experiments.edits import (
    Reliance,
    SensitivityCell,
    facts_table,
    reliance,
    reliance_table,
    sensitivity,
    sensitivity_table,
)
from theodolite.instruments.trace.experiments.grounding import (
    BY_STYLE,
    TraceGroup,
    claims_table,
    main_tables,
    pooled_table,
    run_groups,
)
from theodolite.instruments.trace.experiments.robustness import (
    TwoWayControl,
    condition_scores,
    conditions_table,
    control_scores,
    controls_table,
    refutation_table,
    two_way_control,
    two_way_table,
    verbosity,
    verbosity_table,
)
from theodolite.instruments.trace.formulas.vrs import EditedPair
from theodolite.instruments.trace.score import ScoreOptions, write_answers
from theodolite.instruments.trace.verifiers.judged_runs import JudgedRun, judged_run
from theodolite.instruments.trace.verifiers.judging import open_verifier
from theodolite.runs import Run

EXTRA_TABLES = ("claims", "pooled", "verbosity", "conditions", "controls", "refutation")
"""Tables of a run beyond the main ones."""
_MOST_PROBLEMS = 20


class ScoredTraces:
    """A run with its groups and edited pairs: what tables and figures are made of."""

    def __init__(
        self, run: Run, *, data: str | Path | None = None, options: ScoreOptions | None = None
    ) -> None:
        self.options = options or ScoreOptions()
        self.read: JudgedRun = judged_run(run, data)
        self.verifier = open_verifier(self.options.verifier)
        self.groups: list[TraceGroup] = run_groups(self.read, self.verifier, self.options)
        style = (self.read.styles or [""])[0]
        self.own = [t for t in self.read.own(style) if t.trace is not None]
        both, self.lonely = self.read.edits(style)
        hedges = self.options.hedges
        pairs = [self.read.pair(before, after, self.verifier, hedges) for before, after in both]
        self.pairs: list[EditedPair] = [pair for pair in pairs if pair is not None]

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
        """One of `EXTRA_TABLES`. Controls and conditions are of the first style, in distribution; verbosity of the first style."""
        o, read = self.options, self.read
        if name == "claims":
            return claims_table(self.groups, BY_STYLE)
        if name == "pooled":
            return pooled_table(self.groups, BY_STYLE, seed=o.seed)
        if name == "refutation":
            return refutation_table([t.episode for t in self.own], self.verifier)[0]
        is_all = name == "verbosity"
        own = [t for t in self.own if is_all or t.episode.split == "in-distribution"]
        judged = [j for t in own if (j := read.judged(t, self.verifier, o.hedges)) is not None]
        if name == "verbosity":
            return verbosity_table(verbosity(judged, how=o.counting, seed=o.seed))
        if name == "controls":
            found = control_scores(
                judged, read.episodes, self.verifier, how=o.counting, hedges=o.hedges, seed=o.seed
            )
            return controls_table(found)
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
    options: ScoreOptions | None = None,
    extra: Sequence[str] = (),
) -> list[Table]:
    """The tables of a run, and what was wrong with it.

    Args:
        run: If it is open for writing, the answers that were read are stored in it.
        data: The episodes, if they are no longer where the run found them.
        options: How to judge and count.
        extra: Some of `EXTRA_TABLES`.
    """
    scored = ScoredTraces(run, data=data, options=options)
    write_answers(run, scored.read)
    title = f"{scored.read.model}, judged by {scored.verifier.name}"
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


def _with_style(table: Table, styles: Sequence[str]) -> Table:
    """The table with the style that it is of, if there are several and its rows do not name them."""
    if len(styles) < 2 or any(column.name == "style" for column in table.columns):
        return table
    return replace(
        table, notes=(*table.notes, f"in the prompt style {styles[0]}, the first of {len(styles)}")
    )


def problem_tables(problems: Sequence[Problem], *, most: int = _MOST_PROBLEMS) -> list[Table]:
    """A table of the first problems; no table if there are none."""
    if not problems:
        return []
    rows = [[problem.where, problem.reason] for problem in problems[:most]]
    notes = [f"… and {len(problems) - most} more"] if len(problems) > most else []
    columns = [Column("where", "where"), Column("reason", "problem")]
    return [Table.of("trace.problems", f"{len(problems)} problems", columns, rows, notes)]
