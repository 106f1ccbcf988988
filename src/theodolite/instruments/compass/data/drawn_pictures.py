"""Pictures of a few things on a random background, and where each is relative to the others.

Positions do not depend on names, so that only the picture gives a direction. `SHORTCUT` is a table of names: a pair is
*aligned* where it agrees with the picture and *crossed* where it does not.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw

from theodolite.geometry import Box
from theodolite.instruments.compass.data.things import THINGS, sprite
from theodolite.pairs.directions import OPPOSITE

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
class PlacedThing:
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
        """Of the square."""
        return self.x + self.side / 2, self.y + self.side / 2


@dataclass(frozen=True, slots=True)
class DrawnScene:
    """Everything that determines a picture."""

    things: tuple[PlacedThing, ...]
    ground: int
    """Seed of the background and its clutter."""

    def mirrored(self, *, across: bool) -> DrawnScene:
        """Positions mirrored left-right if `across`, else up-down; each thing keeps its own look."""
        return replace(
            self,
            things=tuple(
                replace(t, x=SIZE_PX - t.x - t.side) if across else replace(t, y=SIZE_PX - t.y - t.side)
                for t in self.things
            ),
        )

    def swapped(self, first: int, second: int) -> DrawnScene:
        """Two things with their places exchanged."""
        things = list(self.things)
        a, b = things[first], things[second]
        things[first], things[second] = replace(b, name=a.name), replace(a, name=b.name)
        return replace(self, things=tuple(things))


def direction(target: PlacedThing, reference: PlacedThing) -> str | None:
    """Where the target is, seen from the reference; None if it is between two directions."""
    (x, y), (x0, y0) = target.middle, reference.middle
    dx, dy = x - x0, y - y0
    slant = math.degrees(math.atan2(min(abs(dx), abs(dy)), max(abs(dx), abs(dy))))
    if slant > CLEAR_DEG:
        return None
    if abs(dx) > abs(dy):
        return "right" if dx > 0 else "left"
    return "below" if dy > 0 else "above"


def draw_scene(rng: np.random.Generator, n_things: int | None = None) -> DrawnScene:
    """Two to five things that do not touch."""
    n = n_things or int(rng.integers(2, 6))
    names = rng.permutation(len(THINGS))[:n]
    placed: list[PlacedThing] = []
    for name in names:
        for _ in range(200):
            side = int(rng.integers(46, 79))
            x, y = (int(v) for v in rng.integers(2, SIZE_PX - side - 1, 2))
            new = PlacedThing(THINGS[name], x, y, side)
            if all(not touch(new, other) for other in placed):
                placed.append(new)
                break
    if len(placed) < 2:
        return draw_scene(rng, n_things)
    return DrawnScene(tuple(placed), int(rng.integers(2**31)))


def touch(a: PlacedThing, b: PlacedThing, gap: int = 4) -> bool:
    """True if two squares are closer than a gap."""
    return (
        a.x < b.x + b.side + gap
        and b.x < a.x + a.side + gap
        and a.y < b.y + b.side + gap
        and b.y < a.y + a.side + gap
    )


def render(scene: DrawnScene) -> NDArray[np.uint8]:
    """The picture, (320, 320, 3)."""
    canvas = _ground(scene.ground)
    for thing in scene.things:
        cut = sprite(thing.name, thing.side)
        part = canvas[thing.y : thing.y + thing.side, thing.x : thing.x + thing.side]
        mask = cut[..., 3:].astype(np.uint16)
        part[:] = ((part * (255 - mask) + cut[..., :3] * mask + 127) // 255).astype(np.uint8)
    return canvas


def _ground(seed: int) -> NDArray[np.uint8]:
    """Soft patches of colour, grain, and faint lines, ellipses and bars."""
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
