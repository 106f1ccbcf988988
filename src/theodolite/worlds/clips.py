"""Clips: coloured shapes on a table roll, collide, come in, go out and hide."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw, ImageFilter

from theodolite.core.files import dump
from theodolite.core.types import Picture
from theodolite.geometry import Box
from theodolite.worlds.episodes import ASPECTS, Action, Episode, Frame, FrameObject, Pose, Relation, Split
from theodolite.worlds.palette import COLOURS, PAINTS, Rgb, blended, shaded

# Discs that roll on a table and bounce off each other: their positions at every moment, and the events.
#
# Equal masses, elastic collisions along the line of centres, constant deceleration by friction.


STEP_S = 0.01
FRICTION_M_S2 = 0.22
STILL_M_S = 0.06
"""What is slower counts as at rest."""


@dataclass(frozen=True, slots=True)
class Body:
    """Start of a disc: its position and velocity when it is released."""

    x_m: float
    y_m: float
    vx_m_s: float = 0.0
    vy_m_s: float = 0.0
    start_s: float = 0.0
    """When it begins to move."""


@dataclass(frozen=True, slots=True)
class Motion:
    """The motion of the discs over time."""

    places_m: NDArray[np.float64]
    """(steps, discs, 2)."""
    speeds_m_s: NDArray[np.float64]
    """(steps, discs)."""
    collisions: tuple[tuple[float, int, int], ...]
    """When, and which two, the one that was faster first."""

    def moment(self, time_s: float) -> int:
        """Return the step at a time."""
        return min(len(self.places_m) - 1, round(time_s / STEP_S))

    def is_moving(self, time_s: float, disc: int) -> bool:
        """Return whether a disc moves at a time."""
        return bool(self.speeds_m_s[self.moment(time_s), disc] > STILL_M_S)


def simulate(bodies: Sequence[Body], duration_s: float, *, radius_m: float) -> Motion:
    """Simulate in steps of ten milliseconds; discs that touch and approach exchange their velocities along the line of centres.

    Args:
        bodies: The discs at the start.
        duration_s: Length of the simulation.
        radius_m: Radius of every disc.
    """
    position = np.array([[b.x_m, b.y_m] for b in bodies])
    speed = np.zeros_like(position)
    waiting = dict(enumerate(bodies))
    places, speeds, collisions = [], [], []
    for step in range(round(duration_s / STEP_S) + 1):
        now = step * STEP_S
        for i in [i for i, b in waiting.items() if b.start_s <= now + 1e-9]:
            speed[i] = (waiting[i].vx_m_s, waiting[i].vy_m_s)
            del waiting[i]
        gaps = position[None] - position[:, None]
        touching = np.argwhere(np.triu((gaps**2).sum(axis=2) <= 4 * radius_m**2, 1))
        for i, j in touching.tolist():
            gap = gaps[i, j]
            along = gap / max(float(np.hypot(*gap)), 1e-9)
            closing = float((speed[i] - speed[j]) @ along)
            if closing <= 1e-6:
                continue
            fast, slow = (i, j) if np.hypot(*speed[i]) >= np.hypot(*speed[j]) else (j, i)
            if closing > STILL_M_S:
                collisions.append((round(now, 4), fast, slow))
            speed[i], speed[j] = speed[i] - closing * along, speed[j] + closing * along
        rate = np.hypot(speed[:, 0], speed[:, 1])
        places.append(position.copy())
        speeds.append(rate)
        slower = np.clip(rate - FRICTION_M_S2 * STEP_S, 0, None)
        speed = speed * np.where(rate > 0, slower / np.maximum(rate, 1e-12), 0.0)[:, None]
        position = position + speed * STEP_S
    return Motion(np.array(places), np.array(speeds), tuple(collisions))


# Pictures of shapes on a table, with exact boxes: a pinhole camera, analytic shading, a buffer of the visible thing at each pixel.


SIZE_PX = (320, 240)
CAMERA = Pose(0.0, -2.6, 4.2, heading_deg=0.0, pitch_deg=-42.0)
FOCAL_PX = 266.0
RADIUS_M = 0.42
SCREEN_HEIGHT_M = 1.5
_SUPER = 2
_RINGS = 41
_LIGHT = np.array([-0.42, -0.3, 0.86])

SHAPES = {"in-distribution": ("ball", "cube", "cylinder"), "ood": ("cone", "pyramid", "barrel")}


@dataclass(frozen=True, slots=True)
class ClipShape:
    """A shape at a place."""

    id: str
    shape: str
    colour: str
    x_m: float
    y_m: float
    width_m: float = 2 * RADIUS_M
    """Of a screen; all other shapes are of one size."""


@dataclass(frozen=True, slots=True)
class Seen:
    """The visible part of a thing in a picture."""

    box: Box | None
    share: float
    """Of its whole outline, how much is in the picture and not hidden."""


def project(x_m: float, y_m: float, z_m: float) -> tuple[float, float, float]:
    """Return a point of the world in pixels, and its depth in metres."""
    pitch = math.radians(CAMERA.pitch_deg)
    ahead, up = y_m - CAMERA.y_m, z_m - CAMERA.z_m
    depth = ahead * math.cos(pitch) + up * math.sin(pitch)
    rise = -ahead * math.sin(pitch) + up * math.cos(pitch)
    return (
        SIZE_PX[0] / 2 + FOCAL_PX * (x_m - CAMERA.x_m) / depth,
        SIZE_PX[1] / 2 - FOCAL_PX * rise / depth,
        depth,
    )


def is_on_picture(x_m: float, y_m: float) -> bool:
    """Return whether a thing's middle is within the picture."""
    u, _, _ = project(x_m, y_m, RADIUS_M)
    return 0 <= u <= SIZE_PX[0]


def draw(things: Sequence[ClipShape], table: Rgb, wall: Rgb) -> tuple[NDArray[np.uint8], dict[str, Seen]]:
    """Draw things, the far ones first, and return the picture and the visible part of each thing."""
    size = SIZE_PX[0] * _SUPER, SIZE_PX[1] * _SUPER
    canvas = _room(size, table, wall)
    _shadows(canvas, things)
    pixels = np.asarray(canvas, np.float64).copy()
    owner = np.full(pixels.shape[:2], -1, np.int16)
    whole = {}
    for index, thing in sorted(enumerate(things), key=lambda pair: -pair[1].y_m):
        window, mask, colour = _shape(thing, size)
        pixels[window][mask] = colour[mask]
        owner[window][mask] = index
        whole[thing.id] = _whole(thing, mask, window, size)
    small = Image.fromarray(pixels.clip(0, 255).astype(np.uint8)).resize(SIZE_PX, Image.Resampling.BOX)
    seen = {t.id: _seen(owner == i, whole[t.id]) for i, t in enumerate(things)}
    return np.asarray(small).copy(), seen


def _seen(mask: NDArray[np.bool_], whole: float) -> Seen:
    rows, columns = np.nonzero(mask)
    if len(rows) < 8:
        return Seen(None, 0.0)
    box = Box(
        float(columns.min()) / _SUPER,
        float(rows.min()) / _SUPER,
        float(columns.max() + 1) / _SUPER,
        float(rows.max() + 1) / _SUPER,
    )
    return Seen(box, min(1.0, len(rows) / max(1.0, whole)))


def _room(size: tuple[int, int], table: Rgb, wall: Rgb) -> Image.Image:
    return _empty_room(size, table, wall).copy()


@lru_cache(maxsize=8)
def _empty_room(size: tuple[int, int], table: Rgb, wall: Rgb) -> Image.Image:
    """Draw a wall, and a table whose planks run into the depth."""
    rows = np.linspace(0, 1, size[1])[:, None, None]
    light = 1.06 - 0.22 * np.abs(np.linspace(-1, 1, size[0]))[None, :, None] ** 2
    pixels = np.asarray(wall, float) * (0.86 + 0.2 * rows) * light
    canvas = Image.fromarray(pixels.clip(0, 255).astype(np.uint8))
    pen = ImageDraw.Draw(canvas)
    plank = 0.8
    for k in range(-14, 14):
        corners = [(k * plank, 4.7), ((k + 1) * plank, 4.7), ((k + 1) * plank, -0.9), (k * plank, -0.9)]
        tone = 1.0 + 0.05 * math.sin(2.3 * k)
        paint = tuple(min(255, round(c * tone)) for c in table)
        pen.polygon([_at(x, y, 0.0) for x, y in corners], fill=paint)
        pen.line([_at(k * plank, 4.7, 0.0), _at(k * plank, -0.9, 0.0)], fill=shaded(table, 0.82), width=2)
    edge = [_at(x, y, z) for x, y, z in ((-12, 4.7, 0), (12, 4.7, 0), (12, 4.7, 0.06), (-12, 4.7, 0.06))]
    pen.polygon(edge, fill=shaded(table, 0.7))
    return canvas


def _at(x: float, y: float, z: float) -> tuple[float, float]:
    u, v, _ = project(x, y, z)
    return u * _SUPER, v * _SUPER


def _shadows(canvas: Image.Image, things: Sequence[ClipShape]) -> None:
    layer = Image.new("L", canvas.size, 0)
    pen = ImageDraw.Draw(layer)
    for thing in things:
        if thing.shape == "screen":
            half = thing.width_m / 2
            corners = [(-half, 0.0), (half, 0.0), (half + 0.5, 0.75), (-half + 0.5, 0.75)]
            pen.polygon([_at(thing.x_m + x, thing.y_m + y, 0.0) for x, y in corners], fill=95)
            continue
        ring = [
            _at(
                thing.x_m + 0.16 + 1.05 * RADIUS_M * math.cos(a),
                thing.y_m + 0.14 + 0.9 * RADIUS_M * math.sin(a),
                0.0,
            )
            for a in np.linspace(0, 2 * math.pi, 28)
        ]
        pen.polygon(ring, fill=130)
    soft = layer.filter(ImageFilter.GaussianBlur(5))
    canvas.paste(Image.new("RGB", canvas.size, (28, 24, 30)), (0, 0), soft)


_Window: TypeAlias = tuple[slice, slice]
_Patch: TypeAlias = tuple[_Window, NDArray[np.bool_], NDArray[np.float64]]
"""Rows and columns, which of their pixels a thing covers, and its colours there."""


def _shape(thing: ClipShape, size: tuple[int, int]) -> _Patch:
    paint = np.asarray(PAINTS[thing.colour], float)
    if thing.shape == "ball":
        return _ball(thing, paint, size)
    if thing.shape in {"cube", "pyramid", "screen"}:
        return _faceted(thing, size)
    return _round(thing, paint, size)


def _whole(thing: ClipShape, mask: NDArray[np.bool_], window: _Window, size: tuple[int, int]) -> float:
    """Return how many pixels a thing would cover if the picture's edge did not cut it off.

    If it is cut off, count those of the same thing in the middle of the picture, at the same depth.
    """
    columns = np.flatnonzero(mask.any(axis=0)) + window[1].start
    if len(columns) and columns[0] > 0 and columns[-1] < size[0] - 1:
        return float(mask.sum())
    return float(_shape(replace(thing, x_m=CAMERA.x_m), size)[1].sum())


def _grid(
    thing: ClipShape, size: tuple[int, int]
) -> tuple[_Window, NDArray[np.float64], NDArray[np.float64]]:
    """Return the pixels round a thing: their rows and columns as slices, and as numbers (x, y)."""
    u, v, depth = project(thing.x_m, thing.y_m, RADIUS_M)
    reach = 2.2 * FOCAL_PX * RADIUS_M / depth * _SUPER
    left, right = (int(np.clip(u * _SUPER + side * reach, 0, size[0])) for side in (-1, 1))
    top, bottom = (int(np.clip(v * _SUPER + side * reach, 0, size[1])) for side in (-1, 1))
    rows, columns = np.mgrid[top:bottom, left:right]
    return (slice(top, bottom), slice(left, right)), columns.astype(float), rows.astype(float)


def _ball(thing: ClipShape, paint: NDArray[np.float64], size: tuple[int, int]) -> _Patch:
    u, v, depth = project(thing.x_m, thing.y_m, RADIUS_M)
    radius = FOCAL_PX * RADIUS_M / depth * _SUPER
    window, columns, rows = _grid(thing, size)
    x, y = (columns - u * _SUPER) / radius, (rows - v * _SUPER) / radius
    inside = x * x + y * y < 1
    z = np.sqrt(np.clip(1 - x * x - y * y, 0, 1))
    light = np.clip(-0.5 * x - 0.62 * y + 0.62 * z, 0, None)
    shine = np.clip(-0.42 * x - 0.56 * y + 0.72 * z, 0, 1) ** 28
    colour = paint * (0.36 + 0.72 * light)[..., None] + 190 * shine[..., None]
    return window, inside, colour


def _faceted(thing: ClipShape, size: tuple[int, int]) -> _Patch:
    """Draw the polygons whose fronts are seen, the far ones first."""
    colour = Image.new("RGB", size)
    mask = Image.new("1", size)
    pens = ImageDraw.Draw(colour), ImageDraw.Draw(mask)
    for corners in _faces(thing):
        points = np.asarray(corners)
        normal = np.cross(points[1] - points[0], points[2] - points[0])
        eye = np.array([CAMERA.x_m, CAMERA.y_m, CAMERA.z_m]) - points[0]
        if normal @ eye <= 0:
            continue
        light = 0.5 + 0.58 * max(0.0, float(normal @ _LIGHT) / float(np.linalg.norm(normal)))
        outline = [_at(*map(float, p)) for p in points]
        paint = shaded(PAINTS[thing.colour], light)
        pens[0].polygon(outline, fill=paint, outline=shaded(paint, 0.8))
        pens[1].polygon(outline, fill=1, outline=1)
    everywhere = slice(0, size[1]), slice(0, size[0])
    return everywhere, np.asarray(mask), np.asarray(colour, np.float64)


def _faces(thing: ClipShape) -> list[list[tuple[float, float, float]]]:
    """Return the corners of each face, counter-clockwise as seen from outside."""
    x, y = thing.x_m, thing.y_m
    if thing.shape == "screen":
        h, d, top = thing.width_m / 2, 0.06, SCREEN_HEIGHT_M
    else:
        h = d = RADIUS_M * 0.88
        top = 2 * h
    low = [(x - h, y - d, 0.0), (x + h, y - d, 0.0), (x + h, y + d, 0.0), (x - h, y + d, 0.0)]
    if thing.shape == "pyramid":
        tip = (x, y, 2.3 * h)
        return [[low[i], low[(i + 1) % 4], tip] for i in (2, 1, 3, 0)]
    high = [(a, b, top) for a, b, _ in low]
    sides = [[low[i], low[(i + 1) % 4], high[(i + 1) % 4], high[i]] for i in (2, 1, 3, 0)]
    return [*sides, high]


def _round(thing: ClipShape, paint: NDArray[np.float64], size: tuple[int, int]) -> _Patch:
    """Draw a cylinder, a barrel or a cone: stacked rings, so that its outline and shading follow the perspective."""
    height = {"cylinder": 1.9, "barrel": 2.0, "cone": 2.3}[thing.shape] * RADIUS_M
    window, columns, rows = _grid(thing, size)
    across = np.zeros(rows.shape)
    light = np.ones(rows.shape)
    inside = np.zeros(rows.shape, bool)
    for share in np.linspace(0, 1, _RINGS):
        u, v, depth = project(thing.x_m, thing.y_m, height * share)
        radius = FOCAL_PX * 0.92 * RADIUS_M * _girth(thing.shape, share) / depth * _SUPER
        flat = radius * math.sin(-math.radians(CAMERA.pitch_deg))
        x, y = (columns - u * _SUPER) / radius, (rows - v * _SUPER) / flat
        ring = x * x + y * y <= 1
        across[ring] = x[ring]
        is_hoop = thing.shape == "barrel" and min(abs(share - 0.25), abs(share - 0.75)) < 0.04
        light[ring] = 0.6 if is_hoop else 1.0
        inside |= ring
    light *= 0.42 + 0.62 * np.clip(0.82 - np.abs(across + 0.38), 0, 1)
    if thing.shape != "cone":
        light[ring] = 1.05
    return window, inside, paint * light[..., None]


def _girth(shape: str, share: float) -> float:
    """Return the width of a round shape at a share of its height."""
    if shape == "barrel":
        return 0.8 + 0.24 * math.sin(math.pi * share)
    return 1.02 - 0.98 * share if shape == "cone" else 1.0


def style_of(blend: float) -> tuple[Rgb, Rgb]:
    """Return table and wall, from oak under a pale wall to slate under a dark one: an irrelevant edit changes these."""
    return blended((203, 164, 116), (120, 150, 158), blend), blended((226, 224, 218), (86, 92, 118), blend)


# The world of clips: coloured shapes on a table roll, collide, come in, go out and hide behind a screen.


N_FRAMES, FRAME_S = 8, 0.6
DURATION_S = N_FRAMES * FRAME_S
SEEN_SHARE = 0.35
"""What shows less of itself than this counts as not in view."""
KINDS = ("partner", "side", "order", "moving")


@dataclass(frozen=True, slots=True)
class VideoScenario:
    """Everything that determines a clip."""

    split: Split
    kind: str
    """Which question is asked."""
    shapes: tuple[tuple[str, str], ...]
    """Colour and shape of each thing; no two have the same colour."""
    bodies: tuple[Body, ...]
    asked: tuple[int, ...]
    """The things that the question names."""
    screens: tuple[tuple[float, float, float], ...] = ((0.0, 1.2, 1.3),)
    """Where each screen stands, x and y, and how wide it is, in metres."""
    blend: float = 0.0
    """How far table and wall are changed."""

    def name(self, index: int) -> str:
        """Return for example *red ball*."""
        return " ".join(self.shapes[index])


def draft_video(rng: np.random.Generator, split: Split, index: int) -> VideoScenario:
    """Draft a clip of four things: one rolls towards another, one comes in from outside, one may rest behind a screen."""
    colours = rng.permutation(COLOURS[split])
    shapes = [str(s) for s in rng.permutation(SHAPES[split])] + [str(rng.choice(SHAPES[split]))]
    kind = KINDS[index % len(KINDS)]
    places = _spots(rng)
    target = int(rng.integers(1, 3))
    aim = np.array(places[target]) - places[0] + rng.normal(0, 0.12, 2)
    push = aim / np.hypot(*aim) * rng.uniform(1.1, 2.0)
    side = float(rng.choice([-1.0, 1.0]))
    depth = float(rng.uniform(0.5, 3.6))
    bodies = [
        Body(*places[0], float(push[0]), float(push[1]), float(rng.uniform(0.1, 1.6))),
        Body(*places[1]),
        Body(*places[2]),
        Body(
            side * 5.2,
            depth,
            -side * float(rng.uniform(1.6, 2.4)),
            float(rng.uniform(-0.3, 0.3)),
            float(rng.uniform(0, 1.4)),
        ),
    ]
    named = {
        "partner": (0,),
        "side": (0, target),
        "order": (3, 0),
        "moving": (int(rng.choice([0, target, 3])),),
    }
    screen = (float(rng.uniform(-1.6, 1.6)), float(rng.uniform(0.5, 1.6)), float(rng.uniform(1.0, 1.5)))
    rounded = tuple(
        Body(*(round(v, 3) for v in (b.x_m, b.y_m, b.vx_m_s, b.vy_m_s, b.start_s))) for b in bodies
    )
    return VideoScenario(
        split,
        kind,
        tuple((str(c), s) for c, s in zip(colours, shapes, strict=True)),
        rounded,
        named[kind],
        (tuple(round(v, 3) for v in screen),),  # type: ignore[arg-type]  # three numbers
    )


def _spots(rng: np.random.Generator) -> list[tuple[float, float]]:
    """Return three places that are at least a metre apart."""
    while True:
        spots = [(float(rng.uniform(-2.3, 2.3)), float(rng.uniform(0.4, 3.8))) for _ in range(3)]
        gaps = [np.hypot(a[0] - b[0], a[1] - b[1]) for i, a in enumerate(spots) for b in spots[:i]]
        if min(gaps) > 1.1:
            return spots


def video_episode(scenario: VideoScenario, name: str) -> Episode:
    """Simulate, draw, and ask."""
    motion = simulate(scenario.bodies, DURATION_S, radius_m=RADIUS_M)
    shots = [_shot(scenario, motion, i * FRAME_S) for i in range(N_FRAMES)]
    frames = tuple(shot for shot, _ in shots)
    actions = tuple(sorted(_actions(scenario, motion), key=lambda a: (a.start_s, a.verb, a.subject)))
    task, answer, options = _question(scenario, actions, frames)
    return Episode(
        name,
        task,
        frames,
        answer=answer,
        options=options,
        actions=actions,
        known=dict.fromkeys(ASPECTS, "complete"),
        vocabulary={
            "objects": (*SHAPES["in-distribution"], *SHAPES["ood"], "screen", "table"),
            "actions": ("enter", "leave", "collide", "move"),
        },
        world="video",
        split=scenario.split,
        difficulty={
            "frames": float(len(frames)),
            "objects": float(len(scenario.shapes)),
            "options": float(len(options)),
            "events": float(_n_events(actions)),
            "visible share": float(np.mean([s.share for _, seen in shots for s in seen.values()])),
        },
        cluster=name,
        meta={"scenario": dump(scenario), "kind": scenario.kind},
    )


def _shot(scenario: VideoScenario, motion: Motion, time_s: float) -> tuple[Frame, dict[str, Seen]]:
    """Return the picture of a moment and its truth."""
    places = motion.places_m[motion.moment(time_s)]
    things = [
        ClipShape(f"{c}-{s}", s, c, float(x), float(y))
        for (c, s), (x, y) in zip(scenario.shapes, places, strict=True)
    ]
    panels = [
        ClipShape(f"screen-{i + 1}", "screen", "grey", x, y, w)
        for i, (x, y, w) in enumerate(scenario.screens)
    ]
    pixels, seen = draw([*things, *panels], *style_of(scenario.blend))
    objects = []
    for i, thing in enumerate((*things, *panels)):
        shown = seen[thing.id]
        is_visible = shown.share >= SEEN_SHARE and shown.box is not None
        states = {} if thing.shape == "screen" else {"moving": motion.is_moving(time_s, i)}
        objects.append(
            FrameObject(
                thing.id,
                thing.shape,
                shown.box if is_visible else None,
                is_visible,
                {"colour": thing.colour},
                states,
                (round(thing.x_m, 4), round(thing.y_m, 4), 0.0),
            )
        )
    objects.append(FrameObject("table", "table"))
    relations = tuple(Relation(o.id, "on", "table") for o in objects[:-1])
    shot = Frame(round(time_s, 3), Picture.from_array(pixels), SIZE_PX, tuple(objects), relations, CAMERA)
    return shot, {thing.id: seen[thing.id] for thing in things}


def _actions(scenario: VideoScenario, motion: Motion) -> Iterator[Action]:
    """Yield collisions, described from both sides; things that come into the picture and go out of it; intervals of motion."""
    ids = [f"{c}-{s}" for c, s in scenario.shapes]
    for when, first, second in motion.collisions:
        if all(is_on_picture(*motion.places_m[motion.moment(when), i]) for i in (first, second)):
            yield Action("collide", ids[first], (ids[second],), when, when)
            yield Action("collide", ids[second], (ids[first],), when, when)
    times = np.arange(len(motion.places_m)) * (DURATION_S / (len(motion.places_m) - 1))
    for i, thing in enumerate(ids):
        inside = [is_on_picture(*position) for position in motion.places_m[:, i]]
        for k in np.flatnonzero(np.diff(np.asarray(inside, int))):
            when = round(float(times[k + 1]), 3)
            yield Action("enter" if inside[k + 1] else "leave", thing, (), when, when)
        moving = np.array([s > STILL_M_S for s in motion.speeds_m_s[:, i]], int)
        edges = np.flatnonzero(np.diff(np.concatenate(([0], moving, [0]))))
        for a, b in zip(edges[::2], edges[1::2], strict=True):
            yield Action(
                "move", thing, (), round(float(times[a]), 3), round(float(times[min(b, len(times) - 1)]), 3)
            )


def _question(
    scenario: VideoScenario, actions: Sequence[Action], frames: Sequence[Frame]
) -> tuple[str, str, tuple[str, ...]]:
    """Return the question, the answer (empty if it has none), and the options."""
    ids = [f"{c}-{s}" for c, s in scenario.shapes]
    names = [scenario.name(i) for i in range(len(ids))]
    first = scenario.asked[0]
    if scenario.kind == "partner":
        hits = [a.objects[0] for a in actions if a.verb == "collide" and a.subject == ids[first]]
        others = tuple(sorted(names[i] for i in range(len(ids)) if i != first))
        answer = names[ids.index(hits[0])] if hits else "nothing"
        return f"What does the {names[first]} collide with first?", answer, (*others, "nothing")
    if scenario.kind == "moving":
        end = frames[-1].find(ids[first])
        answer = "" if end is None or not end.is_visible else ("yes" if end.states["moving"] else "no")
        return f"Is the {names[first]} moving in the last frame?", answer, ("yes", "no")
    second = scenario.asked[1]
    if scenario.kind == "side":
        a, b = (frames[-1].find(ids[i]) for i in (first, second))
        answer = ""
        if a and b and a.box and b.box and abs(a.box.centre_px[0] - b.box.centre_px[0]) > 12:
            answer = "left" if a.box.centre_px[0] < b.box.centre_px[0] else "right"
        return (
            f"In the last frame, is the {names[first]} left or right of the {names[second]}?",
            answer,
            ("left", "right"),
        )
    enters = [a.start_s for a in actions if a.verb == "enter" and a.subject == ids[first]]
    hits_s = [a.start_s for a in actions if a.verb == "collide" and a.subject == ids[second]]
    options = (f"the {names[first]} comes in", f"the {names[second]} collides")
    answer = (
        ""
        if not enters or not hits_s or abs(enters[0] - hits_s[0]) < FRAME_S
        else options[enters[0] > hits_s[0]]
    )
    return f"What happens first: {options[0]}, or {options[1]}?", answer, options


def is_good_video(scenario: VideoScenario, wanted: int) -> bool:
    """Return whether a draft is worth drawing: a collision in view, two to four events, and the wanted answer."""
    motion = simulate(scenario.bodies, DURATION_S, radius_m=RADIUS_M)
    actions = sorted(_actions(scenario, motion), key=lambda a: (a.start_s, a.verb, a.subject))
    if not any(a.verb == "collide" for a in actions) or not 2 <= _n_events(actions) <= 4:
        return False
    needs_last = scenario.kind in {"side", "moving"}
    last = _shot(scenario, motion, (N_FRAMES - 1) * FRAME_S)[0] if needs_last else Frame(0.0)
    _, answer, options = _question(scenario, actions, [last])
    return answer == options[wanted % len(options)]


def _n_events(actions: Sequence[Action]) -> int:
    """Return the number of entries, exits and collisions; a collision is listed from both sides and counts once."""
    verbs = [a.verb for a in actions]
    return verbs.count("enter") + verbs.count("leave") + verbs.count("collide") // 2


def move_video(
    scenario: VideoScenario, rng: np.random.Generator, magnitude: float
) -> tuple[VideoScenario, str, float] | None:
    """Move the start of one thing in the question by `magnitude` times four metres; the physics is simulated anew."""
    for _ in range(60):
        i = int(rng.choice([k for k in range(len(scenario.bodies)) if k in scenario.asked and k != 3] or [1]))
        angle = rng.uniform(0, 2 * np.pi)
        body = scenario.bodies[i]
        x = round(body.x_m + 4 * magnitude * float(np.cos(angle)), 3)
        y = round(body.y_m + 4 * magnitude * float(np.sin(angle)), 3)
        others = [b for k, b in enumerate(scenario.bodies) if k != i]
        is_free = all(np.hypot(x - b.x_m, y - b.y_m) > 2.2 * RADIUS_M for b in others)
        if abs(x) <= 2.5 and 0.3 <= y <= 3.9 and is_free:
            bodies = tuple(replace(b, x_m=x, y_m=y) if k == i else b for k, b in enumerate(scenario.bodies))
            return replace(scenario, bodies=bodies), "-".join(scenario.shapes[i]), magnitude
    return None


def hide_video(scenario: VideoScenario, rng: np.random.Generator, magnitude: float) -> VideoScenario:
    """Add a screen before a thing in the question, half a metre plus twice the magnitude wide."""
    i = int(rng.choice([k for k in scenario.asked if k != 3] or [0]))
    motion = simulate(scenario.bodies, DURATION_S, radius_m=RADIUS_M)
    x, y = motion.places_m[motion.moment(DURATION_S - FRAME_S), i]
    scale = (y - 0.55 - CAMERA.y_m) / (y - CAMERA.y_m)  # on the line of sight
    panel = (round(float(x * scale), 3), round(float(y - 0.55), 3), round(0.5 + 2 * magnitude, 3))
    return replace(scenario, screens=(*scenario.screens, panel))


def answer_video(scenario: VideoScenario, episode: Episode) -> str:
    """Return the answer according to the episode's current frames and actions."""
    return _question(scenario, episode.actions, episode.frames)[1]


def restyle_video(scenario: VideoScenario, magnitude: float) -> VideoScenario:
    """Change table and wall."""
    return replace(scenario, blend=magnitude)
