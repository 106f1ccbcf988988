"""Drafts of compositional questions, which take several steps over the graph: ranking, counting, turning, placing."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Mapping

import numpy as np

from theodolite.instruments.scene.data.drafts import AXES, MARGINS, Draft, metres
from theodolite.instruments.scene.data.graph import SceneGraph
from theodolite.instruments.scene.data.questions import SECTORS, Kind
from theodolite.instruments.scene.data.relations import Predicate

LIMITS_M: Mapping[str, tuple[float, ...]] = {
    "indoor": (0.5, 0.75, 1.0, 1.25, 1.5, 2.0, 2.5, 3.0, 4.0),
    "outdoor": (2.0, 3.0, 5.0, 8.0, 10.0, 15.0, 20.0, 25.0, 30.0, 40.0),
}
"""Distances that counting questions may name."""
PLACED_M: Mapping[str, tuple[float, ...]] = {"indoor": (0.5, 1.0, 2.0), "outdoor": (5.0, 10.0, 15.0, 20.0)}
"""Distances that deduction questions may name."""
_MOST_TRIPLES = 60


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
    for axis, words in AXES:
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
    """The objects at about the height of the centre, which questions about the ground are asked about.

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
    """Clockwise from straight ahead, in [0, 360); both arguments are (right, forward) along the ground.

    >>> bearing_deg(np.array([0.0, 1.0]), np.array([1.0, 0.0]))
    90.0
    """
    ahead, there = (math.degrees(math.atan2(float(v[0]), float(v[1]))) for v in (facing, target))
    return (there - ahead) % 360


def sector_of(bearing: float, margin_deg: float) -> tuple[int, bool]:
    """The sector of a bearing, and whether the bearing is clear of the sector's edges.

    >>> sector_of(350.0, 7.5), sector_of(66.0, 7.5)
    ((0, True), (1, False))
    """
    place = round(bearing / 45) % 8
    off = abs((bearing - 45 * place + 180) % 360 - 180)
    return place, off <= 22.5 - margin_deg


def deduction_drafts(scene: SceneGraph, _: np.random.Generator) -> Iterator[Draft]:
    """Something new lies at some distance to one side of the centre: how far is it from b along the ground?"""
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
                        metres(answer),
                        f"{word} {distance:g}",
                        (),
                        word,
                        distance,
                    )


def _order(marks: tuple[int, ...]) -> str:
    return "-".join(map(str, marks))
