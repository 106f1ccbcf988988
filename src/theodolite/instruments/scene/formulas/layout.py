"""From a star graph to one map on the ground, with all lengths taken as exact: the map of the geometric solver.

A star graph has no coordinates, but nearly determines them. With ρ_c, ρ_i the distances from the camera to the centre and to
object i along the ground, and R_i the distance between the two, the law of cosines gives the angle φ_i at the centre between
the directions to the camera and to i,

    cos φ_i = (ρ_c² + R_i² − ρ_i²) / (2 ρ_c R_i).

Two things remain open: on which side of the line of sight i lies, and the direction β of the centre from straight ahead. They
are decided by the words (left, right, in front of, behind), whose thresholds a place may violate by some metres, and by the
picture: all marked objects are in view, and are spread around its middle. For each β on a grid, and each side,

    cost = Σ violations² / 2τ² + Σ max(0, |bearing_i| − v)² / 2w²,

and each object takes the cheaper side; β is the mean over the grid with weights exp(−Σ cost − m² / 2s² − β² / 2σ²), where m is
the middle between the leftmost and the rightmost bearing.

The graph does not contain heights above the ground. Objects that are neither above nor below each other are assumed to stand
on the same ground, an object above another to stand on it, and the camera to be at eye height.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from theodolite.instruments.scene.data.graph import Edge, Node, StarGraph
from theodolite.instruments.scene.data.questions import Kind
from theodolite.instruments.scene.data.relations import RELATION_MARGIN_M, Predicate, Relation

EYE_HEIGHT_M = 1.5
"""Of a hand-held camera, or one on a car."""
_BEARINGS = np.radians(np.arange(-45.0, 45.5, 1.0))
_CENTRE_SPREAD = math.radians(20.0)
"""σ: the typical bearing of the centre object."""
_MIDDLE_SPREAD = math.radians(10.0)
"""s: the typical bearing of the middle of all marks."""
_VIEW, _VIEW_SOFTNESS = math.radians(38.0), math.radians(5.0)
"""v and w: half of a typical horizontal field of view, and its tolerance."""
_TAU_M = 0.1
"""τ: the tolerance of a word's threshold, for unknown heights and rounding."""
ROUNDING_M = 0.02
"""The tolerance of the triangle inequality: three lengths of two decimals."""

FORWARD: Mapping[str, tuple[float, float]] = {
    "right": (1.0, 0.0),
    "left": (-1.0, 0.0),
    "behind": (0.0, 1.0),
    "in front of": (0.0, -1.0),
}
"""The four words along the ground, as (right, forward)."""
ASKED_WORD: Mapping[Kind, Predicate] = {
    "is in front": "in front of",
    "is behind": "behind",
    "is left": "left",
    "is right": "right",
    "is above": "up",
    "is below": "down",
}
"""The word that each yes-or-no question asks about."""


@dataclass(frozen=True, slots=True)
class Layout:
    """Places along the ground, (right, forward) of the camera in metres."""

    places_m: Mapping[int, tuple[float, float]]
    """By mark; without objects whose numbers do not determine a place."""
    bearing_deg: float
    """Of the centre from straight ahead, clockwise."""
    by_compass: frozenset[int]
    """Objects placed by their words alone, since their distance to the camera is missing."""

    def offset_m(self, target: int, reference: int) -> tuple[float, float] | None:
        """From one object to another; None if one of them has no place."""
        if target not in self.places_m or reference not in self.places_m:
            return None
        (x, z), (x0, z0) = self.places_m[target], self.places_m[reference]
        return x - x0, z - z0


def lay_out(graph: StarGraph) -> Layout:
    """Places the objects of a star graph on the ground.

    >>> from theodolite.instruments.scene.data.graph import Edge, Node
    >>> graph = StarGraph(1, (Node(1, 8.0, 1, 1, 3), Node(2, 10.0, 1, 1, 3)), (Edge(2, 6.0, frozenset({"right"})),))
    >>> [round(value) for value in lay_out(graph).offset_m(2, 1)]
    [6, 0]
    """
    centre = graph.node(graph.centre)
    camera = None if centre is None else centre.distance_m
    nodes = {node.id: node for node in graph.nodes}
    known: list[tuple[int, float, float, Relation]] = []
    compass: list[tuple[int, float, Relation]] = []
    drop = (centre.height_m or 0.0) / 2 - EYE_HEIGHT_M if centre is not None else 0.0
    for edge in graph.edges:
        node = nodes.get(edge.to)
        if edge.distance_m is None:
            continue
        rise = rise_m(edge, node, centre)
        apart = along_ground(edge.distance_m, rise)
        if camera is not None and node is not None and node.distance_m is not None:
            known.append((edge.to, apart, along_ground(node.distance_m, drop + rise), edge.relation))
        else:
            compass.append((edge.to, apart, edge.relation))
    ahead = along_ground(camera, drop) if camera is not None else 0.0
    bearing, offsets = _resolve(known, ahead)
    for mark, apart, words in compass:
        step = compass_step(words)
        if step is not None:
            offsets[mark] = (step[0] * apart, step[1] * apart)
    start = (ahead * math.sin(bearing), ahead * math.cos(bearing))
    places = {mark: (start[0] + x, start[1] + z) for mark, (x, z) in offsets.items()}
    if centre is not None:
        places[graph.centre] = start
    by_compass = frozenset(mark for mark, _, _ in compass if mark in offsets)
    return Layout(places, math.degrees(bearing), by_compass)


def compass_step(words: Relation) -> tuple[float, float] | None:
    """The direction that words imply, on a compass of eight: "right" and "behind" together are 45°.

    >>> compass_step(frozenset({"right"}))
    (1.0, 0.0)
    """
    x = sum(FORWARD[word][0] for word in words if word in FORWARD)
    z = sum(FORWARD[word][1] for word in words if word in FORWARD)
    length = math.hypot(x, z)
    return (x / length, z / length) if length else None


def rise_m(edge: Edge, node: Node | None, centre: Node | None) -> float:
    """How much higher the middle of an object is than that of the centre."""
    half = (node.height_m or 0.0) / 2 if node is not None else 0.0
    half_centre = (centre.height_m or 0.0) / 2 if centre is not None else 0.0
    if "up" in edge.relation and "down" not in edge.relation:
        return half + half_centre
    if "down" in edge.relation and "up" not in edge.relation:
        return -(half + half_centre)
    return half - half_centre


def along_ground(slant: float, rise: float) -> float:
    """The distance along the ground: √(slant² − rise²), at least a tenth of the slant."""
    return math.sqrt(max(slant**2 - rise**2, (0.1 * slant) ** 2))


def _resolve(
    known: list[tuple[int, float, float, Relation]], ahead: float
) -> tuple[float, dict[int, tuple[float, float]]]:
    """The bearing of the centre, and the offset of each object from the centre."""
    if not known or ahead <= 0:
        return 0.0, {}
    apart = np.array([row[1] for row in known])
    far = np.array([row[2] for row in known])
    cosine = np.clip((ahead**2 + apart**2 - far**2) / (2 * ahead * np.maximum(apart, 1e-9)), -1, 1)
    wanted = np.array(
        [[_sign(row[3], "right", "left"), _sign(row[3], "behind", "in front of")] for row in known]
    )
    costs, bearings = _costs(_BEARINGS, ahead, _offsets(_BEARINGS, cosine, apart), wanted)
    side = costs.argmin(axis=1)[:, None, :]
    cost = np.take_along_axis(costs, side, axis=1)[:, 0].sum(axis=1)  # (bearings,)
    seen = np.column_stack([np.take_along_axis(bearings, side, axis=1)[:, 0], _BEARINGS])
    middle = (seen.max(axis=1) + seen.min(axis=1)) / 2
    doubt = cost + middle**2 / (2 * _MIDDLE_SPREAD**2) + _BEARINGS**2 / (2 * _CENTRE_SPREAD**2)
    weights = np.exp(doubt.min() - doubt)
    bearing = float(weights @ _BEARINGS / weights.sum())
    one = np.array([bearing])
    offsets = _offsets(one, cosine, apart)
    chosen = _costs(one, ahead, offsets, wanted)[0][0].argmin(axis=0)
    return bearing, {
        row[0]: (float(offsets[0, chosen[i], i, 0]), float(offsets[0, chosen[i], i, 1]))
        for i, row in enumerate(known)
    }


def _costs(
    bearings: NDArray[np.float64], ahead: float, offsets: NDArray[np.float64], wanted: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The cost of each place and its bearing from the camera, both of shape (bearings, sides, objects)."""
    start = ahead * np.stack([np.sin(bearings), np.cos(bearings)], axis=-1)[:, None, None, :]
    places = start + offsets
    seen = np.arctan2(places[..., 0], places[..., 1])
    outside = np.maximum(0, np.abs(seen) - _VIEW)
    cost = _violations(offsets, wanted) / (2 * _TAU_M**2) + outside**2 / (2 * _VIEW_SOFTNESS**2)
    return np.asarray(cost), np.asarray(seen)


def _offsets(
    bearings: NDArray[np.float64], cosine: NDArray[np.float64], apart: NDArray[np.float64]
) -> NDArray[np.float64]:
    """From the centre to each object, right and left of the line of sight; shape (bearings, 2 sides, objects, 2)."""
    toward = -np.stack([np.sin(bearings), np.cos(bearings)], axis=-1)[:, None, None, :]
    right = np.stack([np.cos(bearings), -np.sin(bearings)], axis=-1)[:, None, None, :]
    sides = np.array([1.0, -1.0])[None, :, None, None]
    sine = np.sqrt(1 - cosine**2)[None, None, :, None]
    return np.asarray(
        apart[None, None, :, None] * (cosine[None, None, :, None] * toward + sides * sine * right)
    )


def _violations(offsets: NDArray[np.float64], wanted: NDArray[np.float64]) -> NDArray[np.float64]:
    """By how many metres places violate the thresholds of the words, squared and summed over the two axes."""
    margin = RELATION_MARGIN_M
    signed = offsets * np.where(wanted == 0, 1, wanted)
    beyond = np.where(wanted == 0, np.maximum(0, np.abs(offsets) - margin), np.maximum(0, margin - signed))
    return np.asarray((beyond**2).sum(axis=-1))


def _sign(words: Relation, positive: str, negative: str) -> float:
    return float((positive in words) - (negative in words))


def triangles(graph: StarGraph) -> tuple[int, int]:
    """The number of triangles camera–centre–object with all sides given, and how many of them are impossible.

    A triangle is impossible if one side is longer than the other two together: then the graph contradicts itself.

    >>> from theodolite.instruments.scene.data.graph import Edge, Node
    >>> triangles(StarGraph(1, (Node(1, 3.0, 1, 1, 1), Node(2, 9.0, 1, 1, 1)), (Edge(2, 2.0, frozenset()),)))
    (1, 1)
    """
    centre = graph.node(graph.centre)
    nodes = {node.id: node for node in graph.nodes}
    n = n_broken = 0
    for edge in graph.edges:
        node = nodes.get(edge.to)
        if centre is None or node is None:
            continue
        sides = (centre.distance_m, node.distance_m, edge.distance_m)
        if None in sides:
            continue
        shortest, middle, longest = sorted(side for side in sides if side is not None)
        n += 1
        n_broken += longest > shortest + middle + ROUNDING_M
    return n, n_broken
