"""CRISP-Bench's files: reads a data set from them, and writes one in their format."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, TypeVar

from theodolite.core.errors import UsageError
from theodolite.core.files import (
    Problem,
    check,
    read_bytes,
    read_each,
    read_json,
    read_lines,
    told_problems,
)
from theodolite.instruments.scene.data.files import Manifest, SceneData
from theodolite.instruments.scene.data.graph import SceneGraph, StarGraph
from theodolite.instruments.scene.data.questions import SceneQuestion
from theodolite.instruments.scene.interop.crisp_questions import (
    NumericType,
    QuestionForm,
    QuestionScene,
    read_question,
    write_question,
)
from theodolite.instruments.scene.interop.crisp_scenes import (
    DATASET_OF,
    MarksForm,
    flags,
    read_scene,
    write_marks,
    write_scene,
)
from theodolite.instruments.scene.questions import graph_prompt

T = TypeVar("T")
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
    write_lines(
        folder / SGC,
        (
            graph_task(graph_prompt(scene), scene.star(), _shown(scene), DATASET_OF[scene.domain])
            for scene in scenes.values()
        ),
    )
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


def _shown(scene: SceneGraph) -> str:
    return scene.marked or f"marked/{scene.id}.png"


def graph_task(prompt: str, true: StarGraph, image: str, dataset: str) -> dict[str, Any]:
    """One line of the graph task. Its gold has flags, where a model is asked for words."""
    gold = true.as_json()
    for row, edge in zip(gold["edges"], true.edges, strict=True):
        row["relation"] = flags(edge.relation)
    return {
        "image": image,
        "conversations": [
            {"from": "human", "value": prompt},
            {"from": "gpt", "value": json.dumps(gold, indent=2)},
        ],
        "meta": {"dataset": dataset},
    }


def read_crisp(
    graphs: str | Path,
    questions: str | Path,
    *,
    marks: Iterable[str | Path] = (),
    pictures: str | Path | None = None,
) -> SceneData:
    """Reads scene graphs and questions of CRISP-Bench, written by them or by `write_crisp`.

    Scenes and questions that cannot be used are left out, and counted by reason in the manifest.

    Args:
        graphs: A JSON list or JSONL of scene graphs.
        questions: JSONL of questions, type ``MCQ`` with ``NAQ`` or ``NA``.
        marks: Files ``marks.jsonl``, for the boxes.
        pictures: The folder that the paths of pictures are relative to.
    """
    problems: list[Problem] = []
    boxes = {}
    for path in marks:
        read, wrong = read_items(Path(path), lambda line: check(MarksForm, line))
        boxes.update({line.sample_data_token: line for _, line in read})
        problems += wrong
    drawn, wrong = read_items(Path(graphs), lambda item: read_scene(item, boxes))
    scenes = {scene.id: scene for _, scene in drawn}
    by_picture = {_name(scene.marked): scene.id for scene in scenes.values()}
    asked, lost = read_items(Path(questions), lambda line: _question(line, scenes, by_picture))
    found = {question.id: question for _, question in asked}
    left_out = Counter(f"scene: {each.reason}"[:120] for each in wrong)
    left_out += Counter(f"question: {each.reason}"[:120] for each in lost)
    manifest = Manifest(
        made={"source": "crisp", "graphs": Path(graphs).name, "questions": Path(questions).name},
        n_scenes=len(scenes),
        n_questions=len(found),
        left_out=dict(left_out),
        problems=told_problems([*problems, *wrong, *lost]),
    )
    return SceneData(scenes, tuple(found.values()), Path(pictures) if pictures else None, manifest)


def _question(value: Any, scenes: Mapping[str, SceneGraph], by_picture: Mapping[str, str]) -> SceneQuestion:
    line = check(QuestionForm, value)
    name = _scene_of(line, scenes, by_picture)
    if name is None:
        raise UsageError("no scene has its picture")
    scene = scenes[name]
    question = read_question(line, QuestionScene(name, scene.domain, scene.difficulty))
    try:
        for mark in question.objects:
            scene[mark]
    except UsageError:
        raise UsageError("names an unknown object") from None
    return question


def _scene_of(
    line: QuestionForm, scenes: Mapping[str, SceneGraph], by_picture: Mapping[str, str]
) -> str | None:
    """The scene of a question: as `write_crisp` wrote it, by its picture, or by the token that its id begins with."""
    named = line.meta.theodolite.scene if line.meta.theodolite is not None else ""
    token = line.id.rsplit("_", 1)[0]
    by_name = next((name for name in (named, token) if name in scenes), None)
    if named in scenes:
        return named
    return by_picture.get(_name(line.image), by_name)


def _name(path: str) -> str:
    return path.rsplit("/", 1)[-1].rsplit(".", 1)[0]


def read_items(path: Path, read: Callable[[Any], T]) -> tuple[list[tuple[str, T]], list[Problem]]:
    """Read each object of a JSON list or of a JSONL file; what was read, and the problems of the others."""
    if not read_bytes(path).lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"["):
        return read_lines(path, read)
    return read_each([(f"{path.name}[{number}]", each) for number, each in enumerate(read_json(path))], read)


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
