"""LLaVA-1.5 and its like: one square crop, one token per patch of the vision tower."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from theodolite.geometry import TokenGrid
from theodolite.models._family import Family


class Llava(Family):
    """Resize (by the shorter side, or to a fixed size), then perhaps a crop from the middle."""

    def token_grids(
        self, processor: Any, sizes_px: Sequence[tuple[int, int]], inputs: Any
    ) -> list[TokenGrid]:
        """Rows and columns of patches, over what the crop leaves of the picture."""
        height, width = inputs["pixel_values"].shape[-2:]
        shape = (height // processor.patch_size, width // processor.patch_size)
        return [TokenGrid.regular(size, shape, _region(processor.image_processor, size)) for size in sizes_px]


def _region(image_processor: Any, size_px: tuple[int, int]) -> tuple[float, float, float, float]:
    """The part of the original picture that survives resizing and cropping, in its own pixels."""
    width, height = size_px
    resized_width, resized_height = width, height
    if image_processor.do_resize:
        target = image_processor.size
        if "shortest_edge" in target:
            # transformers scales the shorter side exactly and truncates the longer one
            short = target["shortest_edge"]
            if width <= height:
                resized_width, resized_height = short, int(short * height / width)
            else:
                resized_width, resized_height = int(short * width / height), short
        else:
            resized_width, resized_height = target["width"], target["height"]
    crop_width, crop_height = resized_width, resized_height
    if getattr(image_processor, "do_center_crop", False):
        crop_width, crop_height = image_processor.crop_size["width"], image_processor.crop_size["height"]
    left, top = (resized_width - crop_width) // 2, (resized_height - crop_height) // 2
    across, down = width / resized_width, height / resized_height
    return left * across, top * down, (left + crop_width) * across, (top + crop_height) * down
