"""Derives answers from a graph, without a model.

Two solvers. ``geometric``, the default, takes from the graph what it states and computes the rest on the map of
`theodolite.instruments.scene.formulas.layout` (law of cosines). ``upstream`` follows the rules of the public code: counting
considers only edges under 25 m, and a turned view or a placed object is derived from the words alone, on a compass of eight
directions. Neither is always right on true graphs; its score there is the solver's ceiling.

If the graph lacks what a question needs, or its answer is not among the options, there is no answer but a reason.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal, TypeAlias

from theodolite.answers import guarded
from theodolite.instruments.scene.data.graph import DECIMALS, Edge, Node, StarGraph
from theodolite.instruments.scene.data.questions import LETTERS, SECTORS, Kind, SceneQuestion
from theodolite.instruments.scene.data.relations import Predicate, Relation, Stand, opposite, relation
from theodolite.instruments.scene.formulas.layout import FORWARD, Layout, compass_step, lay_out

SolverName: TypeAlias = Literal["geometric", "upstream"]
UPSTREAM_REACH_M = 25.0
"""The public solver does not count longer edges."""


@dataclass(frozen=True, slots=True)
class SolvedAnswer:
    """The answer that a graph implies."""

    letter: str = ""
    number: float | None = None
    reason: str = ""
    """Why there is no answer; empty if there is one."""

    @property
    def is_solved(self) -> bool:
        """True if there is an answer."""
        return not self.reason

    @property
    def value(self) -> str | float | None:
        """The letter or the number; None without an answer."""
        return self.letter or self.number


class CannotSolveError(Exception):
    """The graph does not imply an answer. Used only within this module."""


@dataclass(frozen=True)
class Solver:
    """Answers any number of questions about one graph."""

    graph: StarGraph
    name: SolverName = "geometric"
    nodes: Mapping[int, Node] = field(init=False)
    edges: Mapping[int, Edge] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "nodes", {node.id: node for node in self.graph.nodes})
        object.__setattr__(self, "edges", {edge.to: edge for edge in self.graph.edges})

    @cached_property
    def layout(self) -> Layout:
        """The map of the objects."""
        return lay_out(self.graph)

    def solve(self, question: SceneQuestion) -> SolvedAnswer:
        """The answer to a question.

        >>> from theodolite.instruments.scene.data.questions import SceneQuestion
        >>> graph = StarGraph(1, (Node(1, 4.0, 1, 1, 1), Node(2, 5.0, 1, 2, 1)), (Edge(2, 2.0, frozenset({"left"})),))
        >>> asked = SceneQuestion("q", "s", "indoor", "distance between", "How far?", (1, 2), "2.10", "easy")
        >>> Solver(graph).solve(asked).number
        2.0
        """
        return guarded(lambda: self._solve(question), unread=lambda why: SolvedAnswer(reason=why))

    def _solve(self, question: SceneQuestion) -> SolvedAnswer:
        try:
            return _RULES[question.kind](self, question)
        except CannotSolveError as error:
            return SolvedAnswer(reason=str(error))

    def node(self, mark: int) -> Node:
        """A node of the graph; cannot be solved without it."""
        if mark not in self.nodes:
            raise CannotSolveError("an object is missing")
        return self.nodes[mark]

    def edge(self, mark: int) -> Edge:
        """An edge of the graph; cannot be solved without it."""
        if mark not in self.edges:
            raise CannotSolveError("an edge is missing")
        return self.edges[mark]

    def between_m(self, first: int, second: int) -> float:
        """The distance between two objects: as stated, or on the map."""
        if self.graph.centre in {first, second}:
            return _there(self.edge(second if first == self.graph.centre else first).distance_m)
        if self.name == "upstream":
            raise CannotSolveError("an edge is missing")
        return math.hypot(*self.offset_m(second, first))

    def words(self, target: int, reference: int) -> Relation:
        """Where one object is relative to another: as stated, inverted, or on the map."""
        centre = self.graph.centre
        if reference == centre:
            return self.edge(target).relation
        if target == centre:
            return opposite(self.edge(reference).relation)
        if self.name == "upstream":
            raise CannotSolveError("an edge is missing")
        return relation(Stand(*self.offset_m(target, reference), 0.0, 1.0), Stand(0.0, 0.0, 0.0, 1.0))

    def offset_m(self, target: int, reference: int) -> tuple[float, float]:
        """From the reference to the target along the ground, (right, forward)."""
        if self.name == "upstream":
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
        """Every edge of the star, as counting needs."""
        if self.name == "geometric" and any(
            mark not in self.edges for mark in self.nodes if mark != self.graph.centre
        ):
            raise CannotSolveError("an edge is missing")
        if not self.edges:
            raise CannotSolveError("an edge is missing")
        return list(self.edges.values())


def solve(
    question: SceneQuestion, graph: StarGraph | None, *, solver: SolverName = "geometric"
) -> SolvedAnswer:
    """The answer that a graph implies; for many questions about one graph use `Solver`."""
    return Solver(graph, solver).solve(question) if graph is not None else SolvedAnswer(reason="no graph")


def _there(value: float | None) -> float:
    if value is None:
        raise CannotSolveError("a number is missing")
    return value


def _choice(question: SceneQuestion, key: str) -> SolvedAnswer:
    letter = question.letter_of(key)
    if letter is None:
        raise CannotSolveError("its answer is not among the options")
    return SolvedAnswer(letter=letter)


def _number(value: float) -> SolvedAnswer:
    return SolvedAnswer(number=round(value, DECIMALS))


_ASKED: Mapping[Kind, Predicate] = {
    "is in front": "in front of",
    "is behind": "behind",
    "is left": "left",
    "is right": "right",
    "is above": "up",
    "is below": "down",
}


def _is(solver: Solver, question: SceneQuestion) -> SolvedAnswer:
    a, b = question.objects
    return _choice(question, "yes" if _ASKED[question.kind] in solver.words(a, b) else "no")


def _position(solver: Solver, question: SceneQuestion) -> SolvedAnswer:
    """The option with the words of the graph; otherwise the most similar one."""
    a, b = question.objects
    words = solver.words(a, b)
    offered = {
        letter: set(option.key.split("+")) for letter, option in zip(LETTERS, question.options, strict=False)
    }
    used = set().union(*offered.values())
    said = set(words) & used if solver.name == "geometric" else set(words)
    steps: tuple[Callable[[set[str]], bool], ...] = (
        lambda option: option == said,
        lambda option: bool(option) and option < said,
        lambda option: bool(said) and option > said,
        lambda option: bool(option & said),
    )
    for step in steps if solver.name == "upstream" else (steps[0],):
        found = [letter for letter, option in offered.items() if step(option)]
        if found:
            return SolvedAnswer(letter=found[0])
    likeness = {letter: len(option & said) / len(option | said) for letter, option in offered.items()}
    best = [letter for letter, value in likeness.items() if value == max(likeness.values()) > 0]
    if len(best) != 1:
        raise CannotSolveError("its answer is not among the options")
    return SolvedAnswer(letter=best[0])


def _extent(solver: Solver, mark: int, kind: Kind) -> float:
    node = solver.node(mark)
    if kind in {"larger", "rank by volume"}:
        return _there(node.width_m) * _there(node.length_m) * _there(node.height_m)
    if kind in {"taller", "height", "rank by height"}:
        return _there(node.height_m)
    return _there(node.length_m if kind == "length" else node.width_m)


def _size(solver: Solver, question: SceneQuestion) -> SolvedAnswer:
    if question.form == "number":
        return _number(_extent(solver, question.objects[0], question.kind))
    return _order(question, {mark: -_extent(solver, mark, question.kind) for mark in question.objects})


def _order(question: SceneQuestion, values: Mapping[int, float], n: int = 1) -> SolvedAnswer:
    """The first n marks, smallest value first."""
    if len(set(values.values())) < len(values):
        raise CannotSolveError("a tie")
    ranked = sorted(values, key=lambda mark: values[mark])
    return _choice(question, "-".join(map(str, ranked[:n])))


def _distance(solver: Solver, question: SceneQuestion) -> SolvedAnswer:
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


def _rank(solver: Solver, question: SceneQuestion) -> SolvedAnswer:
    if question.kind == "rank by distance":
        values = {mark: _there(solver.node(mark).distance_m) for mark in question.objects}
    else:
        values = {mark: -_extent(solver, mark, question.kind) for mark in question.objects}
    return _order(question, values, n=len(values))


def _count(solver: Solver, question: SceneQuestion) -> SolvedAnswer:
    edges = solver.all_edges()
    if solver.name == "upstream":
        edges = [edge for edge in edges if _there(edge.distance_m) < UPSTREAM_REACH_M]
    if question.kind == "count in direction":
        return _choice(question, str(sum(question.relation in edge.relation for edge in edges)))
    limit = _there(question.distance_m)
    is_within = question.kind == "count within"
    hits = sum((_there(e.distance_m) < limit) if is_within else (_there(e.distance_m) > limit) for e in edges)
    return _choice(question, str(hits))


def _turned(solver: Solver, question: SceneQuestion) -> SolvedAnswer:
    """The offered sector nearest to the bearing of c clockwise from b, seen from a."""
    a, b, c = question.objects
    facing, target = solver.offset_m(b, a), solver.offset_m(c, a)
    if math.hypot(*facing) < 1e-9 or math.hypot(*target) < 1e-9:
        raise CannotSolveError("two objects are in one place")
    bearing = math.degrees(math.atan2(*target) - math.atan2(*facing)) % 360
    offered = [SECTORS.index(option.key) for option in question.options if option.key in SECTORS]
    if not offered:
        raise CannotSolveError("its answer is not among the options")
    return _choice(question, SECTORS[min(offered, key=lambda k: abs((bearing - 45 * k + 180) % 360 - 180))])


def _placed(solver: Solver, question: SceneQuestion) -> SolvedAnswer:
    a, b = question.objects
    step, far = FORWARD.get(question.relation or ""), _there(question.distance_m)
    if step is None:
        raise CannotSolveError("the question places nothing along the ground")
    x, z = solver.offset_m(b, a)
    return _number(math.hypot(step[0] * far - x, step[1] * far - z))


_RULES: Mapping[Kind, Callable[[Solver, SceneQuestion], SolvedAnswer]] = {
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
