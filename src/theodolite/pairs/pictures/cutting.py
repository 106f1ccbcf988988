"""Cutting an object out of a photo, filling the hole with blurred background, pasting the object elsewhere.

    alpha        coverage of the object's outline (polygons, or its box), with an antialiased rim
    hole         the alpha grown by a few pixels, so that mixed colours at the rim are removed too
    fill         a membrane inside the hole: each pixel is the mean of its neighbours, with the blurred background as the
                 boundary. It has the background's colours at the rim and no detail inside
    paste        α · object + (1 − α) · picture, with α shrunk by a pixel so that no old background is copied

Objects move by whole pixels, without resampling.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage

from theodolite.core.errors import UsageError
from theodolite.core.types import Pixels
from theodolite.geometry import Box

_FINER = 4
"""Supersampling of outlines, for a smooth rim."""
_GROW_SHARE, _GROW_LEAST_PX, _GROW_MOST_PX = 0.03, 4, 10
"""The hole is wider than the outline by a share of the object's size, because annotated outlines are loose."""
_RIM_BLUR_PX = 6.0
"""Blur of the background before filling: a noisy rim would cause streaks."""
_SOFT_PX = 2.5
"""Blur between fill and background."""
_RELAXATIONS = 12


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


def without(pixels: Pixels, alpha: NDArray[np.float32], *, keep: NDArray[np.float32] | None = None) -> Pixels:
    """The picture with an object removed and its place filled with blurred background.

    Args:
        pixels: The picture.
        alpha: The object's coverage.
        keep: The coverage of an object that stays: its pixels are put back, and not used for the fill.

    Raises:
        UsageError: The object leaves no background to fill from.
    """
    growth = _growth_px(alpha)
    window = _around(alpha > 0, growth)
    inside = alpha[window]
    hole = _grown(inside > 0, growth)
    known = ~hole if keep is None else ~hole & ~_grown(keep[window] > 0, 2)
    if not known.any():
        raise UsageError("the object covers the whole picture: there is no background to fill its place with")
    part = pixels[window].astype(np.float32)
    filled = _membrane(_blurred(part, known), known)
    soft = ndimage.gaussian_filter(hole.astype(np.float32), _SOFT_PX)
    soft = np.maximum(np.clip(2 * soft, 0, 1), inside)[..., None]  # full inside, fading outward
    mixed = soft * filled + (1 - soft) * part
    if keep is not None:
        kept = keep[window][..., None]
        mixed = kept * part + (1 - kept) * mixed
    out = pixels.copy()
    out[window] = _as_pixels(mixed)
    return out


def pasted(
    pixels: Pixels, source: Pixels, alpha: NDArray[np.float32], step_px: tuple[int, int], *, feather_px: float
) -> Pixels:
    """The picture with an object of `source` put into it, moved by whole pixels.

    Args:
        pixels: The picture to paste into.
        source: The picture to copy from, of the same size.
        alpha: The object's coverage in `source`.
        step_px: Right and down; what leaves the picture is cut off.
        feather_px: Width of the fading rim, inward.
    """
    right, down = step_px
    height, width = alpha.shape
    rows, columns = _bounds(alpha > 0, math.ceil(4 * feather_px) + 1)
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
    out[there] = _as_pixels(weight * source[here] + (1 - weight) * pixels[there])
    return out


def _as_pixels(values: NDArray[np.float32]) -> Pixels:
    return np.clip(np.rint(values), 0, 255).astype(np.uint8)


def _growth_px(alpha: NDArray[np.float32]) -> int:
    size = float(np.sqrt(max(1.0, float(alpha.sum()))))
    return round(min(_GROW_MOST_PX, max(_GROW_LEAST_PX, _GROW_SHARE * size)))


def _grown(inside: NDArray[np.bool_], by_px: int) -> NDArray[np.bool_]:
    """All pixels within a distance of the inside."""
    if not inside.any():
        return inside
    return np.asarray(ndimage.distance_transform_edt(~inside) <= by_px)


def _around(inside: NDArray[np.bool_], growth_px: int) -> tuple[slice, slice]:
    """The part of the picture around a hole: its bounds and half as much again on every side."""
    rows, columns = _bounds(inside, 0)
    margin = max(32 + growth_px, (rows.stop - rows.start) // 2, (columns.stop - columns.start) // 2)
    return _bounds(inside, margin)


def _bounds(inside: NDArray[np.bool_], margin_px: int) -> tuple[slice, slice]:
    """Rows and columns that hold the inside with a margin on every side, within the picture."""
    spans = []
    for axis, length in ((1, inside.shape[0]), (0, inside.shape[1])):
        found = np.flatnonzero(inside.any(axis=axis))
        first, last = (int(found[0]), int(found[-1]) + 1) if found.size else (0, 1)
        spans.append(slice(max(0, first - margin_px), min(length, last + margin_px)))
    return spans[0], spans[1]


def _blurred(values: NDArray[np.float32], known: NDArray[np.bool_]) -> NDArray[np.float32]:
    """The known pixels, blurred among themselves."""
    weight = ndimage.gaussian_filter(known.astype(np.float32), _RIM_BLUR_PX)
    blurred = np.stack(
        [ndimage.gaussian_filter(values[..., c] * known, _RIM_BLUR_PX) for c in range(values.shape[2])],
        axis=-1,
    )
    return np.where(known[..., None], blurred / np.maximum(weight, 1e-6)[..., None], 0).astype(np.float32)


def _membrane(values: NDArray[np.float32], known: NDArray[np.bool_]) -> NDArray[np.float32]:
    """Fills the unknown pixels with a smooth surface, from coarse to fine.

    Each level halves the picture, taking means of known pixels, until all are known. On the way back the unknown pixels
    start from the coarser level and are relaxed towards the mean of their four neighbours.
    """
    if known.all():
        return values
    if min(known.shape) < 2:
        mean = values[known].mean(axis=0)
        return np.where(known[..., None], values, mean).astype(np.float32)
    height, width = known.shape
    pad = ((0, height % 2), (0, width % 2))
    weight = np.pad(known.astype(np.float32), pad)
    amount = np.pad(values * known[..., None], (*pad, (0, 0)))
    blocks = weight.reshape(weight.shape[0] // 2, 2, -1, 2).sum(axis=(1, 3))
    sums = amount.reshape(amount.shape[0] // 2, 2, amount.shape[1] // 2, 2, 3).sum(axis=(1, 3))
    coarse = _membrane(sums / np.maximum(blocks, 1)[..., None], blocks > 0)
    up = coarse.repeat(2, axis=0).repeat(2, axis=1)[:height, :width]
    out = np.where(known[..., None], values, up)
    unknown = ~known
    for _ in range(_RELAXATIONS):
        framed = np.pad(out, ((1, 1), (1, 1), (0, 0)), mode="edge")
        around = framed[:-2, 1:-1] + framed[2:, 1:-1] + framed[1:-1, :-2] + framed[1:-1, 2:]
        out[unknown] = around[unknown] / 4
    return out.astype(np.float32)
