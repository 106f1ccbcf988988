"""LLaVA-OneVision: the whole picture, then the picture on a canvas of tiles, unpadded, with learned line breaks."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from theodolite.geometry import TokenGrid
from theodolite.models.family import Family, PictureCrop, cut, square, whole


class LlavaOnevision(Family):
    """A single picture in a request is tiled. Several pictures are each padded to a square, with one line break.

    On the canvas, the features of the tiles are joined, cropped to the picture and downsampled if they are too many.
    Each row ends in a learned line break, which has no position.
    """

    def token_grids(
        self, processor: Any, sizes_px: Sequence[tuple[int, int]], inputs: Any
    ) -> list[TokenGrid]:
        """Return the whole picture as part 0 and each tile as a further part; if downsampled, all tiles are part 1."""
        grids = []
        for size, is_alone in zip(sizes_px, _alone(inputs), strict=True):
            base = cut(size, [self._base(size, inputs, tiled=is_alone)], self._patch)
            rects, part = [base.rects_px], [base.part]
            if is_alone:
                rows, columns, tile_of = self._unpadded(self._canvas(processor, size, inputs), size)
                ends = np.full((len(rows), 1, 4), np.nan)
                lines = np.concatenate([_boxes(rows, columns), ends], axis=1)
                numbers = np.concatenate([tile_of + 1, np.full((len(rows), 1), -1)], axis=1)
                rects.append(lines.reshape(-1, 4))
                part.append(numbers.ravel())
            else:
                rects.append(np.full((1, 4), np.nan))
                part.append(np.array([-1]))
            grids.append(TokenGrid(np.concatenate(rects), *size, np.concatenate(part)))
        return grids

    def feature_grids(
        self, processor: Any, sizes_px: Sequence[tuple[int, int]], inputs: Any
    ) -> list[TokenGrid]:
        """Return single patches: the whole picture, then tile by tile, including padding."""
        grids = []
        for size, is_alone in zip(sizes_px, _alone(inputs), strict=True):
            frames = [self._base(size, inputs, tiled=is_alone)]
            if is_alone:
                frames += self._canvas(processor, size, inputs).frames
            grids.append(cut(size, frames, self._patch))
        return grids

    @property
    def _patch(self) -> int:
        return int(self.config.vision_config.patch_size)

    def _base(self, size_px: tuple[int, int], inputs: Any, *, tiled: bool) -> PictureCrop:
        height, width = inputs["pixel_values"].shape[-2:]
        return PictureCrop(whole(size_px) if tiled else square(size_px), width, height)

    def _canvas(self, processor: Any, size_px: tuple[int, int], inputs: Any) -> _Canvas:
        from transformers.image_processing_utils import get_patch_output_size, select_best_resolution

        width, height = size_px
        canvas_height, canvas_width = select_best_resolution(
            (height, width), processor.image_processor.image_grid_pinpoints
        )
        blank = np.broadcast_to(np.uint8(0), (3, height, width))
        resized_height, resized_width = get_patch_output_size(
            blank, (canvas_height, canvas_width), "channels_first"
        )
        return _Canvas(
            width=canvas_width,
            height=canvas_height,
            tile=inputs["pixel_values"].shape[-1],
            left=(canvas_width - resized_width) // 2,
            top=(canvas_height - resized_height) // 2,
            scale_x=width / resized_width,
            scale_y=height / resized_height,
        )

    def _unpadded(
        self, canvas: _Canvas, size_px: tuple[int, int]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.int64]]:
        """Return the extents of the rows and columns of the canvas's tokens, and the tile of each token.

        Returns:
            Rows (n, 2) and columns (m, 2) in pixels of the original picture, and tile indices (n, m), row by row.
        """
        side = canvas.tile // self._patch
        n_rows, n_columns = canvas.height // canvas.tile * side, canvas.width // canvas.tile * side
        row_pad, column_pad = _padding(size_px, (n_columns, n_rows))
        rows, columns = n_rows - 2 * row_pad, n_columns - 2 * column_pad
        most = int(self.config.vision_aspect_ratio.strip("anyres_max_"))  # noqa: B005 - as the model reads it
        shrink = math.sqrt(rows * columns / (most * side**2))
        is_shrunk = shrink > 1.1
        out = (int(rows // shrink), int(columns // shrink)) if is_shrunk else (rows, columns)
        down = row_pad + np.arange(out[0] + 1) * rows / out[0]
        across = column_pad + np.arange(out[1] + 1) * columns / out[1]
        tile_of = (down[:-1, None] // side) * (n_columns // side) + across[None, :-1] // side
        return (
            canvas.rows_px(_in_tiles(down, side, self._patch, canvas.tile)),
            canvas.columns_px(_in_tiles(across, side, self._patch, canvas.tile)),
            np.zeros(out, np.int64) if is_shrunk else tile_of.astype(np.int64),
        )


@dataclass(frozen=True, slots=True)
class _Canvas:
    """A canvas of whole tiles with the resized picture at its centre, surrounded by padding."""

    width: int
    height: int
    tile: int
    """Side of a tile. All three are in pixels of the canvas."""
    left: int
    top: int
    scale_x: float
    """Pixels of the original picture per pixel of the canvas."""
    scale_y: float

    def columns_px(self, x: NDArray[np.float64]) -> NDArray[np.float64]:
        """Convert x from the canvas to the original picture."""
        return (x - self.left) * self.scale_x

    def rows_px(self, y: NDArray[np.float64]) -> NDArray[np.float64]:
        """Convert y from the canvas to the original picture."""
        return (y - self.top) * self.scale_y

    @property
    def frames(self) -> list[PictureCrop]:
        """The tiles, row by row."""
        rows = self.rows_px(np.arange(0.0, self.height + 1, self.tile))
        columns = self.columns_px(np.arange(0.0, self.width + 1, self.tile))
        boxes = _boxes(np.stack([rows[:-1], rows[1:]], 1), np.stack([columns[:-1], columns[1:]], 1))
        return [
            PictureCrop((x0, y0, x1, y1), self.tile, self.tile)
            for x0, y0, x1, y1 in boxes.reshape(-1, 4).tolist()
        ]


def _alone(inputs: Any) -> list[bool]:
    """Return, for each picture of the batch, True if it is the only one of its request."""
    return [n == 1 for n in inputs["batch_num_images"].tolist() for _ in range(n)]


def _padding(size_px: tuple[int, int], grid: tuple[int, int]) -> tuple[int, int]:
    """Return the number of feature rows and columns that are cropped at each end."""
    (width, height), (columns, rows) = size_px, grid
    if width / height > columns / rows:
        return (rows - int(round(height * (columns / width), 7))) // 2, 0
    return 0, (columns - int(round(width * (rows / height), 7))) // 2


def _in_tiles(edges: NDArray[np.float64], side: int, patch: int, tile: int) -> NDArray[np.float64]:
    """Convert patch counts to starts and ends in pixels of the canvas, shape (n, 2).

    If patches do not divide a tile evenly, the tile is slightly longer than its patches. A token ends before that
    remainder, and the next one begins after it.
    """
    edges = edges.round(9)
    starts = edges // side * tile + edges % side * patch
    ends = np.where(edges % side == 0, edges // side * tile - (tile - side * patch), starts)
    return np.stack([starts[:-1], ends[1:]], axis=1)


def _boxes(rows: NDArray[np.float64], columns: NDArray[np.float64]) -> NDArray[np.float64]:
    """Combine rows (n, 2) and columns (m, 2) of starts and ends into rectangles (n, m, 4)."""
    n, m = len(rows), len(columns)
    y0, y1 = (np.broadcast_to(edges[:, None], (n, m)) for edges in rows.T)
    x0, x1 = (np.broadcast_to(edges[None, :], (n, m)) for edges in columns.T)
    return np.stack([x0, y0, x1, y1], axis=-1)
