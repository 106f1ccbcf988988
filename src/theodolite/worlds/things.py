"""The catalogue of objects, and an object in its place."""

from __future__ import annotations

import itertools
import math
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property

import numpy as np

from theodolite.geometry import SE3, Cuboid, PinholeCamera
from theodolite.worlds import indoors, outdoors
from theodolite.worlds.render.parts import Array, Part, extent, turn_z
from theodolite.worlds.render.shade import Light, Solid
from theodolite.worlds.scene_graph import Domain

Maker = Callable[[np.random.Generator], list[Part]]

INDOOR: Mapping[str, Maker] = {
    "bed": indoors.bed,
    "sofa": indoors.sofa,
    "armchair": indoors.armchair,
    "chair": indoors.chair,
    "office chair": indoors.office_chair,
    "stool": indoors.stool,
    "toilet": indoors.toilet,
    "bathtub": indoors.bathtub,
    "table": indoors.table,
    "coffee table": indoors.coffee_table,
    "desk": indoors.desk,
    "bookshelf": indoors.bookshelf,
    "wardrobe": indoors.wardrobe,
    "chest of drawers": indoors.chest_of_drawers,
    "refrigerator": indoors.refrigerator,
    "washing machine": indoors.washing_machine,
    "stove": indoors.stove,
    "microwave": indoors.microwave,
    "kitchen counter": indoors.kitchen_counter,
    "washbasin": indoors.washbasin,
    "piano": indoors.piano,
    "floor lamp": indoors.floor_lamp,
    "table lamp": indoors.table_lamp,
    "television": indoors.television,
    "monitor": indoors.monitor,
    "laptop": indoors.laptop,
    "potted plant": indoors.potted_plant,
    "rubbish bin": indoors.pedal_bin,
    "cardboard box": indoors.cardboard_box,
    "suitcase": indoors.suitcase,
    "vase": indoors.vase,
    "guitar": indoors.guitar,
    "clock": indoors.wall_clock,
    "framed picture": indoors.framed_picture,
    "fan": indoors.standing_fan,
    "bottle": indoors.wine_bottle,
    "backpack": indoors.backpack,
}
OUTDOOR: Mapping[str, Maker] = {
    "car": outdoors.car,
    "van": outdoors.van,
    "truck": outdoors.truck,
    "bus": outdoors.bus,
    "bicycle": outdoors.bicycle,
    "motorcycle": outdoors.motorcycle,
    "pedestrian": outdoors.person,
    "tree": outdoors.tree,
    "traffic cone": outdoors.traffic_cone,
    "barrier": outdoors.barrier,
    "street lamp": outdoors.street_lamp,
    "traffic light": outdoors.traffic_light,
    "stop sign": outdoors.stop_sign,
    "fire hydrant": outdoors.fire_hydrant,
    "wheelie bin": outdoors.wheelie_bin,
    "bus stop": outdoors.bus_stop,
    "bench": indoors.bench,
}
CATALOGUE: Mapping[str, Maker] = {**INDOOR, **OUTDOOR}


@dataclass(frozen=True, slots=True)
class GroundArea:
    """A rectangle on the ground."""

    corners: tuple[tuple[float, float], ...]
    middle: tuple[float, float]
    reach: float
    """From its middle to a corner."""


@dataclass(frozen=True, eq=False)
class Thing:
    """An object in the world. World frame: z up, the ground at 0, metres."""

    category: str
    parts: tuple[Part, ...]
    """In its own frame."""
    low: Array
    high: Array
    """The corners of its box in its own frame."""
    place: Array
    """Of its own origin, in the world."""
    turn_deg: float
    """About the vertical, counter-clockwise from above."""

    @property
    def world_SE3_thing(self) -> SE3:
        """From its own frame to the world's."""
        return SE3(turn_z(self.turn_deg), self.place)

    @property
    def cuboid_world(self) -> Cuboid:
        """Its box in the world."""
        middle = self.world_SE3_thing.apply((self.low + self.high) / 2)
        length, width, height = map(float, self.high - self.low)
        return Cuboid(SE3(turn_z(self.turn_deg), middle), length, width, height)

    @cached_property
    def outline(self) -> GroundArea:
        """Its box on the ground."""
        c, sine = math.cos(math.radians(self.turn_deg)), math.sin(math.radians(self.turn_deg))
        (x0, y0, _), (x1, y1, _), (px, py, _) = self.low.tolist(), self.high.tolist(), self.place.tolist()
        corners = tuple(
            (px + c * x - sine * y, py + sine * x + c * y)
            for x, y in ((x0, y0), (x1, y0), (x1, y1), (x0, y1))
        )
        (ax, ay), (cx, cy) = corners[0], corners[2]
        return GroundArea(corners, ((ax + cx) / 2, (ay + cy) / 2), math.hypot(ax - cx, ay - cy) / 2)

    @property
    def footprint(self) -> Array:
        """Shape (4, 2): the corners of its box on the ground."""
        return np.array(self.outline.corners)

    @cached_property
    def span_m(self) -> tuple[float, float]:
        """The heights of its lower and its upper side above the ground."""
        return float(self.low[2] + self.place[2]), float(self.high[2] + self.place[2])

    @property
    def top_m(self) -> float:
        """Height of its upper side above the ground."""
        return self.span_m[1]


N_VARIANTS = 20
"""Number of different objects of each category."""


@cache
def variant(category: str, number: int) -> tuple[tuple[Part, ...], Array, Array]:
    """Build the parts of one object of a category, and the corners of its box; the same on every machine."""
    parts = tuple(CATALOGUE[category](np.random.default_rng([zlib.crc32(category.encode()), number])))
    return parts, *extent(parts)


_SIZES = (0.86, 1.16)
"""The smallest and the largest of a category that is built in one size, compared with that size."""


@cache
def _has_one_size(category: str) -> bool:
    extents = [high - low for _, low, high in (variant(category, number) for number in range(4))]
    return bool(np.ptp(extents, axis=0).max() < 0.02 * np.max(extents))


@cache
def sized(category: str, number: int) -> tuple[tuple[Part, ...], Array, Array]:
    """Return what `variant` does, in a size of its own if the category is built in one size.

    Otherwise a model that knows the category would know the size, and from the size in the picture the distance.
    """
    parts, low, high = variant(category, number)
    if not _has_one_size(category):
        return parts, low, high
    rank = np.random.default_rng([zlib.crc32(category.encode()), N_VARIANTS]).permutation(N_VARIANTS)[number]
    factor = float(np.geomspace(*_SIZES, N_VARIANTS)[rank])
    return tuple(part.scaled(factor) for part in parts), factor * low, factor * high


def thing_of(category: str, number: int, place: Sequence[float], turn_deg: float = 0.0) -> Thing:
    """Return a particular object of a category at a place, in the size in which it is built: small rooms rest on it."""
    parts, low, high = variant(category, number)
    return Thing(category, parts, low, high, np.asarray(place, np.float64), turn_deg)


def new_thing(
    category: str, rng: np.random.Generator, place: Sequence[float], turn_deg: float = 0.0
) -> Thing:
    """Return a random object of a category at a place, in a size of its own."""
    parts, low, high = sized(category, int(rng.integers(N_VARIANTS)))
    return Thing(category, parts, low, high, np.asarray(place, np.float64), turn_deg)


def moved(thing: Thing, place: Sequence[float], turn_deg: float) -> Thing:
    """Return the same object at another place."""
    return Thing(thing.category, thing.parts, thing.low, thing.high, np.asarray(place, np.float64), turn_deg)


@dataclass(frozen=True, slots=True, eq=False)
class World:
    """Objects, what surrounds them, and a camera."""

    domain: Domain
    things: tuple[Thing, ...]
    backdrop: Callable[[], tuple[Solid, ...]]
    """Builds ground, walls and houses, which hide no object."""
    camera: PinholeCamera
    world_SE3_cam: SE3
    light: Light


def are_apart(one: GroundArea, two: GroundArea, gap_m: float) -> bool:
    """Return True if two rectangles are separated by at least a gap along the normal of one of their edges."""
    if math.dist(one.middle, two.middle) >= one.reach + two.reach + gap_m:
        return True
    for corners in (one.corners, two.corners):
        for (ax, ay), (bx, by) in itertools.pairwise(corners[:3]):
            length = math.hypot(bx - ax, by - ay) or 1e-9
            nx, ny = (by - ay) / length, (ax - bx) / length
            mine = [nx * x + ny * y for x, y in one.corners]
            other = [nx * x + ny * y for x, y in two.corners]
            if min(mine) - max(other) >= gap_m or min(other) - max(mine) >= gap_m:
                return True
    return False


def is_free(thing: Thing, others: Sequence[Thing], gap_m: float) -> bool:
    """Return True if an object is clear of all others; objects at different heights do not collide."""
    low, high = thing.span_m
    for other in others:
        bottom, top = other.span_m
        if low < top - 1e-6 and bottom < high - 1e-6 and not are_apart(thing.outline, other.outline, gap_m):
            return False
    return True


def look(eye_m: Sequence[float], yaw_deg: float, pitch_deg: float) -> SE3:
    """Return the pose world_SE3_cam of a camera at a place; yaw counter-clockwise from world x, pitch upwards."""
    yaw, pitch = np.radians(yaw_deg), np.radians(pitch_deg)
    forward = np.array([np.cos(yaw) * np.cos(pitch), np.sin(yaw) * np.cos(pitch), np.sin(pitch)])
    right = np.array([np.sin(yaw), -np.cos(yaw), 0.0])
    return SE3(np.stack([right, np.cross(forward, right), forward], axis=1), np.asarray(eye_m, np.float64))
