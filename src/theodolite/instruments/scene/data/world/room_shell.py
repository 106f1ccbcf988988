"""A room without its furniture: floor, walls, ceiling, a window."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from theodolite.geometry import SE3
from theodolite.instruments.scene.data.render.parts import Material, Part, box
from theodolite.instruments.scene.data.render.shade import Solid
from theodolite.instruments.scene.data.world.looks import linear, pick, plain, textured

HEIGHT_M = 2.6


@dataclass(frozen=True, slots=True)
class Room:
    """Its size along x and y, in metres, and where its window is."""

    depth: float
    width: float
    window: tuple[int, float]
    """The wall of the window (1 left, 2 right) and how far in its middle is."""


def room_shell(seed: int, kind: str, room: Room) -> tuple[Solid, ...]:
    """Floor, walls, ceiling, skirting, a window."""
    rng = np.random.default_rng(seed)
    d, w, t = room.depth, room.width, 0.1
    if kind in {"kitchen", "bathroom"}:
        floor = textured(pick(rng, ("#cfc9bd", "#9fb0b5", "#e2ddd2")), "#77726a", "tiles", 0.4, gloss=0.1)
    else:
        light, dark = (("#b98a58", "#7f5630"), ("#8a5c36", "#5a3a20"), ("#cda878", "#9c7648"))[
            int(rng.integers(3))
        ]
        floor = textured(light, dark, "planks", 0.14, gloss=0.08)
    paint = pick(rng, ("#e6dfd0", "#d5dde0", "#dfe2cf", "#e8d8c8", "#cfd6cf"))
    wall = (
        textured(paint, "#ffffff", "speckle", 0.8)
        if kind != "bathroom"
        else textured("#dfe8ea", "#aab6ba", "tiles", 0.3, gloss=0.15)
    )
    board = plain("#f0ece2")
    parts: list[Part] = [
        box((d / 2, 0, -t / 2), (d + 4, w + 4, t), floor),
        box((d + t / 2, 0, HEIGHT_M / 2), (t, w + 0.4, HEIGHT_M), wall),
        box((d / 2 - 1, w / 2 + t / 2, HEIGHT_M / 2), (d + 2, t, HEIGHT_M), wall),
        box((d / 2 - 1, -w / 2 - t / 2, HEIGHT_M / 2), (d + 2, t, HEIGHT_M), wall),
        box((d / 2 - 1, 0, HEIGHT_M + t / 2), (d + 2, w + 0.4, t), plain("#f3f1ea")),
        box((d - 0.008, 0, 0.05), (0.02, w, 0.1), board),
        *(box((d / 2, s * (w / 2 - 0.008), 0.05), (d, 0.02, 0.1), board) for s in (-1, 1)),
    ]
    parts += _window(room)
    return (Solid(tuple(parts), SE3.identity(), 0, casts_shadow=False),)


def _window(room: Room) -> list[Part]:
    """In a side wall: a frame, a cross, and sky."""
    side = 1 if room.window[0] == 1 else -1
    x, y, z = room.window[1], side * room.width / 2, 1.55
    frame, sky = plain("#f7f5ef"), Material(linear("#a9cdec"), "cloud", 0.6, linear("#f6fafc"), glow=0.92)
    return [
        box((x, y, z), (1.3, 0.06, 1.2), frame),
        box((x, y - side * 0.012, z), (1.18, 0.06, 1.08), sky),
        box((x, y - side * 0.02, z), (0.05, 0.06, 1.1), frame),
        box((x, y - side * 0.02, z + 0.05), (1.2, 0.06, 0.05), frame),
        box((x, y - side * 0.05, z - 0.62), (1.4, 0.16, 0.04), frame),
    ]
