"""inspect_ai logs of a run: one ``.eval`` archive per task and setting, written without inspect_ai.

The archive is a plain ZIP of JSON (version 2 of the format): header, samples, their summaries, and the journal's start.
Scores are ours: ``qa`` of questions, with ``derived_qa`` and ``consistency`` in the base setting; ``sgc`` of graphs. What was
refused, failed or could not be read says so in the sample.
"""

from __future__ import annotations

import hashlib
import json
import zipfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from theodolite.errors import UsageError
from theodolite.runs import Result, Run
from theodolite.scene._derived import derive
from theodolite.scene._interop.lmms_eval import task_name
from theodolite.scene._metrics import score_answer
from theodolite.scene._rows import SceneRows, read_results
from theodolite.types import Picture, Response

_VERSION = 2


@dataclass(frozen=True, slots=True)
class _Context:
    model: str
    created: str
    rows: SceneRows
    more: Mapping[str, Mapping[str, float]]
    """By question: what only the base setting has."""


def write_inspect(run: Run, folder: str | Path) -> list[Path]:
    """Writes the logs of a run.

    Args:
        run: measured.
        folder: to write into.

    Returns:
        The archives.
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
    context = _Context(run.info.model, run.info.created.isoformat(), rows, more)
    by_task: dict[str, list[Result]] = {}
    for result in results:
        by_task.setdefault(task_name(result.item), []).append(result)
    folder = Path(folder)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        return [_write(folder, task, members, context) for task, members in by_task.items()]
    except OSError as error:
        raise UsageError(f"cannot write the logs into {folder}: {error.strerror}") from error


def _write(folder: Path, task: str, results: Iterable[Result], context: _Context) -> Path:
    samples = [_sample(result, context) for result in results]
    stamp = context.created[:19].replace(":", "-")
    name = hashlib.sha256(f"{task}/{context.model}/{context.created}".encode()).hexdigest()[:22]
    path = folder / f"{stamp}_{task.replace('_', '-')}_{name}.eval"
    header = _header(task, name, samples, context)
    start = {"version": _VERSION, "eval": header["eval"], "plan": header["plan"]}
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("_journal/start.json", json.dumps(start))
        for sample in samples:
            place = sample["id"].replace("/", "_").replace(" ", "_")
            archive.writestr(f"samples/{place}_epoch_1.json", json.dumps(sample))
        archive.writestr("summaries.json", json.dumps([_summary(sample) for sample in samples]))
        archive.writestr("header.json", json.dumps(header))
    return path


def _header(task: str, name: str, samples: list[dict[str, Any]], context: _Context) -> dict[str, Any]:
    scorers = sorted({scorer for sample in samples for scorer in sample["scores"]})
    done = [sample for sample in samples if "error" not in sample]
    scores = []
    for scorer in scorers:
        values = [sample["scores"][scorer]["value"] for sample in done if scorer in sample["scores"]]
        mean = sum(values) / len(values) if values else 0.0
        scores.append(
            {
                "name": scorer,
                "scorer": scorer,
                "scored_samples": len(values),
                "unscored_samples": len(samples) - len(values),
                "params": {},
                "metrics": {"mean": {"name": "mean", "value": mean, "params": {}}},
            }
        )
    return {
        "version": _VERSION,
        "status": "success",
        "eval": {
            "eval_id": name,
            "run_id": name,
            "task_id": name,
            "created": context.created,
            "task": task,
            "task_version": 1,
            "task_args": {},
            "dataset": {
                "name": "theodolite scene",
                "samples": len(samples),
                "sample_ids": [sample["id"] for sample in samples],
            },
            "model": context.model,
            "model_args": {},
            "config": {},
            "packages": {},
            "metadata": {"mode": context.rows.mode},
        },
        "plan": {"name": "plan", "steps": [], "config": {}},
        "results": {"total_samples": len(samples), "completed_samples": len(done), "scores": scores},
        "stats": {"started_at": context.created, "completed_at": context.created, "model_usage": {}},
    }


def _sample(result: Result, context: _Context) -> dict[str, Any]:
    item, record = result.item, result.record
    if record is None:
        raise UsageError(f"the item {item.name!r} was not measured")
    response = record.response
    asked = {
        "role": "user",
        "content": [_content(part) for message in item.request.messages for part in message.content],
    }
    answer = {"role": "assistant", "content": response.text, "source": "generate", "model": context.model}
    meta = {
        key: item.meta[key]
        for key in ("task", "setting", "mode", "scene", "domain", "noise")
        if key in item.meta
    }
    sample: dict[str, Any] = {
        "id": item.request.ref,
        "epoch": 1,
        "input": [asked],
        "target": str(item.request.hint.get("gold", "")),
        "messages": [asked, answer],
        "output": {
            "model": context.model,
            "choices": [{"message": answer, "stop_reason": _stop(response)}],
            "completion": response.text,
            "usage": {
                "input_tokens": response.prompt_tokens,
                "output_tokens": response.completion_tokens,
                "total_tokens": response.prompt_tokens + response.completion_tokens,
            },
        },
        "scores": {},
        "metadata": meta,
        "store": {},
        "events": [],
        "model_usage": {},
        "attachments": {},
    }
    if response.status == "failed":
        sample["error"] = {
            "message": response.reason,
            "traceback": response.reason,
            "traceback_ansi": response.reason,
        }
        return sample
    return sample | {"scores": _scores(result, context, meta)}


def _scores(result: Result, context: _Context, meta: dict[str, Any]) -> dict[str, Any]:
    given = result.item.meta
    if given["task"] == "graph":
        row = context.rows.graphs[given["setting"]][str(given["scene"])]  # type: ignore[index]  # as it was planned
        return {"sgc": _score(row.score.sgc, None, row.reading.status)}
    key = str(given["question"]["id"])  # type: ignore[index,call-overload]
    found = context.rows.qa[given["setting"], given.get("noise")][key]  # type: ignore[index]
    question = found.question
    meta |= {"question": question.id, "group": "/".join(question.group), "kind": question.kind,
             "difficulty": question.difficulty}  # fmt: skip
    said = None if found.answer.value is None else str(found.answer.value)
    scores = {"qa": _score(score_answer(found.answer, question), said, found.answer.status)}
    if given["setting"] == "base":
        for name, value in context.more.get(key, {}).items():
            scores[name] = _score(value, None, "")
    return scores


def _score(value: float, answer: str | None, explanation: str) -> dict[str, Any]:
    return {
        "value": value,
        "answer": answer,
        "explanation": explanation or None,
        "metadata": {},
        "history": [],
    }


def _stop(response: Response) -> str:
    if response.status == "refused":
        return "content_filter"
    return (
        {"length": "max_tokens"}.get(response.finish, "stop") if response.status == "answered" else "unknown"
    )


def _content(part: str | Picture) -> dict[str, Any]:
    if isinstance(part, str):
        return {"type": "text", "text": part}
    return {"type": "image", "image": str(part.path or part.digest), "detail": "auto"}


def _summary(sample: Mapping[str, Any]) -> dict[str, Any]:
    kept = {key: sample[key] for key in ("id", "epoch", "target", "scores", "metadata", "model_usage")}
    text = sample["input"][0]["content"][-1]["text"]
    return (
        kept
        | {"input": text[:1000], "completed": True}
        | ({"error": sample["error"]["message"]} if "error" in sample else {})
    )
