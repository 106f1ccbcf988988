"""Whether an edit looks right: what is measured of it, the limits, and the reasons against it.

========  =========================================================================================  ========
measure   what it is                                                                                 limit
========  =========================================================================================  ========
hole      share of the picture that one copied piece fills                                           at most
misfit    mean difference between the copied piece and the background along the rim, grey levels     at most
smear     how much of that is no texture: the ninth decile of the blurred difference, grey levels    at most
rough     mean detail of the background along the rim, where the place is filled by a blur           at most
foreign   share of the fill in a colour that the surroundings do not have: something was copied in   at most
remains   share of one line around the old place that is an edge: a frame, a stand, a silhouette     at most
ground    mean colour under an object in its new place against that beside its old one, grey levels  at most
contrast  mean difference between an object and what it covers, or what fills its place              at least
brought   difference along the rim of an object cut out by its box, where it brings its background   at most
========  =========================================================================================  ========

The limits of smear, foreign and remains are where 95 of 100 good fills lie: 96 places of COCO photographs with nothing in
them, filled by a copied piece (`bench/photo_edits.py` measures them again). Of the places as they were, 4 in 100 are
beyond the limit of remains, since backgrounds have lines of their own.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage
from scipy.spatial import KDTree

from theodolite.core.errors import UsageError
from theodolite.core.types import Pixels
from theodolite.geometry import Box
from theodolite.pairs.pictures.filling import grown, growth_px
from theodolite.pairs.pictures.whole import bounds

__all__ = ["LIMITS", "Ground", "Measure", "Quality", "Unfit", "UnfitError", "foreign_share", "remaining_edge"]


class Unfit(StrEnum):
    """Why an edit cannot be made. The value is the reason in words."""

    OVERLAP = "the boxes overlap and there are no outlines: one object cannot be cut out without the other"
    TOUCH = "the boxes of the two objects touch or overlap"
    CUT_OFF = "the object is cut off by the edge of the picture"
    COVERED = "another object touches or overlaps it"
    CROWD = "it stands in a crowd"
    LARGE = "it covers too much: what is behind it cannot be guessed"
    PARTS = "it is seen in several parts: something hides it"
    SLIVER = "only a sliver of the object is seen"
    NO_ROOM = "there is no room for the object in that direction"
    FEW_PLACES = "the pair has room in too few directions for a family"
    NO_OPPOSITE = "the direction has no known opposite"
    NOT_SWAPPED = "the objects do not fit into each other's places"
    DIAGONAL = "objects are moved along the sides of the picture alone, and the opposite lies across"
    UNCLEAR = "the objects would lie between two directions"
    TRACE = "the edit would leave a visible trace"
    FOREIGN = "its place could only be filled with something that does not belong there"
    REMAINS = "an edge would remain around its place: a frame, a stand or a part of the object"
    OUT_OF_PLACE = "there is no place for it on ground like its own"
    UNSEEN = "the object hardly differs from what is behind it"


class UnfitError(UsageError):
    """An edit that cannot be made. `reason` says why."""

    def __init__(self, reason: Unfit) -> None:
        super().__init__(f"the picture cannot be edited so: {reason.value}")
        self.reason = reason


Measure: TypeAlias = Literal[
    "hole", "misfit", "smear", "rough", "foreign", "remains", "ground", "contrast", "brought"
]


@dataclass(frozen=True, slots=True)
class Limit:
    """The values of a measure that are accepted, and the reason against others."""

    reason: Unfit
    least: float = -np.inf
    most: float = np.inf


LIMITS: Mapping[Measure, Limit] = {
    "hole": Limit(Unfit.LARGE, most=0.06),
    "misfit": Limit(Unfit.TRACE, most=35.0),
    "smear": Limit(Unfit.TRACE, most=50.0),
    "rough": Limit(Unfit.TRACE, most=6.0),
    "foreign": Limit(Unfit.FOREIGN, most=0.03),
    "remains": Limit(Unfit.REMAINS, most=0.32),
    "ground": Limit(Unfit.OUT_OF_PLACE, most=45.0),
    "contrast": Limit(Unfit.UNSEEN, least=16.0),
    "brought": Limit(Unfit.TRACE, most=35.0),
}
"""The limit of each measure, in the order in which faults are told."""


@dataclass(frozen=True, slots=True)
class Quality:
    """What was measured of an edit. With several objects, each measure is that of the worst.

    >>> Quality({"misfit": 12.0, "remains": 0.6}).fault
    <Unfit.REMAINS: 'an edge would remain around its place: a frame, a stand or a part of the object'>
    """

    measures: Mapping[Measure, float] = field(default_factory=dict)
    refused: Unfit | None = None
    """Why the edit could not be drawn at all."""

    @property
    def fault(self) -> Unfit | None:
        """The first reason against the edit; None if it looks right."""
        if self.refused is not None:
            return self.refused
        for name, limit in LIMITS.items():
            value = self.measures.get(name)
            if value is not None and not limit.least <= value <= limit.most:
                return limit.reason
        return None

    def joined(self, other: Mapping[Measure, float]) -> Quality:
        """Return the worse value of each measure."""
        worst = dict(self.measures)
        for name, value in other.items():
            choose = min if LIMITS[name].least > -np.inf else max
            worst[name] = choose(worst.get(name, value), value)
        return Quality(worst, self.refused)


_BESIDE_PX = 8
"""Width of the ground beside a box."""
_COLOUR_BLUR_PX, _EDGE_BLUR_PX, _NORMAL_BLUR_PX = 1.0, 1.2, 1.5
_SAME_COLOUR = 12.5
"""Colours nearer than this, in opponent grey levels, are the same."""
_MOST_COLOURS = 4000
_LEAST_EDGE = 5.0
"""Grey levels per pixel across a line that make an edge; half as much again as along it."""
_ALONG = 1.5
_REACH_SHARE, _REACH_LEAST_PX = 0.25, 10
"""Lines are followed as far outside the object as this share of its size: a frame is wider than what it holds."""
_LINE_LEAST_PX = 20


class Ground:
    """The ground beside an object, and how much it differs elsewhere: sky from sky, street from wall.

    >>> pixels = np.full((40, 80, 3), 200, np.uint8)
    >>> pixels[:, 40:] = 100
    >>> ground = Ground(pixels, Box(10, 10, 20, 20))
    >>> ground.difference(Box(22, 10, 32, 20)), ground.difference(Box(60, 10, 70, 20))
    (0.0, 100.0)
    """

    def __init__(self, pixels: Pixels, box: Box) -> None:
        """Take the mean colour beside a box."""
        self._sums = np.pad(pixels.astype(np.float64).cumsum(axis=0).cumsum(axis=1), ((1, 0), (1, 0), (0, 0)))
        inner, inner_px = self._sum(box)
        beside = Box(box.x0 - _BESIDE_PX, box.y0 - _BESIDE_PX, box.x1 + _BESIDE_PX, box.y1 + _BESIDE_PX)
        outer, outer_px = self._sum(beside)
        self._own = (outer - inner) / max(1, outer_px - inner_px)

    def difference(self, box: Box) -> float:
        """Return the difference of the mean colour in a box, in grey levels."""
        total, pixels = self._sum(box)
        return float(np.abs(total / max(1, pixels) - self._own).mean())

    def _sum(self, box: Box) -> tuple[NDArray[np.float64], int]:
        """Return the sum of all pixels in a box, and their number."""
        height, width = self._sums.shape[0] - 1, self._sums.shape[1] - 1
        left, right = (min(max(round(x), 0), width) for x in (box.x0, box.x1))
        top, bottom = (min(max(round(y), 0), height) for y in (box.y0, box.y1))
        sums = self._sums
        total = sums[bottom, right] - sums[top, right] - sums[bottom, left] + sums[top, left]
        return total, (bottom - top) * (right - left)


def foreign_share(before: Pixels, after: Pixels, alpha: NDArray[np.float32]) -> float:
    """Return the share of a filled place in colours that its surroundings do not have.

    Args:
        before: The picture with the object.
        after: The picture with the place filled.
        alpha: The object's coverage.
    """
    hole = grown(alpha > 0, growth_px(alpha))
    margin = max(10, round(float(np.sqrt(alpha.sum()))) // 2)
    window = bounds(hole, margin + 2)
    inside = hole[window]
    around = grown(inside, margin) & ~inside
    if not around.any():
        return 0.0
    known, filled = (
        ndimage.gaussian_filter(_opponent(pixels[window]), (_COLOUR_BLUR_PX, _COLOUR_BLUR_PX, 0))
        for pixels in (before, after)
    )
    colours, drawn = (
        values[:: max(1, len(values) // _MOST_COLOURS)] for values in (known[around], filled[inside])
    )
    return float((KDTree(colours).query(drawn)[0] > _SAME_COLOUR).mean())


def remaining_edge(pixels: Pixels, alpha: NDArray[np.float32]) -> float:
    """Return how much of one line around an object's old place is an edge that runs along it.

    Every line of pixels at one distance from the outline is tried; the largest share is returned. A fill without traces in
    front of a plain background has none; a frame, a stand, or the ghost of a silhouette has one along most of a line.

    >>> pixels = np.full((60, 60, 3), 100, np.uint8)
    >>> alpha = np.zeros((60, 60), np.float32)
    >>> alpha[20:40, 20:40] = 1
    >>> remaining_edge(pixels, alpha)
    0.0
    >>> pixels[15:45, 15:45] = 160
    >>> remaining_edge(pixels, alpha) > 0.8
    True
    """
    reach = max(_REACH_LEAST_PX, int(_REACH_SHARE * float(np.sqrt(alpha.sum()))))
    window = bounds(alpha > 0, reach + 8)
    inside = alpha[window] > 0
    colours = ndimage.gaussian_filter(_opponent(pixels[window]), (_EDGE_BLUR_PX, _EDGE_BLUR_PX, 0))
    outward = np.where(
        inside, 0.5 - ndimage.distance_transform_edt(inside), ndimage.distance_transform_edt(~inside) - 0.5
    )
    down, right = np.gradient(ndimage.gaussian_filter(outward, _NORMAL_BLUR_PX))
    length = np.hypot(right, down) + 1e-6
    normal_x, normal_y = (right / length)[..., None], (down / length)[..., None]
    change_y, change_x = np.gradient(colours, axis=(0, 1))
    across = np.abs(change_x * normal_x + change_y * normal_y).sum(axis=2)
    along = np.abs(change_y * normal_x - change_x * normal_y).sum(axis=2)
    is_edge = (across > _LEAST_EDGE) & (across > _ALONG * along)
    shares = [0.0]
    for distance in range(-2, reach + 1):
        line = (outward > distance - 1) & (outward <= distance + 1)
        if line.sum() >= _LINE_LEAST_PX:
            shares.append(float(is_edge[line].mean()))
    return max(shares)


def _opponent(pixels: Pixels) -> NDArray[np.float32]:
    """Return lightness, red against green, and yellow against blue, in grey levels."""
    red, green, blue = np.moveaxis(pixels.astype(np.float32), 2, 0)
    return np.stack([(red + green + blue) / 3, (red - green) / 2, (red + green - 2 * blue) / 4], axis=-1)
