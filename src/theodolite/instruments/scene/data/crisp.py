"""Scene graphs and marks in CRISP-Bench's format: middles and sizes in the camera's frame, star edges and edges from the camera.

Their files have no rotation, no camera and no upward direction. Defaults are used instead (upright boxes, a level camera of
70° field of view), and if four or more objects have a height above the ground, the upward direction is fitted to them: the unit
vector u for which u · c_i − z_i is most nearly equal for all middles c_i and heights z_i. Their star is kept as it is: it leaves
out edges without a word, or beyond a distance, and their questions follow its words. Our files have everything, in fields that
their code ignores, so that a data set can be read back unchanged.
"""

from __future__ import annotations

import json
import math
import os
import re
import shutil
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any, Literal, TypeAlias, TypeVar, cast

import numpy as np
from pydantic import ConfigDict, Field

from theodolite.core.errors import UsageError
from theodolite.core.files import Problem, check, read_bytes, read_each, read_json, read_lines, told_problems
from theodolite.core.pictures import decode
from theodolite.core.views import Form, Number, Whole
from theodolite.geometry import Box, PinholeCamera
from theodolite.instruments.scene.data.files import (
    LETTERS,
    MARKED,
    Manifest,
    Option,
    SceneData,
    SceneQuestion,
    file_name,
    new_folder,
    read_data,
    tally,
    write_data,
    write_pictures,
)
from theodolite.instruments.scene.data.make import thin_questions
from theodolite.instruments.scene.data.pipeline import Matrix, Metres, Place, Turn
from theodolite.instruments.scene.kinds import KINDS, MARK, IsThere, Shape, WhereIs, directions_in, kind_of
from theodolite.instruments.scene.questions import graph_prompt, is_graph
from theodolite.instruments.scene.results import read_answer_result, read_graph_result
from theodolite.runs import Result, Run
from theodolite.worlds.scene_graph import (
    PREDICATES,
    RELATION_MARGIN_M,
    Difficulty,
    Domain,
    GivenEdge,
    Predicate,
    Relation,
    SceneGraph,
    SceneObject,
    StarGraph,
    Triple,
    in_order,
)

_UPRIGHT = (math.sqrt(0.5), math.sqrt(0.5), 0.0, 0.0)
"""A box with its length along the camera's x axis and its height pointing up: a quarter turn about x."""
_FIELD_OF_VIEW_DEG = 70.0
DATASET_OF: Mapping[Domain, str] = {"indoor": "scannetpp", "outdoor": "nuscenes"}


def write_scene(scene: SceneGraph) -> dict[str, Any]:
    """Return one item of a scene-graph file."""
    names = {thing.id: thing.key or f"{scene.id}-{thing.id}" for thing in scene.objects}
    star = scene.star()
    edges = [
        {
            "from": names[star.centre],
            "to": names[edge.to],
            "distance": scene.between_m(star.centre, edge.to),
            "relation": flags(edge.relation),
        }
        for edge in star.edges
    ]
    edges += [
        {
            "from": "ego",
            "to": names[thing.id],
            "distance": thing.distance_m,
            "angle": math.degrees(math.atan2(thing.centre_cam[0], thing.centre_cam[2])),
            "relation": flags(_from_camera(scene, thing.id)),
        }
        for thing in scene.objects
    ]
    camera = scene.camera
    return {
        "image": scene.picture,
        "image_with_2dbox": scene.marked or f"marked/{scene.id}.png",
        "sample_data_token": scene.id,
        "dataset": DATASET_OF[scene.domain],
        "objects": [_write_object(scene, thing, names[thing.id]) for thing in scene.objects],
        "edges": edges,
        "camera": {
            "intrinsic": camera.matrix.tolist(),
            "size": [camera.width_px, camera.height_px],
            "up": list(scene.up_cam),
            "height": scene.camera_height_m,
        },
        "source": scene.source,
    }


def _write_object(scene: SceneGraph, thing: SceneObject, name: str) -> dict[str, Any]:
    x, y, z = thing.centre_cam
    return {
        "node_id": name,
        "local_id": thing.id,
        "attributes": {
            "category_name": thing.category,
            "caption": None,
            "translation": {
                "x": x,
                "y": y,
                "z_cam": z,
                "z_world": float(scene.places_level_m[thing.id - 1][2]) + scene.camera_height_m,
            },
            "size": {"w": thing.width_m, "l": thing.length_m, "h": thing.height_m},
            "rotation_cam": list(thing.rotation_cam),
            "box_px": [thing.box_px.x0, thing.box_px.y0, thing.box_px.x1, thing.box_px.y1],
            "visibility": thing.visibility,
            "truncation": thing.truncation,
            "key": thing.key,
        },
    }


def flags(relation: Relation) -> dict[str, int]:
    """Return a relation as a table of six flags."""
    return {word: int(word in relation) for word in PREDICATES}


def _from_camera(scene: SceneGraph, mark: int) -> Relation:
    """Return where an object is relative to the camera; in front of it means ahead."""
    right, forward, up = scene.places_level_m[mark - 1]
    half, margin = scene[mark].height_m / 2, RELATION_MARGIN_M
    holds = {
        "right": right > margin,
        "left": right < -margin,
        "in front of": forward > margin,
        "behind": forward < -margin,
        "up": up - half > -margin and not up + half < margin,
        "down": up + half < margin and not up - half > -margin,
    }
    return cast("Relation", frozenset(word for word, is_true in holds.items() if is_true))


def write_marks(scene: SceneGraph) -> dict[str, Any]:
    """Return one line of ``marks.jsonl``: a disc in the middle of each box, as large as their renderer draws it."""
    marks = []
    for thing in scene.objects:
        box = thing.box_px
        left, top, right, bottom = (round(side) for side in (box.x0, box.y0, box.x1, box.y1))
        short = min(right - left, bottom - top)
        middle = [(left + right) // 2, (top + bottom) // 2]
        is_small = short < 30
        radius = 5 if is_small else min(40, max(15, round(0.15 * short)))
        marks.append(
            {
                "node_id": thing.key or f"{scene.id}-{thing.id}",
                "local_id": thing.id,
                "bbox_xyxy": [left, top, right, bottom],
                "render": {
                    "circle_center": [middle[0], top] if is_small else middle,
                    "radius": radius,
                    "alpha": 0.8 if is_small else 0.6,
                    "font_scale": radius / 20,
                    "thickness": max(1, radius // 10),
                    "text_anchor": [middle[0] - radius // 2, middle[1] + radius // 2],
                },
            }
        )
    return {
        "dataset": DATASET_OF[scene.domain],
        "sample_data_token": scene.id,
        "scene_id": scene.id,
        "source_image": scene.picture,
        "image_size": {"width": scene.camera.width_px, "height": scene.camera.height_px},
        "marks": marks,
    }


class _Translation(Form):
    x: Metres
    y: Metres
    z_cam: Metres
    z_world: Metres | None = None


class _Size(Form):
    w: Metres
    l: Metres  # noqa: E741 - as the file names it
    h: Metres


class _Attributes(Form):
    category_name: str | None = None
    translation: _Translation
    size: _Size
    rotation_cam: Turn | None = None
    box_px: tuple[Metres, Metres, Metres, Metres] | None = None
    visibility: Number | None = None
    truncation: Number | None = None
    key: str | None = None


class _Thing(Form):
    local_id: Whole
    node_id: str | int | None = None
    attributes: _Attributes


class _CameraForm(Form):
    size: tuple[Whole, Whole]
    intrinsic: Matrix
    up: Place
    height: Metres


class _EdgeForm(Form):
    model_config = ConfigDict(coerce_numbers_to_str=True)

    source: Annotated[str, Field(alias="from")]
    to: str
    distance: Metres
    relation: dict[str, int | bool] | list[str]


class _SceneForm(Form):
    image: str | None = None
    image_with_2dbox: str | None = None
    sample_data_token: str | int | None = None
    dataset: str | None = None
    source: str | None = None
    objects: list[_Thing]
    edges: tuple[_EdgeForm, ...] = ()
    camera: _CameraForm | None = None

    @property
    def name(self) -> str:
        """A scene's id: their token, or the name of its picture."""
        if self.sample_data_token:
            return str(self.sample_data_token)
        return (self.image_with_2dbox or self.image or "").rsplit("/", 1)[-1].rsplit(".", 1)[0]


class _Mark(Form):
    local_id: Whole
    bbox_xyxy: tuple[Metres, Metres, Metres, Metres]


class _PictureSize(Form):
    width: Whole
    height: Whole


class MarksForm(Form):
    """One line of ``marks.jsonl``."""

    model_config = ConfigDict(coerce_numbers_to_str=True)

    sample_data_token: str
    dataset: str | None = None
    image_size: _PictureSize | None = None
    marks: tuple[_Mark, ...] = ()


def read_scene(
    value: Any, marks: Mapping[str, MarksForm] | None = None, datasets: Mapping[str, str] | None = None
) -> SceneGraph:
    """Return a scene from one item of a scene-graph file.

    Args:
        value: The item.
        marks: Marks with boxes, by the names of scenes.
        datasets: What its questions call its data set, by the name of its picture or its own.

    Raises:
        UsageError: A field is missing or wrong, or the marks are not numbered 1, 2, 3 …
    """
    item = check(_SceneForm, value)
    own = (marks or {}).get(item.name)
    boxes = {mark.local_id: mark.bbox_xyxy for mark in own.marks} if own is not None else {}
    things = sorted(item.objects, key=lambda thing: thing.local_id)
    objects = tuple(_read_object(thing, boxes) for thing in things)
    camera, up, height = _camera(item, own, things)
    centre, edges = _star(item) if item.camera is None else (None, ())
    names = (_name(item.image_with_2dbox or ""), item.name)
    asked = next((name for key in names if (name := (datasets or {}).get(key))), None)
    dataset = item.dataset or (own.dataset if own is not None else None) or asked
    return SceneGraph(
        id=item.name,
        domain=_domain(item, dataset, objects),
        objects=objects,
        camera=camera,
        up_cam=up,
        camera_height_m=height,
        picture=item.image or "",
        marked=item.image_with_2dbox or "",
        source=item.source if item.source is not None else dataset or "crisp",
        given_centre=centre,
        given_edges=edges,
    )


def _star(item: _SceneForm) -> tuple[int | None, tuple[GivenEdge, ...]]:
    """Return the centre and the edges as the file states them; nothing if it states none."""
    marks = {str(thing.node_id): thing.local_id for thing in item.objects}
    stated = [edge for edge in item.edges if edge.source in marks]
    if not stated:
        return None, ()
    if len({edge.source for edge in stated}) > 1 or any(edge.to not in marks for edge in stated):
        raise UsageError("the edges are no star: they have several centres, or lead to an unknown object")
    edges = tuple(GivenEdge(marks[edge.to], edge.distance, _predicates(edge.relation)) for edge in stated)
    return marks[stated[0].source], edges


def _predicates(relation: Mapping[str, int | bool] | Sequence[str]) -> tuple[Predicate, ...]:
    if isinstance(relation, Mapping):
        relation = [word for word, is_said in relation.items() if is_said]
    return tuple(in_order(relation))


def _read_object(thing: _Thing, boxes: Mapping[int, tuple[float, float, float, float]]) -> SceneObject:
    given = thing.attributes
    middle, size = given.translation, given.size
    key = given.key if given.key is not None else thing.node_id
    return SceneObject(
        thing.local_id,
        given.category_name or "",
        (middle.x, middle.y, middle.z_cam),
        given.rotation_cam or _UPRIGHT,
        length_m=size.l,
        width_m=size.w,
        height_m=size.h,
        box_px=Box(*(given.box_px or boxes.get(thing.local_id) or (0.0, 0.0, 1.0, 1.0))),
        visibility=given.visibility,
        truncation=given.truncation or 0.0,
        key=str(key or ""),
    )


def _domain(item: _SceneForm, dataset: str | None, objects: Sequence[SceneObject]) -> Domain:
    """Return the domain by the data set's name; otherwise outdoor if an object is farther than 12 m away."""
    name = (dataset or item.image or "").lower()
    if "scannet" in name:
        return "indoor"
    if "nuscenes" in name or "CAM_" in (item.image or ""):
        return "outdoor"
    return "outdoor" if max((thing.distance_m for thing in objects), default=0.0) > 12 else "indoor"


def _camera(
    item: _SceneForm, marks: MarksForm | None, things: Sequence[_Thing]
) -> tuple[PinholeCamera, Triple, float]:
    given = item.camera
    if given is not None:
        camera = PinholeCamera.from_matrix(np.array(given.intrinsic, np.float64), given.size)
        return camera, given.up, given.height
    size = marks.image_size if marks is not None else None
    width, height = (size.width, size.height) if size is not None else (1600, 900)
    return PinholeCamera.from_field_of_view(_FIELD_OF_VIEW_DEG, (width, height)), _upward(things), 0.0


def _upward(things: Sequence[_Thing]) -> Triple:
    """Fit the upward direction to heights above the ground if there are enough; otherwise assume a level camera."""
    level = (0.0, -1.0, 0.0)
    translations = [thing.attributes.translation for thing in things]
    if len(translations) < 4 or any(translation.z_world is None for translation in translations):
        return level
    middles = np.array(
        [[translation.x, translation.y, translation.z_cam] for translation in translations], np.float64
    )
    heights = np.array([translation.z_world for translation in translations], np.float64)
    up, _, rank, _ = np.linalg.lstsq(middles - middles.mean(axis=0), heights - heights.mean(), rcond=1e-3)
    length = float(np.linalg.norm(up))
    if rank < 3 or not 0.8 < length < 1.25 or up[1] > -0.5 * length:
        return level
    return cast("Triple", tuple(float(v) for v in up / length))


# Questions in CRISP-Bench's wording and files.


def crisp_lines(question: SceneQuestion) -> str:
    """Return a question with its lettered options, in CRISP-Bench's wording.

    >>> from theodolite.instruments.scene.data.files import Option
    >>> options = (Option("Yes", "yes"), Option("No", "no"))
    >>> asked = SceneQuestion("q", "s", "indoor", "is behind", "Is 2 behind 1?", (2, 1), "A", "easy", options)
    >>> crisp_lines(asked).splitlines()[0]
    "From the camera's viewpoint, is object 2 behind object 1?"
    """
    text = question.spec.crisp_words(question.objects, question.relation, question.distance_m)
    if not question.options:
        return text
    names = [f"object {mark}" for mark in question.objects]
    shown = [
        f"{letter}: {question.spec.shape.crisp_option(option.key).format(*names)}"
        for letter, option in zip(question.letters, question.options, strict=True)
    ]
    return "\n".join([text, "Options:", *shown])


# Questions in CRISP-Bench's format: ShareGPT-style lines, type ``MCQ`` and ``NAQ`` (the public code also uses ``NA``).
#
# Their questions are plain text, so reading one means finding out its kind, its objects and the meaning of each option. Ours
# hold that, and the wording that models are shown, in ``meta.theodolite`` too, which their code ignores.


NumericType: TypeAlias = Literal["NAQ", "NA"]

_OPTION = re.compile(r"^\s*\(?([A-Z])[:.)]\s*(.*?)\s*$", re.MULTILINE)
_METRES = re.compile(r"(\d+(?:\.\d+)?)\s*(?:m\b|met(?:er|re)s?\b)", re.IGNORECASE)


class NotUnderstoodError(UsageError):
    """The words of a question are not understood."""


@dataclass(frozen=True, slots=True)
class QuestionScene:
    """What a question takes from its scene."""

    scene: str
    domain: Domain
    difficulty: Difficulty


def write_question(
    question: SceneQuestion, image: str, *, dataset: str, numeric_type: NumericType = "NAQ"
) -> dict[str, Any]:
    """Return one line of a QA file, in CRISP-Bench's wording.

    Args:
        question: To write.
        image: The path of the marked picture.
        dataset: ``nuscenes``, ``scannetpp`` or another name.
        numeric_type: The type of questions for a number.
    """
    return {
        "id": question.id,
        "image": image,
        "conversations": [
            {"from": "human", "value": crisp_lines(question)},
            {"from": "gpt", "value": question.gold},
        ],
        "meta": {
            "category": question.competency,
            "difficulty": question.difficulty,
            "type": "MCQ" if question.options else numeric_type,
            "dataset": dataset,
            "theodolite": {
                "scene": question.scene,
                "kind": question.kind,
                "objects": list(question.objects),
                "keys": [option.key for option in question.options],
                "relation": question.relation,
                "distance_m": question.distance_m,
                "text": question.text,
                "options": [option.text for option in question.options],
            },
        },
    }


class _Turn(Form):
    model_config = ConfigDict(coerce_numbers_to_str=True)

    value: str


class _Ours(Form):
    """The fields that `write_question` adds."""

    scene: str = ""
    kind: str
    objects: list[Whole]
    keys: list[str] | None = None
    relation: str | None = None
    distance_m: Number | None = None
    text: str = ""
    options: list[str] | None = None


class _Meta(Form):
    type: str
    category: str
    dataset: str | None = None
    theodolite: _Ours | None = None


class QuestionForm(Form):
    """One line of a QA file."""

    model_config = ConfigDict(coerce_numbers_to_str=True)

    id: str = ""
    image: str = ""
    conversations: Annotated[list[_Turn], Field(min_length=2)]
    meta: _Meta


def read_question(line: QuestionForm, about: QuestionScene) -> SceneQuestion:
    """Return a question from one line of a QA file.

    Raises:
        NotUnderstoodError: Its words are unknown, its letters are out of order (then the public balancing script has made
            its gold unreliable), or its gold is not a number above zero.
    """
    prompt, gold = (turn.value for turn in line.conversations[:2])
    kind_of_answer, competency = line.meta.type.upper(), line.meta.category.lower()
    if kind_of_answer not in {"MCQ", "NA", "NAQ"}:
        raise NotUnderstoodError(f"type {line.meta.type!r:.80}")
    text, letters, texts = _parts(prompt)
    if kind_of_answer == "MCQ" and letters != LETTERS[: len(letters)]:
        raise NotUnderstoodError("letters out of order")
    ours = line.meta.theodolite
    if ours is not None:
        text, texts = ours.text or text, ours.options or texts
    known = _ours(ours) if ours is not None else _theirs(text, competency, texts)
    try:
        keys = known.keys or [kind_of(known.kind).shape.crisp_key(option) for option in texts]
        return SceneQuestion(
            id=line.id,
            scene=about.scene,
            domain=about.domain,
            kind=known.kind,
            text=text,
            objects=known.objects,
            gold=gold.strip().removesuffix(".") if kind_of_answer == "MCQ" else gold.strip(),
            difficulty=about.difficulty,
            options=tuple(Option(shown, key) for shown, key in zip(texts, keys, strict=True)),
            relation=known.relation,
            distance_m=known.distance_m,
        )
    except (UsageError, ValueError) as error:
        raise NotUnderstoodError(str(error)) from None


@dataclass(frozen=True, slots=True)
class _Known:
    kind: str
    objects: tuple[int, ...]
    keys: Sequence[str] = ()
    relation: Predicate | None = None
    distance_m: float | None = None


def _parts(prompt: str) -> tuple[str, str, list[str]]:
    """Return the question, the letters of its options in order, and their texts."""
    text, _, options = prompt.partition("\nOptions:")
    lettered = _OPTION.findall(options)
    return text.strip(), "".join(letter for letter, _ in lettered), [option for _, option in lettered]


def _ours(fields: _Ours) -> _Known:
    if fields.kind not in KINDS or fields.relation not in {None, *PREDICATES}:
        raise NotUnderstoodError(f"kind {fields.kind!r:.80}, relation {fields.relation!r:.80}")
    return _Known(
        fields.kind,
        tuple(fields.objects),
        fields.keys or (),
        fields.relation,
        fields.distance_m,
    )


def _theirs(text: str, competency: str, options: Sequence[str]) -> _Known:
    plain = text.lower()
    marks = tuple(int(mark) for mark in MARK.findall(text))
    if not marks:
        raise NotUnderstoodError("no object is named")
    words = directions_in(text)
    if competency == "direction":
        asked: Shape = WhereIs()
        if {option.lower() for option in options} == {"yes", "no"}:
            if len(words) != 1:
                raise NotUnderstoodError("no single direction is named")
            asked = IsThere(words[0])
        return _Known(next(kind.name for kind in KINDS.values() if kind.shape == asked), marks[:2])
    kinds = [kind for kind in KINDS.values() if kind.competency == competency and kind.crisp_pattern]
    kinds.sort(key=lambda kind: kind.crisp_rank)
    kind = next((kind for kind in kinds if re.search(kind.crisp_pattern, plain)), None)
    if kind is None:
        raise NotUnderstoodError(f"category {competency!r}")
    far = [float(number) for number in _METRES.findall(text)]
    needs_word, needs_metres = kind.shape.takes_relation, kind.shape.takes_distance
    if (needs_word and len(words) != 1) or (needs_metres and len(far) != 1):
        raise NotUnderstoodError("its direction or distance is not clear")
    return _Known(
        kind.name,
        tuple(dict.fromkeys(marks)),
        relation=words[0] if needs_word else None,
        distance_m=far[0] if needs_metres else None,
    )


# CRISP-Bench's files: data sets read from them and written, and runs as its logs.


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
    """Write scene graphs, marks, questions, graph tasks and simplified true graphs, in CRISP-Bench's format.

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
    """Write simplified graphs, true or predicted, each with its picture."""
    rows = [{"image": image, **graph.as_json()} for image, graph in graphs]
    write_text(Path(path), json.dumps(rows, indent=1) + "\n")


def _shown(scene: SceneGraph) -> str:
    return scene.marked or f"marked/{scene.id}.png"


def graph_task(prompt: str, true: StarGraph, image: str, dataset: str) -> dict[str, Any]:
    """Return one line of the graph task. Its gold has flags, where a model is asked for words.

    Args:
        prompt: The text that asks for the graph.
        true: The true graph.
        image: The path of the marked picture.
        dataset: ``nuscenes``, ``scannetpp`` or another name.
    """
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
    """Read scene graphs and questions of CRISP-Bench, written by them or by `write_crisp`.

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
    lines, lost = read_items(Path(questions), lambda line: check(QuestionForm, line))
    datasets = {
        key: line.meta.dataset
        for _, line in lines
        if line.meta.dataset
        for key in (_name(line.image), line.id.rsplit("_", 1)[0])
    }
    drawn, wrong = read_items(Path(graphs), lambda item: read_scene(item, boxes, datasets))
    scenes = {scene.id: scene for _, scene in drawn}
    by_picture = {_name(scene.marked): scene.id for scene in scenes.values()}
    asked, useless = read_each(lines, lambda line: _question(line, scenes, by_picture))
    lost = [*lost, *useless]
    by_id = {question.id: question for _, question in asked}
    left_out = Counter(f"scene: {each.reason}"[:120] for each in wrong)
    left_out += Counter(f"question: {each.reason}"[:120] for each in lost)
    manifest = Manifest(
        made={"source": "crisp", "graphs": Path(graphs).name, "questions": Path(questions).name},
        n_scenes=len(scenes),
        n_questions=len(by_id),
        left_out=dict(left_out),
        problems=told_problems([*problems, *wrong, *lost]),
    )
    return SceneData(scenes, tuple(by_id.values()), Path(pictures) if pictures else None, manifest)


def _question(
    line: QuestionForm, scenes: Mapping[str, SceneGraph], by_picture: Mapping[str, str]
) -> SceneQuestion:
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
    """Return the scene of a question: stated by `write_crisp`, or by its picture, or by the token that its id begins with."""
    named = line.meta.theodolite.scene if line.meta.theodolite is not None else ""
    token = line.id.rsplit("_", 1)[0]
    by_name = next((name for name in (named, token) if name in scenes), None)
    if named in scenes:
        return named
    return by_picture.get(_name(line.image), by_name)


def _name(path: str) -> str:
    return path.rsplit("/", 1)[-1].rsplit(".", 1)[0]


def read_items(path: Path, read: Callable[[Any], T]) -> tuple[list[tuple[str, T]], list[Problem]]:
    """Read each object of a JSON list or of a JSONL file; return the objects, and the problems of the others."""
    if not read_bytes(path).lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"["):
        return read_lines(path, read)
    return read_each([(f"{path.name}[{number}]", each) for number, each in enumerate(read_json(path))], read)


def write_lines(path: Path, rows: Iterable[Mapping[str, Any]]) -> None:
    """Write JSONL."""
    write_text(path, "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows))


def write_text(path: Path, text: str) -> None:
    """Write a text file and its folders."""
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
    """Read published scenes and questions, and write a data set with the available pictures.

    Args:
        folder: New or empty.
        root: The folder with the published files.
        most_scenes: Number of scenes kept, from the first on.
        n_questions: Number of questions kept, balanced by group.
        seed: Of the choice of questions.
        version: Of the program, for the manifest.
    """
    folder = new_folder(folder)
    files = _files(root)
    graphs = _one(files, _GRAPH_FILES, root, "scene graphs")
    questions = _one(files, (QA,), root, "questions")
    data = read_crisp(graphs, questions, marks=files.get(MARKS, ()))
    if not data.scenes:
        problems = "; ".join(data.manifest.problems)
        raise UsageError(f"no scene of {graphs} can be used" + (f": {problems}" if problems else ""))
    left_out = dict(data.manifest.left_out)
    scenes = list(data.scenes.values())
    if most_scenes is not None and len(scenes) > most_scenes:
        left_out["scenes beyond the number asked for"] = len(scenes) - most_scenes
        scenes = scenes[:most_scenes]
    kept = {scene.id for scene in scenes}
    asked = tuple(question for question in data.questions if question.scene in kept)
    if n_questions is not None:
        asked = thin_questions(asked, min(n_questions, len(asked)), seed=seed)
    scenes = [_with_picture(scene, folder, files) for scene in scenes]
    if n := sum(not scene.marked for scene in scenes):
        left_out[WITHOUT_PICTURE] = n
    made = {**data.manifest.made, "root": root.name, "seed": seed, "theodolite": version}
    manifest = replace(data.manifest, made=made, counts=tally(scenes, asked), left_out=left_out)
    return read_data(write_data(folder, scenes, asked, manifest))


def _files(root: Path) -> Mapping[str, list[Path]]:
    """Return the files under a folder by name, those with the fewest folders first."""
    files: dict[str, list[Path]] = {}
    if not root.is_dir():
        raise UsageError(f"{root} is not a folder; name the one that holds {_GRAPH_FILES[0]} and {QA}")
    for folder, folders, names in os.walk(root):
        folders.sort()
        for name in sorted(names):
            files.setdefault(name, []).append(Path(folder) / name)
    return files


def _one(files: Mapping[str, list[Path]], names: Iterable[str], root: Path, what: str) -> Path:
    """Return the file with one of the names; of several, the one in a folder ``combined``."""
    paths = next((files[name] for name in names if name in files), [])
    if not paths:
        raise UsageError(f"{root} holds no {what} of CRISP-Bench: none of {', '.join(names)}")
    both = [path for path in paths if "combined" in path.parts] or paths
    if len(both) > 1:
        raise UsageError(
            f"{root} holds several files of {what}, such as {both[0]} and {both[1]}; name one's folder"
        )
    return both[0]


def _with_picture(scene: SceneGraph, folder: Path, files: Mapping[str, list[Path]]) -> SceneGraph:
    marked = next(_named(scene.marked, files), None)
    if marked is not None:
        name = f"{MARKED}/{file_name(scene.id)}{marked.suffix.lower()}"
        decode(marked)
        try:
            (folder / MARKED).mkdir(parents=True, exist_ok=True)
            shutil.copyfile(marked, folder / name)
        except OSError as error:
            raise UsageError(f"cannot copy {marked} into {folder}: {error.strerror}") from error
        return replace(scene, picture="", marked=name)
    plain = next(_named(scene.picture, files), None)
    has_boxes = all(thing.box_px.x1 - thing.box_px.x0 > 1 for thing in scene.objects)
    if plain is not None and has_boxes:
        return write_pictures(folder, scene, decode(plain, is_turned=False))
    return replace(scene, picture="", marked="")


def _named(name: str, files: Mapping[str, list[Path]]) -> Iterator[Path]:
    """Yield the pictures with the file name and the folder of a path, the one with the most folders in common first."""
    parts = Path(name).parts
    if not parts or Path(name).suffix.lower() not in _PICTURE_ENDINGS:
        return
    same = [path for path in files.get(parts[-1], ()) if path.parts[-2:] == parts[-2:]]
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
    """Write the questions, graphs and answers of a run's base setting. Failed requests are left out.

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
            answer = json.dumps(_stated(graph.reading.graph)) if graph.reading.graph is not None else ""
            log.append({**_line(len(log), result, doc, answer), "sgc_score": {"image": image}})
            n_graphs += 1
        else:
            row = read_answer_result(result)
            doc = write_question(
                row.question, image, dataset=DATASET_OF[row.question.domain], numeric_type=numeric_type
            )
            questions[row.question.id] = doc
            answer = _plain(row.answer.value)
            scored = {"id": row.question.id, "meta": doc["meta"], "prediction": answer}
            log.append({**_line(len(log), result, doc, answer), "vsibench_score": scored})
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


def _line(number: int, result: Result, doc: Mapping[str, Any], answer: str) -> dict[str, Any]:
    text = result.record.response.text if result.record is not None else ""
    target = doc["conversations"][1]["value"]
    return {"doc_id": number, "target": target, "resps": [[text]], "filtered_resps": [answer]}


def _plain(value: str | float | None) -> str:
    """Return an answer in the form that their parsers read: numbers without an exponent.

    >>> _plain(2.5), _plain(1e-05), _plain("B"), _plain(None)
    ('2.5', '0.00001', 'B', '')
    """
    if value is None or isinstance(value, str):
        return value or ""
    text = f"{value:.12f}".rstrip("0")
    return text.removesuffix(".")


def _stated(graph: StarGraph) -> dict[str, Any]:
    """Return a graph without the values that the model left out: their code fails on null."""
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
    """Write the graphs and answers of a run, as logs that CRISP-Bench's scorers read; return their numbers."""
    graphs, answers = write_crisp_run(run, folder, numeric_type=NUMERIC_TYPE[to])
    return {"graphs": graphs, "answers": answers}


def export_data(data: SceneData, folder: Path, to: str) -> dict[str, int]:
    """Write a data set; return the numbers of scenes and questions."""
    write_crisp(data, folder, numeric_type=NUMERIC_TYPE[to])
    return {"scenes": len(data.scenes), "questions": len(data.questions)}
