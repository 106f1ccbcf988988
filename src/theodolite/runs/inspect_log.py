"""Writes inspect_ai logs without inspect_ai: a ZIP of JSON files (version 2 of the format).

The archive contains the header, the samples, their summaries and the start of the journal. Refused and failed samples
are marked as such.
"""

from __future__ import annotations

import hashlib
import json
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from theodolite.core.errors import StorageError, UsageError
from theodolite.core.types import Json, Picture, Response
from theodolite.runs.results import Result

_VERSION = 2


@dataclass(frozen=True, slots=True)
class InspectScore:
    """One score of one sample."""

    value: float
    answer: str | None = None
    """What was read in the answer."""
    explanation: str = ""


@dataclass(frozen=True, slots=True)
class InspectSample:
    """One measured item with its scores by scorer."""

    result: Result
    scores: Mapping[str, InspectScore] = field(default_factory=dict)
    metadata: Mapping[str, Json] = field(default_factory=dict)
    target: str | None = None
    """The correct answer. Default: the request's hint."""


@dataclass(frozen=True, slots=True)
class InspectTask:
    """The metadata of a log."""

    name: str
    """Written with underscores, such as ``theodolite_scene_qa_base``."""
    dataset: str
    model: str
    created: str
    """ISO 8601."""
    metadata: Mapping[str, Json] = field(default_factory=dict)


def write_inspect_log(folder: str | Path, task: InspectTask, samples: Sequence[InspectSample]) -> Path:
    """Write one ``.eval`` archive.

    Returns:
        Path of the archive.

    Raises:
        StorageError: If it cannot be written.
    """
    made = [_sample(sample, task) for sample in samples]
    stamp = task.created[:19].replace(":", "-")
    name = hashlib.sha256(f"{task.name}/{task.model}/{task.created}".encode()).hexdigest()[:22]
    path = Path(folder) / f"{stamp}_{task.name.replace('_', '-')}_{name}.eval"
    header = _header(task, name, made)
    start = {"version": _VERSION, "eval": header["eval"], "plan": header["plan"]}
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr("_journal/start.json", json.dumps(start))
            for sample in made:
                place = sample["id"].replace("/", "_").replace(" ", "_")
                archive.writestr(f"samples/{place}_epoch_1.json", json.dumps(sample))
            archive.writestr("summaries.json", json.dumps([_summary(sample) for sample in made]))
            archive.writestr("header.json", json.dumps(header))
    except OSError as error:
        raise StorageError(f"cannot write the log {path}: {error.strerror}") from error
    return path


def _header(task: InspectTask, name: str, samples: list[dict[str, Any]]) -> dict[str, Any]:
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
            "created": task.created,
            "task": task.name,
            "task_version": 1,
            "task_args": {},
            "dataset": {
                "name": task.dataset,
                "samples": len(samples),
                "sample_ids": [sample["id"] for sample in samples],
            },
            "model": task.model,
            "model_args": {},
            "config": {},
            "packages": {},
            "metadata": dict(task.metadata),
        },
        "plan": {"name": "plan", "steps": [], "config": {}},
        "results": {"total_samples": len(samples), "completed_samples": len(done), "scores": scores},
        "stats": {"started_at": task.created, "completed_at": task.created, "model_usage": {}},
    }


def _sample(sample: InspectSample, task: InspectTask) -> dict[str, Any]:
    item, record = sample.result.item, sample.result.record
    if record is None:
        raise UsageError(f"the item {item.name!r} was not measured")
    response = record.response
    asked = {
        "role": "user",
        "content": [_content(part) for message in item.request.messages for part in message.content],
    }
    answer = {"role": "assistant", "content": response.text, "source": "generate", "model": task.model}
    target = sample.target if sample.target is not None else str(item.request.hint.get("gold", ""))
    made: dict[str, Any] = {
        "id": item.request.ref or item.name,
        "epoch": 1,
        "input": [asked],
        "target": target,
        "messages": [asked, answer],
        "output": {
            "model": task.model,
            "choices": [{"message": answer, "stop_reason": _stop(response)}],
            "completion": response.text,
            "usage": {
                "input_tokens": response.prompt_tokens,
                "output_tokens": response.completion_tokens,
                "total_tokens": response.prompt_tokens + response.completion_tokens,
            },
        },
        "scores": {},
        "metadata": dict(sample.metadata),
        "store": {},
        "events": [],
        "model_usage": {},
        "attachments": {},
    }
    if response.status == "failed":
        made["error"] = {
            "message": response.reason,
            "traceback": response.reason,
            "traceback_ansi": response.reason,
        }
        return made
    return made | {"scores": {name: _score(score) for name, score in sample.scores.items()}}


def _score(score: InspectScore) -> dict[str, Any]:
    return {
        "value": score.value,
        "answer": score.answer,
        "explanation": score.explanation or None,
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
    text = sample["input"][0]["content"][-1].get("text", "")
    return (
        kept
        | {"input": text[:1000], "completed": True}
        | ({"error": sample["error"]["message"]} if "error" in sample else {})
    )
