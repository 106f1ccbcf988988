"""Qwen2-VL and Qwen3-VL: any size, sides rounded to whole tokens; each token merges 2 × 2 patches."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from theodolite.geometry import TokenGrid
from theodolite.models.family import Family


class Qwen2VL(Family):
    """The whole picture is resized, width and height independently; nothing is cropped.

    Qwen3-VL differs only internally: patches of 16 pixels, and vision features that also enter the first language
    layers (deepstack), each at the position of its token.
    """

    def token_grids(
        self, processor: Any, sizes_px: Sequence[tuple[int, int]], inputs: Any
    ) -> list[TokenGrid]:
        """Return one token per merged block of patches, row by row."""
        merge = processor.image_processor.merge_size
        return [
            TokenGrid.regular(size, (rows // merge, columns // merge))
            for size, (_, rows, columns) in zip(sizes_px, inputs["image_grid_thw"].tolist(), strict=True)
        ]

    def feature_grids(
        self, processor: Any, sizes_px: Sequence[tuple[int, int]], inputs: Any
    ) -> list[TokenGrid]:
        """Return single patches in the order of the vision tower: by merge block, and by row within each."""
        merge = processor.image_processor.merge_size
        grids = []
        for size, (_, rows, columns) in zip(sizes_px, inputs["image_grid_thw"].tolist(), strict=True):
            plain = TokenGrid.regular(size, (rows, columns))
            patches = np.arange(rows * columns).reshape(rows // merge, merge, columns // merge, merge)
            blocks = patches.transpose(0, 2, 1, 3).reshape(-1, merge * merge)
            order = blocks[self.block_order(rows // merge, columns // merge)].ravel()
            grids.append(TokenGrid(plain.rects_px[order], plain.width_px, plain.height_px, plain.part))
        return grids

    def block_order(self, rows: int, columns: int) -> NDArray[np.int64]:
        """Return the order of the merge blocks in the vision tower, as row-major indices."""
        return np.arange(rows * columns)

    def projector(self, model: Any) -> Any:
        """Return the merger, which converts patches to tokens."""
        return model.model.visual.merger


# Qwen2.5-VL: like Qwen2-VL, but the vision tower uses windowed attention.


class Qwen25VL(Qwen2VL):
    """Inside the tower the merge blocks are ordered by window; the tokens are in row order again."""

    def block_order(self, rows: int, columns: int) -> NDArray[np.int64]:
        """Order by window, and by row within each. Windows at the right and bottom edges may be incomplete."""
        vision = self.config.vision_config
        side = vision.window_size // vision.spatial_merge_size // vision.patch_size
        row, column = np.divmod(np.arange(rows * columns), columns)
        return np.lexsort((column // side, row // side))
