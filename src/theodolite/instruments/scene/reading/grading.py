"""The score of one answer or graph by its rubric (`theodolite.answers.grading`)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from theodolite.answers import Answer, read_answer
from theodolite.answers.grading import Grade, format_from_json
from theodolite.answers.grading import grade as grade_choice
from theodolite.instruments.scene.formulas.mra import mean_relative_accuracy
from theodolite.instruments.scene.formulas.sgc import score_graph
from theodolite.instruments.scene.reading.graph_parser import parse_graph, star_from_json

__all__ = ["grade"]


def grade(text: str, rubric: Mapping[str, Any], *, is_cut_off: bool = False, reasoning: str = "") -> Grade:
    """Accuracy of a choice, MRA of a number, SGC of a graph."""
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
    said = float(answer.value) if answer.is_read and answer.value is not None else float("nan")
    return Grade(answer, float(mean_relative_accuracy(said, float(rubric["golds"][0]))))
