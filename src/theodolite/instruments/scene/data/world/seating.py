"""Furniture to sit and lie on. Every function takes a random generator and returns parts; front towards +x, standing on z = 0."""

from __future__ import annotations

import numpy as np

from theodolite.instruments.scene.data.render.parts import Material, Part, ball, box, cone, prism, turn_y
from theodolite.instruments.scene.data.world.looks import (
    DARK,
    METAL,
    between,
    cloth,
    linear,
    pick,
    plain,
    textured,
    wood,
)


def bed(rng: np.random.Generator) -> list[Part]:
    """Head at −x, foot at +x."""
    length, width = between(rng, 1.95, 2.1), between(rng, 1.0, 1.8)
    frame = wood(rng)
    linen = plain("#efece4")
    cover = textured(
        pick(rng, ("#4f6d8f", "#8f4f56", "#6a7f5a", "#b7a37a", "#5d5470")), "#e8e4da", "weave", 0.06
    )
    head = -length / 2
    parts = [
        box((0, 0, 0.2), (length, width, 0.2), frame),
        box((head + 0.03, 0, 0.5), (0.06, width + 0.06, 1.0), frame),
        box((length / 2 - 0.02, 0, 0.22), (0.05, width + 0.04, 0.42), frame),
        box((0.02, 0, 0.39), (length - 0.12, width - 0.04, 0.2), linen),
        box((0.28, 0, 0.46), (length - 0.68, width + 0.03, 0.14), cover),
        box((head + 0.62, 0, 0.5), (0.22, width + 0.01, 0.09), linen),
    ]
    n = 2 if width > 1.3 else 1
    for i in range(n):
        y = (i - (n - 1) / 2) * width / 2
        parts.append(ball((head + 0.32, y, 0.55), (0.22, min(0.36, width / n * 0.44), 0.11), linen))
    parts += [
        box((sx * (length / 2 - 0.08), sy * (width / 2 - 0.06), 0.06), (0.07, 0.07, 0.12), frame)
        for sx in (-1, 1)
        for sy in (-1, 1)
    ]
    return parts


def _seat(rng: np.random.Generator, width: float, cushions: int, fabric: Material) -> list[Part]:
    depth, seat = between(rng, 0.82, 0.95), 0.43
    back_height = between(rng, 0.8, 0.92)
    leg = plain("#2a1c12")
    arm = 0.16
    parts = [
        box((0, 0, 0.22), (depth, width, 0.2), fabric),
        box((-depth / 2 + 0.11, 0, (back_height + 0.12) / 2), (0.22, width, back_height - 0.12), fabric),
    ]
    for side in (-1, 1):
        parts.append(box((0, side * (width / 2 - arm / 2), 0.36), (depth, arm, 0.48), fabric))
        parts.append(
            cone(
                (-depth / 2, side * (width / 2 - arm / 2), 0.6), depth, (arm / 2, arm / 2), fabric, (1, 0, 0)
            )
        )
        parts += [
            box((sx * (depth / 2 - 0.07), side * (width / 2 - 0.07), 0.06), (0.06, 0.06, 0.12), leg)
            for sx in (-1, 1)
        ]
    each = (width - 2 * arm) / cushions
    for i in range(cushions):
        y = (i - (cushions - 1) / 2) * each
        parts.append(box((0.1, y, seat - 0.02), (depth - 0.2, each - 0.025, 0.15), fabric))
        parts.append(box((-depth / 2 + 0.27, y, seat + 0.24), (0.14, each - 0.04, 0.4), fabric, turn_y(-9)))
    return parts


def sofa(rng: np.random.Generator) -> list[Part]:
    """Two or three places."""
    seats = int(rng.integers(2, 4))
    fabric = cloth(rng)
    parts = _seat(rng, 0.34 + seats * between(rng, 0.58, 0.66), seats, fabric)
    accent = textured(pick(rng, ("#d8a03a", "#c9c3b6", "#b6453a", "#3a6ea5")), "#f2eee4", "checker", 0.06)
    side = 1 if rng.random() < 0.5 else -1
    parts.append(box((-0.02, side * 0.45, 0.66), (0.13, 0.4, 0.38), accent, turn_y(-20)))
    return parts


def armchair(rng: np.random.Generator) -> list[Part]:
    """One place between two arms."""
    return _seat(rng, between(rng, 0.85, 0.98), 1, cloth(rng))


def chair(rng: np.random.Generator) -> list[Part]:
    """Four legs, a seat, a back with slats."""
    w, d, seat, top = between(rng, 0.42, 0.48), between(rng, 0.42, 0.48), 0.45, between(rng, 0.86, 0.98)
    stuff = (
        wood(rng) if rng.random() < 0.75 else plain(pick(rng, ("#c8c4bc", "#2b2b2e", "#8a1f22")), gloss=0.1)
    )
    leg = 0.045
    parts = [box((0, 0, seat), (d, w, 0.05), stuff)]
    for sy in (-1, 1):
        parts.append(box((d / 2 - leg, sy * (w / 2 - leg / 2), seat / 2), (leg, leg, seat), stuff))
        parts.append(box((-d / 2 + leg / 2, sy * (w / 2 - leg / 2), top / 2), (leg, leg, top), stuff))
        parts.append(box((0, sy * (w / 2 - leg / 2), 0.2), (d - 2 * leg, 0.025, 0.03), stuff))
    parts += [
        box((-d / 2 + leg / 2, 0, z), (0.025, w - leg, 0.07), stuff)
        for z in (top - 0.05, top - 0.2, top - 0.33)
    ]
    if rng.random() < 0.4:
        parts.append(box((0.01, 0, seat + 0.04), (d - 0.06, w - 0.06, 0.04), cloth(rng)))
    return parts


def office_chair(rng: np.random.Generator) -> list[Part]:
    """A star of five castors, a gas spring, a padded seat and back, two arm rests."""
    fabric = cloth(rng, pick(rng, ("#26282c", "#31506e", "#7a2f35", "#3f4a3a")))
    dark = plain(DARK, gloss=0.15)
    parts: list[Part] = [cone((0, 0, 0.09), 0.36, (0.03, 0.03), plain(METAL, gloss=0.3))]
    for k in range(5):
        a = 2 * np.pi * k / 5 + 0.3
        c, s = float(np.cos(a)), float(np.sin(a))
        parts.append(cone((0, 0, 0.1), 0.31, (0.03, 0.02), dark, (c, s, -0.08)))
        parts.append(ball((0.31 * c, 0.31 * s, 0.035), (0.035, 0.035, 0.035), dark))
    parts += [
        box((0, 0, 0.49), (0.5, 0.5, 0.09), fabric),
        box((-0.24, 0, 0.86), (0.08, 0.46, 0.58), fabric, turn_y(-8)),
        box((-0.25, 0, 0.5), (0.05, 0.1, 0.24), dark),
    ]
    for side in (-1, 1):
        parts.append(box((0.0, side * 0.27, 0.7), (0.26, 0.06, 0.04), dark))
        parts.append(box((-0.02, side * 0.27, 0.58), (0.04, 0.04, 0.22), dark))
    return parts


def stool(rng: np.random.Generator) -> list[Part]:
    """A round seat on splayed legs."""
    height, r, stuff = between(rng, 0.45, 0.7), between(rng, 0.16, 0.19), wood(rng)
    parts = [cone((0, 0, height - 0.04), 0.04, (r, r), stuff)]
    for k in range(4):
        a = np.pi / 4 + np.pi / 2 * k
        c, s = float(np.cos(a)), float(np.sin(a))
        foot = np.array([c * (r + 0.03), s * (r + 0.03), 0.0])
        top = np.array([c * r * 0.6, s * r * 0.6, height - 0.04])
        parts.append(cone(foot, float(np.linalg.norm(top - foot)), (0.018, 0.018), stuff, top - foot))
    parts.append(cone((0, 0, height * 0.4), 0.018, (r * 0.95, r * 0.95), stuff))
    return parts


def bench(rng: np.random.Generator) -> list[Part]:
    """A park bench: wooden slats on iron."""
    length = between(rng, 1.5, 1.9)
    slat = textured("#9a6a3c", "#6f4824", "grain", 0.05)
    iron = plain("#23282c", gloss=0.2)
    parts = [box((x, 0, 0.45), (0.09, length, 0.035), slat) for x in (-0.15, -0.04, 0.07, 0.18)]
    parts += [box((-0.24 - 0.25 * (z - 0.5), 0, z), (0.035, length, 0.09), slat) for z in (0.56, 0.68, 0.8)]
    for side in (-1, 1):
        y = side * (length / 2 - 0.15)
        parts += [
            box((0.2, y, 0.22), (0.05, 0.05, 0.44), iron),
            box((-0.2, y, 0.22), (0.05, 0.05, 0.44), iron),
            box((0, y, 0.42), (0.48, 0.05, 0.04), iron),
            box((-0.28, y, 0.64), (0.04, 0.05, 0.44), iron, turn_y(-14)),
            box((0.02, y, 0.63), (0.4, 0.05, 0.035), iron),
            box((0.2, y, 0.53), (0.035, 0.05, 0.2), iron),
        ]
    return parts


def toilet(_: np.random.Generator) -> list[Part]:
    """Bowl, seat, lid up, cistern."""
    china, seat = plain("#f3f4f2", gloss=0.35), plain("#e4e5e3", gloss=0.2)
    return [
        cone((0.05, 0, 0), 0.2, (0.13, 0.15), china),
        ball((0.1, 0, 0.33), (0.27, 0.19, 0.19), china),
        cone((0.08, 0, 0.38), 0.035, (0.2, 0.2), seat),
        ball((0.14, 0, 0.4), (0.25, 0.185, 0.022), seat),
        ball((0.15, 0, 0.418), (0.16, 0.11, 0.012), plain("#54606a")),
        box((-0.12, 0, 0.63), (0.035, 0.36, 0.42), seat, turn_y(-10)),
        box((-0.24, 0, 0.56), (0.18, 0.42, 0.42), china),
        box((-0.24, 0, 0.785), (0.2, 0.44, 0.03), china),
        cone((-0.24, 0, 0.8), 0.02, (0.03, 0.03), plain("#c9ced3", gloss=0.5)),
    ]


def bathtub(rng: np.random.Generator) -> list[Part]:
    """A rim around water, with a tap."""
    length, width, h = between(rng, 1.55, 1.75), between(rng, 0.7, 0.8), 0.56
    china, wall = plain("#f5f5f3", gloss=0.35), 0.07
    steel = plain("#c9ced3", gloss=0.6)
    return [
        box((0, 0, h / 2 - 0.08), (length, width, h - 0.22), china),
        box((0, width / 2 - wall / 2, h / 2 + 0.06), (length, wall, h - 0.12), china),
        box((0, -width / 2 + wall / 2, h / 2 + 0.06), (length, wall, h - 0.12), china),
        box((length / 2 - wall / 2, 0, h / 2 + 0.06), (wall, width, h - 0.12), china),
        box((-length / 2 + wall / 2, 0, h / 2 + 0.06), (wall, width, h - 0.12), china),
        box(
            (0, 0, h - 0.13),
            (length - 2 * wall, width - 2 * wall, 0.02),
            Material(linear("#7fb2c8"), gloss=0.6),
        ),
        cone((-length / 2 + 0.04, 0, h), 0.2, (0.018, 0.018), steel),
        cone((-length / 2 + 0.04, 0, h + 0.19), 0.16, (0.015, 0.012), steel, (1, 0, -0.15)),
        box((-length / 2 + 0.04, 0.1, h + 0.03), (0.03, 0.03, 0.05), steel),
        box((-length / 2 + 0.04, -0.1, h + 0.03), (0.03, 0.03, 0.05), steel),
        prism([(-0.3, 0.0), (0.3, 0.0), (0.3, 0.1), (-0.3, 0.1)], (-0.2, 0.2), china),
    ]
