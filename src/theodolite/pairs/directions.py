"""Names of directions and the angles they stand for: 0° to the right, 90° upward."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from theodolite import stats
from theodolite.core.errors import UsageError
from theodolite.geometry import Box, direction_deg


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

    @property
    def names(self) -> tuple[str, ...]:
        """All names, in order."""
        return tuple(self.angles_deg)

    def nearest(self, angle_deg: float) -> Nearest:
        """The nearest name, and its margin over the next one. On a border the counter-clockwise name wins.

        >>> CARDINAL.nearest(50)
        Nearest(name='above', distance_deg=40.0, margin_deg=10.0)
        """
        angles = np.array(list(self.angles_deg.values()))
        distances = stats.circular_distance(angles, angle_deg)
        is_behind = (angles - angle_deg) % 360.0 > 180.0
        first, second = np.lexsort((is_behind, np.round(distances, 9)))[:2]
        return Nearest(
            self.names[first], float(distances[first]), float(abs(distances[second] - distances[first]))
        )

    def between(self, reference: Box, target: Box) -> Nearest:
        """The name for the direction from a reference to a target, by the centres of their boxes.

        Raises:
            UsageError: The centres coincide.
        """
        if math.dist(reference.centre_px, target.centre_px) == 0:
            raise UsageError(
                f"{reference} and {target} have the same centre: there is no direction between them"
            )
        return self.nearest(float(direction_deg(reference.centre_px, target.centre_px)))


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

OPPOSITE: Mapping[str, str] = {"left": "right", "right": "left", "above": "below", "below": "above"}
"""Of each cardinal direction."""


def opposite(direction: str) -> str | None:
    """The opposite of one of the eight directions; None for any other word.

    >>> opposite("above left"), opposite("behind")
    ('below right', None)
    """
    angle = EIGHT.angles_deg.get(direction)
    return None if angle is None else EIGHT.nearest((angle + 180) % 360).name
