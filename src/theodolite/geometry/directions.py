"""Names of directions and the angles they stand for: 0° to the right, 90° upward."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from theodolite.core.errors import UsageError
from theodolite.geometry.boxes import Box, direction_deg


@dataclass(frozen=True, slots=True)
class Nearest:
    """The name that fits an angle best."""

    name: str
    distance_deg: float
    """How far the name's own angle is from it."""
    margin_deg: float
    """How much farther the next name is; 0 on a border between two."""


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """Direction names with their angles in degrees.

    >>> Vocabulary({"east": 0, "north": 90, "west": 180, "south": 270}).nearest(100).name
    'north'
    """

    angles_deg: Mapping[str, float]
    """In the order in which they are listed."""

    def __post_init__(self) -> None:
        angles = [angle % 360.0 if math.isfinite(angle) else angle for angle in self.angles_deg.values()]
        if len(angles) < 2:
            raise UsageError(f"a vocabulary needs at least two directions, got {len(angles)}")
        if not all(map(math.isfinite, angles)) or len(set(angles)) < len(angles):
            raise UsageError(
                f"a vocabulary needs a different finite angle for each name, got {dict(self.angles_deg)}"
            )

    def __hash__(self) -> int:
        return hash(tuple(self.angles_deg.items()))

    @property
    def names(self) -> tuple[str, ...]:
        """All names, in order."""
        return tuple(self.angles_deg)

    def nearest(self, angle_deg: float) -> Nearest:
        """Return the nearest name, and its margin over the next one. On a border the counter-clockwise name wins.

        >>> CARDINAL.nearest(50)
        Nearest(name='above', distance_deg=40.0, margin_deg=10.0)
        """
        angles = np.array(list(self.angles_deg.values()))
        distances = _apart_deg(angles, angle_deg)
        is_behind = (angles - angle_deg) % 360.0 > 180.0
        first, second = np.lexsort((is_behind, np.round(distances, 9)))[:2]
        return Nearest(
            self.names[first], float(distances[first]), float(abs(distances[second] - distances[first]))
        )

    def between(self, reference: Box, target: Box) -> Nearest:
        """Return the name for the direction from a reference to a target, by the centres of their boxes.

        Raises:
            UsageError: The centres coincide.
        """
        if math.dist(reference.centre_px, target.centre_px) == 0:
            raise UsageError(
                f"{reference} and {target} have the same centre: there is no direction between them"
            )
        return self.nearest(float(direction_deg(reference.centre_px, target.centre_px)))

    def agreed(self, word: str, reference: Box, target: Box) -> str | None:
        """Return the name for the direction between two boxes if the word agrees with them; None if it contradicts them.

        One of the four directions agrees with itself and with the adjacent diagonals: above left counts as left.

        >>> a, b = Box(50, 50, 60, 60), Box(10, 20, 20, 30)
        >>> EIGHT.agreed("left", a, b), CARDINAL.agreed("left", a, b), EIGHT.agreed("below", a, b)
        ('above left', 'left', None)
        """
        name = self.between(reference, target).name
        apart = _apart_deg(EIGHT.angles_deg[check_direction(word)], self.angles_deg[name])
        return name if float(apart) <= _BESIDE_DEG else None


def _apart_deg(first_deg: float | NDArray[np.float64], second_deg: float) -> NDArray[np.float64]:
    """Return the smallest angle between directions."""
    return np.asarray(180 - np.abs(180 - np.abs(np.asarray(first_deg, np.float64) % 360 - second_deg % 360)))


_BESIDE_DEG = 45.0
"""The angle between one of the four directions and the diagonals beside it."""

CARDINAL = Vocabulary({"left": 180.0, "right": 0.0, "above": 90.0, "below": 270.0})
"""The paper's four, in the order of its prompts."""

EIGHT = Vocabulary(
    {
        **CARDINAL.angles_deg,
        "above right": 45.0,
        "above left": 135.0,
        "below left": 225.0,
        "below right": 315.0,
    }
)
"""The four and the diagonals."""

VOCABULARIES: Mapping[int, Vocabulary] = {4: CARDINAL, 8: EIGHT}
"""By the number of directions."""

OPPOSITE: Mapping[str, str] = {"left": "right", "right": "left", "above": "below", "below": "above"}
"""Of each cardinal direction."""


def opposite(direction: str) -> str | None:
    """Return the opposite of one of the eight directions; None for any other word.

    >>> opposite("above left"), opposite("behind")
    ('below right', None)
    """
    angle = EIGHT.angles_deg.get(direction)
    return None if angle is None else EIGHT.nearest((angle + 180) % 360).name


def is_diagonal(direction: str) -> bool:
    """Return True for the four of the eight directions that lie between two others.

    >>> is_diagonal("above left"), is_diagonal("above"), is_diagonal("behind")
    (True, False, False)
    """
    return direction in EIGHT.angles_deg and direction not in CARDINAL.angles_deg


def vocabulary_of(directions: Iterable[str]) -> Vocabulary:
    """Return the eight directions if any given one is a diagonal, else the four.

    >>> vocabulary_of(["left", "below left"]) == EIGHT
    True
    """
    return EIGHT if any(map(is_diagonal, directions)) else CARDINAL


def is_sideways(direction: str) -> bool:
    """Return True if mirroring left and right changes one of the eight directions: all but above and below."""
    return direction in EIGHT.angles_deg and EIGHT.angles_deg[direction] % 180 != 90


def mirrored(direction: str) -> str:
    """Return the direction after mirroring: left and right exchanged, or above and below for these two.

    >>> mirrored("left"), mirrored("above left"), mirrored("above")
    ('right', 'above right', 'below')
    """
    angle = EIGHT.angles_deg[check_direction(direction)]
    return EIGHT.nearest(((180 if is_sideways(direction) else 0) - angle) % 360).name


def check_direction(name: str) -> str:
    """Return the name if it is one of the eight directions; raise a `UsageError` otherwise."""
    if name not in EIGHT.angles_deg:
        raise UsageError(f"{name!r:.80} is no direction; there are {', '.join(EIGHT.names)}")
    return name
