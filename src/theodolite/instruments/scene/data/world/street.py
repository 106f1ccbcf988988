"""What stands along a street."""

from __future__ import annotations

import numpy as np

from theodolite.instruments.scene.data.render.parts import (
    Material,
    Part,
    ball,
    box,
    cone,
    hull,
    rod,
    turn_x,
    turn_y,
)
from theodolite.instruments.scene.data.world.looks import DARK, METAL, between, linear, pick, plain, textured


def traffic_cone(_: np.random.Generator) -> list[Part]:
    """Orange with two white bands, on a square foot."""
    orange, white = plain("#f2580f"), plain("#f4f2ec")
    h, r0, r1 = 0.72, 0.15, 0.03

    def ring(low: float, high: float, m: Material) -> Part:
        a, b = (r0 + (r1 - r0) * z / (h - 0.04) for z in (low, high))
        return cone((0, 0, 0.04 + low), high - low, (a, b), m)

    return [
        box((0, 0, 0.02), (0.4, 0.4, 0.04), plain("#2a2a2c")),
        ring(0.0, 0.2, orange),
        ring(0.2, 0.33, white),
        ring(0.33, 0.43, orange),
        ring(0.43, 0.53, white),
        ring(0.53, 0.68, orange),
    ]


def barrier(_: np.random.Generator) -> list[Part]:
    """A striped board on two feet, with a lamp: road works."""
    parts = [box((0, 0, z), (0.04, 2.0, 0.25), plain("#f2f0ea")) for z in (0.85, 0.45)]
    for z in (0.85, 0.45):
        for k in range(5):
            y = -0.8 + 0.4 * k
            corners = np.array(
                [
                    [x, y + off + 0.1 * up, z + 0.125 * up]
                    for x in (-0.024, 0.024)
                    for off in (-0.1, 0.1)
                    for up in (-1, 1)
                ]
            )
            parts.append(hull(np.clip(corners, [-1, -1.0, 0], [1, 1.0, 9]), plain("#c4161a")))
    for side in (-1, 1):
        parts.append(box((0, side * 0.85, 0.5), (0.06, 0.06, 1.0), plain("#d8d8d4")))
        parts.append(box((0, side * 0.85, 0.05), (0.7, 0.16, 0.1), plain("#3a3a3c")))
        parts.append(cone((0, side * 0.85, 1.0), 0.06, (0.05, 0.05), plain(DARK)))
        parts.append(ball((0, side * 0.85, 1.11), (0.06, 0.09, 0.09), plain("#f5a51a", glow=0.7)))
    return parts


def street_lamp(rng: np.random.Generator) -> list[Part]:
    """A pole, an arm over the road (towards +x), a lantern."""
    h = between(rng, 4.6, 5.6)
    iron = plain("#3c4347", gloss=0.25)
    return [
        cone((0, 0, 0), 0.4, (0.14, 0.1), iron),
        cone((0, 0, 0.35), h - 0.35, (0.07, 0.05), iron),
        rod((0, 0, h - 0.1), (0.5, 0, h + 0.2), (0.045, 0.04), iron),
        rod((0.5, 0, h + 0.2), (1.1, 0, h + 0.22), (0.04, 0.04), iron),
        box((1.25, 0, h + 0.2), (0.6, 0.26, 0.12), iron),
        box((1.25, 0, h + 0.135), (0.5, 0.2, 0.03), plain("#fff3cf", glow=0.9)),
    ]


def traffic_light(rng: np.random.Generator) -> list[Part]:
    """Red, amber and green on a pole; faces +x. One of them is lit."""
    iron, black = plain("#4a5054", gloss=0.2), plain("#15171a")
    lit = int(rng.integers(3))
    colours = (("#ff2a1f", "#571410"), ("#ffb31f", "#5a4010"), ("#2bff5a", "#0f4a20"))
    parts = [
        cone((0, 0, 0), 3.0, (0.06, 0.05), iron),
        box((0.06, 0, 2.65), (0.22, 0.34, 1.0), black),
        box((0.0, 0, 2.65), (0.02, 0.5, 1.16), plain("#0e0f10")),
    ]
    for k, (bright, dull) in enumerate(colours):
        z = 2.97 - 0.32 * k
        face = plain(bright, glow=1.0) if k == lit else plain(dull)
        parts.append(cone((0.16, 0, z), 0.025, (0.12, 0.12), face, (1, 0, 0)))
        parts.append(box((0.26, 0, z + 0.125), (0.18, 0.24, 0.015), black))
    return parts


def stop_sign(_: np.random.Generator) -> list[Part]:
    """A red octagon with a white rim and bar; faces +x."""
    z, r = 2.2, 0.38
    angles = np.radians(22.5 + 45 * np.arange(8))

    def plate(radius: float, x: float, m: Material) -> Part:
        return hull(
            np.array(
                [[px, radius * np.sin(a), z + radius * np.cos(a)] for px in (x, x + 0.01) for a in angles]
            ),
            m,
        )

    white = plain("#f6f5f0")
    parts = [
        cone((-0.03, 0, 0), z + 0.3, (0.035, 0.035), plain(METAL)),
        plate(r, 0.0, white),
        plate(r - 0.035, 0.008, plain("#c0141c")),
    ]
    parts += _letters(0.02, z, white)
    return parts


def _letters(x: float, z: float, white: Material) -> list[Part]:
    """STOP, in strokes; read from +x, so the first letter is at the smallest y."""
    strokes = {
        "S": ((0, 1, 1, 1), (0, 0.5, 1, 0.5), (0, 0, 1, 0), (0, 0.5, 0, 1), (1, 0, 1, 0.5)),
        "T": ((0, 1, 1, 1), (0.5, 0, 0.5, 1)),
        "O": ((0, 0, 1, 0), (0, 1, 1, 1), (0, 0, 0, 1), (1, 0, 1, 1)),
        "P": ((0, 0, 0, 1), (0, 1, 1, 1), (0, 0.5, 1, 0.5), (1, 0.5, 1, 1)),
    }
    parts = []
    for k, letter in enumerate("STOP"):
        left = 0.13 * k - 0.24
        for x0, z0, x1, z1 in strokes[letter]:
            y0, y1 = left + 0.09 * x0, left + 0.09 * x1
            low, high = z - 0.095 + 0.19 * z0, z - 0.095 + 0.19 * z1
            size = (0.008, abs(y1 - y0) + 0.025, abs(high - low) + 0.025)
            parts.append(box((x, (y0 + y1) / 2, (low + high) / 2), size, white))
    return parts


def fire_hydrant(_: np.random.Generator) -> list[Part]:
    """Red: a barrel, a dome, two side outlets and one in front."""
    red = plain("#c4201a", gloss=0.3)
    return [
        cone((0, 0, 0), 0.07, (0.17, 0.17), red),
        cone((0, 0, 0.07), 0.48, (0.115, 0.115), red),
        cone((0, 0, 0.53), 0.05, (0.15, 0.15), red),
        ball((0, 0, 0.58), (0.12, 0.12, 0.13), red),
        cone((0, 0, 0.69), 0.06, (0.035, 0.03), plain("#d8b31a")),
        *(cone((0, s * 0.1, 0.42), 0.1, (0.055, 0.055), red, (0, s, 0)) for s in (-1, 1)),
        *(cone((0, s * 0.19, 0.42), 0.04, (0.065, 0.06), plain("#d8b31a"), (0, s, 0)) for s in (-1, 1)),
        cone((0.09, 0, 0.38), 0.1, (0.075, 0.075), red, (1, 0, 0)),
        cone((0.18, 0, 0.38), 0.03, (0.085, 0.08), plain("#d8b31a"), (1, 0, 0)),
    ]


def wheelie_bin(rng: np.random.Generator) -> list[Part]:
    """A tapered bin with a lid, a handle and two wheels at the back."""
    body = plain(pick(rng, ("#2f6b3a", "#2a4f8a", "#4a4d50", "#6b4a2a")), gloss=0.15)
    lid = plain(pick(rng, ("#1e3f25", "#1d2f52", "#222426", "#d8b31a")), gloss=0.15)
    corners = np.array(
        [[x, y, z] for z, w, d in ((0.08, 0.21, 0.22), (0.95, 0.28, 0.33)) for x in (-d, d) for y in (-w, w)]
    )
    return [
        hull(corners, body),
        box((0, 0, 0.92), (0.7, 0.6, 0.07), body),
        hull(
            np.array(
                [
                    [x, y, z]
                    for x, z in ((-0.36, 0.955), (0.38, 0.955), (0.34, 1.0), (-0.3, 1.07))
                    for y in (-0.31, 0.31)
                ]
            ),
            lid,
        ),
        cone((-0.4, -0.26, 0.98), 0.52, (0.02, 0.02), lid, (0, 1, 0)),
        *(
            cone((-0.22, s * 0.23 - 0.03, 0.1), 0.06, (0.1, 0.1), plain("#151515"), (0, 1, 0))
            for s in (-1, 1)
        ),
        box((0.3, 0, 0.62), (0.02, 0.2, 0.14), plain("#e8e8e2"), turn_y(-7)),
    ]


def bus_stop(_: np.random.Generator) -> list[Part]:
    """A shelter: a roof, glass at the back and one end, a bench, a sign. Opens towards +x."""
    iron, glass = plain("#3f474c", gloss=0.3), Material(linear("#9db8c2"), gloss=0.6)
    return [
        box((0, 0, 2.45), (1.5, 3.6, 0.09), iron),
        box((-0.68, 0, 1.3), (0.03, 3.4, 1.9), glass),
        box((-0.1, 1.72, 1.3), (1.1, 0.03, 1.9), glass),
        box((-0.45, -0.3, 0.48), (0.36, 2.2, 0.05), textured("#9a6a3c", "#6f4824", "grain", 0.06)),
        *(box((-0.45, y, 0.24), (0.3, 0.05, 0.48), iron) for y in (-1.2, 0.6)),
        *(cone((x, y, 0), 2.45, (0.04, 0.04), iron) for x in (-0.68, 0.6) for y in (-1.7, 1.7)),
        cone((0.7, -2.0, 0), 2.9, (0.035, 0.035), iron),
        cone((0.72, -2.0, 2.75), 0.03, (0.26, 0.26), plain("#1f8a3f"), (1, 0, 0)),
        cone((0.745, -2.0, 2.75), 0.01, (0.2, 0.2), plain("#f2c81a"), (1, 0, 0)),
        box((0.1, 1.745, 1.4), (0.7, 0.02, 1.1), plain("#d85a2a")),
        box((0.1, 1.76, 1.55), (0.5, 0.02, 0.5), plain("#f2e6c9"), turn_x(0)),
    ]
