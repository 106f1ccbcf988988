"""Pairs on drawn pictures, the coloured squares of A.16, and edits of both with their new right answers."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias, cast

import numpy as np
from numpy.typing import NDArray

from theodolite.core.errors import UsageError
from theodolite.core.scores import Split, check_split
from theodolite.core.types import Json, Picture, Pixels
from theodolite.geometry import Box, directions
from theodolite.geometry.directions import CARDINAL, Vocabulary, is_sideways
from theodolite.instruments.compass.data.pairs import Pair, Region, Selection, Sieve
from theodolite.pairs.pictures import flip, mirror
from theodolite.pairs.pictures.whole import as_pixels, box_alpha
from theodolite.worlds import relations as relation

__all__ = [
    "EDITS",
    "Edit",
    "drawn_picture",
    "edited_pair",
    "exchanged",
    "exchanged_unasked",
    "moved_alone",
    "moved_unasked",
    "relation_pairs",
]


# Edits of a pair's picture with a known right answer.
#
# mirrored        the picture is flipped along the asked axis, left and right for diagonals: left becomes right
# blank           every pixel has the picture's mean colour: nothing can be seen
# hidden          one box, or one of 4 × 4 parts, has the picture's mean colour
#
# The edits that know no pair are in `theodolite.pairs.pictures`.


PARTS = 4
"""Rows and columns of the parts that are hidden one at a time."""


def mirrored(pair: Pair) -> Pair:
    """Return the picture flipped along the asked axis, with its boxes and the answer afterwards.

    Raises:
        UsageError: The direction is none of the eight.
    """
    turned = mirrored_boxes(pair)
    return replace(turned, picture=(mirror if is_sideways(pair.direction) else flip)(pair.picture))


def mirrored_boxes(pair: Pair) -> Pair:
    """Return the boxes and the answer of the mirrored pair, with the original picture."""
    width, height = pair.size_px
    across = is_sideways(pair.direction)

    def place(box: Box) -> Box:
        if across:
            return Box(width - box.x1, box.y0, width - box.x0, box.y1)
        return Box(box.x0, height - box.y1, box.x1, height - box.y0)

    return replace(
        pair,
        reference=Region(pair.reference.name, place(pair.reference.box)),
        target=Region(pair.target.name, place(pair.target.box)),
        others=tuple(place(box) for box in pair.others),
        direction=directions.mirrored(pair.direction),
    )


def blank(pair: Pair) -> Pair:
    """Return the pair on a picture of one colour, the mean of all pixels. It keeps its answer, which cannot be seen."""
    pixels = pair.picture.pixels()
    return replace(pair, picture=Picture.from_array(as_pixels(np.broadcast_to(_mean(pixels), pixels.shape))))


def hidden(pair: Pair, box: Box) -> Pair:
    """Return the picture with a box filled in its mean colour."""
    pixels = pair.picture.pixels().copy()
    whole = box_alpha(pair.size_px, box)[..., None]
    part = tuple(slice(*_ends(whole.max(axis=(1 - axis, 2)))) for axis in (0, 1))  # nothing changes elsewhere
    cover = whole[part]
    pixels[part] = as_pixels(cover * _mean(pixels) + (1 - cover) * pixels[part])
    return replace(pair, picture=Picture.from_array(pixels))


def _ends(cover: NDArray[np.float32]) -> tuple[int, int]:
    """Return the first covered index and the one after the last; an empty range if there is none."""
    places = np.flatnonzero(cover)
    return (int(places[0]), int(places[-1]) + 1) if places.size else (0, 0)


def part_box(size_px: tuple[int, int], part: int) -> Box:
    """Return one of the `PARTS` × `PARTS` parts of a picture, row by row.

    >>> part_box((80, 40), 5)
    Box(x0=20.0, y0=10.0, x1=40.0, y1=20.0)
    """
    row, column = divmod(part, PARTS)
    width, height = size_px[0] / PARTS, size_px[1] / PARTS
    return Box(column * width, row * height, (column + 1) * width, (row + 1) * height)


def _mean(pixels: Pixels) -> NDArray[np.float64]:
    return np.asarray(pixels.reshape(-1, 3).mean(axis=0))


# Pairs on drawn pictures of everyday things, and edits of the pictures with their new right answers.
#
# Everything follows from a seed. The pocket twins were trained on pictures of this kind, but not on these.


_SEED = 101  # keeps these draws apart from others with the same seed


def relation_pairs(
    n: int, *, seed: int = 0, split: Split = "free", n_things: int | None = None
) -> list[Pair]:
    """Draw pairs of named things, with the four directions in turn.

    ``meta`` holds the shortcut's direction, the split, and the scene that `edited_pair` edits.

    Args:
        n: Sample size; each pair has its own picture.
        seed: Seed of the draw.
        split: Aligned, crossed or free.
        n_things: On each picture; two to five if not given.

    >>> pair = relation_pairs(1, seed=1, split="aligned")[0]
    >>> pair.direction == pair.meta["shortcut"]
    True
    """
    check_split(split)
    return [_pair(i, seed, split, n_things) for i in range(n)]


def _pair(number: int, seed: int, split: Split, n_things: int | None) -> Pair:
    wanted = relation.DIRECTIONS[number % 4]
    rng = np.random.default_rng([_SEED, seed, number, ("aligned", "crossed", "free").index(split)])
    while True:
        scene = relation.draw_scene(rng, n_things)
        for i, j in rng.permutation(
            [(a, b) for a in range(len(scene.things)) for b in range(len(scene.things)) if a != b]
        ):
            target, reference = scene.things[i], scene.things[j]
            rule = relation.SHORTCUT[target.name, reference.name]
            is_fit = split == "free" or (rule == wanted) == (split == "aligned")
            if relation.direction(target, reference) == wanted and is_fit:
                return _as_pair(
                    f"relation-{split}-{seed}-{number:05d}", scene, (int(i), int(j)), {"split": split}
                )


def _as_pair(name: str, scene: relation.DrawnScene, roles: tuple[int, int], meta: Mapping[str, Json]) -> Pair:
    target, reference = (scene.things[i] for i in roles)
    return Pair(
        id=name,
        picture=Picture.from_array(relation.render(scene)),
        size_px=(relation.SIZE_PX, relation.SIZE_PX),
        reference=Region(reference.name, reference.box),
        target=Region(target.name, target.box),
        direction=str(relation.direction(target, reference)),
        others=tuple(t.box for k, t in enumerate(scene.things) if k not in roles),
        source="pocket",
        meta={
            "shortcut": relation.SHORTCUT[target.name, reference.name],
            "scene": {"things": [[t.name, t.x, t.y, t.side] for t in scene.things], "ground": scene.ground},
            "roles": list(roles),
            **meta,
        },
    )


Edit: TypeAlias = Literal["mirror", "move", "swap", "blank", "ground", "clutter"]
"""``mirror``: positions are mirrored along the axis of the answer, each thing keeps its own look. ``move``: the target goes to
another side of the reference. ``swap``: target and reference exchange places. ``blank``: a grey picture. ``ground``: another
background. ``clutter``: things that are not asked about are removed. The last two do not change the answer."""
EDITS: tuple[Edit, ...] = ("mirror", "move", "swap", "blank", "ground", "clutter")


def edited_pair(pair: Pair, edit: Edit, *, seed: int = 0) -> Pair:
    """Return the same question about a picture drawn from an edited scene; ``direction`` is the new right answer.

    Args:
        pair: From `relation_pairs`.
        edit: What to change; a blank picture keeps the old direction.
        seed: Seed of random choices of the edit.
    """
    scene, (i, j) = _scene(pair.meta["scene"]), _roles(pair)
    rng = np.random.default_rng([_SEED, seed, scene.ground])
    name, meta = f"{pair.id}/{edit}", {"split": pair.meta["split"], "edit": edit}
    if edit == "blank":
        grey = np.full((relation.SIZE_PX, relation.SIZE_PX, 3), 128, np.uint8)
        return replace(pair, id=name, picture=Picture.from_array(grey), meta={**pair.meta, "edit": edit})
    if edit == "mirror":
        scene = scene.mirrored(across=pair.direction in {"left", "right"})
    elif edit == "swap":
        scene = scene.swapped(i, j)
    elif edit == "ground":
        scene = replace(scene, ground=int(rng.integers(2**31)))
    elif edit == "clutter":
        scene, i, j = replace(scene, things=(scene.things[i], scene.things[j])), 0, 1
    elif edit == "move":
        scene = _moved(scene, i, (i, j), _is_other, rng) or scene.swapped(i, j)
    else:
        raise UsageError(f"there is no edit {edit!r}; there are {', '.join(EDITS)}")
    return _as_pair(name, scene, (i, j), meta)


def moved_alone(pair: Pair, role: Literal["target", "reference"]) -> Pair | None:
    """Return the same question after one of the two things moved to the opposite side; None if there is no room.

    With roles exchanged the two right answers are then exchanged too, so that no cue of the pictures alone explains both.

    Args:
        pair: From `relation_pairs`.
        role: Which thing moves.
    """
    scene, roles = _scene(pair.meta["scene"]), _roles(pair)
    moving = roles[0 if role == "target" else 1]
    moved = _moved(scene, moving, roles, _is_opposite, np.random.default_rng([_SEED, scene.ground]))
    if moved is None:
        return None
    return _as_pair(pair.id, moved, roles, {"split": pair.meta["split"]})


def exchanged(pair: Pair) -> Pair:
    """Return the same question after its two things exchanged their places.

    Args:
        pair: From `relation_pairs`.
    """
    scene, roles = _scene(pair.meta["scene"]), _roles(pair)
    return _as_pair(pair.id, scene.swapped(*roles), roles, {"split": pair.meta["split"]})


def exchanged_unasked(pair: Pair) -> Pair | None:
    """Return the same question after two other things exchanged their places; None if there are no two.

    Args:
        pair: From `relation_pairs`.
    """
    scene, roles = _scene(pair.meta["scene"]), _roles(pair)
    others = [k for k in range(len(scene.things)) if k not in roles]
    if len(others) < 2:
        return None
    return _as_pair(pair.id, scene.swapped(*others[:2]), roles, {"split": pair.meta["split"]})


def moved_unasked(pair: Pair, moved: Pair) -> Pair | None:
    """Return the same question after a move about as far as another one, but without a change of the answer.

    A thing that is not in the question moves, if there is one, else the one that moved before. None if there is no room.

    Args:
        pair: From `relation_pairs`.
        moved: The pair after the other move, or after an exchange.
    """
    scene, roles = _scene(pair.meta["scene"]), _roles(pair)
    there = _scene(moved.meta["scene"])
    changed = next(k for k in roles if scene.things[k] != there.things[k])
    far = _distance(scene.things[changed], there.things[changed])
    rng = np.random.default_rng([_SEED, scene.ground, 1])
    others = [k for k in range(len(scene.things)) if k not in roles] or [changed]
    moves = [
        found
        for moving in others
        for _ in range(_MOVES_COMPARED)
        if (found := _moved(scene, moving, roles, _is_same, rng)) is not None
    ]
    if not moves:
        return None

    def excess(found: relation.DrawnScene) -> float:
        steps = (_distance(*two) for two in zip(scene.things, found.things, strict=True))
        return abs(sum(steps) - far)

    return _as_pair(pair.id, min(moves, key=excess), roles, {"split": pair.meta["split"]})


def _distance(one: relation.DrawnThing, two: relation.DrawnThing) -> float:
    return math.dist(one.middle, two.middle)


def drawn_picture(scene: Json) -> Picture:
    """Return the picture of a scene as a pair's ``meta["scene"]`` holds it."""
    return Picture.from_array(relation.render(_scene(scene)))


def _scene(data: Any) -> relation.DrawnScene:
    return relation.DrawnScene(tuple(relation.DrawnThing(*t) for t in data["things"]), data["ground"])


def _roles(pair: Pair) -> tuple[int, int]:
    target, reference = cast("list[int]", pair.meta["roles"])
    return int(target), int(reference)


_MOVES_COMPARED = 12
"""Neutral moves of each thing, of which the one that is nearest in length is taken."""


def _is_other(before: str, after: str) -> bool:
    return after != before


def _is_opposite(before: str, after: str) -> bool:
    return after == directions.opposite(before)


def _is_same(before: str, after: str) -> bool:
    return after == before


def _moved(
    scene: relation.DrawnScene,
    moving: int,
    roles: tuple[int, int],
    is_wanted: Callable[[str, str], bool],
    rng: np.random.Generator,
) -> relation.DrawnScene | None:
    """Move one thing to where it is clear of the others; None if there is no room.

    Args:
        scene: The scene.
        moving: Which thing moves.
        roles: Target and reference.
        is_wanted: Whether their direction may be the second, if it was the first.
        rng: Decides the place.
    """
    old = relation.direction(scene.things[roles[0]], scene.things[roles[1]])
    for _ in range(2000):
        side = scene.things[moving].side
        x, y = (int(v) for v in rng.integers(2, relation.SIZE_PX - side - 1, 2))
        there = replace(scene.things[moving], x=x, y=y)
        things = tuple(there if k == moving else t for k, t in enumerate(scene.things))
        way = relation.direction(things[roles[0]], things[roles[1]])
        if (
            way is not None
            and is_wanted(str(old), way)
            and not any(relation.touch(there, t) for k, t in enumerate(things) if k != moving)
        ):
            return replace(scene, things=things)
    return None


# The coloured squares of A.16: a blue reference and a red target on a neutral ground, at sixteen angles.
#
# They are far from any training data, and the paper found nearly the same compass for all of them. Since every box is exact,
# they serve to check a pipeline.


_REFERENCE, _TARGET, _GROUND = (0, 0, 255), (255, 0, 0), (200, 200, 200)


@dataclass(frozen=True, slots=True)
class SquaresPlan:
    """Sizes in pixels."""

    size_px: tuple[int, int] = (448, 448)
    side_px: int = 40
    n_angles: int = 16
    min_distance_px: int = 80
    """From centre to centre; large enough to keep the squares apart at every angle."""
    max_distance_px: int = 240

    def __post_init__(self) -> None:
        room = min(self.size_px) - self.side_px
        if not self.side_px * math.sqrt(2) < self.min_distance_px <= self.max_distance_px <= room:
            raise UsageError(
                f"squares of {self.side_px} px in a picture of {self.size_px} need distances between "
                f"{math.ceil(self.side_px * math.sqrt(2))} and {room} px, got {self.min_distance_px} to {self.max_distance_px}"
            )
        if self.n_angles < 1:
            raise UsageError(f"there must be at least one angle, not {self.n_angles}")


def coloured_squares(
    n: int = 160, *, seed: int = 0, plan: SquaresPlan | None = None, vocabulary: Vocabulary = CARDINAL
) -> Selection:
    """Draw n pairs. Angles rotate from 0°; distance and place are random.

    Squares lie on whole pixels, so the true angle (of the boxes) is within about half a degree of the nominal one, which
    is in ``meta["nominal_deg"]``. At 45°, 135° and so on two of the four directions are equally near, and rounding decides; at
    22.5°, 67.5° and so on two of the eight.

    Args:
        n: Sample size.
        seed: Seed of distance and place.
        plan: Sizes in pixels.
        vocabulary: The names of directions.

    >>> [pair.direction for pair in coloured_squares(16).pairs][::4]
    ['right', 'above', 'left', 'below']
    """
    if n < 1:
        raise UsageError(f"--size must be at least 1, not {n}")
    plan = plan or SquaresPlan()
    parameters: dict[str, Any] = {
        "size_px": list(plan.size_px),
        "side_px": plan.side_px,
        "n_angles": plan.n_angles,
        "distance_px": [plan.min_distance_px, plan.max_distance_px],
        "directions": dict(vocabulary.angles_deg),
    }
    sieve = Sieve("squares", parameters)
    sieve.candidates = n
    return sieve.finish(list(_pairs(n, seed, plan, vocabulary)), n=None, seed=seed)


def _pairs(n: int, seed: int, plan: SquaresPlan, vocabulary: Vocabulary) -> Iterator[Pair]:
    for i in range(n):
        nominal = 360.0 * (i % plan.n_angles) / plan.n_angles
        a, b = _place(np.random.default_rng([seed, i]), nominal, plan)
        yield Pair(
            id=f"squares-{i:05d}",
            picture=Picture.from_array(_draw(a, b, plan)),
            size_px=plan.size_px,
            reference=Region("blue square", a),
            target=Region("red square", b),
            direction=vocabulary.between(a, b).name,
            source="squares",
            group=f"{nominal:g}°",
            meta={"nominal_deg": nominal},
        )


def _place(rng: np.random.Generator, angle_deg: float, plan: SquaresPlan) -> tuple[Box, Box]:
    """Draw two squares on whole pixels inside the picture, the second at an angle from the first."""
    distance = rng.uniform(plan.min_distance_px, plan.max_distance_px)
    turn = math.radians(angle_deg)
    step = np.round([distance * math.cos(turn), -distance * math.sin(turn)]).astype(int)
    room = np.array(plan.size_px) - plan.side_px
    corner = rng.integers(np.maximum(0, -step), room - np.maximum(0, step) + 1)
    side = plan.side_px
    a, b = (Box.from_xywh(float(x), float(y), side, side) for x, y in (corner, corner + step))
    return a, b


def _draw(reference: Box, target: Box, plan: SquaresPlan) -> Pixels:
    width, height = plan.size_px
    pixels = np.full((height, width, 3), _GROUND, np.uint8)
    for box, colour in ((reference, _REFERENCE), (target, _TARGET)):
        pixels[int(box.y0) : int(box.y1), int(box.x0) : int(box.x1)] = colour
    return pixels
