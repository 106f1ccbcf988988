"""VLMEvalKit's TSV files, one for each condition (and split) and type: ``MCQ`` (lettered options), ``YORN`` (yes or no) and ``VQA`` (other).

A row has the pictures as base64, the whole prompt, the right answer, the condition, and the id by which a replay of
VLMEvalKit's result file finds the item. VLMEvalKit adds lettered options itself, so they are left out of the prompt.
"""

from __future__ import annotations

import base64
import csv
import io
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from theodolite.answers.grading import format_from_json, gold_labels
from theodolite.core.errors import StorageError, UsageError
from theodolite.core.files import whole_file
from theodolite.core.harmless import for_cell
from theodolite.diagnose.export.samples import Sample, SampledRun

__all__ = ["NO_PICTURE", "write_tsv_files"]

_NO_SPLIT = "none"
"""VLMEvalKit's own word. It reads an empty field as NaN, and then reports no accuracy."""
NO_PICTURE = "left out: no picture"


def write_tsv_files(runs: Iterable[SampledRun], folder: Path) -> dict[str, int]:
    """Write ``theodolite_<run>_<condition>[_<split>]_<MCQ|YORN|VQA>.tsv`` for each condition that shows a picture.

    VLMEvalKit puts a picture before every question, so items without one are left out and counted.

    Returns:
        The number of rows by file, and under `NO_PICTURE` what was left out.
    """
    rows: dict[str, list[dict[str, Any]]] = {}
    left_out = 0
    for run in runs:
        has_splits = len({sample.row.split for sample in run.samples}) > 1
        for sample in run.samples:
            if not sample.item.request.pictures:
                left_out += 1
                continue
            kind, row = _row(sample)
            split = sample.row.split if has_splits else ""
            parts = filter(None, ("theodolite", run.name, sample.row.condition, split, kind))
            name = "_".join("".join(c if c.isalnum() else "_" for c in part) for part in parts) + ".tsv"
            rows.setdefault(name, []).append({"index": len(rows.get(name, ())), **row})
    if not rows:
        raise UsageError("there is nothing to export: no item shows a picture")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, lines in rows.items():
            with whole_file(folder / name) as draft:
                draft.write_text(_tsv(lines), encoding="utf-8")
    except OSError as error:
        raise StorageError(f"cannot write into {folder}: {error.strerror}") from error
    return {name: len(lines) for name, lines in rows.items()} | ({NO_PICTURE: left_out} if left_out else {})


def _tsv(rows: list[dict[str, Any]]) -> str:
    text = io.StringIO()
    fields = dict.fromkeys(name for row in rows for name in row)
    writer = csv.DictWriter(text, fieldnames=list(fields), restval="", delimiter="\t", lineterminator="\n")
    writer.writeheader()
    writer.writerows(
        {name: for_cell(cell) if isinstance(cell, str) else cell for name, cell in row.items()}
        for row in rows
    )
    return text.getvalue()


def _row(sample: Sample) -> tuple[str, dict[str, Any]]:
    pictures = [base64.b64encode(picture.read()).decode() for picture in sample.item.request.pictures]
    prompt = sample.item.request.text
    row: dict[str, Any] = {
        "image": pictures[0] if len(pictures) == 1 else str(pictures),
        "id": sample.id,
        "shown": " ".join(picture.digest for picture in sample.item.request.pictures),
        "question": prompt,
        "answer": sample.gold,
        "category": sample.row.kind or sample.row.instrument,
        "condition": sample.row.condition,
        "split": sample.row.split or _NO_SPLIT,
        "cluster": sample.row.cluster,
    }
    if sample.task:
        return "VQA", row
    expected = format_from_json(sample.rubric["format"])  # type: ignore[arg-type]  # JSON of our own
    if expected.kind == "yes-no":
        answer = str(gold_labels(expected, [sample.gold])[0]).capitalize() if sample.gold else ""
        return "YORN", {**row, "answer": answer}
    if expected.style != "letter":
        return "VQA", row
    return "MCQ", {**row, "question": _without_options(prompt, expected.options), **expected.options}


def _without_options(prompt: str, options: Any) -> str:
    """Return the prompt without the options and the instructions after them."""
    lines = prompt.split("\n")
    shown = [n for n, line in enumerate(lines) if any(_shows(line, *option) for option in options.items())]
    if len(shown) < len(options):
        return prompt
    first = shown[0] - (lines[shown[0] - 1].strip().casefold().rstrip(":") == "options" if shown[0] else 0)
    return "\n".join(lines[:first]).rstrip()


def _shows(line: str, label: str, text: str) -> bool:
    """Return True if a line shows an option: ``A: left``, ``(A) left`` or ``A. left``."""
    return line.strip().lstrip("(").startswith(label) and line.strip().endswith(text)
