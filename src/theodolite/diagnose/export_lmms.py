"""lmms-eval tasks of the compass, the grid and traces: one task for each run, usable with ``--include_path``.

Every document holds its whole prompt and its pictures, and the id by which a samples log is found again here.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

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

_UTILS = '''"""What lmms-eval calls: shows the pictures, gives the prompt, and reads answers with Theodolite's own parsers.

Theodolite must be installed beside lmms-eval. For positions, signatures and intervals give the logged samples back:

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


def read(doc, text):
    if doc["reader"] == "option":
        from theodolite.instruments.compass.metrics import read_option

        return read_option(text, json.loads(doc["options"]))
    if doc["reader"] == "number":
        from theodolite.instruments.grid.experiments.accuracy import read_answer

        return read_answer(text)
    last = text.rpartition("Final answer:")[2].strip(" .*\\n")
    return last.casefold() or None


def results(doc, results):
    said = read(doc, str(results[0]))
    return {
        "right": float(said is not None and said == doc["gold"].casefold()),
        "read": float(said is not None),
        "ref": doc["id"],
        "pictures": len(doc["pictures"]),
    }
'''


def write_tasks(items: Iterable[tuple[str, Item, dict[str, Any]]], folder: Path) -> dict[str, int]:
    """Writes the tasks.

    Args:
        items: the task each belongs to, the item as it is shown, and what scoring needs: ``gold``, ``reader``, ``options``.
        folder: to write into; paths in it are absolute, so it is written where it is to stay.

    Returns:
        By task: how many documents it has.
    """
    folder = folder.absolute()
    by_task: dict[str, list[dict[str, Any]]] = {}
    longest: dict[str, int] = {}
    try:
        for name, item, about in items:
            task = f"theodolite_{name}".replace("-", "_").replace(" ", "_")
            by_task.setdefault(task, []).append(_document(item, about, folder))
            longest[task] = max(longest.get(task, 1), item.request.max_tokens)
        for task, documents in by_task.items():
            data = folder / "data" / f"{task}.jsonl"
            data.parent.mkdir(parents=True, exist_ok=True)
            data.write_text("".join(json.dumps(d) + "\n" for d in documents), encoding="utf-8")
            text = _TASK.format(task=task, data=json.dumps(str(data)), max_tokens=longest[task])
            (folder / f"{task}.yaml").write_text(text, encoding="utf-8")
        if by_task:
            (folder / "theodolite_utils.py").write_text(_UTILS, encoding="utf-8")
    except OSError as error:
        raise StorageError(f"cannot write the tasks into {folder}: {error.strerror}") from error
    return {task: len(documents) for task, documents in by_task.items()}


def _document(item: Item, about: dict[str, Any], folder: Path) -> dict[str, Any]:
    names = []
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
        "gold": about["gold"],
        "reader": about["reader"],
        "options": json.dumps(about.get("options", {})),
    }
