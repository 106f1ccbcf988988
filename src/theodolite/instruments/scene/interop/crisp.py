"""CRISP-Bench's files: reads a data set from them, and writes one in their format."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from theodolite.core.errors import UsageError, reason_of
from theodolite.instruments.scene.data.files import Manifest, SceneData
from theodolite.instruments.scene.data.graph import SceneGraph, StarGraph
from theodolite.instruments.scene.data.questions import SceneQuestion
from theodolite.instruments.scene.interop.crisp_questions import (
    NotUnderstoodError,
    NumericType,
    QuestionScene,
    read_question,
    write_question,
)
from theodolite.instruments.scene.interop.crisp_scenes import (
    DATASET_OF,
    flags,
    read_scene,
    scene_name,
    write_marks,
    write_scene,
)
from theodolite.instruments.scene.questions import graph_prompt
from theodolite.instruments.scene.reading.results import read_answer_result, read_graph_result
from theodolite.runs import Run

GRAPHS, MARKS, QA, SGC, TRUE_GRAPHS = (
    "scene_graph.jsonl",
    "marks.jsonl",
    "qa_data.jsonl",
    "sgc_task.jsonl",
    "gt_sg.json",
)


def write_crisp(data: SceneData, folder: str | Path, *, numeric_type: NumericType = "NAQ") -> Path:
    """Writes scene graphs, marks, questions, graph tasks and simplified true graphs, in CRISP-Bench's format.

    Args:
        data: The data set.
        folder: Where to write.
        numeric_type: ``NAQ``, as their generator writes, or ``NA``, as their task code reads.

    Returns:
        The folder.
    """
    folder = Path(folder)
    scenes = data.scenes
    write_lines(folder / GRAPHS, map(write_scene, scenes.values()))
    write_lines(folder / MARKS, map(write_marks, scenes.values()))
    write_lines(folder / SGC, map(_graph_task, scenes.values()))
    write_lines(
        folder / QA,
        (
            write_question(
                question,
                _shown(scenes[question.scene]),
                dataset=DATASET_OF[question.domain],
                numeric_type=numeric_type,
            )
            for question in data.questions
        ),
    )
    write_graphs(folder / TRUE_GRAPHS, ((_shown(scene), scene.star()) for scene in scenes.values()))
    return folder


def write_graphs(path: str | Path, graphs: Iterable[tuple[str, StarGraph]]) -> None:
    """Writes simplified graphs, true or predicted, each with its picture."""
    rows = [{"image": image, **graph.as_json()} for image, graph in graphs]
    write_text(Path(path), json.dumps(rows, indent=1) + "\n")


def write_crisp_answers(run: Run, folder: str | Path) -> tuple[int, int]:
    """Writes a model's graphs and answers of the base setting, in the form that their consistency stage reads.

    Args:
        run: Measured.
        folder: Where to write.

    Returns:
        The numbers of graphs and answers. Graphs that cannot be read are left out; for answers that cannot be read, the
        model's raw text is written.
    """
    graphs: list[tuple[str, StarGraph]] = []
    lines: list[dict[str, Any]] = []
    for result in run.results():
        meta, record = result.item.meta, result.record
        if meta.get("setting") != "base" or record is None or not record.response.is_answered:
            continue
        image = next(
            (str(p.path) for p in result.item.request.pictures if p.path), f"marked/{meta['scene']}.png"
        )
        if meta["task"] == "graph":
            graph = read_graph_result(result).reading.graph
            if graph is not None:
                graphs.append((image, graph))
        else:
            row = read_answer_result(result)
            said = row.answer.value
            line = write_question(row.question, image, dataset=DATASET_OF[row.question.domain])
            lines.append({**line, "predict": record.response.text if said is None else str(said)})
    name = re.sub(r"[^\w.-]+", "_", run.info.model)
    folder = Path(folder)
    write_graphs(folder / f"{name}_sg.json", graphs)
    write_lines(folder / f"{name}_qa.jsonl", lines)
    return len(graphs), len(lines)


def _shown(scene: SceneGraph) -> str:
    return scene.marked or f"marked/{scene.id}.png"


def _graph_task(scene: SceneGraph) -> dict[str, Any]:
    """One line of the graph task. Its gold has flags, where a model is asked for words."""
    star = scene.star()
    gold = star.as_json()
    for row, edge in zip(gold["edges"], star.edges, strict=True):
        row["relation"] = flags(edge.relation)
    return {
        "image": _shown(scene),
        "conversations": [
            {"from": "human", "value": graph_prompt(scene)},
            {"from": "gpt", "value": json.dumps(gold, indent=2)},
        ],
        "meta": {"dataset": DATASET_OF[scene.domain]},
    }


def read_crisp(
    graphs: str | Path,
    questions: str | Path,
    *,
    marks: str | Path | None = None,
    pictures: str | Path | None = None,
) -> SceneData:
    """Reads scene graphs and questions of CRISP-Bench, written by them or by `write_crisp`.

    Scenes and questions that cannot be used are left out, and counted by reason in the manifest.

    Args:
        graphs: A JSON list or JSONL of scene graphs.
        questions: JSONL of questions, type ``MCQ`` with ``NAQ`` or ``NA``.
        marks: ``marks.jsonl``, for the boxes.
        pictures: The folder that the paths of pictures are relative to.
    """
    left_out: Counter[str] = Counter()
    boxes = {str(line.get("sample_data_token")): line for line in read_items(Path(marks))} if marks else {}
    scenes: dict[str, SceneGraph] = {}
    by_picture: dict[str, str] = {}
    for item in read_items(Path(graphs)):
        try:
            scene = read_scene(item, boxes.get(scene_name(item)))
        except UsageError as error:
            left_out[f"scene: {_reason(error)}"] += 1
            continue
        scenes[scene.id] = scene
        by_picture[_name(scene.marked)] = scene.id
    found: dict[str, SceneQuestion] = {}
    for line in read_items(Path(questions)):
        name = _scene_of(line, scenes, by_picture)
        if name is None:
            left_out["question: no scene has its picture"] += 1
            continue
        scene = scenes[name]
        try:
            question = read_question(line, QuestionScene(name, scene.domain, scene.difficulty))
            for mark in question.objects:
                scene[mark]
        except NotUnderstoodError as error:
            left_out[f"question: {_reason(error)}"] += 1
        except UsageError:
            left_out["question: names an unknown object"] += 1
        else:
            found[question.id] = question
    manifest = Manifest(
        made={"source": "crisp", "graphs": Path(graphs).name, "questions": Path(questions).name},
        n_scenes=len(scenes),
        n_questions=len(found),
        left_out=dict(left_out),
    )
    return SceneData(scenes, tuple(found.values()), Path(pictures) if pictures else None, manifest)


def _scene_of(
    line: Mapping[str, Any], scenes: Mapping[str, SceneGraph], by_picture: Mapping[str, str]
) -> str | None:
    """The scene of a question: as `write_crisp` wrote it, by its picture, or by the token that its id begins with."""
    meta = line.get("meta")
    ours = meta.get("theodolite") if isinstance(meta, Mapping) else None
    named = str(ours.get("scene")) if isinstance(ours, Mapping) else ""
    token = str(line.get("id", "")).rsplit("_", 1)[0]
    by_name = next((name for name in (named, token) if name in scenes), None)
    if named in scenes:
        return named
    return by_picture.get(_name(str(line.get("image", ""))), by_name)


def _name(path: str) -> str:
    return path.rsplit("/", 1)[-1].rsplit(".", 1)[0]


def _reason(error: Exception) -> str:
    return str(error).splitlines()[0][:120]


def read_items(path: Path) -> Iterator[dict[str, Any]]:
    """The objects of a JSON list or of a JSONL file."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"cannot read {path}: {reason_of(error)}") from error
    try:
        if text.lstrip().startswith("["):
            rows = json.loads(text)
        else:
            rows = [json.loads(line) for line in text.splitlines() if line.strip()]
    except ValueError as error:
        raise UsageError(f"{path} is neither a JSON list nor JSONL: {error}") from None
    if not all(isinstance(row, dict) for row in rows):
        raise UsageError(f"{path} must hold JSON objects")
    yield from rows


def write_lines(path: Path, rows: Iterable[Mapping[str, Any]]) -> None:
    """Writes JSONL."""
    write_text(path, "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows))


def write_text(path: Path, text: str) -> None:
    """Writes a text file and its folders."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise UsageError(f"cannot write {path}: {error.strerror}") from error
