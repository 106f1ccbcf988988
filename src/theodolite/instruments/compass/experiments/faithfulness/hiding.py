"""Hiding sectors of a picture: which pixels lie in which sector around the reference, and what replaces them."""

from __future__ import annotations

import io
import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal, TypeAlias, get_args

import numpy as np
from numpy.typing import NDArray

from theodolite.core.errors import UsageError
from theodolite.core.types import Json, Picture, Pixels
from theodolite.geometry import Box, TokenGrid
from theodolite.instruments.compass.formulas.projection_options import PAPER, Bins, ProjectionOptions

Fill: TypeAlias = Literal["grey", "blur"]
"""What replaces hidden pixels: middle grey, or a strong blur of the picture."""

FILLS: tuple[Fill, ...] = get_args(Fill)
GREY = 128
BLUR_SHARE = 0.04
"""The blur's standard deviation over the picture's diagonal: 32 pixels in a picture of 640 × 480. The paper gives none."""
RECIPE = "hide/1"
"""Changes whenever the same settings would draw other pixels, so that stored answers are not reused wrongly."""
_KEPT = 255
_ON_EDGE = 1e-9


@dataclass(frozen=True, slots=True)
class Hiding:
    """Hidden sectors around a point of a picture."""

    centre_px: tuple[float, float]
    """The point where the sectors meet: the reference's centre, as (x, y)."""
    hidden: tuple[int, ...]
    """The sectors' numbers, counter-clockwise from 0°."""
    fill: Fill = "grey"
    sectors: int = PAPER.sectors
    bins: Bins = PAPER.bins
    spared: tuple[float, float, float, float] | None = None
    """A box that stays visible: x0, y0, x1, y1."""

    def __post_init__(self) -> None:
        if self.fill not in FILLS:
            raise UsageError(f"hidden pixels become {' or '.join(FILLS)}, not {self.fill!r}")
        if any(not 0 <= k < self.sectors for k in self.hidden):
            raise UsageError(f"there are sectors 0 to {self.sectors - 1}, not {self.hidden}")

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Hiding:
        """The inverse of `as_json`."""
        spared = data["spared"]
        return cls(
            (data["centre"][0], data["centre"][1]),
            tuple(data["hidden"]),
            data["fill"],
            data["sectors"],
            data["bins"],
            None if spared is None else tuple(spared),
        )

    def as_json(self) -> dict[str, Json]:
        """Plain JSON."""
        return {
            "recipe": RECIPE,
            "centre": list(self.centre_px),
            "hidden": list(self.hidden),
            "fill": self.fill,
            "sectors": self.sectors,
            "bins": self.bins,
            "spared": None if self.spared is None else list(self.spared),
        }

    def apply(self, pixels: Pixels) -> Pixels:
        """The picture with the sectors hidden, as a copy.

        >>> hiding = Hiding((2.0, 2.0), hidden=(0, 1))  # the quarter to the right and above
        >>> hiding.apply(np.zeros((4, 4, 3), np.uint8))[..., 0].tolist()
        [[0, 0, 128, 128], [0, 0, 128, 128], [0, 0, 0, 0], [0, 0, 0, 0]]
        """
        return self._put(pixels, _filling(pixels, self.fill))

    def draw(self, picture: Picture) -> Picture:
        """The picture with the sectors hidden, as a PNG in memory; the picture itself if none is."""
        if not self.hidden:
            return picture
        from PIL import Image

        buffer = io.BytesIO()
        shown = self._put(*_pixels_and_filling(picture, self.fill))
        # Not compressed: it is decoded at once and not stored.
        Image.fromarray(shown).save(buffer, format="PNG", compress_level=0)
        return Picture.from_bytes(buffer.getvalue())

    def _put(self, pixels: Pixels, filling: Pixels) -> Pixels:
        """The filling in the hidden sectors, the pixels elsewhere."""
        height, width = pixels.shape[:2]
        labels = _labels((width, height), self.centre_px, self.sectors, self.bins, self.spared)
        is_hidden = np.zeros(_KEPT + 1, bool)
        is_hidden[list(self.hidden)] = True
        return np.where(is_hidden[labels][..., None], filling, pixels)


# The masked pictures of a pair follow each other and share these.
@lru_cache(maxsize=4)
def _pixels_and_filling(picture: Picture, fill: Fill) -> tuple[Pixels, Pixels]:
    pixels = picture.pixels()
    return pixels, _filling(pixels, fill)


@lru_cache(maxsize=4)
def _labels(
    size_px: tuple[int, int],
    centre_px: tuple[float, float],
    sectors: int,
    bins: Bins,
    spared: tuple[float, float, float, float] | None,
) -> NDArray[np.uint8]:
    options = ProjectionOptions(sectors=sectors, bins=bins)
    return sector_labels(size_px, centre_px, options=options, spared=None if spared is None else Box(*spared))


def _filling(pixels: Pixels, fill: Fill) -> Pixels:
    if fill == "grey":
        return np.full_like(pixels, GREY)
    from PIL import Image, ImageFilter

    height, width = pixels.shape[:2]
    blur = ImageFilter.GaussianBlur(BLUR_SHARE * math.hypot(width, height))
    return np.asarray(Image.fromarray(pixels).filter(blur))


def sector_of(angle_deg: float, options: ProjectionOptions = PAPER) -> int:
    """The sector of a direction; a sector contains its lower edge and not its upper one.

    >>> sector_of(0), sector_of(44.9), sector_of(45), sector_of(-1)
    (0, 0, 1, 7)
    """
    place = angle_deg % 360.0 * options.sectors / 360.0 - options.first_edge + _ON_EDGE
    return math.floor(place) % options.sectors


def sector_labels(
    size_px: tuple[int, int],
    centre_px: tuple[float, float],
    *,
    options: ProjectionOptions = PAPER,
    spared: Box | None = None,
) -> NDArray[np.uint8]:
    """The sector of each pixel's centre, shape (height, width); 255 where nothing is hidden.

    Args:
        size_px: Width and height.
        centre_px: The point where the sectors meet.
        options: Number of sectors, and where the first begins.
        spared: A box that is never hidden.
    """
    if options.sectors >= _KEPT:
        raise UsageError(f"at most {_KEPT - 1} sectors can be hidden one by one, not {options.sectors}")
    width, height = size_px
    x = np.arange(width) + 0.5
    y = np.arange(height)[:, None] + 0.5
    place = np.arctan2(centre_px[1] - y, x - centre_px[0]) * (options.sectors / (2 * np.pi))
    labels: NDArray[np.int64] = (
        np.floor(place - options.first_edge + _ON_EDGE).astype(np.int64) % options.sectors
    )
    if spared is not None:
        inside = (spared.x0 <= x) & (x < spared.x1) & (spared.y0 <= y) & (y < spared.y1)
        labels[inside] = _KEPT
    return np.asarray(labels, np.uint8)


def visible_shares(grid: TokenGrid, labels: NDArray[np.uint8], n_sectors: int) -> NDArray[np.float64]:
    """The share of what the model sees that lies in each sector, shape (K,).

    It is 0 for a sector outside the picture, or outside the crop that the model is shown: hiding it changes nothing.
    """
    rects = grid.rects_px[grid.has_place]
    seen = np.zeros((grid.height_px, grid.width_px), bool)
    if len(rects):
        seen = grid.paint(np.where(grid.has_place, 1.0, 0.0)) > 0
    counts = np.bincount(labels[seen], minlength=_KEPT + 1)[:n_sectors]
    return np.asarray(counts / max(1, int(seen.sum())), np.float64)
