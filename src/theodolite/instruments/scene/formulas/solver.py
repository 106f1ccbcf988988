"""Answers derived from a graph, without a model, by three solvers."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Literal, Protocol, TypeAlias, get_args

import numpy as np
from numpy.typing import NDArray

from theodolite.answers import guarded
from theodolite.instruments.scene.formulas.layout import (
    FORWARD,
    SECTORS,
    Layouts,
    compass_step,
    lay_out,
    plausible_layouts,
)
from theodolite.instruments.scene.formulas.mra import mean_relative_accuracy
from theodolite.worlds.scene_graph import (
    DECIMALS,
    OPPOSITE,
    RELATION_MARGIN_M,
    Edge,
    Node,
    Predicate,
    Relation,
    StarGraph,
    opposite,
)

if TYPE_CHECKING:
    from theodolite.instruments.scene.data.files import Option, SceneQuestion
    from theodolite.instruments.scene.kinds import Quantity

# The answer that a graph implies, or why there is none.


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
        """Index the parts of a graph."""
        self.graph = graph
        self.nodes = {node.id: node for node in graph.nodes}
        self.edges = {edge.to: edge for edge in graph.edges}

    def node(self, mark: int) -> Node:
        """Return an object."""
        if mark not in self.nodes:
            raise CannotSolveError("an object is missing")
        return self.nodes[mark]

    def edge(self, mark: int) -> Edge:
        """Return the edge from the centre to an object."""
        if mark not in self.edges:
            raise CannotSolveError("an edge is missing")
        return self.edges[mark]


def there(value: float | None) -> float:
    """Return a number; raise `CannotSolveError` if it is missing."""
    if value is None:
        raise CannotSolveError("a number is missing")
    return value


def choice(question: SceneQuestion, key: str) -> SolvedAnswer:
    """Return the option with a key."""
    letter = question.letter_of(key)
    if letter is None:
        raise CannotSolveError("its answer is not among the options")
    return SolvedAnswer(letter=letter)


def number(value: float) -> SolvedAnswer:
    """Return a number, rounded as golds are."""
    return SolvedAnswer(number=round(value, DECIMALS))


class Reading(Protocol):
    """One graph, and the answers that follow from it. A kind of question asks for one of them (`theodolite.instruments.scene.kinds`)."""

    parts: GraphParts
    includes_limit: bool
    """True if an object exactly at a distance is within it."""

    def solve(self, question: SceneQuestion) -> SolvedAnswer:
        """Return the answer to a question; may raise `CannotSolveError`, as all methods may."""

    def words(self, target: int, reference: int) -> Relation:
        """Return where one object is relative to another."""

    def between_m(self, first: int, second: int) -> float:
        """Return the distance between two objects."""

    def which(self, question: SceneQuestion, quantity: Quantity, sign: int) -> SolvedAnswer:
        """Return which of the two objects named last has the smallest value times the sign.

        Args:
            question: Names the two objects last.
            quantity: What is compared.
            sign: 1 for the smallest value, −1 for the largest.
        """

    def order(self, question: SceneQuestion, quantity: Quantity, sign: int) -> SolvedAnswer:
        """Return the order of all objects, the smallest value times the sign first."""

    def position(self, question: SceneQuestion) -> SolvedAnswer:
        """Return the option with the words for the place of the first object relative to the second."""

    def counted(self, question: SceneQuestion, counts: Callable[[Edge], bool]) -> SolvedAnswer:
        """Return how many objects count."""

    def turned(self, question: SceneQuestion) -> SolvedAnswer:
        """Return the sector of the third object, seen from the first by someone who faces the second."""

    def placed(self, question: SceneQuestion) -> SolvedAnswer:
        """Return how far the second object is from something new, placed at some distance to one side of the first."""


# The public reading: what CRISP-Bench's own solver answers from a graph, question by question, ties included.
#
# It takes everything from what the graph states, and never from two things together. A turned view or a placed object is derived from
# the words alone, on a compass of eight directions. Its habits are kept, because published figures rest on them:
#
# - an object that is not listed has no answer, even if an edge leads to it; an edge without words has no direction, not even *no*
# - of two equal values the object named last wins; equal values in a ranking stay in the order of the question
# - counting takes the listed objects whose edge is shorter than 25 m, and skips an edge without a length; *within* includes the limit
# - words that no option has exactly go to the only option that adds to them, then to the only one that leaves some out, then to the
#   one with most words in common
#
# What it answers is compared with the public code outside the repository; this is a description of its behaviour in our own terms.


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

    includes_limit = True

    def __init__(self, graph: StarGraph) -> None:
        """Read this graph."""
        self.parts = GraphParts(graph)

    def solve(self, question: SceneQuestion) -> SolvedAnswer:
        """Return the answer to a question."""
        for mark in question.objects:
            self.parts.node(mark)
        return question.spec.shape.solve(question, self)

    def edge(self, first: int, second: int) -> tuple[Edge, Relation]:
        """Return the edge between two objects, and its words: where the second is, relative to the first."""
        centre = self.parts.graph.centre
        if first == centre and second in self.parts.edges:
            edge = self.parts.edges[second]
            return edge, edge.relation
        if second == centre and first in self.parts.edges:
            edge = self.parts.edges[first]
            return edge, opposite(edge.relation)
        raise CannotSolveError("an edge is missing")

    def step(self, first: int, second: int) -> tuple[float, float]:
        """Return the direction from one object to another on the compass."""
        direction = compass_step(self.edge(first, second)[1])
        if direction is None:
            raise CannotSolveError("the edge has no direction along the ground")
        return direction

    def words(self, target: int, reference: int) -> Relation:
        """Return the words of an edge; one without words has no direction."""
        words = self.edge(reference, target)[1]
        if not words:
            raise CannotSolveError("the edge has no words")
        return words

    def between_m(self, first: int, second: int) -> float:
        """Return the length of an edge."""
        return there(self.edge(first, second)[0].distance_m)

    def position(self, question: SceneQuestion) -> SolvedAnswer:
        """Return the option with these words, or with most of them."""
        a, b = question.objects
        words: set[str] = set(self.words(a, b))
        offered = {letter: set(o.key.split("+")) for letter, o in _lettered(question)}
        match = _only_match(offered, words)
        if match is None:
            most = 0
            for letter, option in offered.items():
                shared = len(option & words)
                if shared > most or (shared == most and shared / len(option | words) > 0.5):
                    most, match = shared, letter
        return _letter(match)

    def which(self, question: SceneQuestion, quantity: Quantity, sign: int) -> SolvedAnswer:
        """Return the first if its value is smaller, otherwise the second."""
        first, second = question.objects[-2:]
        values = [sign * quantity.stated(self, mark, question.objects[0]) for mark in (first, second)]
        return choice(question, str(first if values[0] < values[1] else second))

    def order(self, question: SceneQuestion, quantity: Quantity, sign: int) -> SolvedAnswer:
        """Return the order by value; equal values stay in the order of the question."""
        values = {mark: sign * quantity.stated(self, mark, question.objects[0]) for mark in question.objects}
        return choice(question, "-".join(map(str, sorted(values, key=lambda mark: values[mark]))))

    def counted(self, question: SceneQuestion, counts: Callable[[Edge], bool]) -> SolvedAnswer:
        """Return the number of listed objects that count, if their edge is not too long."""
        centre = question.objects[0]
        hits = sum(self._is_hit(question, counts, mark) for mark in self.parts.nodes if mark != centre)
        return choice(question, str(hits))

    def _is_hit(self, question: SceneQuestion, counts: Callable[[Edge], bool], mark: int) -> bool:
        try:
            edge, words = self.edge(question.objects[0], mark)
        except CannotSolveError:
            return False
        if edge.distance_m is None or edge.distance_m >= REACH_M:
            return False
        return counts(replace(edge, relation=words))

    def turned(self, question: SceneQuestion) -> SolvedAnswer:
        """Return the sector on the compass of words."""
        a, b, c = question.objects
        facing, target = self.step(a, b), self.step(a, c)
        sector = round(math.degrees(math.atan2(*target) - math.atan2(*facing)) / 45) % 8
        meant = _sector_words(SECTORS[sector])
        offered = {letter: _sector_words(o.key) for letter, o in _lettered(question)}
        match = _only_match(offered, meant)
        if match is None:
            alike = {letter: len(o & meant) / len(o | meant) for letter, o in offered.items()}
            best = max(alike, key=lambda letter: alike[letter])
            match = best if alike[best] >= 0.5 else None
        return _letter(match)

    def placed(self, question: SceneQuestion) -> SolvedAnswer:
        """Return the distance on the compass of words."""
        a, b = question.objects
        far, (x, z) = there(self.edge(a, b)[0].distance_m), self.step(a, b)
        step, placed = _step(question), there(question.distance_m)
        dx, dz = placed * step[0] - far * x, placed * step[1] - far * z
        return number(math.sqrt(dx * dx + dz * dz))


def _step(question: SceneQuestion) -> tuple[float, float]:
    """Return the direction in which a question places something, as (right, forward)."""
    if question.relation is None or question.relation not in FORWARD:
        raise CannotSolveError("the question places nothing along the ground")
    return FORWARD[question.relation]


def _lettered(question: SceneQuestion) -> Iterator[tuple[str, Option]]:
    return zip(question.letters, question.options, strict=True)


def _letter(letter: str | None) -> SolvedAnswer:
    if letter is None:
        raise CannotSolveError("its answer is not among the options")
    return SolvedAnswer(letter=letter)


def _sector_words(sector: str) -> set[str]:
    return {_SECTOR_WORDS[part] for part in sector.split()}


def _only_match(offered: Mapping[str, set[str]], words: set[str]) -> str | None:
    """Return the option with these words; else the only one with more; else the only one with fewer."""
    tests: tuple[Callable[[set[str]], bool], ...] = (
        lambda option: option == words,
        lambda option: option > words,
        lambda option: option < words,
    )
    for i, test in enumerate(tests):
        matches = [letter for letter, option in offered.items() if option and test(option)]
        if matches and (i == 0 or len(matches) == 1):
            return matches[0]
    return None


# Answers from a graph by what it states, and for the rest from maps of its objects.
#
# What the graph states, it means: sizes, distances from the camera and from the centre, and words about the centre are taken as they
# stand. What it leaves open is answered from maps: where an object is after turning, distances along the ground, anything about two
# objects without an edge, and ties. Of the offered orders the one that fits the stated values best is taken. With several maps, a choice is the option with most weight of maps behind it, and a number the one
# whose expected MRA over the maps is the largest.
#
# The geometric reading has one map, which takes all lengths as exact (`theodolite.instruments.scene.formulas.layout`). The fused
# reading has many, which weigh words and lengths against each other (`theodolite.instruments.scene.formulas.layout`).


FloatArray = NDArray[np.float64]
_CANDIDATES = np.linspace(0.02, 0.98, 49)
"""Quantiles of the maps' answers, among which a number is chosen."""
_SAME_MISFIT = 1e-12
_NEARNESS = 1e-6
"""The weight of being near a sector, which decides only where no map puts the object in a sector that is offered."""


def geometric_maps(graph: StarGraph) -> Layouts:
    """Return the one map of the geometric reading."""
    positions = lay_out(graph).places_m
    return Layouts(tuple(positions), np.array(list(positions.values())).reshape(1, -1, 2), np.ones(1))


class MapReading:
    """Answers questions about one graph by what it states and by its maps."""

    includes_limit = False

    def __init__(self, graph: StarGraph, maps: Callable[[StarGraph], Layouts] = plausible_layouts) -> None:
        """Read this graph; maps are made when a question first needs them."""
        self.parts = GraphParts(graph)
        self._make_maps = maps

    @cached_property
    def maps(self) -> Layouts:
        """Of the objects."""
        return self._make_maps(self.parts.graph)

    def solve(self, question: SceneQuestion) -> SolvedAnswer:
        """Return the answer to a question."""
        return question.spec.shape.solve(question, self)

    def offsets_m(self, target: int, reference: int) -> FloatArray:
        """Return the offsets from the reference to the target along the ground, right and forward; shape (maps, 2)."""
        offsets = self.maps.offsets_m(target, reference)
        if offsets is None:
            raise CannotSolveError("an object has no place: a distance or an edge is missing")
        return offsets

    def words(self, target: int, reference: int) -> Relation:
        """Return where one object is relative to another: as stated, inverted, or on most maps."""
        centre = self.parts.graph.centre
        if reference == centre:
            return self.parts.edge(target).relation
        if target == centre:
            return opposite(self.parts.edge(reference).relation)
        return frozenset(w for w, share in self._shares(target, reference).items() if share > 0.5)

    def _shares(self, target: int, reference: int) -> dict[Predicate, float]:
        """Return the share of maps on which each word along the ground is true."""
        right, forward = self.offsets_m(target, reference).T
        along: dict[Predicate, FloatArray] = {
            "right": right,
            "left": -right,
            "behind": forward,
            "in front of": -forward,
        }
        return {word: float(self.maps.weights @ (gap > RELATION_MARGIN_M)) for word, gap in along.items()}

    def position(self, question: SceneQuestion) -> SolvedAnswer:
        """Return the option with the words of the graph; otherwise the one that they and the maps contradict least."""
        a, b = question.objects
        stated = set(self.words(a, b))
        options = [set(option.key.split("+")) for option in question.options]
        stated &= set().union(*options)
        for letter, words in zip(question.letters, options, strict=True):
            if words == stated:
                return SolvedAnswer(letter=letter)
        shares: Mapping[Predicate, float] = {}
        if self.maps.offsets_m(a, b) is not None:
            shares = self._shares(a, b)

        def fit(words: set[str]) -> float:
            total = 0.0
            for word, other in OPPOSITE.items():
                if word in words:
                    is_open = not {word, other} & stated
                    hint = shares.get(word, 0.0) - shares.get(other, 0.0)
                    total += hint if is_open else (word in stated) - (other in stated)
            return total - len({word for word in stated if not {word, OPPOSITE[word]} & words}) / 2

        return _most(question, [fit(words) for words in options])

    def which(self, question: SceneQuestion, quantity: Quantity, sign: int) -> SolvedAnswer:
        """Return the stated answer; see `_likeliest` for ties."""
        first, second = question.objects[-2:]
        likeliest = self._likeliest(question, ((second, first), (first, second)), quantity, sign)
        return choice(question, str(likeliest[0]))

    def order(self, question: SceneQuestion, quantity: Quantity, sign: int) -> SolvedAnswer:
        """Return the offered order that fits the stated values best; see `_likeliest` for ties."""
        orders = [
            order
            for order in itertools.permutations(question.objects)
            if question.letter_of("-".join(map(str, order)))
        ]
        if not orders:
            raise CannotSolveError("its answer is not among the options")
        likeliest = self._likeliest(question, orders, quantity, sign)
        return choice(question, "-".join(map(str, likeliest)))

    def _likeliest(
        self, question: SceneQuestion, orders: Sequence[tuple[int, ...]], quantity: Quantity, sign: int
    ) -> tuple[int, ...]:
        """Return the order with the smallest `misfit`, by the stated values or, of those that fit alike, by what breaks ties.

        A length is often written as a round number, which stands for an interval, so equal values are in any order. What the
        graph does not decide is decided as in the public reading: by the first of the orders.
        """
        reference = question.objects[0]
        for value_of in (quantity.stated, quantity.tie):
            try:
                values = {
                    mark: value_of(self, mark, reference) for mark in question.objects[-len(orders[0]) :]
                }
            except CannotSolveError:
                if value_of is quantity.stated:
                    raise
                break
            misfits = [misfit([values[mark] for mark in order], sign) for order in orders]
            orders = [
                order for order, m in zip(orders, misfits, strict=True) if m <= min(misfits) + _SAME_MISFIT
            ]
            if len(orders) == 1:
                break
        return orders[0]

    def ground_m(self, mark: int, reference: int | None) -> float:
        """Return the distance along the ground from a reference, or from the camera: its mean over the maps."""
        gaps = self.offsets_m(mark, reference) if reference is not None else self.maps.places_of(mark)
        if gaps is None:
            raise CannotSolveError("an object has no place: a distance or an edge is missing")
        return float(self.maps.weights @ np.hypot(*gaps.T))

    def between_m(self, first: int, second: int) -> float:
        """Return the distance between two objects: as stated, or on the maps."""
        if self.parts.graph.centre in {first, second}:
            other = second if first == self.parts.graph.centre else first
            stated = number(there(self.parts.edge(other).distance_m))
        else:
            stated = self._number(np.hypot(*self.offsets_m(second, first).T))
        return there(stated.number)

    def counted(self, question: SceneQuestion, counts: Callable[[Edge], bool]) -> SolvedAnswer:
        """Return the number of edges that count, if every object has one."""
        parts = self.parts
        if not parts.edges or any(m not in parts.edges for m in parts.nodes if m != parts.graph.centre):
            raise CannotSolveError("an edge is missing")
        return choice(question, str(sum(map(counts, parts.edges.values()))))

    def turned(self, question: SceneQuestion) -> SolvedAnswer:
        """Return the offered sector in which most maps put c, seen from a and facing b."""
        a, b, c = question.objects
        facing, target = self.offsets_m(b, a), self.offsets_m(c, a)
        if min(np.hypot(*facing.T).max(), np.hypot(*target.T).max()) < 1e-9:
            raise CannotSolveError("two objects are in one place")
        bearings = np.degrees(np.arctan2(*target.T) - np.arctan2(*facing.T))
        sectors = [SECTORS.index(o.key) if o.key in SECTORS else None for o in question.options]
        if set(sectors) == {None}:
            raise CannotSolveError("its answer is not among the options")
        fits = []
        for sector in sectors:
            off = np.full_like(bearings, 180.0)
            if sector is not None:
                off = np.abs((bearings - 45 * sector + 180) % 360 - 180)
            fits.append(float(self.maps.weights @ ((off <= 22.5) + _NEARNESS * (180 - off))))
        return SolvedAnswer(letter=question.letters[int(np.argmax(fits))])

    def placed(self, question: SceneQuestion) -> SolvedAnswer:
        """Return how far b is from a new object at some distance to one side of a."""
        a, b = question.objects
        step, far = _step(question), there(question.distance_m)
        if self.parts.graph.centre in {a, b}:
            there(self.parts.edge(b if a == self.parts.graph.centre else a).distance_m)
        gaps = np.multiply(step, far) - self.offsets_m(b, a)
        return self._number(np.hypot(*gaps.T))

    def _number(self, values: FloatArray) -> SolvedAnswer:
        """Return the number with the largest expected MRA, if one of the maps is right."""
        candidates = np.quantile(values, _CANDIDATES)
        fits = mean_relative_accuracy(candidates[:, None], values[None, :]) @ self.maps.weights
        return number(float(candidates[int(np.argmax(fits))]))


def misfit(values: Sequence[float], sign: int) -> float:
    """Return how far values are from rising (from falling, if the sign is −1): the squared changes of their logarithms.

    These are the least changes that bring them into order, by pooling neighbours in the wrong order; equal values need none.

    >>> misfit([1.0, 1.0, 2.0], 1), round(misfit([2.0, 1.0], 1), 2), misfit([2.0, 1.0], -1)
    (0.0, 0.24, 0.0)
    """
    levels = [sign * math.log(max(value, 1e-9)) for value in values]
    pools: list[list[float]] = []
    for level in levels:
        pools.append([level])
        while len(pools) > 1 and sum(pools[-2]) / len(pools[-2]) > sum(pools[-1]) / len(pools[-1]):
            pools[-2:] = [pools[-2] + pools[-1]]
    return sum((level - sum(pool) / len(pool)) ** 2 for pool in pools for level in pool)


def _most(question: SceneQuestion, fits: Sequence[float]) -> SolvedAnswer:
    """Return the option with the best fit, if it is the only one and its fit is positive."""
    best = [letter for letter, fit in zip(question.letters, fits, strict=True) if fit == max(fits) > 0]
    if len(best) != 1:
        raise CannotSolveError("its answer is not among the options")
    return SolvedAnswer(letter=best[0])


# Derives answers from a graph, without a model. Three solvers:
#
# ==============  ====================================================================================================
# ``fused``       the default. What the graph states, it means; the rest is what most plausible layouts imply, in which
#                 words and lengths are both noisy and correct each other
# ``geometric``   the same, but the rest is computed on one map, by the law of cosines, with all lengths taken as exact
# ``upstream``    the public code of CRISP, in every case
# ==============  ====================================================================================================
#
# None is always right, not even on true graphs; its score there is the solver's ceiling, and its score against the quality of the
# graph is its curve (``theodolite scene audit``).
#
# If the graph lacks what a question needs, or its answer is not among the options, there is no answer but a reason.


SolverName: TypeAlias = Literal["fused", "geometric", "upstream"]
SOLVERS: tuple[SolverName, ...] = get_args(SolverName)
SOLVER_TITLES: Mapping[SolverName, str] = {
    "fused": "fused: words and lengths",
    "geometric": "geometric: lengths exact",
    "upstream": "upstream: the public code",
}


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
        """Return the answer to a question.

        >>> from theodolite.worlds.scene_graph import Edge, Node
        >>> from theodolite.instruments.scene.data.files import SceneQuestion
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
    """Return the answer that a graph implies; for many questions about one graph use `Solver`."""
    return Solver(graph, solver).solve(question) if graph is not None else SolvedAnswer(reason="no graph")
