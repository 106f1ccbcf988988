"""Tables, shelves, cupboards, and a piano."""

from __future__ import annotations

import numpy as np

from theodolite.instruments.scene.data.render.parts import Material, Part, box, cone, turn_x
from theodolite.instruments.scene.data.world.looks import CHROME, DARK, between, pick, plain, wood


def table(rng: np.random.Generator) -> list[Part]:
    """A dining table: a top on four legs."""
    length, width, h = between(rng, 1.2, 1.9), between(rng, 0.8, 0.95), between(rng, 0.73, 0.77)
    stuff, leg = wood(rng), 0.07
    parts = [box((0, 0, h - 0.02), (length, width, 0.04), stuff)]
    parts.append(box((0, 0, h - 0.08), (length - 0.16, width - 0.16, 0.08), stuff))
    parts += [
        box((sx * (length / 2 - 0.08), sy * (width / 2 - 0.08), h / 2 - 0.02), (leg, leg, h - 0.04), stuff)
        for sx in (-1, 1)
        for sy in (-1, 1)
    ]
    return parts


def coffee_table(rng: np.random.Generator) -> list[Part]:
    """A low table with a shelf under the top."""
    length, width, h = between(rng, 0.9, 1.2), between(rng, 0.5, 0.65), between(rng, 0.4, 0.46)
    stuff = wood(rng)
    parts = [
        box((0, 0, h - 0.02), (length, width, 0.04), stuff),
        box((0, 0, 0.14), (length - 0.1, width - 0.1, 0.025), stuff),
    ]
    parts += [
        box((sx * (length / 2 - 0.05), sy * (width / 2 - 0.05), h / 2), (0.055, 0.055, h - 0.02), stuff)
        for sx in (-1, 1)
        for sy in (-1, 1)
    ]
    return parts


def desk(rng: np.random.Generator) -> list[Part]:
    """A top, drawers on one side, legs on the other. Its user sits at +x."""
    depth, length, h = between(rng, 0.65, 0.78), between(rng, 1.2, 1.6), 0.74
    stuff, knob = wood(rng), plain(CHROME, gloss=0.5)
    y = length / 2 - 0.22
    parts = [
        box((0, 0, h - 0.02), (depth, length, 0.04), stuff),
        box((0, y, (h - 0.04) / 2 + 0.02), (depth - 0.06, 0.4, h - 0.08), stuff),
        box((-depth / 2 + 0.03, -0.2, 0.5), (0.02, length - 0.5, 0.36), stuff),
    ]
    for k in range(3):
        z = 0.16 + k * 0.2
        parts.append(box((depth / 2 - 0.025, y, z), (0.02, 0.36, 0.18), _lighter(stuff)))
        parts.append(box((depth / 2 - 0.005, y, z + 0.03), (0.025, 0.1, 0.018), knob))
    parts += [
        box((sx * (depth / 2 - 0.05), -length / 2 + 0.05, h / 2 - 0.02), (0.05, 0.05, h - 0.04), stuff)
        for sx in (-1, 1)
    ]
    return parts


def _lighter(stuff: Material) -> Material:
    r, g, b = (min(1.0, c * 1.25 + 0.02) for c in stuff.colour)
    return Material((r, g, b), stuff.texture, stuff.scale_m, stuff.second, stuff.gloss)


def bookshelf(rng: np.random.Generator) -> list[Part]:
    """Boards full of books; back against −x."""
    width, depth, shelves = between(rng, 0.75, 1.0), 0.3, int(rng.integers(4, 6))
    pitch = between(rng, 0.33, 0.38)
    h, stuff = shelves * pitch + 0.04, wood(rng)
    parts = [
        box((-depth / 2 + 0.01, 0, h / 2), (0.02, width, h), stuff),
        box((0, width / 2 - 0.0125, h / 2), (depth, 0.025, h), stuff),
        box((0, -width / 2 + 0.0125, h / 2), (depth, 0.025, h), stuff),
    ]
    parts += [box((0, 0, 0.0125 + k * pitch), (depth, width, 0.025), stuff) for k in range(shelves + 1)]
    spines = (
        "#8a1c1c",
        "#1f4e79",
        "#2f6b3a",
        "#c79a2b",
        "#4b2e63",
        "#d9d2c0",
        "#222831",
        "#b5562b",
        "#3b7a8c",
    )
    for k in range(shelves):
        y = -width / 2 + 0.04
        stop = width / 2 - 0.05 - (between(rng, 0.05, 0.3) if rng.random() < 0.5 else 0.0)
        while y < stop:
            thick, tall = between(rng, 0.022, 0.055), between(rng, 0.6, 0.86) * pitch
            parts.append(
                box(
                    (0.02, y + thick / 2, k * pitch + 0.025 + tall / 2),
                    (0.2, thick - 0.003, tall),
                    plain(pick(rng, spines)),
                )
            )
            y += thick
    return parts


def wardrobe(rng: np.random.Generator) -> list[Part]:
    """Two tall doors with handles."""
    width, depth, h = between(rng, 1.0, 1.5), between(rng, 0.55, 0.62), between(rng, 1.9, 2.15)
    stuff = wood(rng, 0.08)
    front, knob = _lighter(stuff), plain(CHROME, gloss=0.5)
    parts = [
        box((0, 0, h / 2 + 0.03), (depth, width, h - 0.06), stuff),
        box((0.01, 0, h - 0.02), (depth + 0.04, width + 0.04, 0.05), stuff),
        box((0, 0, 0.03), (depth - 0.06, width - 0.04, 0.06), plain("#2a1c12")),
    ]
    for side in (-1, 1):
        parts.append(
            box(
                (depth / 2 + 0.005, side * width / 4, h / 2 + 0.02), (0.02, width / 2 - 0.02, h - 0.16), front
            )
        )
        parts.append(
            box((depth / 2 + 0.012, side * width / 4, h * 0.72), (0.015, width / 2 - 0.16, h * 0.36), stuff)
        )
        parts.append(
            box((depth / 2 + 0.012, side * width / 4, h * 0.28), (0.015, width / 2 - 0.16, h * 0.36), stuff)
        )
        parts.append(box((depth / 2 + 0.035, side * 0.05, h * 0.5), (0.025, 0.02, 0.2), knob))
    return parts


def chest_of_drawers(rng: np.random.Generator) -> list[Part]:
    """Drawers one above the other, two knobs each."""
    width, depth, rows = between(rng, 0.7, 1.0), between(rng, 0.42, 0.5), int(rng.integers(3, 5))
    h, stuff = 0.1 + rows * 0.22, wood(rng)
    front, knob = _lighter(stuff), plain(DARK, gloss=0.3)
    parts = [
        box((0, 0, h / 2 + 0.03), (depth, width, h - 0.06), stuff),
        box((0.01, 0, h), (depth + 0.03, width + 0.03, 0.03), stuff),
    ]
    for k in range(rows):
        z = 0.17 + k * 0.22
        parts.append(box((depth / 2 + 0.006, 0, z), (0.02, width - 0.06, 0.195), front))
        parts += [
            cone((depth / 2 + 0.01, s * width / 4, z), 0.03, (0.012, 0.02), knob, (1, 0, 0)) for s in (-1, 1)
        ]
    parts += [
        box((sx * (depth / 2 - 0.04), sy * (width / 2 - 0.04), 0.03), (0.05, 0.05, 0.06), stuff)
        for sx in (-1, 1)
        for sy in (-1, 1)
    ]
    return parts


def piano(_: np.random.Generator) -> list[Part]:
    """Upright: a tall case, a ledge of white and black keys, pedals."""
    black = plain("#17120f", gloss=0.5)
    parts = [
        box((-0.1, 0, 0.6), (0.34, 1.45, 1.2), black),
        box((-0.08, 0, 1.21), (0.42, 1.5, 0.03), black),
        box((0.2, 0, 0.66), (0.32, 1.45, 0.1), black),
        box((0.22, 0, 0.718), (0.16, 1.26, 0.016), plain("#f2efe6")),
    ]
    parts += [
        box((0.18, -0.6 + k * 0.0244 * 1.0, 0.728), (0.09, 0.012, 0.016), plain("#0c0c0c"))
        for k in range(50)
        if k % 7 not in {2, 6}
    ]
    parts += [box((0.3, s * 0.69, 0.31), (0.07, 0.07, 0.62), black) for s in (-1, 1)]
    parts += [
        box((0.1, s * 0.08, 0.06), (0.12, 0.04, 0.015), plain("#c9a23a", gloss=0.6)) for s in (-1, 0, 1)
    ]
    parts.append(box((0.09, 0, 0.92), (0.02, 0.5, 0.28), plain("#efece2"), turn_x(0)))
    return parts
