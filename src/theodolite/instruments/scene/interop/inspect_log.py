"""inspect_ai logs of a run: one ``.eval`` archive per task and setting, written without inspect_ai.

Scores are ours: ``qa`` of questions, with ``derived_qa`` and ``consistency`` in the base setting; ``sgc`` of graphs. What was
refused, failed or could not be read says so in the sample.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from theodolite.core.errors import UsageError
from theodolite.instruments.scene.formulas.derived import derive
from theodolite.instruments.scene.formulas.sgc import score_answer
from theodolite.instruments.scene.interop.lmms_eval import task_name
from theodolite.instruments.scene.results import SceneRows, read_results
from theodolite.runs import InspectSample, InspectScore, InspectTask, Result, Run, write_inspect_log


@dataclass(frozen=True, slots=True)
class _Context:
    rows: SceneRows
    more: Mapping[str, Mapping[str, float]]
    """By question: what only the base setting has."""


def write_inspect(run: Run, folder: str | Path) -> dict[Path, int]:
    """Writes the logs of a run.

    Args:
        run: measured.
        folder: to write into.

    Returns:
        The archives, with the number of samples in each.
    """
    if run.info.instrument != "scene":
        raise UsageError(f"{run.folder} is a run of {run.info.instrument!r}, not of 'scene'")
    results = [result for result in run.results() if result.record is not None]
    rows = read_results(results, model=run.info.model)
    cases = derive(rows, reading="geometric", comparison="<", seed=0)
    more = {
        case.question.id: {"derived_qa": float(derived), "consistency": float(agreement)}
        for case, derived, agreement in zip(cases.cases, cases.derived, cases.agreement, strict=True)
    }
    context = _Context(rows, more)
    by_task: dict[str, list[Result]] = {}
    for result in results:
        by_task.setdefault(task_name(result.item), []).append(result)
    return {
        write_inspect_log(
            folder,
            InspectTask(
                task,
                "theodolite scene",
                run.info.model,
                run.info.created.isoformat(),
                {"mode": rows.mode},
            ),
            [_sample(result, context) for result in members],
        ): len(members)
        for task, members in by_task.items()
    }


def _sample(result: Result, context: _Context) -> InspectSample:
    meta: dict[str, Any] = {
        key: result.item.meta[key]
        for key in ("task", "setting", "mode", "scene", "domain", "noise")
        if key in result.item.meta
    }
    if result.record is not None and result.record.response.status == "failed":
        return InspectSample(result, metadata=meta)
    scores = _scores(result, context, meta)
    return InspectSample(result, scores, meta)


def _scores(result: Result, context: _Context, meta: dict[str, Any]) -> dict[str, InspectScore]:
    given = result.item.meta
    if given["task"] == "graph":
        row = context.rows.graphs[given["setting"]][str(given["scene"])]  # type: ignore[index]  # as it was planned
        return {"sgc": InspectScore(row.score.sgc, None, row.reading.status)}
    key = str(given["question"]["id"])  # type: ignore[index,call-overload]
    found = context.rows.qa[given["setting"], given.get("noise")][key]  # type: ignore[index]
    question = found.question
    meta |= {"question": question.id, "group": "/".join(question.group), "kind": question.kind,
             "difficulty": question.difficulty}  # fmt: skip
    said = None if found.answer.value is None else str(found.answer.value)
    scores = {"qa": InspectScore(score_answer(found.answer, question), said, found.answer.status)}
    if given["setting"] == "base":
        for name, value in context.more.get(key, {}).items():
            scores[name] = InspectScore(value)
    return scores
