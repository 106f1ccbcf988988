"""Rigid transforms. ``world_SE3_cam`` maps points from the camera frame to the world frame."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from theodolite.core.errors import UsageError

_ORTHONORMAL = 1e-5


@dataclass(frozen=True, slots=True, eq=False)
class SE3:
    """``dst_SE3_src``: x_dst = R x_src + t, in metres."""

    rotation: NDArray[np.float64]
    """Shape (3, 3), orthonormal, determinant +1."""
    translation_m: NDArray[np.float64]
    """Shape (3,)."""

    def __post_init__(self) -> None:
        if self.rotation.shape != (3, 3) or self.translation_m.shape != (3,):
            raise UsageError(
                f"a rigid transform needs a rotation (3, 3) and a translation (3,), got {self.rotation.shape} and {self.translation_m.shape}"
            )
        if not np.isfinite(self.translation_m).all() or not np.isfinite(self.rotation).all():
            raise UsageError("a rigid transform needs finite numbers")
        off = float(np.abs(self.rotation @ self.rotation.T - np.eye(3)).max())
        if off > _ORTHONORMAL or np.linalg.det(self.rotation) < 0:
            raise UsageError(
                f"not a rotation: its deviation from orthonormal is {off:.2g}, or it is a reflection"
            )

    @classmethod
    def identity(cls) -> SE3:
        """Return the identity transform."""
        return cls(np.eye(3), np.zeros(3))

    @classmethod
    def from_quaternion(cls, wxyz: Sequence[float], translation_m: Sequence[float]) -> SE3:
        """Create a transform from a nonzero quaternion w, x, y, z, the order of nuScenes. It need not be normalised.

        >>> turned = SE3.from_quaternion((np.sqrt(0.5), 0, 0, np.sqrt(0.5)), (0, 0, 1))
        >>> np.allclose(turned.apply(np.array([[1.0, 0.0, 0.0]])), [[0, 1, 1]])
        True
        """
        return cls(quaternion_matrix(wxyz), np.asarray(translation_m, np.float64))

    @classmethod
    def from_matrix(cls, matrix: NDArray[np.floating]) -> SE3:
        """Create a transform from a 4×4 or 3×4 matrix. Rounding errors in the rotation are removed."""
        matrix64 = np.asarray(matrix, np.float64)
        if matrix64.shape not in {(4, 4), (3, 4)}:
            raise UsageError(f"a rigid transform must be a 4×4 matrix, got {matrix64.shape}")
        left, scale, right = np.linalg.svd(matrix64[:3, :3])
        if np.abs(scale - 1).max() > 1e-3:
            raise UsageError(f"not a rigid transform: it scales by {scale.round(4).tolist()}")
        return cls(left @ right, matrix64[:3, 3].copy())

    @property
    def matrix(self) -> NDArray[np.float64]:
        """The transform as a matrix, shape (4, 4)."""
        matrix = np.eye(4)
        matrix[:3, :3], matrix[:3, 3] = self.rotation, self.translation_m
        return matrix

    @property
    def quaternion_wxyz(self) -> tuple[float, float, float, float]:
        """The rotation as a unit quaternion with w ≥ 0."""
        return matrix_quaternion(self.rotation)

    def apply(self, points: NDArray[np.floating]) -> NDArray[np.float64]:
        """Transform points, shape (..., 3)."""
        return np.asarray(points, np.float64) @ self.rotation.T + self.translation_m

    def inverse(self) -> SE3:
        """Return ``src_SE3_dst``."""
        return SE3(self.rotation.T, -self.rotation.T @ self.translation_m)

    def __matmul__(self, other: SE3) -> SE3:
        """Chain two transforms: ``a_SE3_b @ b_SE3_c`` is ``a_SE3_c``."""
        return SE3(self.rotation @ other.rotation, self.apply(other.translation_m))


def quaternion_matrix(wxyz: Sequence[float]) -> NDArray[np.float64]:
    """Return the rotation matrix of a quaternion w, x, y, z."""
    q = np.asarray(wxyz, np.float64)
    norm = float(np.linalg.norm(q)) if q.shape == (4,) else 0.0
    if not np.isfinite(norm) or norm == 0:
        raise UsageError(
            f"a quaternion needs four numbers w, x, y, z that are not all zero, got {list(wxyz)}"
        )
    w, x, y, z = q / norm
    return np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
            [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
            [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
        ]
    )


def matrix_quaternion(rotation: NDArray[np.float64]) -> tuple[float, float, float, float]:
    """Return the unit quaternion w, x, y, z of a rotation matrix, with w ≥ 0.

    This is the eigenvector of Bar-Itzhack's symmetric matrix for the eigenvalue 1. It needs no case distinction and
    avoids cancellation.

    >>> tuple(round(v, 6) for v in matrix_quaternion(quaternion_matrix((0.5, 0.5, 0.5, 0.5))))
    (0.5, 0.5, 0.5, 0.5)
    """
    (a, b, c), (d, e, f), (g, h, i) = rotation
    symmetric = np.array(
        [
            [a - e - i, b + d, c + g, h - f],
            [b + d, e - a - i, f + h, c - g],
            [c + g, f + h, i - a - e, d - b],
            [h - f, c - g, d - b, a + e + i],
        ]
    )
    x, y, z, w = np.linalg.eigh(symmetric / 3)[1][:, -1]
    sign = -1.0 if w < 0 else 1.0
    return sign * float(w), sign * float(x), sign * float(y), sign * float(z)
