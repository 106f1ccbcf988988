"""Whole pictures mirrored, lit and re-encoded; and pictures as pixels."""

from __future__ import annotations

import io
import math
from collections.abc import Sequence
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage

from theodolite.core.errors import UsageError
from theodolite.core.types import Picture, Pixels
from theodolite.geometry import Box

__all__ = [
    "AnyPicture",
    "developed",
    "flip",
    "light",
    "mirror",
    "noise",
    "pixels_of",
    "reencode",
]


# Cutting an object out of a photograph and pasting it elsewhere.
#
#     alpha        coverage of the object's outline (polygons, or its box), with an antialiased rim
#     paste        α · object + (1 − α) · picture, with α shrunk by a pixel so that no old background is copied
#
# Objects move by whole pixels, without resampling. What fills their old place: `theodolite.pairs.pictures.filling`.


_FINER = 4
"""Supersampling of outlines, for a smooth rim."""
_FARTHEST_PX = 1e6


def polygons_of(data: object) -> tuple[tuple[float, ...], ...]:
    """Return the polygons x0, y0, x1, y1, … of a COCO annotation; run-length masks have none, and what is no polygon is left out."""
    if not isinstance(data, list):
        return ()
    return tuple(
        tuple(float(value) for value in polygon)
        for polygon in data
        if isinstance(polygon, list)
        and len(polygon) >= 6
        and len(polygon) % 2 == 0
        and all(isinstance(value, int | float) and abs(value) < _FARTHEST_PX for value in polygon)
    )


def outline_alpha(size_px: tuple[int, int], polygons: Sequence[Sequence[float]]) -> NDArray[np.float32]:
    """How much of each pixel lies inside the polygons, to a quarter of a pixel, shape (height, width), 0 to 1.

    Args:
        size_px: Width and height of the picture.
        polygons: Each x0, y0, x1, y1, … in pixels.

    >>> outline_alpha((4, 2), [[1, 0, 3, 0, 3, 2, 1, 2]])[0].round().tolist()
    [0.0, 1.0, 1.0, 0.0]
    """
    from PIL import Image, ImageDraw

    width, height = size_px
    out = np.zeros((height, width), np.float32)
    if any(len(polygon) < 6 or len(polygon) % 2 for polygon in polygons):
        raise UsageError(
            f"polygons need at least three corners as x, y, x, y …, got {[list(p) for p in polygons]}"
        )
    corners = np.concatenate([np.reshape(polygon, (-1, 2)) for polygon in polygons])
    x0, y0 = np.clip(np.floor(corners.min(axis=0)).astype(int), 0, (width - 1, height - 1))
    x1, y1 = np.clip(np.ceil(corners.max(axis=0)).astype(int) + 1, (x0 + 1, y0 + 1), (width, height))
    canvas = Image.new("L", (int(x1 - x0) * _FINER, int(y1 - y0) * _FINER))
    draw = ImageDraw.Draw(canvas)
    for polygon in polygons:
        places = (np.reshape(polygon, (-1, 2)) - (x0, y0)) * _FINER
        draw.polygon(places.ravel().tolist(), fill=1)
    fine = np.asarray(canvas, np.float32).reshape(y1 - y0, _FINER, x1 - x0, _FINER)
    out[y0:y1, x0:x1] = fine.mean(axis=(1, 3))
    return out


def box_alpha(size_px: tuple[int, int], box: Box) -> NDArray[np.float32]:
    """How much of each pixel lies inside a box, shape (height, width).

    >>> box_alpha((3, 1), Box(0.5, 0, 2, 1)).tolist()
    [[0.5, 1.0, 0.0]]
    """
    width, height = size_px
    across = np.clip(np.minimum(np.arange(width) + 1, box.x1) - np.maximum(np.arange(width), box.x0), 0, 1)
    down = np.clip(np.minimum(np.arange(height) + 1, box.y1) - np.maximum(np.arange(height), box.y0), 0, 1)
    return np.outer(down, across).astype(np.float32)


def pasted(
    pixels: Pixels, source: Pixels, alpha: NDArray[np.float32], step_px: tuple[int, int], *, feather_px: float
) -> Pixels:
    """Return the picture with an object of `source` put into it, moved by whole pixels.

    Args:
        pixels: The picture to paste into.
        source: The picture to copy from, of the same size.
        alpha: The object's coverage in `source`.
        step_px: Right and down; what leaves the picture is cut off.
        feather_px: Width of the fading rim, inward.
    """
    right, down = step_px
    height, width = alpha.shape
    rows, columns = bounds(alpha > 0, math.ceil(4 * feather_px) + 1)
    x0, x1 = max(columns.start, -right), min(columns.stop, width - right)
    y0, y1 = max(rows.start, -down), min(rows.stop, height - down)
    if x0 >= x1 or y0 >= y1:
        raise UsageError(f"a step of {step_px} leads the object out of a picture of {width}×{height}")
    own = alpha[rows, columns]
    drawn_in = np.clip(2 * ndimage.gaussian_filter(own, feather_px, mode="nearest") - 1, 0, 1) * (own > 0)
    here, there = np.s_[y0:y1, x0:x1], np.s_[y0 + down : y1 + down, x0 + right : x1 + right]
    top, left = y0 - rows.start, x0 - columns.start
    weight = drawn_in[top : top + y1 - y0, left : left + x1 - x0][..., None]
    out = pixels.copy()
    out[there] = as_pixels(weight * source[here] + (1 - weight) * pixels[there])
    return out


def as_pixels(values: NDArray[np.floating]) -> Pixels:
    """Return the picture rounded and clipped to 0 … 255."""
    return np.asarray(np.clip(np.rint(values), 0, 255), np.uint8)


def bounds(inside: NDArray[np.bool_], margin_px: int) -> tuple[slice, slice]:
    """Rows and columns that hold the inside with a margin on every side, within the picture."""
    spans = []
    for axis, length in ((1, inside.shape[0]), (0, inside.shape[1])):
        found = np.flatnonzero(inside.any(axis=axis))
        first, last = (int(found[0]), int(found[-1]) + 1) if found.size else (0, 1)
        spans.append(slice(max(0, first - margin_px), min(length, last + margin_px)))
    return spans[0], spans[1]


# Edits of a whole picture: mirrored, flipped, in other light, with noise, compressed again. None changes its size.


AnyPicture: TypeAlias = "Picture | Pixels"
"""A picture, or its pixels as they are shown."""


def developed(picture: AnyPicture, *, scale: float = 0.9) -> Picture:
    """Return a picture as all pictures of a pair are to be shown, so that none can be told by how it was stored.

    It is decoded, turned upright, resampled, and stored without loss and without metadata, as edits are. Edit the developed
    picture, and show it in place of the original: then the grid of the original's compression, which a mirrored or pasted part
    would shift, is in none of them.

    Args:
        picture: The picture.
        scale: Size of the new picture. Boxes and outlines scale with it; at 1 it is not resampled, and the grid stays.

    Raises:
        UsageError: If the scale is not above 0 and at most 1.
    """
    from PIL import Image

    if not 0 < scale <= 1:
        raise UsageError(f"the scale must be above 0 and at most 1, not {scale}")
    pixels = pixels_of(picture)
    height, width = pixels.shape[:2]
    size = max(1, round(scale * width)), max(1, round(scale * height))
    if size == (width, height):
        return _picture(pixels)
    return _picture(np.asarray(Image.fromarray(pixels).resize(size, Image.Resampling.LANCZOS)))


def mirror(picture: AnyPicture) -> Picture:
    """Exchange left and right.

    >>> row = np.array([[[1, 1, 1], [2, 2, 2], [3, 3, 3]]], np.uint8)
    >>> mirror(row).pixels()[0, :, 0].tolist()
    [3, 2, 1]
    """
    return _picture(pixels_of(picture)[:, ::-1])


def flip(picture: AnyPicture) -> Picture:
    """Exchange top and bottom. Photographs look unnatural afterwards."""
    return _picture(pixels_of(picture)[::-1])


def light(picture: AnyPicture, amount: float = 0.3) -> Picture:
    """Make a picture brighter or darker.

    Args:
        picture: The picture.
        amount: How far every pixel moves towards white, or towards black if negative; between −1 and 1.

    Raises:
        UsageError: If the amount would leave nothing to see.
    """
    if not -1 < amount < 1:
        raise UsageError(f"the amount of light must be between -1 and 1, not {amount}")
    pixels = pixels_of(picture)
    return _picture(as_pixels(pixels + abs(amount) * ((255.0 if amount > 0 else 0.0) - pixels)))


def noise(picture: AnyPicture, *, seed: int = 0, levels: float = 6.0) -> Picture:
    """Add independent normal noise to every value.

    Args:
        picture: The picture.
        seed: Seed of the draw.
        levels: Standard deviation in grey levels.
    """
    pixels = pixels_of(picture)
    drawn = np.random.default_rng(seed).standard_normal(pixels.shape, dtype=np.float32)
    return _picture(as_pixels(pixels + np.float32(levels) * drawn))


def reencode(picture: AnyPicture, *, quality: int = 60) -> Picture:
    """Compress a picture as JPEG and decode it again.

    Args:
        picture: The picture.
        quality: JPEG quality, from 1 to 95.
    """
    from PIL import Image

    if not 1 <= quality <= 95:
        raise UsageError(f"the JPEG quality must be from 1 to 95, not {quality}")
    coded = io.BytesIO()
    Image.fromarray(pixels_of(picture)).save(coded, format="JPEG", quality=quality)
    return _picture(Picture.from_bytes(coded.getvalue()).pixels())


def pixels_of(picture: AnyPicture) -> Pixels:
    """Return the pixels of a picture as they are shown: upright, in RGB with 8 bits."""
    return picture.pixels() if isinstance(picture, Picture) else Picture.from_array(picture).pixels()


def _picture(pixels: Pixels) -> Picture:
    return Picture.from_array(np.ascontiguousarray(pixels))
