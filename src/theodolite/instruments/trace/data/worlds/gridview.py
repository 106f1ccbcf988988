"""Pictures of the grid world from above, with exact boxes."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw

from theodolite.geometry import Box
from theodolite.instruments.trace.data.worlds.gridworld import SIDE, STEPS, Cell, State
from theodolite.instruments.trace.data.worlds.palette import PAINTS, Rgb, blended, shaded

TILE_PX = 28
SIZE_PX = (SIDE * TILE_PX, SIDE * TILE_PX)
_SUPER = 3
THINGS = {"in-distribution": ("ball", "box", "key"), "ood": ("cup", "star", "lamp")}
_Pen = ImageDraw.ImageDraw


def draw_grid(
    state: State, *, blend: float = 0.0, reach: float | None = None
) -> tuple[NDArray[np.uint8], dict[str, Box | None]]:
    """The picture of a moment, and the box of each item; None for what lies in the dark, farther off than `reach` cells."""
    tile = TILE_PX * _SUPER
    canvas = Image.new("RGB", (SIDE * tile, SIDE * tile))
    pen = ImageDraw.Draw(canvas)
    floor = blended((238, 235, 228), (206, 222, 232), blend)
    wall = blended((84, 88, 98), (104, 78, 66), blend)
    for row in range(SIDE):
        for column in range(SIDE):
            _tile(pen, (row, column), floor, wall if (row, column) in state.walls else None)
    boxes: dict[str, Box | None] = {}
    for item in state.items.values():
        if item.id == state.held:
            continue
        patch = icon(item.category, item.colour, state.is_open)
        canvas.paste(patch, (item.cell[1] * tile, item.cell[0] * tile), patch)
        boxes[item.id] = _box(patch, item.cell, 1.0, (0.0, 0.0))
    _agent(pen, state)
    if state.held:
        held = state.items[state.held]
        whole = icon(held.category, held.colour, state.is_open)
        patch = whole.resize((tile // 2, tile // 2), Image.Resampling.LANCZOS)
        place = (state.cell[1] * tile + tile // 4, state.cell[0] * tile + tile // 4)
        pen.ellipse(
            (place[0] - 6, place[1] - 6, place[0] + tile // 2 + 6, place[1] + tile // 2 + 6),
            fill=(255, 255, 255),
        )
        canvas.paste(patch, place, patch)
        boxes[held.id] = _box(whole, state.cell, 0.5, (0.25, 0.25))
    pixels = np.asarray(canvas.resize(SIZE_PX, Image.Resampling.LANCZOS)).astype(float)
    if reach is not None:
        pixels, boxes = _darkened(pixels, boxes, state, reach)
    return pixels.clip(0, 255).astype(np.uint8), boxes


def _darkened(
    pixels: NDArray[np.float64], boxes: dict[str, Box | None], state: State, reach: float
) -> tuple[NDArray[np.float64], dict[str, Box | None]]:
    rows, columns = np.mgrid[:SIDE, :SIDE]
    far = np.maximum(np.abs(rows - state.cell[0]), np.abs(columns - state.cell[1])) > reach
    dark = np.kron(far, np.ones((TILE_PX, TILE_PX), bool))
    pixels[dark] = 34
    lit = {
        i.id: i.id == state.held
        or max(abs(i.cell[0] - state.cell[0]), abs(i.cell[1] - state.cell[1])) <= reach
        for i in state.items.values()
    }
    return pixels, {name: box if lit[name] else None for name, box in boxes.items()}


def _tile(pen: _Pen, cell: Cell, floor: Rgb, wall: Rgb | None) -> None:
    tile = TILE_PX * _SUPER
    x, y = cell[1] * tile, cell[0] * tile
    if wall is None:
        pen.rectangle((x, y, x + tile, y + tile), fill=floor, outline=shaded(floor, 0.88), width=2)
        return
    pen.rectangle((x, y, x + tile, y + tile), fill=wall)
    for k in range(3):
        top = y + k * tile // 3
        pen.line((x, top, x + tile, top), fill=shaded(wall, 0.8), width=3)
        for shift in (0.25, 0.75) if k % 2 else (0.0, 0.5):
            pen.line(
                (x + shift * tile, top, x + shift * tile, top + tile // 3), fill=shaded(wall, 0.8), width=3
            )


def _agent(pen: _Pen, state: State) -> None:
    """An arrow head that points where the agent faces."""
    tile = TILE_PX * _SUPER
    middle = np.array([state.cell[1] + 0.5, state.cell[0] + 0.5]) * tile
    down, right = STEPS[state.facing]
    ahead, side = np.array([right, down]) * tile, np.array([-down, right]) * tile
    corners = (
        middle + 0.42 * ahead,
        middle - 0.36 * ahead + 0.34 * side,
        middle - 0.2 * ahead,
        middle - 0.36 * ahead - 0.34 * side,
    )
    pen.polygon([tuple(map(float, c)) for c in corners], fill=(36, 42, 54), outline=(255, 255, 255))


def _box(patch: Image.Image, cell: Cell, scale: float, shift: tuple[float, float]) -> Box:
    """The box of an icon in a cell, in pixels of the picture."""
    x0, y0, x1, y1 = patch.getchannel("A").getbbox() or (0, 0, *patch.size)
    unit = scale / patch.size[0]
    return Box(
        (cell[1] + shift[0] + x0 * unit) * TILE_PX,
        (cell[0] + shift[1] + y0 * unit) * TILE_PX,
        (cell[1] + shift[0] + x1 * unit) * TILE_PX,
        (cell[0] + shift[1] + y1 * unit) * TILE_PX,
    )


@lru_cache(maxsize=128)
def icon(category: str, colour: str, is_open: bool) -> Image.Image:  # noqa: FBT001 - part of the look
    """A thing on a transparent tile."""
    tile = TILE_PX * _SUPER
    image = Image.new("RGBA", (tile, tile))
    pen = ImageDraw.Draw(image)
    paint = PAINTS[colour]

    def at(*shares: float) -> tuple[float, ...]:
        return tuple(s * tile for s in shares)

    if category == "ball":
        pen.ellipse(at(0.16, 0.16, 0.84, 0.84), fill=paint)
        pen.ellipse(at(0.28, 0.26, 0.48, 0.44), fill=shaded(paint, 1.5))
    elif category == "box":
        pen.rectangle(at(0.14, 0.2, 0.86, 0.84), fill=paint, outline=shaded(paint, 0.6), width=5)
        pen.line(at(0.14, 0.42, 0.86, 0.42), fill=shaded(paint, 0.6), width=5)
        pen.rectangle(at(0.43, 0.36, 0.57, 0.5), fill=shaded(paint, 0.6))
    elif category == "key":
        pen.ellipse(at(0.34, 0.08, 0.7, 0.44), outline=paint, width=11)
        pen.rectangle(at(0.47, 0.42, 0.59, 0.92), fill=paint)
        for y in (0.66, 0.82):
            pen.rectangle(at(0.58, y, 0.76, y + 0.1), fill=paint)
    elif category == "cup":
        pen.ellipse(at(0.56, 0.34, 0.92, 0.68), outline=shaded(paint, 0.8), width=9)
        pen.polygon(at(0.16, 0.22, 0.72, 0.22, 0.64, 0.86, 0.24, 0.86), fill=paint)
        pen.ellipse(at(0.16, 0.14, 0.72, 0.32), fill=shaded(paint, 1.35))
    elif category == "star":
        turns = np.arange(10) * np.pi / 5 - np.pi / 2
        radii = np.where(np.arange(10) % 2 == 0, 0.42, 0.18)
        corners = np.stack([0.5 + radii * np.cos(turns), 0.52 + radii * np.sin(turns)], 1)
        pen.polygon(at(*map(float, corners.ravel())), fill=paint, outline=shaded(paint, 0.7))
    elif category == "lamp":
        pen.ellipse(at(0.28, 0.78, 0.72, 0.92), fill=shaded(paint, 0.6))
        pen.rectangle(at(0.46, 0.48, 0.54, 0.86), fill=shaded(paint, 0.6))
        pen.polygon(at(0.34, 0.1, 0.66, 0.1, 0.84, 0.52, 0.16, 0.52), fill=paint)
    elif is_open:
        pen.rectangle(at(0.0, 0.0, 1.0, 1.0), outline=paint, width=14)
    else:
        pen.rectangle(at(0.0, 0.0, 1.0, 1.0), fill=shaded(paint, 0.75))
        pen.rectangle(at(0.1, 0.1, 0.9, 0.9), fill=paint, outline=shaded(paint, 0.6), width=4)
        pen.ellipse(at(0.66, 0.44, 0.8, 0.58), fill=shaded(paint, 0.4))
    return image
