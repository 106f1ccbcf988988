"""Qwen2.5-VL: as Qwen2-VL, but the vision tower works window by window."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from theodolite.models.families.qwen2_vl import Qwen2VL


class Qwen25VL(Qwen2VL):
    """Inside the tower the merge blocks stand in the order of their windows; the tokens are put back row by row."""

    def block_order(self, rows: int, columns: int) -> NDArray[np.int64]:
        """Window by window, row by row within each; windows at the right and the bottom are cut off."""
        vision = self.config.vision_config
        side = vision.window_size // vision.spatial_merge_size // vision.patch_size
        row, column = np.divmod(np.arange(rows * columns), columns)
        return np.lexsort((column // side, row // side))
