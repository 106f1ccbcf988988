"""The kinds of question: seven competencies, twenty-seven kinds, and nine groups to report by.

A kind is one record of `KINDS`. It says how its questions are worded, here and in CRISP-Bench's files, and its `Shape` says
everything else: which questions a scene allows and how they are answered, what the options are, what a graph implies, and what
the shortcut rule predicts. A new kind is one more record; if it asks for something new, also one more shape.

Questions name objects by their marks only. They are drawn from scenes as drafts, without words. Only the choice of wrong options
is random, and they are chosen so that the options do not reveal which one is right:

- *position*: the true words with none, one or both of two axes mirrored; or the four single words
- *order of three*: three of the other five orders, all equally likely
- *count*: four values in a row, the rank of the right one balanced
- *where after turning*: four sectors at right angles, the right one among them
"""

from __future__ import annotations

import itertools
import math
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self, TypeAlias, get_args

import numpy as np

from theodolite.core.errors import UsageError
from theodolite.core.tables import listed
from theodolite.instruments.scene.formulas.layout import FORWARD, SECTORS
from theodolite.instruments.scene.formulas.solver import SolvedAnswer, choice, number, there
from theodolite.worlds.scene_graph import (
    DECIMALS,
    OPPOSITE,
    RELATION_MARGIN_M,
    Domain,
    Edge,
    Node,
    Predicate,
    SceneGraph,
    in_order,
)

if TYPE_CHECKING:
    from theodolite.instruments.scene.data.files import SceneQuestion
    from theodolite.instruments.scene.formulas.solver import MapReading, Reading

Competency: TypeAlias = Literal[
    "direction", "size", "distance", "ranking", "counting", "transformation", "deduction"
]
COMPETENCIES: tuple[Competency, ...] = get_args(Competency)
ATOMIC: frozenset[Competency] = frozenset({"direction", "distance", "size"})
Form: TypeAlias = Literal["choice", "number"]


@dataclass(frozen=True, slots=True)
class Draft:
    """A question without its words."""

    kind: str
    objects: tuple[int, ...]
    answer: str
    """The key of the right option, or the number."""
    tag: str = ""
    """The meaning of the answer; the engine balances it over questions."""
    others: tuple[str, ...] = ()
    """Keys of the wrong options; for counts the engine picks among them."""
    relation: Predicate | None = None
    distance_m: float | None = None


# How clearly a scene must answer a question.


@dataclass(frozen=True, slots=True)
class Margins:
    """How clearly two values must differ to be asked about: by an absolute and a relative margin."""

    side_m: float
    """Left, right, in front of, behind: along that axis, from middle to middle."""
    vertical_m: float
    """Up and down: from the threshold of the word."""
    to_camera_m: float
    """Between two distances to the camera."""
    between_m: float
    """Between two distances to the centre object, and between a distance and the limit of a count."""
    extent_m: float
    """Between two heights or widths."""
    least_answer_m: float
    """Lengths below this are not asked for: two decimals would not be precise to 5 %."""
    placed_m: float
    """Between the answer of a deduction and the distance that its text names."""
    relative: float = 0.1
    """Between distances or extents, as a share of the larger."""
    volume: float = 0.25
    """Between volumes, as a share of the larger."""
    sector_deg: float = 7.5
    """Between a bearing and the edge of its sector."""
    steepness: float = 0.4
    """Rise over ground distance from the centre; objects above it are not asked about along the ground."""
    bearing_m: float = 0.5
    """Objects closer than this along the ground are not asked for their bearing."""

    def are_apart(self, first: float, second: float, least_m: float) -> bool:
        """Return True if two lengths differ clearly.

        >>> MARGINS["indoor"].are_apart(2.0, 2.5, 0.3), MARGINS["indoor"].are_apart(9.0, 9.5, 0.3)
        (True, False)
        """
        gap = abs(first - second)
        return gap >= least_m and gap >= self.relative * max(first, second)

    def are_volumes_apart(self, first: float, second: float) -> bool:
        """Return True if two volumes differ clearly."""
        return abs(first - second) >= self.volume * max(first, second)


MARGINS: Mapping[Domain, Margins] = {
    "indoor": Margins(
        side_m=0.3,
        vertical_m=0.1,
        to_camera_m=0.3,
        between_m=0.25,
        extent_m=0.05,
        least_answer_m=0.1,
        placed_m=0.2,
    ),
    "outdoor": Margins(
        side_m=0.5,
        vertical_m=0.1,
        to_camera_m=1.0,
        between_m=0.5,
        extent_m=0.1,
        least_answer_m=0.2,
        placed_m=1.0,
    ),
}
LIMITS_M: Mapping[Domain, tuple[float, ...]] = {
    "indoor": (0.5, 0.75, 1.0, 1.25, 1.5, 2.0, 2.5, 3.0, 4.0),
    "outdoor": (2.0, 3.0, 5.0, 8.0, 10.0, 15.0, 20.0, 25.0, 30.0, 40.0),
}
"""Distances that counting questions may name."""
PLACED_M: Mapping[Domain, tuple[float, ...]] = {"indoor": (0.5, 1.0, 2.0), "outdoor": (5.0, 10.0, 15.0, 20.0)}
"""Distances that deduction questions may name."""
_MOST_TRIPLES = 60


# The shortcut rule: answers predicted from the numbers of marks. Marks are numbered at random, so it is right only by chance.


def distance_by_mark_m(mark: int) -> float:
    """Return the distance from the camera that the shortcut rule predicts."""
    return 2.2 + 0.6 * mark


def size_by_mark_m(mark: int) -> tuple[float, float, float]:
    """Return the width, length and height that the shortcut rule predicts."""
    return 0.3 + 0.07 * mark, 0.4 + 0.12 * mark, 0.55 + 0.24 * mark


def apart_by_mark_m(one: int, other: int) -> float:
    """Return the distance between two middles that the shortcut rule predicts."""
    return 1.0 + 0.55 * abs(one - other)


def _length_by_mark_m(marks: Sequence[int]) -> float:
    """Return the prediction for any other length."""
    return 1.1 + 0.45 * marks[-1]


# What is measured of an object.


@dataclass(frozen=True, slots=True)
class Quantity:
    """Something that is measured of an object: in a scene, and as a graph states it."""

    name: str
    in_scene: Callable[[SceneGraph, int], float]
    stated: Callable[[Reading, int, int], float]
    """Function of a read graph, the object and the reference. It raises `CannotSolveError` if the graph does not state it."""
    tie: Callable[[MapReading, int, int], float]
    """What decides between two objects for which the stated values are equal."""
    are_apart: Callable[[Margins, float, float], bool]
    """Function that returns True if two values differ clearly."""
    by_marks: Callable[[Sequence[int]], float] = _length_by_mark_m
    """What the shortcut rule predicts from the marks of a question."""
    is_from_centre: bool = False
    """True if it is measured from the centre object, which is then the reference."""

    def marks(self, scene: SceneGraph) -> list[int]:
        """Return the objects for which it can be asked."""
        return [thing.id for thing in scene.objects if not (self.is_from_centre and thing.id == scene.centre)]

    def reference(self, scene: SceneGraph) -> tuple[int, ...]:
        """Return the object that a question names first."""
        return (scene.centre,) if self.is_from_centre else ()


def _extent(name: str) -> Callable[[Reading, int, int], float]:
    return lambda reading, mark, _: there(getattr(reading.parts.node(mark), f"{name}_m"))


def _volume(reading: Reading, mark: int, _: int = 0) -> float:
    node: Node = reading.parts.node(mark)
    return there(node.width_m) * there(node.length_m) * there(node.height_m)


def _are_extents_apart(margins: Margins, first: float, second: float) -> bool:
    return margins.are_apart(first, second, margins.extent_m)


VOLUME = Quantity(
    "volume",
    lambda scene, mark: scene[mark].volume_m3,
    _volume,
    tie=_extent("height"),
    are_apart=Margins.are_volumes_apart,
)
LENGTH = Quantity(
    "length",
    lambda scene, mark: scene[mark].length_m,
    _extent("length"),
    tie=_volume,
    are_apart=_are_extents_apart,
    by_marks=lambda marks: size_by_mark_m(marks[-1])[1],
)
HEIGHT = Quantity(
    "height",
    lambda scene, mark: scene[mark].height_m,
    _extent("height"),
    tie=_volume,
    are_apart=_are_extents_apart,
    by_marks=lambda marks: size_by_mark_m(marks[-1])[2],
)
WIDTH = Quantity(
    "width",
    lambda scene, mark: scene[mark].width_m,
    _extent("width"),
    tie=_volume,
    are_apart=_are_extents_apart,
    by_marks=lambda marks: size_by_mark_m(marks[-1])[0],
)
TO_CAMERA = Quantity(
    "distance to the camera",
    lambda scene, mark: scene[mark].distance_m,
    _extent("distance"),
    tie=lambda reading, mark, _: reading.ground_m(mark, None),
    are_apart=lambda margins, first, second: margins.are_apart(first, second, margins.to_camera_m),
    by_marks=lambda marks: distance_by_mark_m(marks[-1]),
)
TO_CENTRE = Quantity(
    "distance to the centre",
    lambda scene, mark: scene.between_m(scene.centre, mark),
    lambda reading, mark, reference: reading.between_m(reference, mark),
    tie=lambda reading, mark, reference: reading.ground_m(mark, reference),
    are_apart=lambda margins, first, second: margins.are_apart(first, second, margins.between_m),
    by_marks=lambda marks: apart_by_mark_m(*marks),
    is_from_centre=True,
)


def metres(value: float) -> str:
    """Return a length as answers are written.

    >>> metres(1.005 + 1)
    '2.00'
    """
    return f"{value:.{DECIMALS}f}"


def object_name(mark: int | str) -> str:
    """Return an object as questions name it."""
    return f"object {mark}"


# The shapes of questions.


class Shape(ABC):
    """What a kind of question asks for: its drafts, its options, the answer that a graph implies, and the shortcut's."""

    form: ClassVar[Form] = "choice"
    is_directed: ClassVar[bool] = True
    """False if the order of the objects does not matter."""
    is_yes_no: ClassVar[bool] = False
    is_count: ClassVar[bool] = False
    is_named_in_order: ClassVar[bool] = False
    """True if the text names two objects in the order of the options."""
    takes_relation: ClassVar[bool] = False
    """True if the text names a direction."""
    takes_distance: ClassVar[bool] = False
    """True if the text names a distance."""
    is_placing: ClassVar[bool] = False
    """True if it asks where the object named first is, relative to the second."""

    @property
    def claim(self) -> str:
        """The direction that a yes affirms; empty unless yes or no is asked."""
        return ""

    @property
    def reveals(self) -> str:
        """What the answer tells. Of the same objects it is asked for once. Empty: nothing that another kind asks for."""
        return ""

    @property
    def family(self) -> tuple[int, type[Shape]]:
        """The kinds that are drawn together, and their place in the order of drawing, on which seeds depend."""
        return 0, type(self)

    @classmethod
    @abstractmethod
    def draw(
        cls, kinds: Sequence[tuple[str, Self]], scene: SceneGraph, rng: np.random.Generator
    ) -> Iterator[Draft]:
        """Yield every question of a family that a scene answers clearly.

        Args:
            kinds: The kinds of the family: their names and shapes.
            scene: What is asked about.
            rng: Decides wrong options.
        """

    @abstractmethod
    def solve(self, question: SceneQuestion, reading: Reading) -> SolvedAnswer:
        """Return the answer that a graph implies, or raise `CannotSolveError`."""

    def option_text(self, key: str) -> str:
        """Return the text of an option."""
        return key

    def shortcut(self, question: SceneQuestion) -> str:
        """Return the letter or the number that the shortcut rule predicts: the letter of the last mark's number."""
        return question.letters[(question.objects[-1] - 1) % len(question.options)]

    def crisp_option(self, key: str) -> str:
        """Return the text of an option in CRISP-Bench's wording, with the marks of the question as ``{0}``, ``{1}``."""
        return self.option_text(key)

    def crisp_key(self, text: str) -> str:
        """Return the key of an option in CRISP-Bench's wording."""
        return text.lower().strip(" .")


@dataclass(frozen=True)
class Measure(Shape):
    """How long, tall, wide or far is it?"""

    quantity: Quantity
    form = "number"
    is_directed = False

    @property
    def family(self) -> tuple[int, type[Shape]]:
        """Those about the centre object are drawn later."""
        return 2 * self.quantity.is_from_centre, Measure

    @classmethod
    def draw(
        cls, kinds: Sequence[tuple[str, Self]], scene: SceneGraph, _: np.random.Generator
    ) -> Iterator[Draft]:
        """Yield every object for which the value is not too small."""
        least = MARGINS[scene.domain].least_answer_m
        for mark in kinds[0][1].quantity.marks(scene):
            for kind, shape in kinds:
                value = shape.quantity.in_scene(scene, mark)
                if value >= least:
                    yield Draft(kind, (*shape.quantity.reference(scene), mark), metres(value))

    def solve(self, question: SceneQuestion, reading: Reading) -> SolvedAnswer:
        """Return the number that the graph states."""
        return number(abs(self.quantity.stated(reading, question.objects[-1], question.objects[0])))

    def shortcut(self, question: SceneQuestion) -> str:
        """Return a fixed length for each mark."""
        return f"{self.quantity.by_marks(question.objects):.2f}"


@dataclass(frozen=True)
class Which(Shape):
    """Which of two objects has more of a quantity, or less?"""

    quantity: Quantity
    is_largest: bool
    is_directed = False
    is_named_in_order = True

    @property
    def reveals(self) -> str:
        """Which of two is closer is told by which is farther."""
        return self.quantity.name

    @property
    def family(self) -> tuple[int, type[Shape]]:
        """Those about the centre object are drawn later."""
        return 1 + 2 * self.quantity.is_from_centre, Which

    @property
    def sign(self) -> int:
        """The right object has the smallest value times this."""
        return -1 if self.is_largest else 1

    @classmethod
    def draw(
        cls, kinds: Sequence[tuple[str, Self]], scene: SceneGraph, _: np.random.Generator
    ) -> Iterator[Draft]:
        """Yield all pairs of objects for which the values differ clearly."""
        margins, marks = MARGINS[scene.domain], kinds[0][1].quantity.marks(scene)
        values = {
            kind: {mark: shape.quantity.in_scene(scene, mark) for mark in marks} for kind, shape in kinds
        }
        for one, two in itertools.combinations(marks, 2):
            for kind, shape in kinds:
                first, second = values[kind][one], values[kind][two]
                if shape.quantity.are_apart(margins, first, second):
                    is_first = shape.sign * first < shape.sign * second
                    right, wrong = (one, two) if is_first else (two, one)
                    objects = (*shape.quantity.reference(scene), one, two)
                    yield Draft(kind, objects, str(right), "", (str(wrong),))

    def solve(self, question: SceneQuestion, reading: Reading) -> SolvedAnswer:
        """Return the object with the smallest value, or the largest."""
        return reading.which(question, self.quantity, self.sign)

    def option_text(self, key: str) -> str:
        """Return the name of the object."""
        return object_name(key)

    def shortcut(self, question: SceneQuestion) -> str:
        """Return the lower mark; the higher one if the question says *farther*."""
        choose = max if "farther" in question.spec.text else min
        return question.letter_of(str(choose(question.objects[-2:]))) or "A"

    def crisp_key(self, text: str) -> str:
        """Return the mark."""
        return _marks_in(text)


@dataclass(frozen=True)
class Order(Shape):
    """The order of three objects by a quantity."""

    quantity: Quantity
    is_largest: bool
    """True if the largest comes first."""
    is_directed = False

    @property
    def sign(self) -> int:
        """The first object has the smallest value times this."""
        return -1 if self.is_largest else 1

    @classmethod
    def draw(
        cls, kinds: Sequence[tuple[str, Self]], scene: SceneGraph, rng: np.random.Generator
    ) -> Iterator[Draft]:
        """Yield triples for which all three values differ clearly, in random order, at most sixty."""
        margins = MARGINS[scene.domain]
        triples = list(itertools.combinations([thing.id for thing in scene.objects], 3))
        for index in rng.permutation(len(triples))[:_MOST_TRIPLES]:
            marks = tuple(triples[index][i] for i in rng.permutation(3))
            for kind, shape in kinds:
                values = [shape.quantity.in_scene(scene, mark) for mark in marks]
                if all(shape.quantity.are_apart(margins, x, y) for x, y in itertools.combinations(values, 2)):
                    ranks = {mark: shape.sign * value for mark, value in zip(marks, values, strict=True)}
                    answer = tuple(sorted(marks, key=lambda mark: ranks[mark]))
                    wrong = [order for order in itertools.permutations(marks) if order != answer]
                    chosen = [wrong[i] for i in rng.permutation(len(wrong))[:3]]
                    yield Draft(kind, marks, _in_order(answer), "", tuple(map(_in_order, chosen)))

    def solve(self, question: SceneQuestion, reading: Reading) -> SolvedAnswer:
        """Return the objects in the order of their stated values."""
        return reading.order(question, self.quantity, self.sign)

    def option_text(self, key: str) -> str:
        """Return the names of the objects.

        >>> Order(HEIGHT, is_largest=True).option_text("3-1-2")
        'object 3, object 1, object 2'
        """
        return ", ".join(map(object_name, key.split("-")))

    def shortcut(self, question: SceneQuestion) -> str:
        """Return the order of the marks."""
        return question.letter_of(_in_order(sorted(question.objects))) or "A"

    def crisp_option(self, key: str) -> str:
        """Return the names of the objects, joined by hyphens."""
        return "-".join(map(object_name, key.split("-")))

    def crisp_key(self, text: str) -> str:
        """Return the marks."""
        return _marks_in(text)


def _in_order(marks: Sequence[int]) -> str:
    return "-".join(map(str, marks))


AXES: tuple[tuple[int, tuple[Predicate, Predicate]], ...] = (
    (0, ("right", "left")),
    (1, ("behind", "in front of")),
)
"""Axes along the ground, with the words for larger and smaller values."""
_AXIS_OF: Mapping[Predicate, int] = {word: axis for axis, words in AXES for word in words}
_PHRASES: Mapping[Predicate, str] = {
    "left": "to the left of",
    "right": "to the right of",
    "in front of": "in front of",
    "behind": "behind",
    "up": "above",
    "down": "below",
}
_NEARNESS: Mapping[Predicate, str] = {
    "in front of": " (nearer to the camera)",
    "behind": " (farther from the camera)",
}


class AboutCentre(Shape):
    """Something about two objects, one of which is the centre, so that a star graph answers it."""

    @property
    def family(self) -> tuple[int, type[Shape]]:
        """All of them are drawn together."""
        return 0, AboutCentre

    @classmethod
    def draw(
        cls, kinds: Sequence[tuple[str, Self]], scene: SceneGraph, rng: np.random.Generator
    ) -> Iterator[Draft]:
        """Yield the questions about the centre and each other object, both ways round."""
        for other in (thing.id for thing in scene.objects if thing.id != scene.centre):
            for a, b in ((scene.centre, other), (other, scene.centre)):
                possible = [(shape.place, shape.draft(kind, scene, a, b, rng)) for kind, shape in kinds]
                clear = [
                    (order, draft.answer == "no", draft) for order, draft in possible if draft is not None
                ]
                # Along the ground the true word comes before the false one: seeds depend on it.
                yield from (
                    draft
                    for *_, draft in sorted(clear, key=lambda entry: (entry[0], entry[0] < 2 and entry[1]))
                )

    @abstractmethod
    def draft(self, kind: str, scene: SceneGraph, a: int, b: int, rng: np.random.Generator) -> Draft | None:
        """Return the question about two objects; None if its answer is not clear."""

    @property
    def place(self) -> int:
        """Where the kind stands among those about the same two objects: 0 and 1 for the axes along the ground."""
        return 3


@dataclass(frozen=True)
class IsThere(AboutCentre):
    """Is a to the left of b, or in another of the six directions?"""

    word: Predicate
    is_yes_no = True
    is_placing = True

    @property
    def claim(self) -> str:
        """The word, as questions write it."""
        return _PHRASES[self.word]

    @property
    def reveals(self) -> str:
        """Along the ground, that a is left of b tells that it is not right of it."""
        return f"axis {_AXIS_OF[self.word]}" if self.word in _AXIS_OF else ""

    def draft(self, kind: str, scene: SceneGraph, a: int, b: int, _: np.random.Generator) -> Draft | None:
        """Return the question, if the word is clearly true or clearly false."""
        margins = MARGINS[scene.domain]
        axis = _AXIS_OF.get(self.word)
        if axis is None:
            if scene.domain == "outdoor" or not self._is_clear_of_threshold(scene, a, b, margins):
                return None
            is_true = self.word in scene.relation(a, b)
        else:
            gap = scene.places_level_m[a - 1][axis] - scene.places_level_m[b - 1][axis]
            if abs(gap) < margins.side_m:
                return None
            larger, smaller = AXES[axis][1]
            is_true = self.word == (larger if gap > 0 else smaller)
        answer, other = ("yes", "no") if is_true else ("no", "yes")
        return Draft(kind, (a, b), answer, answer, (other,))

    def _is_clear_of_threshold(self, scene: SceneGraph, a: int, b: int, margins: Margins) -> bool:
        """Return True unless the vertical position is too close to the threshold of above and below."""
        return abs(_vertical_gaps(scene, a, b)[self.word] + RELATION_MARGIN_M) >= margins.vertical_m

    @property
    def place(self) -> int:
        """The axis of the word, the vertical one last."""
        return _AXIS_OF.get(self.word, 2)

    def solve(self, question: SceneQuestion, reading: Reading) -> SolvedAnswer:
        """Return whether the word is among those of the graph."""
        a, b = question.objects
        return choice(question, "yes" if self.word in reading.words(a, b) else "no")

    def option_text(self, key: str) -> str:
        """Return *Yes* or *No*."""
        return key.capitalize()

    def shortcut(self, question: SceneQuestion) -> str:
        """Return yes if the mark of the first object is the lower one."""
        return "A" if question.objects[0] < question.objects[1] else "B"


@dataclass(frozen=True)
class WhereIs(AboutCentre):
    """Where is a relative to b: the true words against false ones."""

    is_placing = True

    def draft(self, kind: str, scene: SceneGraph, a: int, b: int, rng: np.random.Generator) -> Draft | None:
        """Return the question with the same axes as wrong options, with one or two mirrored."""
        margins = MARGINS[scene.domain]
        right, forward, _ = map(float, scene.places_level_m[a - 1] - scene.places_level_m[b - 1])
        is_clear = all(
            abs(gap) >= margins.side_m or abs(gap) <= RELATION_MARGIN_M / 2 for gap in (right, forward)
        )
        words = [
            word for word in in_order(scene.relation(a, b)) if word in FORWARD or scene.domain == "indoor"
        ]
        if not is_clear or not _is_vertical_clear(scene, a, b, margins) or not set(words) & set(FORWARD):
            return None
        if len(words) == 1:
            keys = ["left", "right", "in front of", "behind"]
        else:
            first, second = (words[i] for i in rng.permutation(len(words))[:2])
            fixed = [word for word in words if word not in {first, second}]
            keys = [
                "+".join(in_order([*fixed, one, two]))
                for one in (first, OPPOSITE[first])
                for two in (second, OPPOSITE[second])
            ]
        answer = "+".join(words)
        return Draft(kind, (a, b), answer, answer, tuple(key for key in keys if key != answer))

    def solve(self, question: SceneQuestion, reading: Reading) -> SolvedAnswer:
        """Return the option that fits the words of the graph best."""
        return reading.position(question)

    def option_text(self, key: str) -> str:
        """Return the words of the option.

        >>> WhereIs().option_text("left+in front of")
        'left and in front'
        """
        short: Mapping[str, str] = {"in front of": "in front", "up": "above", "down": "below"}
        words = [short.get(word, word) for word in key.split("+")]
        return listed(words)

    def crisp_option(self, key: str) -> str:
        """Return where something is relative to a reference, by one to three words."""
        return _crisp_place(set(key.split("+")))

    def crisp_key(self, text: str) -> str:
        """Return the directions that the text names."""
        return "+".join(in_order(directions_in(text)))


def _vertical_gaps(scene: SceneGraph, a: int, b: int) -> dict[Predicate, float]:
    one, two = scene.stand(a), scene.stand(b)
    return {"up": one.bottom_m - two.top_m, "down": two.bottom_m - one.top_m}


def _is_vertical_clear(scene: SceneGraph, a: int, b: int, margins: Margins) -> bool:
    """Return True if neither *up* nor *down* is a matter of centimetres; outdoors they are not asked about."""
    return scene.domain == "outdoor" or all(
        abs(gap + RELATION_MARGIN_M) >= margins.vertical_m for gap in _vertical_gaps(scene, a, b).values()
    )


def _crisp_place(words: set[str]) -> str:
    """Return where something is relative to a reference, in CRISP-Bench's wording.

    >>> _crisp_place({"left", "behind"}), _crisp_place({"left", "behind", "up"})
    ('back-left of {1}', 'back-left of and above {1}')
    """
    if len(words) == 1:
        return f"{_PHRASES[in_order(words)[0]]} {{1}}"
    side = next((word for word in ("left", "right") if word in words), "")
    height = "above" if "up" in words else "below" if "down" in words else ""
    if not side:
        return f"{'in front' if 'in front of' in words else 'behind'} and {height} {{1}}"
    if words & {"in front of", "behind"}:
        corner = f"{'in front' if 'in front of' in words else 'back'}-{side} of"
        return f"{corner} and {height} {{1}}" if height else f"{corner} {{1}}"
    return f"{'upper' if 'up' in words else 'lower'}-{side} of {{1}}"


class Count(Shape):
    """How many of the other objects …? The questions are about the centre, and are asked if it has three edges or more."""

    is_count = True


def _others(scene: SceneGraph) -> list[int]:
    return [thing.id for thing in scene.objects if thing.id != scene.centre]


def _count(kind: str, scene: SceneGraph, count: int, *, relation: Predicate | None = None) -> Draft:
    others = tuple(str(n) for n in range(scene.n_edges + 1) if n != count)
    return Draft(kind, (scene.centre,), str(count), str(count), others, relation)


@dataclass(frozen=True)
class CountBeside(Count):
    """How many others lie to one side of the centre?"""

    takes_relation = True

    @classmethod
    def draw(
        cls, kinds: Sequence[tuple[str, Self]], scene: SceneGraph, _: np.random.Generator
    ) -> Iterator[Draft]:
        """Yield the directions along which every object is clearly on one side."""
        if scene.n_edges < 3:
            return
        side_m = MARGINS[scene.domain].side_m
        others = [mark - 1 for mark in _others(scene)]
        gaps = scene.places_level_m[others] - scene.places_level_m[scene.centre - 1]
        for axis, words in AXES:
            if (np.abs(gaps[:, axis]) >= side_m).all():
                for word, beside in zip(words, (gaps[:, axis] > 0, gaps[:, axis] < 0), strict=True):
                    for kind, _shape in kinds:
                        yield _count(kind, scene, int(beside.sum()), relation=word)

    def solve(self, question: SceneQuestion, reading: Reading) -> SolvedAnswer:
        """Return the number of edges with the direction among their words."""
        return reading.counted(question, lambda edge: question.relation in edge.relation)


@dataclass(frozen=True)
class CountWithin(Count):
    """How many others are within a distance of the centre, or beyond one?"""

    is_beyond: bool
    takes_distance = True

    @property
    def reveals(self) -> str:
        """How many are within a distance tells how many are beyond it."""
        return "count"

    @classmethod
    def draw(
        cls, kinds: Sequence[tuple[str, Self]], scene: SceneGraph, _: np.random.Generator
    ) -> Iterator[Draft]:
        """Yield the distances from which every object is clearly away."""
        if scene.n_edges < 3:
            return
        margins = MARGINS[scene.domain]
        far = np.array([scene.between_m(scene.centre, mark) for mark in _others(scene)])
        for limit in LIMITS_M[scene.domain]:
            if all(margins.are_apart(float(gap), limit, margins.between_m) for gap in far):
                for kind, shape in kinds:
                    counted = far > limit if shape.is_beyond else far < limit
                    yield replace(_count(kind, scene, int(counted.sum())), distance_m=limit)

    def solve(self, question: SceneQuestion, reading: Reading) -> SolvedAnswer:
        """Return the number of edges that are short enough, or too long."""
        limit = there(question.distance_m)

        def counts(edge: Edge) -> bool:
            length = there(edge.distance_m)
            if self.is_beyond:
                return length > limit
            return length < limit or (reading.includes_limit and length == limit)

        return reading.counted(question, counts)


_CRISP_SECTORS: Mapping[str, str] = {
    "front": "directly in front of you",
    "back": "directly behind you",
    "left": "directly to your left",
    "right": "directly to your right",
    "front left": "to your front-left",
    "front right": "to your front-right",
    "back left": "to your back-left",
    "back right": "to your back-right",
}


@dataclass(frozen=True)
class Turn(Shape):
    """Stand at the centre, face b: in which of eight sectors is c?"""

    @classmethod
    def draw(
        cls, kinds: Sequence[tuple[str, Self]], scene: SceneGraph, _: np.random.Generator
    ) -> Iterator[Draft]:
        """Yield pairs of objects that are not too close, if the bearing is clear of the edges of its sector."""
        margins, centre = MARGINS[scene.domain], scene.centre
        ground = scene.places_level_m[:, :2] - scene.places_level_m[centre - 1, :2]
        far = [
            mark
            for mark in _about_level(scene)
            if math.hypot(*map(float, ground[mark - 1])) >= margins.bearing_m
        ]
        for b, c in itertools.permutations(far, 2):
            sector, is_clear = sector_of(bearing_deg(ground[b - 1], ground[c - 1]), margins.sector_deg)
            if is_clear:
                wrong = tuple(SECTORS[(sector + turn) % 8] for turn in (2, 4, 6))
                for kind, _shape in kinds:
                    yield Draft(kind, (centre, b, c), SECTORS[sector], SECTORS[sector], wrong)

    def solve(self, question: SceneQuestion, reading: Reading) -> SolvedAnswer:
        """Return the sector that the graph implies."""
        return reading.turned(question)

    def crisp_option(self, key: str) -> str:
        """Return the sector as seen by someone who stands there."""
        return _CRISP_SECTORS[key]

    def crisp_key(self, text: str) -> str:
        """Return the sector that the text names."""
        words, parts = directions_in(text), {"in front of": "front", "behind": "back"}
        sector = " ".join(
            parts.get(word, word) for word in ("in front of", "behind", "left", "right") if word in words
        )
        if sector not in SECTORS:
            raise UsageError(f"direction {text!r}")
        return sector


@dataclass(frozen=True)
class Place(Shape):
    """Something new lies at some distance to one side of the centre: how far is it from b along the ground?"""

    form = "number"
    takes_relation = takes_distance = True

    @classmethod
    def draw(
        cls, kinds: Sequence[tuple[str, Self]], scene: SceneGraph, _: np.random.Generator
    ) -> Iterator[Draft]:
        """Yield places for which the answer differs clearly from the distance that the text names."""
        margins, centre = MARGINS[scene.domain], scene.centre
        ground = scene.places_level_m[:, :2] - scene.places_level_m[centre - 1, :2]
        for word, step in FORWARD.items():
            for distance in PLACED_M[scene.domain]:
                for mark in _about_level(scene):
                    answer = float(np.linalg.norm(np.multiply(step, distance) - ground[mark - 1]))
                    if abs(answer - distance) >= margins.placed_m and answer >= margins.least_answer_m:
                        tag, objects = f"{word} {distance:g}", (centre, mark)
                        for kind, _shape in kinds:
                            yield Draft(kind, objects, metres(answer), tag, (), word, distance)

    def solve(self, question: SceneQuestion, reading: Reading) -> SolvedAnswer:
        """Return the distance that the graph implies."""
        return reading.placed(question)

    def shortcut(self, question: SceneQuestion) -> str:
        """Return a fixed length for each mark."""
        return f"{_length_by_mark_m(question.objects):.2f}"


def _about_level(scene: SceneGraph) -> list[int]:
    """Return the objects at about the height of the centre, which questions about the ground are asked about.

    A clock above a table has no useful direction from it, and the distance between the two, which the graph holds, says
    little about their distance along the ground.
    """
    steepest = MARGINS[scene.domain].steepness
    gaps = scene.places_level_m - scene.places_level_m[scene.centre - 1]
    return [
        thing.id
        for thing, (right, forward, up) in zip(scene.objects, gaps.tolist(), strict=True)
        if thing.id != scene.centre and abs(up) <= steepest * math.hypot(right, forward)
    ]


def bearing_deg(facing: np.ndarray, target: np.ndarray) -> float:
    """Return the angle clockwise from straight ahead, in [0, 360); both arguments are (right, forward) along the ground.

    >>> bearing_deg(np.array([0.0, 1.0]), np.array([1.0, 0.0]))
    90.0
    """
    ahead, there_deg = (math.degrees(math.atan2(float(v[0]), float(v[1]))) for v in (facing, target))
    return (there_deg - ahead) % 360


def sector_of(bearing: float, margin_deg: float) -> tuple[int, bool]:
    """Return the sector of a bearing, and whether the bearing is clear of the sector's edges.

    >>> sector_of(350.0, 7.5), sector_of(66.0, 7.5)
    ((0, True), (1, False))
    """
    sector = round(bearing / 45) % 8
    off = abs((bearing - 45 * sector + 180) % 360 - 180)
    return sector, off <= 22.5 - margin_deg


# Marks and directions in a text, as CRISP-Bench writes them.


MARK = re.compile(r"\bobject\s*#?(\d+)\b", re.IGNORECASE)
_DIRECTIONS: tuple[tuple[str, Predicate], ...] = (
    (r"\bleft\b", "left"),
    (r"\bright\b", "right"),
    (r"\bfront\b", "in front of"),
    (r"\bbehind\b|\bback\b", "behind"),
    (r"\babove\b|\bup(?:per)?\b", "up"),
    (r"\bbelow\b|\bdown\b|\bunder\b|\blower\b", "down"),
)


def directions_in(text: str) -> list[Predicate]:
    """Return the directions that a text names.

    >>> directions_in("back-left of object 1")
    ['left', 'behind']
    """
    bare = MARK.sub(" ", text.lower()).replace("-", " ")
    return [word for pattern, word in _DIRECTIONS if re.search(pattern, bare)]


def _marks_in(text: str) -> str:
    return "-".join(MARK.findall(text)) or text.lower().strip(" .")


# The kinds.


@dataclass(frozen=True, slots=True)
class QuestionKind:
    """One kind of question."""

    name: str
    competency: Competency
    shape: Shape
    text: str
    """The question, with the objects as ``{0}``, ``{1}`` …, and ``{relation}``, ``{nearness}`` and ``{distance}``."""
    crisp: str = ""
    """The same in CRISP-Bench's wording, with ``{word}`` and ``{side}`` for the direction. Empty: it has no such question."""
    crisp_pattern: str = ""
    """Pattern by which its questions are told from others of the competency in CRISP-Bench's files. Empty: they are not."""
    crisp_rank: int = 0
    """Patterns with a lower rank are tried first."""

    def __post_init__(self) -> None:
        if self.competency not in COMPETENCIES:
            raise UsageError(f"the kind {self.name!r} needs a competency: one of {', '.join(COMPETENCIES)}")
        try:
            words, crisp_words = self.words((1, 2, 3), "left", 1.0), self.crisp_words((1, 2, 3), "left", 1.0)
        except (LookupError, ValueError) as error:
            raise UsageError(f"the kind {self.name!r} has a text with an unknown field: {error}") from None
        if not (object_name(1) in words and object_name(1) in crisp_words):
            raise UsageError(f"the text of the kind {self.name!r} names no object")

    @property
    def form(self) -> Form:
        """Whether a letter or a number is asked for."""
        return self.shape.form

    @property
    def group(self) -> tuple[Form, Competency]:
        """The group in which results are reported."""
        return self.form, self.competency

    def words(
        self, marks: Sequence[int], relation: Predicate | None = None, distance_m: float | None = None
    ) -> str:
        """Return the text of a question."""
        return _filled(
            self.text,
            marks,
            relation=_PHRASES[relation] if relation is not None else "",
            nearness=_NEARNESS.get(relation, "") if relation is not None else "",
            distance=f"{distance_m:g}" if distance_m is not None else "",
        )

    def crisp_words(
        self, marks: Sequence[int], relation: Predicate | None = None, distance_m: float | None = None
    ) -> str:
        """Return the text of a question in CRISP-Bench's wording; in ours if it has none."""
        if not self.crisp:
            return self.words(marks, relation, distance_m)
        return _filled(
            self.crisp,
            marks,
            distance=f"{distance_m:g}" if distance_m is not None else "",
            word=relation or "",
            side=_PHRASES[relation] if relation is not None else "",
        )


def _filled(text: str, marks: Sequence[int], **words: str) -> str:
    """Return a text with the names of objects and other words.

    Raises:
        UsageError: If it names more objects than there are.
    """
    try:
        return text.format(*map(object_name, marks), **words)
    except IndexError:
        raise UsageError(f"the question is about more than {len(marks)} objects") from None


_VIEW = "From the camera's viewpoint"
_ALL = (
    QuestionKind(
        "is in front",
        "direction",
        IsThere("in front of"),
        "Seen from the camera, is {0} in front of {1}, that is, nearer along the line of sight?",
        f"{_VIEW}, is {{0}} in front of {{1}}?",
    ),
    QuestionKind(
        "is behind",
        "direction",
        IsThere("behind"),
        "Seen from the camera, is {0} behind {1}, that is, farther along the line of sight?",
        f"{_VIEW}, is {{0}} behind {{1}}?",
    ),
    QuestionKind(
        "is left",
        "direction",
        IsThere("left"),
        "Seen from the camera, is {0} to the left of {1}?",
        f"{_VIEW}, is {{0}} to the left of {{1}}?",
    ),
    QuestionKind(
        "is right",
        "direction",
        IsThere("right"),
        "Seen from the camera, is {0} to the right of {1}?",
        f"{_VIEW}, is {{0}} to the right of {{1}}?",
    ),
    QuestionKind(
        "is above",
        "direction",
        IsThere("up"),
        "Is {0} above {1}, that is, does it begin where {1} ends, or higher?",
        f"{_VIEW}, is {{0}} above {{1}}?",
    ),
    QuestionKind(
        "is below",
        "direction",
        IsThere("down"),
        "Is {0} below {1}, that is, does it end where {1} begins, or lower?",
        f"{_VIEW}, is {{0}} below {{1}}?",
    ),
    QuestionKind(
        "position",
        "direction",
        WhereIs(),
        'Seen from the camera, where is {0} relative to {1}? "In front" means nearer to the camera, "behind" farther from it.',
        f"{_VIEW}, which best describes the relative position of {{0}} to {{1}}?",
    ),
    QuestionKind(
        "larger",
        "size",
        Which(VOLUME, is_largest=True),
        "In the real world, which has the larger volume: {0} or {1}?",
        "Considering real-world physical dimensions, which object is larger in volume: {0} or {1}?",
        r"volume|larger|bigger",
    ),
    QuestionKind(
        "taller",
        "size",
        Which(HEIGHT, is_largest=True),
        "In the real world, which is taller: {0} or {1}?",
        "Which object is taller: {0} or {1}?",
        r"taller",
    ),
    QuestionKind(
        "wider",
        "size",
        Which(WIDTH, is_largest=True),
        "In the real world, which is wider, measured along the shorter of its two horizontal sides: {0} or {1}?",
        "Which object is wider: {0} or {1}?",
        r"wider",
    ),
    QuestionKind(
        "length",
        "size",
        Measure(LENGTH),
        "How long is {0} in the real world, along the longer of its two horizontal sides, in metres?",
        "Approximately how long (in meters) is {0}?",
        r"how long|length",
    ),
    QuestionKind(
        "height",
        "size",
        Measure(HEIGHT),
        "How tall is {0} in the real world, in metres?",
        "What is the approximate height (in meters) of {0}?",
        r"height|how tall|how high",
    ),
    QuestionKind(
        "width",
        "size",
        Measure(WIDTH),
        "How wide is {0} in the real world, along the shorter of its two horizontal sides, in metres?",
        "Estimate the width (in meters) of {0}.",
        r"width|how wide",
    ),
    QuestionKind(
        "closer to camera",
        "distance",
        Which(TO_CAMERA, is_largest=False),
        "Which is closer to the camera: {0} or {1}?",
        "Which object is physically closer to the camera: {0} or {1}?",
        r"closer.*camera",
    ),
    QuestionKind(
        "farther from camera",
        "distance",
        Which(TO_CAMERA, is_largest=True),
        "Which is farther from the camera: {0} or {1}?",
        "Which object is physically farther from the camera: {0} or {1}?",
        r"farther.*camera",
    ),
    QuestionKind(
        "closer to object",
        "distance",
        Which(TO_CENTRE, is_largest=False),
        "Which is closer to {0}, from middle to middle: {1} or {2}?",
        "Which object is physically closer to {0}: {1} or {2}?",
        r"closer",
    ),
    QuestionKind(
        "farther from object",
        "distance",
        Which(TO_CENTRE, is_largest=True),
        "Which is farther from {0}, from middle to middle: {1} or {2}?",
        "Which object is physically farther from {0}: {1} or {2}?",
        r"farther",
    ),
    QuestionKind(
        "distance to camera",
        "distance",
        Measure(TO_CAMERA),
        "How far is the middle of {0} from the camera, in metres?",
        "Approximately how far (in meters) is {0} from the camera?",
        r"how far.*camera",
        crisp_rank=-1,
    ),
    QuestionKind(
        "distance between",
        "distance",
        Measure(TO_CENTRE),
        "How far apart are the middles of {0} and {1}, in metres?",
        "What is the distance (in meters) between {0} and {1}?",
        r"between",
        crisp_rank=-2,
    ),
    QuestionKind(
        "rank by volume",
        "ranking",
        Order(VOLUME, is_largest=True),
        "Order these by volume, the largest first: {0}, {1}, {2}.",
        "Rank the following objects by size (largest to smallest): {0}, {1}, {2}.",
        r"size|volume|large",
        crisp_rank=1,
    ),
    QuestionKind(
        "rank by height",
        "ranking",
        Order(HEIGHT, is_largest=True),
        "Order these by height, the tallest first: {0}, {1}, {2}.",
        "Rank the following objects by height (tallest to shortest): {0}, {1}, {2}.",
        r"height|tall",
    ),
    QuestionKind(
        "rank by distance",
        "ranking",
        Order(TO_CAMERA, is_largest=False),
        "Order these by their distance from the camera, the nearest first: {0}, {1}, {2}.",
        "Rank the following objects by distance from the camera (nearest to farthest): {0}, {1}, {2}.",
        r"distance|near",
    ),
    QuestionKind(
        "count in direction",
        "counting",
        CountBeside(),
        "Seen from the camera, how many of the other marked objects are {relation} {0}{nearness}?",
        f"{_VIEW} and only considering the marked objects, how many objects are {{side}} {{0}}?",
        r"how many",
        crisp_rank=1,
    ),
    QuestionKind(
        "count within",
        "counting",
        CountWithin(is_beyond=False),
        "How many of the other marked objects are within {distance} metres of {0}, from middle to middle?",
        "Considering the marked objects, how many objects are within {distance} meters of {0}?",
        r"within",
    ),
    QuestionKind(
        "count beyond",
        "counting",
        CountWithin(is_beyond=True),
        "How many of the other marked objects are more than {distance} metres away from {0}, from middle to middle?",
        "Considering the marked objects, how many objects are farther than {distance} meters from {0}?",
        r"farther than|more than .* away|beyond",
    ),
    QuestionKind(
        "where after turning",
        "transformation",
        Turn(),
        "Imagine standing at {0} and facing {1}. In which direction from you is {2}?",
        "Imagine you are standing at the location of {0} and facing directly towards {1}. From this perspective, in which "
        "direction is {2} located relative to you?",
        r".*",
    ),
    QuestionKind(
        "distance after placing",
        "deduction",
        Place(),
        "Something new is put on the ground {distance} metres {relation} {0}{nearness}, seen from the camera. How far is it then "
        "from {1} along the ground, in metres?",
        "Suppose we place a new object A in the {word} direction from {0} at a distance of approximately {distance} meters. What "
        "is the horizontal distance (in meters) between A and {1}?",
        r".*",
    ),
)
KINDS: dict[str, QuestionKind] = {kind.name: kind for kind in _ALL}
"""The kinds by name. Data sets and seeds depend on their order."""

GROUPS: tuple[tuple[Form, Competency], ...] = tuple(dict.fromkeys(kind.group for kind in _ALL))
"""The nine groups whose mean is the QA score."""


def group_name(form: Form, competency: Competency) -> str:
    """Return a group as tables show it.

    >>> group_name("number", "size")
    'size (number)'
    """
    return f"{competency} ({form})"


def kind_of(name: str) -> QuestionKind:
    """Return a kind by its name.

    Raises:
        UsageError: There is none.
    """
    if name not in KINDS:
        raise UsageError(f"there is no kind of question {name!r:.80}; there are {', '.join(KINDS)}")
    return KINDS[name]


def drafts(competency: Competency, scene: SceneGraph, rng: np.random.Generator) -> Iterator[Draft]:
    """Yield every question of a competency that a scene answers clearly."""
    families: dict[tuple[int, type[Shape]], list[tuple[str, Any]]] = {}
    for kind in KINDS.values():
        if kind.competency == competency:
            families.setdefault(kind.shape.family, []).append((kind.name, kind.shape))
    for (_, family), kinds in sorted(families.items(), key=lambda entry: entry[0][0]):
        yield from family.draw(kinds, scene, rng)
