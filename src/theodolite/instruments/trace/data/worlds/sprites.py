"""Furniture in one colour, seen from the front: small pictures with a mask, for the views of the navigation world."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw

from theodolite.instruments.trace.data.worlds.palette import PAINTS, Rgb, shaded

_SIDE = 192
_Pen = ImageDraw.ImageDraw
FURNITURE = {
    "in-distribution": ("chair", "lamp", "plant", "barrel"),
    "ood": ("sofa", "vase", "clock", "cone"),
}
HEIGHT_M = {
    "chair": 0.85,
    "lamp": 1.0,
    "plant": 0.95,
    "barrel": 0.7,
    "sofa": 0.7,
    "vase": 0.75,
    "clock": 1.0,
    "cone": 0.8,
}


@lru_cache(maxsize=64)
def sprite(category: str, colour: str) -> NDArray[np.uint8]:
    """A picture (side, side, 4) whose bottom stands on the floor; the last channel is its mask."""
    image = Image.new("RGBA", (_SIDE, _SIDE))
    _DRAWERS[category](ImageDraw.Draw(image), PAINTS[colour])
    return np.asarray(image)


def _chair(pen: _Pen, c: Rgb) -> None:
    for x in (46, 128):
        pen.rectangle((x, 120, x + 14, 191), fill=shaded(c, 0.55))
    pen.rectangle((46, 8, 60, 120), fill=shaded(c, 0.7))
    pen.rectangle((128, 8, 142, 120), fill=shaded(c, 0.7))
    for y in (14, 48, 82):
        pen.rounded_rectangle((46, y, 142, y + 22), 6, fill=c)
    pen.polygon(((36, 128), (152, 128), (142, 104), (46, 104)), fill=shaded(c, 1.15))
    pen.rectangle((36, 128, 152, 140), fill=shaded(c, 0.8))


def _lamp(pen: _Pen, c: Rgb) -> None:
    pen.ellipse((60, 172, 132, 191), fill=shaded(c, 0.6))
    pen.rectangle((92, 70, 100, 182), fill=shaded(c, 0.7))
    pen.polygon(((66, 6), (126, 6), (152, 76), (40, 76)), fill=c)
    pen.polygon(((74, 6), (94, 6), (88, 76), (56, 76)), fill=shaded(c, 1.2))


def _plant(pen: _Pen, c: Rgb) -> None:
    for x, y, r in ((96, 44, 40), (58, 74, 34), (134, 74, 34), (78, 96, 30), (116, 96, 30)):
        pen.ellipse((x - r, y - r, x + r, y + r), fill=shaded(c, 0.85))
        pen.ellipse((x - 0.7 * r, y - 0.8 * r, x + 0.4 * r, y + 0.3 * r), fill=shaded(c, 1.15))
    pen.rectangle((90, 108, 102, 136), fill=shaded(c, 0.5))
    pen.polygon(((58, 132), (134, 132), (122, 191), (70, 191)), fill=shaded(c, 0.6))
    pen.rectangle((52, 126, 140, 140), fill=shaded(c, 0.7))


def _barrel(pen: _Pen, c: Rgb) -> None:
    for k in range(12):
        x = 36 + 10 * k
        light = 1.15 - abs(k - 4) * 0.07
        pen.rectangle((x, 14, x + 10, 180), fill=shaded(c, light))
    pen.ellipse((36, 166, 156, 191), fill=shaded(c, 0.7))
    pen.ellipse((36, 2, 156, 30), fill=shaded(c, 1.2))
    for y in (52, 132):
        pen.rectangle((34, y, 158, y + 10), fill=shaded(c, 0.45))


def _sofa(pen: _Pen, c: Rgb) -> None:
    pen.rounded_rectangle((14, 40, 178, 150), 18, fill=shaded(c, 0.85))
    pen.rounded_rectangle((34, 104, 95, 148), 8, fill=shaded(c, 1.15))
    pen.rounded_rectangle((97, 104, 158, 148), 8, fill=shaded(c, 1.15))
    for x in (2, 158):
        pen.rounded_rectangle((x, 84, x + 32, 178), 12, fill=c)
    pen.rectangle((30, 148, 162, 176), fill=shaded(c, 0.7))
    for x in (12, 166):
        pen.rectangle((x, 176, x + 14, 191), fill=(70, 50, 36))


def _vase(pen: _Pen, c: Rgb) -> None:
    pen.ellipse((48, 62, 144, 176), fill=c)
    pen.ellipse((60, 76, 92, 140), fill=shaded(c, 1.35))
    pen.rectangle((78, 30, 114, 80), fill=shaded(c, 0.9))
    pen.ellipse((64, 20, 128, 42), fill=shaded(c, 1.1))
    pen.ellipse((76, 24, 116, 38), fill=shaded(c, 0.4))
    pen.polygon(((76, 168), (116, 168), (124, 191), (68, 191)), fill=shaded(c, 0.75))


def _clock(pen: _Pen, c: Rgb) -> None:
    pen.rectangle((58, 60, 134, 191), fill=shaded(c, 0.8))
    pen.rectangle((70, 104, 122, 178), fill=shaded(c, 0.55))
    pen.line((96, 104, 96, 150), fill=(235, 200, 90), width=4)
    pen.ellipse((86, 146, 106, 166), fill=(235, 200, 90))
    pen.polygon(((48, 30), (96, 2), (144, 30)), fill=c)
    pen.rectangle((50, 28, 142, 96), fill=c)
    pen.ellipse((66, 32, 126, 92), fill=(245, 243, 235))
    pen.line((96, 62, 96, 40), fill=(30, 30, 30), width=5)
    pen.line((96, 62, 112, 68), fill=(30, 30, 30), width=5)


def _cone(pen: _Pen, c: Rgb) -> None:
    pen.rounded_rectangle((22, 170, 170, 191), 6, fill=shaded(c, 0.7))
    pen.polygon(((88, 4), (104, 4), (148, 174), (44, 174)), fill=c)
    pen.polygon(((88, 4), (96, 4), (80, 174), (44, 174)), fill=shaded(c, 1.2))
    for low, high in ((64, 88), (112, 138)):
        left, right = (96 - 52 * y / 174 - 4 for y in (low, high))
        pen.polygon(
            ((left, low), (192 - left, low), (192 - right, high), (right, high)), fill=(240, 240, 236)
        )


_DRAWERS: dict[str, Callable[[_Pen, Rgb], None]] = {
    "chair": _chair,
    "lamp": _lamp,
    "plant": _plant,
    "barrel": _barrel,
    "sofa": _sofa,
    "vase": _vase,
    "clock": _clock,
    "cone": _cone,
}
