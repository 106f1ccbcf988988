"""A pair of objects and the question about it: in this picture, where is the target relative to the reference?"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from theodolite import stats
from theodolite.core.errors import UsageError
from theodolite.core.types import Json, Picture
from theodolite.geometry import Box, direction_deg
from theodolite.pairs.directions import EIGHT, Vocabulary
from theodolite.pairs.pictures import Cutout
from theodolite.pairs.pictures.cutting import polygons_of

_ASTRAY_DEG = 90.0


@dataclass(frozen=True, slots=True)
class Region:
    """A named object and its box."""

    name: str
    box: Box

    def __post_init__(self) -> None:
        if not self.name.strip():
            raise UsageError(f"an object needs a name, got {self.name!r} at {self.box}")


def is_outside(box: Box, size_px: tuple[int, int]) -> bool:
    """True if no part of a box is in a picture of this width and height."""
    return box.x1 <= 0 or box.y1 <= 0 or box.x0 >= size_px[0] or box.y0 >= size_px[1]


@dataclass(frozen=True, slots=True)
class Pair:
    """A reference A and a target B in one picture, and the direction from A to B."""

    id: str
    picture: Picture
    size_px: tuple[int, int]
    """Width and height."""
    reference: Region
    """A: the object that the direction is seen from."""
    target: Region
    """B: the object whose direction is asked for."""
    direction: str
    """The right answer: where B is, seen from A, in words of some `Vocabulary`."""
    others: tuple[Box, ...] = ()
    """Every other box of the picture. What lies outside all boxes is background."""
    group: str = ""
    """A label for reports."""
    source: str = ""
    """Where the pair comes from."""
    meta: Mapping[str, Json] = field(default_factory=dict, compare=False)

    def __post_init__(self) -> None:
        if not self.id.strip() or not self.direction.strip():
            raise UsageError(f"a pair needs an id and a direction, got {self.id!r} and {self.direction!r}")
        if min(self.size_px) < 1:
            raise UsageError(f"the picture of the pair {self.id!r} has the size {self.size_px}")
        width, height = self.size_px
        for role, box in (("reference", self.reference.box), ("target", self.target.box)):
            if is_outside(box, self.size_px):
                raise UsageError(
                    f"the {role} of the pair {self.id!r} lies outside its picture of {width}×{height}: {box}"
                )

    @property
    def true_deg(self) -> float:
        """θ_true = atan2(−(y_B − y_A), x_B − x_A) of the boxes' centres, in [0, 360).

        >>> picture = Picture("bytes-0")
        >>> a, b = Region("cup", Box(0, 0, 10, 10)), Region("pen", Box(20, 0, 30, 10))
        >>> Pair("p", picture, (40, 20), a, b, "right").true_deg
        0.0
        """
        return float(direction_deg(self.reference.box.centre_px, self.target.box.centre_px))

    @property
    def distance_px(self) -> float:
        """d_AB: from centre to centre."""
        return math.dist(self.reference.box.centre_px, self.target.box.centre_px)


def cutouts(pair: Pair) -> tuple[Cutout, Cutout]:
    """Reference and target as they are cut out: by ``meta["outlines"]`` if both have one, else by their boxes."""
    found = pair.meta.get("outlines")
    given = found if isinstance(found, Mapping) else {}
    outlines = [polygons_of(given.get(role)) for role in ("reference", "target")]
    if not all(outlines):
        outlines = [(), ()]
    return Cutout(pair.reference.box, outlines[0]), Cutout(pair.target.box, outlines[1])


def pair_cautions(pairs: Iterable[Pair], *, vocabulary: Vocabulary = EIGHT) -> dict[str, tuple[str, ...]]:
    """Pairs whose words do not fit their boxes: reason to ids.

    Such pairs can be asked about but not scored well. A caption may mean an object's own left, or depth, and be true;
    the compass only knows the centres of the boxes.

    Args:
        pairs: All pairs.
        vocabulary: The angles of the direction names; names that are not in it are not checked.
    """
    found: dict[str, list[str]] = {}
    for pair in pairs:
        angle = vocabulary.angles_deg.get(pair.direction)
        if pair.distance_px == 0:
            found.setdefault("the boxes have the same centre: there is no direction", []).append(pair.id)
        elif angle is not None and float(stats.circular_distance(angle, pair.true_deg)) > _ASTRAY_DEG:
            found.setdefault("the direction is more than 90° from where the boxes lie", []).append(pair.id)
    return {reason: tuple(ids) for reason, ids in found.items()}
