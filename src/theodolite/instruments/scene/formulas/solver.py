"""From a graph to an answer, without a model.

Two readings. ``geometric``, the default, reads off the graph what it states and works out the rest on the map of
`theodolite.instruments.scene.formulas.layout` (law of cosines). ``upstream`` follows the rules of the public code: counting looks at edges under
25 m alone, and a turned view or a placed object is worked out from the words alone, on a compass of eight directions. On true
graphs neither can be right always; what each reaches there is its ceiling, and stands beside every score derived with it.

Where the graph lacks what a question needs, or its answer is not among the options, there is no answer, and the reason is kept.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal, TypeAlias

from theodolite.instruments.scene.data.graph import DECIMALS, Edge, Node, StarGraph
from theodolite.instruments.scene.data.questions import LETTERS, SECTORS, Kind, Question
from theodolite.instruments.scene.data.relations import RELATION_MARGIN_M, Predicate, Relation, opposite
from theodolite.instruments.scene.formulas.layout import FORWARD, Layout, compass_step, lay_out

Solving: TypeAlias = Literal["geometric", "upstream"]
UPSTREAM_REACH_M = 25.0
"""Farther edges are not counted by the public solver."""


@dataclass(frozen=True, slots=True)
class Derived:
    """The answer that a graph gives."""

    letter: str = ""
    number: float | None = None
    reason: str = ""
    """Why there is none."""

    @property
    def is_solved(self) -> bool:
        """Whether the graph gives an answer."""
        return not self.reason

    @property
    def value(self) -> str | float | None:
        """The letter or the number."""
        return self.letter or self.number


class CannotSolveError(Exception):
    """The graph does not answer the question. Never leaves this module."""


@dataclass(frozen=True)
class Solver:
    """A graph, ready to answer any number of questions about it."""

    graph: StarGraph
    reading: Solving = "geometric"
    nodes: Mapping[int, Node] = field(init=False)
    edges: Mapping[int, Edge] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "nodes", {node.id: node for node in self.graph.nodes})
        object.__setattr__(self, "edges", {edge.to: edge for edge in self.graph.edges})

    @cached_property
    def layout(self) -> Layout:
        """The map."""
        return lay_out(self.graph)

    def solve(self, question: Question) -> Derived:
        """The answer to a question.

        >>> from theodolite.instruments.scene.data.questions import Question
        >>> graph = StarGraph(1, (Node(1, 4.0, 1, 1, 1), Node(2, 5.0, 1, 2, 1)), (Edge(2, 2.0, frozenset({"left"})),))
        >>> asked = Question("q", "s", "indoor", "distance between", "How far?", (1, 2), "2.10", "easy")
        >>> Solver(graph).solve(asked).number
        2.0
        """
        try:
            return _RULES[question.kind](self, question)
        except CannotSolveError as error:
            return Derived(reason=str(error))

    def node(self, mark: int) -> Node:
        """An object that must be there."""
        if mark not in self.nodes:
            raise CannotSolveError("an object is missing")
        return self.nodes[mark]

    def edge(self, mark: int) -> Edge:
        """An edge that must be there."""
        if mark not in self.edges:
            raise CannotSolveError("an edge is missing")
        return self.edges[mark]

    def between_m(self, first: int, second: int) -> float:
        """The distance of two objects: stated, or measured on the map."""
        if self.graph.centre in {first, second}:
            return _there(self.edge(second if first == self.graph.centre else first).distance_m)
        if self.reading == "upstream":
            raise CannotSolveError("an edge is missing")
        return math.hypot(*self.offset_m(second, first))

    def words(self, target: int, reference: int) -> Relation:
        """Where one object is relative to another: stated, turned round, or read off the map."""
        centre = self.graph.centre
        if reference == centre:
            return self.edge(target).relation
        if target == centre:
            return opposite(self.edge(reference).relation)
        if self.reading == "upstream":
            raise CannotSolveError("an edge is missing")
        x, z = self.offset_m(target, reference)
        said: set[Predicate] = set()
        if abs(x) > RELATION_MARGIN_M:
            said.add("right" if x > 0 else "left")
        if abs(z) > RELATION_MARGIN_M:
            said.add("behind" if z > 0 else "in front of")
        return frozenset(said)

    def offset_m(self, target: int, reference: int) -> tuple[float, float]:
        """Along the ground, (right, forward)."""
        if self.reading == "upstream":
            sign, other = (1, target) if reference == self.graph.centre else (-1, reference)
            if self.graph.centre not in {target, reference}:
                raise CannotSolveError("an edge is missing")
            edge = self.edge(other)
            step = compass_step(edge.relation)
            if step is None:
                raise CannotSolveError("the edge has no direction along the ground")
            far = sign * _there(edge.distance_m)
            return step[0] * far, step[1] * far
        offset = self.layout.offset_m(target, reference)
        if offset is None:
            raise CannotSolveError("an object has no place: a distance or an edge is missing")
        return offset

    def all_edges(self) -> Sequence[Edge]:
        """Every edge of the star, which a count needs."""
        if self.reading == "geometric" and any(
            mark not in self.edges for mark in self.nodes if mark != self.graph.centre
        ):
            raise CannotSolveError("an edge is missing")
        if not self.edges:
            raise CannotSolveError("an edge is missing")
        return list(self.edges.values())


def solve(question: Question, graph: StarGraph | None, *, reading: Solving = "geometric") -> Derived:
    """The answer that a graph gives to a question; see `Solver` for many questions about one graph."""
    return Solver(graph, reading).solve(question) if graph is not None else Derived(reason="no graph")


def _there(value: float | None) -> float:
    if value is None:
        raise CannotSolveError("a number is missing")
    return value


def _choice(question: Question, key: str) -> Derived:
    letter = question.letter_of(key)
    if letter is None:
        raise CannotSolveError("its answer is not among the options")
    return Derived(letter=letter)


def _number(value: float) -> Derived:
    return Derived(number=round(value, DECIMALS))


_ASKED: Mapping[Kind, Predicate] = {
    "is in front": "in front of",
    "is behind": "behind",
    "is left": "left",
    "is right": "right",
    "is above": "up",
    "is below": "down",
}


def _is(solver: Solver, question: Question) -> Derived:
    a, b = question.objects
    return _choice(question, "yes" if _ASKED[question.kind] in solver.words(a, b) else "no")


def _position(solver: Solver, question: Question) -> Derived:
    """The option that says what the graph says; else the one that says most of it and least else."""
    a, b = question.objects
    words = solver.words(a, b)
    offered = {
        letter: set(option.key.split("+")) for letter, option in zip(LETTERS, question.options, strict=False)
    }
    used = set().union(*offered.values())
    said = set(words) & used if solver.reading == "geometric" else set(words)
    steps: tuple[Callable[[set[str]], bool], ...] = (
        lambda option: option == said,
        lambda option: bool(option) and option < said,
        lambda option: bool(said) and option > said,
        lambda option: bool(option & said),
    )
    for step in steps if solver.reading == "upstream" else (steps[0],):
        found = [letter for letter, option in offered.items() if step(option)]
        if found:
            return Derived(letter=found[0])
    likeness = {letter: len(option & said) / len(option | said) for letter, option in offered.items()}
    best = [letter for letter, value in likeness.items() if value == max(likeness.values()) > 0]
    if len(best) != 1:
        raise CannotSolveError("its answer is not among the options")
    return Derived(letter=best[0])


def _extent(solver: Solver, mark: int, kind: Kind) -> float:
    node = solver.node(mark)
    if kind in {"larger", "rank by volume"}:
        return _there(node.width_m) * _there(node.length_m) * _there(node.height_m)
    if kind in {"taller", "height", "rank by height"}:
        return _there(node.height_m)
    return _there(node.length_m if kind == "length" else node.width_m)


def _size(solver: Solver, question: Question) -> Derived:
    if question.form == "number":
        return _number(_extent(solver, question.objects[0], question.kind))
    return _order(question, {mark: -_extent(solver, mark, question.kind) for mark in question.objects})


def _order(question: Question, values: Mapping[int, float], n: int = 1) -> Derived:
    """The n first of the marks, smallest value first."""
    if len(set(values.values())) < len(values):
        raise CannotSolveError("a tie")
    ranked = sorted(values, key=lambda mark: values[mark])
    return _choice(question, "-".join(map(str, ranked[:n])))


def _distance(solver: Solver, question: Question) -> Derived:
    kind, marks = question.kind, question.objects
    if kind == "distance to camera":
        return _number(_there(solver.node(marks[0]).distance_m))
    if kind == "distance between":
        return _number(solver.between_m(*marks))
    if kind in {"closer to camera", "farther from camera"}:
        values = {mark: _there(solver.node(mark).distance_m) for mark in marks}
    else:
        values = {mark: solver.between_m(marks[0], mark) for mark in marks[1:]}
    sign = 1 if kind.startswith("closer") else -1
    return _order(question, {mark: sign * value for mark, value in values.items()})


def _rank(solver: Solver, question: Question) -> Derived:
    if question.kind == "rank by distance":
        values = {mark: _there(solver.node(mark).distance_m) for mark in question.objects}
    else:
        values = {mark: -_extent(solver, mark, question.kind) for mark in question.objects}
    return _order(question, values, n=len(values))


def _count(solver: Solver, question: Question) -> Derived:
    edges = solver.all_edges()
    if solver.reading == "upstream":
        edges = [edge for edge in edges if _there(edge.distance_m) < UPSTREAM_REACH_M]
    if question.kind == "count in direction":
        return _choice(question, str(sum(question.relation in edge.relation for edge in edges)))
    limit = _there(question.distance_m)
    is_within = question.kind == "count within"
    hits = sum((_there(e.distance_m) < limit) if is_within else (_there(e.distance_m) > limit) for e in edges)
    return _choice(question, str(hits))


def _turned(solver: Solver, question: Question) -> Derived:
    """Bearing of c clockwise from b, seen from a; the nearest sector that is offered."""
    a, b, c = question.objects
    facing, target = solver.offset_m(b, a), solver.offset_m(c, a)
    if math.hypot(*facing) < 1e-9 or math.hypot(*target) < 1e-9:
        raise CannotSolveError("two objects are in one place")
    bearing = math.degrees(math.atan2(*target) - math.atan2(*facing)) % 360
    offered = [SECTORS.index(option.key) for option in question.options if option.key in SECTORS]
    if not offered:
        raise CannotSolveError("its answer is not among the options")
    return _choice(question, SECTORS[min(offered, key=lambda k: abs((bearing - 45 * k + 180) % 360 - 180))])


def _placed(solver: Solver, question: Question) -> Derived:
    a, b = question.objects
    step, far = FORWARD.get(question.relation or ""), _there(question.distance_m)
    if step is None:
        raise CannotSolveError("the question places nothing along the ground")
    x, z = solver.offset_m(b, a)
    return _number(math.hypot(step[0] * far - x, step[1] * far - z))


_RULES: Mapping[Kind, Callable[[Solver, Question], Derived]] = {
    **dict.fromkeys(_ASKED, _is),
    "position": _position,
    **dict.fromkeys(("larger", "taller", "wider", "length", "height", "width"), _size),
    **dict.fromkeys(
        ("closer to camera", "farther from camera", "closer to object", "farther from object"), _distance
    ),
    **dict.fromkeys(("distance to camera", "distance between"), _distance),
    **dict.fromkeys(("rank by volume", "rank by height", "rank by distance"), _rank),
    **dict.fromkeys(("count in direction", "count within", "count beyond"), _count),
    "where after turning": _turned,
    "distance after placing": _placed,
}
"""One rule per kind of question."""
