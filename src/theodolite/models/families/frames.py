"""Frames: the pieces of a picture that a vision tower sees one by one, each cut into equal cells."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from theodolite.geometry import TokenGrid, lattice

Rect = tuple[float, float, float, float]
"""x0, y0, x1, y1."""


@dataclass(frozen=True, slots=True)
class Frame:
    """A rectangle of the original picture, resized for the vision tower."""

    region_px: Rect
    """What it shows, in the original picture's pixels; beyond the picture where it is padded."""
    width: int
    """In its own pixels, after resizing."""
    height: int

    def shape(self, cell: int) -> tuple[int, int]:
        """Rows and columns of whole cells of that many pixels."""
        return self.height // cell, self.width // cell

    def seen_px(self, cell: int) -> Rect:
        """The part of the region that whole cells cover.

        A convolution drops what is left over at the right and the bottom: of a side of 384 pixels, patches of 14
        see 378.
        """
        rows, columns = self.shape(cell)
        x0, y0, x1, y1 = self.region_px
        across, down = columns * cell / self.width, rows * cell / self.height
        return x0, y0, x0 + (x1 - x0) * across, y0 + (y1 - y0) * down


def cut(size_px: tuple[int, int], frames: Sequence[Frame], cell: int) -> TokenGrid:
    """The cells of all frames, frame by frame and row by row; each frame is a part of its own.

    Args:
        size_px: of the original picture, as (width, height).
        frames: in the order in which the tower sees them.
        cell: how many pixels of a frame make one side of a token.
    """
    rects = [lattice(frame.shape(cell), frame.seen_px(cell)) for frame in frames]
    part = np.repeat(np.arange(len(frames)), [len(each) for each in rects])
    return TokenGrid(np.concatenate(rects), *size_px, part)


def whole(size_px: tuple[int, int]) -> Rect:
    """The region that is the whole picture."""
    return 0.0, 0.0, float(size_px[0]), float(size_px[1])


def square(size_px: tuple[int, int]) -> Rect:
    """The region after transformers pads a picture to a square: as much on both sides, the odd pixel after it."""
    width, height = size_px
    side = max(width, height)
    left, top = (side - width) // 2, (side - height) // 2
    return float(-left), float(-top), float(side - left), float(side - top)


def tiles(size_px: tuple[int, int], shape: tuple[int, int], tile: int) -> list[Frame]:
    """The picture stretched over rows and columns of square tiles, row by row."""
    return [Frame((x0, y0, x1, y1), tile, tile) for x0, y0, x1, y1 in lattice(shape, whole(size_px)).tolist()]


def setting(processor: Any, name: str) -> Any:
    """An image setting as a plain call of the processor uses it.

    What a processor's class names as its default goes before what the checkpoint's image processor says: InternVL's
    cuts tiles and Gemma 3's does not scan, whatever preprocessor_config.json may hold.
    """
    defaults = processor.valid_processor_kwargs._defaults.get("images_kwargs", {})  # noqa: SLF001 - no public way
    return defaults[name] if name in defaults else getattr(processor.image_processor, name)
