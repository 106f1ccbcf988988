"""The mass of a map by role: on anchors, targets, look-alikes, other objects and background, and on words.

    mass on a part = Σ_{part} |a| / Σ |a|

*Adversarial mass* (GridVQA-X, section 5.1) is the mass on look-alikes of the target outside the valid region: objects that
only a shortcut counts.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from theodolite.instruments.grid.data.masks import MaskName
from theodolite.instruments.grid.data.world import Flags

WORD_ROLES = ("target", "anchor", "direction", "other")


def part_masses(cells: NDArray[Any], masks: Mapping[MaskName, Flags]) -> dict[MaskName, float]:
    """The share of the mass on each part; empty if the map is zero everywhere."""
    size = np.abs(np.asarray(cells, np.float64))
    total = size.sum()
    return {part: float(size[mask].sum() / total) for part, mask in masks.items()} if total > 0 else {}


def word_shares(words: NDArray[Any], roles: NDArray[np.str_]) -> dict[str, float]:
    """The share of the words' relevance on each role; empty if no word has any."""
    size = np.abs(np.asarray(words, np.float64))
    total = size[roles != ""].sum()
    return {role: float(size[roles == role].sum() / total) for role in WORD_ROLES} if total > 0 else {}
