"""Bicycles and motorcycles. Front towards +x, standing on z = 0."""

from __future__ import annotations

import numpy as np

from theodolite.instruments.scene.data.render.parts import Material, Part, ball, box, cone, prism, rod, turn_y
from theodolite.instruments.scene.data.world.looks import (
    CHROME,
    DARK,
    LAMP,
    METAL,
    RUBBER,
    TAIL,
    linear,
    pick,
    plain,
)


def _rim(x: float, radius: float, thick: float) -> list[Part]:
    """A spoked wheel in the x–z plane, its tyre made of short pieces."""
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
    """Two spoked wheels, a diamond frame, saddle and handlebar."""
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
    """Fat wheels, an engine block, a tank, a long saddle, an exhaust."""
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
