"""Answers from a graph by what it states, and for the rest from maps of its objects.

What the graph states, it means: sizes, distances from the camera and from the centre, and words about the centre are taken as they
stand. What it leaves open is answered from maps: where an object is after turning, distances along the ground, anything about two
objects without an edge, and ties. With several maps, a choice is the option with most weight of maps behind it, and a number the one
whose expected MRA over the maps is the largest.

The geometric reading has one map, which takes all lengths as exact (`theodolite.instruments.scene.formulas.layout`). The fused
reading has many, which weigh words and lengths against each other (`theodolite.instruments.scene.formulas.plausible`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from theodolite.instruments.scene.data.graph import StarGraph
from theodolite.instruments.scene.data.questions import SECTORS, Competency, SceneQuestion
from theodolite.instruments.scene.data.relations import (
    OPPOSITE,
    RELATION_MARGIN_M,
    Predicate,
    Relation,
    opposite,
)
from theodolite.instruments.scene.formulas.layout import ASKED_WORD, FORWARD, lay_out
from theodolite.instruments.scene.formulas.mra import mean_relative_accuracy
from theodolite.instruments.scene.formulas.plausible import Layouts, plausible_layouts
from theodolite.instruments.scene.formulas.solved import (
    CannotSolveError,
    GraphParts,
    SolvedAnswer,
    choice,
    number,
    there,
)

FloatArray = NDArray[np.float64]
_CANDIDATES = np.linspace(0.02, 0.98, 49)
"""Quantiles of the maps' answers, among which a number is chosen."""
_NEARNESS = 1e-6
"""The weight of being near a sector, which decides only where no map puts the object in a sector that is offered."""


def geometric_maps(graph: StarGraph) -> Layouts:
    """The one map of the geometric reading."""
    places = lay_out(graph).places_m
    return Layouts(tuple(places), np.array(list(places.values())).reshape(1, -1, 2), np.ones(1))


class MapReading:
    """Answers questions about one graph by what it states and by its maps."""

    def __init__(self, graph: StarGraph, maps: Callable[[StarGraph], Layouts] = plausible_layouts) -> None:
        """Reads this graph; maps are made when a question first needs them."""
        self.parts = GraphParts(graph)
        self._make_maps = maps

    @cached_property
    def maps(self) -> Layouts:
        """Of the objects."""
        return self._make_maps(self.parts.graph)

    def solve(self, question: SceneQuestion) -> SolvedAnswer:
        """The answer to a question."""
        rules: Mapping[Competency, Callable[[SceneQuestion], SolvedAnswer]] = {
            "direction": self._position if question.kind == "position" else self._is,
            "size": self._compared,
            "distance": self._compared,
            "ranking": self._compared,
            "counting": self._counted,
            "transformation": self._turned,
            "deduction": self._placed,
        }
        return rules[question.competency](question)

    def offsets_m(self, target: int, reference: int) -> FloatArray:
        """Shape (maps, 2): from the reference to the target along the ground, right and forward."""
        offsets = self.maps.offsets_m(target, reference)
        if offsets is None:
            raise CannotSolveError("an object has no place: a distance or an edge is missing")
        return offsets

    def words(self, target: int, reference: int) -> Relation:
        """Where one object is relative to another: as stated, inverted, or on most maps."""
        centre = self.parts.graph.centre
        if reference == centre:
            return self.parts.edge(target).relation
        if target == centre:
            return opposite(self.parts.edge(reference).relation)
        return frozenset(w for w, share in self._shares(target, reference).items() if share > 0.5)

    def _shares(self, target: int, reference: int) -> dict[Predicate, float]:
        """The share of maps on which each word along the ground is true."""
        right, forward = self.offsets_m(target, reference).T
        along: dict[Predicate, FloatArray] = {
            "right": right,
            "left": -right,
            "behind": forward,
            "in front of": -forward,
        }
        return {word: float(self.maps.weights @ (gap > RELATION_MARGIN_M)) for word, gap in along.items()}

    def _is(self, question: SceneQuestion) -> SolvedAnswer:
        a, b = question.objects
        return choice(question, "yes" if ASKED_WORD[question.kind] in self.words(a, b) else "no")

    def _position(self, question: SceneQuestion) -> SolvedAnswer:
        """The option with the words of the graph; otherwise the one that they and the maps contradict least."""
        a, b = question.objects
        said = set(self.words(a, b))
        options = [set(option.key.split("+")) for option in question.options]
        said &= set().union(*options)
        for letter, words in zip(question.letters, options, strict=True):
            if words == said:
                return SolvedAnswer(letter=letter)
        shares: Mapping[Predicate, float] = {}
        if self.maps.offsets_m(a, b) is not None:
            shares = self._shares(a, b)

        def fit(words: set[str]) -> float:
            total = 0.0
            for word, other in OPPOSITE.items():
                if word in words:
                    is_open = not {word, other} & said
                    hint = shares.get(word, 0.0) - shares.get(other, 0.0)
                    total += hint if is_open else (word in said) - (other in said)
            return total - len({word for word in said if not {word, OPPOSITE[word]} & words}) / 2

        return _most(question, [fit(words) for words in options])

    def _compared(self, question: SceneQuestion) -> SolvedAnswer:
        """A number as stated; or marks in order of their values. Equal values are told apart by what else the graph states."""
        kind, marks = question.kind, question.objects
        if question.form == "number":
            if kind == "distance between":
                return self._between(*marks)
            return number(abs(self._value(question, marks[0])))
        shown = marks[1:] if kind.endswith("object") else marks
        values: dict[int, tuple[float, ...]] = {mark: (self._value(question, mark),) for mark in shown}
        if len(set(values.values())) < len(values):
            values = {mark: (values[mark][0], self._second(question, mark)) for mark in shown}
        if len(set(values.values())) < len(values):
            raise CannotSolveError("a tie")
        ranked = sorted(values, key=lambda mark: values[mark])
        return choice(
            question, "-".join(map(str, ranked if question.competency == "ranking" else ranked[:1]))
        )

    def _value(self, question: SceneQuestion, mark: int) -> float:
        """What decides the order: the smallest first."""
        kind = question.kind
        if question.competency == "size" or kind in {"rank by volume", "rank by height"}:
            return -self.parts.extent(mark, kind)
        sign = -1 if kind.startswith("farther") else 1
        if not kind.endswith("object"):
            return sign * there(self.parts.node(mark).distance_m)
        return sign * there(self._between(question.objects[0], mark).number)

    def _second(self, question: SceneQuestion, mark: int) -> float:
        """What decides between equal values: for sizes the other sides, for distances the maps."""
        if question.competency == "size" or question.kind in {"rank by volume", "rank by height"}:
            by_volume = question.kind in {"larger", "rank by volume"}
            return -self.parts.extent(mark, "taller" if by_volume else "larger")
        sign = -1 if question.kind.startswith("farther") else 1
        reference = question.objects[0] if question.kind.endswith("object") else None
        gaps = self.offsets_m(mark, reference) if reference is not None else self.maps.places_of(mark)
        if gaps is None:
            raise CannotSolveError("a tie")
        return sign * float(self.maps.weights @ np.hypot(*gaps.T))

    def _between(self, first: int, second: int) -> SolvedAnswer:
        """The distance between two objects: as stated, or on the maps."""
        if self.parts.graph.centre in {first, second}:
            other = second if first == self.parts.graph.centre else first
            return number(there(self.parts.edge(other).distance_m))
        return self._number(np.hypot(*self.offsets_m(second, first).T))

    def _counted(self, question: SceneQuestion) -> SolvedAnswer:
        parts = self.parts
        if not parts.edges or any(m not in parts.edges for m in parts.nodes if m != parts.graph.centre):
            raise CannotSolveError("an edge is missing")
        edges = list(parts.edges.values())
        if question.kind == "count in direction":
            return choice(question, str(sum(question.relation in edge.relation for edge in edges)))
        limit, gaps = there(question.distance_m), [there(edge.distance_m) for edge in edges]
        is_within = question.kind == "count within"
        return choice(question, str(sum(gap < limit if is_within else gap > limit for gap in gaps)))

    def _turned(self, question: SceneQuestion) -> SolvedAnswer:
        """The offered sector in which most maps put c, seen from a and facing b."""
        a, b, c = question.objects
        facing, target = self.offsets_m(b, a), self.offsets_m(c, a)
        if min(np.hypot(*facing.T).max(), np.hypot(*target.T).max()) < 1e-9:
            raise CannotSolveError("two objects are in one place")
        bearings = np.degrees(np.arctan2(*target.T) - np.arctan2(*facing.T))
        places = [SECTORS.index(o.key) if o.key in SECTORS else None for o in question.options]
        if set(places) == {None}:
            raise CannotSolveError("its answer is not among the options")
        fits = []
        for place in places:
            off = np.full_like(bearings, 180.0)
            if place is not None:
                off = np.abs((bearings - 45 * place + 180) % 360 - 180)
            fits.append(float(self.maps.weights @ ((off <= 22.5) + _NEARNESS * (180 - off))))
        return SolvedAnswer(letter=question.letters[int(np.argmax(fits))])

    def _placed(self, question: SceneQuestion) -> SolvedAnswer:
        """How far b is from a new object at some distance to one side of a."""
        a, b = question.objects
        step, far = FORWARD.get(question.relation or ""), there(question.distance_m)
        if step is None:
            raise CannotSolveError("the question places nothing along the ground")
        if self.parts.graph.centre in {a, b}:
            there(self.parts.edge(b if a == self.parts.graph.centre else a).distance_m)
        gaps = np.multiply(step, far) - self.offsets_m(b, a)
        return self._number(np.hypot(*gaps.T))

    def _number(self, values: FloatArray) -> SolvedAnswer:
        """The number with the largest expected MRA, if one of the maps is right."""
        candidates = np.quantile(values, _CANDIDATES)
        fits = mean_relative_accuracy(candidates[:, None], values[None, :]) @ self.maps.weights
        return number(float(candidates[int(np.argmax(fits))]))


def _most(question: SceneQuestion, fits: Sequence[float]) -> SolvedAnswer:
    """The option with the best fit, if it is the only one and more speaks for it than against it."""
    best = [letter for letter, fit in zip(question.letters, fits, strict=True) if fit == max(fits) > 0]
    if len(best) != 1:
        raise CannotSolveError("its answer is not among the options")
    return SolvedAnswer(letter=best[0])
