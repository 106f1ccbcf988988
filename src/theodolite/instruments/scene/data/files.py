"""A data set of scenes: a folder that can be moved.

manifest.json    what it is: format, how it was made, counts, and what was left out and why
scenes.jsonl     one `SceneGraph` per line
questions.jsonl  one `SceneQuestion` per line
pictures/        the plain pictures, ``<scene>.png`` or ``.jpg``
marked/          the same with numbered marks: what a model sees
truth/           of made scenes, on request: ``<scene>.npz`` with ``depth_m`` and ``instance`` (mark; 0: none; below 0: unmarked)

Lines hold the fields of the two records as JSON; paths of pictures are relative to the folder.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeVar

import numpy as np
from numpy.typing import NDArray

from theodolite.core.errors import UsageError
from theodolite.core.files import Problem, adapter, check, inside, read_json, read_lines
from theodolite.core.types import Picture, Pixels, content_hash
from theodolite.instruments.scene.data.questions import SceneQuestion
from theodolite.worlds.marks import draw_marks, place_marks
from theodolite.worlds.scene_graph import SceneGraph

if TYPE_CHECKING:
    from pydantic import TypeAdapter

MANIFEST, SCENES, QUESTIONS = "manifest.json", "scenes.jsonl", "questions.jsonl"
PICTURES, MARKED, TRUTH = "pictures", "marked", "truth"

BROKEN = "broken records"
_PLAIN_NAME = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9_.-]{0,150}")

T = TypeVar("T")
R = TypeVar("R", SceneGraph, SceneQuestion)


@dataclass(frozen=True, slots=True)
class Manifest:
    """What a data set holds and how it was made."""

    format: Literal["theodolite scenes"] = "theodolite scenes"
    schema_version: Literal[1] = 1
    made: Mapping[str, Any] = field(default_factory=dict)
    """The command: source, seed, options, and the version of the program."""
    n_scenes: int = 0
    n_questions: int = 0
    counts: Mapping[str, Any] = field(default_factory=dict)
    """Scenes by domain and crowding, questions by group."""
    left_out: Mapping[str, Any] = field(default_factory=dict)
    """Objects, scenes and questions that were left out, by reason."""
    problems: tuple[str, ...] = ()
    """The broken records of the source: how many, and where the first ones are."""


@dataclass(frozen=True, slots=True)
class SceneData:
    """A data set in memory: scenes by id, and the questions about them."""

    scenes: Mapping[str, SceneGraph]
    questions: tuple[SceneQuestion, ...]
    folder: Path | None = None
    """The folder of its pictures; None if it was never written."""
    manifest: Manifest = field(default_factory=Manifest)
    problems: tuple[Problem, ...] = field(default=(), compare=False)
    """Lines of the folder's files that are broken, and were left out."""

    def picture(self, scene: str, *, is_marked: bool = True) -> Picture | None:
        """A scene's picture with marks, as a model sees it, or plain; None if there is none."""
        graph = self.scenes[scene]
        name = graph.marked if is_marked else graph.picture
        return Picture.from_path(inside(self.folder, name, "picture")) if name and self.folder else None


def write_data(
    folder: str | Path, scenes: Iterable[SceneGraph], questions: Iterable[SceneQuestion], manifest: Manifest
) -> Path:
    """Writes the tables of a data set; the manifest last, so that an unfinished folder is no data set.

    Returns:
        The folder.
    """
    folder = Path(folder)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        n_scenes = _write_lines(folder / SCENES, scenes, adapter(SceneGraph))
        n_questions = _write_lines(folder / QUESTIONS, questions, adapter(SceneQuestion))
        whole = replace(manifest, n_scenes=n_scenes, n_questions=n_questions)
        (folder / MANIFEST).write_bytes(adapter(Manifest).dump_json(whole, indent=2) + b"\n")
    except OSError as error:
        raise UsageError(f"cannot write the scenes into {folder}: {error.strerror}") from error
    return folder


def read_data(folder: str | Path) -> SceneData:
    """Reads a data set. Lines that are broken are left out, and questions about scenes and objects that are not there.

    Raises:
        UsageError: It is no data set, a file cannot be read, or no scene or question is left of those that it holds.
    """
    folder = Path(folder)
    manifest = _read_manifest(folder)
    problems: list[Problem] = []
    scenes = _read_records(folder / SCENES, SceneGraph, problems)
    questions = _read_records(folder / QUESTIONS, SceneQuestion, problems, partial(_check_question, scenes))
    return SceneData(scenes, tuple(questions.values()), folder, manifest, tuple(problems))


def _check_question(scenes: Mapping[str, SceneGraph], question: SceneQuestion) -> None:
    if question.scene not in scenes:
        raise UsageError(
            f"question {question.id!r} is about the scene {question.scene!r}, which is not in the data set"
        )
    for mark in question.objects:
        scenes[question.scene][mark]


def new_folder(folder: str | Path) -> Path:
    """The folder of a data set to be made.

    Raises:
        UsageError: It holds something already.
    """
    folder = Path(folder)
    if folder.exists() and any(folder.iterdir()):
        raise UsageError(f"{folder} is not empty; name a new folder for the data set")
    return folder


def write_pictures(
    folder: Path, graph: SceneGraph, picture: Pixels, *, instance: NDArray[np.int32] | None = None
) -> SceneGraph:
    """Writes a scene's picture, plain and with marks; returns its graph with the paths of both."""
    from PIL import Image

    height, width = picture.shape[:2]
    marks = place_marks(
        {thing.id: thing.box_px for thing in graph.objects},
        (width, height),
        distances_m={thing.id: thing.distance_m for thing in graph.objects},
        instance=instance,
    )
    name = file_name(graph.id)
    plain, marked = f"{PICTURES}/{name}.png", f"{MARKED}/{name}.png"
    try:
        for name, pixels in ((plain, picture), (marked, draw_marks(picture, marks))):
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            Image.fromarray(pixels).save(folder / name, compress_level=4)
    except OSError as error:
        raise UsageError(f"cannot write the pictures into {folder}: {error.strerror}") from error
    return replace(graph, picture=plain, marked=marked)


def file_name(scene: str) -> str:
    """A scene's id, if it can be the name of a file; otherwise its letters and a hash."""
    if _PLAIN_NAME.fullmatch(scene):
        return scene
    return f"{re.sub(r'[^A-Za-z0-9]+', '-', scene)[:60].strip('-')}-{content_hash(scene)[:12]}"


def tally(scenes: Iterable[SceneGraph], questions: Iterable[SceneQuestion]) -> dict[str, Any]:
    """The numbers of scenes by domain and crowding, and of questions by group."""
    counts: Mapping[str, Counter[str]] = {
        "scenes": Counter(f"{scene.domain} {scene.crowding}" for scene in scenes),
        "questions": Counter(" ".join(question.group) for question in questions),
    }
    return {name: dict(sorted(counted.items())) for name, counted in counts.items()}


def _write_lines(path: Path, records: Iterable[T], form: TypeAdapter[T]) -> int:
    n = 0
    with path.open("wb") as file:
        for record in records:
            file.write(form.dump_json(record, exclude_defaults=True) + b"\n")
            n += 1
    return n


def _read_records(
    path: Path, form: type[R], problems: list[Problem], accept: Callable[[R], None] = lambda _: None
) -> dict[str, R]:
    """The records of a JSONL file by id; the problems of the others are added to `problems`."""
    records: dict[str, R] = {}

    def read(value: Any) -> None:
        record = check(form, value)
        if record.id in records:
            raise UsageError(f"the id {record.id!r:.80} occurs twice; the first is kept")
        accept(record)
        records[record.id] = record

    _, wrong = read_lines(path, read)
    if wrong and not records:
        raise UsageError(f"{path} holds no usable line: {wrong[0]}")
    problems += wrong
    return records


def _read_manifest(folder: Path) -> Manifest:
    path = folder / MANIFEST
    if not path.is_file():
        raise UsageError(
            f"{folder} is not a data set of scenes: it has no {MANIFEST}; `theodolite scene make` makes one"
        )
    value = read_json(path)
    try:
        return check(Manifest, value)
    except UsageError as error:
        raise UsageError(f"{path} is not the manifest of a data set of scenes: {error}") from None
