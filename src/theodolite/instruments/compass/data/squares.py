"""The coloured squares of A.16: a blue reference and a red target on a neutral ground, at sixteen angles.

They are far from any training data, and the paper found nearly the same compass for all of them. Since every box is exact,
they serve to check a pipeline.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from theodolite.core.errors import UsageError
from theodolite.core.types import Picture, Pixels
from theodolite.geometry import Box
from theodolite.instruments.compass.data.pairs import Pair, Region
from theodolite.instruments.compass.data.selection import Selection, Sieve
from theodolite.pairs.directions import CARDINAL, Vocabulary

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
    """Draws n pairs. Angles rotate from 0°; distance and place are random.

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
    """Two squares on whole pixels inside the picture, the second at an angle from the first."""
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
