"""SGC, the scene graph correctness, and its parts S_est and S_rel (CRISP, section 3.3).

Over the N objects and the E edges of the true graph (p predicted, g true):

- S_size = 1/N Σ 1/3 Σ_{w,l,h} min(k_p, k_g) / max(k_p, k_g)
- S_camera, S_dist = mean of max(0, 1 − |d_p − d_g| / (d_g + 10⁻⁶)), over objects and over edges
- S_est = (S_size + S_camera + S_dist) / 3
- S_rel = 1/E Σ (pairs of words that are right) / 3; a pair is right if each of its words is present or absent as in the true graph
- SGC = (S_est + S_rel) / 2

What is missing scores 0; what is extra costs nothing. Both are counted by the graph parser.

S_rel rewards saying nothing wherever the true graph says nothing. ``stated`` is S_rel over only those pairs of which the
true graph says a word.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from theodolite.instruments.scene.graph_parser import GraphReading
from theodolite.worlds.scene_graph import PAIRS, StarGraph

EPSILON = 1e-6


@dataclass(frozen=True, slots=True)
class EstimateScore:
    """S_est and its three parts, each from 0 to 1."""

    size: float
    camera: float
    distance: float

    @property
    def s_est(self) -> float:
        """The mean of the three."""
        return (self.size + self.camera + self.distance) / 3


@dataclass(frozen=True, slots=True)
class RelationScore:
    """S_rel, from 0 to 1."""

    s_rel: float
    stated: float | None
    """Over the pairs of which the true graph says a word; None if it says none."""


@dataclass(frozen=True, slots=True)
class GraphScore:
    """The scores of one graph."""

    estimates: EstimateScore
    relations: RelationScore

    @property
    def s_est(self) -> float:
        """S_est."""
        return self.estimates.s_est

    @property
    def s_rel(self) -> float:
        """S_rel."""
        return self.relations.s_rel

    @property
    def sgc(self) -> float:
        """SGC."""
        return (self.s_est + self.s_rel) / 2


NO_GRAPH = GraphScore(EstimateScore(0.0, 0.0, 0.0), RelationScore(0.0, 0.0))
"""The score of an answer without a graph."""


def score_graph(reading: GraphReading | StarGraph, true: StarGraph) -> GraphScore:
    """Return the scores of a graph against the true one.

    >>> from theodolite.worlds.scene_graph import Edge, Node
    >>> true = StarGraph(1, (Node(1, 4.0, 1, 1, 1), Node(2, 5.0, 1, 2, 1)), (Edge(2, 2.0, frozenset({"left"})),))
    >>> near = StarGraph(1, (Node(1, 3.0, 1, 1, 1), Node(2, 5.0, 1, 2, 2)), (Edge(2, 2.0, frozenset({"left"})),))
    >>> score = score_graph(near, true)
    >>> round(score.estimates.size, 4), round(score.estimates.camera, 4), score.s_rel
    (0.9167, 0.875, 1.0)
    """
    if isinstance(reading, StarGraph):
        return GraphScore(s_est(reading, true), s_rel(reading, true))
    if reading.graph is None:
        return NO_GRAPH
    return GraphScore(s_est(reading.graph, true), s_rel(reading.graph, true, reading.wordless))


def s_est(graph: StarGraph, true: StarGraph) -> EstimateScore:
    """Return the scores of a graph's sizes and distances."""
    nodes, edges = {node.id: node for node in graph.nodes}, {edge.to: edge for edge in graph.edges}
    sizes, cameras, distances = [], [], []
    for goal in true.nodes:
        node = nodes.get(goal.id)
        if node is None:
            sizes.append(0.0)
            cameras.append(0.0)
            continue
        sides = ((node.width_m, goal.width_m), (node.length_m, goal.length_m), (node.height_m, goal.height_m))
        sizes.append(sum(_ratio(predicted, side) for predicted, side in sides) / 3)
        cameras.append(_nearness(node.distance_m, goal.distance_m))
    for aim in true.edges:
        edge = edges.get(aim.to)
        distances.append(0.0 if edge is None else _nearness(edge.distance_m, aim.distance_m))
    return EstimateScore(_mean(sizes), _mean(cameras), _mean(distances))


def s_rel(graph: StarGraph, true: StarGraph, wordless: Collection[int] = ()) -> RelationScore:
    """Return the score of a graph's relations.

    Args:
        graph: The predicted graph.
        true: The true graph.
        wordless: Objects whose edge has no relation at all: all their pairs are wrong.
    """
    edges = {edge.to: edge for edge in graph.edges}
    n_right = n_stated = n_stated_right = 0
    for aim in true.edges:
        edge = edges.get(aim.to)
        for pair in PAIRS:
            truth = aim.relation & set(pair)
            is_right = edge is not None and aim.to not in wordless and edge.relation & set(pair) == truth
            n_right += is_right
            n_stated += bool(truth)
            n_stated_right += bool(truth) and is_right
    stated = n_stated_right / n_stated if n_stated else None
    return RelationScore(n_right / (len(PAIRS) * max(1, len(true.edges))), stated)


def _mean(values: list[float]) -> float:
    return sum(values) / max(1, len(values))


def _ratio(predicted: float | None, true: float | None) -> float:
    if predicted is None or true is None or max(predicted, true) <= 0:
        return 0.0
    return max(0.0, min(predicted, true)) / max(predicted, true)


def _nearness(predicted: float | None, true: float | None) -> float:
    if predicted is None or true is None:
        return 0.0
    return max(0.0, 1 - abs(predicted - true) / (true + EPSILON))
