"""Scene graphs: the objects of a picture, their sizes and positions in metres, and the words for their relations."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, TypeAlias, get_args

import numpy as np
from numpy.typing import NDArray

from theodolite.core.errors import UsageError
from theodolite.geometry import SE3, Box, Cuboid, PinholeCamera

# Where one object is relative to another: six words, each with the threshold that makes it true.
#
# With ``dx, dz, …`` the difference *target minus reference*, in metres, and ε = 0.2 m:
#
# ========================  =====================================================================
# right, left               dx > ε, dx < −ε along the camera's horizontal right
# behind, in front of       dz > ε, dz < −ε along the camera's horizontal forward: *in front of* is
#                           nearer to the camera, as a person looking at both would say
# up                        bottom(target) − top(reference) > −ε, along the world's vertical
# down                      top(target) − bottom(reference) < ε
# ========================  =====================================================================
#
# Two flat objects at one height satisfy both *up* and *down*; then neither word is used. (The public code keeps both, and
# measures dx and dz in the camera's own frame, which may be tilted.)


Predicate: TypeAlias = Literal["left", "right", "in front of", "behind", "up", "down"]
PREDICATES: tuple[Predicate, ...] = get_args(Predicate)
OPPOSITE: Mapping[Predicate, Predicate] = {
    "left": "right",
    "right": "left",
    "in front of": "behind",
    "behind": "in front of",
    "up": "down",
    "down": "up",
}
PAIRS: tuple[tuple[Predicate, Predicate], ...] = (
    ("left", "right"),
    ("in front of", "behind"),
    ("up", "down"),
)
"""The three pairs of words that exclude each other."""

RELATION_MARGIN_M = 0.2
"""ε: closer together than this along an axis, neither word is true."""

Relation: TypeAlias = frozenset[Predicate]


@dataclass(frozen=True, slots=True)
class Stand:
    """The input of the six relation words: metres to the right, forward, and of the bottom and top along the vertical."""

    right_m: float
    forward_m: float
    bottom_m: float
    top_m: float


def relation(target: Stand, reference: Stand) -> Relation:
    """Return the words that are true of the target relative to the reference.

    >>> sorted(relation(Stand(1.0, 2.0, 0, 1), Stand(0.0, 5.0, 0, 1)))
    ['in front of', 'right']
    """
    dx, dz = target.right_m - reference.right_m, target.forward_m - reference.forward_m
    true_words: set[Predicate] = set()
    if abs(dx) > RELATION_MARGIN_M:
        true_words.add("right" if dx > 0 else "left")
    if abs(dz) > RELATION_MARGIN_M:
        true_words.add("behind" if dz > 0 else "in front of")
    is_up = target.bottom_m - reference.top_m > -RELATION_MARGIN_M
    is_down = target.top_m - reference.bottom_m < RELATION_MARGIN_M
    if is_up and not is_down:
        true_words.add("up")
    if is_down and not is_up:
        true_words.add("down")
    return frozenset(true_words)


def opposite(words: Iterable[Predicate]) -> Relation:
    """Return the words that are true in the other direction.

    >>> sorted(opposite({"left", "up"}))
    ['down', 'right']
    """
    return frozenset(OPPOSITE[word] for word in words)


def in_order(words: Iterable[str]) -> list[Predicate]:
    """Return the words in the order of `PREDICATES`, in which they are written to files and prompts."""
    present = set(words)
    return [word for word in PREDICATES if word in present]


# Scene graphs: the objects of a picture, their sizes and positions in metres.
#
# `SceneGraph` holds the ground truth of one picture. `StarGraph` is the form that models are asked for and that the solver
# uses: the marked objects with size and distance to the camera, and one edge from a centre object to each other one. A model
# knows objects only by the number of their mark.


Domain: TypeAlias = Literal["indoor", "outdoor"]
Difficulty: TypeAlias = Literal["easy", "medium", "hard"]
Crowding: TypeAlias = Literal["sparse", "common", "dense"]
Triple: TypeAlias = tuple[float, float, float]

CENTRE_TOLERANCE_M = 0.5
"""Objects this much farther from the centroid than the nearest one still tie with it; the largest of them is the centre."""
DECIMALS = 2
"""Decimals of metres, in graphs and in answers."""


_FARTHEST_M = 1e6


@dataclass(frozen=True, slots=True)
class SceneObject:
    """One marked object. Camera frame: x right, y down, z forward, metres."""

    id: int
    """The number of its mark, from 1. Numbers are assigned at random, independent of place, size and kind."""
    category: str
    """What it is. Never shown to a model."""
    centre_cam: Triple
    """The middle of its box, in the camera's frame."""
    rotation_cam: tuple[float, float, float, float]
    """w, x, y, z: from the box's own axes (x along the length, y along the width, z along the height) to the camera's."""
    length_m: float
    width_m: float
    height_m: float
    box_px: Box
    """The upright box around its visible part, inside the picture."""
    visibility: float | None = None
    """Share of its pixels that no other object hides; None if the source does not say."""
    truncation: float = 0.0
    """Share of its projected box that lies outside the picture."""
    key: str = ""
    """Its name in the source, such as an instance token."""

    def __post_init__(self) -> None:
        if self.id < 1:
            raise UsageError(f"a mark is a number from 1, not {self.id}")
        if not all(abs(v) <= _FARTHEST_M for v in (*self.centre_cam, *self.size_lwh_m)) or (
            min(self.size_lwh_m) <= 0
        ):
            raise UsageError(
                f"object {self.id} needs a place and three lengths above zero, in metres up to {_FARTHEST_M:g}"
            )
        if not 0 < math.hypot(*self.rotation_cam) < math.inf:
            raise UsageError(f"object {self.id} needs a quaternion that is finite and not zero")

    @property
    def size_lwh_m(self) -> Triple:
        """Length, width, height."""
        return self.length_m, self.width_m, self.height_m

    @property
    def volume_m3(self) -> float:
        """Of its box."""
        return self.length_m * self.width_m * self.height_m

    @property
    def distance_m(self) -> float:
        """From the camera to the middle of its box."""
        return math.hypot(*self.centre_cam)

    @property
    def cuboid_cam(self) -> Cuboid:
        """Its box in the camera's frame."""
        return Cuboid(SE3.from_quaternion(self.rotation_cam, self.centre_cam), *self.size_lwh_m)


@dataclass(frozen=True, slots=True)
class GivenEdge:
    """An edge of the star as a source states it."""

    to: int
    distance_m: float
    words: tuple[Predicate, ...]


@dataclass(frozen=True)
class SceneGraph:
    """Ground truth of one picture."""

    id: str
    domain: Domain
    objects: tuple[SceneObject, ...]
    """In the order of their marks: 1, 2, 3 …"""
    camera: PinholeCamera
    up_cam: Triple
    """The world's upward direction in the camera's frame, of length one. A level camera has (0, −1, 0)."""
    camera_height_m: float = 0.0
    """Of the camera above the ground; 0 if unknown."""
    picture: str = ""
    """The plain picture, relative to the data set's folder; empty without one."""
    marked: str = ""
    """The picture with marks, relative to the data set's folder; empty without one."""
    source: str = ""
    """Where it comes from, such as ``made`` or ``nuscenes``."""
    given_centre: int | None = None
    """The mark of the centre object, if the source states the star."""
    given_edges: tuple[GivenEdge, ...] = ()
    """The star as the source states it, by rules that may differ from ours: then questions about it follow those."""

    def __post_init__(self) -> None:
        if [thing.id for thing in self.objects] != list(range(1, len(self.objects) + 1)):
            raise UsageError(f"the objects of scene {self.id!r} must be numbered 1, 2, 3 … in order")
        if len(self.objects) < 2:
            raise UsageError(f"scene {self.id!r} needs at least two objects, it has {len(self.objects)}")
        if abs(math.hypot(*self.up_cam) - 1) > 1e-6 or abs(self.up_cam[2]) > 0.999:
            raise UsageError(f"scene {self.id!r}: up must have length one and not lie along the viewing axis")

    def __getitem__(self, mark: int) -> SceneObject:
        """Return the object with this mark."""
        if not 1 <= mark <= len(self.objects):
            raise UsageError(f"scene {self.id!r} has no object {mark}; it has 1 to {len(self.objects)}")
        return self.objects[mark - 1]

    @cached_property
    def level_axes_cam(self) -> NDArray[np.float64]:
        """Shape (3, 3), rows right, forward, up: the camera's axes turned level, in the camera's frame."""
        up = np.asarray(self.up_cam, np.float64)
        forward = np.array([0.0, 0.0, 1.0]) - up[2] * up
        forward /= np.linalg.norm(forward)
        return np.stack([np.cross(forward, up), forward, up])

    @cached_property
    def places_level_m(self) -> NDArray[np.float64]:
        """Shape (objects, 3): right of, forward of and above the camera, with the vertical upright."""
        return np.array([thing.centre_cam for thing in self.objects]) @ self.level_axes_cam.T

    def stand(self, mark: int) -> Stand:
        """Return what `relation` needs to know about an object."""
        right, forward, up = map(float, self.places_level_m[mark - 1])
        half = self[mark].height_m / 2
        return Stand(right, forward, up - half, up + half)

    def relation(self, target: int, reference: int) -> Relation:
        """Return the words that are true of the target relative to the reference."""
        return relation(self.stand(target), self.stand(reference))

    def between_m(self, first: int, second: int) -> float:
        """Return the distance from middle to middle, in space."""
        return math.dist(self[first].centre_cam, self[second].centre_cam)

    @cached_property
    def centre(self) -> int:
        """The mark of the centre object: nearest to the centroid; within half a metre of that, the largest."""
        if self.given_centre is not None:
            return self.given_centre
        places = np.array([thing.centre_cam for thing in self.objects])
        gaps = np.linalg.norm(places - places.mean(axis=0), axis=1)
        near = [
            thing
            for thing, gap in zip(self.objects, gaps, strict=True)
            if gap - gaps.min() <= CENTRE_TOLERANCE_M
        ]
        return max(near, key=lambda thing: (thing.volume_m3, -thing.id)).id

    @property
    def n_edges(self) -> int:
        """Of the star: all objects but the centre, unless the source states others."""
        return len(self.given_edges) or len(self.objects) - 1

    @property
    def difficulty(self) -> Difficulty:
        """By the edges of the star: 1–2 easy, 3–7 medium, 8 and more hard."""
        return "easy" if self.n_edges <= 2 else "medium" if self.n_edges <= 7 else "hard"

    @property
    def crowding(self) -> Crowding:
        """By the number of objects: up to 3 sparse, up to 8 common, more dense."""
        n = len(self.objects)
        return "sparse" if n <= 3 else "common" if n <= 8 else "dense"

    def star(self) -> StarGraph:
        """Return the true graph around the centre object, in metres with two decimals."""
        nodes = tuple(
            Node(
                thing.id,
                distance_m=round(thing.distance_m, DECIMALS),
                width_m=round(thing.width_m, DECIMALS),
                length_m=round(thing.length_m, DECIMALS),
                height_m=round(thing.height_m, DECIMALS),
            )
            for thing in self.objects
        )
        edges = tuple(
            Edge(edge.to, round(edge.distance_m, DECIMALS), frozenset(edge.words))
            for edge in self.given_edges
        ) or tuple(
            Edge(
                thing.id,
                distance_m=round(self.between_m(self.centre, thing.id), DECIMALS),
                relation=self.relation(thing.id, self.centre),
            )
            for thing in self.objects
            if thing.id != self.centre
        )
        return StarGraph(self.centre, nodes, edges)


@dataclass(frozen=True, slots=True)
class Node:
    """An object in a star graph. A value is None if a model left it out; never in a true graph."""

    id: int
    distance_m: float | None
    """To the camera."""
    width_m: float | None
    length_m: float | None
    height_m: float | None


@dataclass(frozen=True, slots=True)
class Edge:
    """From the centre to another object. The words say where that object is, relative to the centre."""

    to: int
    distance_m: float | None
    relation: Relation
    """May be contradictory in a model's graph, never in a true one."""


@dataclass(frozen=True, slots=True)
class StarGraph:
    """A star: the centre, every object, and an edge from the centre to each of the others."""

    centre: int
    nodes: tuple[Node, ...]
    edges: tuple[Edge, ...]

    def node(self, mark: int) -> Node | None:
        """Return the object with this mark, if there is one."""
        return next((node for node in self.nodes if node.id == mark), None)

    def edge(self, mark: int) -> Edge | None:
        """Return the edge from the centre to this object, if there is one."""
        return next((edge for edge in self.edges if edge.to == mark), None)

    def as_json(self) -> dict[str, Any]:
        """Return the form that a model is asked for: objects and edges, identified by their marks."""
        return {
            "objects": [
                {
                    "id": node.id,
                    "dist_to_cam": node.distance_m,
                    "size": {"w": node.width_m, "l": node.length_m, "h": node.height_m},
                }
                for node in self.nodes
            ],
            "edges": [
                {
                    "from": self.centre,
                    "to": edge.to,
                    "distance": edge.distance_m,
                    "relation": in_order(edge.relation),
                }
                for edge in self.edges
            ],
        }
