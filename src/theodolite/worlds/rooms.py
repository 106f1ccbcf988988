"""Rooms: their shells, what each kind contains, and furniture along the walls with smaller things on top."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from theodolite.geometry import SE3, PinholeCamera
from theodolite.worlds.looks import between, linear, pick, plain, textured
from theodolite.worlds.render.parts import Material, Part, box
from theodolite.worlds.render.shade import Light, Solid
from theodolite.worlds.things import Thing, World, is_free, look, moved, new_thing

# The contents of each kind of room.


@dataclass(frozen=True, slots=True)
class Plan:
    """The contents of a kind of room, in order of importance."""

    walls: tuple[str, ...]
    """Stand with their backs to a wall."""
    floor: tuple[str, ...]
    """Stand anywhere."""
    tops: Mapping[str, tuple[str, ...]]
    """What may be put on what."""
    hung: tuple[str, ...] = ("clock", "framed picture")


_ON_DESK = ("monitor", "laptop", "table lamp", "vase", "bottle")


PLANS: Mapping[str, Plan] = {
    "bedroom": Plan(
        ("bed", "wardrobe", "chest of drawers", "bookshelf", "chest of drawers"),
        (
            "armchair",
            "suitcase",
            "potted plant",
            "backpack",
            "floor lamp",
            "chair",
            "guitar",
            "cardboard box",
            "fan",
        ),
        {"chest of drawers": ("table lamp", "vase", "television", "backpack")},
    ),
    "living room": Plan(
        ("sofa", "chest of drawers", "bookshelf", "piano", "armchair"),
        ("coffee table", "armchair", "potted plant", "floor lamp", "guitar", "fan", "stool", "backpack"),
        {
            "coffee table": ("vase", "laptop", "bottle"),
            "chest of drawers": ("television", "vase", "table lamp"),
        },
    ),
    "study": Plan(
        ("desk", "bookshelf", "desk", "bookshelf", "wardrobe"),
        (
            "office chair",
            "office chair",
            "rubbish bin",
            "potted plant",
            "cardboard box",
            "floor lamp",
            "backpack",
            "chair",
            "suitcase",
        ),
        {"desk": _ON_DESK},
    ),
    "kitchen": Plan(
        ("refrigerator", "stove", "kitchen counter", "washing machine", "kitchen counter"),
        (
            "table",
            "chair",
            "chair",
            "chair",
            "rubbish bin",
            "stool",
            "chair",
            "potted plant",
            "cardboard box",
        ),
        {"table": ("vase", "bottle", "laptop"), "kitchen counter": ("microwave", "bottle", "vase")},
        ("clock",),
    ),
    "bathroom": Plan(
        ("bathtub", "toilet", "washbasin", "washing machine", "chest of drawers"),
        ("rubbish bin", "stool", "potted plant", "suitcase", "fan"),
        {"washing machine": ("bottle", "vase"), "chest of drawers": ("vase", "table lamp")},
    ),
}


# A room without its furniture: floor, walls, ceiling, a window.


HEIGHT_M = 2.6


@dataclass(frozen=True, slots=True)
class Room:
    """Its size along x and y, in metres, and where its window is."""

    depth: float
    width: float
    window: tuple[int, float]
    """The wall of the window (1 left, 2 right) and how far in its middle is."""


def room_shell(seed: int, kind: str, room: Room) -> tuple[Solid, ...]:
    """Build floor, walls, ceiling, skirting and a window."""
    rng = np.random.default_rng(seed)
    d, w, t = room.depth, room.width, 0.1
    if kind in {"kitchen", "bathroom"}:
        floor = textured(pick(rng, ("#cfc9bd", "#9fb0b5", "#e2ddd2")), "#77726a", "tiles", 0.4, gloss=0.1)
    else:
        light, dark = (("#b98a58", "#7f5630"), ("#8a5c36", "#5a3a20"), ("#cda878", "#9c7648"))[
            int(rng.integers(3))
        ]
        floor = textured(light, dark, "planks", 0.14, gloss=0.08)
    paint = pick(rng, ("#e6dfd0", "#d5dde0", "#dfe2cf", "#e8d8c8", "#cfd6cf"))
    wall = (
        textured(paint, "#ffffff", "speckle", 0.8)
        if kind != "bathroom"
        else textured("#dfe8ea", "#aab6ba", "tiles", 0.3, gloss=0.15)
    )
    board = plain("#f0ece2")
    parts: list[Part] = [
        box((d / 2, 0, -t / 2), (d + 4, w + 4, t), floor),
        box((d + t / 2, 0, HEIGHT_M / 2), (t, w + 0.4, HEIGHT_M), wall),
        box((d / 2 - 1, w / 2 + t / 2, HEIGHT_M / 2), (d + 2, t, HEIGHT_M), wall),
        box((d / 2 - 1, -w / 2 - t / 2, HEIGHT_M / 2), (d + 2, t, HEIGHT_M), wall),
        box((d / 2 - 1, 0, HEIGHT_M + t / 2), (d + 2, w + 0.4, t), plain("#f3f1ea")),
        box((d - 0.008, 0, 0.05), (0.02, w, 0.1), board),
        *(box((d / 2, s * (w / 2 - 0.008), 0.05), (d, 0.02, 0.1), board) for s in (-1, 1)),
    ]
    parts += _window(room)
    return (Solid(tuple(parts), SE3.identity(), 0, casts_shadow=False),)


def _window(room: Room) -> list[Part]:
    """Build a window in a side wall: a frame, a cross, and sky."""
    side = 1 if room.window[0] == 1 else -1
    x, y, z = room.window[1], side * room.width / 2, 1.55
    frame, sky = plain("#f7f5ef"), Material(linear("#a9cdec"), "cloud", 0.6, linear("#f6fafc"), glow=0.92)
    return [
        box((x, y, z), (1.3, 0.06, 1.2), frame),
        box((x, y - side * 0.012, z), (1.18, 0.06, 1.08), sky),
        box((x, y - side * 0.02, z), (0.05, 0.06, 1.1), frame),
        box((x, y - side * 0.02, z + 0.05), (1.2, 0.06, 0.05), frame),
        box((x, y - side * 0.05, z - 0.62), (1.4, 0.16, 0.04), frame),
    ]


# Rooms: furniture along the walls and on the floor, smaller things on top of it.
#
# World frame: x from the viewer's wall to the far wall, y to the left, z up; the room spans 0 to depth and ±width/2.


SIZE_PX = (960, 720)


def make_room(rng: np.random.Generator, n_things: int) -> World:
    """Make a room with about `n_things` objects in view of a camera at eye height near one wall."""
    kind = str(rng.choice(list(PLANS)))
    small = kind == "bathroom"
    depth = between(rng, 3.6, 4.4) if small else between(rng, 4.6, 6.4)
    width = between(rng, 3.2, 3.8) if small else between(rng, 4.0, 5.6)
    room = Room(depth, width, (int(rng.integers(1, 3)), between(rng, depth * 0.4, depth * 0.75)))
    eye = np.array(
        [between(rng, 0.25, 0.55), between(rng, -0.28, 0.28) * room.width, between(rng, 1.45, 1.75)]
    )
    aim = np.array([room.depth * between(rng, 0.6, 0.75), between(rng, -0.1, 0.1) * room.width, 0.65])
    way = aim - eye
    yaw = float(np.degrees(np.arctan2(way[1], way[0])))
    pitch = float(np.degrees(np.arctan2(way[2], np.hypot(way[0], way[1]))))
    camera = PinholeCamera.from_field_of_view(between(rng, 66, 76), SIZE_PX)
    things = _furnished(rng, PLANS[kind], room, n_things, eye)
    seed = int(rng.integers(2**32))
    sun = between(rng, 0, 360)
    light = Light(
        (0.55 * float(np.cos(np.radians(sun))), 0.55 * float(np.sin(np.radians(sun))), 1.4),
        sun=(0.62, 0.57, 0.5),
        sky=(0.5, 0.49, 0.47),
        ground=(0.36, 0.34, 0.31),
        softness_px=5.0,
    )
    return World(
        "indoor",
        tuple(things),
        partial(room_shell, seed, kind, room),
        camera,
        look(eye.tolist(), yaw, pitch),
        light,
    )


def _furnished(rng: np.random.Generator, plan: Plan, room: Room, n: int, eye: np.ndarray) -> list[Thing]:
    """Fill a room until it holds n things, or nothing more fits."""
    things: list[Thing] = []
    walls, floor = list(plan.walls), list(plan.floor)
    for turn in range(6 * n):
        if len(things) >= n:
            break
        choice = rng.random()
        if walls and (turn < 2 or choice < 0.35):
            thing = _at_wall(rng, walls.pop(0), room, things, eye)
        elif choice < 0.6 and floor:
            thing = _on_floor(rng, floor.pop(int(rng.integers(min(3, len(floor))))), room, things, eye)
        elif choice < 0.9:
            thing = _on_top(rng, plan, things)
        else:
            thing = _hung(rng, plan, room, things)
        if thing is not None and _is_welcome(thing, things):
            things.append(thing)
    return things


def _is_welcome(thing: Thing, things: Sequence[Thing]) -> bool:
    """Limit the number of each kind: four chairs, two of most objects, one clock."""
    most = {"chair": 4, "clock": 1, "bottle": 1}.get(thing.category, 2)
    return sum(other.category == thing.category for other in things) < most


def _at_wall(
    rng: np.random.Generator, kind: str, room: Room, things: Sequence[Thing], eye: np.ndarray
) -> Thing | None:
    """Place an object with its back to the far wall or a side wall, if there is room."""
    base = new_thing(kind, rng, (0, 0, 0))
    back = -float(base.low[0])
    half = float(base.high[1] - base.low[1]) / 2
    for _ in range(24):
        wall = int(rng.integers(3))
        if wall == 0:
            y = between(rng, -room.width / 2 + half + 0.05, room.width / 2 - half - 0.05)
            thing = moved(base, (room.depth - back - 0.03, y, 0), 180.0)
        else:
            side = 1 if wall == 1 else -1
            x = between(rng, min(1.6 + half, room.depth - half - 0.05), room.depth - half - 0.05)
            thing = moved(base, (x, side * (room.width / 2 - back - 0.03), 0), -90.0 * side)
        if _fits(thing, room, things, eye, 0.08):
            return thing
    return None


def _on_floor(
    rng: np.random.Generator, kind: str, room: Room, things: Sequence[Thing], eye: np.ndarray
) -> Thing | None:
    """Place an object anywhere; chairs near a table face it."""
    base = new_thing(kind, rng, (0, 0, 0))
    tables = [t for t in things if t.category in {"table", "desk"}]
    for attempt in range(40):
        if kind in {"chair", "office chair"} and tables and attempt < 25:
            table = tables[int(rng.integers(len(tables)))]
            side = turn_of_side(rng, table)
            position = table.place[:2] + side[0]
            turn = side[1] + between(rng, -15, 15)
        else:
            position = np.array(
                [
                    between(rng, 1.5, room.depth - 0.4),
                    between(rng, -room.width / 2 + 0.35, room.width / 2 - 0.35),
                ]
            )
            turn = float(np.degrees(np.arctan2(eye[1] - position[1], eye[0] - position[0]))) + between(
                rng, -60, 60
            )
        thing = moved(base, (float(position[0]), float(position[1]), 0.0), turn)
        if _fits(thing, room, things, eye, 0.06):
            return thing
    return None


def turn_of_side(rng: np.random.Generator, table: Thing) -> tuple[np.ndarray, float]:
    """Return a position before one of a table's sides, relative to it, and the turn that faces the table."""
    quarter = 0 if table.category == "desk" else int(rng.integers(4))
    angle = np.radians(table.turn_deg + 90.0 * quarter)
    reach = (table.high[0] if quarter % 2 == 0 else table.high[1]) + between(rng, 0.16, 0.35)
    shift = between(rng, -0.3, 0.3) if quarter % 2 else 0.0
    way = np.array([np.cos(angle), np.sin(angle)])
    across = np.array([-way[1], way[0]])
    return way * float(reach) + across * shift, float(np.degrees(angle)) + 180.0


def _on_top(rng: np.random.Generator, plan: Plan, things: Sequence[Thing]) -> Thing | None:
    """Place an object on a surface that has room, facing as its support does."""
    supports = [t for t in things if t.category in plan.tops]
    if not supports:
        return None
    under = supports[int(rng.integers(len(supports)))]
    base = new_thing(str(rng.choice(plan.tops[under.category])), rng, (0, 0, 0))
    spare = (under.high - under.low)[:2] / 2 - (base.high - base.low)[:2] / 2 - 0.03
    if min(spare) < 0 or not _is_welcome(base, things):
        return None
    top = _surface_m(under)
    for _ in range(8):
        local = (under.low + under.high)[:2] / 2 + rng.uniform(-spare, spare)
        if under.category == "kitchen counter" and _is_over_sink(under, base, float(local[1])):
            continue
        angle = np.radians(under.turn_deg)
        x = under.place[0] + local[0] * np.cos(angle) - local[1] * np.sin(angle)
        y = under.place[1] + local[0] * np.sin(angle) + local[1] * np.cos(angle)
        thing = moved(base, (float(x), float(y), top), under.turn_deg + between(rng, -12, 12))
        beside = [t for t in things if t is not under]
        if is_free(thing, beside, 0.04):
            return thing
    return None


def _is_over_sink(counter: Thing, thing: Thing, y: float) -> bool:
    """Return True if an object on a counter, at y along it, would stand in the sink or touch the tap."""
    n = round(float(counter.high[1] - counter.low[1]) / 0.6)
    sink = 0.0 if n % 2 else 0.3
    return abs(y - sink) < 0.3 + float(thing.high[1] - thing.low[1]) / 2


def _surface_m(thing: Thing) -> float:
    """Return the height at which something can stand on an object: its top, or a counter's worktop."""
    return 0.902 if thing.category == "kitchen counter" else thing.top_m


def _hung(rng: np.random.Generator, plan: Plan, room: Room, things: Sequence[Thing]) -> Thing | None:
    """Hang an object on the far wall or a side wall, above what stands there."""
    base = new_thing(str(rng.choice(plan.hung)), rng, (0, 0, 0))
    if not _is_welcome(base, things):
        return None
    for _ in range(15):
        z, wall = between(rng, 1.4, 1.75), int(rng.integers(3))
        if wall == 0:
            position, turn = (
                (room.depth - 0.03, between(rng, -room.width / 2 + 0.6, room.width / 2 - 0.6)),
                180.0,
            )
        else:
            side = 1 if wall == 1 else -1
            x = between(rng, 2.2, room.depth - 0.6)
            if wall == room.window[0] and abs(x - room.window[1]) < 1.2:
                continue
            position, turn = (x, side * (room.width / 2 - 0.03)), -90.0 * side
        thing = moved(base, (*position, z), turn)
        if is_free(thing, things, 0.15):
            return thing
    return None


def _fits(thing: Thing, room: Room, things: Sequence[Thing], eye: np.ndarray, gap: float) -> bool:
    """Return True if it is inside the room, clear of others, and not too near to the camera."""
    feet = thing.footprint
    is_inside = (
        feet[:, 0].max() < room.depth and feet[:, 0].min() > 0.2 and np.abs(feet[:, 1]).max() < room.width / 2
    )
    near = float(np.linalg.norm(feet - eye[:2], axis=1).min())
    return bool(is_inside and near > 0.9 and is_free(thing, things, gap))
