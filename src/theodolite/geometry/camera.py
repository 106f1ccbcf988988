"""Pinhole cameras. Camera frame: x right, y down, z forward, in metres. Pixels: x right, y down, origin at the top left."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from theodolite.core.errors import UsageError

_LARGEST_PX = 100_000
NEAR_M = 0.1
"""The near plane: anything closer along the viewing axis is clipped before projection."""


@dataclass(frozen=True, slots=True)
class PinholeCamera:
    """A camera without distortion or skew: u = fx x/z + cx, v = fy y/z + cy."""

    fx_px: float
    fy_px: float
    cx_px: float
    cy_px: float
    width_px: int
    height_px: int

    def __post_init__(self) -> None:
        numbers = (self.fx_px, self.fy_px, self.cx_px, self.cy_px)
        if not all(map(math.isfinite, numbers)) or min(self.fx_px, self.fy_px) <= 0:
            raise UsageError(f"a camera needs finite numbers and focal lengths above zero, got {self}")
        if not 1 <= min(self.width_px, self.height_px) <= max(self.width_px, self.height_px) <= _LARGEST_PX:
            raise UsageError(
                f"a picture is from 1 to {_LARGEST_PX} pixels wide and high, not {self.width_px}×{self.height_px}"
            )

    @classmethod
    def from_matrix(cls, intrinsic: NDArray[np.floating], size_px: tuple[int, int]) -> PinholeCamera:
        """Create a camera from a 3×3 matrix K and a picture size (width, height)."""
        k = np.asarray(intrinsic, np.float64)
        if k.shape != (3, 3):
            raise UsageError(f"a camera matrix must be 3×3, got {k.shape}")
        if abs(k[0, 1]) > 1e-6 * abs(k[0, 0]) or k[2, 2] != 1:
            raise UsageError("a pinhole camera needs a matrix without skew whose last entry is 1")
        return cls(float(k[0, 0]), float(k[1, 1]), float(k[0, 2]), float(k[1, 2]), *size_px)

    @classmethod
    def from_field_of_view(cls, horizontal_deg: float, size_px: tuple[int, int]) -> PinholeCamera:
        """Create a camera with square pixels and the principal point at the centre.

        >>> round(PinholeCamera.from_field_of_view(90, (640, 480)).fx_px)
        320
        """
        focal = size_px[0] / 2 / math.tan(math.radians(horizontal_deg) / 2)
        return cls(focal, focal, size_px[0] / 2, size_px[1] / 2, *size_px)

    @property
    def matrix(self) -> NDArray[np.float64]:
        """K, shape (3, 3)."""
        return np.array([[self.fx_px, 0, self.cx_px], [0, self.fy_px, self.cy_px], [0, 0, 1.0]])

    def resized(self, size_px: tuple[int, int]) -> PinholeCamera:
        """Return the camera for the same view at another resolution."""
        across, down = size_px[0] / self.width_px, size_px[1] / self.height_px
        return PinholeCamera(
            self.fx_px * across, self.fy_px * down, self.cx_px * across, self.cy_px * down, *size_px
        )

    def project(self, points_cam: NDArray[np.floating]) -> NDArray[np.float64]:
        """Project points in the camera frame, shape (..., 3), to pixels, shape (..., 2).

        Raises:
            UsageError: If a point is nearer than `NEAR_M`. Clip first.
        """
        points = np.asarray(points_cam, np.float64)
        z = points[..., 2]
        if (z < NEAR_M * (1 - 1e-9)).any():
            raise UsageError(f"a point is nearer than {NEAR_M} m to the camera plane; clip before projecting")
        u = self.fx_px * points[..., 0] / z + self.cx_px
        v = self.fy_px * points[..., 1] / z + self.cy_px
        return np.stack([u, v], axis=-1)
