"""An lmms-eval task folder: one task per setting, usable with ``--include_path``.

Every document has its whole prompt, so lmms-eval asks exactly what Theodolite would ask, and its log of samples can be scored
here: ``theodolite scene run --model replay:LOGS`` finds each answer by the ``ref`` that the task writes into the log.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from theodolite.core.errors import UsageError
from theodolite.core.types import Item
from theodolite.instruments.scene.interop.crisp import write_lines, write_text

_TASK = """task: {task}
dataset_path: json
dataset_kwargs:
  data_files:
    test: {data}
test_split: test
output_type: generate_until
doc_to_visual: !function utils.pictures
doc_to_text: !function utils.prompt
doc_to_target: gold
process_results: !function utils.{scorer}
metric_list:
{metrics}
generation_kwargs:
  max_new_tokens: {max_tokens}
  temperature: 0
  do_sample: false
cluster_key: scene
metadata:
  - version: 1.0
"""

_METRIC = """  - metric: {name}
    aggregation: {aggregation}
    higher_is_better: true"""

_UTILS = '''"""What lmms-eval calls: the picture, the prompt, and scores by Theodolite.

Theodolite must be installed beside lmms-eval (pip install theodolite). For tables, intervals and signatures, score the logged
samples:

    theodolite scene run --data DATA --model replay:LOGS --out RUN
"""

from collections import defaultdict
from pathlib import Path

FOLDER = Path(__file__).parent


def pictures(doc):
    from PIL import Image

    return [Image.open(FOLDER / name).convert("RGB") for name in doc["pictures"]]


def prompt(doc, lmms_eval_specific_kwargs=None):
    return doc["prompt"]


def qa_results(doc, results):
    import json

    from theodolite.answers import read_answer
    from theodolite.instruments.scene.data.files import question_from_json
    from theodolite.instruments.scene.formulas.mra import score_value

    question = question_from_json(json.loads(doc["question"]))
    answer = read_answer(str(results[0]), question.format)
    score = score_value(question, answer.value)
    return {
        "qa": {"group": "/".join(question.group), "score": score, "scene": doc["scene"]},
        "read": float(answer.is_read),
        "scene": doc["scene"],
        "ref": doc["id"],
        "pictures": len(doc["pictures"]),
    }


def graph_results(doc, results):
    import json

    from theodolite.instruments.scene.formulas.sgc import score_graph
    from theodolite.instruments.scene.reading.graph_parser import parse_graph
    from theodolite.instruments.scene.reading.results import star_from_json

    true = star_from_json(json.loads(doc["graph"]), doc["centre"])
    reading = parse_graph(str(results[0]), true.centre, {node.id for node in true.nodes})
    score = score_graph(reading, true)
    return {"sgc": score.sgc, "s_est": score.s_est, "s_rel": score.s_rel,
            "complete": float(reading.is_complete), "scene": doc["scene"], "ref": doc["id"],
            "pictures": len(doc["pictures"])}


def macro(rows):
    groups = defaultdict(list)
    for row in rows:
        groups[row["group"]].append(row["score"])
    return sum(sum(scores) / len(scores) for scores in groups.values()) / len(groups)
'''


def write_lmms_eval(items: Iterable[Item], folder: str | Path) -> dict[str, int]:
    """Writes a task folder for the items of a plan or a run.

    Args:
        items: Questions and graphs in any settings, of one mode.
        folder: Where to write. Paths in it are absolute, so it cannot be moved.

    Returns:
        The number of documents of each task.
    """
    folder = Path(folder).absolute()
    by_task: dict[str, list[Item]] = {}
    for item in items:
        by_task.setdefault(task_name(item), []).append(item)
    if not by_task:
        raise UsageError("there is nothing to export: the plan is empty")
    for task, members in by_task.items():
        data = folder / "data" / f"{task}.jsonl"
        write_lines(data, _documents(members, folder))
        first = members[0]
        is_qa = first.meta["task"] == "qa"
        names = [("qa", "!function utils.macro"), ("read", "mean")] if is_qa else [
            (name, "mean") for name in ("sgc", "s_est", "s_rel", "complete")
        ]  # fmt: skip
        yaml = _TASK.format(
            task=task,
            data=json.dumps(str(data)),
            scorer="qa_results" if is_qa else "graph_results",
            metrics="\n".join(_METRIC.format(name=name, aggregation=how) for name, how in names),
            max_tokens=first.request.max_tokens,
        )
        write_text(folder / f"{task}.yaml", yaml)
    write_text(folder / "utils.py", _UTILS)
    tasks = "".join(f"  - {task}\n" for task in by_task)
    write_text(folder / "theodolite_scene.yaml", f"group: theodolite_scene\ntask:\n{tasks}")
    return {task: len(members) for task, members in by_task.items()}


def task_name(item: Item) -> str:
    """Such as ``theodolite_scene_qa_true_graph_alone``."""
    meta = item.meta
    noise = f"_{meta['noise']:g}".replace(".", "") if "noise" in meta else ""
    return f"theodolite_scene_{meta['task']}_{str(meta['setting']).replace(' ', '_')}{noise}"


def _documents(items: Iterable[Item], folder: Path) -> Iterator[dict[str, Any]]:
    for item in items:
        meta = item.meta
        names = []
        for picture in item.request.pictures:
            name = Path("pictures") / f"{picture.digest}.{picture.media_type.partition('/')[2]}"
            target = folder / name
            if not target.exists():
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_bytes(picture.read())
            names.append(str(name))
        document: dict[str, Any] = {
            "id": item.request.ref,
            "scene": meta["scene"],
            "domain": meta["domain"],
            "pictures": names,
            "prompt": item.request.text,
            "gold": str(item.request.hint.get("gold", "")),
        }
        if meta["task"] == "qa":
            document["question"] = json.dumps(meta["question"])
        else:
            document |= {"graph": json.dumps(meta["graph"]), "centre": meta["centre"]}
        yield document
