"""Pinhole cameras, and boxes with an orientation in space."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from theodolite.core.errors import UsageError
from theodolite.geometry.boxes import Box
from theodolite.geometry.se3 import SE3

# Pinhole cameras. Camera frame: x right, y down, z forward, in metres. Pixels: x right, y down, origin at the top left.


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


# 3D boxes and their projection into a camera.


_SIGNS = np.array([[x, y, z] for x in (0.5, -0.5) for y in (0.5, -0.5) for z in (0.5, -0.5)])
EDGES = tuple((i, j) for i in range(8) for j in range(i + 1, 8) if np.abs(_SIGNS[i] - _SIGNS[j]).sum() == 1.0)
"""The twelve edges, as pairs of corner indices."""


@dataclass(frozen=True, slots=True, eq=False)
class Cuboid:
    """A 3D box. In its own frame: x forward along the length, y left along the width, z up, origin at the centre."""

    frame_SE3_box: SE3
    length_m: float
    width_m: float
    height_m: float

    def __post_init__(self) -> None:
        if not all(np.isfinite(side) and side > 0 for side in self.size_lwh_m):
            raise UsageError(f"a cuboid needs three lengths above zero, got {self.size_lwh_m}")

    @property
    def size_lwh_m(self) -> tuple[float, float, float]:
        """Length, width and height."""
        return self.length_m, self.width_m, self.height_m

    @property
    def centre_m(self) -> NDArray[np.float64]:
        """The centre, in the outer frame."""
        return self.frame_SE3_box.translation_m

    @property
    def corners_m(self) -> NDArray[np.float64]:
        """The corners in the outer frame, shape (8, 3), in the order used by `EDGES`."""
        return self.frame_SE3_box.apply(_SIGNS * np.asarray(self.size_lwh_m))

    def seen_from(self, dst_SE3_frame: SE3) -> Cuboid:
        """Return the cuboid in another frame."""
        return Cuboid(dst_SE3_frame @ self.frame_SE3_box, *self.size_lwh_m)


def clipped_points_cam(cuboid_cam: Cuboid, near_m: float = NEAR_M) -> NDArray[np.float64]:
    """Return the corners beyond the near plane, and the points where edges cross it.

    The projection of a convex body is the convex hull of its projected corners. These points therefore bound it
    exactly, even if some corners are behind the camera. Shape (k, 3); k = 0 if all of the cuboid is too near.
    """
    corners = cuboid_cam.corners_m
    is_kept = corners[:, 2] >= near_m
    points = [corners[is_kept]]
    for i, j in EDGES:
        if is_kept[i] != is_kept[j]:
            a, b = corners[i], corners[j]
            share = (near_m - a[2]) / (b[2] - a[2])
            crossing = a + share * (b - a)
            crossing[2] = near_m
            points.append(crossing[None])
    return np.concatenate(points)


def projected_box_px(cuboid_cam: Cuboid, camera: PinholeCamera) -> Box | None:
    """Return the bounding box of a cuboid's projection. It may extend beyond the picture. None if nothing is in front."""
    points = clipped_points_cam(cuboid_cam)
    if len(points) == 0:
        return None
    pixels = camera.project(points)
    low, high = pixels.min(axis=0), pixels.max(axis=0)
    return Box(*map(float, (*low, *high))) if (high > low).all() else None


def inside_box_px(box: Box, camera: PinholeCamera) -> Box | None:
    """Clip a box to the picture. None if nothing is left."""
    x0, y0 = max(box.x0, 0.0), max(box.y0, 0.0)
    x1, y1 = min(box.x1, float(camera.width_px)), min(box.y1, float(camera.height_px))
    return Box(x0, y0, x1, y1) if x1 > x0 and y1 > y0 else None
