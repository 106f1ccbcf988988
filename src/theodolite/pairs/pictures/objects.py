"""Objects moved, exchanged and removed in photographs, and the places where they fit."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage

from theodolite.core.errors import UsageError
from theodolite.core.types import Picture, Pixels
from theodolite.geometry import Box
from theodolite.geometry.directions import CARDINAL, OPPOSITE
from theodolite.pairs.pictures.filling import patched, without
from theodolite.pairs.pictures.whole import AnyPicture, box_alpha, outline_alpha, pasted, pixels_of

__all__ = [
    "Cutout",
    "Fill",
    "Studio",
    "exchange",
    "exchange_steps",
    "find_exchange",
    "find_move",
    "move",
    "remove",
]


# Where an object can be moved so that a direction holds: by whole pixels, inside the picture, clear of other objects.


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
    DIAGONAL = "objects are moved along the sides of the picture alone, and the opposite lies across"
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
    """Return the step that moves a box into a direction from another; None if there is no room.

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
    far_px: float | None = None,
) -> Step | None:
    """Return the step that moves a box into a direction from another, clear of all other boxes; None if there is no room.

    Of all places that are tried, the one that changes distance and height least is taken, or the one that is nearest to `far_px`
    away from the old place. A box that lies on another box, such as a cup on a table, stays on it or leaves it as a whole.

    >>> clear_step(Box(10, 40, 20, 50), Box(40, 40, 60, 60), "right", (100, 100), [Box(82, 0, 92, 90)])
    (57, 0)
    """
    options = options or PlacingOptions()
    along = 0 if UNIT[direction][0] else 1
    before = math.dist(moving.centre_px, fixed.centre_px)

    def cost(step: Step) -> float:
        if far_px is not None:
            return abs(math.hypot(*step) - far_px)
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
    """Yield steps to places in a direction: inside the picture, at several distances, straight or tilted."""
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
    """Return the step that moves two objects together; None if there is too little room.

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
    """Return the part of a box that lies in the picture."""
    return Box(max(box.x0, 0), max(box.y0, 0), min(box.x1, size_px[0]), min(box.y1, size_px[1]))


def hull(first: Box, second: Box) -> Box:
    """Return the smallest box around two."""
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
    """Return the share of the smaller box that lies in the other."""
    wide = min(first.x1, second.x1) - max(first.x0, second.x0)
    high = min(first.y1, second.y1) - max(first.y0, second.y0)
    return max(0.0, wide) * max(0.0, high) / min(first.area_px, second.area_px)


def _whole(step: float) -> int:
    return math.floor(step + 0.5)


# Edits of single objects in a photograph: two exchange their places, one moves, one is removed.
#
# Objects are cut out by their outline where it is known, else by their box. What cannot be edited so that it looks right raises
# an `UnfitError` with the reason:
#
# - An object to be moved must lie whole in the picture, and no other box may touch it before or after, unless it lies on a
#   larger one (a cup on a table) and stays on it or leaves it as a whole.
# - The old place is filled with a piece of the background (`theodolite.pairs.pictures.filling`). If no piece fits along the
#   rim to within `MOST_MISFIT` grey levels, there would be a visible trace. The same holds for the rim of an object that is cut
#   out by its box, and so brings some of its old background along.
# - In its new place the object must differ from what it covers by `LEAST_CONTRAST` grey levels.


Fill: TypeAlias = Literal["copied", "blurred"]
"""What fills the old place of an object: a piece of the background, checked for traces, or a blur of it, unchecked."""

MOST_MISFIT = 35.0
"""The largest misfit of a copied piece, or of an object cut out by its box, along the rim, in grey levels."""
LEAST_CONTRAST = 16.0
"""The least mean difference between an object and what it covers, in grey levels."""
_BOX_RIM_PX, _SAME_LEVELS = 4, 20.0
"""In the rim of a box, what differs less than this from the filled background is background."""
_OUTLINE_FEATHER_PX = 1.0
_BOX_FEATHER_SHARE = 0.04
"""Without an outline the box's rim fades by this share of its shorter side."""


@dataclass(frozen=True, slots=True)
class Cutout:
    """An object in a picture, and how it is cut out."""

    box: Box
    outline: tuple[tuple[float, ...], ...] = ()
    """Polygons x0, y0, x1, y1, … in pixels. Without them the object is cut out by its box."""


def exchange(picture: AnyPicture, first: Cutout, second: Cutout, *, others: Sequence[Box] = ()) -> Picture:
    """Exchange the places of two objects.

    Args:
        picture: The picture.
        first: An object.
        second: Another object.
        others: The boxes of all other objects.

    Raises:
        UnfitError: If it cannot be done so that it looks right.
    """
    pixels = pixels_of(picture)
    steps = find_exchange(first, second, _size(pixels), others=others)
    return Picture.from_array(Studio(pixels, (first, second), others=others).draw(steps))


def move(picture: AnyPicture, thing: Cutout, step_px: Step, *, others: Sequence[Box] = ()) -> Picture:
    """Move one object by a step, right and down; `find_move` finds one.

    Args:
        picture: The picture.
        thing: The object.
        step_px: Right and down, in whole pixels.
        others: The boxes of all other objects.

    Raises:
        UnfitError: If it cannot be done so that it looks right.
    """
    return Picture.from_array(Studio(picture, (thing,), others=others).draw([step_px]))


def remove(picture: AnyPicture, thing: Cutout, *, others: Sequence[Box] = ()) -> Picture:
    """Remove one object and fill its place with background.

    Args:
        picture: The picture.
        thing: The object.
        others: The boxes of all other objects.

    Raises:
        UnfitError: If it cannot be done so that it looks right.
    """
    pixels = pixels_of(picture)
    _check_free(thing.box, _size(pixels), others)
    return Picture.from_array(Studio(pixels, (thing,), others=others).draw([None]))


def find_move(
    thing: Cutout,
    other: Cutout,
    size_px: tuple[int, int],
    *,
    directions: Sequence[str],
    others: Sequence[Box] = (),
    options: PlacingOptions | None = None,
    far_px: float | None = None,
) -> Step:
    """Find the step that brings an object into the first direction from another that has room.

    Args:
        thing: The object that moves.
        other: The object from which the direction is seen. It stays.
        size_px: Width and height of the picture.
        directions: Left, right, above or below, in order of preference.
        others: The boxes of all other objects.
        options: How objects are moved.
        far_px: How far it should move. Default: as little as the direction allows.

    Raises:
        UnfitError: If there is no clear place.
    """
    box, fixed = within(thing.box, size_px), within(other.box, size_px)
    if not is_clear(box, [fixed], LEAST_GAP_PX):
        raise UnfitError(Unfit.TOUCH)
    _check_free(thing.box, size_px, others)
    for direction in directions:
        step = clear_step(box, fixed, direction, size_px, others, options, far_px)
        if step is not None:
            return step
    raise UnfitError(Unfit.NO_ROOM)


def find_exchange(
    first: Cutout,
    second: Cutout,
    size_px: tuple[int, int],
    *,
    others: Sequence[Box] = (),
    options: PlacingOptions | None = None,
) -> tuple[Step, Step]:
    """Find the steps by which two objects exchange their places, so that the direction between them is the opposite.

    Raises:
        UnfitError: If they do not fit into each other's places.
    """
    options = options or PlacingOptions()
    a, b = within(first.box, size_px), within(second.box, size_px)
    if not is_clear(a, [b], LEAST_GAP_PX):
        raise UnfitError(Unfit.TOUCH)
    for each in (first, second):
        _check_free(each.box, size_px, others)
    steps = exchange_steps(a, b, size_px)
    moved = a.moved(*steps[0]), b.moved(*steps[1])
    before, after = CARDINAL.between(a, b), CARDINAL.between(*moved)
    is_opposite = after.name == OPPOSITE[before.name] and after.distance_deg <= max(
        options.max_tilt_deg, before.distance_deg
    )
    is_apart = is_clear(moved[0], [moved[1]], options.gap_px)
    is_free = all(
        fits(here, there, others, options.gap_px) for here, there in zip((a, b), moved, strict=True)
    )
    if not (is_opposite and is_apart and is_free):
        raise UnfitError(Unfit.NOT_SWAPPED)
    return steps


def exchange_steps(first: Box, second: Box, size_px: tuple[int, int]) -> tuple[Step, Step]:
    """Return the steps that exchange the centres of two boxes, as far as the edges of the picture allow."""
    return _step_near(first, second.centre_px, size_px), _step_near(second, first.centre_px, size_px)


class Studio:
    """Draws edits of one picture; what they share is cut out and filled once."""

    def __init__(
        self,
        picture: AnyPicture,
        things: Sequence[Cutout],
        *,
        others: Sequence[Box] = (),
        fill: Fill = "copied",
    ) -> None:
        self._picture = picture
        self._things = tuple(things)
        self._others = tuple(others)
        self._fill = fill
        self._pixels: Pixels | None = None
        self._alphas: list[NDArray[np.float32]] = []
        self._is_outlined = all(thing.outline for thing in self._things)
        self._feather = _feather_px(self._things)
        self._grounds: dict[tuple[bool, ...], Pixels] = {}

    def draw(self, steps: Sequence[Step | None]) -> Pixels:
        """Draw the picture with each object moved by its step, or removed if it is None.

        Moving objects are cut out, their places filled, and then they are pasted, the larger one first.

        Raises:
            UnfitError: If the fill is copied and leaves a trace, or an object is hardly seen in its new place.
        """
        if self._pixels is None:
            self._pixels = pixels_of(self._picture)
            self._alphas = _alphas(self._things, _size(self._pixels))
        leaves = tuple(step != (0, 0) for step in steps)
        if leaves not in self._grounds:
            self._grounds[leaves] = self._ground(self._pixels, leaves)
        drawn = self._grounds[leaves]
        moving = [
            (alpha, step)
            for alpha, step in zip(self._alphas, steps, strict=True)
            if step is not None and step != (0, 0)
        ]
        if len(moving) > 1 and all(leaves) and len({step for _, step in moving}) == 1:
            # They move as one object, so that what covers what stays the same.
            moving = [(_union([alpha for alpha, _ in moving]), moving[0][1])]
        for alpha, step in sorted(moving, key=lambda each: -float(each[0].sum())):
            after = pasted(drawn, self._pixels, alpha, step, feather_px=self._feather)
            if self._fill == "copied":
                _check_seen(drawn, after, alpha, step)
                if not self._is_outlined:
                    _check_box(self._pixels, self._grounds[leaves], after, alpha, step)
            drawn = after
        return drawn

    def _ground(self, pixels: Pixels, leaves: tuple[bool, ...]) -> Pixels:
        """Return the picture without the objects that leave their places."""
        going = [alpha for alpha, goes in zip(self._alphas, leaves, strict=True) if goes]
        staying = [alpha for alpha, goes in zip(self._alphas, leaves, strict=True) if not goes]
        if not going:
            return pixels
        keep = _union(staying) if staying else None
        if self._fill == "blurred":
            return without(pixels, _union(going), keep=keep)
        size = _size(pixels)
        for place, alpha in enumerate(going):
            # What an object lies on may be copied, all else may not.
            own = [thing.box for thing, goes in zip(self._things, leaves, strict=True) if goes][place]
            around = [box_alpha(size, box) for box in self._others if not is_on(own, box)]
            others = [each for each in going if each is not alpha]
            filled = patched(
                pixels, alpha, keep=keep, avoid=_union([*around, *others]) if around or others else None
            )
            if filled is None or filled[1] > MOST_MISFIT:
                raise UnfitError(Unfit.TRACE)
            pixels = filled[0]
        return pixels


def _check_free(box: Box, size_px: tuple[int, int], others: Sequence[Box]) -> None:
    """Raise an `UnfitError` if an object is not whole, or another one touches it."""
    fault = fault_of(box, size_px, others)
    if fault is not None:
        raise UnfitError(fault)


def _check_seen(before: Pixels, after: Pixels, alpha: NDArray[np.float32], step: Step) -> None:
    """Raise an `UnfitError` if an object hardly differs from what it covers."""
    there = np.roll(alpha > 0, (step[1], step[0]), (0, 1))
    if _difference(after, before)[there].mean() < LEAST_CONTRAST:
        raise UnfitError(Unfit.UNSEEN)


def _check_box(pixels: Pixels, ground: Pixels, after: Pixels, alpha: NDArray[np.float32], step: Step) -> None:
    """Raise an `UnfitError` if an object that is cut out by its box brings other background along than is there."""
    rim = (alpha > 0) & ~ndimage.binary_erosion(alpha > 0, iterations=_BOX_RIM_PX)
    brought = rim & (_difference(pixels, ground) < _SAME_LEVELS)
    if not brought.any():
        return  # the object fills its box
    there = np.roll(brought, (step[1], step[0]), (0, 1))
    if _difference(after, ground)[there].mean() > MOST_MISFIT:
        raise UnfitError(Unfit.TRACE)


def _difference(first: Pixels, second: Pixels) -> NDArray[np.float32]:
    """Return the mean difference of each pixel, in grey levels."""
    return np.asarray(np.abs(first.astype(np.float32) - second).mean(axis=2))


def _alphas(things: Sequence[Cutout], size_px: tuple[int, int]) -> list[NDArray[np.float32]]:
    """Return the coverage of each object; where outlines overlap, the smaller is in front."""
    found = [
        outline_alpha(size_px, thing.outline)
        if thing.outline
        else box_alpha(size_px, within(thing.box, size_px))
        for thing in things
    ]
    outlined = [place for place, thing in enumerate(things) if thing.outline]
    outlined.sort(key=lambda place: (float(found[place].sum()), -place))
    for rank, place in enumerate(outlined):
        for smaller in outlined[:rank]:
            found[place] = np.minimum(found[place], 1 - found[smaller])
    return found


def _feather_px(things: Sequence[Cutout]) -> float:
    if all(thing.outline for thing in things):
        return _OUTLINE_FEATHER_PX
    side = min(min(thing.box.width_px, thing.box.height_px) for thing in things)
    return max(_OUTLINE_FEATHER_PX, _BOX_FEATHER_SHARE * side)


def _union(alphas: Sequence[NDArray[np.float32]]) -> NDArray[np.float32]:
    return np.asarray(np.maximum.reduce(list(alphas)))


def _size(pixels: Pixels) -> tuple[int, int]:
    return pixels.shape[1], pixels.shape[0]


def _step_near(box: Box, centre: tuple[float, float], size_px: tuple[int, int]) -> Step:
    """Return the step that brings a box's centre to a place, or as close as the picture's edges allow."""
    return (
        round(_clip(centre[0] - box.centre_px[0], -box.x0, size_px[0] - box.x1)),
        round(_clip(centre[1] - box.centre_px[1], -box.y0, size_px[1] - box.y1)),
    )


def _clip(value: float, low: float, high: float) -> float:
    return min(max(value, low), high)
