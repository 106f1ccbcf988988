"""The tables of a run's score."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace

from theodolite.core.tables import Cell, Column, Table
from theodolite.instruments.scene.data.questions import GROUPS, group_name
from theodolite.instruments.scene.data.twin_rooms import unlearnt
from theodolite.instruments.scene.experiments.blind import (
    blind_table,
)
from theodolite.instruments.scene.experiments.confusion import (
    cases_table,
    confusion_matrices,
    confusion_table,
)
from theodolite.instruments.scene.experiments.curves import curve_table
from theodolite.instruments.scene.experiments.graphs import (
    graphs_table,
    parts_table,
    problems_table,
)
from theodolite.instruments.scene.experiments.interventions import (
    interventions_table,
)
from theodolite.instruments.scene.experiments.threshold import threshold_table
from theodolite.instruments.scene.formulas.derived_qa import (
    DerivedCases,
    ScoreOptions,
    unsolved_reasons,
)
from theodolite.instruments.scene.formulas.solver import SOLVERS
from theodolite.instruments.scene.score import SceneScore
from theodolite.instruments.scene.signatures import signatures_table

EXTRA_TABLES = (
    "groups",
    "difficulty",
    "readings",
    "graph-parts",
    "graph-problems",
    "unsolved",
    "cases",
    "solver-curve",
)
"""Tables that are shown on request."""


def score_tables(score: SceneScore, extra: Iterable[str] = ()) -> list[Table]:
    """The main tables, and those asked for.

    Args:
        score: What to show.
        extra: Some of `EXTRA_TABLES`; those without rows are left out.
    """
    found = [qa_table(score), solvable_table(score), counts_table(score)]
    found += [graphs_table(score.graphs)] if score.graphs else []
    if score.blind is not None:
        found += [blind_table(score.blind), changes_table(score)]
    if score.confusions:
        found.append(confusion_table([*score.confusions, *confusion_matrices(score.cases, "paper")]))
    if len({each.setting for each in score.interventions}) > 1:
        found.append(interventions_table(score.interventions))
    found += [threshold_table(score.threshold)] if score.threshold is not None else []
    found.append(signatures_table(score.signatures))
    more = {
        "groups": lambda: groups_table(score),
        "difficulty": lambda: difficulty_table(score),
        "readings": lambda: readings_table(score),
        "graph-parts": lambda: parts_table(score.graphs),
        "graph-problems": lambda: problems_table(score.graphs),
        "unsolved": lambda: unsolved_table(score.cases),
        "cases": lambda: cases_table(score.examples),
        "solver-curve": lambda: curve_table("words and lengths", score.curves),
    }
    return [*found, *(table for name in extra if (table := more[name]()).rows)]


_COLUMNS = {
    column.name: column
    for column in (
        Column("qa", "QA", "share", "scene.accuracy"),
        Column("sgc", "SGC", "share", "scene.sgc"),
        Column("s_est", "S_est", "share", "scene.s_est"),
        Column("s_rel", "S_rel", "share", "scene.s_rel"),
        Column("consistency", "consistency", "share", "scene.consistency"),
        Column("consistency_solvable", "consistency, solvable", "share", "scene.consistency_solvable"),
        Column("derived", "derived QA", "share", "scene.derived"),
        Column("derived_solvable", "derived QA, solvable", "share", "scene.derived_solvable"),
        Column("direct_over_derived", "base − derived", "points", "scene.base_minus_derived"),
        Column(
            "direct_over_derived_solvable",
            "base − derived, solvable",
            "points",
            "scene.base_minus_derived_solvable",
        ),
        Column("ceiling", "solver ceiling", "share", "scene.ceiling"),
        Column("qa_prior", "without looking", "share", "scene.qa_prior"),
    )
}
"""How tables show the metrics."""


def qa_table(score: SceneScore) -> Table:
    """Table 1."""
    shown = ("qa", "sgc", "s_est", "s_rel", "consistency", "derived", "direct_over_derived", "ceiling")
    rows = _by_domain(score, shown)
    prior = {"qa": score.mean("qa_prior"), "sgc": score.mean("sgc_prior")}
    rows.append(["without looking", *(prior.get(name) for name in shown)])
    options = score.options
    return Table.of(
        "scene.qa",
        f"Table 1: {score.model}, {score.results.mode}; MRA {options.comparison}, solver {options.solver}",
        [Column("scenes", "scenes"), *(_COLUMNS[name] for name in shown)],
        rows,
        unlearnt(score.model, score.results.domains),
    )


def solvable_table(score: SceneScore) -> Table:
    """What Table 1 says of answers and graphs, without the solver's own errors."""
    shown = ("consistency_solvable", "derived_solvable", "direct_over_derived_solvable")
    columns, rows = [Column("scenes", "scenes"), *map(_COLUMNS.__getitem__, shown)], _by_domain(score, shown)
    return Table.of("scene.solvable", "Questions that the solver can answer", columns, rows)


def _by_domain(score: SceneScore, shown: Sequence[str]) -> list[list[Cell]]:
    return [[domain or "overall", *(score.mean(n, domain=domain) for n in shown)] for domain in score.domains]


def changes_table(score: SceneScore) -> Table:
    """How often answers, and how far graphs, change without the picture."""
    return Table.of(
        "scene.changes",
        "Changes without the picture",
        [
            Column("answers", "answers that change", "share", "scene.picture_changes"),
            Column("graphs", "change of the graph", "share", "scene.graph_changes"),
        ],
        [[score.mean("blind_changes"), score.mean("blind_graph_change")]],
    )


def counts_table(score: SceneScore) -> Table:
    """What became of the questions of each setting."""
    results = score.results
    lost = len(results.without_graph)
    given = dict(results.qa)
    if lost:
        given.setdefault(("predicted graph", None), {})
    rows: list[list[Cell]] = []
    for (setting, noise), answers in given.items():
        measured = [row for row in answers.values() if row.is_measured]
        missing = Counter(row.missing for row in answers.values())
        rows.append(
            [
                setting if noise is None else f"{setting} {noise:g}",
                len(measured),
                missing["refused"],
                missing["cut off"],
                missing["ambiguous"] + missing["none of these"],
                missing["unreadable"],
                missing["failed"],
                missing["pending"],
                lost if setting == "predicted graph" else 0,
            ]
        )
    names = ("asked", "refused", "cut off", "ambiguous", "unreadable", "failed", "pending")
    return Table.of(
        "scene.counts",
        "Questions",
        [
            Column("setting", "setting"),
            *(Column(name.replace(" ", "_"), name, "count") for name in names),
            Column("without_graph", "failed: no graph", "count"),
        ],
        rows,
    )


def groups_table(score: SceneScore) -> Table:
    """Every number of Table 1 that is of questions, by group."""
    shown = ("qa", "derived", "consistency", "ceiling", "qa_prior")
    sizes = Counter(score.cases.groups)
    return Table.of(
        "scene.groups",
        "Groups of questions",
        [Column("group", "group"), Column("n", "n", "count"), *(_COLUMNS[name] for name in shown)],
        [
            [name, sizes[name], *(score.mean(metric, group=name) for metric in shown)]
            for name in (group_name(*group) for group in GROUPS)
        ],
    )


def difficulty_table(score: SceneScore) -> Table:
    """QA by difficulty."""
    return Table.of(
        "scene.difficulty",
        "QA by the difficulty of the scene",
        [Column("difficulty", "difficulty"), _COLUMNS["qa"]],
        [[difficulty, estimate] for difficulty, estimate in score.difficulties.items()],
    )


def readings_table(score: SceneScore) -> Table:
    """The paper's definitions beside the public code's: MRA with ``<`` and ``<=``, all solvers."""
    readings = (ScoreOptions(), ScoreOptions(comparison="<="), *(ScoreOptions(s) for s in SOLVERS[1:]))
    shown = (
        "qa",
        "derived",
        "derived_solvable",
        "consistency",
        "consistency_solvable",
        "direct_over_derived",
        "direct_over_derived_solvable",
        "ceiling",
    )
    others = [SceneScore(score.results, replace(each, seed=score.options.seed)) for each in readings]
    return Table.of(
        "scene.readings",
        "Readings of the definitions",
        [Column("mra", "MRA"), Column("solver", "solver"), *(_COLUMNS[name] for name in shown)],
        [
            [other.options.comparison, other.options.solver, *(other.mean(name) for name in shown)]
            for other in others
        ],
    )


def unsolved_table(cases: DerivedCases) -> Table:
    """Why the model's own graphs imply no answer."""
    return Table.of(
        "scene.unsolved",
        "Questions without a derived answer",
        [Column("reason", "reason"), Column("questions", "questions", "count")],
        [[reason, n] for reason, n in unsolved_reasons(cases.cases).items()],
    )
