"""Edits of a pair's picture with a known right answer.

mirrored        the picture is flipped along the asked axis, left and right for diagonals: left becomes right
blank           every pixel has the picture's mean colour: nothing can be seen
hidden          one box, or one of 4 × 4 parts, has the picture's mean colour

The edits that know no pair are in `theodolite.pairs.pictures`.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from theodolite.core.types import Picture, Pixels
from theodolite.geometry import Box
from theodolite.instruments.compass.data.pairs import Pair, Region
from theodolite.pairs import directions
from theodolite.pairs.directions import is_sideways
from theodolite.pairs.pictures import flip, mirror
from theodolite.pairs.pictures.cutting import as_pixels, box_alpha

PARTS = 4
"""Rows and columns of the parts that are hidden one at a time."""


def mirrored(pair: Pair) -> Pair:
    """The picture flipped along the asked axis, with its boxes and the answer afterwards.

    Raises:
        UsageError: The direction is none of the eight.
    """
    turned = mirrored_boxes(pair)
    return replace(turned, picture=(mirror if is_sideways(pair.direction) else flip)(pair.picture))


def mirrored_boxes(pair: Pair) -> Pair:
    """Boxes and answer of the mirrored pair, with the original picture."""
    width, height = pair.size_px
    across = is_sideways(pair.direction)

    def place(box: Box) -> Box:
        if across:
            return Box(width - box.x1, box.y0, width - box.x0, box.y1)
        return Box(box.x0, height - box.y1, box.x1, height - box.y0)

    return replace(
        pair,
        reference=Region(pair.reference.name, place(pair.reference.box)),
        target=Region(pair.target.name, place(pair.target.box)),
        others=tuple(place(box) for box in pair.others),
        direction=directions.mirrored(pair.direction),
    )


def blank(pair: Pair) -> Pair:
    """A picture of one colour, the mean of all pixels. The pair keeps its answer, although it cannot be seen."""
    pixels = pair.picture.pixels()
    return replace(pair, picture=Picture.from_array(as_pixels(np.broadcast_to(_mean(pixels), pixels.shape))))


def hidden(pair: Pair, box: Box) -> Pair:
    """The picture with a box filled in its mean colour."""
    pixels = pair.picture.pixels().copy()
    whole = box_alpha(pair.size_px, box)[..., None]
    part = tuple(slice(*_ends(whole.max(axis=(1 - axis, 2)))) for axis in (0, 1))  # nothing changes elsewhere
    cover = whole[part]
    pixels[part] = as_pixels(cover * _mean(pixels) + (1 - cover) * pixels[part])
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


def _mean(pixels: Pixels) -> NDArray[np.float64]:
    return np.asarray(pixels.reshape(-1, 3).mean(axis=0))
