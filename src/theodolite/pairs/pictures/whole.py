"""Edits of a whole picture: mirrored, flipped, in other light, with noise, compressed again. None changes its size."""

from __future__ import annotations

import io
from typing import TypeAlias

import numpy as np

from theodolite.core.errors import UsageError
from theodolite.core.types import Picture, Pixels
from theodolite.pairs.pictures.cutting import as_pixels

__all__ = ["AnyPicture", "flip", "light", "mirror", "noise", "pixels_of", "reencode"]

AnyPicture: TypeAlias = "Picture | Pixels"
"""A picture, or its pixels as they are shown."""


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
