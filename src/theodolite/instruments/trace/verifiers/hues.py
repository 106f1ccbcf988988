"""The dominant colour of a box, by name, and colour histograms."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from theodolite.geometry import Box

_HUES_DEG = {"red": 0, "orange": 28, "yellow": 52, "green": 125, "blue": 222, "purple": 277, "pink": 330}
"""The hue of each name."""


def hue_of(pixels: NDArray[np.uint8], box: Box) -> str:
    """The name of the most frequent hue in the middle of a box; empty if it is dull, dark or mixed.

    >>> red = np.zeros((8, 8, 3), np.uint8) + np.array([200, 20, 20], np.uint8)
    >>> hue_of(red, Box(0, 0, 8, 8)), hue_of(red // 200 * 90, Box(0, 0, 8, 8)) != "blue"
    ('red', True)
    """
    height, width = pixels.shape[:2]
    x0, x1 = (int(np.clip(box.centre_px[0] + s * box.width_px / 4, 0, width)) for s in (-1, 1))
    y0, y1 = (int(np.clip(box.centre_px[1] + s * box.height_px / 4, 0, height)) for s in (-1, 1))
    patch = pixels[y0 : max(y1, y0 + 1), x0 : max(x1, x0 + 1)].reshape(-1, 3).astype(float)
    if not len(patch):
        return ""
    top, low = patch.max(axis=1), patch.min(axis=1)
    vivid = (top - low > 0.35 * np.maximum(top, 1)) & (top > 60)
    if vivid.mean() < 0.4:
        return ""
    names = list(_HUES_DEG)
    away = np.abs(
        (_hue_deg(patch[vivid])[:, None] - np.array([_HUES_DEG[n] for n in names]) + 180) % 360 - 180
    )
    counts = np.bincount(away.argmin(axis=1), minlength=len(names))
    return names[int(counts.argmax())] if counts.max() >= 0.6 * counts.sum() else ""


def colour_histogram(pixels: NDArray[np.uint8], box: Box) -> NDArray[np.float64]:
    """The shares of 64 coarse colours in a box: an appearance vector that needs no model.

    >>> half = np.zeros((4, 4, 3), np.uint8)
    >>> half[:, :2] = 255
    >>> sorted(colour_histogram(half, Box(0, 0, 4, 4)).tolist())[-3:]
    [0.0, 0.5, 0.5]
    """
    height, width = pixels.shape[:2]
    x0, x1 = (int(np.clip(edge, 0, width)) for edge in (box.x0, box.x1))
    y0, y1 = (int(np.clip(edge, 0, height)) for edge in (box.y0, box.y1))
    patch = pixels[y0:y1, x0:x1].reshape(-1, 3) // 64
    counts = np.bincount(patch @ np.array([16, 4, 1]), minlength=64)
    return np.asarray(counts / max(1, counts.sum()), np.float64)


def _hue_deg(colours: NDArray[np.float64]) -> NDArray[np.float64]:
    """The hue of RGB colours in degrees; they must not be grey."""
    r, g, b = colours.T
    top, low = colours.max(axis=1), colours.min(axis=1)
    spread = np.maximum(top - low, 1e-9)
    hue = np.where(
        top == r, (g - b) / spread % 6, np.where(top == g, (b - r) / spread + 2, (r - g) / spread + 4)
    )
    return np.asarray(60.0 * hue)
