"""All answers and graphs of a run, read from the stored text. No model is called."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, cast

from theodolite.answers import READER, Answer, read_answer
from theodolite.answers.grading import Grade, format_from_json, read_record
from theodolite.answers.grading import grade as grade_choice
from theodolite.core.errors import UsageError
from theodolite.core.types import Record
from theodolite.instruments.scene.data.files import SceneQuestion
from theodolite.instruments.scene.formulas.mra import mean_relative_accuracy
from theodolite.instruments.scene.formulas.sgc import GraphScore, score_graph
from theodolite.instruments.scene.graph_parser import (
    GRAPH_READER,
    GraphReading,
    parse_graph,
    star_from_json,
)
from theodolite.instruments.scene.questions import PICTURES, is_graph, question_of, setting_of, true_graph
from theodolite.runs import Parsed, Result, Run
from theodolite.worlds.scene_graph import Domain, StarGraph

__all__ = [
    "grade",
]

RUN_KINDS = ("scene", PICTURES)
"""The kinds of run that the instrument scores."""


@dataclass(frozen=True, slots=True)
class AnswerResult:
    """One question in one setting."""

    question: SceneQuestion
    setting: str
    status: str
    """``answered``, ``refused``, ``failed`` or ``pending``."""
    answer: Answer
    noise: float | None = None
    graph: StarGraph | None = None
    """Of a noisy graph: the graph in the prompt."""

    @property
    def is_measured(self) -> bool:
        """True if answered or refused."""
        return self.status in {"answered", "refused"}

    @property
    def missing(self) -> str:
        """Why there is no answer: ``refused``, ``unreadable``, ``cut off``, ``failed`` …; empty if there is one."""
        if not self.is_measured:
            return self.status
        return "" if self.answer.is_read else self.answer.status


@dataclass(frozen=True, slots=True)
class GraphResult:
    """One graph in one setting."""

    scene: str
    domain: Domain
    setting: str
    status: str
    """``answered``, ``refused``, ``failed`` or ``pending``."""
    reading: GraphReading
    true: StarGraph
    score: GraphScore
    """Against the true graph; zeros if there is no graph."""

    @property
    def is_measured(self) -> bool:
        """True if answered or refused."""
        return self.status in {"answered", "refused"}

    @property
    def missing(self) -> str:
        """Why there is no graph; empty if there is one."""
        if not self.is_measured:
            return self.status
        return "" if self.reading.is_read else self.reading.status


@dataclass(frozen=True, slots=True)
class SceneResults:
    """A run, read."""

    model: str
    mode: str
    qa: Mapping[tuple[str, float | None], Mapping[str, AnswerResult]]
    """By setting and noise level, then by question."""
    graphs: Mapping[str, Mapping[str, GraphResult]]
    """By setting, then by scene."""
    asked_for: frozenset[str] = frozenset()
    """The settings that the run was started with, as far as it says."""
    split: str = ""
    parsed: tuple[Parsed, ...] = field(default=(), repr=False)

    def answers(self, setting: str) -> Mapping[str, AnswerResult]:
        """Return the answers in a setting without noise, by question."""
        return self.qa.get((setting, None), {})

    def measured_graphs(self, setting: str) -> dict[str, GraphResult]:
        """Return the graphs that were answered or refused in a setting, by scene."""
        return {scene: row for scene, row in self.graphs.get(setting, {}).items() if row.is_measured}

    @property
    def questions(self) -> dict[str, SceneQuestion]:
        """Every question that was asked in any setting."""
        return {key: row.question for rows in self.qa.values() for key, row in rows.items()}

    @property
    def domains(self) -> dict[str, Domain]:
        """The domain of every scene."""
        domains: dict[str, Domain] = {q.scene: q.domain for q in self.questions.values()}
        return domains | {scene: row.domain for rows in self.graphs.values() for scene, row in rows.items()}

    def true_graph(self, scene: str) -> StarGraph | None:
        """Return the true graph of a scene that was asked for its graph."""
        return next((rows[scene].true for rows in self.graphs.values() if scene in rows), None)

    @property
    def without_graph(self) -> list[SceneQuestion]:
        """Questions of the base setting that were not asked with the model's own graph, because it gave none."""
        given = self.answers("predicted graph")
        if not given and "predicted graph" not in self.asked_for:
            return []
        unread = {scene for scene, row in self.measured_graphs("base").items() if not row.reading.is_read}
        base = self.answers("base")
        return [
            row.question for key, row in base.items() if key not in given and row.question.scene in unread
        ]


def read_run(run: Run, *, mode: str | None = None) -> SceneResults:
    """Read a run of scenes; if the run is writable, store the readings beside the raw text.

    Args:
        run: Measured or partly measured.
        mode: The mode of answering, of a run that has several.

    Raises:
        UsageError: The run is of another instrument, is empty, or has several modes and none was named.
    """
    if run.info.instrument not in RUN_KINDS:
        raise UsageError(f"{run.folder} is a run of {run.info.instrument}, not of scene")
    settings = run.info.settings
    results = read_results(
        run.results(),
        model=run.info.model,
        mode=mode,
        asked_for=settings.get("settings") or (),
        split=str(settings.get("split") or ""),
    )
    run.write_parsed(results.parsed)
    return results


def read_results(
    results: Iterable[Result],
    *,
    model: str,
    mode: str | None = None,
    asked_for: Iterable[str] = (),
    split: str = "",
) -> SceneResults:
    """Read the results of a plan; `read_run` does so for a run.

    Args:
        results: Items with their records.
        model: Name of the model.
        mode: The mode of answering, of a plan that has several.
        asked_for: The settings that the run was started with.
        split: Split of the data.
    """
    qa: dict[tuple[str, float | None], dict[str, AnswerResult]] = {}
    graphs: dict[str, dict[str, GraphResult]] = {}
    known = _Known()
    parsed: list[Parsed] = []
    modes: set[str] = set()
    for result in results:
        asked = str(result.item.meta.get("mode", "direct"))
        if mode is not None and asked != mode:
            continue
        modes.add(asked)
        if is_graph(result.item):
            graph = read_graph_result(result)
            graphs.setdefault(graph.setting, {})[graph.scene] = graph
            if graph.is_measured:
                problems: dict[str, Any] = {str(kind): n for kind, n in graph.reading.problems.items()}
                parsed.append(Parsed(_id(result), GRAPH_READER, graph.reading.status, problems))
        else:
            row = read_answer_result(result, known)
            qa.setdefault((row.setting, row.noise), {})[row.question.id] = row
            if row.is_measured:
                parsed.append(Parsed(_id(result), READER, row.answer.status, row.answer.value))
    if not qa and not graphs:
        raise UsageError(
            "the run holds no question and no graph" + (f" in the mode {mode!r}" if mode else "")
        )
    if len(modes) > 1:
        raise UsageError(
            f"the run has several modes of answering ({', '.join(sorted(modes))}); choose one with --mode"
        )
    return SceneResults(model, modes.pop(), qa, graphs, frozenset(asked_for), split, tuple(parsed))


@dataclass(frozen=True, slots=True)
class _Known:
    """Answers read before: the same question is asked in many settings, and often gets the same answer."""

    questions: dict[tuple[str, ...], SceneQuestion] = field(default_factory=dict)
    answers: dict[tuple[str, ...], Answer] = field(default_factory=dict)


def read_answer_result(result: Result, known: _Known | None = None) -> AnswerResult:
    """Read one question of a run with its answer."""
    known = known or _Known()
    item, record = result.item, result.record
    meta, key = cast("Mapping[str, Any]", item.meta), item.subject
    version = (key, *item.truth.golds)  # after an edit the same question has another right answer
    if version not in known.questions:
        known.questions[version] = question_of(item)
    noise = meta.get("noise")
    text: tuple[str, ...] = ()
    if record is not None:
        response = record.response
        text = (response.status, response.text, response.finish, response.reasoning, response.reason)
    if (key, *text) not in known.answers:
        known.answers[key, *text] = read_record(item, record)
    graph = star_from_json(meta["graph"]) if noise is not None and meta.get("graph") else None
    answer = known.answers[key, *text]
    return AnswerResult(known.questions[version], setting_of(item), _status(record), answer, noise, graph)


def read_graph_result(result: Result) -> GraphResult:
    """Read and score one graph of a run."""
    item, record = result.item, result.record
    true, status = true_graph(item), _status(result.record)
    if record is not None and status == "answered":
        marks = {node.id for node in true.nodes}
        is_cut_off = record.response.finish == "length"
        reading = parse_graph(record.response.text, true.centre, marks, is_cut_off=is_cut_off)
    else:
        reason = record.response.reason if record is not None else ""
        reading = GraphReading("refused" if status == "refused" else "unreadable", reason=reason or status)
    domain = cast("Domain", item.meta["domain"])
    return GraphResult(
        item.cluster, domain, setting_of(item), status, reading, true, score_graph(reading, true)
    )


def _status(record: Record | None) -> str:
    return "pending" if record is None else record.response.status


def _id(result: Result) -> str:
    """Return the item's id as stored: hashing all requests again would take longer than scoring them."""
    return result.record.item_id if result.record is not None else result.item.id


# The score of one answer or graph by its rubric (`theodolite.answers.grading`).


def grade(text: str, rubric: Mapping[str, Any], *, is_cut_off: bool = False, reasoning: str = "") -> Grade:
    """Grade an answer: accuracy of a choice, MRA of a number, SGC of a graph.

    Args:
        text: The model's text.
        rubric: What the item asks for, from its meta.
        is_cut_off: True if generation stopped at the token limit.
        reasoning: The model's reasoning, if it was given separately.
    """
    if "graph" in rubric:
        true = star_from_json(rubric["graph"], int(rubric["centre"]))
        reading = parse_graph(text, true.centre, {node.id for node in true.nodes}, is_cut_off=is_cut_off)
        value = f"{len(reading.graph.nodes)} objects" if reading.graph is not None else None
        answer = Answer("value" if reading.is_read else "unreadable", value, reading.reason)
        return Grade(answer, score_graph(reading, true).sgc)
    expected = format_from_json(rubric["format"])
    if expected.kind != "number":
        return grade_choice(text, rubric, is_cut_off=is_cut_off, reasoning=reasoning)
    answer = read_answer(text, expected, is_cut_off=is_cut_off, reasoning=reasoning)
    number = float(answer.value) if answer.is_read and answer.value is not None else float("nan")
    return Grade(answer, float(mean_relative_accuracy(number, float(rubric["golds"][0]))))
