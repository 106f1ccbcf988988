"""The machines and basins of kitchen and bathroom."""

from __future__ import annotations

import numpy as np

from theodolite.instruments.scene.data.render.parts import Material, Part, box, cone
from theodolite.instruments.scene.data.world.looks import (
    CHROME,
    DARK,
    METAL,
    between,
    linear,
    pick,
    plain,
    textured,
)


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
