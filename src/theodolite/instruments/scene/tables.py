"""The tables of a run's score."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from theodolite.core.definitions import column
from theodolite.core.errors import UsageError
from theodolite.core.tables import Cell, Column, Table
from theodolite.instruments.scene.data.small_rooms import unlearnt
from theodolite.instruments.scene.experiments.blind import blind_table
from theodolite.instruments.scene.experiments.curves import curve_table
from theodolite.instruments.scene.experiments.graphs import graphs_table, parts_table, problems_table
from theodolite.instruments.scene.experiments.interventions import (
    cases_table,
    confusion_matrices,
    confusion_table,
    interventions_table,
    threshold_table,
)
from theodolite.instruments.scene.formulas.derived_qa import DerivedCases, ScoreOptions, unsolved_reasons
from theodolite.instruments.scene.formulas.solver import SOLVERS
from theodolite.instruments.scene.kinds import GROUPS, group_name
from theodolite.instruments.scene.score import SceneScore
from theodolite.instruments.scene.signatures import signatures_table
from theodolite.stats import Scores
from theodolite.stats.scores import difference_table

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
        column("scene.qa"),
        column("scene.sgc"),
        column("scene.s_est"),
        column("scene.s_rel"),
        column("scene.consistency", title="consistency"),
        column("scene.consistency_solvable"),
        column("scene.derived"),
        column("scene.derived_solvable"),
        column("scene.direct_over_derived"),
        column("scene.direct_over_derived_solvable"),
        column("scene.ceiling", title="solver ceiling"),
        column("scene.qa_prior", title="without looking"),
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
            column("scene.blind_changes", "answers"),
            column("scene.blind_graph_change", "graphs"),
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


# Several models in one table: the paper's Tables 1 and 2 with one row per model, and paired differences from the first.
#
# Table 1 has the paper's columns by the paper's reading (the rules of the public solver), and beside them what is sound: agreement
# and derived answers on solvable questions only, and the ceiling. Differences are of the same questions or scenes, clustered by
# scene.


_COMPARED = ("qa", "sgc", "consistency", "derived")


def check_alike(scores: Mapping[str, SceneScore]) -> None:
    """Refuses runs on different questions: their numbers cannot be compared.

    Raises:
        UsageError: The questions differ, in number, wording or gold.
    """
    (first, one), *others = scores.items()
    asked = one.results.questions
    for name, score in others:
        there = score.results.questions
        differing = sum(asked.get(key) != there.get(key) for key in asked.keys() | there.keys())
        if differing:
            raise UsageError(
                f"{first} and {name} were asked different questions ({differing} of {len(asked.keys() | there.keys())} "
                "differ); compare runs on the same data set, with the same --scene and --limit"
            )


def compare_tables(scores: Mapping[str, SceneScore]) -> list[Table]:
    """Tables 1 and 2 of all models, and their differences from the first.

    Args:
        scores: By the name to show, on the same questions.
    """
    check_alike(scores)
    return [_main_table(scores), _differences_table(scores), _blind_table(scores)]


def _main_table(scores: Mapping[str, SceneScore]) -> Table:
    rows: list[list[Cell]] = []
    for name, score in scores.items():
        paper = type(score)(score.results, replace(score.options, solver="upstream"))
        theirs = [paper.mean(key) for key in ("qa", "sgc", "s_est", "s_rel", "consistency")]
        ours = [score.mean(key) for key in ("consistency_solvable", "derived_solvable", "ceiling")]
        rows.append([name, *theirs, *ours])
    return Table.of(
        "scene.models",
        "Table 1: the paper's columns, and what is sound beside them",
        [
            Column("model", "model"),
            column("scene.qa"),
            column("scene.sgc"),
            column("scene.s_est"),
            column("scene.s_rel"),
            column("scene.consistency", "con", "Con. (paper)"),
            column("scene.consistency_solvable"),
            column("scene.derived_solvable"),
            column("scene.ceiling", title="solver ceiling"),
        ],
        rows,
        [told for score in scores.values() for told in unlearnt(score.model, score.results.domains)],
    )


def _differences_table(scores: Mapping[str, SceneScore]) -> Table:
    first, *others = scores
    metrics = [scores[first].metric(key) for key in _COMPARED]
    return difference_table(
        "scene.differences",
        f"Differences from {first}, paired",
        Scores({name: score.scores for name, score in scores.items()}).difference(
            [(name, first) for name in others], [metric.key for metric in metrics]
        ),
        {metric.kind: column(metric.kind, difference=True) for metric in metrics},
    )


def _blind_table(scores: Mapping[str, SceneScore]) -> Table:
    rows: list[list[Cell]] = []
    for name, score in scores.items():
        blind = score.blind
        if blind is None:
            rows.append([name, None, None, None, None, None])
        else:
            rows.append([name, blind.qa, blind.qa_drop, blind.sgc, blind.sgc_drop, blind.refused])
    return Table.of(
        "scene.models_blind",
        "Table 2: without the picture",
        [
            Column("model", "model"),
            column("scene.qa"),
            Column("qa_drop", "drop of QA", "points"),
            column("scene.sgc"),
            Column("sgc_drop", "drop of SGC", "points"),
            column("scene.refused"),
        ],
        rows,
    )
