"""Solid textures: the colour of a surface by the position of a point in its object's frame."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping
from functools import cache

import numpy as np
from numpy.typing import NDArray

from theodolite.worlds.render import kernels
from theodolite.worlds.render.parts import Array, Material

_SIDE = 64


@cache
def _lattice() -> NDArray[np.float32]:
    """Return noise that repeats every 64 cells: the same on every machine."""
    return np.random.default_rng(20260626).random((_SIDE, _SIDE, _SIDE), dtype=np.float32)


def noise(points: Array, scale_m: float, octaves: int = 1, *, is_compiled: bool = True) -> Array:
    """Return smooth noise in [0, 1], shape (n,), with features of a given size.

    Args:
        points: Shape (n, 3).
        scale_m: The size of the largest features.
        octaves: Number of times that features of half the size are added, at half the strength.
        is_compiled: True to use compiled loops if numba is installed.
    """
    total, weight = np.zeros(len(points)), 0.0
    loops = kernels.compiled() if is_compiled else None
    for octave in range(octaves):
        factor, shift, share = 2.0**octave / scale_m, 17.3 * octave, 1 / 2**octave
        if loops is not None:
            loops["noise"](points, factor, shift, _lattice(), share, total)
        else:
            total += share * _plain_noise(points * factor + shift)
        weight += share
    return total / weight


def _plain_noise(places: Array) -> Array:
    """Interpolate trilinearly between the eight corners of a point's cell."""
    wrapped = places % _SIDE
    corner = np.floor(wrapped)
    high = wrapped - corner
    low = 1 - high
    near = corner.astype(np.int64) % _SIDE
    far = (near + 1) % _SIDE
    lattice, total = _lattice(), np.zeros(len(places))
    for x, y, z in itertools.product(((near, low), (far, high)), repeat=3):
        share = x[1][:, 0] * y[1][:, 1] * z[1][:, 2]
        total += share * lattice[x[0][:, 0], y[0][:, 1], z[0][:, 2]]
    return total


def paint(material: Material, points: Array, normals: Array) -> Array:
    """Return linear colours, shape (n, 3).

    Args:
        material: Material of the surface.
        points: Shape (n, 3), in the object's frame, metres.
        normals: Shape (n, 3), in the object's frame.
    """
    colour = np.asarray(material.colour)
    if material.texture == "plain":
        return np.broadcast_to(colour, points.shape)
    share = TEXTURES[material.texture](points, normals, material.scale_m)
    return np.asarray(colour + share[:, None] * (np.asarray(material.second) - colour))


def _flat(points: Array, normals: Array) -> tuple[Array, Array]:
    """Return two coordinates on the surface: along the ground (or x, y on a level surface), and up (or y)."""
    is_level = np.abs(normals[:, 2]) > 0.7
    is_across = np.abs(normals[:, 0]) > np.abs(normals[:, 1])
    first = np.where(is_level, points[:, 0], np.where(is_across, points[:, 1], points[:, 0]))
    second = np.where(is_level, points[:, 1], points[:, 2])
    return first, second


def _speckle(points: Array, _: Array, scale: float) -> Array:
    return 0.8 * noise(points, scale, 2)


def _cloud(points: Array, _: Array, scale: float) -> Array:
    return np.clip((noise(points, scale, 3) - 0.3) * 2.5, 0, 1)


def _grain(points: Array, _: Array, scale: float) -> Array:
    """Draw wood: rings stretched along x, wavering."""
    stretched = points * np.array([0.12, 1.0, 1.0])
    waver = noise(stretched, scale, 2)
    rings = 0.5 + 0.5 * np.sin(2 * np.pi * (points[:, 1] + points[:, 2]) / scale * 0.7 + 7 * waver)
    return 0.28 * rings + 0.3 * noise(stretched, scale / 5, 2)


def _planks(points: Array, normals: Array, scale: float) -> Array:
    """Draw floor boards, `scale` wide, in staggered lengths, each of its own tone, with dark joints."""
    across, along = _flat(points, normals)
    row = np.floor(across / scale)
    shifted = along + (row * 0.37 % 1.0) * 8 * scale
    board = np.floor(shifted / (8 * scale))
    tone = (np.sin(row * 12.9898 + board * 78.233) * 43758.5453) % 1.0
    joint = (np.abs((across / scale) % 1 - 0.5) > 0.485) | (np.abs((shifted / (8 * scale)) % 1 - 0.5) > 0.497)
    streak = noise(points * np.array([1.0, 0.1, 1.0]), scale / 4, 2)
    return np.where(joint, 1.0, 0.5 * tone + 0.35 * streak)


def _tiles(points: Array, normals: Array, scale: float) -> Array:
    """Draw square tiles with joints."""
    first, second = _flat(points, normals)
    joint = (np.abs((first / scale) % 1 - 0.5) > 0.475) | (np.abs((second / scale) % 1 - 0.5) > 0.475)
    return np.where(joint, 1.0, 0.15 * noise(points, scale / 3, 2))


def _checker(points: Array, normals: Array, scale: float) -> Array:
    first, second = _flat(points, normals)
    return ((np.floor(first / scale) + np.floor(second / scale)) % 2).astype(np.float64)


def _stripes(points: Array, normals: Array, scale: float) -> Array:
    first, _ = _flat(points, normals)
    return (np.floor(first / scale) % 2).astype(np.float64)


def _bands(points: Array, _: Array, scale: float) -> Array:
    """Draw level bands."""
    return (np.floor(points[:, 2] / scale) % 2).astype(np.float64)


def _bricks(points: Array, normals: Array, scale: float) -> Array:
    """Draw courses a third as high as a brick is long, every second one shifted by half."""
    first, second = _flat(points, normals)
    course = np.floor(second / (scale / 3))
    shifted = first / scale + 0.5 * (course % 2)
    joint = (np.abs(shifted % 1 - 0.5) > 0.47) | (np.abs((second / (scale / 3)) % 1 - 0.5) > 0.42)
    tone = (np.sin(course * 12.9898 + np.floor(shifted) * 78.233) * 43758.5453) % 1.0
    return np.where(joint, 1.0, 0.35 * tone)


def _facade(points: Array, normals: Array, scale: float) -> Array:
    """Draw windows: one in each square of `scale`, with a cross bar; none on roofs."""
    first, second = _flat(points, normals)
    x, z = (first / scale) % 1, (second / scale) % 1
    is_window = (np.abs(x - 0.5) < 0.3) & (z > 0.25) & (z < 0.85)
    is_bar = (np.abs(x - 0.5) < 0.02) | (np.abs(z - 0.6) < 0.02)
    shade = 0.75 + 0.25 * (
        (np.sin(np.floor(first / scale) * 91.7 + np.floor(second / scale) * 37.1) * 9973.1) % 1
    )
    return np.where(
        (np.abs(normals[:, 2]) < 0.5) & is_window & ~is_bar, shade, 0.12 * noise(points, scale / 2, 2)
    )


def _weave(points: Array, _: Array, scale: float) -> Array:
    """Draw cloth: fine threads and slow variation."""
    threads = np.sin(2 * np.pi * points[:, 0] / scale) * np.sin(
        2 * np.pi * (points[:, 1] + points[:, 2]) / scale
    )
    return np.clip(0.1 + 0.07 * threads + 0.12 * (noise(points, 6 * scale, 2) - 0.5), 0, 1)


def _leaves(points: Array, _: Array, scale: float) -> Array:
    """Draw foliage: clumps of light and dark."""
    return np.clip(1.9 * noise(points, scale, 3) - 0.45, 0, 1)


TEXTURES: Mapping[str, Callable[[Array, Array, float], Array]] = {
    "speckle": _speckle,
    "cloud": _cloud,
    "grain": _grain,
    "planks": _planks,
    "tiles": _tiles,
    "checker": _checker,
    "stripes": _stripes,
    "bands": _bands,
    "bricks": _bricks,
    "facade": _facade,
    "weave": _weave,
    "leaves": _leaves,
}
