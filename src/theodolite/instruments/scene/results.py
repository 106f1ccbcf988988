"""What a run holds, read once: every answer and every graph with what the parsers made of them. No model is called."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, cast

from theodolite.core.errors import UsageError
from theodolite.instruments.scene.data.files import question_from_json
from theodolite.instruments.scene.data.graph import Domain, StarGraph
from theodolite.instruments.scene.data.questions import Question
from theodolite.instruments.scene.formulas.sgc import GraphScore, score_graph
from theodolite.instruments.scene.reading.answer import Answer
from theodolite.instruments.scene.reading.answers import ANSWER_PARSER, parse_answer
from theodolite.instruments.scene.reading.graph_parser import (
    GRAPH_PARSER,
    GraphReading,
    parse_graph,
    read_graph,
)
from theodolite.instruments.scene.settings import GraphSetting, QaSetting
from theodolite.runs import Parsed, Result, Run


@dataclass(frozen=True, slots=True)
class QaRow:
    """One question in one setting."""

    question: Question
    setting: QaSetting
    status: str
    """``answered``, ``refused``, ``failed`` or ``pending``."""
    answer: Answer
    noise: float | None = None
    graph: StarGraph | None = None
    """Of a noisy graph: the one that was put into the prompt."""

    @property
    def is_measured(self) -> bool:
        """Whether the model had its say."""
        return self.status in {"answered", "refused"}


@dataclass(frozen=True, slots=True)
class GraphRow:
    """One graph in one setting."""

    scene: str
    domain: Domain
    setting: GraphSetting
    status: str
    reading: GraphReading
    true: StarGraph
    score: GraphScore
    """Of the reading against the true graph; zeros where there is none."""

    @property
    def is_measured(self) -> bool:
        """Whether the model had its say."""
        return self.status in {"answered", "refused"}


@dataclass(frozen=True, slots=True)
class SceneRows:
    """A run, read."""

    model: str
    mode: str
    qa: Mapping[tuple[QaSetting, float | None], Mapping[str, QaRow]]
    """By setting and level of noise, then by question."""
    graphs: Mapping[GraphSetting, Mapping[str, GraphRow]]
    """By setting, then by scene."""
    asked_for: frozenset[str]
    """The settings that the run was to have, as far as it says."""
    parsed: tuple[Parsed, ...] = field(repr=False)

    def of(self, setting: QaSetting) -> Mapping[str, QaRow]:
        """The rows of a setting without noise, by question."""
        return self.qa.get((setting, None), {})

    @property
    def questions(self) -> dict[str, Question]:
        """Every question that was asked in any setting."""
        found: dict[str, Question] = {}
        for rows in self.qa.values():
            found.update((key, row.question) for key, row in rows.items())
        return found

    def true_graph(self, scene: str) -> StarGraph | None:
        """Of a scene that was asked for its graph."""
        return next((rows[scene].true for rows in self.graphs.values() if scene in rows), None)


def read_rows(run: Run, *, mode: str | None = None) -> SceneRows:
    """Reads a run of scenes.

    Args:
        run: measured or partly measured.
        mode: which mode of answering, of a run that has several.

    Raises:
        UsageError: the run is of another instrument, is empty, or has several modes and none was named.
    """
    if run.info.instrument != "scene":
        raise UsageError(f"{run.folder} is a run of {run.info.instrument!r}, not of 'scene'")
    return read_results(
        run.results(), model=run.info.model, mode=mode, asked_for=run.info.settings.get("settings") or ()
    )


def read_results(
    results: Iterable[Result], *, model: str, mode: str | None = None, asked_for: Iterable[str] = ()
) -> SceneRows:
    """Reads the results of a plan; `read_rows` does so for a run."""
    qa: dict[tuple[QaSetting, float | None], dict[str, QaRow]] = {}
    graphs: dict[GraphSetting, dict[str, GraphRow]] = {}
    questions: dict[str, Question] = {}
    parsed: list[Parsed] = []
    modes: set[str] = set()
    for result in results:
        meta = cast("Mapping[str, Any]", result.item.meta)
        if mode is not None and meta.get("mode") != mode:
            continue
        modes.add(str(meta.get("mode", "direct")))
        if meta["task"] == "graph":
            graph = _graph_row(result, meta)
            graphs.setdefault(graph.setting, {})[graph.scene] = graph
            if graph.is_measured:
                parsed.append(Parsed(_id(result), GRAPH_PARSER, graph.reading.status, _troubles(graph)))
        else:
            row = _qa_row(result, meta, questions)
            qa.setdefault((row.setting, row.noise), {})[row.question.id] = row
            if row.is_measured:
                parsed.append(Parsed(_id(result), ANSWER_PARSER, row.answer.status, row.answer.value))
    if not qa and not graphs:
        raise UsageError(
            "the run holds no question and no graph" + (f" in the mode {mode!r}" if mode else "")
        )
    if len(modes) > 1:
        raise UsageError(
            f"the run has several modes of answering ({', '.join(sorted(modes))}); name one: --mode"
        )
    return SceneRows(model, modes.pop(), qa, graphs, frozenset(asked_for), tuple(parsed))


def _qa_row(result: Result, meta: Mapping[str, Any], questions: dict[str, Question]) -> QaRow:
    key = str(meta["question"]["id"])
    if key not in questions:
        questions[key] = question_from_json(meta["question"])
    question, noise = questions[key], meta.get("noise")
    status, text = _said(result)
    answer = parse_answer(text, question) if status == "answered" else _no_answer(status)
    graph = None
    if noise is not None and meta.get("graph"):
        graph = star_from_json(meta["graph"])
    return QaRow(question, meta["setting"], status, answer, noise, graph)


def _graph_row(result: Result, meta: Mapping[str, Any]) -> GraphRow:
    true = star_from_json(meta["graph"], int(meta["centre"]))
    status, text = _said(result)
    marks = {node.id for node in true.nodes}
    if status == "answered":
        reading = parse_graph(text, true.centre, marks)
    else:
        reading = GraphReading("refused" if status == "refused" else "unparsed", reason=f"{status}")
    return GraphRow(
        str(meta["scene"]), meta["domain"], meta["setting"], status, reading, true, score_graph(reading, true)
    )


def _said(result: Result) -> tuple[str, str]:
    if result.record is None:
        return "pending", ""
    return result.record.response.status, result.record.response.text


def _id(result: Result) -> str:
    """The item's id as it was stored: hashing 50,000 requests again would take longer than scoring them."""
    return result.record.item_id if result.record is not None else result.item.id


def _no_answer(status: str) -> Answer:
    return Answer("refused" if status == "refused" else "unparsed", reason=status)


def _troubles(row: GraphRow) -> dict[str, Any]:
    return {str(kind): n for kind, n in row.reading.troubles.items()}


def star_from_json(value: Mapping[str, Any], centre: int | None = None) -> StarGraph:
    """A star graph from what `StarGraph.as_json` gave.

    Args:
        value: objects and edges.
        centre: its mark; taken from the edges if not given.
    """
    edges = value.get("edges") or ()
    if centre is None:
        centre = int(edges[0]["from"]) if edges else int(value["objects"][0]["id"])
    reading = read_graph(value, centre, {int(thing["id"]) for thing in value["objects"]})
    if reading.graph is None:
        raise UsageError(f"a stored graph cannot be read: {reading.reason}")
    return reading.graph
