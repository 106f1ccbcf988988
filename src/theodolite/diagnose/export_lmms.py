"""Export measured items as lmms-eval tasks: one task per run, for use with ``--include_path``.

A document holds the full prompt, the pictures, the answer format, and the id that links a samples log to its item.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from theodolite.answers.items import format_of, format_to_json
from theodolite.core.errors import StorageError
from theodolite.core.types import Item

_TASK = """task: {task}
dataset_path: json
dataset_kwargs:
  data_files:
    test: {data}
test_split: test
output_type: generate_until
doc_to_visual: !function theodolite_utils.pictures
doc_to_text: !function theodolite_utils.prompt
doc_to_target: gold
process_results: !function theodolite_utils.results
metric_list:
  - metric: right
    aggregation: mean
    higher_is_better: true
  - metric: read
    aggregation: mean
    higher_is_better: true
generation_kwargs:
  max_new_tokens: {max_tokens}
  temperature: 0
  do_sample: false
metadata:
  - version: 1.0
"""

_UTILS = '''"""Functions that lmms-eval calls for pictures, prompts and results. Answers are read by Theodolite.

Theodolite must be installed with lmms-eval. For the verdict, signatures and intervals, diagnose the logged samples:

    theodolite diagnose --model replay:LOGS --out DIR
"""

import json
from pathlib import Path

FOLDER = Path(__file__).parent


def pictures(doc):
    from PIL import Image

    return [Image.open(FOLDER / name).convert("RGB") for name in doc["pictures"]]


def prompt(doc, lmms_eval_specific_kwargs=None):
    return doc["prompt"]


def results(doc, results):
    from theodolite.answers import AnswerFormat, normal_form, read_answer

    expected = AnswerFormat(**json.loads(doc["format"]))
    answer = read_answer(str(results[0]), expected)
    said = expected.options.get(str(answer.value), answer.value) if answer.is_read else None
    golds = {normal_form(doc["gold"]), normal_form(expected.options.get(doc["gold"], doc["gold"]))}
    is_right = answer.is_read and bool(golds & {normal_form(str(answer.value)), normal_form(str(said))})
    right = {"right": float(is_right)} if doc["gold"] else {}
    return {**right, "read": float(answer.is_read), "ref": doc["id"], "pictures": len(doc["pictures"])}
'''


@dataclass(frozen=True, slots=True)
class Document:
    """One item of a task."""

    task: str
    item: Item
    """With the prompt and the pictures as the model sees them."""
    gold: str
    """The right answer. Empty if there is none; such documents have no ``right``."""


def write_tasks(documents: Iterable[Document], folder: Path) -> dict[str, int]:
    """Write the tasks.

    Args:
        documents: The documents of all tasks.
        folder: The folder to write into. It cannot be moved later, since tasks name their data by absolute path.

    Returns:
        The number of documents of each task.
    """
    folder = folder.absolute()
    by_task: dict[str, list[dict[str, Any]]] = {}
    longest: dict[str, int] = {}
    try:
        for each in documents:
            task = f"theodolite_{each.task}".replace("-", "_").replace(" ", "_")
            by_task.setdefault(task, []).append(_row(each, folder))
            longest[task] = max(longest.get(task, 1), each.item.request.max_tokens)
        for task, rows in by_task.items():
            data = folder / "data" / f"{task}.jsonl"
            data.parent.mkdir(parents=True, exist_ok=True)
            data.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
            text = _TASK.format(task=task, data=json.dumps(str(data)), max_tokens=longest[task])
            (folder / f"{task}.yaml").write_text(text, encoding="utf-8")
        if by_task:
            (folder / "theodolite_utils.py").write_text(_UTILS, encoding="utf-8")
    except OSError as error:
        raise StorageError(f"cannot write the tasks into {folder}: {error.strerror}") from error
    return {task: len(rows) for task, rows in by_task.items()}


def _row(document: Document, folder: Path) -> dict[str, Any]:
    item, names = document.item, []
    for picture in item.request.pictures:
        name = Path("pictures") / f"{picture.digest}.{picture.media_type.partition('/')[2]}"
        target = folder / name
        if not target.exists():
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(picture.read())
        names.append(name.as_posix())
    return {
        "id": item.request.ref or item.name,
        "pictures": names,
        "prompt": item.request.text,
        "gold": document.gold,
        "format": json.dumps(format_to_json(format_of(item))),
    }
