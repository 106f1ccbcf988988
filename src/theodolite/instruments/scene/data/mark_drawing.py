"""Numbered marks on a picture: how they are drawn."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from theodolite.core.types import Pixels
from theodolite.instruments.scene.data.marks import PlacedMark

if TYPE_CHECKING:
    from PIL.Image import Image

_SHARPNESS = 4


def draw_marks(picture: Pixels, marks: Sequence[PlacedMark]) -> Pixels:
    """The picture with its marks: lines first, then discs."""
    from PIL import Image, ImageDraw

    base = Image.fromarray(picture).convert("RGB")
    lines = Image.new("L", (base.width * 2, base.height * 2), 0)
    halo = Image.new("L", (base.width * 2, base.height * 2), 0)
    for mark in marks:
        if mark.has_line:
            ends = [(2 * v[0], 2 * v[1]) for v in (mark.centre_px, mark.anchor_px)]
            dot = 0.28 * mark.radius_px * 2
            for layer, extra in ((halo, 2.0), (lines, 0.0)):
                pen = ImageDraw.Draw(layer)
                pen.line(ends, fill=255, width=round(0.22 * mark.radius_px * 2 + 2 * extra))
                (x, y), reach = ends[1], dot + extra
                pen.ellipse((x - reach, y - reach, x + reach, y + reach), fill=255)
    for layer, colour in ((halo, (20, 20, 24)), (lines, (255, 255, 255))):
        base.paste(colour, mask=layer.resize(base.size, Image.Resampling.BOX))
    for mark in marks:
        disc = _disc(mark.id, round(mark.radius_px, 1))
        place = (round(mark.centre_px[0] - disc.width / 2), round(mark.centre_px[1] - disc.height / 2))
        base.paste(disc, place, mask=disc.getchannel("A"))
    return np.asarray(base)


@lru_cache(maxsize=512)
def _disc(number: int, radius_px: float) -> Image:
    """A dark disc with a white rim and a white number, drawn large and scaled down."""
    from PIL import Image, ImageDraw, ImageFont

    side = 2 * math.ceil(radius_px) + 3
    big = side * _SHARPNESS
    disc = Image.new("RGBA", (big, big), (0, 0, 0, 0))
    pen = ImageDraw.Draw(disc)
    middle, r = big / 2, radius_px * _SHARPNESS
    pen.ellipse((middle - r, middle - r, middle + r, middle + r), fill=(255, 255, 255, 255))
    inner = 0.86 * r
    pen.ellipse((middle - inner, middle - inner, middle + inner, middle + inner), fill=(18, 20, 26, 255))
    text = str(number)
    font = ImageFont.load_default(size=r * (1.36 if len(text) == 1 else 1.12))
    pen.text(
        (middle, middle),
        text,
        font=font,
        anchor="mm",
        fill=(255, 255, 255, 255),
        stroke_width=round(r * 0.035),
    )
    return disc.resize((side, side), Image.Resampling.LANCZOS)
