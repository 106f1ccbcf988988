"""Boxes and directions in a picture. Pixel coordinates: x to the right, y downward."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from theodolite.core.errors import UsageError


@dataclass(frozen=True, slots=True)
class Box:
    """An axis-aligned box. It may extend beyond the picture, but must not be empty."""

    x0: float
    y0: float
    x1: float
    y1: float

    def __post_init__(self) -> None:
        if not all(map(math.isfinite, (self.x0, self.y0, self.x1, self.y1))):
            raise UsageError(f"a box needs finite corners, got {self}")
        if self.x1 <= self.x0 or self.y1 <= self.y0:
            raise UsageError(f"a box needs x0 < x1 and y0 < y1, got {self}")

    @classmethod
    def from_xywh(cls, x: float, y: float, width: float, height: float) -> Box:
        """Create a box from its top left corner and size, the format of COCO and GQA.

        >>> Box.from_xywh(10, 20, 5, 6).centre_px
        (12.5, 23.0)
        """
        return cls(x, y, x + width, y + height)

    @property
    def width_px(self) -> float:
        """Horizontal extent."""
        return self.x1 - self.x0

    @property
    def height_px(self) -> float:
        """Vertical extent."""
        return self.y1 - self.y0

    @property
    def area_px(self) -> float:
        """Area in square pixels."""
        return self.width_px * self.height_px

    @property
    def centre_px(self) -> tuple[float, float]:
        """The centre, as (x, y)."""
        return (self.x0 + self.x1) / 2, (self.y0 + self.y1) / 2

    def moved(self, right_px: float, down_px: float) -> Box:
        """Return the box shifted by an offset."""
        return Box(self.x0 + right_px, self.y0 + down_px, self.x1 + right_px, self.y1 + down_px)

    def covers(self, rects_px: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the fraction of each rectangle that lies in the box.

        Args:
            rects_px: Shape (n, 4), as x0, y0, x1, y1. The fraction of a NaN rectangle is 0.

        >>> Box(0, 0, 10, 10).covers(np.array([[5.0, 0.0, 15.0, 10.0]])).tolist()
        [0.5]
        """
        x0, y0, x1, y1 = np.asarray(rects_px, np.float64).T
        wide = np.clip(np.minimum(x1, self.x1) - np.maximum(x0, self.x0), 0, None)
        high = np.clip(np.minimum(y1, self.y1) - np.maximum(y0, self.y0), 0, None)
        return np.asarray(np.nan_to_num(wide * high / ((x1 - x0) * (y1 - y0)), nan=0.0))

    def iou(self, other: Box) -> float:
        """Return the intersection over union."""
        wide = min(self.x1, other.x1) - max(self.x0, other.x0)
        high = min(self.y1, other.y1) - max(self.y0, other.y0)
        shared = max(0.0, wide) * max(0.0, high)
        return shared / (self.area_px + other.area_px - shared)


def direction_deg(origin_px: ArrayLike, point_px: ArrayLike) -> NDArray[np.float64]:
    """Return the direction from one point to another, ``atan2(-(y - y0), x - x0)``, in degrees in [0, 360).

    0 is to the right, 90 upward; angles increase counter-clockwise. Pixel rows increase downward.

    Args:
        origin_px: Start points, shape (..., 2), as (x, y).
        point_px: End points, shape (..., 2). Broadcasts with the origin.

    >>> float(direction_deg((10, 10), (10, 3)))
    90.0
    """
    step = np.asarray(point_px, np.float64) - np.asarray(origin_px, np.float64)
    return np.asarray(np.degrees(np.arctan2(-step[..., 1], step[..., 0])) % 360.0)
