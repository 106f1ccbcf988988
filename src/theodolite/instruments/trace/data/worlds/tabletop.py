"""Pictures of shapes on a table, with exact boxes: a pinhole camera, analytic shading, a buffer of who is seen where."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw, ImageFilter

from theodolite.geometry import Box
from theodolite.instruments.trace.data.episode import Pose
from theodolite.instruments.trace.data.worlds.palette import PAINTS, Rgb, blended, shaded

SIZE_PX = (320, 240)
CAMERA = Pose(0.0, -2.6, 4.2, heading_deg=0.0, pitch_deg=-42.0)
FOCAL_PX = 266.0
RADIUS_M = 0.42
SCREEN_HEIGHT_M = 1.5
_SUPER = 2
_RINGS = 41
_LIGHT = np.array([-0.42, -0.3, 0.86])

SHAPES = {"in-distribution": ("ball", "cube", "cylinder"), "ood": ("cone", "pyramid", "barrel")}


@dataclass(frozen=True, slots=True)
class Thing:
    """A shape at a place."""

    id: str
    shape: str
    colour: str
    x_m: float
    y_m: float
    width_m: float = 2 * RADIUS_M
    """Of a screen; all other shapes are of one size."""


@dataclass(frozen=True, slots=True)
class Seen:
    """What a picture shows of a thing."""

    box: Box | None
    share: float
    """Of its whole outline, how much is in the picture and not hidden."""


def project(x_m: float, y_m: float, z_m: float) -> tuple[float, float, float]:
    """A point of the world in pixels, and its depth in metres."""
    pitch = math.radians(CAMERA.pitch_deg)
    ahead, up = y_m - CAMERA.y_m, z_m - CAMERA.z_m
    depth = ahead * math.cos(pitch) + up * math.sin(pitch)
    rise = -ahead * math.sin(pitch) + up * math.cos(pitch)
    return (
        SIZE_PX[0] / 2 + FOCAL_PX * (x_m - CAMERA.x_m) / depth,
        SIZE_PX[1] / 2 - FOCAL_PX * rise / depth,
        depth,
    )


def is_on_picture(x_m: float, y_m: float) -> bool:
    """Whether a thing's middle is within the picture."""
    u, _, _ = project(x_m, y_m, RADIUS_M)
    return 0 <= u <= SIZE_PX[0]


def draw(things: Sequence[Thing], table: Rgb, wall: Rgb) -> tuple[NDArray[np.uint8], dict[str, Seen]]:
    """A picture of things, the far ones first, and what it shows of each."""
    size = SIZE_PX[0] * _SUPER, SIZE_PX[1] * _SUPER
    canvas = _room(size, table, wall)
    _shadows(canvas, things)
    pixels = np.asarray(canvas, np.float64).copy()
    owner = np.full(pixels.shape[:2], -1, np.int16)
    whole = {}
    for index, thing in sorted(enumerate(things), key=lambda pair: -pair[1].y_m):
        window, mask, colour = _shape(thing, size)
        pixels[window][mask] = colour[mask]
        owner[window][mask] = index
        whole[thing.id] = _whole(thing, mask, window, size)
    small = Image.fromarray(pixels.clip(0, 255).astype(np.uint8)).resize(SIZE_PX, Image.Resampling.BOX)
    seen = {t.id: _seen(owner == i, whole[t.id]) for i, t in enumerate(things)}
    return np.asarray(small).copy(), seen


def _seen(mask: NDArray[np.bool_], whole: float) -> Seen:
    rows, columns = np.nonzero(mask)
    if len(rows) < 8:
        return Seen(None, 0.0)
    box = Box(
        float(columns.min()) / _SUPER,
        float(rows.min()) / _SUPER,
        float(columns.max() + 1) / _SUPER,
        float(rows.max() + 1) / _SUPER,
    )
    return Seen(box, min(1.0, len(rows) / max(1.0, whole)))


def _room(size: tuple[int, int], table: Rgb, wall: Rgb) -> Image.Image:
    return _empty_room(size, table, wall).copy()


@lru_cache(maxsize=8)
def _empty_room(size: tuple[int, int], table: Rgb, wall: Rgb) -> Image.Image:
    """A wall, and a table whose planks run into the depth."""
    rows = np.linspace(0, 1, size[1])[:, None, None]
    light = 1.06 - 0.22 * np.abs(np.linspace(-1, 1, size[0]))[None, :, None] ** 2
    pixels = np.asarray(wall, float) * (0.86 + 0.2 * rows) * light
    canvas = Image.fromarray(pixels.clip(0, 255).astype(np.uint8))
    pen = ImageDraw.Draw(canvas)
    plank = 0.8
    for k in range(-14, 14):
        corners = [(k * plank, 4.7), ((k + 1) * plank, 4.7), ((k + 1) * plank, -0.9), (k * plank, -0.9)]
        tone = 1.0 + 0.05 * math.sin(2.3 * k)
        paint = tuple(min(255, round(c * tone)) for c in table)
        pen.polygon([_at(x, y, 0.0) for x, y in corners], fill=paint)
        pen.line([_at(k * plank, 4.7, 0.0), _at(k * plank, -0.9, 0.0)], fill=shaded(table, 0.82), width=2)
    edge = [_at(x, y, z) for x, y, z in ((-12, 4.7, 0), (12, 4.7, 0), (12, 4.7, 0.06), (-12, 4.7, 0.06))]
    pen.polygon(edge, fill=shaded(table, 0.7))
    return canvas


def _at(x: float, y: float, z: float) -> tuple[float, float]:
    u, v, _ = project(x, y, z)
    return u * _SUPER, v * _SUPER


def _shadows(canvas: Image.Image, things: Sequence[Thing]) -> None:
    layer = Image.new("L", canvas.size, 0)
    pen = ImageDraw.Draw(layer)
    for thing in things:
        if thing.shape == "screen":
            half = thing.width_m / 2
            corners = [(-half, 0.0), (half, 0.0), (half + 0.5, 0.75), (-half + 0.5, 0.75)]
            pen.polygon([_at(thing.x_m + x, thing.y_m + y, 0.0) for x, y in corners], fill=95)
            continue
        ring = [
            _at(
                thing.x_m + 0.16 + 1.05 * RADIUS_M * math.cos(a),
                thing.y_m + 0.14 + 0.9 * RADIUS_M * math.sin(a),
                0.0,
            )
            for a in np.linspace(0, 2 * math.pi, 28)
        ]
        pen.polygon(ring, fill=130)
    soft = layer.filter(ImageFilter.GaussianBlur(5))
    canvas.paste(Image.new("RGB", canvas.size, (28, 24, 30)), (0, 0), soft)


_Window: TypeAlias = tuple[slice, slice]
_Patch: TypeAlias = tuple[_Window, NDArray[np.bool_], NDArray[np.float64]]
"""Rows and columns, which of their pixels a thing covers, and its colours there."""


def _shape(thing: Thing, size: tuple[int, int]) -> _Patch:
    paint = np.asarray(PAINTS[thing.colour], float)
    if thing.shape == "ball":
        return _ball(thing, paint, size)
    if thing.shape in {"cube", "pyramid", "screen"}:
        return _faceted(thing, size)
    return _round(thing, paint, size)


def _whole(thing: Thing, mask: NDArray[np.bool_], window: _Window, size: tuple[int, int]) -> float:
    """How many pixels a thing would cover, were it not cut off by the picture's edge.

    Where it is cut off, those of the same thing in the middle of the picture, at the same depth.
    """
    columns = np.flatnonzero(mask.any(axis=0)) + window[1].start
    if len(columns) and columns[0] > 0 and columns[-1] < size[0] - 1:
        return float(mask.sum())
    return float(_shape(replace(thing, x_m=CAMERA.x_m), size)[1].sum())


def _grid(thing: Thing, size: tuple[int, int]) -> tuple[_Window, NDArray[np.float64], NDArray[np.float64]]:
    """The pixels round a thing: their rows and columns as slices, and as numbers (x, y)."""
    u, v, depth = project(thing.x_m, thing.y_m, RADIUS_M)
    reach = 2.2 * FOCAL_PX * RADIUS_M / depth * _SUPER
    left, right = (int(np.clip(u * _SUPER + side * reach, 0, size[0])) for side in (-1, 1))
    top, bottom = (int(np.clip(v * _SUPER + side * reach, 0, size[1])) for side in (-1, 1))
    rows, columns = np.mgrid[top:bottom, left:right]
    return (slice(top, bottom), slice(left, right)), columns.astype(float), rows.astype(float)


def _ball(thing: Thing, paint: NDArray[np.float64], size: tuple[int, int]) -> _Patch:
    u, v, depth = project(thing.x_m, thing.y_m, RADIUS_M)
    radius = FOCAL_PX * RADIUS_M / depth * _SUPER
    window, columns, rows = _grid(thing, size)
    x, y = (columns - u * _SUPER) / radius, (rows - v * _SUPER) / radius
    inside = x * x + y * y < 1
    z = np.sqrt(np.clip(1 - x * x - y * y, 0, 1))
    light = np.clip(-0.5 * x - 0.62 * y + 0.62 * z, 0, None)
    shine = np.clip(-0.42 * x - 0.56 * y + 0.72 * z, 0, 1) ** 28
    colour = paint * (0.36 + 0.72 * light)[..., None] + 190 * shine[..., None]
    return window, inside, colour


def _faceted(thing: Thing, size: tuple[int, int]) -> _Patch:
    """Polygons whose fronts are seen, the far ones first."""
    colour = Image.new("RGB", size)
    mask = Image.new("1", size)
    pens = ImageDraw.Draw(colour), ImageDraw.Draw(mask)
    for corners in _faces(thing):
        points = np.asarray(corners)
        normal = np.cross(points[1] - points[0], points[2] - points[0])
        eye = np.array([CAMERA.x_m, CAMERA.y_m, CAMERA.z_m]) - points[0]
        if normal @ eye <= 0:
            continue
        light = 0.5 + 0.58 * max(0.0, float(normal @ _LIGHT) / float(np.linalg.norm(normal)))
        outline = [_at(*map(float, p)) for p in points]
        paint = shaded(PAINTS[thing.colour], light)
        pens[0].polygon(outline, fill=paint, outline=shaded(paint, 0.8))
        pens[1].polygon(outline, fill=1, outline=1)
    everywhere = slice(0, size[1]), slice(0, size[0])
    return everywhere, np.asarray(mask), np.asarray(colour, np.float64)


def _faces(thing: Thing) -> list[list[tuple[float, float, float]]]:
    """Corners of each face, counter-clockwise as seen from outside."""
    x, y = thing.x_m, thing.y_m
    if thing.shape == "screen":
        h, d, top = thing.width_m / 2, 0.06, SCREEN_HEIGHT_M
    else:
        h = d = RADIUS_M * 0.88
        top = 2 * h
    low = [(x - h, y - d, 0.0), (x + h, y - d, 0.0), (x + h, y + d, 0.0), (x - h, y + d, 0.0)]
    if thing.shape == "pyramid":
        tip = (x, y, 2.3 * h)
        return [[low[i], low[(i + 1) % 4], tip] for i in (2, 1, 3, 0)]
    high = [(a, b, top) for a, b, _ in low]
    sides = [[low[i], low[(i + 1) % 4], high[(i + 1) % 4], high[i]] for i in (2, 1, 3, 0)]
    return [*sides, high]


def _round(thing: Thing, paint: NDArray[np.float64], size: tuple[int, int]) -> _Patch:
    """A cylinder, a barrel or a cone: stacked rings, so that its outline and shading follow the perspective."""
    height = {"cylinder": 1.9, "barrel": 2.0, "cone": 2.3}[thing.shape] * RADIUS_M
    window, columns, rows = _grid(thing, size)
    across = np.zeros(rows.shape)
    light = np.ones(rows.shape)
    inside = np.zeros(rows.shape, bool)
    for share in np.linspace(0, 1, _RINGS):
        u, v, depth = project(thing.x_m, thing.y_m, height * share)
        radius = FOCAL_PX * 0.92 * RADIUS_M * _girth(thing.shape, share) / depth * _SUPER
        flat = radius * math.sin(-math.radians(CAMERA.pitch_deg))
        x, y = (columns - u * _SUPER) / radius, (rows - v * _SUPER) / flat
        ring = x * x + y * y <= 1
        across[ring] = x[ring]
        is_hoop = thing.shape == "barrel" and min(abs(share - 0.25), abs(share - 0.75)) < 0.04
        light[ring] = 0.6 if is_hoop else 1.0
        inside |= ring
    light *= 0.42 + 0.62 * np.clip(0.82 - np.abs(across + 0.38), 0, 1)
    if thing.shape != "cone":
        light[ring] = 1.05
    return window, inside, paint * light[..., None]


def _girth(shape: str, share: float) -> float:
    """How wide a round shape is at a share of its height."""
    if shape == "barrel":
        return 0.8 + 0.24 * math.sin(math.pi * share)
    return 1.02 - 0.98 * share if shape == "cone" else 1.0


def style_of(blend: float) -> tuple[Rgb, Rgb]:
    """Table and wall, from oak under a pale wall to slate under a dark one: what an irrelevant edit changes."""
    return blended((203, 164, 116), (120, 150, 158), blend), blended((226, 224, 218), (86, 92, 118), blend)
