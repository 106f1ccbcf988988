"""A pair of squares on a small picture."""

import numpy as np

from theodolite.core.types import Picture
from theodolite.geometry import Box
from theodolite.instruments.compass.data.pairs import Pair, Region


def squares(direction="left", *, others=()):
    """A red target and a blue reference on grey, 40 × 20 or 20 × 40."""
    pixels = np.full((20, 40, 3), 90, np.uint8)
    target, reference = Box(4, 6, 10, 12), Box(24, 4, 34, 16)
    if direction in {"above", "below"}:
        pixels = pixels.transpose(1, 0, 2).copy()
        target, reference = Box(6, 4, 12, 10), Box(4, 24, 16, 34)
    for box, colour in ((target, (220, 10, 10)), (reference, (10, 10, 220))):
        pixels[int(box.y0) : int(box.y1), int(box.x0) : int(box.x1)] = colour
    for box in others:
        pixels[int(box.y0) : int(box.y1), int(box.x0) : int(box.x1)] = (10, 200, 10)
    size = (pixels.shape[1], pixels.shape[0])
    return Pair(
        f"pair-{direction}",
        Picture.from_array(pixels),
        size,
        Region("blue square", reference),
        Region("red square", target),
        direction,
        others=tuple(others),
    )
