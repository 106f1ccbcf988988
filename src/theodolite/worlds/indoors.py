"""Builders of the contents of rooms: furniture, machines, lamps, and smaller things. Every function takes a random generator and returns parts."""

from __future__ import annotations

import numpy as np

from theodolite.worlds.looks import CHROME, DARK, METAL, between, cloth, linear, pick, plain, textured, wood
from theodolite.worlds.render.parts import (
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

# Plants, boxes, bags and other objects on floors, tables and walls.


def potted_plant(rng: np.random.Generator) -> list[Part]:
    """Build long leaves that bend outwards from a clay pot."""
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
    """Build a steel drum with a black lid."""
    h, r = between(rng, 0.42, 0.62), between(rng, 0.14, 0.18)
    return [
        cone((0, 0, 0), 0.03, (r * 1.03, r * 1.03), plain(DARK)),
        cone((0, 0, 0.03), h - 0.1, (r, r), plain("#b9bec3", gloss=0.6)),
        cone((0, 0, h - 0.07), 0.025, (r * 1.04, r * 1.04), plain(DARK, gloss=0.2)),
        ball((0, 0, h - 0.05), (r, r, 0.05), plain("#26282b", gloss=0.3)),
        box((r + 0.03, 0, 0.02), (0.08, 0.07, 0.015), plain(DARK)),
    ]


def cardboard_box(rng: np.random.Generator) -> list[Part]:
    """Build a box with open flaps and tape on the front."""
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
    """Build a trolley case: ribs, wheels, a long handle."""
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
    """Build a belly, a neck, a bunch of flowers."""
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
    """Build a guitar leaning back on a stand: two bouts, a sound hole, a long neck."""
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
    """Build a round clock with twelve marks and two hands; its back at −x."""
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
    """Build a frame around a painted landscape; its back at −x."""
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
    """Build a bottle of green glass with a label."""
    glass = plain("#123a1c", gloss=0.7)
    return [
        cone((0, 0, 0), 0.19, (0.038, 0.038), glass),
        ball((0, 0, 0.19), (0.038, 0.038, 0.035), glass),
        cone((0, 0, 0.2), 0.1, (0.016, 0.014), glass),
        cone((0, 0, 0.27), 0.035, (0.0165, 0.0165), plain("#6b1420")),
        cone((0, 0, 0.06), 0.09, (0.0386, 0.0386), plain("#efe6cf")),
    ]


def backpack(rng: np.random.Generator) -> list[Part]:
    """Build a rounded sack with a front pocket, a loop and two straps."""
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
    """Build a small wooden tag."""
    return box((0.172, 0.07, 0.2), (0.008, 0.02, 0.05), wood(rng))


# The machines and basins of kitchen and bathroom.


def refrigerator(rng: np.random.Generator) -> list[Part]:
    """Build a freezer above a fridge, with long handles."""
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
    """Build a round door in a white front, a panel above it."""
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
    """Build an oven with a glass door, four knobs, four rings on top."""
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
    """Build a dark window left, a panel with a knob right."""
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
    """Build cupboards under a worktop, with a sink and a tap."""
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
    """Build a basin on a pedestal, with a tap."""
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


# Lamps, screens and a fan.


def floor_lamp(rng: np.random.Generator) -> list[Part]:
    """Build a foot, a pole, a shade that glows."""
    h, pole = between(rng, 1.45, 1.7), plain(pick(rng, ("#23252a", "#b8923a", "#8d9196")), gloss=0.4)
    shade = Material(linear("#f6e3b4"), glow=0.75)
    return [
        cone((0, 0, 0), 0.03, (0.15, 0.14), pole),
        cone((0, 0, 0.02), h - 0.25, (0.014, 0.014), pole),
        cone((0, 0, h - 0.32), 0.32, (0.23, 0.14), shade),
    ]


def table_lamp(rng: np.random.Generator) -> list[Part]:
    """Build a bellied foot and a shade that glows."""
    colour = plain(pick(rng, ("#2f6f6b", "#7a2f35", "#c9c3b6", "#31506e")), gloss=0.4)
    return [
        cone((0, 0, 0), 0.02, (0.075, 0.075), colour),
        ball((0, 0, 0.12), (0.075, 0.075, 0.11), colour),
        cone((0, 0, 0.2), 0.09, (0.012, 0.012), plain(CHROME, gloss=0.5)),
        cone((0, 0, 0.25), 0.2, (0.165, 0.1), Material(linear("#f8e7bd"), glow=0.75)),
    ]


def television(rng: np.random.Generator) -> list[Part]:
    """Build a flat screen on two feet, showing a landscape."""
    width = between(rng, 0.95, 1.35)
    h, bezel = width * 0.565, plain("#0c0d0f", gloss=0.35)
    z = 0.07 + h / 2
    return [
        box((0, 0, z), (0.05, width, h), bezel),
        box(
            (0.024, 0, z + h * 0.24),
            (0.012, width - 0.04, h * 0.48 - 0.02),
            Material(linear("#5fa6dd"), "cloud", 0.25, linear("#f4f8fb"), glow=0.9),
        ),
        box(
            (0.024, 0, z - h * 0.24),
            (0.012, width - 0.04, h * 0.48 - 0.02),
            Material(linear("#2f7d3c"), "leaves", 0.12, linear("#8fc15a"), glow=0.85),
        ),
        hull(
            np.array(
                [
                    [0.031, -0.25 * width, z],
                    [0.031, 0.2 * width, z],
                    [0.031, -0.02 * width, z + 0.26 * h],
                    [0.02, -0.25 * width, z],
                    [0.02, 0.2 * width, z],
                    [0.02, -0.02 * width, z + 0.26 * h],
                ]
            ),
            plain("#6d6f86", glow=0.9),
        ),
        box((0, 0.28 * width, 0.035), (0.2, 0.03, 0.07), bezel),
        box((0, -0.28 * width, 0.035), (0.2, 0.03, 0.07), bezel),
    ]


def monitor(_: np.random.Generator) -> list[Part]:
    """Build a computer screen on a stand, with windows on it."""
    black = plain("#15171a", gloss=0.3)
    return [
        box((-0.02, 0, 0.006), (0.18, 0.24, 0.012), black),
        box((-0.05, 0, 0.1), (0.025, 0.05, 0.2), black),
        box((0, 0, 0.3), (0.03, 0.56, 0.34), black),
        box((0.014, 0, 0.302), (0.008, 0.53, 0.31), plain("#2a6fb0", glow=0.9)),
        box((0.018, 0.08, 0.32), (0.004, 0.3, 0.2), plain("#eef2f5", glow=0.9)),
        box((0.021, 0.08, 0.41), (0.004, 0.3, 0.022), plain("#4a6b8a", glow=0.9)),
        box((0.018, -0.18, 0.28), (0.004, 0.12, 0.16), plain("#dfe7d6", glow=0.9)),
        box((0.021, 0.0, 0.156), (0.004, 0.53, 0.02), plain("#1b3550", glow=0.9)),
    ]


def laptop(_: np.random.Generator) -> list[Part]:
    """Build an open laptop, its screen lit, its keys dark."""
    grey = plain("#b4b8bd", gloss=0.3)
    lid = turn_y(-18)
    return [
        box((0.0, 0, 0.01), (0.25, 0.35, 0.02), grey),
        box((-0.03, 0, 0.021), (0.12, 0.31, 0.004), textured("#222428", "#4a4d52", "checker", 0.018)),
        box((0.075, 0, 0.021), (0.06, 0.1, 0.003), plain("#9a9ea3")),
        box((-0.163, 0, 0.122), (0.012, 0.35, 0.235), grey, lid),
        box((-0.155, 0, 0.124), (0.006, 0.33, 0.21), plain("#1f5f9f", glow=0.9), lid),
        box((-0.151, 0.03, 0.13), (0.004, 0.2, 0.13), plain("#eef2f5", glow=0.9), lid),
    ]


def standing_fan(_: np.random.Generator) -> list[Part]:
    """Build three blades in a ring, on a pole."""
    grey, blade = plain("#dfe3e6", gloss=0.3), plain("#5f9fc4", gloss=0.2)
    z = 1.1
    parts = [
        cone((0, 0, 0), 0.04, (0.2, 0.18), grey),
        cone((0, 0, 0.03), z - 0.1, (0.018, 0.018), grey),
        ball((-0.1, 0, z), (0.12, 0.07, 0.07), grey),
        cone((0.03, 0, z), 0.05, (0.04, 0.035), grey, (1, 0, 0)),
    ]
    for k in range(3):
        turn = turn_x(120.0 * k + 15)
        parts.append(
            ball(
                np.array([0.05, 0, z]) + turn @ np.array([0, 0, 0.11]),
                (0.012, 0.075, 0.1),
                blade,
                turn @ turn_z(20),
            )
        )
    for k in range(24):
        a, b = np.radians(15 * k), np.radians(15 * (k + 1))
        one, two = (np.array([0.05, 0.23 * np.sin(t), z + 0.23 * np.cos(t)]) for t in (a, b))
        parts.append(
            cone(one, float(np.linalg.norm(two - one)), (0.009, 0.009), plain(METAL, gloss=0.4), two - one)
        )
        if k % 2 == 0:
            hub = np.array([0.11, 0.0, z])
            parts.append(
                cone(one, float(np.linalg.norm(hub - one)), (0.0035, 0.0035), plain(METAL), hub - one)
            )
    return parts


# Furniture to sit and lie on. Every function takes a random generator and returns parts; front towards +x, standing on z = 0.


def bed(rng: np.random.Generator) -> list[Part]:
    """Build a bed with its head at −x and its foot at +x."""
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
    cushion_width = (width - 2 * arm) / cushions
    for i in range(cushions):
        y = (i - (cushions - 1) / 2) * cushion_width
        parts.append(box((0.1, y, seat - 0.02), (depth - 0.2, cushion_width - 0.025, 0.15), fabric))
        parts.append(
            box((-depth / 2 + 0.27, y, seat + 0.24), (0.14, cushion_width - 0.04, 0.4), fabric, turn_y(-9))
        )
    return parts


def sofa(rng: np.random.Generator) -> list[Part]:
    """Build a sofa with two or three seats."""
    seats = int(rng.integers(2, 4))
    fabric = cloth(rng)
    parts = _seat(rng, 0.34 + seats * between(rng, 0.58, 0.66), seats, fabric)
    accent = textured(pick(rng, ("#d8a03a", "#c9c3b6", "#b6453a", "#3a6ea5")), "#f2eee4", "checker", 0.06)
    side = 1 if rng.random() < 0.5 else -1
    parts.append(box((-0.02, side * 0.45, 0.66), (0.13, 0.4, 0.38), accent, turn_y(-20)))
    return parts


def armchair(rng: np.random.Generator) -> list[Part]:
    """Build one seat between two arms."""
    return _seat(rng, between(rng, 0.85, 0.98), 1, cloth(rng))


def chair(rng: np.random.Generator) -> list[Part]:
    """Build four legs, a seat, and a back with slats."""
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
    """Build a star of five castors, a gas spring, a padded seat and back, two arm rests."""
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
    """Build a round seat on splayed legs."""
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
    """Build a park bench: wooden slats on iron."""
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
    """Build bowl, seat, raised lid and cistern."""
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
    """Build a rim around water, with a tap."""
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


# Tables, shelves, cupboards, and a piano.


def table(rng: np.random.Generator) -> list[Part]:
    """Build a dining table: a top on four legs."""
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
    """Build a low table with a shelf under the top."""
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
    """Build a top, drawers on one side, legs on the other. Its user sits at +x."""
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
    """Build boards full of books; its back at −x."""
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
    """Build two tall doors with handles."""
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
    """Build drawers one above the other, two knobs each."""
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


def piano(_: np.random.Generator) -> list[Part]:
    """Build an upright piano: a tall case, a ledge of white and black keys, pedals."""
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
