"""Colours and materials."""

from __future__ import annotations

import numpy as np

from theodolite.worlds.render.parts import Colour, Material

METAL = "#8d9196"
DARK = "#1d1f22"
RUBBER = "#141414"
GLASS = "#1c2730"
CHROME = "#c9ced3"

WOODS = (("#a9713d", "#7c4a22"), ("#c89a62", "#a97842"), ("#6b4226", "#4a2a16"), ("#d9b98a", "#c19c68"))
FABRICS = ("#7a2f35", "#31506e", "#5c6b4b", "#8a8178", "#b08a4e", "#4a4a52", "#2f6f6b", "#9a5a3c")
CAR_PAINTS = (
    "#b3161b",
    "#123a7a",
    "#e9eaec",
    "#1b1c1f",
    "#8f969c",
    "#1f5a3a",
    "#c7a21a",
    "#5a2a6b",
    "#2f7fb5",
)
CLOTHES = ("#2b3a67", "#7d1f2b", "#2e5b3c", "#c9b458", "#444444", "#8c4a8c", "#d8d8d8", "#1f6f8b", "#b5562b")
SKINS = ("#f1c9a5", "#d9a57a", "#a8714a", "#6d4427")
HAIRS = ("#1c1410", "#4a2f1a", "#8a6a3a", "#5a5a5a")


def linear(code: str) -> Colour:
    """Return a colour ``#rrggbb`` as linear light.

    >>> linear("#ffffff")
    (1.0, 1.0, 1.0)
    """
    values = [int(code[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    r, g, b = (v / 12.92 if v <= 0.04045 else ((v + 0.055) / 1.055) ** 2.4 for v in values)
    return r, g, b


def plain(code: str, *, gloss: float = 0.0, glow: float = 0.0) -> Material:
    """Return a material of one colour."""
    return Material(linear(code), gloss=gloss, glow=glow)


def textured(code: str, second: str, texture: str, scale_m: float, *, gloss: float = 0.0) -> Material:
    """Return a material of two colours in a pattern.

    Args:
        code: First colour, ``#rrggbb``.
        second: Second colour.
        texture: Name of the pattern.
        scale_m: Size of its features.
        gloss: Strength of the highlights.
    """
    return Material(linear(code), texture, scale_m, linear(second), gloss=gloss)


def wood(rng: np.random.Generator, scale_m: float = 0.05) -> Material:
    """Return a wood, drawn at random."""
    light, dark = WOODS[int(rng.integers(len(WOODS)))]
    return textured(light, dark, "grain", scale_m, gloss=0.08)


def cloth(rng: np.random.Generator, code: str | None = None) -> Material:
    """Return a fabric."""
    colour = code or FABRICS[int(rng.integers(len(FABRICS)))]
    return textured(colour, "#e8e0d4", "weave", 0.02)


def pick(rng: np.random.Generator, codes: tuple[str, ...]) -> str:
    """Return one of some colours."""
    return codes[int(rng.integers(len(codes)))]


def between(rng: np.random.Generator, low: float, high: float) -> float:
    """Return a random length in a range."""
    return float(rng.uniform(low, high))


WINDOW = plain(GLASS, gloss=0.75)
LAMP = plain("#fdf6dc", glow=0.6)
TAIL = plain("#c4161a", glow=0.45)
"""Of vehicles: glass, head lamps, tail lamps."""
