"""From a star graph to maps on the ground: with lengths as exact, or all layouts that it makes plausible."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np
from numpy.typing import NDArray

from theodolite.worlds.scene_graph import (
    DECIMALS,
    RELATION_MARGIN_M,
    Edge,
    Node,
    Predicate,
    Relation,
    StarGraph,
)

# From a star graph to one map on the ground, with all lengths taken as exact: the map of the geometric solver.
#
# A star graph has no coordinates, but nearly determines them. With ρ_c, ρ_i the distances from the camera to the centre and to
# object i along the ground, and R_i the distance between the two, the law of cosines gives the angle φ_i at the centre between
# the directions to the camera and to i,
#
#     cos φ_i = (ρ_c² + R_i² − ρ_i²) / (2 ρ_c R_i).
#
# Two things remain open: on which side of the line of sight i lies, and the direction β of the centre from straight ahead. They
# are decided by the words (left, right, in front of, behind), whose thresholds a place may violate by some metres, and by the
# picture: all marked objects are in view, and are spread around its middle. For each β on a grid, and each side,
#
#     cost = Σ violations² / 2τ² + Σ max(0, |bearing_i| − v)² / 2w²,
#
# and each object takes the cheaper side; β is the mean over the grid with weights exp(−Σ cost − m² / 2s² − β² / 2σ²), where m is
# the middle between the leftmost and the rightmost bearing.
#
# The graph does not contain heights above the ground. Objects that are neither above nor below each other are assumed to stand
# on the same ground, an object above another to stand on it, and the camera to be at eye height.


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

FORWARD: Mapping[Predicate, tuple[float, float]] = {
    "right": (1.0, 0.0),
    "left": (-1.0, 0.0),
    "behind": (0.0, 1.0),
    "in front of": (0.0, -1.0),
}
"""The four words along the ground, as (right, forward)."""
SECTORS = (
    "front",
    "front right",
    "right",
    "back right",
    "back",
    "back left",
    "left",
    "front left",
)
"""Eight sectors of 45°, clockwise seen from above; sector k is centred on a bearing of 45° · k from straight ahead."""


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
        """Return the offset from one object to another; None if one of them has no place."""
        if target not in self.places_m or reference not in self.places_m:
            return None
        (x, z), (x0, z0) = self.places_m[target], self.places_m[reference]
        return x - x0, z - z0


def lay_out(graph: StarGraph) -> Layout:
    """Place the objects of a star graph on the ground.

    >>> from theodolite.worlds.scene_graph import Edge, Node
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
    positions = {mark: (start[0] + x, start[1] + z) for mark, (x, z) in offsets.items()}
    if centre is not None:
        positions[graph.centre] = start
    by_compass = frozenset(mark for mark, _, _ in compass if mark in offsets)
    return Layout(positions, math.degrees(bearing), by_compass)


def compass_step(words: Relation) -> tuple[float, float] | None:
    """Return the direction that words imply, on a compass of eight: "right" and "behind" together are 45°.

    >>> compass_step(frozenset({"right"}))
    (1.0, 0.0)
    """
    x = sum(FORWARD[word][0] for word in words if word in FORWARD)
    z = sum(FORWARD[word][1] for word in words if word in FORWARD)
    length = math.hypot(x, z)
    return (x / length, z / length) if length else None


def rise_m(edge: Edge, node: Node | None, centre: Node | None) -> float:
    """Return how much higher the middle of an object is than that of the centre."""
    half = (node.height_m or 0.0) / 2 if node is not None else 0.0
    half_centre = (centre.height_m or 0.0) / 2 if centre is not None else 0.0
    if "up" in edge.relation and "down" not in edge.relation:
        return half + half_centre
    if "down" in edge.relation and "up" not in edge.relation:
        return -(half + half_centre)
    return half - half_centre


def along_ground(slant: float, rise: float) -> float:
    """Return the distance along the ground: √(slant² − rise²), at least a tenth of the slant."""
    return math.sqrt(max(slant**2 - rise**2, (0.1 * slant) ** 2))


def _resolve(
    known: list[tuple[int, float, float, Relation]], ahead: float
) -> tuple[float, dict[int, tuple[float, float]]]:
    """Return the bearing of the centre, and the offset of each object from the centre."""
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
    """Return the cost of each place and its bearing from the camera, both of shape (bearings, sides, objects)."""
    start = ahead * np.stack([np.sin(bearings), np.cos(bearings)], axis=-1)[:, None, None, :]
    positions = start + offsets
    seen = np.arctan2(positions[..., 0], positions[..., 1])
    outside = np.maximum(0, np.abs(seen) - _VIEW)
    cost = _violations(offsets, wanted) / (2 * _TAU_M**2) + outside**2 / (2 * _VIEW_SOFTNESS**2)
    return np.asarray(cost), np.asarray(seen)


def _offsets(
    bearings: NDArray[np.float64], cosine: NDArray[np.float64], apart: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return the offsets from the centre to each object, right and left of the line of sight.

    Their shape is (bearings, 2 sides, objects, 2).
    """
    toward = -np.stack([np.sin(bearings), np.cos(bearings)], axis=-1)[:, None, None, :]
    right = np.stack([np.cos(bearings), -np.sin(bearings)], axis=-1)[:, None, None, :]
    sides = np.array([1.0, -1.0])[None, :, None, None]
    sine = np.sqrt(1 - cosine**2)[None, None, :, None]
    return np.asarray(
        apart[None, None, :, None] * (cosine[None, None, :, None] * toward + sides * sine * right)
    )


def _violations(offsets: NDArray[np.float64], wanted: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return by how many metres places violate the thresholds of the words, squared and summed over the two axes."""
    margin = RELATION_MARGIN_M
    signed = offsets * np.where(wanted == 0, 1, wanted)
    beyond = np.where(wanted == 0, np.maximum(0, np.abs(offsets) - margin), np.maximum(0, margin - signed))
    return np.asarray((beyond**2).sum(axis=-1))


def _sign(words: Relation, positive: str, negative: str) -> float:
    return float((positive in words) - (negative in words))


def triangles(graph: StarGraph) -> tuple[int, int]:
    """Return the number of triangles camera–centre–object with all sides given, and how many of them are impossible.

    A triangle is impossible if one side is longer than the other two together: then the graph contradicts itself.

    >>> from theodolite.worlds.scene_graph import Edge, Node
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


# The layouts that a star graph makes plausible, if its words and its lengths may both be wrong.
#
# The graph is read as noisy observations of places on the ground. Its errors are not known, but its contradictions (triangles that do
# not close, words on the wrong side of a triangle) tell about them:
#
# - each length is right up to a factor, log stated = log true + N(0, σ²); what remains at σ = 0 is rounding (if all lengths are
#   multiples of half a metre, each stands for an interval of half a metre), and heights that are only assumed, as in `theodolite.instruments.scene.formulas.layout`
# - each pair of words (left or right, in front of or behind) is right with probability 1 − q, with a soft threshold; otherwise it is
#   either word or neither, equally likely
#
# Before the graph is read, every σ and q of the grids below is equally likely, a length is within a factor of two or so of the
# graph's typical one, an object may lie all around the centre, and everything is in view of the camera and spread around its middle.
#
# Given σ, q, and the distance and bearing of the centre, the objects do not depend on each other. So the posterior needs no search and
# no starting point: it is a sum over grids, for each object over its distance from the centre (Gauss–Hermite nodes) and the angle φ
# there between the directions to the camera and to the object (nodes where the law of cosines puts it, more or less, and all around).
# Whole layouts are then drawn from it, always the same ones for the same graph.


FloatArray = NDArray[np.float64]

LENGTH_ERRORS = np.array([0.0, 0.06, 0.15, 0.3, 0.6])
"""σ: the relative error of lengths."""
WORD_ERRORS = np.array([0.01, 0.1, 0.25, 0.5, 0.8])
"""q: the share of words that have nothing to do with the scene."""
_N_CELLS, _N_EACH = 64, 6
"""Cells of the grid that are drawn from a posterior, and layouts drawn from each."""
_COARSE_BEARINGS = np.radians(np.arange(-36.0, 36.5, 8.0))
"""Of the centre, from straight ahead."""
_OUT_OF_VIEW = 1e-3
"""How likely an object beyond that is, compared with one in view."""
_WORD_SOFTNESS_M = 0.1
"""How soft the thresholds of words are."""
_HEIGHT_ERROR_M = 0.2
"""How wrong assumed heights are."""
_SPREAD = 0.8
"""Of the logarithms of a graph's true distances around their median."""
_UNKNOWN = 0.7
"""The relative error of a length that is missing, around the typical length of its graph."""
_STEPS_M = (0.05, 0.1, 0.2, 0.25, 0.5, 1.0, 2.0, 5.0)
"""Steps of round numbers."""
_FEWEST_LENGTHS = 3
"""Fewer lengths are round by chance."""
_SHORTEST_M, _LONGEST_M = 0.01, 1e6


def _gauss(n: int) -> tuple[FloatArray, FloatArray]:
    """Return nodes and weights of a mean over N(0, 1)."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(n)
    return np.asarray(nodes), np.asarray(weights / weights.sum())


_LENGTH_NODES, _LENGTH_WEIGHTS = _gauss(3)
_FAR_NODES = np.linspace(-2.4, 2.4, 9)
_AROUND = np.linspace(0, math.pi, 13)


@dataclass(frozen=True, eq=False)
class Layouts:
    """Layouts of the objects of one graph."""

    marks: tuple[int, ...]
    """Of the objects that have a place."""
    places_m: FloatArray
    """Shape (layouts, marks, 2): right and forward of the camera."""
    weights: FloatArray
    """Of the layouts; they add up to 1."""
    length_error: float = 0.0
    """The posterior mean of σ."""
    word_error: float = 0.0
    """The posterior mean of q."""

    @cached_property
    def _column(self) -> Mapping[int, int]:
        return {mark: i for i, mark in enumerate(self.marks)}

    def places_of(self, mark: int) -> FloatArray | None:
        """Return an object's places, shape (layouts, 2); None if it has none."""
        return np.asarray(self.places_m[:, self._column[mark]]) if mark in self._column else None

    def offsets_m(self, target: int, reference: int) -> FloatArray | None:
        """Return the offsets from one object to another, shape (layouts, 2); None if one of them has no place."""
        there, here = self.places_of(target), self.places_of(reference)
        return None if there is None or here is None else np.asarray(there - here)


@lru_cache(maxsize=128)
def plausible_layouts(graph: StarGraph) -> Layouts:
    """Draw layouts from the posterior, of the centre and of every object with an edge that has a length or words.

    >>> from theodolite.worlds.scene_graph import Edge, Node
    >>> nodes = (Node(1, 8.0, 1, 1, 3), Node(2, 10.0, 1, 1, 3))
    >>> found = plausible_layouts(StarGraph(1, nodes, (Edge(2, 6.0, frozenset({"right"})),)))
    >>> bool(found.weights @ (found.offsets_m(2, 1)[:, 0] > 0) > 0.5)
    True
    """
    stated = _stated(graph)
    if len(stated.marks) == 1:
        start = np.array([[[0.0, stated.ahead]]])
        return Layouts(stated.marks, start, np.ones(1))
    grid = _nodes(stated)
    return _drawn(stated, grid, _evidence(stated, grid))


@dataclass(frozen=True, slots=True, eq=False)
class _Stated:
    """What a graph states: lengths along the ground with the errors that remain at σ = 0, and words."""

    marks: tuple[int, ...]
    """The centre, then the objects."""
    ahead: float
    """From the camera to the centre."""
    ahead_error: float
    apart: FloatArray
    """From the centre to each object."""
    apart_error: FloatArray
    far: FloatArray
    """From the camera to each object."""
    far_error: FloatArray
    is_far_known: NDArray[np.bool_]
    words: FloatArray
    """Shape (objects, 2): 1, 0 or −1 to the right and backwards; NaN for words that contradict each other."""


def _stated(graph: StarGraph) -> _Stated:
    centre, nodes = graph.node(graph.centre), {node.id: node for node in graph.nodes}
    drop = ((centre.height_m or 0.0) / 2 if centre is not None else 0.0) - EYE_HEIGHT_M
    edges = [edge for edge in graph.edges if edge.distance_m is not None or edge.relation]
    rises = [rise_m(edge, nodes.get(edge.to), centre) for edge in edges]
    apart = [_ground(edge.distance_m, rise) for edge, rise in zip(edges, rises, strict=True)]
    far = [
        _ground(node.distance_m if (node := nodes.get(edge.to)) is not None else None, drop + rise)
        for edge, rise in zip(edges, rises, strict=True)
    ]
    ahead = _ground(centre.distance_m if centre is not None else None, drop)
    usual_apart = float(np.median([a for a in apart if a is not None] or [1.0]))
    usual_far = float(np.median([f for f in (ahead, *far) if f is not None] or [2 * usual_apart]))
    written = [*(edge.distance_m for edge in edges), *(node.distance_m for node in graph.nodes)]
    rounding = rounding_error_m([length for length in written if length is not None])
    apart_m, apart_error = _filled(apart, rises, usual_apart, rounding)
    far_m, far_error = _filled(far, [drop + rise for rise in rises], usual_far, rounding)
    ahead_m, ahead_error = _filled([ahead], [drop], usual_far, rounding)
    words = [
        [_direction_sign(e.relation, "right", "left"), _direction_sign(e.relation, "behind", "in front of")]
        for e in edges
    ]
    return _Stated(
        (graph.centre, *(edge.to for edge in edges)),
        ahead=float(ahead_m[0]),
        ahead_error=float(ahead_error[0]),
        apart=apart_m,
        apart_error=apart_error,
        far=far_m,
        far_error=far_error,
        is_far_known=np.array([f is not None for f in far], bool),
        words=np.array(words).reshape(-1, 2),
    )


def _ground(slant: float | None, rise: float) -> float | None:
    """Return a length along the ground."""
    if slant is None:
        return None
    return max(along_ground(min(slant, _LONGEST_M), min(abs(rise), _LONGEST_M)), _SHORTEST_M)


def rounding_error_m(lengths: Sequence[float]) -> float:
    """Return the standard error of lengths that are all written as multiples of one step: of an interval as wide as the step.

    >>> rounding_error_m([1.5, 2.0, 4.0]), rounding_error_m([1.5, 2.0, 4.03])
    (0.14433756729740646, 0.01)
    """
    steps = [
        step
        for step in _STEPS_M
        if len(lengths) >= _FEWEST_LENGTHS and all(abs(x / step - round(x / step)) < 1e-6 for x in lengths)
    ]
    return max([10.0**-DECIMALS, *(step / math.sqrt(12) for step in steps)])


def _filled(
    lengths: list[float | None], rises: list[float], usual: float, rounding: float
) -> tuple[FloatArray, FloatArray]:
    """Return lengths and their relative errors from rounding and from heights.

    Missing lengths get the usual one, with a large error.
    """
    known = np.array([usual if length is None else length for length in lengths])
    error = np.hypot(rounding / known, _HEIGHT_ERROR_M * np.abs(rises) / known**2).clip(max=0.3)
    return known, np.where([length is None for length in lengths], _UNKNOWN, error)


def _direction_sign(words: Relation, positive: str, negative: str) -> float:
    if positive in words and negative in words:
        return math.nan
    return float((positive in words) - (negative in words))


@dataclass(frozen=True, slots=True, eq=False)
class _Nodes:
    """Where each object may be if the centre is straight ahead; all but `ahead` of shape (σ, ahead, objects, nodes)."""

    ahead: FloatArray
    """Shape (σ, ahead): how far the centre may be."""
    likelihood: FloatArray
    """By lengths."""
    right: FloatArray
    """From the centre."""
    forward: FloatArray
    turn: FloatArray
    """The bearing from the camera."""


def _nodes(stated: _Stated) -> _Nodes:
    errors, far = LENGTH_ERRORS[:, None], np.log(stated.far)
    far_error = np.hypot(errors, stated.far_error)
    usual = float(np.median(np.append(far, math.log(stated.ahead))))
    ahead = _length_nodes(np.array([stated.ahead]), np.hypot(errors, stated.ahead_error), usual)[:, 0]
    usual_apart = float(np.median(np.log(stated.apart)))
    apart = _length_nodes(stated.apart, np.hypot(errors, stated.apart_error), usual_apart)
    fars = np.exp(far[:, None] + far_error[..., None] * _FAR_NODES)
    # Axes from here on: σ, ahead, objects, apart, angles.
    c, r, f = ahead[:, :, None, None, None], apart[:, None, :, :, None], fars[:, None, :, None, :]
    cosines = np.arccos(np.clip((c**2 + r**2 - f**2) / (2 * c * r), -1, 1))
    around = np.broadcast_to(_AROUND, (*cosines.shape[:-1], _AROUND.size))
    angles = np.sort(np.concatenate([cosines, around], axis=-1), axis=-1)
    gaps = np.diff(angles, axis=-1, prepend=0.0, append=math.pi)
    widths = (gaps[..., :-1] + gaps[..., 1:]) / 2
    right, toward = r * np.sin(angles), r * np.cos(angles)
    ground = np.log(np.maximum(np.hypot(right, c - toward), 1e-9))
    error = far_error[:, None, :, None, None]
    fit = np.exp(-0.5 * ((ground - far[:, None, None]) / error) ** 2) / error
    fit = np.where(stated.is_far_known[:, None, None], fit, 1.0)
    fit *= np.exp(-0.5 * ((ground - usual) / _SPREAD) ** 2) * widths * _LENGTH_WEIGHTS[:, None]
    turn = np.arctan2(right, c - toward)
    return _Nodes(
        ahead, _two_sides(fit, 1), _two_sides(right, -1), _two_sides(-toward, 1), _two_sides(turn, -1)
    )


def _length_nodes(stated: FloatArray, error: FloatArray, usual: float) -> FloatArray:
    """Return lengths that stated ones may mean, each with an equal share of N(0, 1) by weight; shape (*error.shape, nodes)."""
    share = _SPREAD**2 / (_SPREAD**2 + error**2)
    mean = usual + share * (np.log(stated) - usual)
    return np.asarray(np.exp(mean[..., None] + (error * np.sqrt(share))[..., None] * _LENGTH_NODES))


def _two_sides(values: FloatArray, sign: int) -> FloatArray:
    """Return the values right of the line of sight, then left of it; the last two axes become one."""
    flat = values.reshape(*values.shape[:-2], -1)
    return np.concatenate([flat, sign * flat], axis=-1)


def _word_fit(words: FloatArray, moved: FloatArray) -> FloatArray:
    """Return how well metres along an axis fit the words on that axis, from 0 to 1; 0 for words that contradict each other.

    Args:
        words: Of each object.
        moved: Shape (…, objects, nodes).
    """
    soft = 2 * _WORD_SOFTNESS_M
    bend = np.where(words == 0, -1 / soft, 0.0)
    start = np.where(words == 0, RELATION_MARGIN_M, -RELATION_MARGIN_M) / soft + 0.5
    fit = np.abs(moved)
    fit *= bend[:, None]
    fit += np.where(np.isnan(words), -1.0, start)[:, None]
    fit += (np.nan_to_num(words) / soft)[:, None] * moved
    return np.asarray(np.clip(fit, 0, 1, out=fit))


def _seen(turn: FloatArray, bearing: FloatArray | float) -> FloatArray:
    """Return how well a bearing from the camera fits its field of view."""
    inside = (_VIEW + _VIEW_SOFTNESS - np.abs(turn + bearing)) / (2 * _VIEW_SOFTNESS)
    return np.asarray(inside.clip(_OUT_OF_VIEW, 1))


def _evidence(stated: _Stated, grid: _Nodes) -> FloatArray:
    """Return the logarithm of the posterior of each cell, up to a constant; shape (σ, ahead, bearings, q).

    The sum over an object's nodes of likelihood · ((1 − q) x + q / 3) · ((1 − q) z + q / 3), with x and z the fits of its words,
    takes four sums that do not depend on q.
    """
    right, wrong = 1 - WORD_ERRORS, WORD_ERRORS / 3
    parts = []
    for bearing in _COARSE_BEARINGS:
        sine, cosine = math.sin(bearing), math.cos(bearing)
        fit = grid.likelihood * _seen(grid.turn, bearing)
        x = _word_fit(stated.words[:, 0], grid.right * cosine + grid.forward * sine)
        z = _word_fit(stated.words[:, 1], grid.forward * cosine - grid.right * sine)
        z *= fit
        both = np.einsum("...i,...i", x, z)
        one = np.einsum("...i,...i", x, fit) + z.sum(axis=-1)
        none = fit.sum(axis=-1)
        total = right**2 * both[..., None] + right * wrong * one[..., None] + wrong**2 * none[..., None]
        # 1e-300 keeps the logarithm finite where no node fits.
        parts.append(np.log(total + 1e-300).sum(axis=2) - bearing**2 / (2 * _CENTRE_SPREAD**2))
    return np.stack(parts, axis=2) + np.log(_LENGTH_WEIGHTS)[:, None, None]


def _drawn(stated: _Stated, grid: _Nodes, evidence: FloatArray) -> Layouts:
    """Draw layouts: cells by their posterior, evenly spaced; in each, a node for every object."""
    rng = np.random.default_rng(0)
    cells = np.exp(evidence - evidence.max())
    cells /= cells.sum()
    picked = np.searchsorted(np.cumsum(cells.ravel())[:-1], (np.arange(_N_CELLS) + 0.5) / _N_CELLS)
    s, c, b, k = np.unravel_index(picked, cells.shape)
    within = rng.permutation((np.arange(_N_CELLS) + 0.5) / _N_CELLS) - 0.5
    bearing = (_COARSE_BEARINGS[b] + within * (_COARSE_BEARINGS[1] - _COARSE_BEARINGS[0]))[:, None, None]
    sine, cosine = np.sin(bearing), np.cos(bearing)
    right, forward = grid.right[s, c], grid.forward[s, c]
    right, forward = right * cosine + forward * sine, forward * cosine - right * sine
    q = WORD_ERRORS[k][:, None, None]
    fit = grid.likelihood[s, c] * _seen(grid.turn[s, c], bearing)
    for axis, moved in enumerate((right, forward)):
        fit *= (1 - q) * _word_fit(stated.words[:, axis], moved) + q / 3
    total = np.cumsum(fit, axis=-1)
    aims = (np.arange(_N_EACH) + rng.random((*total.shape[:2], _N_EACH))) / _N_EACH
    aims = rng.permuted(aims, axis=-1) * total[..., -1:]
    node = (total[..., None, :] < aims[..., None]).sum(axis=-1).clip(max=total.shape[-1] - 1)
    offsets = np.stack([np.take_along_axis(part, node, -1) for part in (right, forward)], axis=-1)
    start = grid.ahead[s, c][:, None, None, None] * np.stack([sine, cosine], axis=-1)
    start = np.broadcast_to(start, (_N_CELLS, 1, _N_EACH, 2))
    positions = np.concatenate([start, start + offsets], axis=1).swapaxes(1, 2)
    positions = positions.reshape(_N_CELLS * _N_EACH, -1, 2)
    seen = np.arctan2(positions[..., 0], positions[..., 1])
    middle = (seen.max(axis=1) + seen.min(axis=1)) / 2
    weights = np.exp(-0.5 * (middle / _MIDDLE_SPREAD) ** 2) + 1e-9
    return Layouts(
        stated.marks,
        positions,
        weights / weights.sum(),
        length_error=float(cells.sum(axis=(1, 2, 3)) @ LENGTH_ERRORS),
        word_error=float(cells.sum(axis=(0, 1, 2)) @ WORD_ERRORS),
    )
