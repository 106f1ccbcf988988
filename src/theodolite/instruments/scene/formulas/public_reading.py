"""The public reading: what CRISP-Bench's own solver answers from a graph, question by question, ties included.

It takes everything from what the graph states, and never from two things together. A turned view or a placed object is derived from
the words alone, on a compass of eight directions. Its habits are kept, because published figures rest on them:

- an object that is not listed has no answer, even if an edge leads to it; an edge without words has no direction, not even *no*
- of two equal values the object named last wins; equal values in a ranking stay in the order of the question
- counting takes the listed objects whose edge is shorter than 25 m, and skips an edge without a length; *within* includes the limit
- words that no option has exactly go to the only option that adds to them, then to the only one that leaves some out, then to the
  one with most words in common

What it answers is compared with the public code outside the repository; this is a description of its behaviour in our own terms.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping

from theodolite.instruments.scene.data.graph import Edge, StarGraph
from theodolite.instruments.scene.data.questions import SECTORS, Competency, Option, SceneQuestion
from theodolite.instruments.scene.data.relations import Relation, opposite
from theodolite.instruments.scene.formulas.layout import ASKED_WORD, FORWARD, compass_step
from theodolite.instruments.scene.formulas.solved import (
    CannotSolveError,
    GraphParts,
    SolvedAnswer,
    choice,
    number,
    there,
)

REACH_M = 25.0
"""The public solver does not count longer edges."""
_SECTOR_WORDS: Mapping[str, str] = {
    "front": "in front of",
    "back": "behind",
    "left": "left",
    "right": "right",
}


class PublicReading:
    """Answers questions about one graph by the rules of the public code."""

    def __init__(self, graph: StarGraph) -> None:
        """Reads this graph."""
        self.parts = GraphParts(graph)

    def solve(self, question: SceneQuestion) -> SolvedAnswer:
        """The answer to a question."""
        for mark in question.objects:
            self.parts.node(mark)
        rules: Mapping[Competency, Callable[[SceneQuestion], SolvedAnswer]] = {
            "direction": self._position if question.kind == "position" else self._is,
            "size": self._compared,
            "distance": self._compared,
            "ranking": self._ranked,
            "counting": self._counted,
            "transformation": self._turned,
            "deduction": self._placed,
        }
        return rules[question.competency](question)

    def edge(self, first: int, second: int) -> tuple[Edge, Relation]:
        """The edge between two objects, and its words: where the second is, relative to the first."""
        centre = self.parts.graph.centre
        if first == centre and second in self.parts.edges:
            edge = self.parts.edges[second]
            return edge, edge.relation
        if second == centre and first in self.parts.edges:
            edge = self.parts.edges[first]
            return edge, opposite(edge.relation)
        raise CannotSolveError("an edge is missing")

    def step(self, first: int, second: int) -> tuple[float, float]:
        """The direction from one object to another on the compass."""
        found = compass_step(self.edge(first, second)[1])
        if found is None:
            raise CannotSolveError("the edge has no direction along the ground")
        return found

    def _is(self, question: SceneQuestion) -> SolvedAnswer:
        said = self._words(question)
        return choice(question, "yes" if ASKED_WORD[question.kind] in said else "no")

    def _position(self, question: SceneQuestion) -> SolvedAnswer:
        said: set[str] = set(self._words(question))
        offered = {letter: set(o.key.split("+")) for letter, o in _lettered(question)}
        found = _only_match(offered, said)
        if found is None:
            most = 0
            for letter, option in offered.items():
                shared = len(option & said)
                if shared > most or (shared == most and shared / len(option | said) > 0.5):
                    most, found = shared, letter
        return _letter(found)

    def _words(self, question: SceneQuestion) -> Relation:
        a, b = question.objects
        said = self.edge(b, a)[1]
        if not said:
            raise CannotSolveError("the edge has no words")
        return said

    def _compared(self, question: SceneQuestion) -> SolvedAnswer:
        """A number; or of two objects the first if its value is smaller, otherwise the second."""
        values = self._values(question)
        if question.form == "number":
            return number(abs(values[0]))
        first, second = question.objects[-2:]
        return choice(question, str(first if values[0] < values[1] else second))

    def _ranked(self, question: SceneQuestion) -> SolvedAnswer:
        values = dict(zip(question.objects, self._values(question), strict=True))
        return choice(question, "-".join(map(str, sorted(values, key=lambda mark: values[mark]))))

    def _values(self, question: SceneQuestion) -> list[float]:
        """What the question compares or asks for, so that the smallest value wins."""
        kind, marks = question.kind, question.objects
        if question.competency == "size" or kind in {"rank by volume", "rank by height"}:
            return [-self.parts.extent(mark, kind) for mark in marks]
        sign = -1 if kind.startswith("farther") else 1
        if "object" in kind or "between" in kind:
            return [sign * there(self.edge(marks[0], other)[0].distance_m) for other in marks[1:]]
        return [sign * there(self.parts.node(mark).distance_m) for mark in marks]

    def _counted(self, question: SceneQuestion) -> SolvedAnswer:
        hits = sum(self._is_hit(question, mark) for mark in self.parts.nodes if mark != question.objects[0])
        return choice(question, str(hits))

    def _is_hit(self, question: SceneQuestion, mark: int) -> bool:
        try:
            edge, words = self.edge(question.objects[0], mark)
        except CannotSolveError:
            return False
        if edge.distance_m is None or edge.distance_m >= REACH_M:
            return False
        if question.kind == "count in direction":
            return question.relation in words
        limit = there(question.distance_m)
        return edge.distance_m <= limit if question.kind == "count within" else edge.distance_m > limit

    def _turned(self, question: SceneQuestion) -> SolvedAnswer:
        a, b, c = question.objects
        facing, target = self.step(a, b), self.step(a, c)
        sector = round(math.degrees(math.atan2(*target) - math.atan2(*facing)) / 45) % 8
        meant = _sector_words(SECTORS[sector])
        offered = {letter: _sector_words(o.key) for letter, o in _lettered(question)}
        found = _only_match(offered, meant)
        if found is None:
            alike = {letter: len(o & meant) / len(o | meant) for letter, o in offered.items()}
            best = max(alike, key=lambda letter: alike[letter])
            found = best if alike[best] >= 0.5 else None
        return _letter(found)

    def _placed(self, question: SceneQuestion) -> SolvedAnswer:
        a, b = question.objects
        far, (x, z) = there(self.edge(a, b)[0].distance_m), self.step(a, b)
        step, placed = FORWARD.get(question.relation or ""), there(question.distance_m)
        if step is None:
            raise CannotSolveError("the question places nothing along the ground")
        dx, dz = placed * step[0] - far * x, placed * step[1] - far * z
        return number(math.sqrt(dx * dx + dz * dz))


def _lettered(question: SceneQuestion) -> Iterator[tuple[str, Option]]:
    return zip(question.letters, question.options, strict=True)


def _letter(letter: str | None) -> SolvedAnswer:
    if letter is None:
        raise CannotSolveError("its answer is not among the options")
    return SolvedAnswer(letter=letter)


def _sector_words(sector: str) -> set[str]:
    return {_SECTOR_WORDS[part] for part in sector.split()}


def _only_match(offered: Mapping[str, set[str]], said: set[str]) -> str | None:
    """The option with these words; else the only one with more; else the only one with fewer."""
    tests: tuple[Callable[[set[str]], bool], ...] = (
        lambda option: option == said,
        lambda option: option > said,
        lambda option: option < said,
    )
    for i, test in enumerate(tests):
        found = [letter for letter, option in offered.items() if option and test(option)]
        if found and (i == 0 or len(found) == 1):
            return found[0]
    return None
