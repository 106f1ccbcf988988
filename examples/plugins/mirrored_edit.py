"""An example edit: the place of an object is filled with what lies beside it, mirrored.

A diffusion model or LaMa takes the same place: load the network once, give it the picture and the mask, return its picture.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from theodolite.core.errors import UsageError
from theodolite.core.types import Pixels


def mirrored_fill(pixels: Pixels, mask: NDArray[np.bool_], seed: int) -> Pixels:  # noqa: ARG001 - nothing is drawn at random
    """Fill each row of the mask with the pixels beside it: those of the left, of the right, and between them of both."""
    filled = pixels.astype(np.float32)
    for row in np.flatnonzero(mask.any(axis=1)):
        filled[row] = _filled_row(filled[row], mask[row])
    return filled.round().clip(0, 255).astype(np.uint8)


def _filled_row(values: NDArray[np.float32], hidden: NDArray[np.bool_]) -> NDArray[np.float32]:
    known = np.flatnonzero(~hidden)
    if not len(known):
        raise UsageError("a row of the picture is hidden as a whole: there is nothing beside it")
    at = np.arange(len(hidden))
    before = known[np.maximum(np.searchsorted(known, at, side="right") - 1, 0)]
    after = known[np.minimum(np.searchsorted(known, at), len(known) - 1)]
    left, right = (_known(values, edge, at, known) for edge in (before, after))
    share = ((at - before) / np.maximum(after - before, 1)).clip(0, 1)[:, None]
    return np.where(hidden[:, None], (1 - share) * left + share * right, values)


def _known(
    values: NDArray[np.float32], edge: NDArray[np.intp], at: NDArray[np.intp], known: NDArray[np.intp]
) -> NDArray[np.float32]:
    """Return what lies as far beyond the edge as each place lies within it; the edge itself where that is hidden, too."""
    mirrored = np.clip(2 * edge - at, 0, len(at) - 1)
    return values[np.where(np.isin(mirrored, known), mirrored, edge)]


def register(add: Any) -> None:
    """Register the edit for ``--fill mirrored``."""
    add("edit", "mirrored", f"{__name__}:mirrored_fill", summary="what lies beside it, mirrored")
