"""Edits of a pair's picture or question with a known right answer: finding and drawing them.

relocation         A stays; B is cut out, its place filled, and pasted to the left, right, above and below of A
fix-b-move-a       B stays and A moves, so that B is to the left, right, above and below of A
joint-translation  both move by the same step: the direction stays, the location changes
swap-roles         the picture stays; reference and target are exchanged in the question
swap-places        the question stays; the two objects exchange places in the picture
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from theodolite.core.types import Picture, Pixels
from theodolite.geometry import Box
from theodolite.instruments.compass.data.pairs import Pair, Region
from theodolite.pairs.directions import CARDINAL, OPPOSITE, opposite
from theodolite.pairs.pictures.cutting import box_alpha, outline_alpha, pasted, without
from theodolite.pairs.pictures.placing import (
    UNIT,
    PlacingOptions,
    Step,
    hull,
    joint_step,
    overlap,
    step_to,
    within,
)

RELOCATION, MOVE_A, TRANSLATION = "relocation", "fix-b-move-a", "joint-translation"
SWAP_ROLES, SWAP_PLACES = "swap-roles", "swap-places"

_OUTLINE_FEATHER_PX = 1.0
_BOX_FEATHER_SHARE = 0.04
"""Without an outline the box's rim fades by this share of its shorter side."""


class Unfit(StrEnum):
    """Why an edit cannot be made. The value is the reason in words."""

    OVERLAP = "the boxes overlap and there are no outlines: one object cannot be cut out without the other"
    NO_ROOM = "there is no room for the object in that direction"
    FEW_PLACES = "the pair has room in too few directions for a family"
    NO_OPPOSITE = "the direction has no known opposite"
    NOT_SWAPPED = "the objects do not fit into each other's places"


@dataclass(frozen=True, slots=True)
class Edit:
    """One edit of one pair, not drawn yet."""

    control: str
    probe: str
    """Which of the control's edits: a direction, or ``swapped``."""
    pair: Pair
    """The original."""
    reference_step: Step = (0, 0)
    target_step: Step = (0, 0)

    @property
    def reference(self) -> Box:
        """A's box afterwards."""
        return within(self.pair.reference.box, self.pair.size_px).moved(*self.reference_step)

    @property
    def target(self) -> Box:
        """B's box afterwards."""
        return within(self.pair.target.box, self.pair.size_px).moved(*self.target_step)

    def edited(self, studio: Studio | None = None) -> Pair:
        """The edited pair with its picture drawn; id and names stay the same.

        Args:
            studio: Studio of the same pair, to share the cutting with its other edits.
        """
        pair = self.pair
        if self.control == SWAP_ROLES:
            return replace(
                pair, reference=pair.target, target=pair.reference, direction=opposite(pair.direction) or ""
            )
        return replace(
            pair,
            picture=Picture.from_array((studio or Studio(pair)).draw(self)),
            reference=Region(pair.reference.name, self.reference),
            target=Region(pair.target.name, self.target),
            direction=CARDINAL.between(self.reference, self.target).name,
            meta={},
        )


@dataclass(frozen=True, slots=True)
class EditReport:
    """How many edits of a control could be made, and why others could not."""

    control: str
    pairs: int
    """Pairs with at least one edit."""
    edits: int
    excluded: dict[str, int]
    """Counts of edits that could not be made, by reason."""
    cut_by_box: int
    """Edits of pairs that have no outlines."""


def find_edits(pairs: Sequence[Pair], control: str, options: PlacingOptions) -> tuple[list[Edit], EditReport]:
    """All edits of one control, and what could not be edited."""
    found: list[Edit] = []
    excluded: Counter[Unfit] = Counter()
    for pair in pairs:
        found += _FINDERS[control](pair, options, excluded)
    report = EditReport(
        control,
        len({edit.pair.id for edit in found}),
        len(found),
        {reason.value: excluded[reason] for reason in Unfit if excluded[reason]},
        0 if control == SWAP_ROLES else sum(not _has_outlines(edit.pair) for edit in found),
    )
    return found, report


def _family(
    control: str, steps: Callable[[Pair, str, PlacingOptions], tuple[Step | None, Step | None]]
) -> Callable[[Pair, PlacingOptions, Counter[Unfit]], list[Edit]]:
    """A control that makes one edit per direction."""

    def find(pair: Pair, options: PlacingOptions, excluded: Counter[Unfit]) -> list[Edit]:
        if _is_entangled(pair, options):
            excluded[Unfit.OVERLAP] += len(UNIT)
            return []
        edits = []
        for direction in UNIT:
            reference, target = steps(pair, direction, options)
            if reference is None or target is None:
                excluded[Unfit.NO_ROOM] += 1
            else:
                edits.append(Edit(control, direction, pair, reference, target))
        if len(edits) < options.min_places:
            excluded[Unfit.FEW_PLACES] += len(edits)
            return []
        return edits

    return find


def _relocated(pair: Pair, direction: str, options: PlacingOptions) -> tuple[Step | None, Step | None]:
    a, b = _boxes(pair)
    return (0, 0), step_to(b, a, direction, pair.size_px, options)


def _moved(pair: Pair, direction: str, options: PlacingOptions) -> tuple[Step | None, Step | None]:
    a, b = _boxes(pair)
    return step_to(a, b, OPPOSITE[direction], pair.size_px, options), (0, 0)


def _translated(pair: Pair, direction: str, options: PlacingOptions) -> tuple[Step | None, Step | None]:
    step = joint_step(hull(*_boxes(pair)), direction, pair.size_px, options)
    return step, step


def _swapped_roles(pair: Pair, _: PlacingOptions, excluded: Counter[Unfit]) -> list[Edit]:
    if opposite(pair.direction) is None:
        excluded[Unfit.NO_OPPOSITE] += 1
        return []
    return [Edit(SWAP_ROLES, "swapped", pair)]


def _swapped_places(pair: Pair, options: PlacingOptions, excluded: Counter[Unfit]) -> list[Edit]:
    if _is_entangled(pair, options):
        excluded[Unfit.OVERLAP] += 1
        return []
    a, b = _boxes(pair)
    steps = [_step_near(one, other.centre_px, pair.size_px) for one, other in ((a, b), (b, a))]
    edit = Edit(SWAP_PLACES, "swapped", pair, *steps)
    name = CARDINAL.between(a, b).name
    apart = overlap(edit.reference, edit.target) <= options.max_overlap
    if not apart or CARDINAL.between(edit.reference, edit.target).name != OPPOSITE[name]:
        excluded[Unfit.NOT_SWAPPED] += 1
        return []
    return [edit]


_FINDERS: dict[str, Callable[[Pair, PlacingOptions, Counter[Unfit]], list[Edit]]] = {
    RELOCATION: _family(RELOCATION, _relocated),
    MOVE_A: _family(MOVE_A, _moved),
    TRANSLATION: _family(TRANSLATION, _translated),
    SWAP_ROLES: _swapped_roles,
    SWAP_PLACES: _swapped_places,
}
EDITS = tuple(_FINDERS)
"""The controls that edit pictures or questions."""


def _step_near(box: Box, centre: tuple[float, float], size_px: tuple[int, int]) -> Step:
    """The step that brings a box's centre to a place, or as close as the picture's edges allow."""
    return (
        round(_clip(centre[0] - box.centre_px[0], -box.x0, size_px[0] - box.x1)),
        round(_clip(centre[1] - box.centre_px[1], -box.y0, size_px[1] - box.y1)),
    )


def _clip(value: float, low: float, high: float) -> float:
    return min(max(value, low), high)


def _boxes(pair: Pair) -> tuple[Box, Box]:
    return within(pair.reference.box, pair.size_px), within(pair.target.box, pair.size_px)


def _is_entangled(pair: Pair, options: PlacingOptions) -> bool:
    return not _has_outlines(pair) and overlap(*_boxes(pair)) > options.max_overlap


def _has_outlines(pair: Pair) -> bool:
    return _polygons(pair, "reference") is not None and _polygons(pair, "target") is not None


def _polygons(pair: Pair, role: str) -> list[list[float]] | None:
    outlines = cast("dict[str, Any]", pair.meta.get("outlines") or {})
    return outlines.get(role) or None


def _alphas(pair: Pair) -> tuple[NDArray[np.float32], NDArray[np.float32], float]:
    """The coverage of A and of B, and the width of their rims; where outlines overlap, the smaller is in front."""
    if not _has_outlines(pair):
        a, b = _boxes(pair)
        side = min(a.width_px, a.height_px, b.width_px, b.height_px)
        return (
            box_alpha(pair.size_px, a),
            box_alpha(pair.size_px, b),
            max(_OUTLINE_FEATHER_PX, _BOX_FEATHER_SHARE * side),
        )
    first, second = (
        outline_alpha(pair.size_px, _polygons(pair, role) or []) for role in ("reference", "target")
    )
    if first.sum() < second.sum():
        second = np.minimum(second, 1 - first)
    else:
        first = np.minimum(first, 1 - second)
    return first, second, _OUTLINE_FEATHER_PX


class Studio:
    """Draws the edits of one pair; what they share is cut out and filled once."""

    def __init__(self, pair: Pair) -> None:
        self._pair = pair
        self._alphas: tuple[NDArray[np.float32], NDArray[np.float32], float] | None = None
        self._pixels: Pixels | None = None
        self._grounds: dict[tuple[bool, bool], Pixels] = {}

    def draw(self, edit: Edit) -> Pixels:
        """The edited picture: moving objects are cut out, their places filled, then pasted, the larger one first."""
        if self._pixels is None or self._alphas is None:
            self._pixels, self._alphas = self._pair.picture.pixels(), _alphas(self._pair)
        a, b, feather = self._alphas
        steps = edit.reference_step, edit.target_step
        moves = steps[0] != (0, 0), steps[1] != (0, 0)
        moving = [
            (alpha, step) for alpha, step, is_moved in zip((a, b), steps, moves, strict=True) if is_moved
        ]
        if all(moves) and steps[0] == steps[1]:
            # They move as one object, so that what covers what stays the same.
            moving = [(np.maximum(a, b), steps[0])]
        if moves not in self._grounds:
            self._grounds[moves] = self._ground(a, b, moves)
        picture = self._grounds[moves]
        for alpha, step in sorted(moving, key=lambda each: -float(each[0].sum())):
            picture = pasted(picture, self._pixels, alpha, step, feather_px=feather)
        return picture

    def _ground(self, a: NDArray[np.float32], b: NDArray[np.float32], moves: tuple[bool, bool]) -> Pixels:
        """The picture without the moving objects."""
        pixels = self._pair.picture.pixels() if self._pixels is None else self._pixels
        if not any(moves):
            return pixels
        if all(moves):
            return without(pixels, np.maximum(a, b))
        return without(pixels, a, keep=b) if moves[0] else without(pixels, b, keep=a)
