"""The score of a run: Tables 1 and 2, derived QA and self-consistency, the confusion matrix, interventions, signatures."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from theodolite import stats
from theodolite.core.signatures import Signature
from theodolite.instruments.scene.data.graph import Difficulty, Domain
from theodolite.instruments.scene.data.questions import GROUPS, Competency, Form
from theodolite.instruments.scene.estimates import Drawn
from theodolite.instruments.scene.experiments.blind import BlindTest, blind_test
from theodolite.instruments.scene.experiments.confusion import Confusion, PickedCase, confusion, pick_cases
from theodolite.instruments.scene.experiments.interventions import (
    SettingFigures,
    interventions,
    without_graph,
)
from theodolite.instruments.scene.experiments.paired_settings import QaCount, qa_count
from theodolite.instruments.scene.experiments.signature_evidence import Floors, gather
from theodolite.instruments.scene.experiments.signatures import read_signatures
from theodolite.instruments.scene.experiments.threshold import Threshold, threshold
from theodolite.instruments.scene.formulas.derived import Cases, derive, failure_reasons, scores_of
from theodolite.instruments.scene.formulas.graph_estimates import (
    GraphFigures,
    GraphParts,
    graph_figures,
    graph_scores,
    of_domain,
)
from theodolite.instruments.scene.formulas.sgc import Comparison
from theodolite.instruments.scene.formulas.solver import Solving
from theodolite.instruments.scene.reading.answers import ANSWER_PARSER
from theodolite.instruments.scene.reading.graph_parser import GRAPH_PARSER
from theodolite.instruments.scene.results import SceneRows, read_rows
from theodolite.runs import Run

DOMAINS: tuple[Domain | None, ...] = (None, "indoor", "outdoor")


@dataclass(frozen=True, slots=True)
class ScoreOptions:
    """Which readings to show."""

    seed: int = 0
    comparison: Comparison = "<"
    """Of MRA: the paper's ``<``, or upstream's ``<=``."""
    solver: Solving = "geometric"
    n_resamples: int = 2000


@dataclass(frozen=True, slots=True)
class DomainScore:
    """One row of Table 1."""

    domain: Domain | None
    """None: overall."""
    n_scenes: int
    n_questions: int
    qa: stats.Estimate | None
    qa_upstream: stats.Estimate | None
    """With ``<=`` in MRA, as the public code computes."""
    graphs: GraphParts | None
    consistency: stats.Estimate | None
    derived: stats.Estimate | None
    base_minus_derived: stats.Estimate | None
    ceiling: stats.Estimate | None
    """Of the solver: derived QA from true graphs. Consistency and derived QA cannot be expected above it."""
    qa_prior: stats.Estimate | None
    """What the prior answer gets, which never looks."""
    sgc_prior: stats.Estimate | None


@dataclass(frozen=True, slots=True)
class GroupScore:
    """One axis of the radar."""

    form: Form
    competency: Competency
    n: int
    qa: stats.Estimate | None
    derived: stats.Estimate | None
    consistency: stats.Estimate | None
    ceiling: stats.Estimate | None
    prior: stats.Estimate | None


@dataclass(frozen=True, slots=True)
class SceneScore:
    """The result of a scene run."""

    model: str
    mode: str
    options: ScoreOptions
    counts: tuple[QaCount, ...]
    table: tuple[DomainScore, ...]
    groups: tuple[GroupScore, ...]
    difficulties: Mapping[Difficulty, stats.Estimate]
    """Base QA by the difficulty of the scene."""
    graphs: tuple[GraphFigures, ...]
    failed_derivations: Mapping[str, int]
    """Why the model's graphs gave no answer, counted over the questions of the base setting."""
    confusions: tuple[Confusion, ...]
    cases: tuple[PickedCase, ...]
    blind: BlindTest | None
    interventions: tuple[SettingFigures, ...]
    threshold: Threshold | None
    signatures: tuple[Signature, ...]

    def as_json(self) -> dict[str, Any]:
        """The score as plain JSON."""
        return {
            "instrument": "scene",
            "parsers": {"answers": ANSWER_PARSER, "graphs": GRAPH_PARSER},
            **asdict(self),
        }


def score_scenes(run: Run, options: ScoreOptions | None = None, *, mode: str | None = None) -> SceneScore:
    """Scores a run from its stored answers, and stores readings and figures beside them. No model is called.

    Args:
        run: opened for writing, if readings and figures are to be kept.
        options: seed and readings.
        mode: which mode of answering, of a run that has several.
    """
    rows = read_rows(run, mode=mode)
    run.write_parsed(rows.parsed)
    score = score_rows(rows, options)
    run.write_scores(score.as_json())
    return score


def score_rows(rows: SceneRows, options: ScoreOptions | None = None) -> SceneScore:
    """The figures of a run that was read."""
    options = options or ScoreOptions()
    drawn = Drawn(options.seed, options.n_resamples)
    cases = derive(rows, reading=options.solver, comparison=options.comparison, seed=options.seed)
    floors = Floors.of(rows, cases, options.comparison)
    lost = len(without_graph(rows))
    graphs = {scene: score.sgc for scene, score in graph_scores(rows.graphs.get("base", {})).items()}
    blind = blind_test(rows, drawn, options.comparison)
    matrices = (confusion(cases, form, drawn) for form in ("choice", "number"))
    return SceneScore(
        model=rows.model,
        mode=rows.mode,
        options=options,
        counts=tuple(
            qa_count(_label(setting, noise), given, lost if setting == "predicted graph" else 0)
            for (setting, noise), given in _with_missing(rows, lost).items()
        ),
        table=tuple(_domain(rows, cases, domain, floors, drawn) for domain in DOMAINS if _has(rows, domain)),
        groups=_groups(cases, floors, drawn),
        difficulties=_difficulties(cases, drawn),
        graphs=tuple(graph_figures(list(given.values()), drawn) for given in rows.graphs.values() if given),
        failed_derivations=failure_reasons(cases.cases),
        confusions=tuple(matrix for matrix in matrices if matrix is not None),
        cases=pick_cases(cases, graphs),
        blind=blind,
        interventions=interventions(rows, drawn, options.comparison),
        threshold=threshold(rows, drawn, options.comparison),
        signatures=read_signatures(gather(rows, cases, blind, floors, drawn, comparison=options.comparison)),
    )


def _label(setting: str, noise: float | None) -> str:
    return setting if noise is None else f"{setting} {noise:g}"


def _with_missing(rows: SceneRows, lost: int) -> Mapping[Any, Any]:
    """The settings, with an empty one for predicted graphs where no scene gave any."""
    return (
        rows.qa
        if not lost or ("predicted graph", None) in rows.qa
        else {**rows.qa, ("predicted graph", None): {}}
    )


def _has(rows: SceneRows, domain: Domain | None) -> bool:
    return domain is None or any(question.domain == domain for question in rows.questions.values())


def _domain(
    rows: SceneRows, cases: Cases, domain: Domain | None, floors: Floors, drawn: Drawn
) -> DomainScore:
    keep = np.array([domain is None or case.question.domain == domain for case in cases.cases], bool)
    part = cases.where(keep)
    questions = [case.question for case in part.cases]
    upstream = scores_of(questions, [case.direct.value for case in part.cases], comparison="<=")
    base = rows.graphs.get("base", {})
    graphs = of_domain(base, domain)
    prior = {row.scene: floors.sgc[row.scene] for row in graphs}
    has_graphs = any(row.is_measured for row in graphs)

    def macro(values: np.ndarray) -> stats.Estimate | None:
        return drawn.macro(values, part.groups, part.scenes)

    return DomainScore(
        domain,
        n_scenes=len({*part.scenes, *(row.scene for row in graphs)}),
        n_questions=len(questions),
        qa=macro(part.base),
        qa_upstream=macro(upstream),
        graphs=graph_figures(graphs, drawn).parts if graphs else None,
        consistency=macro(part.agreement) if has_graphs else None,
        derived=macro(part.derived) if has_graphs else None,
        base_minus_derived=drawn.difference(part.base, part.derived, part.groups, part.scenes)
        if has_graphs
        else None,
        ceiling=macro(part.ceiling) if graphs else None,
        qa_prior=macro(floors.qa[keep]),
        sgc_prior=drawn.mean(list(prior.values()), list(prior)),
    )


def _groups(cases: Cases, floors: Floors, drawn: Drawn) -> tuple[GroupScore, ...]:
    found = []
    for code, (form, competency) in enumerate(GROUPS):
        keep = cases.groups == code
        scenes = [scene for scene, is_in in zip(cases.scenes, keep, strict=True) if is_in]
        figures = [
            drawn.mean(values[keep], scenes)
            for values in (cases.base, cases.derived, cases.agreement, cases.ceiling, floors.qa)
        ]
        found.append(GroupScore(form, competency, int(keep.sum()), *figures))
    return tuple(found)


def _difficulties(cases: Cases, drawn: Drawn) -> dict[Difficulty, stats.Estimate]:
    found: dict[Difficulty, stats.Estimate] = {}
    levels: tuple[Difficulty, ...] = ("easy", "medium", "hard")
    for level in levels:
        part = cases.where(np.array([case.question.difficulty == level for case in cases.cases], bool))
        estimate = drawn.macro(part.base, part.groups, part.scenes)
        if estimate is not None:
            found[level] = estimate
    return found
