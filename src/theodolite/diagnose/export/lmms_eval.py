"""lmms-eval tasks, with a copy of the modules that read and score answers, since Theodolite may not be installed there.

The files are copied as they are, with everything that they import from Theodolite.
"""

from __future__ import annotations

import ast
import json
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import theodolite
from theodolite.core.errors import StorageError, UsageError
from theodolite.core.registry import registry
from theodolite.diagnose.export.samples import Sample, SampledRun

__all__ = [
    "copied_modules",
    "write_copy",
    "write_tasks",
]


_SOURCE = Path(theodolite.__file__).parent


def write_copy(modules: Iterable[str], folder: Path) -> list[Path]:
    """Write a package ``theodolite`` with these modules into a folder, and return the files."""
    written = []
    for path in copied_modules(modules):
        target = folder / "theodolite" / path.relative_to(_SOURCE)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(path.read_bytes())
        written.append(target)
    return written


def copied_modules(modules: Iterable[str]) -> list[Path]:
    """Return the files of modules and of everything in the package that they import at load time."""
    paths: set[Path] = set()
    open_names = list(modules)
    while open_names:
        parts = open_names.pop().split(".")
        for n in range(1, len(parts) + 1):
            path = _file(parts[:n])
            if path is not None and path not in paths:
                paths.add(path)
                open_names += _imports(path)
    return sorted(paths)


def _file(parts: list[str]) -> Path | None:
    path = _SOURCE.joinpath(*parts[1:])
    files = (path / "__init__.py", path.with_suffix(".py")) if len(parts) > 1 else (path / "__init__.py",)
    return next((file for file in files if file.is_file()), None)


def _imports(path: Path) -> Iterator[str]:
    """Yield the modules of the package that a file imports at its top; names from a module may be modules themselves."""
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            names = [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
        else:
            continue
        yield from (name for name in names if name.partition(".")[0] == theodolite.__name__)


# lmms-eval tasks, for use with ``--include_path``: one for each condition (and split) of a run, and one of its pairs.
#
# A document holds the whole prompt, the pictures, the condition, the rubric, and the id that links a samples log to its item.
# Answers are read by Theodolite, or by the copy of its reader that lies beside the tasks. All paths are relative.


COPY = "theodolite_copy"
_SHARES = "theodolite.diagnose.export.shares"
_OUTCOMES = ("looking", "followed", "inverted", "moved", "unmoved", "lost", "kept")

_TASK = """task: {task}
dataset_path: json
dataset_kwargs:
  data_files:
    test: data/{task}.jsonl
test_split: test
output_type: generate_until
doc_to_visual: !function theodolite_utils.pictures
doc_to_text: !function theodolite_utils.prompt
doc_to_target: gold
process_results: !function theodolite_utils.{results}
metric_list:
{metrics}
generation_kwargs:
  max_new_tokens: {max_tokens}
  temperature: 0
  do_sample: false
metadata:
  version: 1.0
  condition: {condition}
"""

_METRIC = """  - metric: {name}
    aggregation: {aggregation}
    higher_is_better: {higher}"""

_UTILS = '''"""Functions that lmms-eval calls for pictures, prompts and results.

Answers are read by Theodolite, or, where it is not installed, by the copy of its reader in this folder. For the verdict,
signatures and intervals, diagnose the logged samples:

    theodolite diagnose --model replay:LOGS --out DIR
"""

import json
import sys
from importlib import import_module
from pathlib import Path

FOLDER = Path(__file__).parent
GRADERS = {graders}

try:
    from {shares} import Graded, by_condition, pair_outcomes
except ImportError:  # Theodolite is not installed, or is older than this task
    for name in [name for name in sys.modules if name.partition(".")[0] == "theodolite"]:
        del sys.modules[name]
    sys.path.insert(0, str(FOLDER / "{copy}"))
    from {shares} import Graded, by_condition, pair_outcomes


def pictures(doc):
    from PIL import Image

    return [Image.open(FOLDER / name).convert("RGB") for name in doc["pictures"]]


def prompt(doc, lmms_eval_specific_kwargs=None):
    return doc["prompt"]


def graded(doc, results):
    module, _, name = GRADERS[doc["instrument"]].partition(":")
    rubric = json.loads(doc["rubric"])
    found = getattr(import_module(module), name)(str(results[0]), rubric)
    return {{
        "id": doc["id"],
        "value": found.value,
        "status": found.answer.status,
        "said": found.answer.value,
        "group": rubric.get("group", ""),
        "cluster": doc["cluster"],
        "words": doc["prompt"],
        "targets": rubric.get("golds") or [],
        "pairs": [(pair["before"], pair["relevant"]) for pair in json.loads(doc["pairs"])],
    }}


def about(doc):
    """What a replay of the log needs to find the item again."""
    found = {{"ref": doc["id"], "condition": doc["condition"]}}
    return {{**found, "pictures": len(doc["pictures"]), "shown": doc["shown"]}}


def results(doc, results):
    found = graded(doc, results)
    score = {{}} if found["value"] is None else {{"score": found}}
    return {{**score, "read": float(found["status"] == "value"), **about(doc)}}


def pair_results(doc, results):
    found = graded(doc, results)
    return {{**dict.fromkeys({outcomes}, found), **about(doc)}}


def score(found):
    return by_condition(Graded.from_json(each["id"], each["value"], each) for each in found)["plain"]


def share(found, outcome):
    return pair_outcomes(Graded.from_json(each["id"], each["value"], each) for each in found).get(outcome, float("nan"))


'''

_SHARE = """def {outcome}(found):
    return share(found, "{outcome}")
"""


def write_tasks(runs: Iterable[SampledRun], folder: Path) -> dict[str, int]:
    """Write the tasks of runs of one model.

    Args:
        runs: The runs.
        folder: The folder to write into, empty or new. It can be moved.

    Returns:
        The number of documents of each task.

    Raises:
        UsageError: If the folder is not empty: lmms-eval would load the old tasks in it too.
    """
    if folder.is_dir() and any(folder.iterdir()):
        raise UsageError(f"{folder} is not empty, and lmms-eval loads all tasks in it; choose another --out")
    written: dict[str, int] = {}
    graders: dict[str, str] = {}
    try:
        for run in runs:
            own = {}
            for task, (condition, samples) in _tasks(run).items():
                _write_task(task, condition, samples, run.instrument.name, folder)
                own[task] = len(samples)
            if own:
                graders[run.instrument.name] = _grader(run)
                _write_group(_task_name(run.name), own, folder)
            written |= own
        if graders:
            modules = {grader.partition(":")[0] for grader in graders.values()}
            (folder / "theodolite_utils.py").write_text(_utils(graders), encoding="utf-8")
            write_copy([_SHARES, *sorted(modules)], folder / COPY)
            _write_group("theodolite", written, folder)
    except OSError as error:
        raise StorageError(f"cannot write the tasks into {folder}: {error.strerror}") from error
    return written


def _grader(run: SampledRun) -> str:
    """Return ``module:function`` of the grader of a run: the registered one of its items, or the default one."""
    named = next((sample.item.truth.grader for sample in run.samples if sample.item.truth.grader), "")
    return registry().entry("grader", named).target if named else "theodolite.answers.grading:grade"


def _utils(graders: dict[str, str]) -> str:
    text = _UTILS.format(graders=json.dumps(graders), shares=_SHARES, copy=COPY, outcomes=_OUTCOMES)
    return text + "\n\n".join(_SHARE.format(outcome=outcome) for outcome in _OUTCOMES)


def _tasks(run: SampledRun) -> dict[str, tuple[str, list[Sample]]]:
    """Return condition and samples by task. The task of pairs has the samples of all paired conditions."""
    splits = {sample.row.split for sample in run.samples}
    tasks: dict[str, tuple[str, list[Sample]]] = {}
    for sample in run.samples:
        split = sample.row.split if len(splits) > 1 else ""
        name = _task_name(run.name, sample.task, sample.row.condition, split)
        tasks.setdefault(name, (sample.row.condition, []))[1].append(sample)
    paired = {name for sample in run.samples for link in sample.pairs for name in (sample.id, link.before)}
    if paired:
        members = [sample for sample in run.samples if sample.id in paired]
        tasks[_task_name(run.name, "looking")] = ("pairs", members)
    return tasks


def _task_name(*parts: str) -> str:
    words = "_".join(filter(None, ("theodolite", *parts)))
    return "".join(letter if letter.isalnum() else "_" for letter in words)


def _write_task(task: str, condition: str, samples: Sequence[Sample], instrument: str, folder: Path) -> None:
    are_pairs = condition == "pairs"
    has_gold = any(sample.rubric.get("golds") != [] for sample in samples)
    names = _OUTCOMES if are_pairs else ("score", "read") if has_gold else ("read",)
    metrics = [
        _METRIC.format(
            name=name,
            aggregation="mean" if name == "read" else f"!function theodolite_utils.{name}",
            higher=json.dumps(name not in {"inverted", "moved", "unmoved", "lost"}),
        )
        for name in names
    ]
    text = _TASK.format(
        task=task,
        results="pair_results" if are_pairs else "results",
        metrics="\n".join(metrics),
        max_tokens=max(sample.item.request.max_tokens for sample in samples),
        condition=json.dumps(condition),
    )
    data = folder / "data" / f"{task}.jsonl"
    data.parent.mkdir(parents=True, exist_ok=True)
    data.write_text(
        "".join(json.dumps(row) + "\n" for row in _rows(samples, instrument, folder)), encoding="utf-8"
    )
    (folder / f"{task}.yaml").write_text(text, encoding="utf-8")


def _write_group(name: str, tasks: Iterable[str], folder: Path) -> None:
    listed = "".join(f"  - {task}\n" for task in tasks)
    (folder / f"{name}_group.yaml").write_text(f"group: {name}\ntask:\n{listed}", encoding="utf-8")


def _rows(samples: Iterable[Sample], instrument: str, folder: Path) -> Iterator[dict[str, Any]]:
    for sample in samples:
        yield {
            "id": sample.id,
            "instrument": instrument,
            "condition": sample.row.condition,
            "split": sample.row.split,
            "cluster": sample.row.cluster,
            "kind": sample.row.kind,
            "pictures": [_place(picture, folder) for picture in sample.item.request.pictures],
            "shown": [picture.digest for picture in sample.item.request.pictures],
            "prompt": sample.item.request.text,
            "gold": sample.gold,
            "rubric": json.dumps(sample.rubric),
            "pairs": json.dumps([link.to_json() for link in sample.pairs]),
        }


def _place(picture: Any, folder: Path) -> str:
    """Write a picture, and return its path relative to the folder."""
    name = Path("pictures") / f"{picture.digest}.{picture.media_type.partition('/')[2]}"
    target = folder / name
    if not target.exists():
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(picture.read())
    return name.as_posix()
