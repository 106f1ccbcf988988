"""People and trees."""

from __future__ import annotations

import numpy as np

from theodolite.instruments.scene.data.render.parts import Part, ball, box, cone, hull, rod
from theodolite.instruments.scene.data.world.looks import (
    CLOTHES,
    HAIRS,
    SKINS,
    between,
    pick,
    plain,
    textured,
)


def person(rng: np.random.Generator) -> list[Part]:
    """Walking: one leg ahead, the arms against it. Built for 1.72 m and scaled."""
    k = between(rng, 1.55, 1.88) / 1.72
    top, legs = plain(pick(rng, CLOTHES)), plain(pick(rng, ("#22304f", "#2a2a2c", "#5a4a35", "#6b7078")))
    skin, hair, shoe = plain(pick(rng, SKINS)), plain(pick(rng, HAIRS)), plain("#1a1512")
    step = between(rng, 0.06, 0.2)
    parts: list[Part] = []
    for side in (-1, 1):
        s = side * step
        parts += [
            rod((0, side * 0.09, 0.86), (s * 0.55, side * 0.09, 0.47), (0.085, 0.065), legs),
            rod((s * 0.55, side * 0.09, 0.47), (s * 0.8 - 0.03, side * 0.09, 0.08), (0.062, 0.045), legs),
            ball((s * 0.55, side * 0.09, 0.47), (0.064, 0.064, 0.064), legs),
            box((s * 0.8 + 0.04, side * 0.09, 0.04), (0.26, 0.09, 0.08), shoe),
            rod((-0.01, side * 0.21, 1.38), (-s * 0.5, side * 0.25, 1.1), (0.052, 0.042), top),
            rod((-s * 0.5, side * 0.25, 1.1), (-s * 0.8 + 0.08, side * 0.24, 0.87), (0.042, 0.034), top),
            ball((-0.01, side * 0.2, 1.385), (0.07, 0.065, 0.065), top),
            ball((-s * 0.8 + 0.09, side * 0.24, 0.83), (0.045, 0.03, 0.06), skin),
        ]
    parts += [
        hull(
            np.array(
                [
                    [x, y * w, z]
                    for z, w, d in (
                        (0.84, 0.16, 0.1),
                        (1.05, 0.15, 0.1),
                        (1.32, 0.2, 0.11),
                        (1.43, 0.15, 0.08),
                    )
                    for x in (-d, d)
                    for y in (-1, 1)
                ]
            ),
            top,
        ),
        box((0, 0, 0.87), (0.2, 0.33, 0.05), plain("#2b1d12")),
        cone((0, 0, 1.41), 0.1, (0.055, 0.05), skin),
        ball((0.015, 0, 1.58), (0.1, 0.08, 0.125), skin),
        ball((-0.015, 0, 1.615), (0.105, 0.088, 0.105), hair),
        ball((0.115, 0, 1.565), (0.018, 0.014, 0.02), skin),
        *(ball((0.1, s * 0.032, 1.59), (0.012, 0.013, 0.01), plain("#141414")) for s in (-1, 1)),
    ]
    return [_scaled(part, k) for part in parts]


def _scaled(part: Part, k: float) -> Part:
    return Part(
        part.shape,
        part.material,
        part.points * k,
        part.normals,
        part.offsets * k,
        part.axes,
        part.centre * k,
        part.radii * k,
    )


def tree(rng: np.random.Generator) -> list[Part]:
    """A trunk, a few branches, and a crown of overlapping clumps."""
    h = between(rng, 4.0, 6.5)
    bark = textured("#5c432c", "#3a2818", "grain", 0.12)
    dark, light = (("#1f5a25", "#5f9a3a"), ("#2c6a2a", "#86a83c"), ("#7a6a1f", "#c9a23a"))[
        int(rng.integers(3))
    ]
    leaf = textured(dark, light, "leaves", 0.28)
    r = h * 0.26
    parts: list[Part] = [cone((0, 0, 0), h * 0.62, (0.06 + 0.018 * h, 0.05), bark)]
    for k in range(4):
        a = 2.2 * k + 0.4
        parts.append(
            rod(
                (0, 0, h * 0.38),
                (r * 0.6 * float(np.cos(a)), r * 0.6 * float(np.sin(a)), h * 0.6),
                (0.05, 0.025),
                bark,
            )
        )
    n = 16
    for k in range(n):
        a, up = 2.4 * k, (k + 0.5) / n
        out = r * (0.25 + 0.6 * float(np.sin(np.pi * (0.15 + 0.8 * up))))
        size = r * between(rng, 0.42, 0.6)
        parts.append(
            ball(
                (out * float(np.cos(a)), out * float(np.sin(a)), h * (0.46 + 0.42 * up)),
                (size, size, size * 0.85),
                leaf,
            )
        )
    return parts
