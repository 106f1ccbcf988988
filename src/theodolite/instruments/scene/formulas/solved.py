"""The answer that a graph implies, or why there is none."""

from __future__ import annotations

from dataclasses import dataclass

from theodolite.instruments.scene.data.graph import DECIMALS, Edge, Node, StarGraph
from theodolite.instruments.scene.data.questions import Kind, SceneQuestion


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
    """The graph does not imply an answer. Caught by `theodolite.instruments.scene.formulas.solver.Solver`."""


class GraphParts:
    """The parts of a graph by their marks. Asking for one that is missing raises `CannotSolveError`."""

    def __init__(self, graph: StarGraph) -> None:
        """The parts of this graph."""
        self.graph = graph
        self.nodes = {node.id: node for node in graph.nodes}
        self.edges = {edge.to: edge for edge in graph.edges}

    def node(self, mark: int) -> Node:
        """An object."""
        if mark not in self.nodes:
            raise CannotSolveError("an object is missing")
        return self.nodes[mark]

    def edge(self, mark: int) -> Edge:
        """The edge from the centre to an object."""
        if mark not in self.edges:
            raise CannotSolveError("an edge is missing")
        return self.edges[mark]

    def extent(self, mark: int, kind: Kind) -> float:
        """What a question about size compares or asks for: a volume, or one side."""
        node = self.node(mark)
        if kind in {"larger", "rank by volume"}:
            return there(node.width_m) * there(node.length_m) * there(node.height_m)
        if kind in {"taller", "height", "rank by height"}:
            return there(node.height_m)
        return there(node.length_m if kind == "length" else node.width_m)


def there(value: float | None) -> float:
    """A number that must not be missing."""
    if value is None:
        raise CannotSolveError("a number is missing")
    return value


def choice(question: SceneQuestion, key: str) -> SolvedAnswer:
    """The option with a key."""
    letter = question.letter_of(key)
    if letter is None:
        raise CannotSolveError("its answer is not among the options")
    return SolvedAnswer(letter=letter)


def number(value: float) -> SolvedAnswer:
    """A number, rounded as golds are."""
    return SolvedAnswer(number=round(value, DECIMALS))
