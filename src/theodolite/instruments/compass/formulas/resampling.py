"""Maps on the vision features, resampled to the grid of the tokens.

GradCAM is computed on the vision features, whose grid is finer than the tokens' where a model merges features. CREG has it on
the token grid, "via bilinear interpolation". So a map on features has a second one beside it, ``gradcam-tokens``, and the
numbers that the paper reports are of that one. Where the two grids are the same, the map itself is the paper's.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from functools import cache

import numpy as np
from numpy.typing import NDArray

from theodolite.attribution import RelevanceMap, find_methods
from theodolite.core.registry import registry
from theodolite.geometry import TokenGrid

_SUFFIX = "-tokens"
_ROUNDING_PX = 1e-2
"""Places in a picture that differ by less are the same: grids are stored in single precision."""


def base_of(method: str) -> str:
    """Return the original method of a resampled one.

    >>> base_of("gradcam-tokens"), base_of("chefer")
    ('gradcam', 'chefer')
    """
    return method.removesuffix(_SUFFIX)


def paper_key(key: str, held: Collection[str]) -> str:
    """Return the paper's name of a map; empty for a map on features if the run also holds its resampled one.

    >>> paper_key("gradcam-tokens@gt", ["gradcam@gt", "gradcam-tokens@gt"])
    'gradcam@gt'
    >>> paper_key("gradcam@gt", ["gradcam@gt", "gradcam-tokens@gt"])
    ''
    """
    method, at, target = key.partition("@")
    return "" if f"{method}{_SUFFIX}{at}{target}" in held else f"{base_of(method)}{at}{target}"


def with_resampled(maps: Mapping[str, RelevanceMap]) -> dict[str, RelevanceMap]:
    """Return one picture's maps, and every map on features also on the tokens' grid if that is known and different."""
    tokens = next(
        (relevance.grid for relevance in maps.values() if not is_on_features(relevance.method)), None
    )
    result: dict[str, RelevanceMap] = {}
    for key, relevance in maps.items():
        result[key] = relevance
        if tokens is not None and relevance.grid is not tokens and is_on_features(relevance.method):
            method = f"{relevance.method}{_SUFFIX}"
            values = resample(relevance.values, relevance.grid, tokens)
            result[f"{method}@{relevance.target}"] = RelevanceMap(method, relevance.target, tokens, values)
    return result


@cache
def is_on_features(method: str) -> bool:
    """Return True for a registered method whose maps are on the vision features."""
    if method not in {entry.name for entry in registry().entries("method")}:
        return False
    (loaded,) = find_methods([method])
    return loaded.scores_on == "features"


def resample(values: NDArray[np.floating], source: TokenGrid, grid: TokenGrid) -> NDArray[np.float32]:
    """Return values at the centres of another grid's tokens, by bilinear interpolation within each tile.

    Beyond the outermost centres the nearest value is taken. A token without a position gets 0.

    Args:
        values: One per token of `source`.
        source: The grid of the values.
        grid: The grid to resample to.

    >>> fine, coarse = TokenGrid.regular((40, 40), (4, 4)), TokenGrid.regular((40, 40), (2, 2))
    >>> resample(np.arange(16.0), fine, coarse).tolist()
    [2.5, 4.5, 10.5, 12.5]
    """
    out = np.zeros(grid.n_tokens, np.float32)
    for part in np.unique(grid.part[grid.has_place]):
        own, wanted = source.part == part, grid.part == part
        if own.any():
            out[wanted] = _interpolate(
                np.asarray(values, np.float64)[own], source.centres_px[own], grid.centres_px[wanted]
            )
    return out


def _interpolate(
    values: NDArray[np.float64], centres: NDArray[np.float64], wanted: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Interpolate bilinearly between values at the centres of a lattice, in any order."""
    axes, at = zip(*(_axis(centres[:, i]) for i in (0, 1)), strict=True)
    table = np.zeros((len(axes[1]), len(axes[0])))
    table[at[1], at[0]] = values
    (left, right, across), (above, below, down) = (
        _between(axis, wanted[:, i]) for i, axis in enumerate(axes)
    )
    upper = table[above, left] * (1 - across) + table[above, right] * across
    lower = table[below, left] * (1 - across) + table[below, right] * across
    return np.asarray(upper * (1 - down) + lower * down)


def _axis(places: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Return the distinct positions along one axis, rising, and the index of each value's position."""
    rising = np.sort(places)
    starts = np.concatenate([[True], np.diff(rising) > _ROUNDING_PX])
    axis = rising[starts]
    return axis, np.searchsorted(axis, places + _ROUNDING_PX, side="right") - 1


def _between(
    axis: NDArray[np.float64], wanted: NDArray[np.float64]
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]:
    """Return for each position the indices of its two neighbours on an axis, and its share of the way between them."""
    inside = np.clip(wanted, axis[0], axis[-1])
    second = np.clip(np.searchsorted(axis, inside, side="right"), 1, max(1, len(axis) - 1))
    if len(axis) == 1:
        nothing = np.zeros(len(wanted), np.int64)
        return nothing, nothing, np.zeros(len(wanted))
    first = second - 1
    return first, second, (inside - axis[first]) / (axis[second] - axis[first])
