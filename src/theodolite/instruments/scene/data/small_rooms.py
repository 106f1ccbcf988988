"""Small rooms: the scenes that the pocket twins have learnt."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from itertools import combinations
from pathlib import Path
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from theodolite.core.scores import Split, check_split
from theodolite.geometry import SE3, Box, PinholeCamera
from theodolite.instruments.scene.data.files import (
    MARKED,
    PICTURES,
    Manifest,
    SceneData,
    SceneQuestion,
    is_aligned,
    new_folder,
    read_data,
    write_data,
)
from theodolite.instruments.scene.data.make import (
    EditableScene,
    SceneVersion,
    answer_anew,
    make_questions,
    mark_picture,
    marked_version,
    picture_edits,
    write_pairs,
)
from theodolite.instruments.scene.data.pipeline import Candidate, KeepOptions, View, build_graph
from theodolite.pairs.outcomes import EXCHANGE, MOVE_OBJECT, OTHER_CAMERA, WALLS, Edit
from theodolite.worlds.marks import Radii
from theodolite.worlds.render.shade import Light, Solid, render
from theodolite.worlds.rooms import Room, room_shell
from theodolite.worlds.scene_graph import SceneGraph
from theodolite.worlds.things import Thing, World, look, thing_of

NAME = "pocket"
"""What the names of small rooms begin with, and the source of their data sets."""


def unlearnt(model: str, scenes: Iterable[str]) -> tuple[str, ...]:
    """Return a warning if a twin is asked about scenes that it never learnt; nothing for other models and small rooms.

    Args:
        model: Its name.
        scenes: The names of the scenes that it is asked about.

    >>> unlearnt("pocket:grounded", ["pocket-0-00001"]), len(unlearnt("pocket:grounded", ["indoor-0-00001"]))
    ((), 1)
    """
    if not model.startswith("pocket:") or all(scene.startswith(f"{NAME}-") for scene in scenes):
        return ()
    warning = (
        f"{model} has learnt only small rooms, none like these: its answers here say nothing about the instrument. "
        "`theodolite scene make --small 20 --out DIR` makes rooms that it knows."
    )
    return (warning,)


# Small marked rooms with questions, and edits of them with their new answers. The pocket twins are trained on such rooms.
#
# Two to five objects stand on the floor, seen by one camera, with large marks. The camera has one height and one tilt, objects
# stand apart, and each category has three fixed forms, so that distance follows from the place in the picture and size from the
# category. Only an edit moves the camera, sideways along the floor.


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
_MARK_RADII = Radii(0.042, 0.046, most_hidden=1.0)
"""Of a mark: the twins have learnt rooms in which marks may hide an object."""
_STEPS_M = tuple(side * step for step in (3.6, 3.0, 2.4, 1.8) for side in (1, -1))
"""How far to the left the camera may be moved."""
_PLACES_TRIED = 6
"""For each object that may be moved."""


_SEED = 102
_EACH: Any = {
    "size": 4,
    "distance": 4,
    "direction": 3,
    "ranking": 2,
    "counting": 2,
    "deduction": 2,
    "transformation": 2,
}
_QUOTAS: Any = {"easy": _EACH, "medium": _EACH, "hard": _EACH}


def scene_data(
    folder: str | Path, n: int, *, seed: int = 0, split: Split = "free", per_group: int | None = None
) -> SceneData:
    """Make a data set of small rooms.

    Args:
        folder: New or empty.
        n: Number of rooms.
        seed: Seed of the draw.
        split: ``aligned``: the questions that the shortcut rule answers correctly; ``crossed``: the others; ``free``: all.
        per_group: The most questions of each of the nine groups; all if None.
    """
    check_split(split)
    graphs = [graph for _, graph in _pictured(folder, _rooms(n, seed))]
    kept = _split(make_questions(graphs, seed=seed, quotas=_QUOTAS).questions, split)
    if per_group is not None:
        kept = _first_of_each_group(kept, per_group)
    made: dict[str, Any] = {"source": NAME, "seed": seed, "split": split, "rooms": n}
    return read_data(write_data(folder, graphs, kept, Manifest(made=made)))


RoomEdit: TypeAlias = Literal["marks", "walls"]
"""``marks``: the marks of all objects but the centre move on to the next one, so that each number names another object; of two
objects, both marks are exchanged. ``walls``: other walls and another floor."""


def edited_scenes(
    folder: str | Path, n: int, *, edit: RoomEdit, seed: int = 0, split: Split = "free"
) -> SceneData:
    """Make the rooms of `scene_data`, edited, under the same names, with the same questions and their new answers.

    After an exchange of marks only the questions are asked whose answer changes and is clear. Counts are never among them,
    since they name only the centre.

    Args:
        folder: New or empty.
        n: Number of rooms.
        edit: What is done to each room.
        seed: Seed of the draw.
        split: Split of the questions before the edit. On the aligned split the rule is wrong wherever the answer changes.
    """
    check_split(split)
    drawn = list(_rooms(n, seed))
    asked = _split(make_questions([g for _, g in drawn], seed=seed, quotas=_QUOTAS).questions, split)
    if edit == "walls":
        rng = np.random.default_rng([_SEED, seed, n])
        rooms_now = [(replace(plan, shell=int(rng.integers(2**31))), graph) for plan, graph in drawn]
    else:
        rooms_now = [(plan, _moved_on(graph)) for plan, graph in drawn]
    graphs = [graph for _, graph in _pictured(folder, rooms_now)]
    if edit == "marks":
        old = {question.id: question for question in asked}
        anew = [q for g in graphs for q in answer_anew([q for q in asked if q.scene == g.id], g)]
        asked = [question for question in anew if _is_other(question, old[question.id])]
    made: dict[str, Any] = {"source": NAME, "seed": seed, "split": split, "rooms": n, "edit": edit}
    return read_data(write_data(folder, graphs, asked, Manifest(made=made)))


def room_pairs(folder: str | Path, n: int, *, seed: int = 0) -> Path:
    """Make pairs of the rooms of `scene_data`, one relevant and one neutral pair of each.

    In every fourth room two objects exchange their places, in every fourth one object is moved, and in the others the camera,
    as far as all objects stay visible. Where that changes no answer clearly, two marks are exchanged: from another place most
    answers are the same. The walls change in every second room, the light in the others.

    Args:
        folder: New or empty.
        n: Number of rooms.
        seed: Seed of the draw.
    """
    drawn = list(_rooms(n, seed))
    asked = make_questions([graph for _, graph in drawn], seed=seed, quotas=_QUOTAS).questions
    rng = np.random.default_rng([_SEED, seed, n, 1])
    scenes = (
        _editable(room, [q for q in asked if q.scene == room[0].id], rng, number)
        for number, room in enumerate(drawn)
    )
    return write_pairs(folder, scenes)


def _editable(
    room: tuple[RoomPlan, SceneGraph],
    questions: Sequence[SceneQuestion],
    rng: np.random.Generator,
    number: int,
) -> EditableScene:
    plan, graph = room
    plain = cache(lambda: picture_of(plan, graph)[0])
    edits: dict[Edit, Sequence[SceneVersion]] = {}
    edit = (EXCHANGE, OTHER_CAMERA, MOVE_OBJECT, OTHER_CAMERA)[number % 4]
    others = _PLANS[edit](plan, rng)
    possible = [(other, seen) for other in others if (seen := _visible_graph(other)) is not None]
    edits[edit] = [_version(*possible[i]) for i in rng.permutation(len(possible))]
    if number % 2 == 0:
        other_kind = 3 * int(rng.integers(2**29)) + (plan.shell + 1) % 3
        edits[WALLS] = [_version(replace(plan, shell=other_kind), graph)]
    edits |= picture_edits(graph, plain, rng, radii=_MARK_RADII)
    return EditableScene(marked_version(graph, plain, radii=_MARK_RADII), questions, edits)


def _version(plan: RoomPlan, graph: SceneGraph) -> SceneVersion:
    return SceneVersion(graph, lambda: picture_of(plan, graph)[1])


def _exchanged(plan: RoomPlan, _: np.random.Generator) -> list[RoomPlan]:
    return [_with_places_exchanged(plan, *two) for two in combinations(range(len(plan.things)), 2)]


def _moved(plan: RoomPlan, rng: np.random.Generator) -> list[RoomPlan]:
    """Return the room with each object alone moved to other positions."""
    plans = []
    for i, thing in enumerate(plan.things):
        for _ in range(_PLACES_TRIED):
            drawn = _draw_thing(rng)
            things = list(plan.things)
            things[i] = replace(thing, x_m=drawn.x_m, y_m=drawn.y_m)
            plans.append(replace(plan, things=tuple(things)))
    return plans


def _seen_elsewhere(plan: RoomPlan, _: np.random.Generator) -> list[RoomPlan]:
    """Return the same room from the left and from the right, with the middle of the objects in the middle of the picture."""
    x, y = (float(np.mean([getattr(thing, axis) for thing in plan.things])) for axis in ("x_m", "y_m"))
    return [replace(plan, camera=(left, float(np.degrees(np.arctan2(y - left, x))))) for left in _STEPS_M]


_PLANS: Mapping[Edit, Callable[[RoomPlan, np.random.Generator], list[RoomPlan]]] = {
    EXCHANGE: _exchanged,
    MOVE_OBJECT: _moved,
    OTHER_CAMERA: _seen_elsewhere,
}
"""The edited rooms that may be shown."""


def _with_places_exchanged(plan: RoomPlan, i: int, j: int) -> RoomPlan:
    """Exchange the positions of two objects; they keep their marks."""
    things = list(plan.things)
    first, second = things[i], things[j]
    things[i] = replace(first, x_m=second.x_m, y_m=second.y_m)
    things[j] = replace(second, x_m=first.x_m, y_m=first.y_m)
    return replace(plan, things=tuple(things))


def _visible_graph(plan: RoomPlan) -> SceneGraph | None:
    """Return the scene graph of a room whose objects are all fully visible, as in `draw_room`; None if one is not."""
    boxes = [_box_px(placed, plan.camera) for placed in plan.things]
    known = [box for box in boxes if box is not None]
    if len(known) < len(boxes) or not all(_apart(a, b) for a, b in combinations(known, 2)):
        return None
    return graph_of(plan)


def _rooms(n: int, seed: int) -> Iterator[tuple[RoomPlan, SceneGraph]]:
    for number in range(n):
        yield draw_room(np.random.default_rng([_SEED, seed, number]), f"{NAME}-{seed}-{number:05d}")


def _pictured(
    folder: str | Path, drawn: Iterable[tuple[RoomPlan, SceneGraph]]
) -> list[tuple[RoomPlan, SceneGraph]]:
    """Write the pictures of rooms; return the rooms with the paths."""
    from PIL import Image

    folder = new_folder(folder)
    rooms = []
    for plan, graph in drawn:
        for kind, pixels in zip((PICTURES, MARKED), picture_of(plan, graph), strict=True):
            (folder / kind).mkdir(parents=True, exist_ok=True)
            Image.fromarray(pixels).save(folder / kind / f"{plan.id}.png")
        plain, marked = (f"{kind}/{plan.id}.png" for kind in (PICTURES, MARKED))
        rooms.append((plan, replace(graph, picture=plain, marked=marked)))
    return rooms


def _moved_on(graph: SceneGraph) -> SceneGraph:
    """Return the same room with the marks of all objects but the centre rotated; of two objects, exchanged."""
    marks = [thing.id for thing in graph.objects if thing.id != graph.centre or len(graph.objects) == 2]
    next_of = dict(zip(marks, [*marks[1:], marks[0]], strict=True))
    things = [replace(thing, id=next_of.get(thing.id, thing.id)) for thing in graph.objects]
    return replace(graph, objects=tuple(sorted(things, key=lambda thing: thing.id)))


def _is_other(question: SceneQuestion, old: SceneQuestion) -> bool:
    """Return True if the answer changed: another letter, or a number for which the old one scores less than half."""
    from theodolite.instruments.scene.formulas.mra import mean_relative_accuracy

    if question.form == "choice":
        return question.gold != old.gold
    return bool(mean_relative_accuracy(old.gold_number, question.gold_number) < 0.5)


def _split(questions: Iterable[SceneQuestion], split: Split) -> list[SceneQuestion]:
    return [q for q in questions if split == "free" or is_aligned(q) == (split == "aligned")]


def _first_of_each_group(questions: Iterable[SceneQuestion], most: int) -> list[SceneQuestion]:
    """Return the first questions of each group."""
    counts: Counter[tuple[str, str]] = Counter()
    kept = []
    for question in questions:
        counts[question.group] += 1
        if counts[question.group] <= most:
            kept.append(question)
    return kept


@dataclass(frozen=True, slots=True)
class PlacedThing:
    """One object on the floor."""

    category: str
    form: int
    x_m: float
    """Forward."""
    y_m: float
    """To the left."""
    turn_deg: float


@dataclass(frozen=True, slots=True)
class RoomPlan:
    """Everything that a small room depends on."""

    id: str
    things: tuple[PlacedThing, ...]
    shell: int
    """Seed of the walls and the floor."""
    marks: int
    """Seed of the numbers on the marks."""
    camera: tuple[float, float] = (0.0, 0.0)
    """How far to the left it stands, in metres, and how far it is turned to the left, in degrees."""


def draw_room(rng: np.random.Generator, name: str) -> tuple[RoomPlan, SceneGraph]:
    """Draw a room whose objects are all fully visible."""
    while True:
        n = int(rng.integers(2, 6))
        things: list[PlacedThing] = []
        boxes: list[Box] = []
        for _ in range(60):
            placed = _draw_thing(rng)
            box = _box_px(placed)
            if box is not None and all(_apart(box, other) for other in boxes):
                things.append(placed)
                boxes.append(box)
            if len(things) == n:
                break
        plan = RoomPlan(name, tuple(things), int(rng.integers(2**31)), int(rng.integers(2**31)))
        graph = graph_of(plan) if len(things) == n else None
        if graph is not None:
            return plan, graph


def graph_of(plan: RoomPlan) -> SceneGraph | None:
    """Return the scene graph of a room; None if an object is not well visible."""
    world = world_of(plan)
    cam_SE3_world = world.world_SE3_cam.inverse()
    seen = [
        Candidate(t.category, t.cuboid_world.seen_from(cam_SE3_world), 1.0, box_px=_box_px(s, plan.camera))
        for s, t in zip(plan.things, world.things, strict=True)
    ]
    up = tuple(map(float, world.world_SE3_cam.rotation.T @ np.array([0.0, 0.0, 1.0])))
    view = View(plan.id, "indoor", world.camera, up, camera_height_m=_EYE_M[2], source=NAME)  # type: ignore[arg-type]
    n = len(plan.things)
    options = KeepOptions(fewest_objects=n, most_objects=n)
    return build_graph(view, seen, options=options, seed=plan.marks)[0]


def picture_of(plan: RoomPlan, graph: SceneGraph) -> tuple[NDArray[np.uint8], NDArray[np.uint8]]:
    """Draw the picture plain and with its marks, both (240, 320, 3)."""
    world = world_of(plan)
    things = [Solid(t.parts, t.world_SE3_thing, i + 1) for i, t in enumerate(world.things)]
    drawn = render([*world.backdrop(), *things], world.camera, world.world_SE3_cam, world.light, samples=1)
    return drawn.picture, mark_picture(drawn.picture, graph, radii=_MARK_RADII)


def world_of(plan: RoomPlan) -> World:
    """Return the room and its camera."""
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
        tuple(_thing(placed) for placed in plan.things),
        partial(room_shell, plan.shell, kind, room),
        _camera(),
        _world_SE3_cam(plan.camera),
        light,
    )


def _world_SE3_cam(camera: tuple[float, float]) -> SE3:
    left_m, turn_deg = camera
    return look((_EYE_M[0], _EYE_M[1] + left_m, _EYE_M[2]), turn_deg, _PITCH_DEG)


def _camera() -> PinholeCamera:
    return PinholeCamera.from_field_of_view(_VIEW_DEG, SIZE_PX)


def _draw_thing(rng: np.random.Generator) -> PlacedThing:
    x = round(float(rng.uniform(1.9, 5.4)), 2)
    return PlacedThing(
        CATEGORIES[int(rng.integers(len(CATEGORIES)))],
        int(rng.integers(N_FORMS)),
        x,
        round(float(rng.uniform(-0.62, 0.62)) * x, 2),
        float(rng.integers(24) * 15),
    )


def _thing(placed: PlacedThing) -> Thing:
    return thing_of(placed.category, placed.form, (placed.x_m, placed.y_m, 0.0), placed.turn_deg)


def _box_px(placed: PlacedThing, camera: tuple[float, float] = (0.0, 0.0)) -> Box | None:
    """Return the box around its outline; None unless all of it is in the picture."""
    thing = _thing(placed)
    cam_SE3_world = _world_SE3_cam(camera).inverse()
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
    """Return True if two boxes hardly overlap."""
    across = min(a.x1, b.x1) - max(a.x0, b.x0)
    down = min(a.y1, b.y1) - max(a.y0, b.y0)
    return across <= 2 or down <= 2
