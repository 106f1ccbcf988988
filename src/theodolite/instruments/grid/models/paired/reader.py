"""A paired network with numpy arrays in and out, in batches."""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from theodolite.core.errors import UsageError
from theodolite.instruments.grid.data.render import atlas
from theodolite.instruments.grid.data.world import N_CLASSES
from theodolite.instruments.grid.models.paired.network import PairedNetwork, to_pixels

FILLS: dict[str, int] = {"white": 0, "grey": N_CLASSES + 1, "black": N_CLASSES + 2}
"""The tile of a hidden cell. White is an empty cell; grey and black cover the object."""

_GREY = 128
_ROWS_AT_ONCE = {"cpu": 64, "cuda": 4096}


def tile_atlas(cell_px: int = 64) -> NDArray[np.uint8]:
    """The tiles of all classes, then the fills: ``(19, cell_px, cell_px, 3)``."""
    fills = [np.full((1, cell_px, cell_px, 3), level, np.uint8) for level in (_GREY, 0)]
    return np.concatenate([atlas(cell_px), *fills])


class PairedReader:
    """Answers about scenes given as cells or as pictures."""

    def __init__(self, network: PairedNetwork, *, device: str = "cpu") -> None:
        self.network = network
        self.device = device
        with torch.no_grad():
            self._tiles = network.tiles(to_pixels(tile_atlas(), device)).flatten(0, 2)

    def logits(
        self, cells: NDArray[np.uint8], words: NDArray[np.uint8], *, side: tuple[int, int] = (5, 5)
    ) -> NDArray[np.float32]:
        """Logits over the answers, ``(n, answers)``, for tiles ``(n, cells)`` and words ``(n, longest)``.

        Cells may hold fills (`FILLS`) beside classes. No picture is drawn: features of the stem are looked up by tile.
        """
        if cells.shape[1] != side[0] * side[1] or max(side) > self.network.size.side:
            raise UsageError(
                f"this model reads grids up to {self.network.size.side} cells wide, got {cells.shape[1]} cells as {side}"
            )
        found = []
        rows = _ROWS_AT_ONCE.get(torch.device(self.device).type, 256)
        for start in range(0, len(cells), rows):
            some = torch.as_tensor(cells[start : start + rows], device=self.device).long()
            features = self._tiles[some].view(len(some), *side, -1)
            found.append(self._answer(features, words[start : start + rows]))
        return np.concatenate(found) if found else np.zeros((0, self.network.size.answers), np.float32)

    def logits_of_pictures(
        self, pictures: NDArray[np.uint8], words: NDArray[np.uint8]
    ) -> NDArray[np.float32]:
        """The same for pictures ``(n, height, width, 3)``, sides a multiple of 64 pixels."""
        with torch.no_grad():
            return self._answer(self.network.tiles(to_pixels(pictures, self.device)), words)

    def _answer(self, features: Tensor, words: NDArray[np.uint8]) -> NDArray[np.float32]:
        with torch.inference_mode():
            embedded = self.network.embed(torch.as_tensor(words, device=self.device).long())
            logits: NDArray[np.float32] = self.network.answers(features, embedded).cpu().numpy()
        return logits
