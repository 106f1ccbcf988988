"""LLaVA-1.5 and similar models: one crop, one token per patch of the vision tower."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from theodolite.core.errors import UnsupportedError
from theodolite.geometry import TokenGrid
from theodolite.models.family import Family, PictureCrop, cut, square, whole


class Llava(Family):
    """Optionally padded to a square; resized by the shorter side or to a fixed size; optionally centre-cropped."""

    def token_grids(
        self, processor: Any, sizes_px: Sequence[tuple[int, int]], inputs: Any
    ) -> list[TokenGrid]:
        """Return one token per patch of the cropped part of the picture, row by row."""
        if "image_sizes" in inputs:
            raise UnsupportedError(
                "LLaVA with a vision tower for pictures of any size (Pixtral) is not supported"
            )
        height, width = inputs["pixel_values"].shape[-2:]
        # The tower's class token comes first, if it is kept.
        n_summaries = processor.num_additional_image_tokens - (
            processor.vision_feature_select_strategy == "default"
        )
        grids = []
        for size in sizes_px:
            frame = PictureCrop(_region(processor.image_processor, size, (width, height)), width, height)
            grid = cut(size, [frame], self.config.vision_config.patch_size)
            grids.append(_after(n_summaries, grid) if n_summaries > 0 else grid)
        return grids


def _after(n: int, grid: TokenGrid) -> TokenGrid:
    """Prepend n tokens without a position to a grid."""
    rects = np.concatenate([np.full((n, 4), np.nan), grid.rects_px])
    return TokenGrid(
        rects, grid.width_px, grid.height_px, np.concatenate([np.full(n, -1, np.int64), grid.part])
    )


def _region(
    image_processor: Any, size_px: tuple[int, int], frame: tuple[int, int]
) -> tuple[float, float, float, float]:
    """Return the region of the original picture that a frame shows, in pixels of that picture."""
    pads = bool(image_processor.do_pad) and hasattr(image_processor, "pad_to_square")
    x0, y0, x1, y1 = square(size_px) if pads else whole(size_px)
    width, height = _resized(image_processor, (int(x1 - x0), int(y1 - y0)))
    across, down = (x1 - x0) / width, (y1 - y0) / height
    left = top = 0
    if image_processor.do_center_crop:
        left, top = (
            _middle(whole_side - crop_side, image_processor.backend)
            for whole_side, crop_side in zip((width, height), frame, strict=True)
        )
    return (
        x0 + left * across,
        y0 + top * down,
        x0 + (left + frame[0]) * across,
        y0 + (top + frame[1]) * down,
    )


def _middle(surplus: int, backend: str) -> int:
    """Return the start of a centre crop. Negative if the crop is larger than the picture.

    The two backends of transformers round differently when they pad.
    """
    return math.floor(surplus / 2) if backend == "pil" else math.trunc(surplus / 2)


def _resized(image_processor: Any, size: tuple[int, int]) -> tuple[int, int]:
    if not image_processor.do_resize:
        return size
    width, height = size
    target = image_processor.size
    if "height" in target and "width" in target:
        return target["width"], target["height"]
    if "shortest_edge" in target and "longest_edge" not in target:
        # transformers scales the shorter side exactly and truncates the longer one
        short = target["shortest_edge"]
        if width <= height:
            return short, int(short * height / width)
        return int(short * width / height), short
    raise UnsupportedError(
        f"the positions of LLaVA's tokens are unknown for pictures resized to {dict(target)}"
    )
