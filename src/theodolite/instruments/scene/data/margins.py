"""How clear a difference must be before it is asked about, so that no answer is a coin flip."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from theodolite.instruments.scene.data.graph import Domain


@dataclass(frozen=True, slots=True)
class Margins:
    """Two values are clearly apart if they differ by more than an absolute and a relative margin, both."""

    side_m: float
    """Left, right, in front of, behind: along the axis that is asked about, from middle to middle."""
    vertical_m: float
    """Up and down: from where the word becomes true."""
    to_camera_m: float
    """Between two distances to the camera."""
    between_m: float
    """Between two distances to the centre object, and between a distance and the limit of a count."""
    extent_m: float
    """Between two heights or widths."""
    least_answer_m: float
    """A length or distance below this is not asked for: two decimals would not hold it to 5 %."""
    placed_m: float
    """Between the answer of a deduction and the distance that its text names."""
    relative: float = 0.1
    """Between distances or extents, as a share of the larger."""
    volume: float = 0.25
    """Between volumes, as a share of the larger."""
    sector_deg: float = 7.5
    """Between a bearing and the edge of its sector."""
    steepness: float = 0.4
    """Rise over ground distance from the centre; steeper, a thing is not asked about along the ground."""
    bearing_m: float = 0.5
    """Nearer than this along the ground, a thing has no bearing worth asking about."""

    def are_apart(self, first: float, second: float, least_m: float) -> bool:
        """Whether two lengths differ clearly.

        >>> MARGINS["indoor"].are_apart(2.0, 2.5, 0.3), MARGINS["indoor"].are_apart(9.0, 9.5, 0.3)
        (True, False)
        """
        gap = abs(first - second)
        return gap >= least_m and gap >= self.relative * max(first, second)

    def are_volumes_apart(self, first: float, second: float) -> bool:
        """Whether two volumes differ clearly."""
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
