"""Item scores of a run, and what is made from them.

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

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property

from theodolite import stats
from theodolite.core.definitions import metric_of, metrics_of
from theodolite.core.scores import ItemScore, Metric, Signature, by_metric
from theodolite.instruments.scene.data.questions import SceneQuestion
from theodolite.instruments.scene.experiments.blind import (
    BlindTest,
    blind_test,
    changed_graphs,
    changed_questions,
    graph_prior,
    paired_scores,
    qa_prior,
)
from theodolite.instruments.scene.experiments.curves import CurvePoint, solver_curves
from theodolite.instruments.scene.experiments.graphs import GraphOverview, graph_overview
from theodolite.instruments.scene.experiments.interventions import (
    ConfusionMatrix,
    ExampleCase,
    Intervention,
    Threshold,
    confusion_matrices,
    example_cases,
    interventions,
    threshold,
)
from theodolite.instruments.scene.experiments.noise import NOISE_LEVELS
from theodolite.instruments.scene.formulas.derived_qa import DerivedCases, ScoreOptions, derived_qa
from theodolite.instruments.scene.questions import OTHER_PICTURE
from theodolite.instruments.scene.reading.results import SceneResults, read_run
from theodolite.instruments.scene.signatures import judge_signatures, signature_numbers
from theodolite.runs import Run
from theodolite.worlds.scene_graph import Difficulty, Domain

GRAPH_METRICS = frozenset(each.key for each in metrics_of("scene") if each.average == "items")
"""Metrics of a scene's graph alone: the same whatever questions are asked about it."""


def item_scores(run: Run, options: ScoreOptions | None = None) -> list[ItemScore]:
    """Every metric of every question and scene of a run. Calls no model.

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
    """The scores of all metrics, and of the baselines that tables show.

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
    """QA of every question, and what its scene's graphs imply if the model was asked for one."""
    graphs, places = results.graphs.get("base", {}), {c.question.id: i for i, c in enumerate(cases.cases)}
    is_solvable, beyond = cases.is_solvable, cases.beyond_derived
    for key, row in results.answers("base").items():
        i = places.get(key)
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
    """With the picture minus without, of the questions and graphs that were asked both ways."""
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
    """Whether answers and graphs differ in another setting, of those that can be read in the base setting."""
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
        """The mean of a metric, overall or of a domain or a group.

        Args:
            name: The metric's key without ``scene.``.
            domain: Only of these scenes.
            group: Only of these questions.
        """
        metric = self.metric(name)
        of = self.results.domains
        found = [
            score
            for score in self._by_metric.get(metric.key, ())
            if (domain is None or of[score.cluster] == domain) and group in {"", score.group}
        ]
        return stats.score_mean(metric, found)

    def metric(self, name: str) -> Metric:
        """A metric by its key without ``scene.``, as this solver computes it."""
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
        found = {
            name: stats.score_mean(
                self.metric("qa"),
                [score for score in self.scores if level.get(score.item) == name],
            )
            for name in names
        }
        return {name: estimate for name, estimate in found.items() if estimate is not None}

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
    def threshold(self) -> Threshold | None:
        """How good a graph must be to help."""
        return threshold(self.results, self.options)

    @cached_property
    def signatures(self) -> tuple[Signature, ...]:
        """What the numbers say about the model."""
        return judge_signatures(signature_numbers(self.results, self.options, self.cases, self.blind))


def score_run(run: Run, options: ScoreOptions | None = None, *, mode: str | None = None) -> SceneScore:
    """Scores a run from its stored answers.

    Args:
        run: Measured.
        options: How to score.
        mode: The mode of answering, of a run that has several.
    """
    return SceneScore(read_run(run, mode=mode), options or ScoreOptions())
