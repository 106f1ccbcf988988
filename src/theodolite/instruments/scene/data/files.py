"""A data set of scenes: a folder that can be moved as a whole.

manifest.json    what it is: format, how it was made, counts, and what was left out and why
scenes.jsonl     one `SceneGraph` a line
questions.jsonl  one `Question` a line
pictures/        the plain pictures, ``<scene>.png`` or ``.jpg``
marked/          the same with numbered marks: what a model sees
truth/           of made scenes, on request: ``<scene>.npz`` with ``depth_m`` and ``instance`` (mark; 0: none; below 0: unmarked)

The lines are the fields of the two records, written as JSON; pictures are named relative to the folder.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, JsonValue, TypeAdapter, ValidationError

from theodolite.core.errors import UsageError
from theodolite.core.types import Picture
from theodolite.instruments.scene.data.graph import SceneGraph
from theodolite.instruments.scene.data.questions import Question

MANIFEST, SCENES, QUESTIONS = "manifest.json", "scenes.jsonl", "questions.jsonl"
PICTURES, MARKED, TRUTH = "pictures", "marked", "truth"

T = TypeVar("T")


class Manifest(BaseModel):
    """What a data set says of itself."""

    model_config = ConfigDict(extra="allow")

    format: Literal["theodolite scenes"] = "theodolite scenes"
    schema_version: Literal[1] = 1
    made: dict[str, JsonValue] = {}
    """The command: source, seed, options, and the version of the program."""
    n_scenes: int = 0
    n_questions: int = 0
    counts: dict[str, JsonValue] = {}
    """Scenes by domain and crowding, questions by group and difficulty."""
    left_out: dict[str, JsonValue] = {}
    """Objects, scenes and questions that were not kept, by reason."""


@dataclass(frozen=True, slots=True)
class SceneData:
    """A data set in memory: scenes by id, and the questions about them."""

    scenes: Mapping[str, SceneGraph]
    questions: tuple[Question, ...]
    folder: Path | None = None
    """Where its pictures lie; None if it was never written."""
    manifest: Manifest = field(default_factory=Manifest)

    def picture(self, scene: str, *, is_marked: bool = True) -> Picture | None:
        """A scene's picture, as a model sees it (with marks) or plain; None if it has none."""
        graph = self.scenes[scene]
        name = graph.marked if is_marked else graph.picture
        return Picture.from_path(self.folder / name) if name and self.folder is not None else None


@cache
def _scene_form() -> TypeAdapter[SceneGraph]:
    return TypeAdapter(SceneGraph)


@cache
def _question_form() -> TypeAdapter[Question]:
    return TypeAdapter(Question)


def question_to_json(question: Question) -> dict[str, Any]:
    """A question as plain JSON; fields that are at their default are left out."""
    found: dict[str, Any] = _question_form().dump_python(question, mode="json", exclude_defaults=True)
    return found


def question_from_json(value: Mapping[str, Any]) -> Question:
    """A question from what `question_to_json` gave."""
    return _question_form().validate_python(value)


def write_data(
    folder: str | Path, scenes: Iterable[SceneGraph], questions: Iterable[Question], manifest: Manifest
) -> Path:
    """Writes the tables; pictures are written by whoever makes them. The manifest comes last: without it, nothing is there.

    Returns:
        The folder.
    """
    folder = Path(folder)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        n_scenes = _write_lines(folder / SCENES, scenes, _scene_form())
        n_questions = _write_lines(folder / QUESTIONS, questions, _question_form())
        whole = manifest.model_copy(update={"n_scenes": n_scenes, "n_questions": n_questions})
        (folder / MANIFEST).write_text(whole.model_dump_json(indent=2) + "\n", encoding="utf-8")
    except OSError as error:
        raise UsageError(f"cannot write the scenes into {folder}: {error.strerror}") from error
    return folder


def read_data(folder: str | Path) -> SceneData:
    """Reads a data set.

    Raises:
        UsageError: it is not one, a line is wrong, an id stands twice, or a question asks about what is not there.
    """
    folder = Path(folder)
    manifest = _read_manifest(folder)
    scenes: dict[str, SceneGraph] = {}
    for scene in _read_lines(folder / SCENES, _scene_form().validate_json):
        if scene.id in scenes:
            raise UsageError(f"{folder / SCENES} holds the scene {scene.id!r} twice")
        scenes[scene.id] = scene
    questions: dict[str, Question] = {}
    for question in _read_lines(folder / QUESTIONS, _question_form().validate_json):
        if question.id in questions:
            raise UsageError(f"{folder / QUESTIONS} holds the question {question.id!r} twice")
        if question.scene not in scenes:
            raise UsageError(
                f"question {question.id!r} is about the scene {question.scene!r}, which is not there"
            )
        for mark in question.objects:
            scenes[question.scene][mark]
        questions[question.id] = question
    return SceneData(scenes, tuple(questions.values()), folder, manifest)


def _write_lines(path: Path, records: Iterable[T], form: TypeAdapter[T]) -> int:
    n = 0
    with path.open("wb") as file:
        for record in records:
            file.write(form.dump_json(record, exclude_defaults=True) + b"\n")
            n += 1
    return n


def _read_lines(path: Path, parse: Callable[[str], T]) -> Iterable[T]:
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"cannot read {path}: {error}; make the data set again") from error
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            yield parse(line)
        except ValidationError as error:
            first = error.errors()[0]
            where = ".".join(map(str, first["loc"])) or "the line"
            raise UsageError(f"{path}, line {number}: {where}: {first['msg']}") from None
        except UsageError as error:
            raise UsageError(f"{path}, line {number}: {error}") from None


def _read_manifest(folder: Path) -> Manifest:
    path = folder / MANIFEST
    if not path.is_file():
        raise UsageError(
            f"{folder} is not a data set of scenes: it has no {MANIFEST}; `theodolite scene make` makes one"
        )
    try:
        return Manifest.model_validate_json(path.read_text(encoding="utf-8"))
    except (ValidationError, OSError, json.JSONDecodeError) as error:
        raise UsageError(f"{path} cannot be read: {error}") from None
