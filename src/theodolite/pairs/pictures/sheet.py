"""Sheets of edited photographs, to look at: before, after, what was changed, and the reason against it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from theodolite.core.drawing import FAINT, GROUND, INK, QUIET, REFERENCE, TARGET
from theodolite.core.errors import UsageError
from theodolite.core.types import Picture
from theodolite.geometry import Box
from theodolite.pairs.pictures.objects import Edited

if TYPE_CHECKING:
    from PIL.Image import Image
    from PIL.ImageDraw import ImageDraw
    from PIL.ImageFont import FreeTypeFont, ImageFont

__all__ = ["SheetEntry", "edit_sheet"]

_TILE_PX, _GAP_PX, _MARGIN_PX, _LINE_PX, _FONT_PX = (260, 210), 4, 20, 19, 14
_PAIRS_ACROSS = 3


@dataclass(frozen=True, slots=True)
class SheetEntry:
    """An edit on a sheet."""

    before: Picture
    edited: Edited
    caption: str


def edit_sheet(entries: Sequence[SheetEntry]) -> Image:
    """Draw photographs before and after an edit side by side. A blue box is where an object was, a red one where it is.

    Args:
        entries: The edits, at least one.
    """
    from PIL import Image, ImageDraw, ImageFont

    if not entries:
        raise UsageError("there is no edit to draw")
    font = ImageFont.load_default(_FONT_PX)
    across = min(_PAIRS_ACROSS, len(entries))
    wide = 2 * _TILE_PX[0] + _GAP_PX
    high = _TILE_PX[1] + 2 * _LINE_PX + _GAP_PX
    rows = -(-len(entries) // across)
    size = across * (wide + _MARGIN_PX) + _MARGIN_PX, rows * (high + _MARGIN_PX) + _MARGIN_PX
    sheet = Image.new("RGB", size, GROUND)
    draw = ImageDraw.Draw(sheet)
    for number, entry in enumerate(entries):
        left = _MARGIN_PX + number % across * (wide + _MARGIN_PX)
        top = _MARGIN_PX + number // across * (high + _MARGIN_PX)
        changed = entry.edited.changed
        old = [thing.box for thing, _ in changed]
        new = [thing.box.moved(*step) for thing, step in changed if step is not None]
        sheet.paste(_tile(entry.before, old, REFERENCE), (left, top))
        if entry.edited.picture is None:
            _empty(draw, (left + _TILE_PX[0] + _GAP_PX, top), font)
        else:
            drawn = _tile(entry.edited.picture, new, TARGET)
            sheet.paste(drawn, (left + _TILE_PX[0] + _GAP_PX, top))
        fault = entry.edited.quality.fault
        lines = [(entry.caption, INK), (fault.value if fault else _measured(entry.edited), QUIET)]
        for line, (text, colour) in enumerate(lines):
            at = left, top + _TILE_PX[1] + _GAP_PX + line * _LINE_PX
            draw.text(at, _cut(text, wide, font), fill=colour, font=font)
    return sheet


def _measured(edited: Edited) -> str:
    return "  ".join(f"{name} {value:.2g}" for name, value in edited.quality.measures.items())


def _cut(text: str, wide: int, font: FreeTypeFont | ImageFont) -> str:
    """Return as much of a text as a line has room for."""
    if font.getlength(text) <= wide:
        return text
    while text and font.getlength(text + "…") > wide:
        text = text[:-1]
    return text + "…"


def _empty(draw: ImageDraw, at: tuple[int, int], font: FreeTypeFont | ImageFont) -> None:
    """Draw a place without a picture."""
    corner = at[0] + _TILE_PX[0], at[1] + _TILE_PX[1]
    draw.rectangle((*at, *corner), fill=FAINT)
    middle = (at[0] + corner[0]) / 2, (at[1] + corner[1]) / 2
    draw.text(middle, "not drawn", fill=QUIET, font=font, anchor="mm")


def _tile(picture: Picture, boxes: Sequence[Box], colour: str) -> Image:
    from PIL import Image, ImageDraw

    image = picture.load()
    scale = min(_TILE_PX[0] / image.width, _TILE_PX[1] / image.height)
    small = image.resize(
        (max(1, round(image.width * scale)), max(1, round(image.height * scale))), Image.Resampling.LANCZOS
    )
    draw = ImageDraw.Draw(small)
    for box in boxes:
        corners = [
            box.x0 * scale - 2,
            box.y0 * scale - 2,
            max(box.x1 * scale, box.x0 * scale + 1) + 1,
            max(box.y1 * scale, box.y0 * scale + 1) + 1,
        ]
        draw.rectangle(corners, outline=GROUND, width=3)
        draw.rectangle(corners, outline=colour, width=2)
    tile = Image.new("RGB", _TILE_PX, GROUND)
    tile.paste(small, ((_TILE_PX[0] - small.width) // 2, (_TILE_PX[1] - small.height) // 2))
    return tile
