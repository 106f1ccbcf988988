"""Neutral edits of the same kind and strength as a relevant one: the answer stays, and so must whatever traces edits leave.

=============  ====================================================================================================
relevant       neutral, the first that looks right
=============  ====================================================================================================
removed        an unrelated object of similar size removed; else the object cut out and pasted in place
moved          the same object moved as far, and still on the same side of the other; else an unrelated object moved
               as far; else pasted in place
exchanged      two unrelated objects exchanged; else both pasted in place
=============  ====================================================================================================

*Unrelated* objects are those that the question does not depend on: neither named in it, nor of a kind that is counted.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import combinations

from theodolite.geometry.directions import CARDINAL
from theodolite.pairs.pictures.objects import (
    LIKE,
    UNIT,
    Cutout,
    Edited,
    Fill,
    PlacingOptions,
    Step,
    Studio,
    Thing,
    UnfitError,
    fault_of,
    find_move,
    paste_in_place,
    try_exchange,
    try_remove,
)
from theodolite.pairs.pictures.quality import Quality
from theodolite.pairs.pictures.whole import AnyPicture, pixels_of

__all__ = ["neutral_exchange", "neutral_move", "neutral_removal"]


def neutral_removal(
    picture: AnyPicture,
    thing: Cutout,
    unrelated: Sequence[Cutout],
    *,
    others: Sequence[Thing] = (),
    fill: Fill = "copied",
    seed: int = 0,
) -> Edited:
    """Return the neutral edit to the removal of an object.

    Args:
        picture: The picture.
        thing: The object whose removal is the relevant edit.
        unrelated: Objects that the question does not depend on.
        others: All further objects, which must stay.
        fill: What fills places.
        seed: Seed of the fill.

    Returns:
        The first edit that looks right; else the last one that was tried.
    """
    pixels = pixels_of(picture)
    for each in _alike(thing, unrelated):
        stay = [thing, *others, *(one for one in unrelated if one is not each)]
        edited = try_remove(pixels, each, others=stay, fill=fill, seed=seed)
        if edited.is_fit:
            return edited
    return paste_in_place(pixels, thing, others=[*unrelated, *others], fill=fill, seed=seed)


def neutral_move(  # noqa: PLR0913 - what the move needs, and what else is there
    picture: AnyPicture,
    thing: Cutout,
    other: Cutout,
    step_px: Step,
    *,
    unrelated: Sequence[Cutout] = (),
    others: Sequence[Thing] = (),
    fill: Fill = "copied",
    seed: int = 0,
) -> Edited:
    """Return the neutral edit to a move of an object.

    Args:
        picture: The picture.
        thing: The object that the relevant edit moves.
        other: The object from which its direction is seen.
        step_px: The step of the relevant edit.
        unrelated: Objects that the question does not depend on.
        others: All further objects, which must stay.
        fill: What fills places.
        seed: Seed of the fill.

    Returns:
        The first edit that looks right; else the last one that was tried.
    """
    pixels = pixels_of(picture)
    size_px, length = (pixels.shape[1], pixels.shape[0]), math.hypot(*step_px)
    own_side = [CARDINAL.between(other.box, thing.box).name]
    trials = [(thing, other, own_side, [*unrelated, *others])]
    for each in _alike(thing, unrelated):
        stay = [other, *others, *(one for one in unrelated if one is not each)]
        trials.append((each, thing, list(UNIT), stay))
    for moving, fixed, directions, stay in trials:
        for direction in directions:
            try:
                step = find_move(
                    moving,
                    fixed,
                    size_px,
                    directions=[direction],
                    others=stay,
                    options=PlacingOptions(length_px=length),
                    picture=pixels,
                )
            except UnfitError:
                continue
            studio = Studio(pixels, (moving,), others=[fixed, *stay], fill=fill, seed=seed)
            edited = studio.attempt("move", [step])
            if edited.is_fit:
                return edited
    return paste_in_place(pixels, thing, others=[other, *unrelated, *others], fill=fill, seed=seed)


def neutral_exchange(
    picture: AnyPicture,
    first: Cutout,
    second: Cutout,
    unrelated: Sequence[Cutout],
    *,
    others: Sequence[Thing] = (),
    fill: Fill = "copied",
    seed: int = 0,
) -> Edited:
    """Return the neutral edit to an exchange of two objects.

    Args:
        picture: The picture.
        first: An object of the relevant edit.
        second: The other object of the relevant edit.
        unrelated: Objects that the question does not depend on.
        others: All further objects, which must stay.
        fill: What fills places.
        seed: Seed of the fill.

    Returns:
        The first edit that looks right; else the last one that was tried.
    """
    pixels = pixels_of(picture)
    for a, b in combinations(_alike(first, unrelated), 2):
        stay = [first, second, *others, *(one for one in unrelated if one is not a and one is not b)]
        edited = try_exchange(pixels, a, b, others=stay, fill=fill, seed=seed)
        if edited.is_fit:
            return edited
    size_px, stay = (pixels.shape[1], pixels.shape[0]), [*unrelated, *others]
    fault = fault_of(first, size_px, [second, *stay]) or fault_of(second, size_px, [first, *stay])
    if fault is not None:
        return Edited("in place", ((first, (0, 0)), (second, (0, 0))), Quality(refused=fault))
    return Studio(pixels, (first, second), others=stay, fill=fill, seed=seed).attempt(
        "in place", [(0, 0), (0, 0)]
    )


def _alike(thing: Cutout, unrelated: Sequence[Cutout]) -> list[Cutout]:
    """Return the objects of similar size, the most similar first."""

    def factor(each: Cutout) -> float:
        return abs(math.log(each.box.area_px / thing.box.area_px))

    return sorted((each for each in unrelated if factor(each) <= math.log(LIKE)), key=factor)
