"""Sheets of edited pictures, to check them by eye."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from theodolite.core.errors import StorageError, UsageError, reason_of
from theodolite.instruments.compass.data.pairs import Pair
from theodolite.instruments.compass.experiments.controls.plan import Edit, find_edits, studio_of
from theodolite.pairs.pictures.objects import PlacingOptions

if TYPE_CHECKING:
    from PIL.Image import Image

_TILE_PX, _MARGIN_PX, _CAPTION_PX, _LEAST_PX = (400, 320), 12, 26, 280
_REFERENCE, _TARGET, _INK, _PAPER = "#1f77ff", "#e8322a", "#222222", "#ffffff"


def write_sheets(
    pairs: Sequence[Pair],
    controls: Sequence[str],
    folder: Path,
    *,
    size: int,
    placing: PlacingOptions,
    seed: int,
) -> tuple[list[dict[str, Any]], list[Path]]:
    """Writes one sheet per control and pair.

    Args:
        pairs: To edit.
        controls: Some of `EDITS`.
        folder: Where to write.
        size: Pairs per control, drawn at random.
        placing: How objects are moved.
        seed: Seed of the draw.

    Returns:
        How many edits of each control could be made, and the files.

    Raises:
        StorageError: The folder cannot be written.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise StorageError(f"cannot write into {folder}: {reason_of(error)}; choose another --out") from error
    reports, written = [], []
    for control in controls:
        edits, report = find_edits(pairs, control, placing)
        reports.append(asdict(report))
        own: dict[str, list[Edit]] = {}
        for edit in edits:
            own.setdefault(edit.pair.id, []).append(edit)
        ids = np.random.default_rng(seed).permutation(sorted(own))[:size]
        for pair_id in sorted(ids.tolist()):
            path = folder / f"{control}-{pair_id.replace('/', '_')}.png"
            edit_sheet(own[pair_id]).save(path)
            written.append(path)
    return reports, written


def edit_sheet(edits: Sequence[Edit]) -> Image:
    """The plain picture of a pair and each of its edits, side by side: A in blue, B in red.

    Args:
        edits: Edits of one pair.
    """
    from PIL import Image, ImageDraw, ImageFont

    if not edits or len({edit.pair.id for edit in edits}) > 1:
        raise UsageError("a sheet shows the edits of a single pair")
    own = edits[0].pair
    words = [
        (f"{own.id}: where is the ", _INK),
        (own.target.name, _TARGET),
        (" relative to the ", _INK),
        (own.reference.name, _REFERENCE),
        ("?", _INK),
    ]
    tiles = [(_tile(own), f"plain: {own.direction}")]
    studio = studio_of(own)
    for edit in edits:
        pair = edit.edited(studio)
        tiles.append((_tile(pair), f"{edit.control}: {_caption(edit, pair)}"))
    across, down = tiles[0][0].size
    step = max(across, _LEAST_PX) + _MARGIN_PX
    height = down + 2 * _CAPTION_PX + 2 * _MARGIN_PX
    sheet = Image.new("RGB", (len(tiles) * step + _MARGIN_PX, height), _PAPER)
    draw = ImageDraw.Draw(sheet)
    font = ImageFont.load_default(15)
    at = float(_MARGIN_PX)
    for word, colour in words:
        draw.text((at, _MARGIN_PX // 2), word, fill=colour, font=font)
        at += draw.textlength(word, font=font)
    for i, (tile, caption) in enumerate(tiles):
        left, top = _MARGIN_PX + i * step, _CAPTION_PX + _MARGIN_PX
        sheet.paste(tile, (left, top))
        draw.text((left, top + down + 5), caption, fill=_INK, font=font)
    return sheet


def _caption(edit: Edit, pair: Pair) -> str:
    if edit.control == "joint-translation":
        way = {"above": "up", "below": "down"}.get(edit.probe, edit.probe)
        return f"moved {way}, still {pair.direction}"
    if edit.control == "swap-roles":
        return f"{pair.target.name} from {pair.reference.name}: {pair.direction}"
    return f"now {pair.direction}"


def _tile(pair: Pair) -> Image:
    from PIL import ImageDraw

    image = pair.picture.load()
    scale = min(_TILE_PX[0] / image.width, _TILE_PX[1] / image.height)
    tile = image.resize((max(1, round(image.width * scale)), max(1, round(image.height * scale))))
    draw = ImageDraw.Draw(tile)
    for region, colour in ((pair.reference, _REFERENCE), (pair.target, _TARGET)):
        box = region.box
        corners = [box.x0 * scale, box.y0 * scale, box.x1 * scale - 1, box.y1 * scale - 1]
        draw.rectangle(corners, outline=_PAPER, width=4)
        draw.rectangle(corners, outline=colour, width=2)
    return tile
