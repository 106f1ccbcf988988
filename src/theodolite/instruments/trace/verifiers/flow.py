"""How the camera moved between two pictures, from the pictures alone.

Blocks of the first picture are found again in the second by phase correlation: with F, G the transforms of two blocks, the peak of
the inverse transform of F*G/|F*G| lies at the shift. A model u = a − sx, v = b + … of all shifts (a, b the common shift, s the
growth away from the middle) is fitted by least squares on the inliers. Turning right moves everything to the left; going forward
makes it grow.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from theodolite.core.types import Pixels

WIDTH_PX, BLOCK_PX = 160, 40


@dataclass(frozen=True, slots=True)
class Flow:
    """A common shift and a growth, and how well they explain the blocks."""

    right: float
    """Of the picture's content, as a share of its width: positive if it moved to the right."""
    down: float
    """Likewise downward."""
    growth: float
    """How much larger things became: 0.1 is a tenth."""
    quality: float
    """The share of textured blocks that follow."""


def flow_between(first: Pixels, second: Pixels) -> Flow:
    """The flow from one picture to the next; of quality 0 where too little can be matched."""
    a, b = _small(first), _small(second)
    if a.shape != b.shape:
        return Flow(0.0, 0.0, 0.0, 0.0)
    coarse = _shift(a, b)
    centres, shifts = [], []
    n_textured = 0
    for top in range(0, a.shape[0] - BLOCK_PX + 1, BLOCK_PX // 2):
        for left in range(0, a.shape[1] - BLOCK_PX + 1, BLOCK_PX // 2):
            block = a[top : top + BLOCK_PX, left : left + BLOCK_PX]
            if block.std() < 4:
                continue
            n_textured += 1
            found = _match(block, b, top, left, coarse)
            if found is not None:
                centres.append((left + BLOCK_PX / 2 - a.shape[1] / 2, top + BLOCK_PX / 2 - a.shape[0] / 2))
                shifts.append(found)
    if n_textured < 4 or len(shifts) < 4:
        return Flow(0.0, 0.0, 0.0, 0.0)
    return _fitted(np.array(centres), np.array(shifts), a.shape, n_textured)


def _small(pixels: Pixels) -> NDArray[np.float64]:
    from PIL import Image

    image = Image.fromarray(pixels).convert("L")
    height = max(BLOCK_PX, round(WIDTH_PX * image.height / image.width))
    return np.asarray(image.resize((WIDTH_PX, height), Image.Resampling.BOX), np.float64)


def _shift(a: NDArray[np.float64], b: NDArray[np.float64]) -> tuple[int, int]:
    """The common shift of whole pictures, rows and columns, by phase correlation under a Hann window."""
    window = np.outer(np.hanning(a.shape[0]), np.hanning(a.shape[1]))
    product = np.conj(np.fft.rfft2((a - a.mean()) * window)) * np.fft.rfft2((b - b.mean()) * window)
    peak = np.fft.irfft2(product / np.maximum(np.abs(product), 1e-9), a.shape)
    row, column = np.unravel_index(int(peak.argmax()), peak.shape)
    rows, columns = a.shape
    return int((row + rows // 2) % rows - rows // 2), int((column + columns // 2) % columns - columns // 2)


def _match(
    block: NDArray[np.float64], other: NDArray[np.float64], top: int, left: int, coarse: tuple[int, int]
) -> tuple[float, float] | None:
    """Where a block went, near the common shift or near no shift: the place of the highest normalised correlation."""
    best, where = 0.6, None
    plain = (block - block.mean()) / (block.std() + 1e-9)
    for down0, right0 in {coarse, (0, 0)}:
        for down in range(down0 - 6, down0 + 7):
            for right in range(right0 - 8, right0 + 9):
                y, x = top + down, left + right
                if y < 0 or x < 0 or y + BLOCK_PX > other.shape[0] or x + BLOCK_PX > other.shape[1]:
                    continue
                patch = other[y : y + BLOCK_PX, x : x + BLOCK_PX]
                likeness = float((plain * (patch - patch.mean())).mean() / (patch.std() + 1e-9))
                if likeness > best:
                    best, where = likeness, (float(right), float(down))
    return where


def _fitted(
    centres: NDArray[np.float64], shifts: NDArray[np.float64], shape: tuple[int, ...], n_textured: int
) -> Flow:
    """Least squares of shift = common + growth · centre, twice: on all, and on those that follow within 2 pixels."""
    keep = np.ones(len(centres), bool)
    answer = np.zeros(3)
    for _ in range(3):
        ones, zeros = np.ones(keep.sum()), np.zeros(keep.sum())
        system = np.vstack(
            [
                np.column_stack([ones, zeros, centres[keep, 0]]),
                np.column_stack([zeros, ones, centres[keep, 1]]),
            ]
        )
        answer, *_ = np.linalg.lstsq(system, np.concatenate([shifts[keep, 0], shifts[keep, 1]]), rcond=None)
        off = shifts - (answer[:2] + answer[2] * centres)
        closest = np.hypot(off[:, 0], off[:, 1])
        keep = closest <= max(2.0, float(np.median(closest)))
        if keep.sum() < 4:
            break
    follows = float((closest <= 2.0).sum()) / n_textured
    return Flow(float(answer[0]) / shape[1], float(answer[1]) / shape[0], float(answer[2]), follows)
