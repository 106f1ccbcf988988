"""Builders of the contents of streets: vehicles, people, trees, street furniture."""

from __future__ import annotations

import numpy as np

from theodolite.worlds.looks import (
    CAR_PAINTS,
    CHROME,
    CLOTHES,
    DARK,
    HAIRS,
    LAMP,
    METAL,
    RUBBER,
    SKINS,
    TAIL,
    WINDOW,
    between,
    linear,
    pick,
    plain,
    textured,
)
from theodolite.worlds.render.parts import Material, Part, ball, box, cone, hull, prism, rod, turn_x, turn_y

# People and trees.


def person(rng: np.random.Generator) -> list[Part]:
    """Build a walking person: one leg ahead, the arms against it. Modelled at 1.72 m, then scaled."""
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
    """Build a trunk, a few branches, and a crown of overlapping clumps."""
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


# Street furniture.


def traffic_cone(_: np.random.Generator) -> list[Part]:
    """Build an orange cone with two white bands, on a square foot."""
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
    """Build a striped board on two feet, with a lamp: road works."""
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
    """Build a pole, an arm over the road (towards +x), a lantern."""
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
    """Build red, amber and green lamps on a pole; faces +x. One of them is lit."""
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
    """Build a red octagon with a white rim and bar; faces +x."""
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
    """Build STOP in strokes; read from +x, so the first letter is at the smallest y."""
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
    """Build a red barrel with a dome, two side outlets and one in front."""
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
    """Build a tapered bin with a lid, a handle and two wheels at the back."""
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
    """Build a shelter: a roof, glass at the back and one end, a bench, a sign. Opens towards +x."""
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


# Bicycles and motorcycles. Front towards +x, standing on z = 0.


def _rim(x: float, radius: float, thick: float) -> list[Part]:
    """Build a spoked wheel in the x–z plane, its tyre made of short pieces."""
    parts: list[Part] = []
    n = 22
    for k in range(n):
        a, b = 2 * np.pi * k / n, 2 * np.pi * (k + 1) / n
        one, two = (
            np.array([x + (radius - thick) * np.cos(t), 0.0, radius + (radius - thick) * np.sin(t)])
            for t in (a, b)
        )
        parts.append(
            cone(one, float(np.linalg.norm(two - one)) * 1.05, (thick, thick), plain(RUBBER), two - one)
        )
        if k % 3 == 0:
            hub = np.array([x, 0.0, radius])
            parts.append(cone(hub, radius - thick, (0.004, 0.004), plain(CHROME), one - hub))
    parts.append(cone((x, -0.04, radius), 0.08, (0.035, 0.035), plain(METAL), (0, 1, 0)))
    return parts


def bicycle(rng: np.random.Generator) -> list[Part]:
    """Build two spoked wheels, a diamond frame, saddle and handlebar."""
    paint = plain(pick(rng, ("#b3161b", "#1d4f91", "#2f7a45", "#d98a1a", "#1b1c1f")), gloss=0.4)
    dark = plain(DARK)
    back, front, pedal, seat, head = (
        (-0.52, 0, 0.34),
        (0.54, 0, 0.34),
        (-0.08, 0, 0.29),
        (-0.2, 0, 0.86),
        (0.36, 0, 0.86),
    )
    parts = [
        rod(back, pedal, (0.014, 0.014), paint),
        rod(back, seat, (0.012, 0.012), paint),
        rod(pedal, seat, (0.018, 0.018), paint),
        rod(pedal, (0.4, 0, 0.74), (0.02, 0.02), paint),
        rod(seat, head, (0.018, 0.018), paint),
        rod(front, (0.33, 0, 0.98), (0.018, 0.018), paint),
        rod(seat, (-0.22, 0, 0.95), (0.014, 0.014), plain(CHROME, gloss=0.4)),
        ball((-0.22, 0, 0.97), (0.14, 0.07, 0.035), dark),
        rod((0.33, 0, 0.98), (0.33, 0, 1.04), (0.014, 0.014), plain(CHROME, gloss=0.4)),
        rod((0.33, -0.29, 1.05), (0.33, 0.29, 1.05), (0.013, 0.013), plain(CHROME, gloss=0.4)),
        rod((0.24, 0.29, 1.05), (0.35, 0.29, 1.05), (0.018, 0.018), dark),
        rod((0.24, -0.29, 1.05), (0.35, -0.29, 1.05), (0.018, 0.018), dark),
        cone((-0.08, -0.05, 0.29), 0.03, (0.09, 0.09), plain(METAL), (0, 1, 0)),
        rod((-0.08, 0.06, 0.29), (0.06, 0.06, 0.2), (0.01, 0.01), plain(METAL)),
        rod((-0.08, -0.06, 0.29), (-0.22, -0.06, 0.38), (0.01, 0.01), plain(METAL)),
        box((0.07, 0.1, 0.2), (0.09, 0.08, 0.02), dark),
        box((-0.23, -0.1, 0.38), (0.09, 0.08, 0.02), dark),
    ]
    return parts + _rim(-0.52, 0.34, 0.019) + _rim(0.54, 0.34, 0.019)


def motorcycle(rng: np.random.Generator) -> list[Part]:
    """Build fat wheels, an engine block, a tank, a long saddle and an exhaust."""
    paint = plain(pick(rng, ("#b3161b", "#1d3f91", "#1b1c1f", "#d9751a")), gloss=0.5)
    steel, dark = plain(CHROME, gloss=0.6), plain(DARK)
    parts: list[Part] = []
    for x in (-0.7, 0.72):
        parts.append(cone((x, -0.07, 0.31), 0.14, (0.31, 0.31), plain(RUBBER), (0, 1, 0)))
        parts.append(cone((x, -0.075, 0.31), 0.15, (0.2, 0.2), plain("#9aa0a5", gloss=0.4), (0, 1, 0)))
        parts.append(cone((x, -0.08, 0.31), 0.16, (0.06, 0.06), dark, (0, 1, 0)))
    parts += [
        box((0.02, 0, 0.42), (0.46, 0.3, 0.34), plain("#565b60", gloss=0.4)),
        *(box((0.05, 0, 0.48 + k * 0.045), (0.3, 0.36, 0.02), steel) for k in range(4)),
        ball((0.14, 0, 0.8), (0.33, 0.16, 0.16), paint),
        prism([(-0.72, 0.78), (-0.1, 0.72), (-0.05, 0.8), (-0.35, 0.85), (-0.75, 0.9)], (-0.13, 0.13), dark),
        prism([(-0.95, 0.68), (-0.45, 0.6), (-0.4, 0.76), (-0.95, 0.82)], (-0.1, 0.1), paint),
        *(rod((0.72, s * 0.1, 0.31), (0.5, s * 0.1, 0.95), (0.025, 0.025), steel) for s in (-1, 1)),
        *(rod((-0.7, s * 0.1, 0.31), (-0.35, s * 0.12, 0.72), (0.022, 0.022), steel) for s in (-1, 1)),
        box((0.5, 0, 0.95), (0.08, 0.26, 0.06), dark),
        cone((0.56, 0, 0.86), 0.12, (0.1, 0.09), LAMP, (1, 0, 0)),
        rod((0.42, -0.38, 1.06), (0.45, 0.38, 1.06), (0.018, 0.018), dark),
        *(cone((0.43, s * 0.33, 1.07), 0.14, (0.006, 0.006), steel, (0, s * 0.4, 1)) for s in (-1, 1)),
        *(ball((0.43, s * 0.4, 1.22), (0.02, 0.07, 0.05), dark) for s in (-1, 1)),
        rod((0.1, -0.2, 0.26), (-0.85, -0.2, 0.36), (0.05, 0.05), steel),
        prism([(0.42, 0.6), (0.98, 0.5), (0.95, 0.66), (0.6, 0.7)], (-0.07, 0.07), paint),
        box((-0.97, 0, 0.72), (0.04, 0.16, 0.07), TAIL),
        box((0.1, 0, 0.25), (0.4, 0.24, 0.06), dark, turn_y(0)),
        prism(
            [(0.55, 1.0), (0.58, 1.0), (0.48, 1.22), (0.45, 1.22)],
            (-0.14, 0.14),
            Material(linear("#8fb2c4"), gloss=0.7),
            taper=0.7,
        ),
    ]
    return parts


# Cars, vans, trucks and buses. Front towards +x, standing on z = 0.


def _wheels(xs: tuple[float, ...], half: float, radius: float, thick: float = 0.2) -> list[Part]:
    """Build tyres with hubs, on both sides, flush with the flank at y = ±half."""
    parts: list[Part] = []
    for x in xs:
        for side in (-1, 1):
            inner = side * (half - thick)
            parts.append(cone((x, inner, radius), thick, (radius, radius), plain(RUBBER), (0, side, 0)))
            parts.append(
                cone(
                    (x, side * half, radius),
                    0.012,
                    (radius * 0.62, radius * 0.58),
                    plain(CHROME, gloss=0.5),
                    (0, side, 0),
                )
            )
            parts.append(
                cone(
                    (x, side * half, radius), 0.02, (radius * 0.18, radius * 0.15), plain(DARK), (0, side, 0)
                )
            )
    return parts


def _ends(length: float, width: float, z_front: float, z_back: float) -> list[Part]:
    """Build head and tail lamps, grille and number plates."""
    x, y = length / 2, width / 2 - 0.24
    parts = [box((x - 0.02, s * y, z_front), (0.08, 0.32, 0.13), LAMP) for s in (-1, 1)]
    parts += [box((-x + 0.02, s * y, z_back), (0.08, 0.3, 0.14), TAIL) for s in (-1, 1)]
    parts.append(box((x - 0.005, 0, z_front - 0.02), (0.06, width - 0.95, 0.12), plain("#101114", gloss=0.3)))
    parts += [box((s * (x + 0.012), 0, z_front - 0.2), (0.02, 0.5, 0.11), plain("#eceae0")) for s in (-1, 1)]
    return parts


def car(rng: np.random.Generator) -> list[Part]:
    """Build a saloon or hatchback: bonnet, raked glass, roof, pillars."""
    length, width, h = between(rng, 4.1, 4.8), between(rng, 1.76, 1.88), between(rng, 1.42, 1.54)
    is_hatch = rng.random() < 0.45
    paint = plain(pick(rng, CAR_PAINTS), gloss=0.45)
    x, y, belt = length / 2, width / 2, h * 0.6
    boot = -x + (0.12 if is_hatch else 0.55)
    body = prism(
        [
            (-x, 0.32),
            (-x + 0.05, 0.24),
            (x - 0.08, 0.24),
            (x, 0.34),
            (x, 0.58),
            (x - 0.1, 0.68),
            (x - 1.25, belt),
            (boot - 0.05, belt),
            (-x, belt - 0.06),
        ],
        (-y, y),
        paint,
    )
    roof_front, roof_back = x - 2.0, (-x + 0.5 if is_hatch else -x + 1.35)
    cabin = prism(
        [(x - 1.2, belt - 0.02), (roof_front, h - 0.05), (roof_back, h - 0.05), (boot, belt - 0.02)],
        (-y + 0.06, y - 0.06),
        WINDOW,
        taper=0.8,
    )
    roof = prism(
        [
            (roof_front + 0.06, h - 0.07),
            (roof_front, h - 0.03),
            (roof_front - 0.3, h),
            (roof_back + 0.3, h),
            (roof_back, h - 0.03),
            (roof_back - 0.04, h - 0.07),
        ],
        (-y + 0.21, y - 0.21),
        paint,
    )
    parts = [body, cabin, roof, box((0, 0, 0.24), (length - 0.3, width - 0.1, 0.14), plain(DARK))]
    middle = (roof_front + roof_back) / 2
    rear = 25.0 if is_hatch else 50.0
    for px, lean in ((middle, 0.0), ((x - 1.2 + roof_front) / 2, -38.0), ((boot + roof_back) / 2, rear)):
        parts += [_pillar(px, lean, belt, h, side * y, paint) for side in (-1, 1)]
    bumper = plain("#1d1f22") if rng.random() < 0.4 else paint
    parts += [box((x * s * 0.985, 0, 0.4), (0.14, width - 0.04, 0.13), bumper) for s in (-1, 1)]
    parts += [box((x - 1.45, s * (y + 0.07), belt + 0.06), (0.12, 0.16, 0.1), paint) for s in (-1, 1)]
    parts += [
        box((px, s * (y + 0.003), belt - 0.13), (0.16, 0.02, 0.03), plain(CHROME, gloss=0.6))
        for s in (-1, 1)
        for px in (middle - 0.5, middle + 0.55)
    ]
    return parts + _wheels((x - 0.85, -x + 0.82), y + 0.005, 0.32) + _ends(length, width, 0.62, belt - 0.16)


def _pillar(px: float, lean: float, belt: float, h: float, y: float, paint: Material) -> Part:
    """Build a post between two windows, leaning inwards with the glass."""
    side = 1.0 if y > 0 else -1.0
    slant = float(np.tan(np.radians(lean))) * (h - belt) / 2
    low = np.array([px - slant, y - side * 0.06, belt - 0.02])
    top = np.array([px + slant, y - side * 0.215, h - 0.05])
    return cone(low, float(np.linalg.norm(top - low)), (0.035, 0.035), paint, top - low)


def van(rng: np.random.Generator) -> list[Part]:
    """Build a delivery van: short nose, tall closed body."""
    length, width, h = between(rng, 5.2, 5.9), between(rng, 1.95, 2.05), between(rng, 2.2, 2.6)
    paint = plain(pick(rng, ("#eef0f0", "#c9a21a", "#2f5f9e", "#9a9fa4")), gloss=0.3)
    x, y = length / 2, width / 2
    body = prism(
        [(-x, 0.35), (x - 0.7, 0.35), (x - 0.7, 1.15), (x - 1.35, h - 0.12), (x - 1.6, h), (-x, h - 0.1)],
        (-y, y),
        paint,
        taper=0.94,
    )
    nose = prism([(x - 0.75, 0.35), (x, 0.4), (x, 0.85), (x - 0.7, 1.15), (x - 0.75, 1.15)], (-y, y), paint)
    parts = [
        body,
        nose,
        prism(
            [(x - 0.71, 1.19), (x - 0.69, 1.19), (x - 1.29, h - 0.2), (x - 1.33, h - 0.2)],
            (-y + 0.16, y - 0.16),
            WINDOW,
            taper=0.9,
        ),
        box((0, 0, 0.3), (length - 0.2, width - 0.1, 0.14), plain(DARK)),
        box((-x - 0.003, 0, h * 0.55), (0.012, 0.03, h * 0.75), plain("#5d6266")),
    ]
    for side in (-1, 1):
        parts.append(
            prism(
                [(x - 0.95, 1.16), (x - 1.35, h - 0.32), (x - 1.95, h - 0.32), (x - 1.95, 1.16)],
                (side * (y - 0.035) - 0.02, side * (y - 0.035) + 0.02),
                WINDOW,
                taper=0.3,
            )
        )
        parts.append(box((-0.6, side * (y + 0.002), 1.1), (length * 0.42, 0.015, 0.05), plain("#5d6266")))
        parts.append(box((-x - 0.004, side * y * 0.5, h * 0.68), (0.015, y * 0.62, h * 0.2), WINDOW))
        parts.append(box((x - 1.15, side * (y + 0.1), 1.3), (0.1, 0.2, 0.26), plain(DARK)))
    parts += [box((s * (x + 0.01), 0, 0.48), (0.12, width - 0.02, 0.18), plain("#222428")) for s in (-1, 1)]
    return parts + _wheels((x - 0.95, -x + 1.1), y + 0.005, 0.36) + _ends(length, width, 0.78, 1.0)


def truck(rng: np.random.Generator) -> list[Part]:
    """Build a cab in front, a box body behind, six wheels."""
    length, width, h = between(rng, 6.8, 8.2), between(rng, 2.3, 2.5), between(rng, 3.0, 3.5)
    paint = plain(pick(rng, ("#b3161b", "#1d4f91", "#e4e5e3", "#2f7a45", "#d98a1a")), gloss=0.35)
    x, y, cab = length / 2, width / 2, 1.8
    cargo = textured(pick(rng, ("#e9e9e4", "#c9cdd1", "#7fa3c4", "#d8cfa8")), "#8f9498", "stripes", 0.5)
    cab_h = 2.45
    parts = [
        prism(
            [(x - cab, 0.55), (x - 0.05, 0.55), (x, 0.7), (x, 1.35), (x - 0.28, cab_h), (x - cab, cab_h)],
            (-y, y),
            paint,
        ),
        prism(
            [(x + 0.005, 1.38), (x + 0.02, 1.38), (x - 0.245, cab_h - 0.14), (x - 0.27, cab_h - 0.14)],
            (-y + 0.12, y - 0.12),
            WINDOW,
        ),
        box((-cab / 2 - 0.06, 0, (h + 0.95) / 2), (length - cab - 0.12, width, h - 0.95), cargo),
        box((-0.2, 0, 0.75), (length - 0.5, width * 0.45, 0.3), plain(DARK)),
        box((-x + 0.02, 0, 0.55), (0.1, width - 0.1, 0.16), plain("#c4161a")),
        box((x + 0.03, 0, 0.62), (0.14, width, 0.28), plain("#222428")),
        box((x + 0.01, 0, 1.02), (0.05, width * 0.6, 0.35), plain("#15171a", gloss=0.3)),
        box((-cab / 2 - 0.06, 0, h + 0.01), (length - cab - 0.1, width + 0.02, 0.05), plain("#9aa0a5")),
        box((-x - 0.003, 0, (h + 0.95) / 2), (0.02, 0.04, h - 1.1), plain("#5d6266")),
    ]
    for side in (-1, 1):
        parts.append(
            prism(
                [(x - 0.22, 1.4), (x - 0.42, cab_h - 0.2), (x - 1.2, cab_h - 0.2), (x - 1.2, 1.4)],
                (side * y - 0.01, side * y + 0.01),
                WINDOW,
            )
        )
        parts.append(box((x - 0.1, side * (y + 0.16), 1.95), (0.12, 0.18, 0.45), plain(DARK)))
        parts.append(box((x + 0.04, side * (y - 0.28), 0.88), (0.06, 0.36, 0.18), LAMP))
        parts.append(box((-x + 0.02, side * (y - 0.25), 0.85), (0.08, 0.36, 0.16), TAIL))
        parts.append(box((-0.6, side * (y - 0.05), 0.72), (length * 0.3, 0.05, 0.28), plain(METAL)))
    return parts + _wheels((x - 0.95, -x + 1.1, -x + 2.15), y, 0.5, 0.3)


def bus(rng: np.random.Generator) -> list[Part]:
    """Build a row of windows between two bands, doors on the kerb side, a destination sign."""
    length, width, h = between(rng, 10.5, 12.0), 2.55, between(rng, 3.0, 3.2)
    paint = plain(pick(rng, ("#c4161a", "#d8a01a", "#1f6fb0", "#2f8a4a")), gloss=0.35)
    x, y = length / 2, width / 2
    parts = [
        prism(
            [
                (-x, 0.4),
                (x - 0.03, 0.4),
                (x, 0.55),
                (x - 0.02, h - 0.3),
                (x - 0.2, h),
                (-x + 0.15, h),
                (-x, h - 0.2),
            ],
            (-y, y),
            paint,
        ),
        box((x - 0.0, 0, 1.85), (0.05, width - 0.2, 1.35), WINDOW),
        box((x + 0.012, 0, h - 0.33), (0.05, width - 0.7, 0.28), plain("#151515")),
        box((x + 0.03, 0, h - 0.33), (0.03, width - 1.1, 0.14), plain("#f5a51a", glow=0.9)),
        box((-x, 0, 2.1), (0.04, width - 0.5, 0.85), WINDOW),
        box((0, 0, 0.42), (length - 0.2, width - 0.04, 0.12), plain(DARK)),
        box((0, 0, 0.98), (length + 0.004, width + 0.012, 0.14), plain("#efefe8")),
        box((0, 0, h + 0.06), (length * 0.3, width * 0.6, 0.14), plain("#d5d8da")),
        box((x + 0.03, 0, 0.55), (0.08, width - 0.1, 0.22), plain("#222428")),
    ]
    n = 7
    for k in range(n):
        px = -x + 0.9 + k * (length - 1.7) / n + 0.45
        for side in (-1, 1):
            is_door = side < 0 and k in {3, n - 1}
            size, z = (
                ((1.15, 0.03, 2.1), 1.62) if is_door else (((length - 1.7) / n - 0.14, 0.03, 0.95), 1.95)
            )
            parts.append(box((px, side * y, z), size, WINDOW))
            if is_door:
                parts.append(box((px, side * (y + 0.01), z), (0.05, 0.03, 2.1), paint))
    for side in (-1, 1):
        parts.append(box((x + 0.0, side * (y - 0.35), 0.82), (0.08, 0.42, 0.2), LAMP))
        parts.append(box((-x, side * (y - 0.25), 1.15), (0.05, 0.22, 0.4), TAIL))
        parts.append(box((x + 0.15, side * (y + 0.12), 2.3), (0.12, 0.16, 0.4), plain(DARK)))
    return parts + _wheels((x - 2.5, -x + 2.6), y + 0.006, 0.48, 0.3)
