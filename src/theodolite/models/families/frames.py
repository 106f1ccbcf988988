"""Frames: the parts of a picture that a vision tower processes separately, each divided into equal cells."""

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
    """The region in pixels of the original picture. It extends beyond the picture where the frame is padded."""
    width: int
    """Width of the resized frame in pixels."""
    height: int

    def shape(self, cell: int) -> tuple[int, int]:
        """Number of rows and columns of whole cells, given the cell size in pixels."""
        return self.height // cell, self.width // cell

    def seen_px(self, cell: int) -> Rect:
        """The part of the region covered by whole cells.

        A convolution drops the rest at the right and bottom: patches of 14 pixels cover 378 of 384 pixels.
        """
        rows, columns = self.shape(cell)
        x0, y0, x1, y1 = self.region_px
        across, down = columns * cell / self.width, rows * cell / self.height
        return x0, y0, x0 + (x1 - x0) * across, y0 + (y1 - y0) * down


def cut(size_px: tuple[int, int], frames: Sequence[Frame], cell: int) -> TokenGrid:
    """Return the cells of all frames, frame by frame and row by row. Each frame is one part of the grid.

    Args:
        size_px: Size of the original picture, as (width, height).
        frames: The frames in the order of the vision tower.
        cell: Side of a token in pixels of a frame.
    """
    rects = [lattice(frame.shape(cell), frame.seen_px(cell)) for frame in frames]
    part = np.repeat(np.arange(len(frames)), [len(each) for each in rects])
    return TokenGrid(np.concatenate(rects), *size_px, part)


def whole(size_px: tuple[int, int]) -> Rect:
    """The region of the whole picture."""
    return 0.0, 0.0, float(size_px[0]), float(size_px[1])


def square(size_px: tuple[int, int]) -> Rect:
    """The region after transformers pads a picture to a square: evenly on both sides, an odd pixel at the end."""
    width, height = size_px
    side = max(width, height)
    left, top = (side - width) // 2, (side - height) // 2
    return float(-left), float(-top), float(side - left), float(side - top)


def tiles(size_px: tuple[int, int], shape: tuple[int, int], tile: int) -> list[Frame]:
    """Divide the picture into rows and columns of square tiles, row by row, stretching it to fit."""
    return [Frame((x0, y0, x1, y1), tile, tile) for x0, y0, x1, y1 in lattice(shape, whole(size_px)).tolist()]


def setting(processor: Any, name: str) -> Any:
    """Return an image setting as used by a plain call of the processor.

    The defaults of the processor's class override the checkpoint's image processor: InternVL's processor cuts tiles and
    Gemma 3's does not pan and scan, whatever preprocessor_config.json contains.
    """
    former = processor.valid_processor_kwargs._defaults.get("images_kwargs", {})  # noqa: SLF001 - transformers below 5.23
    defaults = {**former, **getattr(type(processor), "images_kwargs", {})}
    return defaults[name] if name in defaults else getattr(processor.image_processor, name)
