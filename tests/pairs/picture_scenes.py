"""Photograph-like pictures with known objects, for tests of edits."""

import numpy as np

from theodolite.geometry import Box
from theodolite.pairs.pictures import Cutout
from theodolite.pairs.pictures.whole import outline_alpha

WIDTH, HEIGHT = 240, 180
RED, WHITE = (250, 20, 20), (255, 255, 255)


def ground():
    """A background that brightens to the right and downward."""
    y, x = np.mgrid[:HEIGHT, :WIDTH]
    return np.stack([40 + x / 3, 60 + y / 3, 90 + (x + y) / 8], axis=-1).round().astype(np.uint8)


def disc(cx, cy, radius):
    """A polygon of many corners, and its box."""
    turns = np.linspace(0, 2 * np.pi, 48, endpoint=False)
    corners = np.stack([cx + radius * np.cos(turns), cy + radius * np.sin(turns)], axis=1)
    return [corners.ravel().tolist()], Box(cx - radius, cy - radius, cx + radius, cy + radius)


def painted(pixels, alpha, colour):
    out = pixels.astype(float)
    return (alpha[..., None] * np.array(colour) + (1 - alpha[..., None]) * out).round().astype(np.uint8)


def disc_picture(*discs):
    """Discs of (x, y, radius, colour) on the background: the pixels, and each as a cutout."""
    pixels, found = ground(), []
    for x, y, radius, colour in discs:
        polygons, box = disc(x, y, radius)
        pixels = painted(pixels, outline_alpha((WIDTH, HEIGHT), polygons), colour)
        found.append(Cutout(box, tuple(map(tuple, polygons))))
    return pixels, found
