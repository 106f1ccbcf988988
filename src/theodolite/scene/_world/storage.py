"""Tables, shelves, cupboards and the machines of a household."""

from __future__ import annotations

import numpy as np

from theodolite.scene._render.parts import Material, Part, box, cone, turn_x
from theodolite.scene._world.looks import CHROME, DARK, METAL, between, linear, pick, plain, textured, wood


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


def refrigerator(rng: np.random.Generator) -> list[Part]:
    """Freezer above, fridge below, long handles."""
    width, depth, h = between(rng, 0.6, 0.72), between(rng, 0.62, 0.7), between(rng, 1.65, 1.85)
    body = plain(pick(rng, ("#e8eaeb", "#b9bec3", "#f2efe6")), gloss=0.25)
    split, bar = h * 0.66, plain("#6a7076", gloss=0.5)
    return [
        box((-0.02, 0, h / 2 + 0.02), (depth - 0.05, width, h - 0.04), body),
        box((depth / 2 - 0.03, 0, split / 2 + 0.035), (0.06, width - 0.005, split - 0.05), body),
        box((depth / 2 - 0.03, 0, (h + split) / 2 + 0.005), (0.06, width - 0.005, h - split - 0.02), body),
        box((depth / 2 - 0.05, 0, split + 0.002), (0.06, width - 0.02, 0.014), plain(DARK)),
        box((depth / 2 + 0.025, width / 2 - 0.07, split - 0.32), (0.03, 0.025, 0.5), bar),
        box((depth / 2 + 0.025, width / 2 - 0.07, split + 0.22), (0.03, 0.025, 0.3), bar),
        box((0, 0, 0.02), (depth - 0.12, width - 0.05, 0.04), plain(DARK)),
    ]


def washing_machine(_: np.random.Generator) -> list[Part]:
    """A round door in a white front, a panel above it."""
    w, d, h = 0.6, 0.58, 0.85
    white, steel = plain("#eef0f0", gloss=0.2), plain(CHROME, gloss=0.5)
    front = d / 2
    return [
        box((0, 0, h / 2), (d, w, h), white),
        cone((front, 0, 0.42), 0.035, (0.21, 0.19), steel, (1, 0, 0)),
        cone((front + 0.03, 0, 0.42), 0.02, (0.16, 0.14), Material(linear("#27404f"), gloss=0.7), (1, 0, 0)),
        box((front + 0.004, 0, h - 0.08), (0.012, w - 0.04, 0.11), plain("#d3d7d9")),
        box((front + 0.01, 0.18, h - 0.08), (0.012, 0.16, 0.07), plain("#c3c8cb")),
        cone((front, -0.05, h - 0.08), 0.035, (0.035, 0.03), plain("#8d9196", gloss=0.4), (1, 0, 0)),
        box(
            (front + 0.01, -0.2, h - 0.08),
            (0.012, 0.12, 0.05),
            plain("#10202a", gloss=0.4),
        ),
        box((front + 0.004, 0, 0.06), (0.01, w - 0.06, 0.02), plain("#b8bcbe")),
    ]


def stove(_: np.random.Generator) -> list[Part]:
    """An oven with a glass door, four knobs, four rings on top."""
    w, d, h = 0.6, 0.6, 0.87
    body, black, steel = plain("#e9e9e7", gloss=0.2), plain("#15171a", gloss=0.45), plain(CHROME, gloss=0.5)
    front = d / 2
    parts = [
        box((0, 0, h / 2), (d, w, h), body),
        box((0, 0, h + 0.008), (d, w, 0.016), black),
        box((front + 0.01, 0, 0.4), (0.03, w - 0.04, 0.46), body),
        box((front + 0.02, 0, 0.4), (0.02, w - 0.16, 0.28), black),
        box((front + 0.05, 0, 0.6), (0.025, w - 0.12, 0.025), steel),
        box((front + 0.006, 0, h - 0.09), (0.02, w - 0.01, 0.12), black),
        box((-d / 2 + 0.02, 0, h + 0.08), (0.04, w, 0.14), body),
    ]
    parts += [
        cone((front, y, h - 0.09), 0.04, (0.026, 0.022), steel, (1, 0, 0)) for y in (-0.21, -0.07, 0.07, 0.21)
    ]
    parts += [
        cone((x, y, h + 0.016), 0.012, (0.085, 0.085), plain("#4a2320"))
        for x in (-0.14, 0.14)
        for y in (-0.14, 0.14)
    ]
    return parts


def microwave(_: np.random.Generator) -> list[Part]:
    """A dark window left, a panel with a knob right."""
    w, d, h = 0.5, 0.36, 0.29
    return [
        box((0, 0, h / 2), (d, w, h), plain("#c9cccf", gloss=0.3)),
        box((d / 2 + 0.003, 0.07, h / 2), (0.015, w - 0.16, h - 0.03), plain("#1a1c20", gloss=0.5)),
        box((d / 2 + 0.008, 0.07, h / 2), (0.015, w - 0.24, h - 0.1), plain("#36404a", gloss=0.6)),
        box((d / 2 + 0.025, -0.1, h / 2), (0.03, 0.02, h - 0.06), plain(CHROME, gloss=0.6)),
        cone((d / 2, -0.18, h * 0.34), 0.025, (0.035, 0.03), plain(METAL, gloss=0.4), (1, 0, 0)),
        box((d / 2 + 0.003, -0.18, h * 0.78), (0.012, 0.09, 0.045), plain("#2fae6a", glow=0.7)),
    ]


def kitchen_counter(rng: np.random.Generator) -> list[Part]:
    """Cupboards under a worktop, with a sink and a tap."""
    n = int(rng.integers(2, 4))
    w, d, h = 0.6 * n, 0.6, 0.9
    front = plain(pick(rng, ("#e6e2d8", "#6f8a86", "#8fa0b2", "#c9b79a")))
    steel = plain(CHROME, gloss=0.6)
    parts = [
        box((0, 0, h / 2 - 0.01), (d - 0.04, w, h - 0.06), front),
        box(
            (0, 0, h - 0.02),
            (d + 0.02, w + 0.02, 0.04),
            textured("#4a4a4c", "#7c7c7e", "speckle", 0.02, gloss=0.2),
        ),
        box((0, 0, 0.04), (d - 0.1, w, 0.08), plain(DARK)),
    ]
    for k in range(n):
        y = (k - (n - 1) / 2) * 0.6
        parts.append(box((d / 2 - 0.015, y, 0.47), (0.02, 0.57, 0.7), front))
        parts.append(box((d / 2 + 0.005, y + 0.2, 0.74), (0.02, 0.1, 0.015), steel))
    y = 0 if n % 2 else 0.3
    parts += [
        box((0.02, y, h - 0.005), (0.4, 0.48, 0.014), steel),
        box((0.02, y, h + 0.001), (0.34, 0.4, 0.006), plain("#5b6166", gloss=0.3)),
        cone((-0.22, y, h), 0.26, (0.014, 0.014), steel),
        cone((-0.22, y, h + 0.25), 0.17, (0.012, 0.012), steel, (1, 0, 0.1)),
    ]
    return parts


def washbasin(_: np.random.Generator) -> list[Part]:
    """A basin on a pedestal, with a tap."""
    china, steel = plain("#f3f4f2", gloss=0.35), plain(CHROME, gloss=0.6)
    return [
        cone((-0.05, 0, 0), 0.68, (0.11, 0.085), china),
        box((0, 0, 0.77), (0.44, 0.56, 0.16), china),
        box((0.03, 0, 0.852), (0.3, 0.42, 0.012), plain("#c3ccd0", gloss=0.4)),
        cone((-0.17, 0, 0.85), 0.14, (0.016, 0.016), steel),
        cone((-0.17, 0, 0.98), 0.13, (0.013, 0.013), steel, (1, 0, -0.1)),
        cone((-0.17, 0.1, 0.85), 0.05, (0.02, 0.02), steel),
        cone((-0.17, -0.1, 0.85), 0.05, (0.02, 0.02), steel),
    ]


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
