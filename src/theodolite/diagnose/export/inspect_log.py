"""inspect_ai logs, written without inspect_ai: a ZIP of JSON files (version 2 of the format), one per run and task.

Pictures are attachments of their sample. The scores *answer* and *followed* are those that Theodolite's plug-in of inspect_ai
gives (`theodolite.diagnose.export.inspect_plugin`), so ``inspect score`` computes them again from the answers. Every metric of
the run is a further score, with the run's own means in the header.
"""

from __future__ import annotations

import base64
import hashlib
import json
import zipfile
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from theodolite import __version__
from theodolite.core.errors import StorageError
from theodolite.core.files import whole_file
from theodolite.core.types import Message, Picture, Response
from theodolite.diagnose.export.samples import Sample, SampledRun
from theodolite.diagnose.export.shares import Graded, by_condition, pair_outcomes

__all__ = ["PROVIDER", "sample_json", "score_metadata", "write_inspect_log"]

PROVIDER = "theodolite"
"""The provider of models in inspect_ai, and the package of scorers."""
_VERSION = 2
_SHORT = 1000
"""The longest text in the summary of a sample."""


def write_inspect_log(folder: Path, run: SampledRun, task: str) -> tuple[Path, int]:
    """Write one ``.eval`` archive.

    Args:
        folder: Where to write.
        run: The run.
        task: Which of its tasks.

    Returns:
        The archive, and the number of samples in it.

    Raises:
        StorageError: If it cannot be written.
    """
    measured = [sample for sample in run.tasks[task] if sample.record is not None]
    name = "_".join(filter(None, ("theodolite", run.name, task))).replace("-", "_").replace(" ", "_")
    created = run.info.created.isoformat()
    key = hashlib.sha256(f"{name}/{run.info.model}/{created}".encode()).hexdigest()[:22]
    path = folder / f"{created[:19].replace(':', '-')}_{name.replace('_', '-')}_{key}.eval"
    made = [_logged(sample, run) for sample in measured]
    header = _header(run, name, key, measured, made)
    if len(measured) < len(run.tasks[task]):
        header["status"] = "cancelled"
    start = {"version": _VERSION, "eval": header["eval"], "plan": header["plan"]}
    try:
        with whole_file(path) as draft, zipfile.ZipFile(draft, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr("_journal/start.json", json.dumps(start))
            for document in made:
                archive.writestr(f"samples/{document['id']}_epoch_1.json", json.dumps(document))
            archive.writestr("summaries.json", json.dumps([_summary(document) for document in made]))
            archive.writestr("header.json", json.dumps(header))
    except OSError as error:
        raise StorageError(f"cannot write the log {path}: {error.strerror}") from error
    return path, len(made)


def sample_json(sample: Sample, instrument: str) -> dict[str, Any]:
    """Return the fields of a sample before it is asked, with pictures as data URIs."""
    return {
        "id": sample.id,
        "input": [_message(message, _data_uri) for message in sample.item.request.messages],
        "target": sample.gold,
        "metadata": {
            "instrument": instrument,
            "condition": sample.row.condition,
            "split": sample.row.split,
            "cluster": sample.row.cluster,
            "kind": sample.row.kind,
            "rubric": dict(sample.rubric),
            "pairs": [link.to_json() for link in sample.pairs],
        },
    }


def score_metadata(graded: Graded) -> dict[str, Any]:
    """Return the metadata of a score, from which metrics can be computed without the samples."""
    return {
        "status": graded.status,
        "said": graded.said,
        "condition": graded.condition,
        "split": graded.split,
        "group": graded.group,
        "pairs": [list(pair) for pair in graded.pairs],
        "cluster": graded.cluster,
        "words": graded.words,
        "pictures": graded.pictures,
        "targets": list(graded.targets),
        **({"text": graded.text} if graded.text else {}),
        **({"epoch": graded.epoch} if graded.epoch > 1 else {}),
    }


def _logged(sample: Sample, run: SampledRun) -> dict[str, Any]:
    record, model = sample.record, f"{PROVIDER}/{run.info.model}"
    assert record is not None  # noqa: S101 - only measured samples are logged
    response = record.response
    attachments: dict[str, str] = {}

    def attach(picture: Picture) -> str:
        name = hashlib.sha256(picture.digest.encode()).hexdigest()[:32]
        attachments[name] = _data_uri(picture)
        return f"attachment://{name}"

    asked = [_message(message, attach) for message in sample.item.request.messages]
    content: Any = response.text
    if response.reasoning:
        thoughts = {"type": "reasoning", "reasoning": response.reasoning}
        content = [thoughts, {"type": "text", "text": response.text}]
    answer = {"role": "assistant", "content": content, "source": "generate", "model": model}
    is_failed = response.status == "failed"
    choices = [] if is_failed else [{"message": answer, "stop_reason": _stop(response)}]
    made: dict[str, Any] = {
        **sample_json(sample, run.instrument.name),
        "epoch": 1,
        "input": asked,
        "messages": [*asked, *(choice["message"] for choice in choices)],
        "output": {
            "model": model,
            "choices": choices,
            "completion": response.text,
            "usage": _usage(response),
            "time": response.seconds,
        },
        "scores": _scores(sample),
        "store": {},
        "events": [],
        "model_usage": {model: _usage(response)},
        "attachments": attachments,
    }
    if is_failed:
        fields = ("message", "traceback", "traceback_ansi")
        made["error"] = dict.fromkeys(fields, response.reason)
    return made


def _scores(sample: Sample) -> dict[str, Any]:
    graded = Graded.of(sample)
    if graded is None:
        return {}
    about = {"metadata": score_metadata(graded), "history": []}
    answer = str(graded.said) if graded.status == "value" else None
    explanation = f"{graded.status}: {graded.reason}".removesuffix(": ")
    scores: dict[str, Any] = {
        "looking": {
            "value": float(graded.value or 0.0),
            "answer": answer,
            "explanation": explanation,
            **about,
        }
    }
    if graded.value is not None:
        scores = {
            "answer": {"value": graded.value, "answer": answer, "explanation": explanation, **about},
            **scores,
        }
    for key, value in sample.row.values.items():
        scores[key] = {"value": value, "answer": None, "explanation": None, "metadata": {}, "history": []}
    return scores


def _header(
    run: SampledRun, name: str, key: str, samples: Sequence[Sample], made: Sequence[Mapping[str, Any]]
) -> dict[str, Any]:
    graded = [grade for sample in samples if (grade := Graded.of(sample)) is not None]
    done = [sample for sample in made if "error" not in sample]
    counted = {
        scorer: sum(scorer in sample["scores"] for sample in done)
        for sample in done
        for scorer in sample["scores"]
    }
    figures: dict[str, dict[str, float]] = {
        "answer": by_condition(graded),
        "looking": pair_outcomes(graded, has_interval=True),
    }
    for figure in run.figures:
        if figure.key in counted and figure.figure.value is not None:
            figures.setdefault(figure.key, {})[figure.split or "mean"] = figure.figure.value
    scores = [
        {
            "name": scorer,
            "scorer": scorer,
            "scored_samples": counted.get(scorer, 0),
            "unscored_samples": len(made) - counted.get(scorer, 0),
            "params": {},
            "metrics": {key: {"name": key, "value": value, "params": {}} for key, value in means.items()},
        }
        for scorer, means in figures.items()
        if means
    ]
    created = run.info.created.isoformat()
    about = {"theodolite": __version__, "run": run.name, "seed": run.info.seed, "model": run.info.model}
    return {
        "version": _VERSION,
        "status": "success",
        "eval": {
            "eval_id": key,
            "run_id": key,
            "task_id": key,
            "created": created,
            "task": name,
            "task_version": 1,
            "task_args": {},
            "dataset": {
                "name": f"theodolite {run.instrument.name}",
                "samples": len(made),
                "sample_ids": [sample["id"] for sample in made],
            },
            "model": f"{PROVIDER}/{run.info.model}",
            "model_args": {},
            "config": {},
            "packages": {PROVIDER: __version__},
            "scorers": [{"name": f"{PROVIDER}/{name}"} for name in ("answer", "looking")],
            "metadata": about,
        },
        "plan": {"name": "plan", "steps": [], "config": {}},
        "results": {"total_samples": len(made), "completed_samples": len(done), "scores": scores},
        "stats": {"started_at": created, "completed_at": created, "model_usage": {}},
    }


def _usage(response: Response) -> dict[str, int]:
    n_prompt, n_answer = response.prompt_tokens, response.completion_tokens
    return {"input_tokens": n_prompt, "output_tokens": n_answer, "total_tokens": n_prompt + n_answer}


def _stop(response: Response) -> str:
    if response.status == "refused":
        return "content_filter"
    return {"length": "max_tokens"}.get(response.finish, "stop")


def _message(message: Message, place: Any) -> dict[str, Any]:
    parts = [
        {"type": "text", "text": part}
        if isinstance(part, str)
        else {"type": "image", "image": place(part), "detail": "auto"}
        for part in message.content
    ]
    return {"role": message.role, "content": parts}


def _data_uri(picture: Picture) -> str:
    return f"data:{picture.media_type};base64,{base64.b64encode(picture.read()).decode()}"


def _summary(sample: Mapping[str, Any]) -> dict[str, Any]:
    kept = {key: sample[key] for key in ("id", "epoch", "target", "scores", "model_usage")}
    about = {
        key: value[:_SHORT] if isinstance(value, str) else value
        for key, value in sample["metadata"].items()
        if key not in {"rubric", "pairs"}
    }
    texts: Iterable[str] = (
        part.get("text", "") for message in sample["input"] for part in message["content"]
    )
    summary = {**kept, "metadata": about, "input": "\n".join(filter(None, texts))[:_SHORT], "completed": True}
    return summary | ({"error": sample["error"]["message"]} if "error" in sample else {})
