"""Qwen2.5-VL: like Qwen2-VL, but the vision tower uses windowed attention."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from theodolite.models.families.qwen2_vl import Qwen2VL


class Qwen25VL(Qwen2VL):
    """Inside the tower the merge blocks are ordered by window; the tokens are in row order again."""

    def block_order(self, rows: int, columns: int) -> NDArray[np.int64]:
        """Order by window, and by row within each. Windows at the right and bottom may be incomplete."""
        vision = self.config.vision_config
        side = vision.window_size // vision.spatial_merge_size // vision.patch_size
        row, column = np.divmod(np.arange(rows * columns), columns)
        return np.lexsort((column // side, row // side))
