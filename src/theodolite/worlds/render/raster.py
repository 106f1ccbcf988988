"""Depth and identity at each pixel: every part is ray-cast over the pixels it can cover, and the nearest wins.

A ray is x(t) = o + t d. For a picture o = 0 and d = (u, v, 1) in the camera's frame, so that t is the depth z; for a shadow
map d = (0, 0, 1) and o = (u, v, 0) in the light's frame. Both are affine in the pixel.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from theodolite.geometry import PinholeCamera
from theodolite.worlds.render import kernels
from theodolite.worlds.render.parts import Array, Part

NEAR = 0.05
Triple: TypeAlias = tuple[Array, Array, Array]


@dataclass(frozen=True, slots=True, eq=False)
class Lattice:
    """The pixels of a view: where each ray starts and where it goes."""

    us: Array
    """Shape (columns,): of pixel middles, in units of the view (tangents, or metres)."""
    vs: Array
    """Shape (rows,)."""
    is_parallel: bool = False
    """True if all rays are parallel (a shadow map)."""

    @classmethod
    def of_camera(cls, camera: PinholeCamera, samples: int = 1) -> Lattice:
        """Return `samples` × `samples` rays per pixel."""
        columns = (np.arange(camera.width_px * samples) + 0.5) / samples
        rows = (np.arange(camera.height_px * samples) + 0.5) / samples
        return cls((columns - camera.cx_px) / camera.fx_px, (rows - camera.cy_px) / camera.fy_px)

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        return len(self.vs), len(self.us)

    def window(self, part: Part) -> tuple[slice, slice] | None:
        """Return the rows and columns that a part can cover, or None if it is out of view."""
        points = part.points
        if part.shape == "convex" and len(points) == 0:
            return slice(0, len(self.vs)), slice(0, len(self.us))
        if not self.is_parallel:
            points = _before_camera(points)
            if len(points) == 0:
                return None
            points = points / points[:, 2:]
        low, high = points[:, :2].min(axis=0), points[:, :2].max(axis=0)
        if (
            part.shape != "convex"
        ):  # the points are on the rims; a round silhouette bulges a little between them
            swell = 0.06 * (high - low)
            low, high = low - swell, high + swell
        c0, c1 = np.searchsorted(self.us, [low[0], high[0]])
        r0, r1 = np.searchsorted(self.vs, [low[1], high[1]])
        return (slice(int(r0), int(r1)), slice(int(c0), int(c1))) if r1 > r0 and c1 > c0 else None

    def rays(self, rows: slice, columns: slice) -> tuple[Triple, Triple]:
        """Return starts and directions, each three arrays that broadcast to (rows, columns)."""
        u, v = self.us[None, columns], self.vs[rows, None]
        one, nil = np.ones((1, 1)), np.zeros((1, 1))
        return ((u, v, nil), (nil, nil, one)) if self.is_parallel else ((nil, nil, nil), (u, v, one))


def _before_camera(points: Array) -> Array:
    """Return the points beyond the near plane, and where lines between any two points cross it: they bound what is left."""
    is_kept = points[:, 2] > NEAR
    if is_kept.all():
        return points
    kept, gone = points[is_kept], points[~is_kept]
    if len(kept) == 0:
        return kept
    share = (kept[:, None, 2] - NEAR) / (kept[:, None, 2] - gone[None, :, 2])
    crossings = kept[:, None] + share[..., None] * (gone[None] - kept[:, None])
    crossings[..., 2] = NEAR
    return np.concatenate([kept, crossings.reshape(-1, 3)])


@dataclass(slots=True, eq=False)
class Buffers:
    """What each pixel shows."""

    depth: NDArray[np.float32]
    """Along the ray; infinite if it hits nothing."""
    part: NDArray[np.int32]
    """Index of the part, or -1."""


def hit(part: Part, start: Triple, way: Triple) -> Array:
    """Return the t at which each ray enters a part; infinite where it misses."""
    with np.errstate(divide="ignore", invalid="ignore"):
        if part.shape == "convex":
            return _hit_convex(part, start, way)
        return _hit_cone(part, start, way) if part.shape == "cone" else _hit_ellipsoid(part, start, way)


def _hit_convex(part: Part, start: Triple, way: Triple) -> Array:
    """Return the t between the last plane that is entered and the first that is left."""
    enter, leave = np.array(-np.inf), np.array(np.inf)
    for (nx, ny, nz), offset in zip(part.normals.tolist(), part.offsets.tolist(), strict=True):
        slope = _dot(nx, ny, nz, way)
        gap = offset - _dot(nx, ny, nz, start)
        t = gap / slope
        if slope.size == 1 and gap.size > 1:
            if float(slope.ravel()[0]) < 0:
                enter = np.maximum(enter, t)
            elif float(slope.ravel()[0]) > 0:
                leave = np.minimum(leave, t)
            else:
                leave = np.where(gap < 0, -np.inf, leave)
        elif gap.size == 1 and float(gap.ravel()[0]) < 0:  # we stand outside this plane: it must be entered
            enter = np.maximum(enter, np.where(slope < 0, t, np.inf))
        else:
            leave = np.minimum(leave, np.where(slope > 0, t, np.inf))
    return np.asarray(np.where((enter < leave) & (enter > NEAR), enter, np.inf))


def _dot(x: float, y: float, z: float, vector: Triple) -> Array:
    return np.asarray(x * vector[0] + y * vector[1] + z * vector[2])


def _local(part: Part, start: Triple, way: Triple) -> tuple[Triple, Triple]:
    """Return rays in the part's own axes, its centre the origin."""
    moved = (start[0] - part.centre[0], start[1] - part.centre[1], start[2] - part.centre[2])
    first, second, third = (tuple(map(float, axis)) for axis in part.axes)
    origin = (_along(first, moved), _along(second, moved), _along(third, moved))
    return origin, (_along(first, way), _along(second, way), _along(third, way))


def _along(axis: tuple[float, ...], vector: Triple) -> Array:
    return _dot(axis[0], axis[1], axis[2], vector)


def _hit_ellipsoid(part: Part, start: Triple, way: Triple) -> Array:
    origin, direction = _local(part, start, way)
    o = [origin[k] / part.radii[k] for k in range(3)]
    d = [direction[k] / part.radii[k] for k in range(3)]
    a = d[0] ** 2 + d[1] ** 2 + d[2] ** 2
    b = o[0] * d[0] + o[1] * d[1] + o[2] * d[2]
    c = o[0] ** 2 + o[1] ** 2 + o[2] ** 2 - 1
    root = np.sqrt(b * b - a * c)  # NaN where it misses
    t = (-b - root) / a
    return np.asarray(np.where(t > NEAR, t, np.inf))


def _hit_cone(part: Part, start: Triple, way: Triple) -> Array:
    """Intersect with the mantle x² + y² = (r0 + k z)², 0 ≤ z ≤ h, and the two discs."""
    (ox, oy, oz), (dx, dy, dz) = _local(part, start, way)
    r0, r1, height = map(float, part.radii)
    k = (r1 - r0) / height
    reach = r0 + k * oz
    a = dx * dx + dy * dy - (k * dz) ** 2
    b = ox * dx + oy * dy - k * dz * reach
    c = ox * ox + oy * oy - reach * reach
    root = np.sqrt(b * b - a * c)
    best = np.array(np.inf)
    for t in ((-b - root) / a, (-b + root) / a):
        z = oz + t * dz
        is_on = (t > NEAR) & (z >= 0) & (z <= height) & (r0 + k * z >= 0)
        best = np.minimum(best, np.where(is_on, t, np.inf))
    for end, r in ((0.0, r0), (height, r1)):
        t = (end - oz) / dz
        is_on = (t > NEAR) & ((ox + t * dx) ** 2 + (oy + t * dy) ** 2 <= r * r)
        best = np.minimum(best, np.where(is_on, t, np.inf))
    return best


def rasterise(parts: Sequence[Part], lattice: Lattice) -> Buffers:
    """Return the nearest part of each pixel.

    Args:
        parts: The parts, in the view's frame.
        lattice: The pixels.
    """
    return cast_parts(parts, np.zeros(len(parts), np.int64), lattice)[0]


def visible_shares(things: Sequence[Sequence[Part]], lattice: Lattice) -> tuple[Array, NDArray[np.int64]]:
    """Return, for each object, the share of its pixels that nothing hides, and how many pixels it would cover by itself.

    Args:
        things: The parts of each object, in the view's frame.
        lattice: The pixels.
    """
    parts = [part for thing in things for part in thing]
    owners = np.repeat(np.arange(len(things)), [len(thing) for thing in things])
    buffers, alone = cast_parts(parts, owners, lattice)
    seen = np.bincount(owners[buffers.part[buffers.part >= 0]], minlength=len(things))
    alone = np.concatenate([alone, np.zeros(len(things), np.int64)])[: len(things)]
    return np.where(alone > 0, seen / np.maximum(alone, 1), 0.0), alone


def cast_parts(
    parts: Sequence[Part], owners: NDArray[np.int64], lattice: Lattice, *, is_compiled: bool = True
) -> tuple[Buffers, NDArray[np.int64]]:
    """Return depth and part of each pixel, and how many pixels each owner would cover by itself.

    Args:
        parts: The parts, in the view's frame; those of one owner are contiguous.
        owners: Index of the owner of each part, from 0.
        lattice: The pixels.
        is_compiled: True to use compiled loops if numba is installed.
    """
    buffers = Buffers(np.full(lattice.shape, np.inf, np.float32), np.full(lattice.shape, -1, np.int32))
    alone = np.zeros(int(owners.max(initial=-1)) + 1, np.int64)
    stamp = np.full(lattice.shape, -1, np.int64)
    loops = kernels.compiled() if is_compiled else None
    if loops is not None:
        loops["cast"](
            lattice.us,
            lattice.vs,
            lattice.is_parallel,
            NEAR,
            *_packed(parts, lattice),
            owners,
            buffers.depth,
            buffers.part,
            stamp,
            alone,
        )
        return buffers, alone
    for index, part in enumerate(parts):
        window = lattice.window(part)
        if window is None:
            continue
        depth, owner, mark = buffers.depth[window], buffers.part[window], stamp[window]
        hits = np.broadcast_to(hit(part, *lattice.rays(*window)), depth.shape).astype(np.float32)
        is_new = np.isfinite(hits) & (mark != owners[index])
        alone[owners[index]] += int(is_new.sum())
        mark[is_new] = owners[index]
        is_nearer = hits < depth
        depth[is_nearer] = hits[is_nearer]
        owner[is_nearer] = index
    return buffers, alone


def _packed(parts: Sequence[Part], lattice: Lattice) -> tuple[NDArray[np.generic], ...]:
    """Return parts as plain arrays: shapes, windows, ranges of planes, planes, axes, centres, radii."""
    codes = {"convex": kernels.CONVEX, "cone": kernels.CONE, "ellipsoid": kernels.ELLIPSOID}
    windows = np.zeros((len(parts), 4), np.int64)
    for index, part in enumerate(parts):
        window = lattice.window(part)
        if window is not None:
            windows[index] = window[0].start, window[0].stop, window[1].start, window[1].stop
    stops = np.cumsum([len(part.offsets) for part in parts], dtype=np.int64)
    starts = np.concatenate([[0], stops[:-1]]).astype(np.int64)
    return (
        np.array([codes[part.shape] for part in parts], np.int64),
        windows,
        np.stack([starts, stops], axis=1) if parts else np.zeros((0, 2), np.int64),
        np.concatenate([np.zeros((0, 3)), *(part.normals for part in parts)]),
        np.concatenate([np.zeros(0), *(part.offsets for part in parts)]),
        np.array([part.axes for part in parts]).reshape(-1, 3, 3),
        np.array([part.centre for part in parts]).reshape(-1, 3),
        np.array([part.radii for part in parts]).reshape(-1, 3),
    )
