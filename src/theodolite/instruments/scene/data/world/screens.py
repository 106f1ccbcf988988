"""Lamps, screens and a fan: what a household plugs in."""

from __future__ import annotations

import numpy as np

from theodolite.instruments.scene.data.render.parts import (
    Material,
    Part,
    ball,
    box,
    cone,
    hull,
    turn_x,
    turn_y,
    turn_z,
)
from theodolite.instruments.scene.data.world.looks import (
    CHROME,
    METAL,
    between,
    linear,
    pick,
    plain,
    textured,
)


def floor_lamp(rng: np.random.Generator) -> list[Part]:
    """A foot, a pole, a shade that glows."""
    h, pole = between(rng, 1.45, 1.7), plain(pick(rng, ("#23252a", "#b8923a", "#8d9196")), gloss=0.4)
    shade = Material(linear("#f6e3b4"), glow=0.75)
    return [
        cone((0, 0, 0), 0.03, (0.15, 0.14), pole),
        cone((0, 0, 0.02), h - 0.25, (0.014, 0.014), pole),
        cone((0, 0, h - 0.32), 0.32, (0.23, 0.14), shade),
    ]


def table_lamp(rng: np.random.Generator) -> list[Part]:
    """A bellied foot and a shade that glows."""
    colour = plain(pick(rng, ("#2f6f6b", "#7a2f35", "#c9c3b6", "#31506e")), gloss=0.4)
    return [
        cone((0, 0, 0), 0.02, (0.075, 0.075), colour),
        ball((0, 0, 0.12), (0.075, 0.075, 0.11), colour),
        cone((0, 0, 0.2), 0.09, (0.012, 0.012), plain(CHROME, gloss=0.5)),
        cone((0, 0, 0.25), 0.2, (0.165, 0.1), Material(linear("#f8e7bd"), glow=0.75)),
    ]


def television(rng: np.random.Generator) -> list[Part]:
    """A flat screen on two feet, showing a landscape."""
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
    """A computer screen on a stand, with windows on it."""
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
    """Open, its screen lit, its keys dark."""
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
    """Three blades in a ring, on a pole."""
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
