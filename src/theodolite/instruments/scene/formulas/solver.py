"""Derives answers from a graph, without a model. Three solvers:

==============  ====================================================================================================
``fused``       the default. What the graph states, it means; the rest is what most plausible layouts imply, in which
                words and lengths are both noisy and correct each other
``geometric``   the same, but the rest is computed on one map, by the law of cosines, with all lengths taken as exact
``upstream``    the public code of CRISP, in every case
==============  ====================================================================================================

None is always right, not even on true graphs; its score there is the solver's ceiling, and its score against the quality of the
graph is its curve (``theodolite scene solver``).

If the graph lacks what a question needs, or its answer is not among the options, there is no answer but a reason.
"""  # noqa: D415 - ends in a table

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, Protocol, TypeAlias, get_args

from theodolite.answers import guarded
from theodolite.instruments.scene.data.graph import StarGraph
from theodolite.instruments.scene.data.questions import SceneQuestion
from theodolite.instruments.scene.formulas.map_reading import MapReading, geometric_maps
from theodolite.instruments.scene.formulas.public_reading import PublicReading
from theodolite.instruments.scene.formulas.solved import CannotSolveError, SolvedAnswer

SolverName: TypeAlias = Literal["fused", "geometric", "upstream"]
SOLVERS: tuple[SolverName, ...] = get_args(SolverName)
SOLVER_TITLES: Mapping[SolverName, str] = {
    "fused": "fused: words and lengths",
    "geometric": "geometric: lengths exact",
    "upstream": "upstream: the public code",
}


class Reading(Protocol):
    """How one graph is read."""

    def solve(self, question: SceneQuestion) -> SolvedAnswer:
        """The answer to a question; may raise `CannotSolveError`."""
        ...


_READINGS: Mapping[SolverName, Callable[[StarGraph], Reading]] = {
    "fused": MapReading,
    "geometric": lambda graph: MapReading(graph, geometric_maps),
    "upstream": PublicReading,
}


@dataclass(frozen=True)
class Solver:
    """Answers any number of questions about one graph."""

    graph: StarGraph
    name: SolverName = "fused"

    @cached_property
    def _reading(self) -> Reading:
        return _READINGS[self.name](self.graph)

    def solve(self, question: SceneQuestion) -> SolvedAnswer:
        """The answer to a question.

        >>> from theodolite.instruments.scene.data.graph import Edge, Node
        >>> from theodolite.instruments.scene.data.questions import SceneQuestion
        >>> graph = StarGraph(1, (Node(1, 4.0, 1, 1, 1), Node(2, 5.0, 1, 2, 1)), (Edge(2, 2.0, frozenset({"left"})),))
        >>> asked = SceneQuestion("q", "s", "indoor", "distance between", "How far?", (1, 2), "2.10", "easy")
        >>> Solver(graph).solve(asked).number
        2.0
        """
        return guarded(lambda: self._solve(question), unread=lambda why: SolvedAnswer(reason=why))

    def _solve(self, question: SceneQuestion) -> SolvedAnswer:
        try:
            return self._reading.solve(question)
        except CannotSolveError as error:
            return SolvedAnswer(reason=str(error))


def solve(question: SceneQuestion, graph: StarGraph | None, *, solver: SolverName = "fused") -> SolvedAnswer:
    """The answer that a graph implies; for many questions about one graph use `Solver`."""
    return Solver(graph, solver).solve(question) if graph is not None else SolvedAnswer(reason="no graph")
