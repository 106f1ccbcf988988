"""A question about a direction: in this picture, where is the target relative to the reference?"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

from theodolite.core.errors import UsageError
from theodolite.core.types import Json, Picture
from theodolite.geometry import Box, direction_deg


@dataclass(frozen=True, slots=True)
class Region:
    """A named object and its box."""

    name: str
    box: Box

    def __post_init__(self) -> None:
        if not self.name.strip():
            raise UsageError(f"an object needs a name, got {self.name!r} at {self.box}")


def is_outside(box: Box, size_px: tuple[int, int]) -> bool:
    """Whether no part of a box is in a picture of this width and height."""
    return box.x1 <= 0 or box.y1 <= 0 or box.x0 >= size_px[0] or box.y0 >= size_px[1]


@dataclass(frozen=True, slots=True)
class Pair:
    """A reference A and a target B in one picture, and the direction from A to B."""

    id: str
    picture: Picture
    size_px: tuple[int, int]
    """Width and height."""
    reference: Region
    """A: where one stands."""
    target: Region
    """B: what one looks for."""
    direction: str
    """The right answer: where B is, seen from A, in words of some `Vocabulary`."""
    others: tuple[Box, ...] = ()
    """Every other box of the picture: what lies outside of all boxes is background."""
    group: str = ""
    """A name to report by."""
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

    @property
    def diagonal_px(self) -> float:
        """The picture's diagonal."""
        return math.hypot(*self.size_px)
