"""Baselines: what can be scored without looking at any picture, fitted to the data set itself; and levels above them.

The prior answer to a choice is the letter that is right most often for its kind; to a number, the median of the right numbers
of its kind. The prior graph has the median size and distances, and for each pair of words what is most often true. Both are
fitted by domain on one half of the scenes and scored on the other half, in both directions, so that no scene is used for both.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import median

import numpy as np
from numpy.typing import NDArray

from theodolite import stats
from theodolite.instruments.scene.data.graph import Edge, Node, StarGraph
from theodolite.instruments.scene.data.questions import SceneQuestion
from theodolite.instruments.scene.data.relations import PAIRS, Predicate
from theodolite.instruments.scene.formulas.mra import MraComparison, Value, score_values
from theodolite.instruments.scene.formulas.sgc import GraphScore, score_graph

FloatArray = NDArray[np.float64]
_Cell = tuple[str, str, int]
_LEAST_ROOM = 0.02
"""There is no level if the baseline is closer to 1 than this."""


def qa_prior(questions: Sequence[SceneQuestion], *, comparison: MraComparison = "<") -> FloatArray:
    """The score of the prior answer to each question."""
    half = _halves([question.scene for question in questions])
    letters: defaultdict[tuple[int, _Cell], Counter[str]] = defaultdict(Counter)
    lengths: defaultdict[tuple[int, _Cell], list[float]] = defaultdict(list)
    for question in questions:
        key = (half[question.scene], _cell(question))
        if question.form == "choice":
            letters[key][question.gold] += 1
        else:
            lengths[key].append(question.gold_number)
    answers: list[Value] = []
    for question in questions:
        other = (1 - half[question.scene], _cell(question))
        if question.form == "number":
            answers.append(median(lengths[other]) if lengths[other] else None)
        else:
            answers.append(max(question.letters, key=letters[other].__getitem__))
    return score_values(questions, answers, comparison=comparison)


def _halves(scenes: Sequence[str]) -> dict[str, int]:
    return {scene: i % 2 for i, scene in enumerate(sorted(set(scenes)))}


def _cell(question: SceneQuestion) -> _Cell:
    return question.domain, question.kind, len(question.options)


def graph_prior(true: Mapping[str, StarGraph], domains: Mapping[str, str]) -> dict[str, GraphScore]:
    """The scores of the prior graph, by scene.

    Args:
        true: The true graph of each scene.
        domains: Domains of the scenes.
    """
    half = _halves(list(true))
    members: defaultdict[tuple[int, str], list[StarGraph]] = defaultdict(list)
    for scene, graph in true.items():
        members[half[scene], domains[scene]].append(graph)
    typical = {key: _Typical.of(graphs) for key, graphs in members.items()}
    nothing = _Typical.of(())
    return {
        scene: score_graph(typical.get((1 - half[scene], domains[scene]), nothing).in_shape_of(graph), graph)
        for scene, graph in true.items()
    }


@dataclass(frozen=True, slots=True)
class _Typical:
    """The typical content of graphs."""

    node: Node
    distance_m: float | None
    words: frozenset[Predicate]

    @classmethod
    def of(cls, graphs: Sequence[StarGraph]) -> _Typical:
        nodes = [node for graph in graphs for node in graph.nodes]
        edges = [edge for graph in graphs for edge in graph.edges]
        words: set[Predicate] = set()
        for pair in PAIRS:
            states = Counter(edge.relation & frozenset(pair) for edge in edges)
            if states:
                words |= states.most_common(1)[0][0]
        return cls(
            Node(
                0,
                distance_m=_median([node.distance_m for node in nodes]),
                width_m=_median([node.width_m for node in nodes]),
                length_m=_median([node.length_m for node in nodes]),
                height_m=_median([node.height_m for node in nodes]),
            ),
            _median([edge.distance_m for edge in edges]),
            frozenset(words),
        )

    def in_shape_of(self, graph: StarGraph) -> StarGraph:
        return StarGraph(
            graph.centre,
            tuple(replace(self.node, id=node.id) for node in graph.nodes),
            tuple(Edge(edge.to, distance_m=self.distance_m, relation=self.words) for edge in graph.edges),
        )


def _median(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return median(known) if known else None


def level(
    values: FloatArray, baseline: FloatArray, scenes: Sequence[str], groups: Sequence[str] | None = None
) -> stats.Estimate | None:
    """The level of scores between a baseline and 1: (x̄ − b̄) / (1 − b̄), of macro means over groups.

    0 is the baseline's score, 1 the best possible. The interval is that of x̄; b̄ is taken as fixed.

    Args:
        values: The scores x, from 0 to 1.
        baseline: The baseline's scores b of the same items.
        scenes: The clusters.
        groups: Groups of a macro mean.

    Returns:
        None without items, or if the baseline is nearly 1.

    >>> print(level(np.full(30, 0.6), np.full(30, 0.2), [str(i) for i in range(30)]))
    0.500 [0.279, 0.693] (n=30)
    """
    found, fixed = (stats.clustered_mean(part, scenes, groups=groups) for part in (values, baseline))
    if found is None or fixed is None or 1 - fixed.value < _LEAST_ROOM:
        return None
    value, low, high = (
        (end - fixed.value) / (1 - fixed.value) for end in (found.value, found.low, found.high)
    )
    return replace(found, value=value, low=low, high=high, method=f"{found.method}; the baseline is fixed")
