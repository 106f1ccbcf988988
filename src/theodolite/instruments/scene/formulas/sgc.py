"""Scores of single answers and single graphs: accuracy, MRA, and the parts of SGC.

For an answer ŷ to a question whose gold is y:

- choice: 1 if the letters are equal, else 0
- number: MRA = 1/10 Σ_θ [ |ŷ − y| / y < 1 − θ ],  θ = 0.50, 0.55 … 0.95. The paper writes ``<``; its public code, like
  VSI-Bench's, computes ``<=``, named ``upstream`` here.

For a graph, over the N objects and the E edges of the true graph (p predicted, g true):

- S_size = 1/N Σ 1/3 Σ_{w,l,h} min(k_p, k_g) / max(k_p, k_g)
- S_dist_to_cam, S_dist = mean of max(0, 1 − |d_p − d_g| / (d_g + 10⁻⁶)), over objects and over edges
- S_est = (S_size + S_dist_to_cam + S_dist) / 3
- S_rel = 1/E Σ (pairs of words that are right) / 3; a pair is right if both its words are said or unsaid as in truth
- SGC = (S_est + S_rel) / 2

What is missing scores 0 and is counted by the parser; what is extra costs nothing and is counted too.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from theodolite.instruments.scene.data.graph import StarGraph
from theodolite.instruments.scene.data.questions import Question
from theodolite.instruments.scene.data.relations import PAIRS
from theodolite.instruments.scene.reading.answer import Answer
from theodolite.instruments.scene.reading.graph_parser import GraphReading

Comparison: TypeAlias = Literal["<", "<="]
"""The paper's strict comparison, and upstream's."""

_SHARES = np.arange(50, 0, -5) / 100
"""1 − θ: 0.50, 0.45 … 0.05."""
_ROUNDING = 1e-9
"""Of a relative error: two decimals of metres give steps far larger, the arithmetic of doubles far smaller."""
EPSILON = 1e-6


def mean_relative_accuracy(
    answers: ArrayLike, golds: ArrayLike, *, comparison: Comparison = "<"
) -> NDArray[np.float64]:
    """MRA of each answer.

    An answer that lies exactly on a threshold is where the two comparisons differ, so errors within rounding of a
    threshold are taken to lie on it.

    Args:
        answers: numbers; NaN stands for no answer and scores 0.
        golds: above zero.
        comparison: of the relative error with 1 − θ.

    >>> [float(mean_relative_accuracy([1.5, 1.05], [1, 1], comparison=c)[i]) for i in (0, 1) for c in ("<", "<=")]
    [0.0, 0.1, 0.9, 1.0]
    """
    said, true = np.broadcast_arrays(np.asarray(answers, np.float64), np.asarray(golds, np.float64))
    with np.errstate(invalid="ignore", over="ignore", divide="ignore"):
        errors = np.abs(said - true) / true
    errors = np.where(np.isfinite(errors) & (true > 0), errors, np.inf)[..., None]
    slack = -_ROUNDING if comparison == "<" else _ROUNDING
    return np.asarray((errors < _SHARES + slack).mean(axis=-1))


def score_answer(answer: Answer | None, question: Question, *, comparison: Comparison = "<") -> float:
    """1 or 0 of a choice, MRA of a number; 0 where nothing was read."""
    if answer is None or not answer.is_read:
        return 0.0
    if question.form == "choice":
        return float(answer.letter == question.gold)
    return float(mean_relative_accuracy(answer.number or 0.0, question.gold_number, comparison=comparison))


@dataclass(frozen=True, slots=True)
class GraphScore:
    """The scores of one graph, each from 0 to 1."""

    size: float
    distance_to_camera: float
    distance: float
    relation: float
    stated: float | None
    """S_rel over those pairs alone of which the truth says a word; None if it says none. An empty list of words, which
    S_rel rewards for every pair that truly is neither, gets 0 here."""

    @property
    def estimate(self) -> float:
        """S_est."""
        return (self.size + self.distance_to_camera + self.distance) / 3

    @property
    def sgc(self) -> float:
        """SGC."""
        return (self.estimate + self.relation) / 2


NO_GRAPH = GraphScore(0.0, 0.0, 0.0, 0.0, 0.0)
"""Of an answer in which there is no graph."""


def score_graph(reading: GraphReading | StarGraph, true: StarGraph) -> GraphScore:
    """The scores of a graph against the true one.

    >>> from theodolite.instruments.scene.data.graph import Edge, Node
    >>> true = StarGraph(1, (Node(1, 4.0, 1, 1, 1), Node(2, 5.0, 1, 2, 1)), (Edge(2, 2.0, frozenset({"left"})),))
    >>> near = StarGraph(1, (Node(1, 3.0, 1, 1, 1), Node(2, 5.0, 1, 2, 2)), (Edge(2, 2.0, frozenset({"left"})),))
    >>> score = score_graph(near, true)
    >>> round(score.size, 4), round(score.distance_to_camera, 4), score.relation
    (0.9167, 0.875, 1.0)
    """
    graph = reading if isinstance(reading, StarGraph) else reading.graph
    wordless = frozenset() if isinstance(reading, StarGraph) else reading.wordless
    if graph is None:
        return NO_GRAPH
    nodes, edges = {node.id: node for node in graph.nodes}, {edge.to: edge for edge in graph.edges}
    sizes, nears, gaps = [], [], []
    for goal in true.nodes:
        node = nodes.get(goal.id)
        if node is None:
            sizes.append(0.0)
            nears.append(0.0)
            continue
        sides = ((node.width_m, goal.width_m), (node.length_m, goal.length_m), (node.height_m, goal.height_m))
        sizes.append(sum(_ratio(said, side) for said, side in sides) / 3)
        nears.append(_nearness(node.distance_m, goal.distance_m))
    n_right = n_stated = n_stated_right = 0
    for aim in true.edges:
        edge = edges.get(aim.to)
        gaps.append(0.0 if edge is None else _nearness(edge.distance_m, aim.distance_m))
        for pair in PAIRS:
            truth = aim.relation & set(pair)
            is_right = edge is not None and aim.to not in wordless and edge.relation & set(pair) == truth
            n_right += is_right
            n_stated += bool(truth)
            n_stated_right += bool(truth) and is_right
    n_pairs = len(PAIRS) * max(1, len(true.edges))
    return GraphScore(
        size=sum(sizes) / max(1, len(sizes)),
        distance_to_camera=sum(nears) / max(1, len(nears)),
        distance=sum(gaps) / max(1, len(gaps)),
        relation=n_right / n_pairs,
        stated=n_stated_right / n_stated if n_stated else None,
    )


def _ratio(said: float | None, true: float | None) -> float:
    if said is None or true is None or max(said, true) <= 0:
        return 0.0
    return max(0.0, min(said, true)) / max(said, true)


def _nearness(said: float | None, true: float | None) -> float:
    if said is None or true is None:
        return 0.0
    return max(0.0, 1 - abs(said - true) / (true + EPSILON))
