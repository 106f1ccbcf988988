"""Pairs of scenes: questions before and after an edit of the scene or of its marks, with both right answers.

A data set of pairs is a folder with one data set of scenes for each edit, and one as they are:

before                the scenes as they are
exchange-the-marks    two marks are exchanged; the right answer changes
exchange              two objects exchange their places; the right answer changes (drawn rooms)
move-an-object        an object stands elsewhere; the right answer changes (drawn rooms)
another-camera        the same room from another place; the right answer changes (drawn rooms)
other-walls           other walls and another floor (drawn rooms)
light                 a brighter picture

Scenes and questions have the same names in all of them. Only questions with options are asked, whose answers are either the
same or not; after a relevant edit only those whose new answer is clear.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from pathlib import Path

import numpy as np

from theodolite.core.types import Pixels
from theodolite.instruments.scene.data.engine import answer_anew
from theodolite.instruments.scene.data.files import MARKED, Manifest, SceneData, read_data, write_data
from theodolite.instruments.scene.data.questions import SceneQuestion
from theodolite.pairs.edits import EXCHANGE, EXCHANGE_MARKS, LIGHT, MOVE_OBJECT, OTHER_CAMERA, WALLS, Edit
from theodolite.worlds.marks import RADII, draw_marks, place_marks
from theodolite.worlds.scene_graph import SceneGraph

BEFORE = "before"
EDITS: Mapping[str, Edit] = {
    edit.name: edit for edit in (EXCHANGE_MARKS, EXCHANGE, MOVE_OBJECT, OTHER_CAMERA, WALLS, LIGHT)
}
"""The edits of scenes, by name."""


@dataclass(frozen=True, slots=True, eq=False)
class SceneVersion:
    """A scene as it is or edited."""

    graph: SceneGraph
    draw: Callable[[], Pixels]
    """Draws its marked picture."""


@dataclass(frozen=True, slots=True, eq=False)
class EditableScene:
    """A scene, the questions about it, and its edits."""

    before: SceneVersion
    questions: Sequence[SceneQuestion]
    edits: Mapping[Edit, Sequence[SceneVersion]]
    """The edits in order of preference, and for each of them the versions that can be shown."""


def editable_data(data: SceneData, *, seed: int = 0) -> Iterator[EditableScene]:
    """The scenes of a data set that have a picture without marks, with the edits that need no drawing but that of marks.

    Args:
        data: With marked pictures.
        seed: Seed of the order in which marks are exchanged.
    """
    rng = np.random.default_rng(seed)
    for graph in data.scenes.values():
        is_there = bool(graph.picture) and data.folder is not None and (data.folder / graph.picture).is_file()
        picture = data.picture(graph.id, is_marked=False) if is_there else None
        if picture is not None:
            yield EditableScene(
                marked_version(graph, picture.pixels),
                [question for question in data.questions if question.scene == graph.id],
                picture_edits(graph, picture.pixels, rng),
            )


def picture_edits(
    graph: SceneGraph,
    plain: Callable[[], Pixels],
    rng: np.random.Generator,
    *,
    radii: tuple[float, float] = RADII,
) -> dict[Edit, list[SceneVersion]]:
    """The edits of marks and pixels: every exchange of two marks, in random order, and a brighter picture.

    Args:
        graph: The scene.
        plain: Returns its picture without marks.
        rng: Decides the order.
        radii: Of the marks, as shares of the picture's width.
    """
    from theodolite.pairs.pictures import light  # needs more than making scenes does

    pairs = list(combinations([thing.id for thing in graph.objects], 2))
    exchanged = [exchange_marks(graph, *pairs[i]) for i in rng.permutation(len(pairs))]
    return {
        EXCHANGE_MARKS: [marked_version(each, plain, radii=radii) for each in exchanged],
        LIGHT: [marked_version(graph, lambda: light(plain()).pixels(), radii=radii)],
    }


def marked_version(
    graph: SceneGraph, plain: Callable[[], Pixels], *, radii: tuple[float, float] = RADII
) -> SceneVersion:
    """A version of a scene that is its picture with marks."""
    return SceneVersion(graph, lambda: mark_picture(plain(), graph, radii=radii))


def mark_picture(plain: Pixels, graph: SceneGraph, *, radii: tuple[float, float] = RADII) -> Pixels:
    """The picture of a scene with its marks."""
    height, width = plain.shape[:2]
    boxes = {thing.id: thing.box_px for thing in graph.objects}
    distances = {thing.id: thing.distance_m for thing in graph.objects}
    return draw_marks(plain, place_marks(boxes, (width, height), radii=radii, distances_m=distances))


def exchange_marks(graph: SceneGraph, first: int, second: int) -> SceneGraph:
    """The same scene with two marks exchanged."""
    other = {first: second, second: first}
    things = [replace(thing, id=other.get(thing.id, thing.id)) for thing in graph.objects]
    return replace(graph, objects=tuple(sorted(things, key=lambda thing: thing.id)))


def write_pairs(folder: str | Path, scenes: Iterable[EditableScene], *, per_scene: int = 1) -> Path:
    """Makes a data set of pairs: for each scene one relevant and one neutral edit, with the same questions.

    The relevant edit is the first one that changes an answer; scenes without one are left out. Kinds of question that were
    asked least so far come first.

    Args:
        folder: New or empty.
        scenes: With their questions and edits.
        per_scene: The most questions about a scene.
    """
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    parts: defaultdict[str, _Part] = defaultdict(_Part)
    ledger: Counter[str] = Counter()
    for scene in scenes:
        edit, version, asked = _with_other_answers(scene, ledger, per_scene)
        if edit is None or version is None:
            continue
        names = {question.id for question in asked}
        same = [question for question in scene.questions if question.id in names]
        parts[BEFORE].add(_place(folder, BEFORE), scene.before, same)
        parts[edit.name].add(_place(folder, edit.name), version, asked)
        for neutral in [edit for edit in scene.edits if not edit.is_relevant][:1]:
            parts[neutral.name].add(_place(folder, neutral.name), scene.edits[neutral][0], same)
    for name, part in parts.items():
        write_data(_place(folder, name), part.graphs, part.questions, Manifest(made={"edit": name}))
    return folder


def read_pairs(folder: str | Path) -> dict[str, SceneData]:
    """Reads a data set of pairs: the scenes as they are, under `BEFORE`, and after each edit, by its name."""
    places = {name: _place(folder, name) for name in (BEFORE, *EDITS)}
    return {name: read_data(place) for name, place in places.items() if place.is_dir()}


def _place(folder: str | Path, edit: str) -> Path:
    return Path(folder) / edit.replace(" ", "-")


@dataclass(slots=True)
class _Part:
    """The scenes and questions of one edit."""

    graphs: list[SceneGraph] = field(default_factory=list)
    questions: list[SceneQuestion] = field(default_factory=list)

    def add(self, folder: Path, version: SceneVersion, questions: Iterable[SceneQuestion]) -> None:
        from PIL import Image

        name = f"{MARKED}/{version.graph.id}.png"
        (folder / MARKED).mkdir(parents=True, exist_ok=True)
        Image.fromarray(version.draw()).save(folder / name)
        self.graphs.append(replace(version.graph, picture="", marked=name))
        self.questions += questions


def _with_other_answers(
    scene: EditableScene, ledger: Counter[str], most: int
) -> tuple[Edit | None, SceneVersion | None, list[SceneQuestion]]:
    """The relevant edit of a scene, its version, and the questions that it clearly answers otherwise, with their answers."""
    closed = {question.id: question for question in scene.questions if question.form == "choice"}
    for edit, versions in scene.edits.items():
        options = [
            (version, question)
            for version in (versions if edit.is_relevant else ())
            for question in answer_anew(closed.values(), version.graph)
            if question.gold != closed[question.id].gold
        ]
        if options:
            counts = Counter(id(version) for version, _ in options)
            options.sort(key=lambda each: (-min(most, counts[id(each[0])]), ledger[each[1].kind]))
            chosen = options[0][0]
            asked = [question for version, question in options if version is chosen][:most]
            ledger.update(question.kind for question in asked)
            return edit, chosen, asked
    return None, None, []
