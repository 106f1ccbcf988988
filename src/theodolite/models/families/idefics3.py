"""Idefics3 and SmolVLM: the picture stretched over square tiles, followed by the whole picture."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from theodolite.geometry import TokenGrid
from theodolite.models.family import Decoder, Family, PictureCrop, cut, setting, tiles, whole

_LONGEST = 4096
"""Maximum length of a side, independent of the checkpoint."""


class Idefics3(Family):
    """Tiles row by row, separated by text tokens; the whole picture last."""

    def token_grids(
        self, processor: Any, sizes_px: Sequence[tuple[int, int]], inputs: Any
    ) -> list[TokenGrid]:
        """Return one token per block of shuffled patches, frame by frame and row by row."""
        cell = self.config.vision_config.patch_size * self.config.scale_factor
        return [cut(size, _frames(processor, size, inputs), cell) for size in sizes_px]

    def feature_grids(
        self, processor: Any, sizes_px: Sequence[tuple[int, int]], inputs: Any
    ) -> list[TokenGrid]:
        """Return single patches, frame by frame and row by row."""
        patch = self.config.vision_config.patch_size
        return [cut(size, _frames(processor, size, inputs), patch) for size in sizes_px]

    def decoder(self, model: Any) -> Decoder:
        """Return the language blocks, the final norm and the head."""
        language = model.model.text_model
        return Decoder(language.layers, language.norm, model.get_output_embeddings())

    def projector(self, model: Any) -> Any:
        """Return the connector, which shuffles patches into tokens."""
        return model.model.connector


def _frames(processor: Any, size_px: tuple[int, int], inputs: Any) -> list[PictureCrop]:
    tile = inputs["pixel_values"].shape[-1]
    frames = []
    if setting(processor, "do_image_splitting"):
        rows, columns = _tiling(processor, size_px)
        if rows * columns > 1:
            frames = tiles(size_px, (rows, columns), tile)
    return [*frames, PictureCrop(whole(size_px), tile, tile)]


def _tiling(processor: Any, size_px: tuple[int, int]) -> tuple[int, int]:
    """Return the number of rows and columns of tiles.

    This does not use the image processor's ``get_number_of_image_patches``, which scales the shorter side differently
    from the actual splitting.
    """
    tile = setting(processor, "max_image_size")["longest_edge"]
    size = size_px
    if setting(processor, "do_resize"):
        target = setting(processor, "size")
        if "longest_edge" in target:
            size = _even(_scaled(size, target["longest_edge"]), size)
            size = _scaled(size, _LONGEST) if max(size) > _LONGEST else size
        else:
            size = target["width"], target["height"]
    width, height = _scaled(size, math.ceil(max(size) / tile) * tile)
    return math.ceil(height / tile), math.ceil(width / tile)


def _scaled(size: tuple[int, int], long: int) -> tuple[int, int]:
    """Scale the longer side to a length. The shorter side is scaled with it, truncated, and at least 1."""
    width, height = size
    ratio = width / height
    if width >= height:
        return long, max(1, int(long / ratio))
    return max(1, int(long * ratio)), long


def _even(size: tuple[int, int], before: tuple[int, int]) -> tuple[int, int]:
    """Round the originally shorter side up to an even length."""
    width, height = size
    return (width, height + height % 2) if before[0] >= before[1] else (width + width % 2, height)
