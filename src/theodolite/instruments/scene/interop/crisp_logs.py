"""A run as CRISP-Bench's logs: what its scoring stages read.

qa_data.jsonl, sgc_task.jsonl, gt_sg.json    the questions, the graph task with its gold, the true graphs
logs/<model>/<time>_samples_crisp_qa.jsonl   the answers, as lmms-eval logs them
logs/<model>/<time>_samples_crisp_sgc.jsonl  the graphs

``resps`` is the model's text. ``filtered_resps``, which their code scores, is what we read in it: a letter, a number, a graph in
their form, or nothing. So the same answers are scored there as here, and a difference is one of scoring. Chain of thought is
their family ``cot``.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from theodolite.instruments.scene.data.files import file_name
from theodolite.instruments.scene.data.graph import StarGraph
from theodolite.instruments.scene.interop.crisp import (
    QA,
    SGC,
    TRUE_GRAPHS,
    graph_task,
    write_graphs,
    write_lines,
)
from theodolite.instruments.scene.interop.crisp_questions import NumericType, write_question
from theodolite.instruments.scene.interop.crisp_scenes import DATASET_OF
from theodolite.instruments.scene.reading.results import read_answer_result, read_graph_result
from theodolite.runs import Result, Run


def write_crisp_run(run: Run, folder: str | Path, *, numeric_type: NumericType = "NAQ") -> tuple[int, int]:
    """Writes the questions, graphs and answers of a run's base setting. Failed requests are left out.

    Args:
        run: Measured.
        folder: Where to write.
        numeric_type: ``NAQ``, as their generator writes, or ``NA``, as their task code reads.

    Returns:
        The numbers of graphs and answers.
    """
    folder = Path(folder)
    questions: dict[str, dict[str, Any]] = {}
    tasks: dict[str, tuple[dict[str, Any], StarGraph]] = {}
    logs: dict[str, list[dict[str, Any]]] = {}
    n_graphs = n_answers = 0
    for result in run.results():
        meta, record = result.item.meta, result.record
        if meta.get("setting") != "base" or record is None or record.response.status == "failed":
            continue
        image = f"marked/{file_name(str(meta['scene']))}.png"
        log = logs.setdefault(_log_name(run, str(meta["task"]), str(meta.get("mode", "direct"))), [])
        if meta["task"] == "graph":
            graph = read_graph_result(result)
            doc = graph_task(result.item.request.text, graph.true, image, DATASET_OF[graph.domain])
            tasks[image] = doc, graph.true
            said = json.dumps(_stated(graph.reading.graph)) if graph.reading.graph is not None else ""
            log.append({**_line(len(log), result, doc, said), "sgc_score": {"image": image}})
            n_graphs += 1
        else:
            row = read_answer_result(result)
            doc = write_question(
                row.question, image, dataset=DATASET_OF[row.question.domain], numeric_type=numeric_type
            )
            questions[row.question.id] = doc
            said = _plain(row.answer.value)
            scored = {"id": row.question.id, "meta": doc["meta"], "prediction": said}
            log.append({**_line(len(log), result, doc, said), "vsibench_score": scored})
            n_answers += 1
    write_lines(folder / QA, questions.values())
    write_lines(folder / SGC, (doc for doc, _ in tasks.values()))
    write_graphs(folder / TRUE_GRAPHS, ((image, true) for image, (_, true) in tasks.items()))
    for name, lines in logs.items():
        write_lines(folder / "logs" / name, lines)
    return n_graphs, n_answers


def _log_name(run: Run, task: str, mode: str) -> str:
    model = re.sub(r"[^\w.-]+", "_", run.info.model) + ("-thinking" if mode == "thinking" else "")
    family = "crisp_qa" if task == "qa" else "crisp_sgc"
    cot = "_cot" if mode == "chain of thought" else ""
    return f"{model}/{run.info.created:%Y%m%d_%H%M%S}_samples_{family}{cot}.jsonl"


def _line(number: int, result: Result, doc: Mapping[str, Any], said: str) -> dict[str, Any]:
    text = result.record.response.text if result.record is not None else ""
    target = doc["conversations"][1]["value"]
    return {"doc_id": number, "target": target, "resps": [[text]], "filtered_resps": [said]}


def _plain(value: str | float | None) -> str:
    """An answer as their parsers read it: numbers without an exponent.

    >>> _plain(2.5), _plain(1e-05), _plain("B"), _plain(None)
    ('2.5', '0.00001', 'B', '')
    """
    if value is None or isinstance(value, str):
        return value or ""
    text = f"{value:.12f}".rstrip("0")
    return text.removesuffix(".")


def _stated(graph: StarGraph) -> dict[str, Any]:
    """A graph without the values that the model left out: their code fails on null."""
    whole = graph.as_json()
    for thing in whole["objects"]:
        thing["size"] = _given(thing["size"])
    return {key: [_given(row) for row in rows] for key, rows in whole.items()}


def _given(row: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in row.items() if value is not None}
