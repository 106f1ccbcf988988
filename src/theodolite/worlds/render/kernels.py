"""The renderer's inner loops as plain functions of plain arrays, compiled by numba if it is installed.

`raster.py` and `textures.py` have the same in numpy, which runs without numba and which tests compare with.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

CONVEX, CONE, ELLIPSOID = 0, 1, 2


def _convex(o: Any, d: Any, normals: Any, offsets: Any, first: int, last: int) -> float:
    enter, leave = -math.inf, math.inf
    for k in range(first, last):
        slope = normals[k, 0] * d[0] + normals[k, 1] * d[1] + normals[k, 2] * d[2]
        gap = offsets[k] - (normals[k, 0] * o[0] + normals[k, 1] * o[1] + normals[k, 2] * o[2])
        if slope < 0.0:
            enter = max(enter, gap / slope)
        elif slope > 0.0:
            leave = min(leave, gap / slope)
        elif gap < 0.0:
            return math.inf
        if enter >= leave:
            return math.inf
    return enter


def _ellipsoid(o: Any, d: Any, radii: Any) -> float:
    a = b = c = 0.0
    for k in range(3):
        ok, dk = o[k] / radii[k], d[k] / radii[k]
        a += dk * dk
        b += ok * dk
        c += ok * ok
    inside = b * b - a * (c - 1.0)
    return (-b - math.sqrt(inside)) / a if inside >= 0.0 else math.inf


def _cone(o: Any, d: Any, radii: Any, near: float) -> float:
    r0, r1, height = radii[0], radii[1], radii[2]
    k = (r1 - r0) / height
    reach = r0 + k * o[2]
    a = d[0] * d[0] + d[1] * d[1] - (k * d[2]) ** 2
    b = o[0] * d[0] + o[1] * d[1] - k * d[2] * reach
    c = o[0] * o[0] + o[1] * o[1] - reach * reach
    best = math.inf
    inside = b * b - a * c
    if inside >= 0.0 and a != 0.0:
        root = math.sqrt(inside)
        for sign in (-1.0, 1.0):
            t = (-b + sign * root) / a
            z = o[2] + t * d[2]
            if near < t < best and 0.0 <= z <= height and r0 + k * z >= 0.0:
                best = t
    if d[2] != 0.0:
        for z, r in ((0.0, r0), (height, r1)):
            t = (z - o[2]) / d[2]
            x, y = o[0] + t * d[0], o[1] + t * d[1]
            if near < t < best and x * x + y * y <= r * r:
                best = t
    return best


def _cast(  # noqa: C901, PLR0913, PLR0917 - a kernel is one loop over plain arrays
    us: Any,
    vs: Any,
    is_parallel: bool,  # noqa: FBT001 - plain arrays and numbers only
    near: float,
    shapes: Any,
    windows: Any,
    planes: Any,
    normals: Any,
    offsets: Any,
    axes: Any,
    centres: Any,
    radii: Any,
    things: Any,
    depth: Any,
    owner: Any,
    stamp: Any,
    alone: Any,
) -> None:
    """Cast every part over its window and keep the nearest. Count the pixels that each object would cover by itself."""
    o, d, lo, ld = np.zeros(3), np.zeros(3), np.zeros(3), np.zeros(3)
    for part in range(len(shapes)):
        for row in range(windows[part, 0], windows[part, 1]):
            for column in range(windows[part, 2], windows[part, 3]):
                if is_parallel:
                    o[0], o[1], o[2] = us[column], vs[row], 0.0
                    d[0], d[1], d[2] = 0.0, 0.0, 1.0
                else:
                    d[0], d[1], d[2] = us[column], vs[row], 1.0
                if shapes[part] == 0:
                    t = _convex(o, d, normals, offsets, planes[part, 0], planes[part, 1])
                else:
                    for i in range(3):
                        lo[i] = ld[i] = 0.0
                        for j in range(3):
                            lo[i] += axes[part, i, j] * (o[j] - centres[part, j])
                            ld[i] += axes[part, i, j] * d[j]
                    t = (
                        _cone(lo, ld, radii[part], near)
                        if shapes[part] == 1
                        else _ellipsoid(lo, ld, radii[part])
                    )
                if near < t < math.inf:
                    if stamp[row, column] != things[part]:
                        stamp[row, column] = things[part]
                        alone[things[part]] += 1
                    if t < depth[row, column]:
                        depth[row, column] = t
                        owner[row, column] = part


def _noise(points: Any, scale: float, shift: float, lattice: Any, weight: float, total: Any) -> None:
    """Add smooth noise: linear between the values of a lattice that repeats."""
    side = lattice.shape[0]
    for n in range(len(points)):
        x, y, z = points[n, 0] * scale + shift, points[n, 1] * scale + shift, points[n, 2] * scale + shift
        fx, fy, fz = math.floor(x), math.floor(y), math.floor(z)
        ax, ay, az = x - fx, y - fy, z - fz
        i, j, k = int(fx) % side, int(fy) % side, int(fz) % side
        i1, j1, k1 = (i + 1) % side, (j + 1) % side, (k + 1) % side
        low = (lattice[i, j, k] * (1 - az) + lattice[i, j, k1] * az) * (1 - ay) + (
            lattice[i, j1, k] * (1 - az) + lattice[i, j1, k1] * az
        ) * ay
        high = (lattice[i1, j, k] * (1 - az) + lattice[i1, j, k1] * az) * (1 - ay) + (
            lattice[i1, j1, k] * (1 - az) + lattice[i1, j1, k1] * az
        ) * ay
        total[n] += weight * (low * (1 - ax) + high * ax)


def _share_lit(texels: Any, height: Any, depth: Any, reach: float, slack: float, lit: Any) -> None:
    """Write the share of the nine texels around each point that nothing nearer to the light covers into `lit`."""
    rows, columns = depth.shape
    for n in range(len(texels)):
        count = 0
        for dy in range(-1, 2):
            for dx in range(-1, 2):
                column = math.floor(texels[n, 0] + dx * reach)
                row = math.floor(texels[n, 1] + dy * reach)
                is_on = 0 <= row < rows and 0 <= column < columns
                if not is_on or height[n] <= depth[row, column] + slack:
                    count += 1
        lit[n] = count / 9.0


@cache
def compiled() -> dict[str, Callable[..., None]] | None:
    """Return the compiled loops; None if numba is not installed."""
    try:
        from numba import njit
    except ImportError:
        return None
    scope = globals()
    for name in ("_convex", "_ellipsoid", "_cone"):
        scope[name] = njit(cache=True)(scope[name])
    return {name: njit(cache=True)(scope[f"_{name}"]) for name in ("cast", "noise", "share_lit")}
