"""Houses of four rooms with walls of different colours and furniture, and walks through them."""

from __future__ import annotations

import hashlib
import math
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw

from theodolite.core.files import dump
from theodolite.core.types import Picture
from theodolite.geometry import Box
from theodolite.worlds.episodes import (
    ASPECTS,
    EGO,
    Action,
    Episode,
    Frame,
    FrameObject,
    Pose,
    Relation,
    Split,
)
from theodolite.worlds.palette import COLOURS, PAINTS, Rgb, blended, shaded

# Furniture in one colour, seen from the front: small pictures with a mask, for the views of the navigation world.


_SIDE = 192
_Pen = ImageDraw.ImageDraw
FURNITURE = {
    "in-distribution": ("chair", "lamp", "plant", "barrel"),
    "ood": ("sofa", "vase", "clock", "cone"),
}
HEIGHT_M = {
    "chair": 0.85,
    "lamp": 1.0,
    "plant": 0.95,
    "barrel": 0.7,
    "sofa": 0.7,
    "vase": 0.75,
    "clock": 1.0,
    "cone": 0.8,
}


@lru_cache(maxsize=64)
def sprite(category: str, colour: str) -> NDArray[np.uint8]:
    """Draw a picture (side, side, 4) whose bottom stands on the floor; the last channel is its mask."""
    image = Image.new("RGBA", (_SIDE, _SIDE))
    _DRAWERS[category](ImageDraw.Draw(image), PAINTS[colour])
    return np.asarray(image)


def _chair(pen: _Pen, c: Rgb) -> None:
    for x in (46, 128):
        pen.rectangle((x, 120, x + 14, 191), fill=shaded(c, 0.55))
    pen.rectangle((46, 8, 60, 120), fill=shaded(c, 0.7))
    pen.rectangle((128, 8, 142, 120), fill=shaded(c, 0.7))
    for y in (14, 48, 82):
        pen.rounded_rectangle((46, y, 142, y + 22), 6, fill=c)
    pen.polygon(((36, 128), (152, 128), (142, 104), (46, 104)), fill=shaded(c, 1.15))
    pen.rectangle((36, 128, 152, 140), fill=shaded(c, 0.8))


def _lamp(pen: _Pen, c: Rgb) -> None:
    pen.ellipse((60, 172, 132, 191), fill=shaded(c, 0.6))
    pen.rectangle((92, 70, 100, 182), fill=shaded(c, 0.7))
    pen.polygon(((66, 6), (126, 6), (152, 76), (40, 76)), fill=c)
    pen.polygon(((74, 6), (94, 6), (88, 76), (56, 76)), fill=shaded(c, 1.2))


def _plant(pen: _Pen, c: Rgb) -> None:
    for x, y, r in ((96, 44, 40), (58, 74, 34), (134, 74, 34), (78, 96, 30), (116, 96, 30)):
        pen.ellipse((x - r, y - r, x + r, y + r), fill=shaded(c, 0.85))
        pen.ellipse((x - 0.7 * r, y - 0.8 * r, x + 0.4 * r, y + 0.3 * r), fill=shaded(c, 1.15))
    pen.rectangle((90, 108, 102, 136), fill=shaded(c, 0.5))
    pen.polygon(((58, 132), (134, 132), (122, 191), (70, 191)), fill=shaded(c, 0.6))
    pen.rectangle((52, 126, 140, 140), fill=shaded(c, 0.7))


def _barrel(pen: _Pen, c: Rgb) -> None:
    for k in range(12):
        x = 36 + 10 * k
        light = 1.15 - abs(k - 4) * 0.07
        pen.rectangle((x, 14, x + 10, 180), fill=shaded(c, light))
    pen.ellipse((36, 166, 156, 191), fill=shaded(c, 0.7))
    pen.ellipse((36, 2, 156, 30), fill=shaded(c, 1.2))
    for y in (52, 132):
        pen.rectangle((34, y, 158, y + 10), fill=shaded(c, 0.45))


def _sofa(pen: _Pen, c: Rgb) -> None:
    pen.rounded_rectangle((14, 40, 178, 150), 18, fill=shaded(c, 0.85))
    pen.rounded_rectangle((34, 104, 95, 148), 8, fill=shaded(c, 1.15))
    pen.rounded_rectangle((97, 104, 158, 148), 8, fill=shaded(c, 1.15))
    for x in (2, 158):
        pen.rounded_rectangle((x, 84, x + 32, 178), 12, fill=c)
    pen.rectangle((30, 148, 162, 176), fill=shaded(c, 0.7))
    for x in (12, 166):
        pen.rectangle((x, 176, x + 14, 191), fill=(70, 50, 36))


def _vase(pen: _Pen, c: Rgb) -> None:
    pen.ellipse((48, 62, 144, 176), fill=c)
    pen.ellipse((60, 76, 92, 140), fill=shaded(c, 1.35))
    pen.rectangle((78, 30, 114, 80), fill=shaded(c, 0.9))
    pen.ellipse((64, 20, 128, 42), fill=shaded(c, 1.1))
    pen.ellipse((76, 24, 116, 38), fill=shaded(c, 0.4))
    pen.polygon(((76, 168), (116, 168), (124, 191), (68, 191)), fill=shaded(c, 0.75))


def _clock(pen: _Pen, c: Rgb) -> None:
    pen.rectangle((58, 60, 134, 191), fill=shaded(c, 0.8))
    pen.rectangle((70, 104, 122, 178), fill=shaded(c, 0.55))
    pen.line((96, 104, 96, 150), fill=(235, 200, 90), width=4)
    pen.ellipse((86, 146, 106, 166), fill=(235, 200, 90))
    pen.polygon(((48, 30), (96, 2), (144, 30)), fill=c)
    pen.rectangle((50, 28, 142, 96), fill=c)
    pen.ellipse((66, 32, 126, 92), fill=(245, 243, 235))
    pen.line((96, 62, 96, 40), fill=(30, 30, 30), width=5)
    pen.line((96, 62, 112, 68), fill=(30, 30, 30), width=5)


def _cone(pen: _Pen, c: Rgb) -> None:
    pen.rounded_rectangle((22, 170, 170, 191), 6, fill=shaded(c, 0.7))
    pen.polygon(((88, 4), (104, 4), (148, 174), (44, 174)), fill=c)
    pen.polygon(((88, 4), (96, 4), (80, 174), (44, 174)), fill=shaded(c, 1.2))
    for low, high in ((64, 88), (112, 138)):
        left, right = (96 - 52 * y / 174 - 4 for y in (low, high))
        pen.polygon(
            ((left, low), (192 - left, low), (192 - right, high), (right, high)), fill=(240, 240, 236)
        )


_DRAWERS: dict[str, Callable[[_Pen, Rgb], None]] = {
    "chair": _chair,
    "lamp": _lamp,
    "plant": _plant,
    "barrel": _barrel,
    "sofa": _sofa,
    "vase": _vase,
    "clock": _clock,
    "cone": _cone,
}


# Plans of houses with four rooms, and walks through them.


ROOM, N_MOVES = 4, 8
SIDE = 2 * ROOM + 3
_STEPS = ((-1, 0), (0, 1), (1, 0), (0, -1))
"""Row and column, facing north, east, south and west."""
Place = tuple[int, int, int]
"""Row, column, and which of the four ways it faces: north, east, south, west."""


def layout_split(openings: Sequence[int]) -> Split:
    """Return the split of a layout: a quarter of all layouts is kept for the out-of-distribution one."""
    digest = hashlib.sha256(",".join(map(str, openings)).encode()).digest()
    return "ood" if digest[0] % 4 == 0 else "in-distribution"


def walls_of(openings: Sequence[int]) -> NDArray[np.bool_]:
    """Return which cells are wall."""
    walls = np.zeros((SIDE, SIDE), bool)
    middle = ROOM + 1
    walls[[0, middle, SIDE - 1], :] = True
    walls[:, [0, middle, SIDE - 1]] = True
    upper, lower, left, right = openings
    for where, (row, column) in (
        (upper, (1 + upper, middle)),
        (lower, (middle + 1 + lower, middle)),
        (left, (middle, 1 + left)),
        (right, (middle, middle + 1 + right)),
    ):
        if where >= 0:
            walls[row, column] = False
    return walls


def room_of(row: int, column: int) -> int:
    """Return the number of the room that a cell belongs to; an opening belongs to the room north or west of it."""
    return 2 * (row > ROOM + 1) + (column > ROOM + 1)


def is_passage(walls: NDArray[np.bool_], row: int, column: int) -> bool:
    """Return whether a cell lies next to an opening, where a thing would block it."""
    middle = ROOM + 1
    return any(
        (row + dr == middle or column + dc == middle) and not walls[row + dr, column + dc]
        for dr, dc in _STEPS
    )


def shortest_walk(walls: NDArray[np.bool_], rng: np.random.Generator) -> tuple[Place, ...] | None:
    """Return a shortest walk from a random cell to the farthest one; None if the house has no room for it."""
    cells = np.argwhere(~walls).tolist()
    row, column = cells[int(rng.integers(len(cells)))]
    start = (row, column, int(rng.integers(4)))
    came: dict[Place, Place | None] = {start: None}
    far: dict[Place, int] = {start: 0}
    queue = deque([start])
    while queue:
        here = queue.popleft()
        for neighbour in _neighbours(here, walls):
            if neighbour not in came and far[here] < N_MOVES:
                came[neighbour], far[neighbour] = here, far[here] + 1
                queue.append(neighbour)
    ends = [s for s, d in far.items() if d == N_MOVES and room_of(*s[:2]) != room_of(row, column)]
    for i in rng.permutation(len(ends)):
        path = [ends[int(i)]]
        while (before := came[path[-1]]) is not None:
            path.append(before)
        n_turns = sum(a[2] != b[2] for a, b in pairwise(path))
        if n_turns == 2:
            return tuple(path[::-1])
    return None


def _neighbours(state: Place, walls: NDArray[np.bool_]) -> list[Place]:
    row, column, facing = state
    down, right = _STEPS[facing]
    states = [(row, column, (facing + 1) % 4), (row, column, (facing - 1) % 4)]
    if not walls[row + down, column + right]:
        states.append((row + down, column + right, facing))
    return states


# Views from inside a house of square cells: a ray per column finds the wall, furniture is drawn where it is nearer.


SIZE_PX = (320, 240)
VIEW_DEG = 84.0
FOCAL_PX = SIZE_PX[0] / 2 / math.tan(math.radians(VIEW_DEG / 2))
EYE_M, WALL_M = 0.75, 1.5


@dataclass(frozen=True, slots=True)
class House:
    """A house: the cells that are wall, and its colours."""

    walls: NDArray[np.bool_]
    """(rows, columns); the cell in row r and column c covers x in c ± ½ and y in −r ± ½."""
    paint: Mapping[tuple[int, int], Rgb]
    """The colour of the walls that face a free cell (row, column)."""
    floor: Rgb = (176, 150, 120)
    ceiling: Rgb = (236, 236, 232)
    fog_m: float = math.inf
    """Beyond this nothing is seen any more."""


@dataclass(frozen=True, slots=True)
class Furniture:
    """A thing that stands in a house."""

    id: str
    category: str
    colour: str
    x_m: float
    y_m: float


def view(
    house: House, pose: Pose, things: Sequence[Furniture]
) -> tuple[NDArray[np.uint8], dict[str, tuple[Box | None, float]]]:
    """Draw the picture from a pose, and return for each thing its box and the visible share of its outline."""
    width, height = SIZE_PX
    offsets = (np.arange(width) + 0.5 - width / 2) / FOCAL_PX
    turn = math.radians(pose.heading_deg)
    ahead, right = np.array([math.sin(turn), math.cos(turn)]), np.array([math.cos(turn), -math.sin(turn)])
    rays = ahead[None] + offsets[:, None] * right[None]  # (W, 2), depth 1
    depth, paint, shade, along = _cast(house, pose, rays)
    rows = np.arange(height, dtype=np.float64)[:, None] + 0.5 - height / 2
    top, bottom = -(WALL_M - EYE_M) * FOCAL_PX / depth[None], EYE_M * FOCAL_PX / depth[None]
    is_wall = (rows >= top) & (rows <= bottom)
    pixels = np.where(is_wall[..., None], (paint * shade[:, None])[None], _planes(house, pose, rays, rows))
    share = (rows - top) / (bottom - top)
    skirting = is_wall & (share > 0.93)
    pixels[skirting] *= 0.72
    panel = is_wall & (np.abs((along * 2) % 1 - 0.5)[None] > 0.485) & (share <= 0.93)
    pixels[panel] *= 0.9
    distance = np.where(is_wall, depth[None], np.abs(EYE_M * FOCAL_PX / np.where(rows == 0, 0.5, rows)))
    seen, pixels, distance = _furnish(pixels, distance, pose, things, house.fog_m)
    if math.isfinite(house.fog_m):
        clear = np.clip(1.25 - 1.25 * distance / house.fog_m, 0, 1)[..., None]
        pixels = pixels * clear + 205 * (1 - clear)
    return pixels.clip(0, 255).astype(np.uint8), seen


def _cast(
    house: House, pose: Pose, rays: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Return, per column, the depth of the wall, its colour, its light, and the position of the hit along the wall."""
    n = len(rays)
    depth, shade, along = np.full(n, 50.0), np.ones(n), np.zeros(n)
    paint = np.zeros((n, 3))
    for i, (dx, dy) in enumerate(rays):
        column, row = round(pose.x_m), round(-pose.y_m)
        step_c, step_r = (1 if dx > 0 else -1), (1 if dy < 0 else -1)
        next_x = (column + 0.5 * step_c - pose.x_m) / dx if abs(dx) > 1e-12 else math.inf
        next_y = (-row - 0.5 * step_r - pose.y_m) / dy if abs(dy) > 1e-12 else math.inf
        gap_x, gap_y = (
            abs(1 / dx) if abs(dx) > 1e-12 else math.inf,
            abs(1 / dy) if abs(dy) > 1e-12 else math.inf,
        )
        while True:
            before = (row, column)
            if next_x < next_y:
                far, next_x, column, is_east = next_x, next_x + gap_x, column + step_c, True
            else:
                far, next_y, row, is_east = next_y, next_y + gap_y, row + step_r, False
            if not (0 <= row < house.walls.shape[0] and 0 <= column < house.walls.shape[1]):
                break
            if house.walls[row, column]:
                depth[i] = max(far, 1e-3)
                along[i] = pose.y_m + far * dy if is_east else pose.x_m + far * dx
                shade[i] = (0.86 if is_east else 1.0) * (0.78 + 0.22 / (1 + 0.12 * far * far))
                paint[i] = house.paint.get(before, (200, 200, 200))
                break
    return depth, paint, shade, along


def _planes(
    house: House, pose: Pose, rays: NDArray[np.float64], rows: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Draw floor tiles and a plain ceiling, at every pixel."""
    safe = np.where(np.abs(rows) < 0.5, 0.5, np.abs(rows))
    far = EYE_M * FOCAL_PX / safe  # (H, 1)
    x, y = pose.x_m + far * rays[None, :, 0], pose.y_m + far * rays[None, :, 1]
    tile = ((np.floor(x + 0.5) + np.floor(y + 0.5)) % 2)[..., None]
    floor = np.asarray(house.floor, float) * np.where(tile > 0, 1.0, 0.9)
    light = (0.66 + 0.34 / (1 + 0.06 * far * far))[..., None]
    ceiling = np.broadcast_to(np.asarray(house.ceiling, float), floor.shape)
    return np.where(rows[..., None] > 0, floor, ceiling) * light


def _furnish(
    pixels: NDArray[np.float64],
    distance: NDArray[np.float64],
    pose: Pose,
    things: Sequence[Furniture],
    fog_m: float,
) -> tuple[dict[str, tuple[Box | None, float]], NDArray[np.float64], NDArray[np.float64]]:
    """Draw the things that are nearer than the wall, the far ones first, and return the visible part of each."""
    owner = np.full(distance.shape, -1, np.int16)
    whole: dict[str, float] = {}
    turn = math.radians(pose.heading_deg)
    placed = []
    for index, thing in enumerate(things):
        east, north = thing.x_m - pose.x_m, thing.y_m - pose.y_m
        depth = east * math.sin(turn) + north * math.cos(turn)
        side = east * math.cos(turn) - north * math.sin(turn)
        if depth > 0.25:
            placed.append((depth, side, index))
    for depth, side, index in sorted(placed, reverse=True):
        thing = things[index]
        picture = sprite(thing.category, thing.colour)
        size = HEIGHT_M[thing.category] * FOCAL_PX / depth
        left = SIZE_PX[0] / 2 + FOCAL_PX * side / depth - size / 2
        low = SIZE_PX[1] / 2 + EYE_M * FOCAL_PX / depth
        columns = np.arange(max(0, math.floor(left)), min(SIZE_PX[0], math.ceil(left + size)))
        lines = np.arange(max(0, math.floor(low - size)), min(SIZE_PX[1], math.ceil(low)))
        whole[thing.id] = float((picture[..., 3] > 0).mean()) * size * size
        if not len(columns) or not len(lines):
            continue
        u = np.clip(((columns + 0.5 - left) / size * picture.shape[1]).astype(int), 0, picture.shape[1] - 1)
        v = np.clip(
            ((lines + 0.5 - (low - size)) / size * picture.shape[0]).astype(int), 0, picture.shape[0] - 1
        )
        patch = picture[np.ix_(v, u)]
        window = np.ix_(lines, columns)
        mask = (patch[..., 3] > 0) & (distance[window] > depth)
        light = 0.72 + 0.28 / (1 + 0.1 * depth * depth)
        pixels[window] = np.where(mask[..., None], patch[..., :3] * light, pixels[window])
        distance[window] = np.where(mask, depth, distance[window])
        owner[window] = np.where(mask, index, owner[window])
    seen = {}
    for depth, _, index in placed:
        is_lost = depth > 0.85 * fog_m
        seen[things[index].id] = (None, 0.0) if is_lost else _seen(owner == index, whole[things[index].id])
    return {t.id: seen.get(t.id, (None, 0.0)) for t in things}, pixels, distance


def _seen(mask: NDArray[np.bool_], whole: float) -> tuple[Box | None, float]:
    rows, columns = np.nonzero(mask)
    if len(rows) < 12:
        return None, 0.0
    box = Box(float(columns.min()), float(rows.min()), float(columns.max() + 1), float(rows.max() + 1))
    return box, min(1.0, len(rows) / max(whole, 1.0))


def pastel(paint: Rgb) -> Rgb:
    """Return the colour of a wall: like a thing's, but pale."""
    return shaded(paint, 1.4)


# The navigation world: four rooms with walls of different colours, furniture, and a walk of eight moves seen from within.


N_THINGS = 8
N_SIGHTS = 12
"""So many times, at least, a thing is in view."""
SEEN_SHARE = 0.3
"""What shows less of itself than this counts as not in view."""
KINDS = ("side", "turn", "room", "ahead")


@dataclass(frozen=True, slots=True)
class NavigationScenario:
    """Everything that determines a walk."""

    split: Split
    kind: str
    openings: tuple[int, int, int, int]
    """Where the walls between the rooms are open: upper, lower, left, right; −1 where there is no opening."""
    rooms: tuple[str, str, str, str]
    """The colours of the rooms: north-west, north-east, south-west, south-east."""
    things: tuple[tuple[str, str, int, int], ...]
    """Colour, category, row and column."""
    walk: tuple[Place, ...]
    asked: int
    """The thing that the question names."""
    fog: float = 0.0
    """0 clear; at 1 nothing is seen beyond a metre."""
    blend: float = 0.0
    """How far floor and ceiling are changed."""

    def name(self, index: int) -> str:
        """Return for example *red chair*."""
        return " ".join(self.things[index][:2])


def draft_navigation(rng: np.random.Generator, split: Split, index: int) -> NavigationScenario | None:
    """Draft a layout of the split, eight things, and a shortest walk of eight moves with two turns into another room."""
    while True:
        drawn = [int(rng.integers(ROOM)) for _ in range(4)]
        if rng.random() < 0.5:
            drawn[int(rng.integers(4))] = -1
        if layout_split(drawn) == split:
            break
    walls = walls_of(drawn)
    walk = shortest_walk(walls, rng)
    if walk is None:
        return None
    occupied = {state[:2] for state in walk}
    free = [
        (r, c)
        for r, c in np.argwhere(~walls).tolist()
        if (r, c) not in occupied and r != ROOM + 1 and c != ROOM + 1 and not is_passage(walls, r, c)
    ]
    if len(free) < N_THINGS:
        return None
    chosen = [free[int(i)] for i in rng.permutation(len(free))[:N_THINGS]]
    looks = [(c, k) for c in COLOURS[split] for k in FURNITURE[split]]
    things = tuple(
        (*looks[int(i)], *cell) for i, cell in zip(rng.permutation(len(looks)), chosen, strict=False)
    )
    rooms = tuple(str(c) for c in rng.permutation(COLOURS[split]))
    openings = (drawn[0], drawn[1], drawn[2], drawn[3])
    kind = KINDS[index % len(KINDS)]
    return NavigationScenario(split, kind, openings, rooms, things, walk, int(rng.integers(N_THINGS)))  # type: ignore[arg-type]  # four rooms


def navigation_episode(scenario: NavigationScenario, name: str) -> Episode:
    """Walk, draw, and ask."""
    house = _house(scenario)
    things = [
        Furniture(f"{c}-{k}", k, c, float(column), float(-row)) for c, k, row, column in scenario.things
    ]
    frames = tuple(_shot(scenario, house, things, i) for i in range(len(scenario.walk)))
    actions = tuple(_moves(scenario))
    task, answer, options = _question(scenario, frames, actions)
    shown = [o for f in frames for o in f.objects if o.is_visible and o.category != "room"]
    return Episode(
        name,
        task,
        frames,
        answer=answer,
        options=options,
        actions=actions,
        known=dict.fromkeys(ASPECTS, "complete"),
        vocabulary={
            "objects": (*FURNITURE["in-distribution"], *FURNITURE["ood"], "room"),
            "actions": ("turn left", "turn right", "move forward", "enter"),
        },
        world="navigation",
        split=scenario.split,
        difficulty={
            "frames": float(len(frames)),
            "objects": float(len(things)),
            "options": float(len(options)),
            "turns": float(sum(a.verb.startswith("turn") for a in actions)),
            "things in view": len(shown) / len(frames),
        },
        cluster=name,
        meta={"scenario": dump(scenario), "kind": scenario.kind},
    )


def _house(scenario: NavigationScenario) -> House:
    walls = walls_of(scenario.openings)
    paint = {(r, c): pastel(PAINTS[scenario.rooms[room_of(r, c)]]) for r, c in np.argwhere(~walls).tolist()}
    fog = float("inf") if scenario.fog <= 0 else 1.0 + 5.0 * (1 - scenario.fog)
    return House(
        walls,
        paint,
        blended((182, 156, 124), (96, 104, 128), scenario.blend),
        blended((238, 238, 234), (196, 178, 150), scenario.blend),
        fog,
    )


def _shot(scenario: NavigationScenario, house: House, things: Sequence[Furniture], index: int) -> Frame:
    row, column, facing = scenario.walk[index]
    pose = Pose(float(column), float(-row), 0.75, 90.0 * facing)
    pixels, seen = view(house, pose, things)
    objects = []
    for thing in things:
        box, share = seen[thing.id]
        is_visible = box is not None and share >= SEEN_SHARE
        objects.append(
            FrameObject(
                thing.id,
                thing.category,
                box if is_visible else None,
                is_visible,
                {"colour": thing.colour},
                position_m=(thing.x_m, thing.y_m, 0.75),
            )
        )
    here = room_of(row, column)
    rooms = [
        FrameObject(f"{c}-room", "room", None, i == here, {"colour": c}) for i, c in enumerate(scenario.rooms)
    ]
    return Frame(
        float(index),
        Picture.from_array(pixels),
        SIZE_PX,
        (*objects, *rooms),
        (Relation(EGO, "in", rooms[here].id),),
        pose,
    )


def _moves(scenario: NavigationScenario) -> list[Action]:
    """Return the move from each frame to the next."""
    actions = []
    for i, (a, b) in enumerate(pairwise(scenario.walk)):
        turn = (b[2] - a[2]) % 4
        verb = {0: "move forward", 1: "turn right", 3: "turn left"}[turn]
        actions.append(Action(verb, EGO, (), float(i), i + 0.9))
        before, after = room_of(*a[:2]), room_of(*b[:2])
        if before != after:
            actions.append(Action("enter", EGO, (f"{scenario.rooms[after]}-room",), float(i), i + 0.9))
    return actions


def _question(
    scenario: NavigationScenario, frames: Sequence[Frame], actions: Sequence[Action]
) -> tuple[str, str, tuple[str, ...]]:
    """Return the question, the answer (empty if it has none), and the options."""
    end, pose = frames[-1], frames[-1].pose
    if scenario.kind == "turn":
        first = next((a.verb.partition(" ")[2] for a in actions if a.verb.startswith("turn")), "")
        return "Which way do you turn first?", first, ("left", "right")
    if scenario.kind == "room":
        row, column, _ = scenario.walk[-1]
        return (
            "What colour are the walls of the room in which you stop?",
            scenario.rooms[room_of(row, column)],
            tuple(sorted(scenario.rooms)),
        )
    names = [scenario.name(i) for i in range(len(scenario.things))]
    bearings = [
        pose.bearing_deg(o.position_m) for o in end.objects if pose is not None and o.position_m is not None
    ]
    if scenario.kind == "side":
        bearing = bearings[scenario.asked]
        was_seen = any(f.objects[scenario.asked].is_visible for f in frames[-4:])
        is_clear = 15 < abs(bearing) < 165 and was_seen
        answer = ("right" if bearing > 0 else "left") if is_clear else ""
        return (
            f"When you stop, is the {names[scenario.asked]} on your left or on your right?",
            answer,
            ("left", "right"),
        )
    ahead = [
        (_distance(o, pose), names[i])
        for i, o in enumerate(end.objects[: len(names)])
        if o.is_visible and abs(bearings[i]) <= 40
    ]
    ahead.sort()
    is_clear = len(ahead) == 1 or (len(ahead) > 1 and ahead[1][0] - ahead[0][0] > 0.5)
    options = tuple(sorted(names))
    return "Which thing is nearest in front of you when you stop?", ahead[0][1] if is_clear else "", options


def _distance(thing: FrameObject, pose: Pose | None) -> float:
    if pose is None or thing.position_m is None:
        return float("inf")
    return float(np.hypot(thing.position_m[0] - pose.x_m, thing.position_m[1] - pose.y_m))


def is_good_navigation(scenario: NavigationScenario, wanted: int) -> bool:
    """Return whether a draft is worth keeping: things in view on most of the way, and the wanted answer."""
    if _n_sights(scenario) < N_SIGHTS:
        return False
    house = _house(scenario)
    things = [Furniture(f"{c}-{k}", k, c, float(x), float(-y)) for c, k, y, x in scenario.things]
    last = range(len(scenario.walk) - 4, len(scenario.walk)) if scenario.kind in {"side", "ahead"} else ()
    frames = [_shot(scenario, house, things, i) for i in last]
    if frames and sum(any(o.is_visible for o in f.objects[: len(things)]) for f in frames) < 2:
        return False
    if not frames:
        frames = [Frame(0.0, pose=Pose(0.0, 0.0))]
    _, answer, options = _question(scenario, frames, _moves(scenario))
    return answer == options[wanted % len(options)]


def _n_sights(scenario: NavigationScenario) -> int:
    """Return how often, on the way, a thing lies within the view with no wall between."""
    walls = walls_of(scenario.openings)
    n_seen = 0
    for row, column, facing in scenario.walk:
        pose = Pose(float(column), float(-row), heading_deg=90.0 * facing)
        for _, _, r, c in scenario.things:
            if abs(pose.bearing_deg((float(c), float(-r), 0.0))) > 38:
                continue
            line = np.linspace((row, column), (r, c), 24)
            n_seen += not walls[np.round(line[:, 0]).astype(int), np.round(line[:, 1]).astype(int)].any()
    return n_seen


def move_navigation(
    scenario: NavigationScenario, rng: np.random.Generator, magnitude: float
) -> tuple[NavigationScenario, str, float] | None:
    """Move the thing in the question by `magnitude` times eight metres."""
    walls = walls_of(scenario.openings)
    occupied = {s[:2] for s in scenario.walk} | {t[2:] for t in scenario.things}
    colour, category, row, column = scenario.things[scenario.asked]
    free = [
        (r, c)
        for r, c in np.argwhere(~walls).tolist()
        if (r, c) not in occupied and r != ROOM + 1 and c != ROOM + 1 and not is_passage(walls, r, c)
    ]
    if not free:
        return None
    off = [abs(float(np.hypot(r - row, c - column)) - 8 * magnitude) for r, c in free]
    best = [cell for cell, o in zip(free, off, strict=True) if o <= min(off) + 1.0]
    cell = best[int(rng.integers(len(best)))]
    things = tuple(
        (colour, category, *cell) if i == scenario.asked else t for i, t in enumerate(scenario.things)
    )
    far = float(np.hypot(cell[0] - row, cell[1] - column))
    return replace(scenario, things=things), f"{colour}-{category}", min(1.0, far / 8)


def hide_navigation(
    scenario: NavigationScenario, rng: np.random.Generator, magnitude: float
) -> NavigationScenario:
    """Add fog: nothing farther away than 6 − 5 × magnitude metres is seen."""
    del rng
    return replace(scenario, fog=magnitude)


def answer_navigation(scenario: NavigationScenario, episode: Episode) -> str:
    """Return the answer according to the episode's current frames and actions."""
    if scenario.kind == "room":
        relation = next((r for r in episode.frames[-1].relations if r.subject == EGO), None)
        return "" if relation is None else relation.object.partition("-")[0]
    return _question(scenario, episode.frames, episode.actions)[1]


def restyle_navigation(scenario: NavigationScenario, magnitude: float) -> NavigationScenario:
    """Change floor and ceiling."""
    return replace(scenario, blend=magnitude)
