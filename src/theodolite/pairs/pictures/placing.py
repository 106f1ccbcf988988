"""Where an object can be moved so that a direction holds: by whole pixels, inside the picture, clear of other objects."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum

from theodolite.core.errors import UsageError
from theodolite.geometry import Box
from theodolite.pairs.directions import CARDINAL

Step = tuple[int, int]
"""Right and down, in whole pixels."""

UNIT: dict[str, tuple[int, int]] = {"left": (-1, 0), "right": (1, 0), "above": (0, -1), "below": (0, 1)}
"""The unit step, right and down, of each direction of `CARDINAL`."""


_TRIED = 9
"""Distances, and places aside, that are tried for a clear place."""
LEAST_GAP_PX = 1.0
"""Boxes that are nearer than this touch."""
_ON = 0.95
"""An object is on another if this share of its box lies in the other's, such as a cup on a table."""


class Unfit(StrEnum):
    """Why an edit cannot be made. The value is the reason in words."""

    OVERLAP = "the boxes overlap and there are no outlines: one object cannot be cut out without the other"
    TOUCH = "the boxes of the two objects touch or overlap"
    CUT_OFF = "the object is cut off by the edge of the picture"
    COVERED = "another object touches or overlaps it"
    NO_ROOM = "there is no room for the object in that direction"
    FEW_PLACES = "the pair has room in too few directions for a family"
    NO_OPPOSITE = "the direction has no known opposite"
    NOT_SWAPPED = "the objects do not fit into each other's places"
    UNCLEAR = "the objects would lie between two directions"
    TRACE = "the edit would leave a visible trace"
    UNSEEN = "the object would hardly be seen in its new place"


class UnfitError(UsageError):
    """An edit that cannot be made. `reason` says why."""

    def __init__(self, reason: Unfit) -> None:
        super().__init__(f"the picture cannot be edited so: {reason.value}")
        self.reason = reason


@dataclass(frozen=True, slots=True)
class PlacingOptions:
    """How objects are moved."""

    gap_px: float = 4.0
    """Between the two boxes along the direction."""
    max_tilt_deg: float = 25.0
    """Largest deviation from the exact direction, if the picture's edge requires one; below 45."""
    max_overlap: float = 0.05
    """Without outlines: the largest share of the smaller box that may lie in the other box."""
    shift_share: float = 0.2
    """Length of a joint translation, as a share of the picture's diagonal, if there is room."""
    min_shift_share: float = 0.08
    """The shortest joint translation."""
    min_places: int = 2
    """A pair with room in fewer directions is left out of a family; 4 takes complete families only."""

    def __post_init__(self) -> None:
        if not 0 <= self.max_tilt_deg < 45:
            raise UsageError(f"max_tilt_deg must be from 0 to below 45, not {self.max_tilt_deg}")
        if not 1 <= self.min_places <= len(UNIT):
            raise UsageError(f"min_places must be from 1 to {len(UNIT)}, not {self.min_places}")
        if not 0 < self.min_shift_share <= self.shift_share:
            raise UsageError(
                f"a joint translation needs 0 < min_shift_share ≤ shift_share, got {self.min_shift_share} and {self.shift_share}"
            )


def step_to(
    moving: Box, fixed: Box, direction: str, size_px: tuple[int, int], options: PlacingOptions
) -> Step | None:
    """The step that moves a box into a direction from another; None if there is no room.

    The distance between the centres is kept, unless the boxes would touch or leave the picture. The box deviates from the
    exact direction only as far as the picture's edge requires, and no more than the tilt allows.

    >>> step_to(Box(60, 40, 80, 60), Box(40, 40, 60, 60), "above", (100, 100), PlacingOptions(gap_px=0))
    (-20, -20)
    >>> step_to(Box(60, 40, 80, 60), Box(40, 10, 60, 30), "above", (100, 100), PlacingOptions()) is None
    True
    """
    along = 0 if UNIT[direction][0] else 1
    sign = UNIT[direction][along]
    starts, ends = (moving.x0, moving.y0), (moving.x1, moving.y1)
    half = tuple((end - start) / 2 for start, end in zip(starts, ends, strict=True))
    centre, origin = moving.centre_px, fixed.centre_px
    extent = (fixed.width_px, fixed.height_px)[along] / 2
    least = extent + half[along] + options.gap_px
    room = (size_px[along] - half[along] - origin[along]) if sign > 0 else (origin[along] - half[along])
    if room < least:
        return None
    distance = min(room, max(least, math.dist(centre, origin)))
    across = 1 - along
    low, high = half[across], size_px[across] - half[across]
    if low > high:
        return None
    aside = min(max(origin[across], low), high)
    if abs(aside - origin[across]) > math.tan(math.radians(options.max_tilt_deg)) * distance:
        return None
    place = [0.0, 0.0]
    place[along], place[across] = origin[along] + sign * distance, aside
    step = (_whole(place[0] - centre[0]), _whole(place[1] - centre[1]))
    moved = moving.moved(*step)
    return step if CARDINAL.between(fixed, moved).name == direction else None


def clear_step(
    moving: Box,
    fixed: Box,
    direction: str,
    size_px: tuple[int, int],
    others: Sequence[Box] = (),
    options: PlacingOptions | None = None,
) -> Step | None:
    """Return the step that moves a box into a direction from another, clear of all other boxes; None if there is no room.

    Of all places that are tried, the one that changes distance and height least is taken. A box that lies on another box,
    such as a cup on a table, stays on it or leaves it as a whole.

    >>> clear_step(Box(10, 40, 20, 50), Box(40, 40, 60, 60), "right", (100, 100), [Box(82, 0, 92, 90)])
    (57, 0)
    """
    options = options or PlacingOptions()
    along = 0 if UNIT[direction][0] else 1
    before = math.dist(moving.centre_px, fixed.centre_px)

    def cost(step: Step) -> float:
        moved = moving.moved(*step)
        return abs(math.dist(moved.centre_px, fixed.centre_px) - before) + 2 * abs(step[1 - along])

    for step in sorted(_tried_steps(moving, fixed, direction, size_px, options), key=cost):
        moved = moving.moved(*step)
        if is_clear(moved, [fixed], options.gap_px) and fits(moving, moved, others, options.gap_px):
            return step
    return None


def _tried_steps(
    moving: Box, fixed: Box, direction: str, size_px: tuple[int, int], options: PlacingOptions
) -> Iterator[Step]:
    """Steps to places in a direction: inside the picture, at several distances, straight or tilted."""
    along = 0 if UNIT[direction][0] else 1
    sign = UNIT[direction][along]
    sizes, fixed_sizes = (moving.width_px, moving.height_px), (fixed.width_px, fixed.height_px)
    centre, origin = moving.centre_px, fixed.centre_px
    least = (fixed_sizes[along] + sizes[along]) / 2 + options.gap_px
    room = (size_px[along] - origin[along] if sign > 0 else origin[along]) - sizes[along] / 2 - 1
    low, high = sizes[1 - along] / 2 + 1, size_px[1 - along] - sizes[1 - along] / 2 - 1
    if room < least or low > high:
        return
    tilt = math.tan(math.radians(options.max_tilt_deg))
    distances = [least + (room - least) * k / (_TRIED - 1) for k in range(_TRIED)]
    own = math.dist(centre, origin)
    for distance in [*distances, *([own] if least < own < room else [])]:
        asides = [origin[1 - along] + tilt * distance * (2 * k / (_TRIED - 1) - 1) for k in range(_TRIED)]
        for aside in [*asides, centre[1 - along]]:
            if not low <= aside <= high or abs(aside - origin[1 - along]) > tilt * distance:
                continue
            place = [0.0, 0.0]
            place[along], place[1 - along] = origin[along] + sign * distance, aside
            # Rounding towards the old place keeps the box inside the picture.
            step = int(place[0] - centre[0]), int(place[1] - centre[1])
            reached = CARDINAL.between(fixed, moving.moved(*step))
            if reached.name == direction and reached.distance_deg <= options.max_tilt_deg:
                yield step


def joint_step(both: Box, direction: str, size_px: tuple[int, int], options: PlacingOptions) -> Step | None:
    """The step that moves two objects together; None if there is too little room.

    >>> joint_step(Box(10, 10, 40, 40), "right", (200, 150), PlacingOptions())
    (50, 0)
    """
    diagonal = math.hypot(*size_px)
    right, down = UNIT[direction]
    room = {"left": both.x0, "right": size_px[0] - both.x1, "above": both.y0, "below": size_px[1] - both.y1}
    length = min(options.shift_share * diagonal, room[direction])
    if length < options.min_shift_share * diagonal:
        return None
    return right * int(length), down * int(length)


def within(box: Box, size_px: tuple[int, int]) -> Box:
    """The part of a box that lies in the picture."""
    return Box(max(box.x0, 0), max(box.y0, 0), min(box.x1, size_px[0]), min(box.y1, size_px[1]))


def hull(first: Box, second: Box) -> Box:
    """The smallest box around two."""
    return Box(
        min(first.x0, second.x0), min(first.y0, second.y0), max(first.x1, second.x1), max(first.y1, second.y1)
    )


def is_clear(box: Box, others: Sequence[Box], gap_px: float = 0.0) -> bool:
    """Return True if a box is at least a gap away from all others."""
    return all(
        other.x0 - gap_px >= box.x1
        or box.x0 >= other.x1 + gap_px
        or other.y0 - gap_px >= box.y1
        or box.y0 >= other.y1 + gap_px
        for other in others
    )


def is_on(box: Box, other: Box) -> bool:
    """Return True if nearly all of a box lies in a larger one."""
    return box.area_px < other.area_px and overlap(box, other) >= _ON


def fits(before: Box, after: Box, others: Sequence[Box], gap_px: float = 0.0) -> bool:
    """Return True if a box that is moved stays on another one that it lay on, or is clear of it."""
    return all(
        is_clear(after, [other], gap_px) or (is_on(before, other) and is_on(after, other)) for other in others
    )


def fault_of(box: Box, size_px: tuple[int, int], others: Sequence[Box]) -> Unfit | None:
    """Return why an object cannot be cut out whole and alone; None if it can."""
    if is_cut_off(box, size_px):
        return Unfit.CUT_OFF
    is_alone = all(is_clear(box, [other], LEAST_GAP_PX) or is_on(box, other) for other in others)
    return None if is_alone else Unfit.COVERED


def is_cut_off(box: Box, size_px: tuple[int, int]) -> bool:
    """Return True if a box reaches the edge of the picture, so that a part of the object may not be seen."""
    return box.x0 < 1 or box.y0 < 1 or box.x1 > size_px[0] - 1 or box.y1 > size_px[1] - 1


def overlap(first: Box, second: Box) -> float:
    """The share of the smaller box that lies in the other."""
    wide = min(first.x1, second.x1) - max(first.x0, second.x0)
    high = min(first.y1, second.y1) - max(first.y0, second.y0)
    return max(0.0, wide) * max(0.0, high) / min(first.area_px, second.area_px)


def _whole(step: float) -> int:
    return math.floor(step + 0.5)
