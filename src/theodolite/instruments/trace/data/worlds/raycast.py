"""Views from inside a house of square cells: a ray per column finds the wall, furniture is drawn where it is nearer."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from theodolite.geometry import Box
from theodolite.instruments.trace.data.episode import Pose
from theodolite.instruments.trace.data.worlds.palette import Rgb, shaded
from theodolite.instruments.trace.data.worlds.sprites import HEIGHT_M, sprite

SIZE_PX = (320, 240)
VIEW_DEG = 84.0
FOCAL_PX = SIZE_PX[0] / 2 / math.tan(math.radians(VIEW_DEG / 2))
EYE_M, WALL_M = 0.75, 1.5


@dataclass(frozen=True, slots=True)
class House:
    """Cells that are wall, and the colours of what is seen."""

    walls: NDArray[np.bool_]
    """(rows, columns); the cell in row r and column c covers x in c ± ½ and y in −r ± ½."""
    paint: Mapping[tuple[int, int], Rgb]
    """The colour of the walls that face a free cell (row, column)."""
    floor: Rgb = (176, 150, 120)
    ceiling: Rgb = (236, 236, 232)
    fog_m: float = math.inf
    """Beyond this nothing is seen any more."""


@dataclass(frozen=True, slots=True)
class Furniture:
    """A thing that stands in a house."""

    id: str
    category: str
    colour: str
    x_m: float
    y_m: float


def view(
    house: House, pose: Pose, things: Sequence[Furniture]
) -> tuple[NDArray[np.uint8], dict[str, tuple[Box | None, float]]]:
    """The picture from a pose; and for each thing its box and the share of its outline that is seen."""
    width, height = SIZE_PX
    offsets = (np.arange(width) + 0.5 - width / 2) / FOCAL_PX
    turn = math.radians(pose.heading_deg)
    ahead, right = np.array([math.sin(turn), math.cos(turn)]), np.array([math.cos(turn), -math.sin(turn)])
    rays = ahead[None] + offsets[:, None] * right[None]  # (W, 2), depth 1
    depth, paint, shade, along = _cast(house, pose, rays)
    rows = np.arange(height, dtype=np.float64)[:, None] + 0.5 - height / 2
    top, bottom = -(WALL_M - EYE_M) * FOCAL_PX / depth[None], EYE_M * FOCAL_PX / depth[None]
    is_wall = (rows >= top) & (rows <= bottom)
    pixels = np.where(is_wall[..., None], (paint * shade[:, None])[None], _planes(house, pose, rays, rows))
    share = (rows - top) / (bottom - top)
    skirting = is_wall & (share > 0.93)
    pixels[skirting] *= 0.72
    panel = is_wall & (np.abs((along * 2) % 1 - 0.5)[None] > 0.485) & (share <= 0.93)
    pixels[panel] *= 0.9
    distance = np.where(is_wall, depth[None], np.abs(EYE_M * FOCAL_PX / np.where(rows == 0, 0.5, rows)))
    seen, pixels, distance = _furnish(pixels, distance, pose, things, house.fog_m)
    if math.isfinite(house.fog_m):
        clear = np.clip(1.25 - 1.25 * distance / house.fog_m, 0, 1)[..., None]
        pixels = pixels * clear + 205 * (1 - clear)
    return pixels.clip(0, 255).astype(np.uint8), seen


def _cast(
    house: House, pose: Pose, rays: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Per column: depth of the wall, its colour, its light, and where along the wall it was hit."""
    n = len(rays)
    depth, shade, along = np.full(n, 50.0), np.ones(n), np.zeros(n)
    paint = np.zeros((n, 3))
    for i, (dx, dy) in enumerate(rays):
        column, row = round(pose.x_m), round(-pose.y_m)
        step_c, step_r = (1 if dx > 0 else -1), (1 if dy < 0 else -1)
        next_x = (column + 0.5 * step_c - pose.x_m) / dx if abs(dx) > 1e-12 else math.inf
        next_y = (-row - 0.5 * step_r - pose.y_m) / dy if abs(dy) > 1e-12 else math.inf
        gap_x, gap_y = (
            abs(1 / dx) if abs(dx) > 1e-12 else math.inf,
            abs(1 / dy) if abs(dy) > 1e-12 else math.inf,
        )
        while True:
            before = (row, column)
            if next_x < next_y:
                far, next_x, column, is_east = next_x, next_x + gap_x, column + step_c, True
            else:
                far, next_y, row, is_east = next_y, next_y + gap_y, row + step_r, False
            if not (0 <= row < house.walls.shape[0] and 0 <= column < house.walls.shape[1]):
                break
            if house.walls[row, column]:
                depth[i] = max(far, 1e-3)
                along[i] = pose.y_m + far * dy if is_east else pose.x_m + far * dx
                shade[i] = (0.86 if is_east else 1.0) * (0.78 + 0.22 / (1 + 0.12 * far * far))
                paint[i] = house.paint.get(before, (200, 200, 200))
                break
    return depth, paint, shade, along


def _planes(
    house: House, pose: Pose, rays: NDArray[np.float64], rows: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Floor tiles and a plain ceiling, at every pixel."""
    safe = np.where(np.abs(rows) < 0.5, 0.5, np.abs(rows))
    far = EYE_M * FOCAL_PX / safe  # (H, 1)
    x, y = pose.x_m + far * rays[None, :, 0], pose.y_m + far * rays[None, :, 1]
    tile = ((np.floor(x + 0.5) + np.floor(y + 0.5)) % 2)[..., None]
    floor = np.asarray(house.floor, float) * np.where(tile > 0, 1.0, 0.9)
    light = (0.66 + 0.34 / (1 + 0.06 * far * far))[..., None]
    ceiling = np.broadcast_to(np.asarray(house.ceiling, float), floor.shape)
    return np.where(rows[..., None] > 0, floor, ceiling) * light


def _furnish(
    pixels: NDArray[np.float64],
    distance: NDArray[np.float64],
    pose: Pose,
    things: Sequence[Furniture],
    fog_m: float,
) -> tuple[dict[str, tuple[Box | None, float]], NDArray[np.float64], NDArray[np.float64]]:
    """Draws what stands nearer than the wall, the far ones first, and keeps who is seen where."""
    owner = np.full(distance.shape, -1, np.int16)
    whole: dict[str, float] = {}
    turn = math.radians(pose.heading_deg)
    placed = []
    for index, thing in enumerate(things):
        east, north = thing.x_m - pose.x_m, thing.y_m - pose.y_m
        depth = east * math.sin(turn) + north * math.cos(turn)
        side = east * math.cos(turn) - north * math.sin(turn)
        if depth > 0.25:
            placed.append((depth, side, index))
    for depth, side, index in sorted(placed, reverse=True):
        thing = things[index]
        picture = sprite(thing.category, thing.colour)
        size = HEIGHT_M[thing.category] * FOCAL_PX / depth
        left = SIZE_PX[0] / 2 + FOCAL_PX * side / depth - size / 2
        low = SIZE_PX[1] / 2 + EYE_M * FOCAL_PX / depth
        columns = np.arange(max(0, math.floor(left)), min(SIZE_PX[0], math.ceil(left + size)))
        lines = np.arange(max(0, math.floor(low - size)), min(SIZE_PX[1], math.ceil(low)))
        whole[thing.id] = float((picture[..., 3] > 0).mean()) * size * size
        if not len(columns) or not len(lines):
            continue
        u = np.clip(((columns + 0.5 - left) / size * picture.shape[1]).astype(int), 0, picture.shape[1] - 1)
        v = np.clip(
            ((lines + 0.5 - (low - size)) / size * picture.shape[0]).astype(int), 0, picture.shape[0] - 1
        )
        patch = picture[np.ix_(v, u)]
        window = np.ix_(lines, columns)
        mask = (patch[..., 3] > 0) & (distance[window] > depth)
        light = 0.72 + 0.28 / (1 + 0.1 * depth * depth)
        pixels[window] = np.where(mask[..., None], patch[..., :3] * light, pixels[window])
        distance[window] = np.where(mask, depth, distance[window])
        owner[window] = np.where(mask, index, owner[window])
    seen = {}
    for depth, _, index in placed:
        is_lost = depth > 0.85 * fog_m
        seen[things[index].id] = (None, 0.0) if is_lost else _seen(owner == index, whole[things[index].id])
    return {t.id: seen.get(t.id, (None, 0.0)) for t in things}, pixels, distance


def _seen(mask: NDArray[np.bool_], whole: float) -> tuple[Box | None, float]:
    rows, columns = np.nonzero(mask)
    if len(rows) < 12:
        return None, 0.0
    box = Box(float(columns.min()), float(rows.min()), float(columns.max() + 1), float(rows.max() + 1))
    return box, min(1.0, len(rows) / max(whole, 1.0))


def pastel(paint: Rgb) -> Rgb:
    """The colour of a wall: like a thing's, but pale."""
    return shaded(paint, 1.4)
