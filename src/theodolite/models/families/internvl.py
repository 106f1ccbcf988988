"""InternVL (the ``-hf`` checkpoints): the picture stretched over tiles, followed by the whole picture as a thumbnail."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

from theodolite.core.errors import UnsupportedError
from theodolite.geometry import TokenGrid
from theodolite.models.family import Family, PictureCrop, cut, setting, tiles, whole


class InternVL(Family):
    """Tiles row by row, the thumbnail last. A single tile has no thumbnail.

    The processor does not report how it tiled a picture, so its tiling function is called again.
    """

    def token_grids(
        self, processor: Any, sizes_px: Sequence[tuple[int, int]], inputs: Any
    ) -> list[TokenGrid]:
        """Return one token per block of shuffled patches, frame by frame. The projector's input is already shuffled."""
        tile = inputs["pixel_values"].shape[-1]
        patch = self.config.vision_config.patch_size[0]
        cell = round(patch / self.config.downsample_ratio)
        grids = []
        for size in sizes_px:
            rows, columns = _tiling(processor, size)
            frames = tiles(size, (rows, columns), tile)
            if rows * columns > 1:
                frames.append(PictureCrop(whole(size), tile, tile))
            grids.append(cut(size, frames, cell))
        return grids


def _tiling(processor: Any, size_px: tuple[int, int]) -> tuple[int, int]:
    """Return the number of rows and columns of tiles."""
    most = setting(processor, "max_patches")
    if not setting(processor, "crop_to_patches") or most <= 1:
        return 1, 1
    name = "get_optimal_tiled_canvas"
    image_processor = processor.image_processor
    module = sys.modules[type(image_processor).__module__]
    if not hasattr(module, name):
        raise UnsupportedError(f"the tiling of {type(image_processor).__name__} is unknown")
    width, height = size_px
    target = setting(processor, "size")
    tile = (target["height"], target["width"])
    columns, rows = getattr(module, name)((height, width), tile, setting(processor, "min_patches"), most)
    return rows, columns
