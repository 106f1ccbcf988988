"""Gemma 3: the picture stretched to one square, and with pan and scan also crops of it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from theodolite.geometry import TokenGrid
from theodolite.models.family import Family, PictureCrop, Rect, cut, setting, whole


class Gemma3(Family):
    """The whole picture first, then its crops from left to right or top to bottom."""

    def token_grids(
        self, processor: Any, sizes_px: Sequence[tuple[int, int]], inputs: Any
    ) -> list[TokenGrid]:
        """Return one token per pooled patch, frame by frame and row by row."""
        vision = self.config.vision_config
        pooled = vision.image_size // vision.patch_size // math.isqrt(self.config.mm_tokens_per_image)
        return self._grids(processor, sizes_px, inputs, vision.patch_size * pooled)

    def feature_grids(
        self, processor: Any, sizes_px: Sequence[tuple[int, int]], inputs: Any
    ) -> list[TokenGrid]:
        """Return single patches, frame by frame and row by row."""
        return self._grids(processor, sizes_px, inputs, self.config.vision_config.patch_size)

    def _grids(
        self, processor: Any, sizes_px: Sequence[tuple[int, int]], inputs: Any, cell: int
    ) -> list[TokenGrid]:
        height, width = inputs["pixel_values"].shape[-2:]
        return [
            cut(
                size,
                [PictureCrop(region, width, height) for region in (whole(size), *_crops(processor, size))],
                cell,
            )
            for size in sizes_px
        ]


def _crops(processor: Any, size_px: tuple[int, int]) -> list[Rect]:
    """Return the regions of the crops that pan and scan takes from an elongated picture."""
    if not setting(processor, "do_pan_and_scan"):
        return []
    ratio = max(size_px) / min(size_px)
    if ratio < setting(processor, "pan_and_scan_min_ratio_to_activate"):
        return []
    smallest = setting(processor, "pan_and_scan_min_crop_size")
    n = max(2, min(max(size_px) // smallest, math.floor(ratio + 0.5)))
    n = min(setting(processor, "pan_and_scan_max_num_crops"), n)
    length = math.ceil(max(size_px) / n)
    if min(length, *size_px) < smallest:
        return []
    width, height = map(float, size_px)
    starts = [float(i * length) for i in range(n)]
    if width >= height:
        return [(start, 0.0, min(start + length, width), height) for start in starts]
    return [(0.0, start, width, min(start + length, height)) for start in starts]
