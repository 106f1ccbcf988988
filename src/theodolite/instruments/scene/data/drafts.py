"""Drafts of atomic questions: every question whose answer is clear, kind by kind, with its answer.

A draft is a question without its words. A maker lists all drafts that a scene allows, and the engine picks among them. Only
the choice of wrong options is random, and they are chosen so that the options do not reveal which one is right:

- *position*: the true words with none, one or both of two axes mirrored; or the four single words
- *rank*: three of the other five orders, all equally likely
- *count*: four values in a row, the rank of the right one balanced
- *where after turning*: four sectors at right angles, the right one among them
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from theodolite.instruments.scene.data.graph import DECIMALS, Domain, SceneGraph
from theodolite.instruments.scene.data.questions import Kind
from theodolite.instruments.scene.data.relations import OPPOSITE, RELATION_MARGIN_M, Predicate, in_order

HORIZONTAL: tuple[Predicate, ...] = ("left", "right", "in front of", "behind")
AXES: tuple[tuple[int, tuple[Predicate, Predicate]], ...] = (
    (0, ("right", "left")),
    (1, ("behind", "in front of")),
)
"""Axes along the ground, with the words for larger and smaller values."""


@dataclass(frozen=True, slots=True)
class Draft:
    """A question without its words."""

    kind: Kind
    objects: tuple[int, ...]
    answer: str
    """The key of the right option, or the number."""
    tag: str = ""
    """The meaning of the answer; the engine balances it over questions."""
    others: tuple[str, ...] = ()
    """Keys of the wrong options; for counts the engine picks among them."""
    relation: Predicate | None = None
    distance_m: float | None = None


def metres(value: float) -> str:
    """A length as answers are written.

    >>> metres(1.005 + 1)
    '2.00'
    """
    return f"{value:.{DECIMALS}f}"


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
        """True if two lengths differ clearly.

        >>> MARGINS["indoor"].are_apart(2.0, 2.5, 0.3), MARGINS["indoor"].are_apart(9.0, 9.5, 0.3)
        (True, False)
        """
        gap = abs(first - second)
        return gap >= least_m and gap >= self.relative * max(first, second)

    def are_volumes_apart(self, first: float, second: float) -> bool:
        """True if two volumes differ clearly."""
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


def direction_drafts(scene: SceneGraph, rng: np.random.Generator) -> Iterator[Draft]:
    """Is a left of b; where is a relative to b. One of the two is the centre, so that a star graph answers it."""
    margins, centre = MARGINS[scene.domain], scene.centre
    for other in (thing.id for thing in scene.objects if thing.id != centre):
        for a, b in ((centre, other), (other, centre)):
            gap = scene.places_level_m[a - 1] - scene.places_level_m[b - 1]
            for axis, words in AXES:
                if abs(gap[axis]) >= margins.side_m:
                    yield from _yes_no(a, b, words[0] if gap[axis] > 0 else words[1])
            if scene.domain == "indoor":
                yield from _vertical(scene, a, b, margins)
            yield from _position(scene, a, b, margins, rng)


_ASKS: Mapping[Predicate, Kind] = {
    "left": "is left",
    "right": "is right",
    "in front of": "is in front",
    "behind": "is behind",
    "up": "is above",
    "down": "is below",
}


def _yes_no(a: int, b: int, said: Predicate) -> Iterator[Draft]:
    yield Draft(_ASKS[said], (a, b), "yes", "yes", ("no",))
    yield Draft(_ASKS[OPPOSITE[said]], (a, b), "no", "no", ("yes",))


def _vertical(scene: SceneGraph, a: int, b: int, margins: Margins) -> Iterator[Draft]:
    """Above and below, both clear of the word's threshold."""
    upper, lower = scene.stand(a), scene.stand(b)
    words = scene.relation(a, b)
    edges = {"up": upper.bottom_m - lower.top_m, "down": lower.bottom_m - upper.top_m}
    for word, gap in edges.items():
        if abs(gap + RELATION_MARGIN_M) >= margins.vertical_m:
            answer = "yes" if word in words else "no"
            kind: Kind = "is above" if word == "up" else "is below"
            yield Draft(kind, (a, b), answer, answer, ("no" if answer == "yes" else "yes",))


def _position(
    scene: SceneGraph, a: int, b: int, margins: Margins, rng: np.random.Generator
) -> Iterator[Draft]:
    """The true words against false ones: the same axes, with one or two mirrored."""
    right, forward, _ = map(float, scene.places_level_m[a - 1] - scene.places_level_m[b - 1])
    is_clear = all(
        abs(gap) >= margins.side_m or abs(gap) <= RELATION_MARGIN_M / 2 for gap in (right, forward)
    )
    words = [
        word for word in in_order(scene.relation(a, b)) if word in HORIZONTAL or scene.domain == "indoor"
    ]
    if not is_clear or not _is_vertical_clear(scene, a, b, margins) or not set(words) & set(HORIZONTAL):
        return
    if len(words) == 1:
        keys = [str(word) for word in HORIZONTAL]
    else:
        first, second = (words[i] for i in rng.permutation(len(words))[:2])
        fixed = [word for word in words if word not in {first, second}]
        keys = [
            "+".join(in_order([*fixed, one, two]))
            for one in (first, OPPOSITE[first])
            for two in (second, OPPOSITE[second])
        ]
    answer = "+".join(words)
    yield Draft("position", (a, b), answer, answer, tuple(key for key in keys if key != answer))


def _is_vertical_clear(scene: SceneGraph, a: int, b: int, margins: Margins) -> bool:
    """True if neither *up* nor *down* is a matter of centimetres; outdoors they are not asked about."""
    one, two = scene.stand(a), scene.stand(b)
    gaps = (one.bottom_m - two.top_m, two.bottom_m - one.top_m)
    return scene.domain == "outdoor" or all(
        abs(gap + RELATION_MARGIN_M) >= margins.vertical_m for gap in gaps
    )


def size_drafts(scene: SceneGraph, _: np.random.Generator) -> Iterator[Draft]:
    """Which of two is larger, taller, wider; how long, tall, wide is one."""
    margins = MARGINS[scene.domain]
    for thing in scene.objects:
        sides: tuple[tuple[Kind, float], ...] = (
            ("length", thing.length_m),
            ("height", thing.height_m),
            ("width", thing.width_m),
        )
        for kind, value in sides:
            if value >= margins.least_answer_m:
                yield Draft(kind, (thing.id,), metres(value))
    for one, two in itertools.combinations(scene.objects, 2):
        if margins.are_volumes_apart(one.volume_m3, two.volume_m3):
            yield _which("larger", one.id, two.id, is_first=one.volume_m3 > two.volume_m3)
        if margins.are_apart(one.height_m, two.height_m, margins.extent_m):
            yield _which("taller", one.id, two.id, is_first=one.height_m > two.height_m)
        if margins.are_apart(one.width_m, two.width_m, margins.extent_m):
            yield _which("wider", one.id, two.id, is_first=one.width_m > two.width_m)


def distance_drafts(scene: SceneGraph, _: np.random.Generator) -> Iterator[Draft]:
    """Which of two is closer to the camera or to the centre; how far."""
    margins, centre = MARGINS[scene.domain], scene.centre
    for thing in scene.objects:
        yield Draft("distance to camera", (thing.id,), metres(thing.distance_m))
    for one, two in itertools.combinations(scene.objects, 2):
        if margins.are_apart(one.distance_m, two.distance_m, margins.to_camera_m):
            is_closer = one.distance_m < two.distance_m
            yield _which("closer to camera", one.id, two.id, is_first=is_closer)
            yield _which("farther from camera", one.id, two.id, is_first=not is_closer)
    gaps = {t.id: scene.between_m(centre, t.id) for t in scene.objects if t.id != centre}
    for mark, gap in gaps.items():
        if gap >= margins.least_answer_m:
            yield Draft("distance between", (centre, mark), metres(gap))
    for (one_id, first), (two_id, second) in itertools.combinations(gaps.items(), 2):
        if margins.are_apart(first, second, margins.between_m):
            for kind, is_first in (
                ("closer to object", first < second),
                ("farther from object", first > second),
            ):
                draft = _which("closer to object", one_id, two_id, is_first=is_first)
                yield Draft(kind, (centre, *draft.objects), draft.answer, "", draft.others)  # type: ignore[arg-type]


def _which(kind: Kind, one: int, two: int, *, is_first: bool) -> Draft:
    right, wrong = (one, two) if is_first else (two, one)
    return Draft(kind, (one, two), str(right), "", (str(wrong),))
