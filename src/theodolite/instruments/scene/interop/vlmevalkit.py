"""VLMEvalKit's TSV files: choices for ``ImageMCQDataset``, numbers and graphs for ``ImageVQADataset``."""

from __future__ import annotations

import base64
import csv
import io
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from theodolite.core.errors import UsageError
from theodolite.core.types import Item
from theodolite.instruments.scene.data.files import question_from_json
from theodolite.instruments.scene.data.questions import LETTERS
from theodolite.instruments.scene.interop.crisp import write_text

_LETTERS = LETTERS[:4]


def write_vlmevalkit(items: Iterable[Item], folder: str | Path) -> dict[str, int]:
    """Writes ``theodolite_scene_<setting>_<MCQ|VQA|SGC>.tsv`` for each setting that shows a picture.

    VLMEvalKit puts a picture before every question, so items without one are left out and counted.

    Args:
        items: Items of a plan or a run.
        folder: Where to write.

    Returns:
        The number of rows by file name, and under ``left out: no picture`` what was left out.
    """
    rows: dict[str, list[dict[str, Any]]] = {}
    counts: dict[str, int] = {}
    for item in items:
        if not item.request.pictures:
            counts["left out: no picture"] = counts.get("left out: no picture", 0) + 1
            continue
        kind, row = _row(item)
        noise = f"_{item.meta['noise']:g}" if "noise" in item.meta else ""
        name = f"theodolite_scene_{str(item.meta['setting']).replace(' ', '_')}{noise}_{kind}.tsv"
        rows.setdefault(name, []).append({"index": len(rows.get(name, ())), **row})
    if not rows:
        raise UsageError("there is nothing to export: no item shows a picture")
    for name, lines in rows.items():
        text = io.StringIO()
        writer = csv.DictWriter(text, fieldnames=list(lines[0]), delimiter="\t", lineterminator="\n")
        writer.writeheader()
        writer.writerows(lines)
        write_text(Path(folder) / name, text.getvalue())
        counts[name] = len(lines)
    return counts


def _row(item: Item) -> tuple[str, dict[str, Any]]:
    """Whole prompts as questions; for choices without the options, since VLMEvalKit adds them itself."""
    shared: dict[str, Any] = {
        "image": base64.b64encode(item.request.pictures[0].read()).decode(),
        "id": item.request.ref,
    }
    if item.meta["task"] == "graph":
        return "SGC", shared | {
            "question": item.request.text,
            "answer": str(item.request.hint.get("gold", "")),
            "category": "scene graph",
            "scene": item.meta["scene"],
        }
    question = question_from_json(item.meta["question"])  # type: ignore[arg-type]  # JSON of our own
    about = {"answer": question.gold, "category": question.competency, "l2-category": question.kind,
             "difficulty": question.difficulty, "scene": question.scene}  # fmt: skip
    if not question.options:
        return "VQA", shared | {"question": item.request.text, **about}
    opening = item.request.text.partition(question.lines)[0]
    letters = dict.fromkeys(_LETTERS, "") | {
        letter: option.text for letter, option in zip(question.letters, question.options, strict=True)
    }
    return "MCQ", shared | {"question": f"{opening}{question.text}", **letters, **about}
