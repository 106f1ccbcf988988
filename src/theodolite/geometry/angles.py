"""Directions in a picture: degrees, 0 to the right, 90 upward, counter-clockwise; pixel rows count downward."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray


def direction_deg(origin_px: ArrayLike, point_px: ArrayLike) -> NDArray[np.float64]:
    """The direction from one point to another, ``atan2(-(y - y0), x - x0)``, in [0, 360).

    Args:
        origin_px: where to stand, shape (..., 2), as (x, y).
        point_px: where to look, shape (..., 2); broadcasts with the origin.

    >>> float(direction_deg((10, 10), (10, 3)))
    90.0
    """
    step = np.asarray(point_px, np.float64) - np.asarray(origin_px, np.float64)
    return np.asarray(np.degrees(np.arctan2(-step[..., 1], step[..., 0])) % 360.0)
