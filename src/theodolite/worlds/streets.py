"""Streets: two lanes or more between pavements and houses, with traffic, people and street furniture.

World frame: x along the road, y to the left, z up.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from theodolite.geometry import SE3, PinholeCamera
from theodolite.worlds.looks import between, pick, plain, textured
from theodolite.worlds.render.parts import Part, box, cone
from theodolite.worlds.render.shade import Light, Solid
from theodolite.worlds.things import Thing, World, is_free, look, new_thing

KERB_M = 0.12
PAVEMENT_M = 3.2
SIZE_PX = (1200, 675)
_SPOTS: tuple[tuple[str, float], ...] = (
    ("lane", 0.2),
    ("parked", 0.26),
    ("pavement", 0.42),
    ("works", 0.12),
)


def make_street(rng: np.random.Generator, n_things: int) -> World:
    """Make a street with about `n_things` objects in view of a camera on the road."""
    half = between(rng, 3.6, 5.2)
    eye = (0.0, between(rng, -half * 0.55, half * 0.35), between(rng, 1.5, 1.9))
    camera = PinholeCamera.from_field_of_view(between(rng, 62, 72), SIZE_PX)
    yaw = between(rng, -9, 9)
    things: list[Thing] = []
    works = between(rng, 7, 18), (1 if rng.random() < 0.5 else -1) * between(rng, 1.2, half - 0.8)
    for _ in range(12 * n_things):
        if len(things) == n_things:
            break
        spot = str(rng.choice([name for name, _ in _SPOTS], p=[share for _, share in _SPOTS]))
        thing = _SPOT_MAKERS[spot](rng, half, works)
        most = {"traffic cone": 4, "barrier": 2, "stop sign": 1, "bus stop": 1, "bus": 1}.get(
            thing.category, 6
        )
        if sum(other.category == thing.category for other in things) >= most:
            continue
        if _is_ahead(thing, eye, yaw, camera) and is_free(thing, things, 0.35):
            things.append(thing)
    seed = int(rng.integers(2**32))
    sun = between(rng, -140, 140)
    light = Light(
        (float(np.cos(np.radians(sun))), float(np.sin(np.radians(sun))), between(rng, 0.9, 1.8)),
        sun=(1.4, 1.27, 1.08),
        sky=(0.36, 0.44, 0.58),
        ground=(0.24, 0.23, 0.22),
        haze_m=between(rng, 450, 1200),
        softness_px=0.8,
    )
    return World(
        "outdoor",
        tuple(things),
        partial(_backdrop, seed, half),
        camera,
        look(eye, yaw, between(rng, -5, -2)),
        light,
    )


def _is_ahead(thing: Thing, eye: tuple[float, float, float], yaw_deg: float, camera: PinholeCamera) -> bool:
    """Return True if its middle is well within the camera's field of view."""
    way = thing.place[:2] - np.array(eye[:2])
    bearing = np.degrees(np.arctan2(way[1], way[0])) - yaw_deg
    reach = np.degrees(np.arctan(camera.width_px / 2 / camera.fx_px))
    return bool(abs(bearing) < 0.92 * reach and np.hypot(*way) > 3.5)


def _far(rng: np.random.Generator, low: float, high: float) -> float:
    """Return a random distance; smaller ones are more frequent."""
    return float(low * (high / low) ** rng.random())


def _lane(rng: np.random.Generator, half: float, _: tuple[float, float]) -> Thing:
    """Place a vehicle in a lane: on the right half ahead of us, on the left half towards us."""
    kind = str(rng.choice(["car", "car", "car", "van", "truck", "bus", "motorcycle", "bicycle"]))
    is_oncoming = rng.random() < 0.5
    y = (half * 0.5 if is_oncoming else -half * 0.5) + between(rng, -0.35, 0.35)
    low = 14.0 if kind in {"truck", "bus"} else 7.0
    return new_thing(kind, rng, (_far(rng, low, 42), y, 0.0), 180.0 if is_oncoming else 0.0)


def _parked(rng: np.random.Generator, half: float, _: tuple[float, float]) -> Thing:
    """Place a vehicle at the kerb."""
    kind = str(rng.choice(["car", "car", "car", "car", "van", "motorcycle", "truck"]))
    side = 1 if rng.random() < 0.5 else -1
    low = 12.0 if kind == "truck" else 6.0
    turn = (180.0 if side > 0 else 0.0) + between(rng, -3, 3)
    return new_thing(kind, rng, (_far(rng, low, 36), side * (half - 1.15), 0.0), turn)


def _pavement(rng: np.random.Generator, half: float, _: tuple[float, float]) -> Thing:
    """Place people anywhere on the pavement; furniture along the kerb, facing the road or the traffic."""
    kinds = ["pedestrian"] * 7 + [
        "bench",
        "wheelie bin",
        "fire hydrant",
        "street lamp",
        "tree",
        "tree",
        "bicycle",
    ]
    kinds += ["traffic light", "stop sign", "bus stop"]
    kind = str(rng.choice(kinds))
    side = 1 if rng.random() < 0.5 else -1
    near = {"pedestrian": 5.0, "street lamp": 11.0, "tree": 11.0, "bus stop": 9.0, "traffic light": 7.0}.get(
        kind, 4.5
    )
    x = _far(rng, near, 38 if kind in {"pedestrian", "tree", "street lamp", "bus stop"} else 22)
    road = -90.0 if side > 0 else 90.0
    if kind == "pedestrian":
        return new_thing(
            kind, rng, (x, side * (half + between(rng, 0.5, PAVEMENT_M - 0.4)), KERB_M), between(rng, 0, 360)
        )
    if kind in {"traffic light", "stop sign"}:
        return new_thing(kind, rng, (x, side * (half + 0.45), KERB_M), 180.0 + between(rng, -12, 12))
    if kind == "bicycle":
        return new_thing(kind, rng, (x, side * (half + 0.8), KERB_M), road + between(rng, -75, 75))
    depth = {"bench": 1.0, "bus stop": 1.6, "tree": 0.8, "wheelie bin": 2.4}.get(kind, 0.6)
    return new_thing(kind, rng, (x, side * (half + depth), KERB_M), road + between(rng, -8, 8))


def _works(rng: np.random.Generator, half: float, works: tuple[float, float]) -> Thing:
    """Place cones and barriers around one position on the road."""
    kind = "traffic cone" if rng.random() < 0.7 else "barrier"
    x, y = works[0] + between(rng, -3.5, 5), works[1] + between(rng, -1.4, 1.4)
    return new_thing(
        kind, rng, (x, float(np.clip(y, -half + 0.4, half - 0.4)), 0.0), 180.0 + between(rng, -25, 25)
    )


_SPOT_MAKERS: dict[str, Callable[[np.random.Generator, float, tuple[float, float]], Thing]] = {
    "lane": _lane,
    "parked": _parked,
    "pavement": _pavement,
    "works": _works,
}


def _backdrop(seed: int, half: float) -> tuple[Solid, ...]:
    """Build ground, road, markings, pavements, houses and distant hills."""
    rng = np.random.default_rng(seed)
    ground = Part(
        "convex",
        textured("#6f8a4a", "#56703a", "leaves", 0.9),
        np.zeros((0, 3)),
        np.array([[0, 0, 1.0]]),
        np.array([-0.02]),
    )
    asphalt = textured("#55575a", "#6d6f72", "speckle", 0.12)
    flags = textured("#a9a49a", "#7f7a71", "tiles", 0.6)
    flat: list[Part] = [ground, box((95, 0, -0.05), (230, 2 * half, 0.1), asphalt)]
    white = plain("#e9e7df")
    flat += [box((x, 0, 0.004), (3.0, 0.13, 0.006), white) for x in np.arange(-6, 90, 6.0)]
    flat += [box((95, side * (half - 0.22), 0.003), (230, 0.12, 0.004), white) for side in (-1, 1)]
    if rng.random() < 0.45:
        x = between(rng, 9, 22)
        flat += [
            box((x, y, 0.004), (2.8, 0.45, 0.007), white) for y in np.arange(-half + 0.5, half - 0.3, 0.95)
        ]
    for side in (-1, 1):
        flat.append(box((95, side * (half + PAVEMENT_M / 2), KERB_M / 2), (230, PAVEMENT_M, KERB_M), flags))
        flat.append(
            box(
                (95, side * (half + 0.075), KERB_M / 2 + 0.002), (230, 0.15, KERB_M + 0.004), plain("#c4c0b6")
            )
        )
    raised = _houses(rng, half)
    here = SE3.identity()
    return (
        Solid(tuple(flat), here, 0, casts_shadow=False),
        Solid(tuple(raised), here, 0, casts_shadow=False),
    )


def _houses(rng: np.random.Generator, half: float) -> list[Part]:
    """Build two rows of fronts with windows, doors and roofs; a hedge in the gaps; hills at the end."""
    parts: list[Part] = []
    fronts = ("#b5714f", "#c9b38a", "#9fa7ad", "#d8cdb8", "#8f6a58", "#a8b09a")
    for side in (-1, 1):
        x = -12.0
        while x < 120:
            wide = between(rng, 9, 17)
            if rng.random() < 0.8:
                high, deep = between(rng, 6, 14), 9.0
                setback = half + PAVEMENT_M + between(rng, 0.2, 1.6)
                texture = textured(pick(rng, fronts), "#2c3a46", "facade", between(rng, 2.4, 3.0))
                y = side * (setback + deep / 2)
                parts.append(box((x + wide / 2, y, high / 2), (wide - 0.4, deep, high), texture))
                parts.append(
                    box((x + wide / 2, y, high + 0.15), (wide - 0.1, deep + 0.4, 0.35), plain("#54463c"))
                )
                parts.append(
                    box(
                        (x + wide * 0.3, side * (setback - 0.02), 1.1),
                        (1.1, 0.08, 2.2),
                        plain(pick(rng, ("#5a2a1f", "#1f3f5a", "#2f4a2a"))),
                    )
                )
            else:
                hedge = textured("#24501f", "#4f8a34", "leaves", 0.25)
                parts.append(
                    box((x + wide / 2, side * (half + PAVEMENT_M + 0.9), 0.8), (wide, 1.0, 1.6), hedge)
                )
            x += wide
    hills = textured("#4a6a4a", "#6d8a5c", "leaves", 9.0)
    parts += [
        cone((150 + 8 * (k % 3), -75 + 25 * k, -2), between(rng, 12, 22), (34, 6), hills) for k in range(7)
    ]
    return parts
