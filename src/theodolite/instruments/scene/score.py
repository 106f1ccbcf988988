"""Item scores of a run, and the tables made from them.

Question metrics have one row per question (cluster: its scene; group: one of the nine), and are macro means over groups; graph
metrics have one row per scene. With s(q) the score of the answer to q, 1 or 0 of a choice and MRA of a number:

qa                    s(q), with the picture
derived               s of the answer that the model's own graph implies
consistency           that answer scored with the model's direct answer as gold
direct_over_derived   qa − derived
direct_over_derived_solvable   min(qa, ceiling) − derived, on questions that the solver gets right from the true graph
derived_solvable, consistency_solvable   the same on questions that the solver gets right from the true graph
qa_drop               s(q) with the picture − without
blind_changes         1 if the answer differs, or is missing, without the picture
other_changes         the same with the picture of another scene with as many marks
sgc, s_est, s_rel     of the model's graph of a scene, with the picture
sgc_drop              SGC with the picture − without
blind_graph_change, other_graph_change   1 − SGC of the graph given without the picture (or with another one), with the graph
                      given with it as the true one

Answers that are refused or cannot be read score 0, and their rows say why; requests that failed or were not made have no value.
A derived answer is scored only if the model was asked for its graph of that scene, and a change only if the answer with the
picture can be read.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from theodolite import stats
from theodolite.core.errors import UsageError
from theodolite.core.scores import ItemScore, Metric, Signature, by_metric, column, metric_of, metrics_of
from theodolite.core.tables import Cell, Column, Table
from theodolite.core.views import PlanView, SeenObject
from theodolite.geometry import SE3
from theodolite.instruments.instrument import View, verdict
from theodolite.instruments.scene.data.files import MANIFEST, Layer, SceneQuestion, read_data
from theodolite.instruments.scene.data.small_rooms import unlearnt
from theodolite.instruments.scene.experiments.blind import (
    BlindTest,
    blind_table,
    blind_test,
    changed_graphs,
    changed_questions,
    graph_prior,
    paired_scores,
    qa_prior,
)
from theodolite.instruments.scene.experiments.bottleneck import Bottleneck, bottleneck_table, bottlenecks
from theodolite.instruments.scene.experiments.curves import CurvePoint, curve_table, solver_curves
from theodolite.instruments.scene.experiments.interventions import (
    ConfusionMatrix,
    ExampleCase,
    GraphOverview,
    Intervention,
    Threshold,
    cases_table,
    confusion_matrices,
    confusion_table,
    example_cases,
    graph_overview,
    graphs_table,
    interventions,
    interventions_table,
    parts_table,
    problems_table,
    threshold,
    threshold_table,
)
from theodolite.instruments.scene.experiments.noise import NOISE_LEVELS
from theodolite.instruments.scene.experiments.relations import (
    RelationConfusion,
    relation_confusions,
    relations_table,
)
from theodolite.instruments.scene.formulas.derived_qa import (
    DerivedCases,
    ScoreOptions,
    derived_qa,
    unsolved_reasons,
)
from theodolite.instruments.scene.formulas.layout import lay_out
from theodolite.instruments.scene.formulas.mra import score_value
from theodolite.instruments.scene.formulas.solver import SOLVERS
from theodolite.instruments.scene.kinds import GROUPS, group_name
from theodolite.instruments.scene.questions import BASE, OTHER_PICTURE, PICTURES, is_graph, setting_of
from theodolite.instruments.scene.results import (
    GraphResult,
    SceneResults,
    read_answer_result,
    read_graph_result,
    read_run,
)
from theodolite.instruments.scene.signatures import (
    PaperNumbers,
    judge_as_in_paper,
    judge_signatures,
    signature_numbers,
    signatures_table,
)
from theodolite.runs import Result, Run
from theodolite.stats import Scores
from theodolite.stats.scores import difference_table
from theodolite.worlds.scene_graph import Difficulty, Domain, SceneGraph, SceneObject, StarGraph

GRAPH_METRICS = frozenset(each.key for each in metrics_of("scene") if each.average == "items")
"""Metrics of a scene's graph alone: the same whatever questions are asked about it."""


def item_scores(run: Run, options: ScoreOptions | None = None) -> list[ItemScore]:
    """Score every metric of every question and scene of a run. No model is called.

    Args:
        run: A run of kind ``scene`` or ``scene-pictures``.
        options: How to score. Keys end in `ScoreOptions.suffix` unless these are the defaults.
    """
    results = read_run(run)
    if run.info.instrument != "scene":
        return list(_changes(results, OTHER_PICTURE, "other"))
    scores = result_scores(results, options)
    own = {metric.key for metric in metrics_of("scene")}
    return [score for score in scores if score.metric.partition(":")[0] in own]


def result_scores(
    results: SceneResults, options: ScoreOptions | None = None, cases: DerivedCases | None = None
) -> list[ItemScore]:
    """Return the scores of all metrics, and of the baselines that tables show.

    Args:
        results: Results of a run.
        options: How to score.
        cases: What `derived_qa` gives for these, if it is known.
    """
    options = options or ScoreOptions()
    cases = cases or derived_qa(results, options)
    scores = [
        *_answer_scores(results, cases),
        *_graph_scores(results),
        *_drops(results, options),
        *_changes(results, "blind", "blind"),
        *_priors(results, cases, options),
    ]
    suffix = options.suffix
    return [replace(score, metric=f"{score.metric}{suffix}") for score in scores] if suffix else scores


def _answer_scores(results: SceneResults, cases: DerivedCases) -> Iterator[ItemScore]:
    """Yield QA of every question, and what its scene's graphs imply if the model was asked for one."""
    graphs, index = results.graphs.get("base", {}), {c.question.id: i for i, c in enumerate(cases.cases)}
    is_solvable, beyond = cases.is_solvable, cases.beyond_derived
    for key, row in results.answers("base").items():
        i = index.get(key)
        if i is None:
            names = ("qa", "derived", "consistency", "direct_over_derived")
            for name in names if row.question.scene in graphs else names[:1]:
                yield _of_question(results, row.question, name, None, row.missing)
            continue
        yield _of_question(results, row.question, "qa", float(cases.base[i]), row.missing)
        graph = graphs.get(row.question.scene)
        if graph is None:
            continue
        derived, consistency = float(cases.derived[i]), float(cases.consistency[i])
        why = f"no graph: {graph.missing}" if graph.missing else cases.cases[i].derived.reason
        for name, value, reason in (
            ("derived", derived, why),
            ("consistency", consistency, why or row.missing),
            ("direct_over_derived", float(cases.base[i]) - derived, why or row.missing),
        ):
            known = value if graph.is_measured else None
            yield _of_question(results, row.question, name, known, reason)
            if name == "direct_over_derived":
                known = float(beyond[i]) if graph.is_measured else None
            sound = (known, reason) if is_solvable[i] else (None, "not solvable")
            yield _of_question(results, row.question, f"{name}_solvable", *sound)
        yield _of_question(results, row.question, "ceiling", float(cases.ceiling[i]))


def _graph_scores(results: SceneResults) -> Iterator[ItemScore]:
    for scene, row in results.graphs.get("base", {}).items():
        score = row.score
        for name, value in (("sgc", score.sgc), ("s_est", score.s_est), ("s_rel", score.s_rel)):
            yield _of_graph(results, scene, name, value if row.is_measured else None, row.missing)


def _drops(results: SceneResults, options: ScoreOptions) -> Iterator[ItemScore]:
    """Yield scores with the picture minus scores without, for questions and graphs asked both ways."""
    base, blind = results.answers("base"), results.answers("blind")
    pair = paired_scores(base, blind, comparison=options.comparison)
    drops = {q.id: float(a - b) for q, a, b in zip(pair.questions, pair.first, pair.second, strict=True)}
    for key, row in base.items():
        if key in blind:
            why = row.missing or blind[key].missing
            yield _of_question(results, row.question, "qa_drop", drops.get(key), why)
    dark = results.graphs.get("blind", {})
    for scene, graph in results.graphs.get("base", {}).items():
        if scene in dark:
            is_measured = graph.is_measured and dark[scene].is_measured
            drop = graph.score.sgc - dark[scene].score.sgc if is_measured else None
            yield _of_graph(results, scene, "sgc_drop", drop, graph.missing or dark[scene].missing)


def _changes(results: SceneResults, setting: str, name: str) -> Iterator[ItemScore]:
    """Yield whether answers and graphs differ in another setting, for those that can be read in the base setting."""
    base, other = results.answers("base"), results.answers(setting)
    changed = changed_questions(results, setting)
    for key, row in base.items():
        if key in other:
            why = row.missing or other[key].missing
            yield _of_question(results, row.question, f"{name}_changes", changed.get(key), why)
    graphs, others = results.graphs.get("base", {}), results.graphs.get(setting, {})
    changed = changed_graphs(results, setting)
    for scene, graph in graphs.items():
        if scene in others:
            why = graph.missing or others[scene].missing
            yield _of_graph(results, scene, f"{name}_graph_change", changed.get(scene), why)


def _priors(results: SceneResults, cases: DerivedCases, options: ScoreOptions) -> Iterator[ItemScore]:
    questions = [case.question for case in cases.cases]
    values = qa_prior(questions, comparison=options.comparison)
    for question, value in zip(questions, values, strict=True):
        yield _of_question(results, question, "qa_prior", float(value))
    graphs = results.graphs.get("base", {})
    prior = graph_prior({s: r.true for s, r in graphs.items()}, {s: r.domain for s, r in graphs.items()})
    for scene, score in prior.items():
        yield _of_graph(results, scene, "sgc_prior", score.sgc)


def _of_question(
    results: SceneResults, question: SceneQuestion, name: str, value: float | None, reason: str = ""
) -> ItemScore:
    return ItemScore(
        question.id,
        f"scene.{name}",
        value,
        question.scene,
        results.split,
        question.group_name,
        reason,
    )


def _of_graph(
    results: SceneResults, scene: str, name: str, value: float | None, reason: str = ""
) -> ItemScore:
    return ItemScore(scene, f"scene.{name}", value, scene, results.split, reason=reason)


@dataclass(frozen=True)
class SceneScore:
    """Everything that tables, figures and signatures are made from; each part is computed once, when it is first used."""

    results: SceneResults
    options: ScoreOptions

    @property
    def model(self) -> str:
        """The name of the model."""
        return self.results.model

    @cached_property
    def scores(self) -> list[ItemScore]:
        """The scores of all questions and graphs."""
        return result_scores(self.results, self.options, self.cases)

    @cached_property
    def cases(self) -> DerivedCases:
        """The questions with their derived answers."""
        return derived_qa(self.results, self.options)

    def mean(self, name: str, *, domain: Domain | None = None, group: str = "") -> stats.Estimate | None:
        """Return the mean of a metric, overall or of a domain or a group.

        Args:
            name: The metric's key without ``scene.``.
            domain: Only of these scenes.
            group: Only of these questions.
        """
        metric = self.metric(name)
        of = self.results.domains
        scores = [
            score
            for score in self._by_metric.get(metric.key, ())
            if (domain is None or of[score.cluster] == domain) and group in {"", score.group}
        ]
        return stats.score_mean(metric, scores)

    def metric(self, name: str) -> Metric:
        """Return a metric by its key without ``scene.``, as this solver computes it."""
        return metric_of(f"scene.{name}{self.options.suffix}")

    @cached_property
    def _by_metric(self) -> Mapping[str, list[ItemScore]]:
        return by_metric(self.scores)

    @property
    def domains(self) -> tuple[Domain | None, ...]:
        """None for all scenes, then every domain that the run has."""
        known: tuple[Domain, ...] = ("indoor", "outdoor")
        return (None, *(domain for domain in known if domain in set(self.results.domains.values())))

    @cached_property
    def difficulties(self) -> dict[Difficulty, stats.Estimate]:
        """QA by the difficulty of the scene."""
        level = {key: question.difficulty for key, question in self.results.questions.items()}
        names: tuple[Difficulty, ...] = ("easy", "medium", "hard")
        estimates = {
            name: stats.score_mean(
                self.metric("qa"),
                [score for score in self.scores if level.get(score.item) == name],
            )
            for name in names
        }
        return {name: estimate for name, estimate in estimates.items() if estimate is not None}

    @cached_property
    def graphs(self) -> tuple[GraphOverview, ...]:
        """The graphs of each setting."""
        given = self.results.graphs
        return tuple(graph_overview(s, list(rows.values())) for s, rows in given.items() if rows)

    @cached_property
    def blind(self) -> BlindTest | None:
        """Table 2."""
        return blind_test(self.results, self.options)

    @cached_property
    def confusions(self) -> tuple[ConfusionMatrix, ...]:
        """Base QA against derived QA."""
        return confusion_matrices(self.cases)

    @cached_property
    def relations(self) -> tuple[RelationConfusion, ...]:
        """The words of the model's graphs against those of the true ones."""
        graphs = (
            (self.results.true_graph(s), row) for s, row in self.results.measured_graphs("base").items()
        )
        return relation_confusions((true, row.reading.graph) for true, row in graphs if true is not None)

    @cached_property
    def curves(self) -> tuple[CurvePoint, ...]:
        """The solvers on the true graphs with noise on words and lengths."""
        true = {scene: graph for scene in self.results.domains if (graph := self.results.true_graph(scene))}
        questions = [q for q in self.results.questions.values() if q.scene in true]
        return solver_curves(
            true,
            questions,
            noisy=("words and lengths",),
            levels=NOISE_LEVELS,
            comparison=self.options.comparison,
            seed=self.options.seed,
        )

    @cached_property
    def examples(self) -> tuple[ExampleCase, ...]:
        """Cases that illustrate the quadrants."""
        sgc = {scene: row.score.sgc for scene, row in self.results.measured_graphs("base").items()}
        return example_cases(self.cases, sgc)

    @cached_property
    def interventions(self) -> tuple[Intervention, ...]:
        """QA with graphs in the prompt."""
        return interventions(self.results, self.options)

    @cached_property
    def bottlenecks(self) -> Mapping[Layer | None, Bottleneck]:
        """Where the lost points come from: of all questions (None), and by layer; empty if not measured."""
        return bottlenecks(self.results, self.options, self.cases)

    @cached_property
    def threshold(self) -> Threshold | None:
        """How good a graph must be to help."""
        return threshold(self.results, self.options)

    @cached_property
    def signatures(self) -> tuple[Signature, ...]:
        """What the numbers say about the model."""
        return judge_signatures(signature_numbers(self.results, self.options, self.cases, self.blind))

    @cached_property
    def paper_signatures(self) -> Mapping[str, Signature]:
        """The signatures as the paper has them, by name: raw scores by the public solver, the blind scores as floor."""
        paper = SceneScore(self.results, replace(self.options, solver="upstream"))
        numbers = PaperNumbers(
            qa=paper.mean("qa"),
            sgc=paper.mean("sgc"),
            consistency=paper.mean("consistency"),
            base_over_derived=paper.mean("direct_over_derived"),
            qa_drop=self.blind.qa_drop if self.blind is not None else None,
            sgc_drop=self.blind.sgc_drop if self.blind is not None else None,
            predicted_gain=_gain(self.interventions, None),
            compositional_gain=_gain(self.interventions, "compositional"),
        )
        return judge_as_in_paper(numbers)


def _gain(found: Iterable[Intervention], layer: Layer | None) -> stats.Estimate | None:
    own = (each for each in found if each.setting == "predicted graph" and each.layer == layer)
    return next((each.gain for each in own), None)


def score_run(run: Run, options: ScoreOptions | None = None, *, mode: str | None = None) -> SceneScore:
    """Score a run from its stored answers.

    Args:
        run: Measured.
        options: How to score.
        mode: The mode of answering, of a run that has several.
    """
    return SceneScore(read_run(run, mode=mode), options or ScoreOptions())


# The tables of a run's score.


EXTRA_TABLES = (
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
"""Tables that are shown on request."""


def score_tables(score: SceneScore, extra: Iterable[str] = ()) -> list[Table]:
    """Return the main tables and the requested extra ones.

    Args:
        score: What to show.
        extra: Some of `EXTRA_TABLES`; those without rows are left out.
    """
    tables = [qa_table(score), solvable_table(score), counts_table(score)]
    tables += [graphs_table(score.graphs)] if score.graphs else []
    if score.blind is not None:
        tables += [blind_table(score.blind), changes_table(score)]
    if score.confusions:
        tables.append(confusion_table([*score.confusions, *confusion_matrices(score.cases, "paper")]))
    if len({intervention.setting for intervention in score.interventions}) > 1:
        tables.append(interventions_table(score.interventions))
    tables += [threshold_table(score.threshold)] if score.threshold is not None else []
    tables += [bottleneck_table(score.bottlenecks)] if None in score.bottlenecks else []
    tables.append(signatures_table(score.signatures, score.paper_signatures))
    more = {
        "groups": lambda: groups_table(score),
        "difficulty": lambda: difficulty_table(score),
        "readings": lambda: readings_table(score),
        "graph-parts": lambda: parts_table(score.graphs),
        "graph-problems": lambda: problems_table(score.graphs),
        "relations": lambda: relations_table(score.relations),
        "unsolved": lambda: unsolved_table(score.cases),
        "cases": lambda: cases_table(score.examples),
        "solver-curve": lambda: curve_table("words and lengths", score.curves),
    }
    return [*tables, *(table for name in extra if (table := more[name]()).rows)]


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
    """Return Table 1."""
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
    """Return Table 1 restricted to solvable questions, without the solver's own errors."""
    shown = ("consistency_solvable", "derived_solvable", "direct_over_derived_solvable")
    columns, rows = [Column("scenes", "scenes"), *map(_COLUMNS.__getitem__, shown)], _by_domain(score, shown)
    return Table.of("scene.solvable", "Questions that the solver can answer", columns, rows)


def _by_domain(score: SceneScore, shown: Sequence[str]) -> list[list[Cell]]:
    return [[domain or "overall", *(score.mean(n, domain=domain) for n in shown)] for domain in score.domains]


def changes_table(score: SceneScore) -> Table:
    """Return how often answers, and how far graphs, change without the picture."""
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
    """Return the number of questions of each setting by outcome."""
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
    """Return every question metric of Table 1 by group."""
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
    """Return QA by difficulty."""
    return Table.of(
        "scene.difficulty",
        "QA by the difficulty of the scene",
        [Column("difficulty", "difficulty"), _COLUMNS["qa"]],
        [[difficulty, estimate] for difficulty, estimate in score.difficulties.items()],
    )


def readings_table(score: SceneScore) -> Table:
    """Return the paper's definitions beside the public code's: MRA with ``<`` and ``<=``, all solvers."""
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
    others = [SceneScore(score.results, replace(reading, seed=score.options.seed)) for reading in readings]
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
    """Return why the model's own graphs imply no answer."""
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
    """Refuse runs on different questions: their numbers cannot be compared.

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
    """Return Tables 1 and 2 of all models, and their differences from the first.

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
        [warning for score in scores.values() for warning in unlearnt(score.model, score.results.domains)],
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


# Rows of scenes: questions and graphs, with the scene from above as it is and as the model described it.


RIGHT_FROM = 0.5
"""A number counts as right if its MRA is at least this."""
_HAND_M = 0.1
"""The drawn size of an object without one."""


def scene_view(run: Run) -> View:
    """Return a function that shows a question or a graph of a run with its scene from above."""
    folder = Path(str(run.info.settings["data"]))
    scenes = read_data(folder).scenes if (folder / MANIFEST).is_file() else {}
    graphs = {(r.item.cluster, setting_of(r.item)): r for r in run.results() if is_graph(r.item)}

    def view(result: Result) -> dict[str, Any] | None:
        item = result.item
        if run.info.instrument == PICTURES and item.truth.is_plain:
            return None  # the main run shows it
        asked = graphs.get((item.cluster, setting_of(item))) or graphs.get((item.cluster, BASE))
        return {
            **(_GRAPH_FIELDS if is_graph(item) else _question_fields(result)),
            "prompt": item.request.text,
            "plan": _view(scenes.get(item.cluster), asked),
        }

    return view


_GRAPH_FIELDS = {
    "question": "Write down the layout of this place as a 3D scene graph.",
    "gold": "the graph, from above",
}


def _question_fields(result: Result) -> dict[str, Any]:
    """Return the fields that show a question: a number is right if it is near enough; choices are shown by their letters."""
    row = read_answer_result(result)
    question, answer = row.question, row.answer
    is_right = score_value(question, answer.value) >= RIGHT_FROM if answer.is_read else None
    return {
        "question": question.lines,
        "gold": question.gold,
        "read_as": str(answer.value) if answer.is_read else "",
        "correct": verdict(is_right, row.setting),
    }


def _view(scene: SceneGraph | None, asked: Result | None) -> PlanView | None:
    if scene is None:
        return None
    true = [_seen(thing) for thing in scene.objects]
    if asked is None or asked.record is None:
        return PlanView(true=true, said_problem="the model was not asked for its graph")
    text = asked.record.response.text
    row: GraphResult = read_graph_result(asked)
    graph = row.reading.graph
    if graph is None:
        return PlanView(true=true, said_text=text, said_problem=row.reading.reason)
    described_objects = said_objects(graph)
    described = {node.id for node in graph.nodes} | {edge.to for edge in graph.edges}
    lost = len(described) - len(described_objects)
    problem = f"{lost} of its objects cannot be placed by its numbers" if lost else ""
    return PlanView(true=true, said=described_objects, said_text=text, said_problem=problem)


def said_objects(graph: StarGraph) -> list[SeenObject]:
    """Return the objects of a model's graph that its numbers place; an edge may lead to one that is not described."""
    nodes = {node.id: node for node in graph.nodes}
    objects = []
    for mark, (x, z) in lay_out(graph).places_m.items():
        if math.isfinite(x) and math.isfinite(z):
            node = nodes.get(mark)
            width, depth = (node.length_m, node.width_m) if node is not None else (None, None)
            objects.append(
                SeenObject(
                    mark=mark, x_m=round(x, 3), z_m=round(z, 3), width_m=_drawn(width), depth_m=_drawn(depth)
                )
            )
    return objects


def _drawn(length_m: float | None) -> float:
    return length_m if length_m is not None and math.isfinite(length_m) and length_m > 0 else _HAND_M


def _seen(thing: SceneObject) -> SeenObject:
    x, _, z = thing.centre_cam
    along = SE3.from_quaternion(thing.rotation_cam, (0.0, 0.0, 0.0)).apply(np.array([1.0, 0.0, 0.0]))
    return SeenObject(
        mark=thing.id,
        category=thing.category,
        x_m=round(x, 3),
        z_m=round(z, 3),
        width_m=thing.length_m,
        depth_m=thing.width_m,
        turn_deg=round(math.degrees(math.atan2(along[2], along[0])), 1),
    )
