"""Objects moved, exchanged and removed in photographs, and the places where they fit."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage

from theodolite.core.errors import UsageError
from theodolite.core.types import Picture, Pixels
from theodolite.geometry import Box
from theodolite.geometry.directions import CARDINAL, OPPOSITE
from theodolite.pairs.pictures.filling import grown, growth_px, inpainted, patched, roughness, without
from theodolite.pairs.pictures.quality import (
    Ground,
    Measure,
    Quality,
    Unfit,
    UnfitError,
    foreign_share,
    remaining_edge,
)
from theodolite.pairs.pictures.whole import AnyPicture, bounds, box_alpha, outline_alpha, pasted, pixels_of

__all__ = [
    "Cutout",
    "Edited",
    "Fill",
    "Studio",
    "Thing",
    "Unfit",
    "UnfitError",
    "exchange",
    "exchange_steps",
    "find_exchange",
    "find_move",
    "move",
    "paste_in_place",
    "relation",
    "remove",
]


# Where an object can be moved so that a direction holds: by whole pixels, inside the picture, clear of other objects.


Step = tuple[int, int]
"""Right and down, in whole pixels."""

UNIT: dict[str, tuple[int, int]] = {"left": (-1, 0), "right": (1, 0), "above": (0, -1), "below": (0, 1)}
"""The unit step, right and down, of each direction of `CARDINAL`."""


_TRIED = 9
"""Distances, and places aside, that are tried for a clear place."""
LIKE = 4.0
"""Objects are of similar size, and steps of similar length, up to this factor."""
LEAST_GAP_PX = 1.0
"""Boxes that are nearer than this touch."""
_ON = 0.95
"""An object is on another if this share of its box lies in the other's, such as a cup on a table."""
_SURROUNDED, _TOUCHED = 0.9, 0.05
"""With outlines: an object is on another that has this share of its rim, and is touched by one that has more than that share."""
_EDGE_PX = 3.0
"""A box that is nearer to the edge of the picture may go on beyond it: annotated boxes are loose by a pixel or two."""
_LIKE_GROUND = 15.0
"""Grounds whose mean colours differ by less than this, in grey levels, are alike."""
_WHOLE = 0.75
"""An object whose largest part is less of it is hidden by something that may not be annotated."""
_LEAST_SIDE = 0.05
"""A box whose shorter side is a smaller share of that of the picture is a sliver."""


@dataclass(frozen=True, slots=True)
class Cutout:
    """An object in a picture, and how it is cut out."""

    box: Box
    outline: tuple[tuple[float, ...], ...] = ()
    """Polygons x0, y0, x1, y1, … in pixels. Without them the object is cut out by its box."""


Thing: TypeAlias = "Box | Cutout"
"""Another object in the picture: its box, or with its outline."""

Relation: TypeAlias = Literal["apart", "on", "touching"]


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

    length_px: float | None = None
    """How long the step of a single object should be, up to the factor `LIKE`; in its own direction such a step is a neutral
    edit. Default: as the distance between the two objects changes least."""

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
    thing: Thing,
    fixed: Box,
    direction: str,
    size_px: tuple[int, int],
    others: Sequence[Thing] = (),
    options: PlacingOptions | None = None,
    *,
    ground: Ground | None = None,
) -> Step | None:
    """Return the step that moves an object into a direction from a box, clear of all others; None if there is no room.

    Of all places that are tried, the one that changes distance and height least is taken; with a length, the one whose step
    is nearest to it. With its ground, places on other ground come last. An object that lies on another one, such as a cup on
    a table, stays on it or leaves it as a whole.

    >>> clear_step(Box(10, 40, 20, 50), Box(40, 40, 60, 60), "right", (100, 100), [Box(82, 0, 92, 90)])
    (57, 0)
    """
    options = options or PlacingOptions()
    along = 0 if UNIT[direction][0] else 1
    cutout = as_cutout(thing)
    moving = within(cutout.box, size_px)
    before = math.dist(moving.centre_px, fixed.centre_px)

    def is_as_long(step: Step) -> bool:
        length = options.length_px
        return length is None or length / LIKE <= math.hypot(*step) <= length * LIKE

    def cost(step: Step) -> tuple[int, float]:
        moved = moving.moved(*step)
        elsewhere = 0 if ground is None else int(ground.difference(moved) / _LIKE_GROUND)
        if options.length_px is not None:
            return elsewhere, abs(math.hypot(*step) - options.length_px)
        farther = abs(math.dist(moved.centre_px, fixed.centre_px) - before)
        return elsewhere, farther + 2 * abs(step[1 - along])

    tried = filter(is_as_long, _tried_steps(moving, fixed, direction, size_px, options))
    for step in sorted(tried, key=cost):
        is_apart = is_clear(moving.moved(*step), [fixed], options.gap_px)
        if is_apart and fits(cutout, step, others, size_px, options.gap_px):
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


def as_cutout(thing: Thing) -> Cutout:
    """Return an object as a cutout."""
    return thing if isinstance(thing, Cutout) else Cutout(thing)


def relation(
    thing: Cutout,
    other: Cutout,
    size_px: tuple[int, int],
    *,
    step: Step = (0, 0),
    gap_px: float = LEAST_GAP_PX,
) -> Relation:
    """Return whether an object is apart from another, on it, or touches it: is held, hidden or cut by it.

    With outlines, a person's hand around a glove touches it, and a person farther away in the same box does not.

    Args:
        thing: The object.
        other: Another object.
        size_px: Width and height of the picture.
        step: How far the object is moved.
        gap_px: Boxes that are nearer than this touch.
    """
    box = thing.box.moved(*step)
    if is_clear(box, [other.box], gap_px):
        return "apart"
    if not (thing.outline and other.outline):
        return "on" if is_on(box, other.box) else "touching"
    rim, inside, (top, left) = _rim(thing, size_px)
    top, left = top + step[1], left + step[0]
    covered = np.zeros(rim.shape, np.bool_)
    around, (row, column) = _mask(other, size_px)
    rows, columns = (
        slice(max(here, there), min(here + mine, there + other_length))
        for here, there, mine, other_length in zip(
            (top, left), (row, column), rim.shape, around.shape, strict=True
        )
    )
    if rows.start < rows.stop and columns.start < columns.stop:
        covered[rows.start - top : rows.stop - top, columns.start - left : columns.stop - left] = around[
            rows.start - row : rows.stop - row, columns.start - column : columns.stop - column
        ]
    share = float(covered[rim].mean()) if rim.any() else 1.0
    if share >= _SURROUNDED:
        return "on"
    smaller = max(1, min(int(inside.sum()), int(around.sum())))
    return "touching" if max(share, float((covered & inside).sum()) / smaller) > _TOUCHED else "apart"


@lru_cache(maxsize=64)
def _mask(thing: Cutout, size_px: tuple[int, int]) -> tuple[NDArray[np.bool_], tuple[int, int]]:
    """Return the pixels of an outlined object, and the row and column at which they begin."""
    alpha = outline_alpha(size_px, thing.outline) > 0.5
    rows, columns = bounds(alpha, 0)
    return alpha[rows, columns], (rows.start, columns.start)


@lru_cache(maxsize=64)
def _rim(
    thing: Cutout, size_px: tuple[int, int]
) -> tuple[NDArray[np.bool_], NDArray[np.bool_], tuple[int, int]]:
    """Return the rim of an outlined object as wide as its hole grows, its pixels, and where both begin."""
    mask, (row, column) = _mask(thing, size_px)
    wide = growth_px(mask.astype(np.float32))
    inside = np.pad(mask, wide)
    return grown(inside, wide) & ~inside, inside, (row - wide, column - wide)


def fits(
    thing: Cutout, step: Step, others: Sequence[Thing], size_px: tuple[int, int], gap_px: float = 0.0
) -> bool:
    """Return True if an object that is moved stays on another one that it lay on, or is clear of it."""
    for other in map(as_cutout, others):
        after = relation(thing, other, size_px, step=step, gap_px=gap_px)
        if after == "touching" or (after == "on" and relation(thing, other, size_px) != "on"):
            return False
    return True


def fault_of(thing: Thing, size_px: tuple[int, int], others: Sequence[Thing]) -> Unfit | None:
    """Return why an object cannot be cut out whole and alone; None if it can."""
    cutout = as_cutout(thing)
    if is_cut_off(cutout.box, size_px):
        return Unfit.CUT_OFF
    if min(cutout.box.width_px, cutout.box.height_px) < _LEAST_SIDE * min(size_px):
        return Unfit.SLIVER
    if cutout.outline and _largest_part(cutout, size_px) < _WHOLE:
        return Unfit.PARTS
    is_alone = all(relation(cutout, as_cutout(other), size_px) != "touching" for other in others)
    return None if is_alone else Unfit.COVERED


@lru_cache(maxsize=64)
def _largest_part(thing: Cutout, size_px: tuple[int, int]) -> float:
    """Return how much of an outlined object its largest part is."""
    mask, _ = _mask(thing, size_px)
    parts, _ = ndimage.label(mask, np.ones((3, 3)))
    sizes = np.bincount(parts.ravel())[1:]
    return float(sizes.max() / sizes.sum()) if len(sizes) else 0.0


def is_cut_off(box: Box, size_px: tuple[int, int]) -> bool:
    """Return True if a box reaches the edge of the picture, so that a part of the object may not be seen."""
    return min(box.x0, box.y0) < _EDGE_PX or box.x1 > size_px[0] - _EDGE_PX or box.y1 > size_px[1] - _EDGE_PX


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
# - An object to be moved must lie whole in the picture, be more than a sliver, and nothing may touch it before or after, unless
#   it lies on another object (a cup on a table) and stays on it or leaves it as a whole.
# - The old place is filled with a piece of the background (`theodolite.pairs.pictures.filling`). What then remains there is
#   measured, and so is the object in its new place (`theodolite.pairs.pictures.quality`).


Fill: TypeAlias = str
"""What fills the old place of an object: ``copied``, a piece of the background; ``blurred``, a blur of it, whose traces are
not checked; or a plug-in of the kind ``edit``."""

_BOX_RIM_PX, _SAME_LEVELS = 4, 20.0
"""In the rim of a box, what differs less than this from the filled background is background."""
_OUTLINE_FEATHER_PX = 1.0
_BOX_FEATHER_SHARE = 0.04
"""Without an outline the box's rim fades by this share of its shorter side."""


@dataclass(frozen=True, slots=True)
class Edited:
    """An edit of a photograph that was tried: the picture, what was changed, and how it looks."""

    kind: Literal["remove", "move", "exchange", "in place"]
    changed: tuple[tuple[Cutout, Step | None], ...]
    """Each object with its step; None if it was removed."""
    quality: Quality
    picture: Picture | None = None
    """None if it could not be drawn. A picture with a fault in its quality is there to be looked at, not to be used."""

    @property
    def is_fit(self) -> bool:
        """True if it looks right."""
        return self.picture is not None and self.quality.fault is None

    def accepted(self) -> Picture:
        """Return the picture.

        Raises:
            UnfitError: If it would not look right.
        """
        if self.quality.fault is not None:
            raise UnfitError(self.quality.fault)
        if self.picture is None:
            raise UnfitError(Unfit.TRACE)
        return self.picture


def exchange(
    picture: AnyPicture,
    first: Cutout,
    second: Cutout,
    *,
    others: Sequence[Thing] = (),
    fill: Fill = "copied",
    seed: int = 0,
) -> Picture:
    """Exchange the places of two objects.

    Args:
        picture: The picture.
        first: An object.
        second: Another object.
        others: All other objects; with outlines, things that do not touch may be nearer to each other.
        fill: What fills their places.
        seed: Seed of the fill.

    Raises:
        UnfitError: If it cannot be done so that it looks right.
    """
    return try_exchange(picture, first, second, others=others, fill=fill, seed=seed).accepted()


def move(
    picture: AnyPicture,
    thing: Cutout,
    step_px: Step,
    *,
    others: Sequence[Thing] = (),
    fill: Fill = "copied",
    seed: int = 0,
) -> Picture:
    """Move one object by a step, right and down; `find_move` finds one.

    Args:
        picture: The picture.
        thing: The object.
        step_px: Right and down, in whole pixels.
        others: All other objects.
        fill: What fills its place.
        seed: Seed of the fill.

    Raises:
        UnfitError: If it cannot be done so that it looks right.
    """
    studio = Studio(picture, (thing,), others=others, fill=fill, seed=seed)
    return studio.attempt("move", [step_px]).accepted()


def remove(
    picture: AnyPicture, thing: Cutout, *, others: Sequence[Thing] = (), fill: Fill = "copied", seed: int = 0
) -> Picture:
    """Remove one object and fill its place with background.

    Args:
        picture: The picture.
        thing: The object.
        others: All other objects.
        fill: What fills its place.
        seed: Seed of the fill.

    Raises:
        UnfitError: If it cannot be done so that it looks right.
    """
    return try_remove(picture, thing, others=others, fill=fill, seed=seed).accepted()


def try_remove(
    picture: AnyPicture, thing: Cutout, *, others: Sequence[Thing] = (), fill: Fill = "copied", seed: int = 0
) -> Edited:
    """Remove one object as `remove` does, and return the picture with its quality also where it is refused."""
    pixels = pixels_of(picture)
    fault = fault_of(thing, _size(pixels), others)
    if fault is not None:
        return Edited("remove", ((thing, None),), Quality(refused=fault))
    return Studio(pixels, (thing,), others=others, fill=fill, seed=seed).attempt("remove", [None])


def try_exchange(
    picture: AnyPicture,
    first: Cutout,
    second: Cutout,
    *,
    others: Sequence[Thing] = (),
    fill: Fill = "copied",
    seed: int = 0,
) -> Edited:
    """Exchange two objects as `exchange` does, and return the picture with its quality also where it is refused."""
    pixels = pixels_of(picture)
    try:
        steps = find_exchange(first, second, _size(pixels), others=others)
    except UnfitError as error:
        return Edited("exchange", ((first, (0, 0)), (second, (0, 0))), Quality(refused=error.reason))
    return Studio(pixels, (first, second), others=others, fill=fill, seed=seed).attempt("exchange", steps)


def paste_in_place(
    picture: AnyPicture, thing: Cutout, *, others: Sequence[Thing] = (), fill: Fill = "copied", seed: int = 0
) -> Edited:
    """Cut an object out, fill its place, and paste it back where it was: every trace of a move, and nothing moved.

    Args:
        picture: The picture.
        thing: The object.
        others: All other objects.
        fill: What fills its place.
        seed: Seed of the fill.
    """
    pixels = pixels_of(picture)
    fault = fault_of(thing, _size(pixels), others)
    if fault is not None:
        return Edited("in place", ((thing, (0, 0)),), Quality(refused=fault))
    return Studio(pixels, (thing,), others=others, fill=fill, seed=seed).attempt("in place", [(0, 0)])


def find_move(
    thing: Cutout,
    other: Cutout,
    size_px: tuple[int, int],
    *,
    directions: Sequence[str],
    others: Sequence[Thing] = (),
    options: PlacingOptions | None = None,
    picture: AnyPicture | None = None,
) -> Step:
    """Find the step that brings an object into the first direction from another that has room.

    Args:
        thing: The object that moves.
        other: The object from which the direction is seen. It stays.
        size_px: Width and height of the picture.
        directions: Left, right, above or below, in order of preference.
        others: All other objects.
        options: How objects are moved.
        picture: The picture, to find a place on ground like the object's own.

    Raises:
        UnfitError: If there is no clear place.
    """
    box, fixed = within(thing.box, size_px), within(other.box, size_px)
    if not is_clear(box, [fixed], LEAST_GAP_PX):
        raise UnfitError(Unfit.TOUCH)
    _check_free(thing, size_px, others)
    ground = None if picture is None else Ground(pixels_of(picture), box)
    for direction in directions:
        step = clear_step(thing, fixed, direction, size_px, others, options, ground=ground)
        if step is not None:
            return step
    raise UnfitError(Unfit.NO_ROOM)


def find_exchange(
    first: Cutout,
    second: Cutout,
    size_px: tuple[int, int],
    *,
    others: Sequence[Thing] = (),
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
        _check_free(each, size_px, others)
    steps = exchange_steps(a, b, size_px)
    moved = a.moved(*steps[0]), b.moved(*steps[1])
    before, after = CARDINAL.between(a, b), CARDINAL.between(*moved)
    is_opposite = after.name == OPPOSITE[before.name] and after.distance_deg <= max(
        options.max_tilt_deg, before.distance_deg
    )
    is_apart = is_clear(moved[0], [moved[1]], options.gap_px)
    is_free = all(
        fits(each, step, others, size_px, options.gap_px)
        for each, step in zip((first, second), steps, strict=True)
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
        others: Sequence[Thing] = (),
        fill: Fill = "copied",
        seed: int = 0,
    ) -> None:
        self._picture = picture
        self._things = tuple(things)
        self._others = tuple(map(as_cutout, others))
        self._fill = fill
        self._seed = seed
        self._pixels: Pixels | None = None
        self._alphas: list[NDArray[np.float32]] = []
        self._is_outlined = all(thing.outline for thing in self._things)
        self._feather = _feather_px(self._things)
        self._grounds: dict[tuple[bool, ...], tuple[Pixels, Quality]] = {}

    def draw(self, steps: Sequence[Step | None]) -> Pixels:
        """Draw the picture with each object moved by its step, or removed if it is None.

        Moving objects are cut out, their places filled, and then they are pasted, the larger one first. Only places that
        cannot be filled are refused; `attempt` measures how it looks.

        Raises:
            UnfitError: If there is no background to fill a place with.
        """
        return self._draw(steps, [step != (0, 0) for step in steps])[0]

    def attempt(
        self, kind: Literal["remove", "move", "exchange", "in place"], steps: Sequence[Step | None]
    ) -> Edited:
        """Draw the picture and measure how it looks. Objects with the step (0, 0) stay, or are pasted ``in place``."""
        changed = tuple(zip(self._things, steps, strict=True))
        try:
            pixels, quality = self._draw(steps, [kind == "in place" or step != (0, 0) for step in steps])
        except UnfitError as error:
            return Edited(kind, changed, Quality(refused=error.reason))
        return Edited(kind, changed, quality, Picture.from_array(pixels))

    def _draw(self, steps: Sequence[Step | None], leaves: Sequence[bool]) -> tuple[Pixels, Quality]:
        if self._pixels is None:
            self._pixels = pixels_of(self._picture)
            self._alphas = _alphas(self._things, _size(self._pixels))
        going = tuple(leaves)
        if going not in self._grounds:
            self._grounds[going] = self._ground(self._pixels, going)
        ground, quality = self._grounds[going]
        drawn = ground
        moving = [
            (alpha, step)
            for alpha, step, goes in zip(self._alphas, steps, going, strict=True)
            if step is not None and goes
        ]
        if len(moving) > 1 and all(going) and len({step for _, step in moving}) == 1:
            # They move as one object, so that what covers what stays the same.
            moving = [(_union([alpha for alpha, _ in moving]), moving[0][1])]
        if self._fill != "blurred":
            for thing, step, goes in zip(self._things, steps, going, strict=True):
                if goes and step is not None and step != (0, 0):
                    beside = Ground(ground, thing.box).difference(thing.box.moved(*step))
                    quality = quality.joined({"ground": beside})
        for alpha, step in sorted(moving, key=lambda each: -float(each[0].sum())):
            after = pasted(drawn, self._pixels, alpha, step, feather_px=self._feather)
            if self._fill != "blurred":
                seen: dict[Measure, float] = {"contrast": _contrast(drawn, after, alpha, step)}
                if not self._is_outlined:
                    seen["brought"] = _brought(self._pixels, ground, after, alpha, step)
                quality = quality.joined(seen)
            drawn = after
        return drawn, quality

    def _ground(self, pixels: Pixels, leaves: tuple[bool, ...]) -> tuple[Pixels, Quality]:
        """Return the picture without the objects that leave their places, and how it looks."""
        going = [alpha for alpha, goes in zip(self._alphas, leaves, strict=True) if goes]
        staying = [alpha for alpha, goes in zip(self._alphas, leaves, strict=True) if not goes]
        quality = Quality()
        if not going:
            return pixels, quality
        keep = _union(staying) if staying else None
        if self._fill == "blurred":
            return without(pixels, _union(going), keep=keep), quality
        own = [thing for thing, goes in zip(self._things, leaves, strict=True) if goes]
        before = pixels
        for thing, alpha in zip(own, going, strict=True):
            others = [each for each in going if each is not alpha]
            pixels, fit = self._filled(pixels, thing, alpha, keep, others)
            quality = quality.joined(fit)
        for alpha in going:
            quality = quality.joined(
                {
                    "foreign": foreign_share(before, pixels, alpha),
                    "contrast": float(_difference(before, pixels)[alpha > 0].mean()),
                    "remains": remaining_edge(pixels, alpha),
                }
            )
        return pixels, quality

    def _filled(
        self,
        pixels: Pixels,
        thing: Cutout,
        alpha: NDArray[np.float32],
        keep: NDArray[np.float32] | None,
        others: Sequence[NDArray[np.float32]],
    ) -> tuple[Pixels, dict[Measure, float]]:
        """Return the picture with the place of one object filled, and how well the fill fits."""
        if self._fill != "copied":
            return inpainted(pixels, alpha, self._fill, keep=keep, seed=self._seed), {}
        size = _size(pixels)
        # What an object lies on may be copied, all else may not.
        around = [_alpha_of(other, size) for other in self._others if relation(thing, other, size) != "on"]
        avoid = _union([*around, *others]) if around or others else None
        patch = patched(pixels, alpha, keep=keep, avoid=avoid)
        fit: dict[Measure, float] = {"hole": float(alpha.mean())}
        if patch is not None:
            fit |= {"misfit": patch.misfit, "smear": patch.smear}
        if patch is None or Quality(fit).fault is not None:
            smooth: dict[Measure, float] = {"hole": fit["hole"], "rough": roughness(pixels, alpha, keep=keep)}
            if Quality(smooth).fault is None:
                return without(pixels, alpha, keep=keep), smooth
        if patch is None:
            raise UnfitError(Quality(fit).fault or Unfit.TRACE)
        return patch.pixels, fit


def _check_free(thing: Thing, size_px: tuple[int, int], others: Sequence[Thing]) -> None:
    """Raise an `UnfitError` if an object is not whole, or another one touches it."""
    fault = fault_of(thing, size_px, others)
    if fault is not None:
        raise UnfitError(fault)


def _contrast(before: Pixels, after: Pixels, alpha: NDArray[np.float32], step: Step) -> float:
    """Return how much a pasted object differs from what it covers."""
    there = np.roll(alpha > 0, (step[1], step[0]), (0, 1))
    return float(_difference(after, before)[there].mean())


def _brought(pixels: Pixels, ground: Pixels, after: Pixels, alpha: NDArray[np.float32], step: Step) -> float:
    """Return how much the background differs that an object cut out by its box brings along."""
    rim = (alpha > 0) & ~ndimage.binary_erosion(alpha > 0, iterations=_BOX_RIM_PX)
    brought = rim & (_difference(pixels, ground) < _SAME_LEVELS)
    if not brought.any():
        return 0.0  # the object fills its box
    there = np.roll(brought, (step[1], step[0]), (0, 1))
    return float(_difference(after, ground)[there].mean())


def _difference(first: Pixels, second: Pixels) -> NDArray[np.float32]:
    """Return the mean difference of each pixel, in grey levels."""
    return np.asarray(np.abs(first.astype(np.float32) - second).mean(axis=2))


def _alphas(things: Sequence[Cutout], size_px: tuple[int, int]) -> list[NDArray[np.float32]]:
    """Return the coverage of each object; where outlines overlap, the smaller is in front."""
    found = [_alpha_of(thing, size_px) for thing in things]
    outlined = [place for place, thing in enumerate(things) if thing.outline]
    outlined.sort(key=lambda place: (float(found[place].sum()), -place))
    for rank, place in enumerate(outlined):
        for smaller in outlined[:rank]:
            found[place] = np.minimum(found[place], 1 - found[smaller])
    return found


def _alpha_of(thing: Cutout, size_px: tuple[int, int]) -> NDArray[np.float32]:
    """Return the coverage of an object by its outline, or by its box."""
    if thing.outline:
        return outline_alpha(size_px, thing.outline)
    return box_alpha(size_px, within(thing.box, size_px))


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
