"""CRISP-Bench's files: data sets read from them and written, and runs as its logs."""

from __future__ import annotations

import json
import os
import re
import shutil
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

from theodolite.core.errors import UsageError
from theodolite.core.files import Problem, check, read_bytes, read_each, read_json, read_lines, told_problems
from theodolite.core.pictures import decode
from theodolite.instruments.scene.data.engine import thin_questions
from theodolite.instruments.scene.data.files import (
    MARKED,
    Manifest,
    SceneData,
    file_name,
    new_folder,
    read_data,
    tally,
    write_data,
    write_pictures,
)
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
from theodolite.instruments.scene.questions import graph_prompt, is_graph
from theodolite.instruments.scene.reading.results import read_answer_result, read_graph_result
from theodolite.runs import Result, Run
from theodolite.worlds.scene_graph import SceneGraph, StarGraph

# CRISP-Bench's files: reads a data set from them, and writes one in their format.


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


# A data set from CRISP-Bench's published files: its scenes and its own questions.
#
# The files are found by their names anywhere under one folder, such as ``data/processed``: the scene graphs, the questions, the
# marks, and the pictures, if they are there. A picture with marks is used as it is; if there is only the plain one, marks are drawn
# from the boxes of ``marks.jsonl``. A scene without a picture can be asked only what needs none.


_GRAPH_FILES = ("combined_scene_graph.jsonl", GRAPHS, "filtered_scene_graph.json")
"""In the order of preference."""
_PICTURE_ENDINGS = frozenset({".jpg", ".jpeg", ".png"})
WITHOUT_PICTURE = "scenes without a picture: kept, but only settings without a picture can be asked"


def build_crisp(
    folder: str | Path,
    root: Path,
    *,
    most_scenes: int | None = None,
    n_questions: int | None = None,
    seed: int = 0,
    version: str = "",
) -> SceneData:
    """Reads published scenes and questions, and writes a data set with the pictures that are there.

    Args:
        folder: New or empty.
        root: The folder with the published files.
        most_scenes: Number of scenes kept, from the first on.
        n_questions: Number of questions kept, balanced by group.
        seed: Of the choice of questions.
        version: Of the program, for the manifest.
    """
    folder = new_folder(folder)
    found = _files(root)
    graphs = _one(found, _GRAPH_FILES, root, "scene graphs")
    questions = _one(found, (QA,), root, "questions")
    data = read_crisp(graphs, questions, marks=found.get(MARKS, ()))
    if not data.scenes:
        told = "; ".join(data.manifest.problems)
        raise UsageError(f"no scene of {graphs} can be used" + (f": {told}" if told else ""))
    left_out = dict(data.manifest.left_out)
    scenes = list(data.scenes.values())
    if most_scenes is not None and len(scenes) > most_scenes:
        left_out["scenes beyond the number asked for"] = len(scenes) - most_scenes
        scenes = scenes[:most_scenes]
    kept = {scene.id for scene in scenes}
    asked = tuple(question for question in data.questions if question.scene in kept)
    if n_questions is not None:
        asked = thin_questions(asked, min(n_questions, len(asked)), seed=seed)
    scenes = [_with_picture(scene, folder, found) for scene in scenes]
    if n := sum(not scene.marked for scene in scenes):
        left_out[WITHOUT_PICTURE] = n
    made = {**data.manifest.made, "root": root.name, "seed": seed, "theodolite": version}
    manifest = replace(data.manifest, made=made, counts=tally(scenes, asked), left_out=left_out)
    return read_data(write_data(folder, scenes, asked, manifest))


def _files(root: Path) -> Mapping[str, list[Path]]:
    """The files under a folder by name, those with the fewest folders first."""
    found: dict[str, list[Path]] = {}
    if not root.is_dir():
        raise UsageError(f"{root} is not a folder; name the one that holds {_GRAPH_FILES[0]} and {QA}")
    for place, folders, names in os.walk(root):
        folders.sort()
        for name in sorted(names):
            found.setdefault(name, []).append(Path(place) / name)
    return found


def _one(found: Mapping[str, list[Path]], names: Iterable[str], root: Path, what: str) -> Path:
    """The file of one of the names; of several, the one in a folder ``combined``."""
    paths = next((found[name] for name in names if name in found), [])
    if not paths:
        raise UsageError(f"{root} holds no {what} of CRISP-Bench: none of {', '.join(names)}")
    both = [path for path in paths if "combined" in path.parts] or paths
    if len(both) > 1:
        raise UsageError(
            f"{root} holds several files of {what}, such as {both[0]} and {both[1]}; name one's folder"
        )
    return both[0]


def _with_picture(scene: SceneGraph, folder: Path, found: Mapping[str, list[Path]]) -> SceneGraph:
    marked = next(_named(scene.marked, found), None)
    if marked is not None:
        name = f"{MARKED}/{file_name(scene.id)}{marked.suffix.lower()}"
        decode(marked)
        try:
            (folder / MARKED).mkdir(parents=True, exist_ok=True)
            shutil.copyfile(marked, folder / name)
        except OSError as error:
            raise UsageError(f"cannot copy {marked} into {folder}: {error.strerror}") from error
        return replace(scene, picture="", marked=name)
    plain = next(_named(scene.picture, found), None)
    has_boxes = all(thing.box_px.x1 - thing.box_px.x0 > 1 for thing in scene.objects)
    if plain is not None and has_boxes:
        return write_pictures(folder, scene, decode(plain, is_turned=False))
    return replace(scene, picture="", marked="")


def _named(name: str, found: Mapping[str, list[Path]]) -> Iterator[Path]:
    """The pictures with the file name and the folder of a path, the one with the most folders in common first."""
    parts = Path(name).parts
    if not parts or Path(name).suffix.lower() not in _PICTURE_ENDINGS:
        return
    same = [path for path in found.get(parts[-1], ()) if path.parts[-2:] == parts[-2:]]
    yield from sorted(same, key=lambda path: path.parts[-len(parts) :] != parts)


# A run as CRISP-Bench's logs: what its scoring stages read.
#
# qa_data.jsonl, sgc_task.jsonl, gt_sg.json    the questions, the graph task with its gold, the true graphs
# logs/<model>/<time>_samples_crisp_qa.jsonl   the answers, as lmms-eval logs them
# logs/<model>/<time>_samples_crisp_sgc.jsonl  the graphs
#
# ``resps`` is the model's text. ``filtered_resps``, which their code scores, is what we read in it: a letter, a number, a graph in
# their form, or nothing. So the same answers are scored there as here, and a difference is one of scoring. Chain of thought is
# their family ``cot``.


def write_crisp_run(run: Run, folder: str | Path, *, numeric_type: NumericType = "NAQ") -> tuple[int, int]:
    """Writes the questions, graphs and answers of a run's base setting. Failed requests are left out.

    Args:
        run: Measured.
        folder: Where to write.
        numeric_type: ``NAQ``, as their generator writes, or ``NA``, as their task code reads.

    Returns:
        The numbers of graphs and answers.
    """
    folder = Path(folder)
    questions: dict[str, dict[str, Any]] = {}
    tasks: dict[str, tuple[dict[str, Any], StarGraph]] = {}
    logs: dict[str, list[dict[str, Any]]] = {}
    n_graphs = n_answers = 0
    for result in run.results():
        item, record = result.item, result.record
        if not item.truth.is_plain or record is None or record.response.status == "failed":
            continue
        image = f"marked/{file_name(item.cluster)}.png"
        family = "crisp_sgc" if is_graph(item) else "crisp_qa"
        log = logs.setdefault(_log_name(run, family, str(item.meta.get("mode", "direct"))), [])
        if is_graph(item):
            graph = read_graph_result(result)
            doc = graph_task(item.request.text, graph.true, image, DATASET_OF[graph.domain])
            tasks[image] = doc, graph.true
            said = json.dumps(_stated(graph.reading.graph)) if graph.reading.graph is not None else ""
            log.append({**_line(len(log), result, doc, said), "sgc_score": {"image": image}})
            n_graphs += 1
        else:
            row = read_answer_result(result)
            doc = write_question(
                row.question, image, dataset=DATASET_OF[row.question.domain], numeric_type=numeric_type
            )
            questions[row.question.id] = doc
            said = _plain(row.answer.value)
            scored = {"id": row.question.id, "meta": doc["meta"], "prediction": said}
            log.append({**_line(len(log), result, doc, said), "vsibench_score": scored})
            n_answers += 1
    write_lines(folder / QA, questions.values())
    write_lines(folder / SGC, (doc for doc, _ in tasks.values()))
    write_graphs(folder / TRUE_GRAPHS, ((image, true) for image, (_, true) in tasks.items()))
    for name, lines in logs.items():
        write_lines(folder / "logs" / name, lines)
    return n_graphs, n_answers


def _log_name(run: Run, family: str, mode: str) -> str:
    model = re.sub(r"[^\w.-]+", "_", run.info.model) + ("-thinking" if mode == "thinking" else "")
    cot = "_cot" if mode == "chain of thought" else ""
    return f"{model}/{run.info.created:%Y%m%d_%H%M%S}_samples_{family}{cot}.jsonl"


def _line(number: int, result: Result, doc: Mapping[str, Any], said: str) -> dict[str, Any]:
    text = result.record.response.text if result.record is not None else ""
    target = doc["conversations"][1]["value"]
    return {"doc_id": number, "target": target, "resps": [[text]], "filtered_resps": [said]}


def _plain(value: str | float | None) -> str:
    """An answer as their parsers read it: numbers without an exponent.

    >>> _plain(2.5), _plain(1e-05), _plain("B"), _plain(None)
    ('2.5', '0.00001', 'B', '')
    """
    if value is None or isinstance(value, str):
        return value or ""
    text = f"{value:.12f}".rstrip("0")
    return text.removesuffix(".")


def _stated(graph: StarGraph) -> dict[str, Any]:
    """A graph without the values that the model left out: their code fails on null."""
    whole = graph.as_json()
    for thing in whole["objects"]:
        thing["size"] = _given(thing["size"])
    return {key: [_given(row) for row in rows] for key, rows in whole.items()}


def _given(row: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in row.items() if value is not None}


# Exports a data set or a run to CRISP-Bench.


NUMERIC_TYPE: Mapping[str, NumericType] = {"crisp": "NAQ", "crisp-na": "NA"}
"""By format: ``crisp-na`` calls questions for a number NA, as CRISP-Bench's task code does; ``crisp`` NAQ, as its generator."""


def export_run(run: Run, folder: Path, to: str) -> dict[str, int]:
    """Writes the graphs and answers of a run, as logs that CRISP-Bench's scorers read. Returns how many."""
    graphs, answers = write_crisp_run(run, folder, numeric_type=NUMERIC_TYPE[to])
    return {"graphs": graphs, "answers": answers}


def export_data(data: SceneData, folder: Path, to: str) -> dict[str, int]:
    """Writes a data set. Returns the number of scenes and questions."""
    write_crisp(data, folder, numeric_type=NUMERIC_TYPE[to])
    return {"scenes": len(data.scenes), "questions": len(data.questions)}
