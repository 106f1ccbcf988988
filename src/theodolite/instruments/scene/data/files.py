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

import math
import re
import string
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from theodolite.answers import AnswerFormat
from theodolite.core.errors import UsageError
from theodolite.core.files import Problem, adapter, check, inside, read_json, read_lines
from theodolite.core.types import Picture, Pixels, content_hash
from theodolite.instruments.scene.kinds import (
    ATOMIC,
    KINDS,
    Competency,
    Form,
    QuestionKind,
    apart_by_mark_m,
    distance_by_mark_m,
    group_name,
    kind_of,
    object_name,
    size_by_mark_m,
)
from theodolite.worlds.marks import draw_marks, place_marks
from theodolite.worlds.scene_graph import Difficulty, Domain, Edge, Node, Predicate, SceneGraph, StarGraph

if TYPE_CHECKING:
    from pydantic import TypeAdapter

MANIFEST, SCENES, QUESTIONS = "manifest.json", "scenes.jsonl", "questions.jsonl"
PICTURES, MARKED, TRUTH = "pictures", "marked", "truth"

BROKEN = "broken records"
_PLAIN_NAME = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9_.-]{0,150}")

T = TypeVar("T")
R = TypeVar("R", SceneGraph, "SceneQuestion")


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
        """Return a scene's picture with marks, as a model sees it, or plain; None if there is none."""
        graph = self.scenes[scene]
        name = graph.marked if is_marked else graph.picture
        return Picture.from_path(inside(self.folder, name, "picture")) if name and self.folder else None


def write_data(
    folder: str | Path, scenes: Iterable[SceneGraph], questions: Iterable[SceneQuestion], manifest: Manifest
) -> Path:
    """Write the tables of a data set; the manifest last, so that an unfinished folder is no data set.

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
    """Read a data set. Broken lines are left out, and so are questions about missing scenes or objects.

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
    """Return the folder for a new data set.

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
    """Write a scene's picture, plain and with marks; return its graph with the paths of both.

    Args:
        folder: The folder of the data set.
        graph: The scene.
        picture: Its picture without marks.
        instance: Mark of the object at each pixel, if known.
    """
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
    """Return a scene's id, if it can be the name of a file; otherwise its letters and a hash."""
    if _PLAIN_NAME.fullmatch(scene):
        return scene
    return f"{re.sub(r'[^A-Za-z0-9]+', '-', scene)[:60].strip('-')}-{content_hash(scene)[:12]}"


def tally(scenes: Iterable[SceneGraph], questions: Iterable[SceneQuestion]) -> dict[str, Any]:
    """Return the numbers of scenes by domain and crowding, and of questions by group."""
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
    """Return the records of a JSONL file by id; the problems of the others are added to `problems`."""
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


# Spatial questions about the marked objects of a scene.


Layer: TypeAlias = Literal["atomic", "compositional"]

LETTERS = string.ascii_uppercase


@dataclass(frozen=True, slots=True)
class Option:
    """One of the answers to choose from."""

    text: str
    """As it is shown, without its letter."""
    key: str
    """As the solver says it: ``yes`` or ``no``; a mark; marks in order, ``3-1-2``; a count; words of `PREDICATES` in order,
    joined by ``+``; one of `SECTORS`."""


@dataclass(frozen=True, slots=True)
class SceneQuestion:
    """A question about the marked objects of one scene."""

    id: str
    scene: str
    domain: Domain
    kind: str
    """One of `KINDS`."""
    text: str
    """The question itself, without options or instructions."""
    objects: tuple[int, ...]
    """Marks, in the order in which the text names them."""
    gold: str
    """The letter of the right option, or the number in metres to two decimals."""
    difficulty: Difficulty
    """Of the scene: by the edges of its star."""
    options: tuple[Option, ...] = ()
    """In the order of their letters A, B, C …; empty if a number is asked for."""
    relation: Predicate | None = None
    distance_m: float | None = None

    def __post_init__(self) -> None:
        kind_of(self.kind)
        if self.form == "number":
            if self.options or not math.isfinite(self.gold_number) or self.gold_number <= 0:
                raise UsageError(f"question {self.id!r} needs a number above zero as gold and no options")
        elif not 2 <= len(self.options) <= len(LETTERS) or self.gold not in LETTERS[: len(self.options)]:
            raise UsageError(
                f"question {self.id!r} needs two options or more, and one of their letters as gold"
            )

    @property
    def spec(self) -> QuestionKind:
        """Its kind: how it is worded, drawn and solved."""
        return KINDS[self.kind]

    @property
    def competency(self) -> Competency:
        """What it tests."""
        return self.spec.competency

    @property
    def form(self) -> Form:
        """Whether a letter or a number is asked for."""
        return self.spec.form

    @property
    def group(self) -> tuple[Form, Competency]:
        """One of the nine groups."""
        return self.form, self.competency

    @property
    def group_name(self) -> str:
        """Of its group, such as ``size (number)``."""
        return group_name(*self.group)

    @property
    def layer(self) -> Layer:
        """Atomic: the graph states the answer. Compositional: it takes several steps."""
        return "atomic" if self.competency in ATOMIC else "compositional"

    @property
    def letters(self) -> str:
        """The letters of the options, in order."""
        return LETTERS[: len(self.options)]

    @property
    def gold_number(self) -> float:
        """The gold of a numeric question."""
        try:
            return float(self.gold)
        except ValueError:
            raise UsageError(
                f"question {self.id!r} has the gold {self.gold!r}, which is not a number"
            ) from None

    @property
    def format(self) -> AnswerFormat:
        """The form of its answer: the letter of an option, or a number of metres."""
        if self.form == "number":
            return AnswerFormat.number("m")
        options = {letter: o.text for letter, o in zip(self.letters, self.options, strict=True)}
        shape = self.spec.shape
        if shape.is_count:
            return AnswerFormat.count(options, style="letter")
        first, second = map(object_name, self.objects[:2]) if shape.is_placing else ("", "")
        return AnswerFormat("choice", options, "letter", subject=first, object=second, claim=shape.claim)

    def letter_of(self, key: str) -> str | None:
        """Return the letter of the option with this key; None if there is none."""
        return next(
            (letter for letter, o in zip(self.letters, self.options, strict=True) if o.key == key), None
        )

    @property
    def lines(self) -> str:
        """The question with its lettered options, one per line."""
        shown = [f"{letter}: {o.text}" for letter, o in zip(self.letters, self.options, strict=True)]
        return "\n".join([self.text, "Options:", *shown] if shown else [self.text])


# The shortcut of the scene instrument: answers predicted from a question's wording and the numbers of its marks.
#
# Marks are numbered at random, so the rule is right only by chance; where it is right, a question is *aligned*.


_TOLERANCE = 0.1
"""A number agrees with the rule if it is off by less than this share of the truth."""


def scene_shortcut(question: SceneQuestion) -> str:
    """Return the letter or the number that the rule predicts.

    - *is a … of b?*: yes if a's mark is the lower one
    - *which of the two?*: the lower mark; the higher one if the question says *farther*
    - order of three: by mark
    - counts, positions, sectors: the letter whose number is that of the last mark named
    - lengths: a fixed length for each mark
    """
    return question.spec.shape.shortcut(question)


def is_aligned(question: SceneQuestion) -> bool:
    """Return True if the rule is right."""
    prediction = scene_shortcut(question)
    if question.form == "choice":
        return prediction == question.gold
    return abs(float(prediction) - question.gold_number) < _TOLERANCE * question.gold_number


def graph_shortcut(star: StarGraph) -> StarGraph:
    """Return the graph predicted from the marks: higher numbers are farther to the right and farther away."""
    nodes = tuple(Node(node.id, distance_by_mark_m(node.id), *size_by_mark_m(node.id)) for node in star.nodes)
    edges = tuple(
        Edge(
            edge.to,
            apart_by_mark_m(star.centre, edge.to),
            frozenset({"right", "behind"} if edge.to > star.centre else {"left", "in front of"}),
        )
        for edge in star.edges
    )
    return StarGraph(star.centre, nodes, edges)
