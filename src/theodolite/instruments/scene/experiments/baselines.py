"""What can be had without looking at any picture: the floors of QA and SGC, fitted to the data set itself.

The prior answer to a choice is the letter that is right most often for its kind; to a length, the middle of the right lengths
of its kind. The prior graph has the middle size and distances, and for each pair of words what is true most often. Both are
fitted by domain on one half of the scenes and scored on the other, each way round, so that they know no scene they are scored on.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import median

import numpy as np
from numpy.typing import NDArray

from theodolite.instruments.scene.data.graph import Edge, Node, StarGraph
from theodolite.instruments.scene.data.questions import Question
from theodolite.instruments.scene.data.relations import PAIRS, Predicate
from theodolite.instruments.scene.formulas.derived import scores_of
from theodolite.instruments.scene.formulas.sgc import Comparison, GraphScore, score_graph

_Cell = tuple[str, str, int]


def _halves(scenes: Sequence[str]) -> dict[str, int]:
    return {scene: i % 2 for i, scene in enumerate(sorted(set(scenes)))}


def qa_floor(questions: Sequence[Question], *, comparison: Comparison = "<") -> NDArray[np.float64]:
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
    answers: list[str | float | None] = []
    for question in questions:
        other = (1 - half[question.scene], _cell(question))
        if question.form == "number":
            answers.append(median(lengths[other]) if lengths[other] else None)
        else:
            ranked = letters[other]
            answers.append(max(question.letters, key=ranked.__getitem__))
    return scores_of(questions, answers, comparison=comparison)


def _cell(question: Question) -> _Cell:
    return question.domain, question.kind, len(question.options)


def graph_floor(true: Mapping[str, StarGraph], domains: Mapping[str, str]) -> dict[str, GraphScore]:
    """The scores of the prior graph, by scene.

    Args:
        true: the true graph of each scene.
        domains: of the scenes.
    """
    half = _halves(list(true))
    members: defaultdict[tuple[int, str], list[StarGraph]] = defaultdict(list)
    for scene, graph in true.items():
        members[half[scene], domains[scene]].append(graph)
    usual = {key: _Usual.of(graphs) for key, graphs in members.items()}
    nothing = _Usual.of(())
    return {
        scene: score_graph(usual.get((1 - half[scene], domains[scene]), nothing).in_shape_of(graph), graph)
        for scene, graph in true.items()
    }


@dataclass(frozen=True, slots=True)
class _Usual:
    """What graphs usually hold."""

    node: Node
    distance_m: float | None
    words: frozenset[Predicate]

    @classmethod
    def of(cls, graphs: Sequence[StarGraph]) -> _Usual:
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
                distance_m=_middle([node.distance_m for node in nodes]),
                width_m=_middle([node.width_m for node in nodes]),
                length_m=_middle([node.length_m for node in nodes]),
                height_m=_middle([node.height_m for node in nodes]),
            ),
            _middle([edge.distance_m for edge in edges]),
            frozenset(words),
        )

    def in_shape_of(self, graph: StarGraph) -> StarGraph:
        return StarGraph(
            graph.centre,
            tuple(replace(self.node, id=node.id) for node in graph.nodes),
            tuple(Edge(edge.to, distance_m=self.distance_m, relation=self.words) for edge in graph.edges),
        )


def _middle(values: Sequence[float | None]) -> float | None:
    there = [value for value in values if value is not None]
    return median(there) if there else None
