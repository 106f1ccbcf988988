"""Everyday things drawn on a random background, and where each is relative to the others."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw

from theodolite.geometry import Box
from theodolite.geometry.directions import OPPOSITE

# Sixteen everyday things, drawn from simple shapes.


_Pen = ImageDraw.ImageDraw
_SIDE = 256
_INK = (40, 36, 40)


def _ball(pen: _Pen) -> None:
    pen.ellipse((8, 8, 248, 248), fill=(214, 60, 48))
    pen.pieslice((8, 8, 248, 248), 60, 120, fill=(250, 248, 240))
    pen.pieslice((8, 8, 248, 248), 240, 300, fill=(250, 248, 240))
    pen.ellipse((104, 104, 152, 152), fill=(250, 200, 50))


def _star(pen: _Pen) -> None:
    points = []
    for k in range(10):
        radius = 124 if k % 2 == 0 else 52
        turn = math.radians(36 * k - 90)
        points.append((128 + radius * math.cos(turn), 134 + radius * math.sin(turn)))
    pen.polygon(points, fill=(248, 196, 36), outline=(176, 120, 10), width=7)


def _heart(pen: _Pen) -> None:
    pen.ellipse((10, 26, 134, 150), fill=(226, 44, 88))
    pen.ellipse((122, 26, 246, 150), fill=(226, 44, 88))
    pen.polygon(((20, 118), (236, 118), (128, 246)), fill=(226, 44, 88))
    pen.ellipse((40, 50, 82, 86), fill=(250, 150, 176))


def _tree(pen: _Pen) -> None:
    pen.rectangle((106, 164, 150, 250), fill=(122, 78, 42))
    for x, y, r in ((128, 70, 64), (72, 116, 58), (184, 116, 58), (128, 136, 56)):
        pen.ellipse((x - r, y - r, x + r, y + r), fill=(46, 140, 62))
    pen.ellipse((84, 34, 138, 84), fill=(96, 184, 92))


def _house(pen: _Pen) -> None:
    pen.rectangle((34, 112, 222, 246), fill=(238, 220, 180), outline=_INK, width=6)
    pen.polygon(((8, 120), (248, 120), (128, 12)), fill=(176, 58, 46))
    pen.rectangle((106, 168, 152, 246), fill=(110, 70, 40))
    for x in (52, 168):
        pen.rectangle((x, 140, x + 38, 178), fill=(120, 190, 230), outline=_INK, width=4)


def _fish(pen: _Pen) -> None:
    pen.polygon(((168, 128), (250, 52), (250, 204)), fill=(226, 120, 30))
    pen.ellipse((6, 58, 200, 198), fill=(250, 150, 50))
    for x in (92, 132):
        pen.arc((x - 40, 62, x + 40, 194), 300, 60, fill=(250, 236, 210), width=12)
    pen.ellipse((38, 96, 66, 124), fill=(255, 255, 255))
    pen.ellipse((46, 103, 60, 117), fill=_INK)


def _car(pen: _Pen) -> None:
    pen.polygon(((62, 120), (88, 62), (176, 62), (206, 120)), fill=(60, 130, 210))
    pen.polygon(((82, 116), (100, 76), (128, 76), (128, 116)), fill=(214, 238, 250))
    pen.polygon(((138, 116), (138, 76), (168, 76), (188, 116)), fill=(214, 238, 250))
    pen.rounded_rectangle((6, 112, 250, 186), 22, fill=(46, 106, 190))
    for x in (62, 194):
        pen.ellipse((x - 34, 150, x + 34, 218), fill=_INK)
        pen.ellipse((x - 15, 169, x + 15, 199), fill=(200, 200, 204))


def _cup(pen: _Pen) -> None:
    pen.arc((150, 84, 246, 190), 250, 110, fill=(36, 140, 150), width=22)
    pen.polygon(((24, 56), (200, 56), (176, 226), (48, 226)), fill=(48, 170, 178))
    pen.ellipse((24, 34, 200, 80), fill=(30, 120, 128))
    pen.ellipse((40, 44, 184, 76), fill=(92, 56, 34))


def _key(pen: _Pen) -> None:
    pen.ellipse((6, 74, 114, 182), outline=(204, 156, 30), width=30)
    pen.rectangle((108, 114, 248, 142), fill=(204, 156, 30))
    for x in (186, 220):
        pen.rectangle((x, 136, x + 22, 188), fill=(204, 156, 30))


def _flower(pen: _Pen) -> None:
    pen.rectangle((120, 150, 136, 250), fill=(60, 150, 60))
    pen.ellipse((132, 186, 204, 222), fill=(60, 150, 60))
    for k in range(6):
        turn = math.radians(60 * k)
        x, y = 128 + 58 * math.cos(turn), 92 + 58 * math.sin(turn)
        pen.ellipse((x - 36, y - 36, x + 36, y + 36), fill=(196, 92, 200))
    pen.ellipse((96, 60, 160, 124), fill=(250, 214, 60))


def _umbrella(pen: _Pen) -> None:
    pen.rectangle((121, 120, 135, 214), fill=_INK)
    pen.arc((88, 186, 136, 244), 0, 180, fill=_INK, width=14)
    pen.pieslice((6, 12, 250, 256), 180, 360, fill=(106, 74, 190))
    pen.pieslice((66, 12, 190, 256), 180, 360, fill=(150, 122, 222))


def _mushroom(pen: _Pen) -> None:
    pen.rounded_rectangle((88, 120, 168, 246), 30, fill=(244, 232, 210))
    pen.pieslice((6, 16, 250, 260), 180, 360, fill=(200, 40, 36))
    for x, y, r in ((80, 96, 20), (140, 60, 22), (192, 104, 17)):
        pen.ellipse((x - r, y - r, x + r, y + r), fill=(252, 248, 240))


def _book(pen: _Pen) -> None:
    pen.polygon(((8, 60), (124, 84), (124, 228), (8, 202)), fill=(34, 120, 84))
    pen.polygon(((248, 60), (132, 84), (132, 228), (248, 202)), fill=(34, 120, 84))
    pen.polygon(((22, 44), (126, 72), (126, 212), (22, 186)), fill=(250, 246, 232))
    pen.polygon(((234, 44), (130, 72), (130, 212), (234, 186)), fill=(238, 232, 214))
    for y in (80, 110, 140):
        pen.line((38, y, 110, y + 19), fill=(150, 150, 150), width=6)
        pen.line((146, y + 19, 218, y), fill=(150, 150, 150), width=6)


def _clock(pen: _Pen) -> None:
    pen.ellipse((8, 8, 248, 248), fill=(70, 76, 92))
    pen.ellipse((30, 30, 226, 226), fill=(250, 250, 246))
    pen.line((128, 128, 128, 56), fill=_INK, width=12)
    pen.line((128, 128, 178, 152), fill=_INK, width=12)
    for k in range(12):
        turn = math.radians(30 * k)
        x, y = 128 + 84 * math.cos(turn), 128 + 84 * math.sin(turn)
        pen.ellipse((x - 6, y - 6, x + 6, y + 6), fill=_INK)


def _banana(pen: _Pen) -> None:
    pen.chord((-30, -120, 246, 216), 10, 130, fill=(248, 214, 50))
    pen.ellipse((-60, -150, 196, 130), fill=(0, 0, 0, 0))
    pen.polygon(((196, 48), (226, 40), (232, 92), (204, 92)), fill=(120, 90, 30))


def _moon(pen: _Pen) -> None:
    pen.ellipse((20, 8, 248, 248), fill=(214, 214, 232))
    pen.ellipse((-50, -20, 160, 214), fill=(0, 0, 0, 0))


_DRAWERS: Mapping[str, Callable[[_Pen], None]] = {
    "ball": _ball,
    "banana": _banana,
    "book": _book,
    "car": _car,
    "clock": _clock,
    "cup": _cup,
    "fish": _fish,
    "flower": _flower,
    "heart": _heart,
    "house": _house,
    "key": _key,
    "moon": _moon,
    "mushroom": _mushroom,
    "star": _star,
    "tree": _tree,
    "umbrella": _umbrella,
}
THINGS: tuple[str, ...] = tuple(_DRAWERS)
"""Their names, in alphabetical order."""


@lru_cache(maxsize=1024)
def sprite(name: str, side_px: int) -> NDArray[np.uint8]:
    """Draw a thing as an RGBA image, shape (side, side, 4)."""
    image = Image.new("RGBA", (_SIDE, _SIDE))
    _DRAWERS[name](ImageDraw.Draw(image))
    return np.asarray(image.resize((side_px, side_px), Image.Resampling.LANCZOS))


# Pictures of a few things on a random background, and their relative positions.
#
# Positions do not depend on names, so that only the picture gives a direction. `SHORTCUT` is a table of names: a pair is
# *aligned* where it agrees with the picture and *crossed* where it does not.


SIZE_PX = 320
CLEAR_DEG = 30.0
"""A direction is asked only where the line between the centres is this close to it."""
DIRECTIONS = ("left", "right", "above", "below")


def _table() -> dict[tuple[str, str], str]:
    rng = np.random.default_rng(20)
    table = {}
    for i, a in enumerate(THINGS):
        for b in THINGS[i + 1 :]:
            way = DIRECTIONS[int(rng.integers(4))]
            table[a, b], table[b, a] = way, OPPOSITE[way]
    return table


SHORTCUT = _table()
"""(target, reference) to direction: a rule that answers without the picture where it holds."""


@dataclass(frozen=True, slots=True)
class DrawnThing:
    """A thing and its square in pixels."""

    name: str
    x: int
    y: int
    side: int

    @property
    def box(self) -> Box:
        """The square."""
        return Box.from_xywh(float(self.x), float(self.y), self.side, self.side)

    @property
    def middle(self) -> tuple[float, float]:
        """The middle of the square."""
        return self.x + self.side / 2, self.y + self.side / 2


@dataclass(frozen=True, slots=True)
class DrawnScene:
    """Everything that determines a picture."""

    things: tuple[DrawnThing, ...]
    ground: int
    """Seed of the background and its clutter."""

    def mirrored(self, *, across: bool) -> DrawnScene:
        """Return the scene mirrored left-right if `across`, else up-down; each thing keeps its own look."""
        return replace(
            self,
            things=tuple(
                replace(t, x=SIZE_PX - t.x - t.side) if across else replace(t, y=SIZE_PX - t.y - t.side)
                for t in self.things
            ),
        )

    def swapped(self, first: int, second: int) -> DrawnScene:
        """Return the scene with two things exchanged."""
        things = list(self.things)
        a, b = things[first], things[second]
        things[first], things[second] = replace(b, name=a.name), replace(a, name=b.name)
        return replace(self, things=tuple(things))


def direction(target: DrawnThing, reference: DrawnThing) -> str | None:
    """Return where the target is, seen from the reference; None if it is between two directions."""
    (x, y), (x0, y0) = target.middle, reference.middle
    dx, dy = x - x0, y - y0
    slant = math.degrees(math.atan2(min(abs(dx), abs(dy)), max(abs(dx), abs(dy))))
    if slant > CLEAR_DEG:
        return None
    if abs(dx) > abs(dy):
        return "right" if dx > 0 else "left"
    return "below" if dy > 0 else "above"


def draw_scene(rng: np.random.Generator, n_things: int | None = None) -> DrawnScene:
    """Draw two to five things that do not touch."""
    n = n_things or int(rng.integers(2, 6))
    names = rng.permutation(len(THINGS))[:n]
    placed: list[DrawnThing] = []
    for name in names:
        for _ in range(200):
            side = int(rng.integers(46, 79))
            x, y = (int(v) for v in rng.integers(2, SIZE_PX - side - 1, 2))
            new = DrawnThing(THINGS[name], x, y, side)
            if all(not touch(new, other) for other in placed):
                placed.append(new)
                break
    if len(placed) < 2:
        return draw_scene(rng, n_things)
    return DrawnScene(tuple(placed), int(rng.integers(2**31)))


def touch(a: DrawnThing, b: DrawnThing, gap: int = 4) -> bool:
    """Return True if two squares are closer than a gap."""
    return (
        a.x < b.x + b.side + gap
        and b.x < a.x + a.side + gap
        and a.y < b.y + b.side + gap
        and b.y < a.y + a.side + gap
    )


def render(scene: DrawnScene) -> NDArray[np.uint8]:
    """Render the picture, (320, 320, 3)."""
    canvas = _ground(scene.ground)
    for thing in scene.things:
        cut = sprite(thing.name, thing.side)
        part = canvas[thing.y : thing.y + thing.side, thing.x : thing.x + thing.side]
        mask = cut[..., 3:].astype(np.uint16)
        part[:] = ((part * (255 - mask) + cut[..., :3] * mask + 127) // 255).astype(np.uint8)
    return canvas


def _ground(seed: int) -> NDArray[np.uint8]:
    """Draw soft patches of colour, grain, and faint lines, ellipses and bars."""
    rng = np.random.default_rng(seed)
    base = rng.uniform(70, 226) + rng.normal(0, 20, 3)
    cells = int(rng.integers(2, 7))
    patches = np.clip(
        base + rng.normal(0, 22, (cells, cells, 1)) + rng.normal(0, 9, (cells, cells, 3)), 24, 246
    ).astype(np.uint8)
    image = Image.fromarray(patches).resize((SIZE_PX, SIZE_PX), Image.Resampling.BICUBIC)
    pen = ImageDraw.Draw(image, "RGBA")
    for _ in range(int(rng.integers(0, 9))):
        colour = (*(int(v) for v in rng.integers(30, 226, 3)), int(rng.integers(40, 110)))
        x, y = rng.uniform(0, SIZE_PX, 2)
        wide, tall = rng.uniform(8, 90, 2)
        match int(rng.integers(3)):
            case 0:
                pen.line((x, y, x + wide, y + tall), fill=colour, width=int(rng.integers(2, 8)))
            case 1:
                pen.ellipse((x, y, x + wide, y + tall), fill=colour)
            case _:
                pen.rectangle((x, y, x + wide, y + tall), fill=colour)
    grain = rng.integers(-9, 10, (SIZE_PX // 2, SIZE_PX // 2, 1)).repeat(2, 0).repeat(2, 1)
    shown: NDArray[np.uint8] = np.clip(np.asarray(image).astype(np.int16) + grain, 0, 255).astype(np.uint8)
    return shown
