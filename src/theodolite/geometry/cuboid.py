"""3D boxes and their projection into a camera."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from theodolite.core.errors import UsageError
from theodolite.geometry.boxes import Box
from theodolite.geometry.camera import NEAR_M, PinholeCamera
from theodolite.geometry.se3 import SE3

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
    """Return the corners of the part of a cuboid beyond the near plane: its own and the edges' crossings of the plane.

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
