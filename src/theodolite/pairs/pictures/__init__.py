"""Edits of photographs, for use on their own.

Each takes a picture (or its pixels as an array) and returns a new `Picture` of the same size. Photographs are turned upright
first, as their EXIF data say. Results depend on the arguments alone.

- `mirror`, `flip`: left and right, or top and bottom, exchanged
- `light`, `noise`, `reencode`: brighter or darker, with noise, compressed as JPEG
- `exchange`, `move`, `remove`: two objects exchange their places, one moves, one is removed. Objects are `Cutout`s: a box,
  and an outline if it is known. An edit that would not look right raises an `UnfitError`
- `try_exchange`, `try_remove`, `Studio.attempt`: the same as an `Edited`, with its `Quality`, also where it is refused
- `neutral_exchange`, `neutral_move`, `neutral_removal`, `paste_in_place`: edits of the same kind and strength that leave the
  answer as it is
- `find_move`, `find_exchange`: where objects can go
- `developed`: originals stored as edits are, so that nothing but the edit tells them apart

>>> from theodolite.geometry import Box
>>> import numpy as np
>>> table = np.full((120, 160, 3), 90, np.uint8)
>>> table[50:70, 20:40] = 220
>>> cup, pen = Cutout(Box(20, 50, 40, 70)), Cutout(Box(70, 50, 90, 70))
>>> step = find_move(cup, pen, (160, 120), directions=["right"])
>>> step
(100, 0)
>>> int(move(table, cup, step).pixels()[60, 130, 0]), int(remove(table, cup).pixels()[60, 30, 0])
(220, 90)
"""

from theodolite.pairs.pictures.neutral import neutral_exchange, neutral_move, neutral_removal
from theodolite.pairs.pictures.objects import (
    Cutout,
    Edited,
    PlacingOptions,
    Studio,
    exchange,
    find_exchange,
    find_move,
    move,
    paste_in_place,
    remove,
    try_exchange,
    try_remove,
)
from theodolite.pairs.pictures.quality import Quality, Unfit, UnfitError
from theodolite.pairs.pictures.whole import developed, flip, light, mirror, noise, reencode

__all__ = [
    "Cutout",
    "Edited",
    "PlacingOptions",
    "Quality",
    "Studio",
    "Unfit",
    "UnfitError",
    "developed",
    "exchange",
    "find_exchange",
    "find_move",
    "flip",
    "light",
    "mirror",
    "move",
    "neutral_exchange",
    "neutral_move",
    "neutral_removal",
    "noise",
    "paste_in_place",
    "reencode",
    "remove",
    "try_exchange",
    "try_remove",
]
