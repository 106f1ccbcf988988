"""2D and 3D geometry. Names state frames and units: ``_px``, ``_deg``, ``_m``, ``dst_SE3_src``."""

from __future__ import annotations

from theodolite.geometry.boxes import Box, direction_deg
from theodolite.geometry.camera import (
    EDGES,
    NEAR_M,
    Cuboid,
    PinholeCamera,
    clipped_points_cam,
    inside_box_px,
    projected_box_px,
)
from theodolite.geometry.se3 import SE3
from theodolite.geometry.token_grid import TokenGrid, lattice

__all__ = [
    "EDGES",
    "NEAR_M",
    "SE3",
    "Box",
    "Cuboid",
    "PinholeCamera",
    "TokenGrid",
    "clipped_points_cam",
    "direction_deg",
    "inside_box_px",
    "lattice",
    "projected_box_px",
]
