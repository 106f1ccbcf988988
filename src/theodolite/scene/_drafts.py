"""What can be asked about a scene, kind by kind: every question whose answer is clear, with its answer.

A maker lists all drafts that the scene allows; the engine picks among them. Nothing here is random but the choice of wrong
options, and those are chosen so that the set of options does not tell which one is right:

- *position*: the right words with none, one or both of two axes mirrored; or the four single words
- *rank*: three others of the remaining five orders, all equally likely
- *count*: four values in a row, the right one's rank in them dealt evenly
- *where after turning*: four sectors at right angles, the right one among them
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from theodolite.scene._graph import DECIMALS, SceneGraph
from theodolite.scene._margins import MARGINS, Margins
from theodolite.scene._questions import SECTORS, Competency, Kind
from theodolite.scene._relations import OPPOSITE, RELATION_MARGIN_M, Predicate, in_order

HORIZONTAL: tuple[Predicate, ...] = ("left", "right", "in front of", "behind")
_AXES: tuple[tuple[int, tuple[Predicate, Predicate]], ...] = (
    (0, ("right", "left")),
    (1, ("behind", "in front of")),
)
"""Along the ground: the axis, and the words for more and less of it."""
LIMITS_M: Mapping[str, tuple[float, ...]] = {
    "indoor": (0.5, 0.75, 1.0, 1.25, 1.5, 2.0, 2.5, 3.0, 4.0),
    "outdoor": (2.0, 3.0, 5.0, 8.0, 10.0, 15.0, 20.0, 25.0, 30.0, 40.0),
}
"""Distances that counting questions may name."""
PLACED_M: Mapping[str, tuple[float, ...]] = {"indoor": (0.5, 1.0, 2.0), "outdoor": (5.0, 10.0, 15.0, 20.0)}
"""Distances that deduction questions may name."""
_MOST_TRIPLES = 60


@dataclass(frozen=True, slots=True)
class Draft:
    """A question without its words."""

    kind: Kind
    objects: tuple[int, ...]
    answer: str
    """The key of the right option, or the number."""
    tag: str = ""
    """What the engine spreads evenly: the meaning of the answer, where meanings could be lopsided."""
    others: tuple[str, ...] = ()
    """Keys of the wrong options; for counts and ranks, the engine picks among them."""
    relation: Predicate | None = None
    distance_m: float | None = None


def direction_drafts(scene: SceneGraph, rng: np.random.Generator) -> Iterator[Draft]:
    """Is a left of b; where is a relative to b. One of the two is the centre, so that a star graph holds the answer."""
    margins, centre = MARGINS[scene.domain], scene.centre
    for other in (thing.id for thing in scene.objects if thing.id != centre):
        for a, b in ((centre, other), (other, centre)):
            gap = scene.places_level_m[a - 1] - scene.places_level_m[b - 1]
            for axis, words in _AXES:
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
    """Above and below, both clear of the line at which the word becomes true."""
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
    """The words that are true, against as many that are not: the same axes, one or two of them mirrored."""
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
    """Whether neither *up* nor *down* is a matter of centimetres; outdoors neither is asked about."""
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
                yield Draft(kind, (thing.id,), _metres(value))
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
        yield Draft("distance to camera", (thing.id,), _metres(thing.distance_m))
    for one, two in itertools.combinations(scene.objects, 2):
        if margins.are_apart(one.distance_m, two.distance_m, margins.to_camera_m):
            is_closer = one.distance_m < two.distance_m
            yield _which("closer to camera", one.id, two.id, is_first=is_closer)
            yield _which("farther from camera", one.id, two.id, is_first=not is_closer)
    gaps = {t.id: scene.between_m(centre, t.id) for t in scene.objects if t.id != centre}
    for mark, gap in gaps.items():
        if gap >= margins.least_answer_m:
            yield Draft("distance between", (centre, mark), _metres(gap))
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


def ranking_drafts(scene: SceneGraph, rng: np.random.Generator) -> Iterator[Draft]:
    """The order of three."""
    margins = MARGINS[scene.domain]
    triples = list(itertools.combinations(scene.objects, 3))
    for place in rng.permutation(len(triples))[:_MOST_TRIPLES]:
        three = [triples[place][i] for i in rng.permutation(3)]
        rankings: tuple[tuple[Kind, list[float], Callable[[float, float], bool]], ...] = (
            ("rank by volume", [-t.volume_m3 for t in three], lambda x, y: margins.are_volumes_apart(-x, -y)),
            (
                "rank by height",
                [-t.height_m for t in three],
                lambda x, y: margins.are_apart(-x, -y, margins.extent_m),
            ),
            (
                "rank by distance",
                [t.distance_m for t in three],
                lambda x, y: margins.are_apart(x, y, margins.to_camera_m),
            ),
        )
        marks = tuple(thing.id for thing in three)
        for kind, values, are_apart in rankings:
            if all(are_apart(x, y) for x, y in itertools.combinations(values, 2)):
                answer = tuple(mark for _, mark in sorted(zip(values, marks, strict=True)))
                wrong = [order for order in itertools.permutations(marks) if order != answer]
                chosen = [wrong[i] for i in rng.permutation(len(wrong))[:3]]
                yield Draft(kind, marks, _order(answer), "", tuple(map(_order, chosen)))


def counting_drafts(scene: SceneGraph, _: np.random.Generator) -> Iterator[Draft]:
    """How many others lie to one side of the centre, within a distance of it, or beyond one."""
    margins, centre = MARGINS[scene.domain], scene.centre
    if scene.n_edges < 3:
        return
    others = [thing.id for thing in scene.objects if thing.id != centre]
    gaps = scene.places_level_m[[mark - 1 for mark in others]] - scene.places_level_m[centre - 1]
    for axis, words in _AXES:
        if (np.abs(gaps[:, axis]) >= margins.side_m).all():
            for word, count in zip(words, (gaps[:, axis] > 0, gaps[:, axis] < 0), strict=True):
                yield _count("count in direction", scene, int(count.sum()), relation=word)
    far = np.array([scene.between_m(centre, mark) for mark in others])
    for limit in LIMITS_M[scene.domain]:
        if all(margins.are_apart(float(gap), limit, margins.between_m) for gap in far):
            yield _count("count within", scene, int((far < limit).sum()), distance_m=limit)
            yield _count("count beyond", scene, int((far > limit).sum()), distance_m=limit)


def _count(
    kind: Kind,
    scene: SceneGraph,
    count: int,
    *,
    relation: Predicate | None = None,
    distance_m: float | None = None,
) -> Draft:
    others = tuple(str(n) for n in range(scene.n_edges + 1) if n != count)
    return Draft(kind, (scene.centre,), str(count), str(count), others, relation, distance_m)


def transformation_drafts(scene: SceneGraph, _: np.random.Generator) -> Iterator[Draft]:
    """Stand at the centre, face b: in which of eight sectors is c?"""
    margins, centre = MARGINS[scene.domain], scene.centre
    ground = scene.places_level_m[:, :2] - scene.places_level_m[centre - 1, :2]
    far = [
        mark for mark in _about_level(scene) if math.hypot(*map(float, ground[mark - 1])) >= margins.bearing_m
    ]
    for b, c in itertools.permutations(far, 2):
        place, is_clear = sector_of(bearing_deg(ground[b - 1], ground[c - 1]), margins.sector_deg)
        if is_clear:
            wrong = tuple(SECTORS[(place + turn) % 8] for turn in (2, 4, 6))
            yield Draft("where after turning", (centre, b, c), SECTORS[place], SECTORS[place], wrong)


def _about_level(scene: SceneGraph) -> list[int]:
    """The objects about as high as the centre: those that questions about the ground are asked of.

    A clock above a table has no direction from it worth asking for, and the distance between the two, which is what a graph
    holds, says little about their distance along the ground.
    """
    steepest = MARGINS[scene.domain].steepness
    gaps = scene.places_level_m - scene.places_level_m[scene.centre - 1]
    return [
        thing.id
        for thing, (right, forward, up) in zip(scene.objects, gaps.tolist(), strict=True)
        if thing.id != scene.centre and abs(up) <= steepest * math.hypot(right, forward)
    ]


def bearing_deg(facing: np.ndarray, target: np.ndarray) -> float:
    """Clockwise from straight ahead, in [0, 360); both arguments are (right, forward) along the ground.

    >>> bearing_deg(np.array([0.0, 1.0]), np.array([1.0, 0.0]))
    90.0
    """
    ahead, there = (math.degrees(math.atan2(float(v[0]), float(v[1]))) for v in (facing, target))
    return (there - ahead) % 360


def sector_of(bearing: float, margin_deg: float) -> tuple[int, bool]:
    """The sector that a bearing falls into, and whether it is clear of that sector's edges.

    >>> sector_of(350.0, 7.5), sector_of(66.0, 7.5)
    ((0, True), (1, False))
    """
    place = round(bearing / 45) % 8
    off = abs((bearing - 45 * place + 180) % 360 - 180)
    return place, off <= 22.5 - margin_deg


def deduction_drafts(scene: SceneGraph, _: np.random.Generator) -> Iterator[Draft]:
    """Something new lies at a distance to one side of the centre: how far is it from b along the ground?"""
    margins, centre = MARGINS[scene.domain], scene.centre
    ground = scene.places_level_m[:, :2] - scene.places_level_m[centre - 1, :2]
    steps: dict[Predicate, tuple[int, int]] = {
        "right": (1, 0),
        "left": (-1, 0),
        "behind": (0, 1),
        "in front of": (0, -1),
    }
    for word, step in steps.items():
        for distance in PLACED_M[scene.domain]:
            for mark in _about_level(scene):
                answer = float(np.linalg.norm(np.multiply(step, distance) - ground[mark - 1]))
                if abs(answer - distance) >= margins.placed_m and answer >= margins.least_answer_m:
                    yield Draft(
                        "distance after placing",
                        (centre, mark),
                        _metres(answer),
                        f"{word} {distance:g}",
                        (),
                        word,
                        distance,
                    )


def _metres(value: float) -> str:
    return f"{value:.{DECIMALS}f}"


def _order(marks: tuple[int, ...]) -> str:
    return "-".join(map(str, marks))


MAKERS: Mapping[Competency, Callable[[SceneGraph, np.random.Generator], Iterator[Draft]]] = {
    "direction": direction_drafts,
    "size": size_drafts,
    "distance": distance_drafts,
    "ranking": ranking_drafts,
    "counting": counting_drafts,
    "transformation": transformation_drafts,
    "deduction": deduction_drafts,
}
