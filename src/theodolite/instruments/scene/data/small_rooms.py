"""Small rooms for small models: two to five things on the floor, one camera, large marks.

The camera never moves, things stand apart, and each category has three fixed forms: distance can be read off the place in the
picture, and size off what a thing is.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from theodolite.geometry import Box, PinholeCamera
from theodolite.instruments.scene.data.graph import SceneGraph
from theodolite.instruments.scene.data.mark_drawing import draw_marks
from theodolite.instruments.scene.data.marks import place_marks
from theodolite.instruments.scene.data.pipeline import Candidate, KeepOptions, View, build_graph
from theodolite.instruments.scene.data.render.shade import Light, Solid, render
from theodolite.instruments.scene.data.world.room_shell import Room, room_shell
from theodolite.instruments.scene.data.world.things import Thing, World, look, thing_of

SIZE_PX = (320, 240)
CATEGORIES = (
    "armchair",
    "bookshelf",
    "cardboard box",
    "chair",
    "floor lamp",
    "potted plant",
    "refrigerator",
    "stool",
    "suitcase",
    "table",
)
N_FORMS = 3
_EYE_M, _PITCH_DEG, _VIEW_DEG = (0.0, 0.0, 1.7), -17.0, 70.0
_DEPTH_M, _WIDTH_M = 7.6, 8.0
_MARK_RADII = (0.042, 0.046)
"""Of a mark, as shares of the picture's width: seven pixels of a hundred and sixty."""


@dataclass(frozen=True, slots=True)
class Stand:
    """One thing on the floor."""

    category: str
    form: int
    x_m: float
    """Forward."""
    y_m: float
    """To the left."""
    turn_deg: float


@dataclass(frozen=True, slots=True)
class RoomPlan:
    """All that a small room follows from."""

    id: str
    stands: tuple[Stand, ...]
    shell: int
    """Seed of walls and floor."""
    marks: int
    """Seed of the numbers that the things bear."""


def draw_room(rng: np.random.Generator, name: str) -> tuple[RoomPlan, SceneGraph]:
    """A room whose things are all in full view."""
    while True:
        n = int(rng.integers(2, 6))
        stands: list[Stand] = []
        boxes: list[Box] = []
        for _ in range(60):
            stand = _stand(rng)
            box = _box_px(stand)
            if box is not None and all(_apart(box, other) for other in boxes):
                stands.append(stand)
                boxes.append(box)
            if len(stands) == n:
                break
        plan = RoomPlan(name, tuple(stands), int(rng.integers(2**31)), int(rng.integers(2**31)))
        graph = graph_of(plan) if len(stands) == n else None
        if graph is not None:
            return plan, graph


def graph_of(plan: RoomPlan) -> SceneGraph | None:
    """The truth of a room; None if a thing is not well in view."""
    world = world_of(plan)
    cam_SE3_world = world.world_SE3_cam.inverse()
    seen = [
        Candidate(t.category, t.cuboid_world.seen_from(cam_SE3_world), 1.0, box_px=_box_px(s))
        for s, t in zip(plan.stands, world.things, strict=True)
    ]
    up = tuple(map(float, world.world_SE3_cam.rotation.T @ np.array([0.0, 0.0, 1.0])))
    view = View(plan.id, "indoor", world.camera, up, camera_height_m=_EYE_M[2], source="pocket")  # type: ignore[arg-type]
    n = len(plan.stands)
    options = KeepOptions(fewest_objects=n, most_objects=n)
    return build_graph(view, seen, options=options, seed=plan.marks)[0]


def picture_of(plan: RoomPlan, graph: SceneGraph) -> tuple[NDArray[np.uint8], NDArray[np.uint8]]:
    """The picture plain and with its marks, both (240, 320, 3)."""
    world = world_of(plan)
    things = [Solid(t.parts, t.world_SE3_thing, i + 1) for i, t in enumerate(world.things)]
    drawn = render([*world.backdrop(), *things], world.camera, world.world_SE3_cam, world.light, samples=1)
    boxes = {thing.id: thing.box_px for thing in graph.objects}
    marks = place_marks(
        boxes, SIZE_PX, radii=_MARK_RADII, distances_m={t.id: t.distance_m for t in graph.objects}
    )
    return drawn.picture, draw_marks(drawn.picture, marks)


def world_of(plan: RoomPlan) -> World:
    """The room, with the camera that sees all of them."""
    room = Room(_DEPTH_M, _WIDTH_M, (1 + plan.shell % 2, 4.5))
    kind = ("living room", "kitchen", "bathroom")[plan.shell % 3]
    light = Light(
        (0.4, 0.3, 1.4),
        sun=(0.62, 0.57, 0.5),
        sky=(0.5, 0.49, 0.47),
        ground=(0.36, 0.34, 0.31),
        softness_px=2.0,
    )
    return World(
        "indoor",
        tuple(_thing(stand) for stand in plan.stands),
        partial(room_shell, plan.shell, kind, room),
        _camera(),
        look(_EYE_M, 0.0, _PITCH_DEG),
        light,
    )


def marked(graph: SceneGraph, plain: str, with_marks: str) -> SceneGraph:
    """The graph with the names of its pictures."""
    return replace(graph, picture=plain, marked=with_marks)


def _camera() -> PinholeCamera:
    return PinholeCamera.from_field_of_view(_VIEW_DEG, SIZE_PX)


def _stand(rng: np.random.Generator) -> Stand:
    x = round(float(rng.uniform(1.9, 5.4)), 2)
    return Stand(
        CATEGORIES[int(rng.integers(len(CATEGORIES)))],
        int(rng.integers(N_FORMS)),
        x,
        round(float(rng.uniform(-0.62, 0.62)) * x, 2),
        float(rng.integers(24) * 15),
    )


def _thing(stand: Stand) -> Thing:
    return thing_of(stand.category, stand.form, (stand.x_m, stand.y_m, 0.0), stand.turn_deg)


def _box_px(stand: Stand) -> Box | None:
    """Round its outline; None unless all of it is in the picture."""
    thing = _thing(stand)
    cam_SE3_world = look(_EYE_M, 0.0, _PITCH_DEG).inverse()
    move = cam_SE3_world @ thing.world_SE3_thing
    points = np.concatenate([part.placed(move.rotation, move.translation_m).points for part in thing.parts])
    if (points[:, 2] < 0.3).any():
        return None
    pixels = _camera().project(points)
    (x0, y0), (x1, y1) = pixels.min(axis=0), pixels.max(axis=0)
    inside = x0 >= 2 and y0 >= 2 and x1 <= SIZE_PX[0] - 2 and y1 <= SIZE_PX[1] - 2
    is_large = x1 - x0 >= 20 and y1 - y0 >= 30
    return Box(*map(float, (x0, y0, x1, y1))) if inside and is_large else None


def _apart(a: Box, b: Box) -> bool:
    """Whether two boxes hardly overlap."""
    across = min(a.x1, b.x1) - max(a.x0, b.x0)
    down = min(a.y1, b.y1) - max(a.y0, b.y0)
    return across <= 2 or down <= 2
