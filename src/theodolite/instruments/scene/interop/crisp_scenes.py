"""Scene graphs and marks in CRISP-Bench's format: middles and sizes in the camera's frame, star edges and edges from the camera.

Their files have no rotation, no camera and no upward direction. Defaults are used instead (upright boxes, a level camera of
70° field of view), and if four or more objects have a height above the ground, the upward direction is fitted to them: the unit
vector u for which u · c_i − z_i is most nearly equal for all middles c_i and heights z_i. Their star is kept as it is: it leaves
out edges without a word, or beyond a distance, and their questions follow its words. Our files have everything, in fields that
their code ignores, so that a data set can be read back unchanged.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, cast

import numpy as np
from pydantic import ConfigDict, Field

from theodolite.core.errors import UsageError
from theodolite.core.files import check
from theodolite.core.forms import Form, Number, Whole
from theodolite.geometry import Box, PinholeCamera
from theodolite.instruments.scene.data.pipeline import Matrix, Metres, Place, Turn
from theodolite.worlds.scene_graph import (
    PREDICATES,
    RELATION_MARGIN_M,
    Domain,
    GivenEdge,
    Predicate,
    Relation,
    SceneGraph,
    SceneObject,
    Triple,
    in_order,
)

_UPRIGHT = (math.sqrt(0.5), math.sqrt(0.5), 0.0, 0.0)
"""A box with its length along the camera's x axis and its height pointing up: a quarter turn about x."""
_FIELD_OF_VIEW_DEG = 70.0
DATASET_OF: Mapping[Domain, str] = {"indoor": "scannetpp", "outdoor": "nuscenes"}


def write_scene(scene: SceneGraph) -> dict[str, Any]:
    """One item of a scene-graph file."""
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
    """A relation as a table of six flags."""
    return {word: int(word in relation) for word in PREDICATES}


def _from_camera(scene: SceneGraph, mark: int) -> Relation:
    """Where an object is relative to the camera: in front of it means ahead."""
    right, forward, up = scene.places_level_m[mark - 1]
    half, margin = scene[mark].height_m / 2, RELATION_MARGIN_M
    said = {
        "right": right > margin,
        "left": right < -margin,
        "in front of": forward > margin,
        "behind": forward < -margin,
        "up": up - half > -margin and not up + half < margin,
        "down": up + half < margin and not up - half > -margin,
    }
    return cast("Relation", frozenset(word for word, is_said in said.items() if is_said))


def write_marks(scene: SceneGraph) -> dict[str, Any]:
    """One line of ``marks.jsonl``: a disc in the middle of each box, of the size that their renderer draws."""
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


def read_scene(value: Any, marks: Mapping[str, MarksForm] | None = None) -> SceneGraph:
    """A scene from one item of a scene-graph file, with the boxes of its marks, if given by the names of scenes.

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
    return SceneGraph(
        id=item.name,
        domain=_domain(item, own, objects),
        objects=objects,
        camera=camera,
        up_cam=up,
        camera_height_m=height,
        picture=item.image or "",
        marked=item.image_with_2dbox or "",
        source=item.source if item.source is not None else item.dataset or "crisp",
        given_centre=centre,
        given_edges=edges,
    )


def _star(item: _SceneForm) -> tuple[int | None, tuple[GivenEdge, ...]]:
    """The centre and the edges as the file states them; nothing if it states none."""
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
    place, size = given.translation, given.size
    key = given.key if given.key is not None else thing.node_id
    return SceneObject(
        thing.local_id,
        given.category_name or "",
        (place.x, place.y, place.z_cam),
        given.rotation_cam or _UPRIGHT,
        length_m=size.l,
        width_m=size.w,
        height_m=size.h,
        box_px=Box(*(given.box_px or boxes.get(thing.local_id) or (0.0, 0.0, 1.0, 1.0))),
        visibility=given.visibility,
        truncation=given.truncation or 0.0,
        key=str(key or ""),
    )


def _domain(item: _SceneForm, marks: MarksForm | None, objects: Sequence[SceneObject]) -> Domain:
    """By the data set's name; otherwise outdoor if an object is farther than 12 m away."""
    dataset = marks.dataset if marks is not None else None
    name = (item.dataset or dataset or item.image or "").lower()
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
    """Fitted to heights above the ground if there are enough; otherwise level."""
    level = (0.0, -1.0, 0.0)
    places = [thing.attributes.translation for thing in things]
    if len(places) < 4 or any(place.z_world is None for place in places):
        return level
    middles = np.array([[place.x, place.y, place.z_cam] for place in places], np.float64)
    heights = np.array([place.z_world for place in places], np.float64)
    found, _, rank, _ = np.linalg.lstsq(middles - middles.mean(axis=0), heights - heights.mean(), rcond=1e-3)
    length = float(np.linalg.norm(found))
    if rank < 3 or not 0.8 < length < 1.25 or found[1] > -0.5 * length:
        return level
    return cast("Triple", tuple(float(v) for v in found / length))
