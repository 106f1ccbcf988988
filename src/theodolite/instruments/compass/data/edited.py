"""Edits of a pair's picture with a known right answer.

mirrored        the picture is flipped along the asked axis: the answer is the opposite
blank           every pixel has the picture's mean colour: nothing can be seen
hidden          one box, or one of 4 × 4 parts, has the picture's mean colour
brighter        every pixel is moved three tenths of the way to white: the answer stays
other-ground    everything outside all boxes gets another tint: the answer stays
no-clutter      everything but target and reference is removed and filled in: the answer stays

Cutting out and moving target or reference: `theodolite.instruments.compass.experiments.controls.edits`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from theodolite.core.errors import UsageError
from theodolite.core.types import Picture, Pixels
from theodolite.geometry import Box
from theodolite.instruments.compass.data.pairs import Pair, Region
from theodolite.pairs.directions import OPPOSITE
from theodolite.pairs.pictures.cutting import box_alpha, without

PARTS = 4
"""Rows and columns of the parts that are hidden one at a time."""
_TO_WHITE = 0.3
_TINT = (0.86, 1.0, 0.94)
_MOST_CLUTTER = 0.5
"""An object is not removed if target and reference cover more than this share of it."""


def mirrored(pair: Pair) -> Pair:
    """The picture flipped along the asked axis, with its boxes; the answer becomes the opposite.

    Raises:
        UsageError: The direction is none of left, right, above and below.
    """
    turned = mirrored_boxes(pair)
    pixels = pair.picture.pixels()
    return replace(turned, picture=_picture(pixels[:, ::-1] if _is_sideways(pair) else pixels[::-1]))


def mirrored_boxes(pair: Pair) -> Pair:
    """Boxes and answer of the mirrored pair, with the original picture."""
    if pair.direction not in OPPOSITE:
        raise UsageError(f"only left, right, above and below can be mirrored, not {pair.direction!r}")
    width, height = pair.size_px

    def place(box: Box) -> Box:
        if _is_sideways(pair):
            return Box(width - box.x1, box.y0, width - box.x0, box.y1)
        return Box(box.x0, height - box.y1, box.x1, height - box.y0)

    return replace(
        pair,
        reference=Region(pair.reference.name, place(pair.reference.box)),
        target=Region(pair.target.name, place(pair.target.box)),
        others=tuple(place(box) for box in pair.others),
        direction=OPPOSITE[pair.direction],
    )


def _is_sideways(pair: Pair) -> bool:
    return pair.direction in {"left", "right"}


def blank(pair: Pair) -> Pair:
    """A picture of one colour, the mean of all pixels. The pair keeps its answer, although it cannot be seen."""
    pixels = pair.picture.pixels()
    return _shown(pair, np.broadcast_to(_mean(pixels), pixels.shape))


def hidden(pair: Pair, box: Box) -> Pair:
    """The picture with a box filled in its mean colour."""
    pixels = pair.picture.pixels().copy()
    whole = box_alpha(pair.size_px, box)[..., None]
    part = tuple(slice(*_ends(whole.max(axis=(1 - axis, 2)))) for axis in (0, 1))  # nothing changes elsewhere
    cover = whole[part]
    pixels[part] = _bytes(cover * _mean(pixels) + (1 - cover) * pixels[part])
    return replace(pair, picture=Picture.from_array(pixels))


def _ends(cover: NDArray[np.float32]) -> tuple[int, int]:
    """The first covered index and the one after the last; an empty range if there is none."""
    places = np.flatnonzero(cover)
    return (int(places[0]), int(places[-1]) + 1) if places.size else (0, 0)


def part_box(size_px: tuple[int, int], part: int) -> Box:
    """One of the `PARTS` × `PARTS` parts of a picture, row by row.

    >>> part_box((80, 40), 5)
    Box(x0=20.0, y0=10.0, x1=40.0, y1=20.0)
    """
    row, column = divmod(part, PARTS)
    width, height = size_px[0] / PARTS, size_px[1] / PARTS
    return Box(column * width, row * height, (column + 1) * width, (row + 1) * height)


def brighter(pair: Pair) -> Pair:
    """Every pixel moved towards white."""
    pixels = pair.picture.pixels()
    return _shown(pair, pixels + _TO_WHITE * (255.0 - pixels))


def other_ground(pair: Pair) -> Pair:
    """The background, outside all boxes, in another tint."""
    pixels = pair.picture.pixels()
    things = _covered(pair, (pair.reference.box, pair.target.box, *pair.others))[..., None]
    return _shown(pair, things * pixels + (1 - things) * (pixels * np.array(_TINT)))


def without_clutter(pair: Pair) -> Pair | None:
    """The picture with target and reference alone; None if there is nothing to remove."""
    named = _covered(pair, (pair.reference.box, pair.target.box))
    boxes = [
        box
        for box in pair.others
        if (alpha := box_alpha(pair.size_px, box)).sum() > 0
        and (alpha * named).sum() <= _MOST_CLUTTER * alpha.sum()
    ]
    if not boxes:
        return None
    gone = np.maximum(_covered(pair, boxes) - named, 0.0).astype(np.float32)
    return replace(_shown(pair, without(pair.picture.pixels(), gone, keep=named)), others=())


IRRELEVANT: dict[str, Callable[[Pair], Pair | None]] = {
    "brighter": brighter,
    "other-ground": other_ground,
    "no-clutter": without_clutter,
}
"""Edits that must not change the answer, by name."""


def _covered(pair: Pair, boxes: tuple[Box, ...] | list[Box]) -> NDArray[np.float32]:
    """How much of each pixel lies in any of the boxes, shape (height, width)."""
    width, height = pair.size_px
    found = np.zeros((height, width), np.float32)
    for box in boxes:
        found = np.maximum(found, box_alpha(pair.size_px, box))
    return found


def _mean(pixels: Pixels) -> NDArray[np.float64]:
    return np.asarray(pixels.reshape(-1, 3).mean(axis=0))


def _shown(pair: Pair, pixels: NDArray[np.generic]) -> Pair:
    return replace(pair, picture=_picture(pixels))


def _picture(pixels: NDArray[np.generic]) -> Picture:
    return Picture.from_array(np.ascontiguousarray(_bytes(pixels)))


def _bytes(pixels: NDArray[np.generic]) -> NDArray[np.uint8]:
    return np.clip(np.rint(np.asarray(pixels, np.float64)), 0, 255).astype(np.uint8)
