"""Plants, boxes, bags and other objects on floors, tables and walls."""

from __future__ import annotations

import numpy as np

from theodolite.instruments.scene.data.render.parts import (
    Array,
    Material,
    Part,
    ball,
    box,
    cone,
    hull,
    prism,
    turn_x,
    turn_y,
    turn_z,
)
from theodolite.instruments.scene.data.world.looks import (
    CHROME,
    DARK,
    between,
    linear,
    pick,
    plain,
    textured,
    wood,
)


def potted_plant(rng: np.random.Generator) -> list[Part]:
    """Long leaves that bend outwards from a clay pot."""
    h = between(rng, 0.7, 1.2)
    pot_h, pot_r = 0.22 * h + 0.08, 0.11 + 0.08 * h
    clay = textured(pick(rng, ("#b5603c", "#d8d4c8", "#54606a")), "#8a4a30", "speckle", 0.05)
    parts = [
        cone((0, 0, 0), pot_h, (pot_r * 0.72, pot_r), clay),
        cone((0, 0, pot_h - 0.035), 0.04, (pot_r * 1.06, pot_r * 1.06), clay),
        cone((0, 0, pot_h), 0.012, (pot_r * 0.9, pot_r * 0.9), plain("#2d2017")),
    ]
    n = int(rng.integers(13, 18))
    for k in range(n):
        a, lean = 2.4 * k, 0.25 + 0.75 * ((k * 0.618) % 1)
        c, s = float(np.cos(a)), float(np.sin(a))
        leaf = textured(pick(rng, ("#2f7a35", "#3d8f3f", "#25632c")), "#79b84f", "leaves", 0.08)
        length = (h - pot_h) * between(rng, 0.55, 0.72)
        for step, (z0, tilt) in enumerate(((0.0, lean * 28), (0.86, lean * 68))):
            reach = float(np.sin(np.radians(lean * 28))) * length * z0
            turn = turn_z(float(np.degrees(a))) @ turn_y(tilt)
            root = np.array(
                [c * reach, s * reach, pot_h + float(np.cos(np.radians(lean * 28))) * length * z0]
            )
            size = (0.012, 0.05 * h if step == 0 else 0.055 * h, length / 2 * (1.05 if step == 0 else 0.8))
            middle = root + turn @ np.array([0.0, 0.0, size[2] * 0.9])
            parts.append(ball(middle, size, leaf, turn))
    return parts


def pedal_bin(rng: np.random.Generator) -> list[Part]:
    """A steel drum with a black lid."""
    h, r = between(rng, 0.42, 0.62), between(rng, 0.14, 0.18)
    return [
        cone((0, 0, 0), 0.03, (r * 1.03, r * 1.03), plain(DARK)),
        cone((0, 0, 0.03), h - 0.1, (r, r), plain("#b9bec3", gloss=0.6)),
        cone((0, 0, h - 0.07), 0.025, (r * 1.04, r * 1.04), plain(DARK, gloss=0.2)),
        ball((0, 0, h - 0.05), (r, r, 0.05), plain("#26282b", gloss=0.3)),
        box((r + 0.03, 0, 0.02), (0.08, 0.07, 0.015), plain(DARK)),
    ]


def cardboard_box(rng: np.random.Generator) -> list[Part]:
    """Open flaps, tape on the front."""
    length, width, h = between(rng, 0.35, 0.6), between(rng, 0.3, 0.45), between(rng, 0.25, 0.4)
    card = textured("#b98d58", "#a0763f", "speckle", 0.06)
    inner = plain("#7d5a33")
    parts = [
        box((0, 0, h / 2), (length, width, h), card),
        box((0, 0, h + 0.002), (length - 0.02, width - 0.02, 0.004), inner),
        box((length / 2 + 0.001, 0, h / 2), (0.003, 0.05, h), plain("#d8c39a", gloss=0.2)),
        box((length / 2 + 0.002, width * 0.27, h * 0.3), (0.003, width * 0.28, h * 0.3), plain("#efece4")),
    ]
    flap = min(0.16, width / 2)
    for side in (-1, 1):
        parts.append(
            box(
                (0, side * (width / 2 + flap * 0.42), h + flap * 0.22),
                (length, flap, 0.006),
                card,
                turn_x(side * 28),
            )
        )
        parts.append(
            box(
                (side * (length / 2 + flap * 0.3), 0, h + flap * 0.32),
                (flap, width, 0.006),
                card,
                turn_y(-side * 48),
            )
        )
    return parts


def suitcase(rng: np.random.Generator) -> list[Part]:
    """A trolley case: ribs, wheels, a long handle."""
    h, w, d = between(rng, 0.55, 0.68), between(rng, 0.38, 0.45), 0.24
    shell = plain(pick(rng, ("#b3161b", "#123a7a", "#1f6f6b", "#c7a21a", "#3a3d42")), gloss=0.3)
    rib = Material(tuple(0.6 * c for c in shell.colour), gloss=0.3)  # type: ignore[arg-type]
    bar = plain(CHROME, gloss=0.5)
    parts = [
        box((0, 0, 0.05 + h / 2), (d, w, h), shell),
        box((0, 0, 0.05 + h / 2), (0.02, w + 0.012, h + 0.012), plain(DARK)),
    ]
    parts += [
        box((d / 2 + 0.004, y, 0.05 + h / 2), (0.014, 0.022, h - 0.08), rib)
        for y in np.linspace(-w / 2 + 0.06, w / 2 - 0.06, 5)
    ]
    parts += [box((-d / 2 + 0.03, s * 0.1, 0.05 + h + 0.17), (0.016, 0.016, 0.34), bar) for s in (-1, 1)]
    parts.append(box((-d / 2 + 0.03, 0, 0.05 + h + 0.35), (0.03, 0.26, 0.03), plain(DARK)))
    parts += [
        cone(
            (sx * (d / 2 - 0.05), sy * (w / 2 - 0.06) - 0.012, 0.027),
            0.024,
            (0.027, 0.027),
            plain(DARK),
            (0, 1, 0),
        )
        for sx in (-1, 1)
        for sy in (-1, 1)
    ]
    return parts


def vase(rng: np.random.Generator) -> list[Part]:
    """A belly, a neck, a bunch of flowers."""
    china = plain(pick(rng, ("#2d5f9e", "#e6e2d6", "#a8423a", "#3f7f6f")), gloss=0.5)
    parts = [
        cone((0, 0, 0), 0.03, (0.045, 0.06), china),
        ball((0, 0, 0.12), (0.085, 0.085, 0.11), china),
        cone((0, 0, 0.2), 0.08, (0.045, 0.055), china),
    ]
    petals = pick(rng, ("#e2c020", "#d8343f", "#e58ab0", "#f2f0e8"))
    for k in range(9):
        a, lean = 2.4 * k, 10 + 26 * ((k * 0.618) % 1)
        turn = turn_z(float(np.degrees(a))) @ turn_y(lean)
        way = turn @ np.array([0.0, 0.0, 1.0])
        tall = between(rng, 0.16, 0.26)
        parts.append(cone((0, 0, 0.26), tall, (0.005, 0.005), plain("#3f7f35"), way))
        head = np.array([0, 0, 0.26]) + way * tall
        parts.append(ball(head, (0.038, 0.038, 0.026), plain(petals), turn))
        parts.append(ball(head + way * 0.018, (0.015, 0.015, 0.013), plain("#7a4a12"), turn))
    return parts


def guitar(_: np.random.Generator) -> list[Part]:
    """Leaning back on a stand: two bouts, a sound hole, a long neck."""
    top, dark = textured("#c98a45", "#a86a2c", "grain", 0.02, gloss=0.3), plain("#3a2313", gloss=0.2)
    turn = turn_y(-12)

    def at(x: float, y: float, z: float) -> Array:
        return np.asarray(turn @ np.array([x, y, z]))

    side = turn @ np.array([1.0, 0.0, 0.0])
    return [
        cone(at(-0.05, 0, 0.24), 0.1, (0.2, 0.2), top, side),
        cone(at(-0.05, 0, 0.5), 0.1, (0.145, 0.145), top, side),
        box(at(0, 0, 0.38), (0.1, 0.24, 0.24), top, turn),
        cone(at(0.045, 0, 0.42), 0.012, (0.05, 0.05), plain("#120c08"), side),
        box(at(0.05, 0, 0.22), (0.02, 0.12, 0.025), dark, turn),
        box(at(0.045, 0, 0.78), (0.03, 0.055, 0.58), dark, turn),
        box(at(0.035, 0, 1.1), (0.025, 0.075, 0.15), dark, turn),
        *(
            box(at(0.035, s * 0.055, z), (0.015, 0.035, 0.018), plain(CHROME, gloss=0.6), turn)
            for s in (-1, 1)
            for z in (1.06, 1.1, 1.14)
        ),
        cone((-0.26, -0.14, 0), 0.36, (0.01, 0.01), plain(DARK), (0.2, 0, 0.3)),
        cone((-0.26, 0.14, 0), 0.36, (0.01, 0.01), plain(DARK), (0.2, 0, 0.3)),
        box((0.02, 0, 0.035), (0.16, 0.3, 0.02), plain(DARK)),
        box((-0.12, 0, 0.012), (0.36, 0.03, 0.02), plain(DARK)),
    ]


def wall_clock(_: np.random.Generator) -> list[Part]:
    """Round, with twelve marks and two hands; its back at −x."""
    dark = plain("#161616")
    parts = [
        cone((-0.03, 0, 0.19), 0.05, (0.19, 0.19), dark, (1, 0, 0)),
        cone((0.005, 0, 0.19), 0.018, (0.17, 0.17), plain("#f6f4ee"), (1, 0, 0)),
        cone((0.02, 0, 0.19), 0.01, (0.012, 0.012), dark, (1, 0, 0)),
    ]
    for k in range(12):
        a = np.radians(30 * k)
        middle = (0.024, 0.14 * float(np.sin(a)), 0.19 + 0.14 * float(np.cos(a)))
        parts.append(box(middle, (0.006, 0.012, 0.034), dark, turn_x(-30.0 * k)))
    for length, turn in ((0.085, 55.0), (0.125, -60.0)):
        way = turn_x(turn) @ np.array([0, 0, length / 2])
        parts.append(box(np.array([0.028, 0, 0.19]) + way, (0.005, 0.014, length), dark, turn_x(turn)))
    return parts


def framed_picture(rng: np.random.Generator) -> list[Part]:
    """A frame around a painted landscape; its back at −x."""
    w, h = between(rng, 0.6, 0.9), between(rng, 0.45, 0.6)
    frame = plain(pick(rng, ("#7a5a1f", "#1d1a17", "#d8d2c4")), gloss=0.2)
    z = h / 2
    tri = np.array(
        [
            [x, y, z + up]
            for x in (0.012, 0.018)
            for y, up in ((-0.3 * w, -0.05 * h), (0.25 * w, -0.05 * h), (-0.02 * w, 0.25 * h))
        ]
    )
    return [
        box((0, 0, z), (0.03, w, h), frame),
        box(
            (0.012, 0, z + h * 0.2),
            (0.01, w - 0.1, h * 0.6 - 0.1),
            Material(linear("#a9cfe6"), "cloud", 0.15, linear("#f7f3e6")),
        ),
        box(
            (0.012, 0, z - h * 0.25),
            (0.01, w - 0.1, h * 0.4),
            Material(linear("#3f7a3a"), "leaves", 0.06, linear("#c2b24a")),
        ),
        hull(tri, plain("#5d6079")),
        cone((0.012, 0.25 * w, z + 0.25 * h), 0.008, (0.045, 0.045), plain("#f0b429"), (1, 0, 0)),
    ]


def wine_bottle(_: np.random.Generator) -> list[Part]:
    """Green glass with a label."""
    glass = plain("#123a1c", gloss=0.7)
    return [
        cone((0, 0, 0), 0.19, (0.038, 0.038), glass),
        ball((0, 0, 0.19), (0.038, 0.038, 0.035), glass),
        cone((0, 0, 0.2), 0.1, (0.016, 0.014), glass),
        cone((0, 0, 0.27), 0.035, (0.0165, 0.0165), plain("#6b1420")),
        cone((0, 0, 0.06), 0.09, (0.0386, 0.0386), plain("#efe6cf")),
    ]


def backpack(rng: np.random.Generator) -> list[Part]:
    """A rounded sack with a front pocket, a loop and two straps."""
    cloth = textured(pick(rng, ("#b3261b", "#1f4e79", "#2f6b3a", "#3a3d42")), "#111111", "weave", 0.015)
    dark = plain("#1a1a1c")
    return [
        prism(
            [(-0.12, 0.0), (0.1, 0.0), (0.12, 0.05), (0.1, 0.36), (0.02, 0.47), (-0.08, 0.47), (-0.12, 0.42)],
            (-0.16, 0.16),
            cloth,
            taper=0.8,
        ),
        box((0.13, 0, 0.15), (0.07, 0.24, 0.2), cloth),
        box((0.168, 0, 0.23), (0.006, 0.22, 0.012), dark),
        box((0.105, 0, 0.37), (0.02, 0.26, 0.014), dark, turn_y(-20)),
        cone((-0.04, -0.05, 0.46), 0.07, (0.01, 0.01), dark, (0, 0.4, 1)),
        cone((-0.04, 0.05, 0.46), 0.07, (0.01, 0.01), dark, (0, -0.4, 1)),
        cone((-0.13, -0.08, 0.08), 0.36, (0.02, 0.022), dark, (-0.03, 0, 1)),
        cone((-0.13, 0.08, 0.08), 0.36, (0.02, 0.022), dark, (-0.03, 0, 1)),
        box((0.17, 0, 0.1), (0.006, 0.08, 0.05), plain("#e8e4da")),
        wood_tag(rng),
    ]


def wood_tag(rng: np.random.Generator) -> Part:
    """A small wooden tag."""
    return box((0.172, 0.07, 0.2), (0.008, 0.02, 0.05), wood(rng))
