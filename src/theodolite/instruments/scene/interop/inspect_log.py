"""inspect_ai logs of a run: one ``.eval`` archive per task and setting, written without inspect_ai.

The scores are ours: ``qa`` of questions, with ``derived_qa`` and ``consistency`` in the base setting; ``sgc`` of graphs. Samples
say if the answer was refused, failed or could not be read.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

from theodolite.instruments.scene.formulas.derived_qa import derived_qa
from theodolite.instruments.scene.formulas.mra import score_value
from theodolite.instruments.scene.interop.lmms_eval import task_name
from theodolite.instruments.scene.reading.results import (
    read_answer_result,
    read_graph_result,
    read_results,
)
from theodolite.runs import InspectSample, InspectScore, InspectTask, Result, Run, write_inspect_log


def write_inspect(run: Run, folder: str | Path) -> dict[Path, int]:
    """Writes the logs of a run.

    Args:
        run: Measured.
        folder: Where to write.

    Returns:
        The archives, with the number of samples in each.
    """
    measured = [result for result in run.results() if result.record is not None]
    results = read_results(measured, model=run.info.model)
    cases = derived_qa(results)
    derived = {
        case.question.id: {"derived_qa": InspectScore(float(score)), "consistency": InspectScore(float(same))}
        for case, score, same, has_graph in zip(
            cases.cases, cases.derived, cases.consistency, cases.has_graph, strict=True
        )
        if has_graph
    }
    by_task: dict[str, list[Result]] = {}
    for result in measured:
        by_task.setdefault(task_name(result.item), []).append(result)
    return {
        write_inspect_log(
            folder,
            InspectTask(
                task,
                "theodolite scene",
                run.info.model,
                run.info.created.isoformat(),
                {"mode": results.mode},
            ),
            [_sample(result, derived) for result in members],
        ): len(members)
        for task, members in by_task.items()
    }


def _sample(result: Result, derived: Mapping[str, Mapping[str, InspectScore]]) -> InspectSample:
    given = cast("Mapping[str, Any]", result.item.meta)
    names = ("task", "setting", "mode", "scene", "domain", "noise")
    meta: dict[str, Any] = {key: given[key] for key in names if key in given}
    if result.record is not None and result.record.response.status == "failed":
        return InspectSample(result, metadata=meta)
    if given["task"] == "graph":
        graph = read_graph_result(result)
        return InspectSample(result, {"sgc": InspectScore(graph.score.sgc, None, graph.reading.status)}, meta)
    row = read_answer_result(result)
    question, answer = row.question, row.answer
    meta |= {"question": question.id, "group": "/".join(question.group), "kind": question.kind,
             "difficulty": question.difficulty}  # fmt: skip
    said = None if answer.value is None else str(answer.value)
    scores = {"qa": InspectScore(score_value(question, answer.value), said, answer.status)}
    if row.setting == "base":
        scores |= derived.get(question.id, {})
    return InspectSample(result, scores, meta)
