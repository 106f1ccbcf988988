"""Cars, vans, trucks and buses. Front towards +x, standing on z = 0."""

from __future__ import annotations

import numpy as np

from theodolite.instruments.scene.data.render.parts import Material, Part, box, cone, prism
from theodolite.instruments.scene.data.world.looks import (
    CAR_PAINTS,
    CHROME,
    DARK,
    LAMP,
    METAL,
    RUBBER,
    TAIL,
    WINDOW,
    between,
    pick,
    plain,
    textured,
)


def _wheels(xs: tuple[float, ...], half: float, radius: float, thick: float = 0.2) -> list[Part]:
    """Tyres with hubs, on both sides, flush with the flank at y = ±half."""
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
    """Head and tail lamps, grille, number plates."""
    x, y = length / 2, width / 2 - 0.24
    parts = [box((x - 0.02, s * y, z_front), (0.08, 0.32, 0.13), LAMP) for s in (-1, 1)]
    parts += [box((-x + 0.02, s * y, z_back), (0.08, 0.3, 0.14), TAIL) for s in (-1, 1)]
    parts.append(box((x - 0.005, 0, z_front - 0.02), (0.06, width - 0.95, 0.12), plain("#101114", gloss=0.3)))
    parts += [box((s * (x + 0.012), 0, z_front - 0.2), (0.02, 0.5, 0.11), plain("#eceae0")) for s in (-1, 1)]
    return parts


def car(rng: np.random.Generator) -> list[Part]:
    """A saloon or hatchback: bonnet, raked glass, roof, pillars."""
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
    """A post between two windows, leaning inwards with the glass."""
    side = 1.0 if y > 0 else -1.0
    slant = float(np.tan(np.radians(lean))) * (h - belt) / 2
    low = np.array([px - slant, y - side * 0.06, belt - 0.02])
    top = np.array([px + slant, y - side * 0.215, h - 0.05])
    return cone(low, float(np.linalg.norm(top - low)), (0.035, 0.035), paint, top - low)


def van(rng: np.random.Generator) -> list[Part]:
    """A delivery van: short nose, tall closed body."""
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
    """A cab in front, a box body behind, six wheels."""
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
    """A row of windows between two bands, doors on the kerb side, a destination sign."""
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
