"""Samples as arrays: pictures, matching captions, and the positions of objects."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from theodolite.instruments.trace.claims import lexicon as words
from theodolite.instruments.trace.verifiers import similarity as say
from train.similarity.samples import Sample

MOST_GROUPS, MOST_SPOTS, GROUP_SIZE = 12, 16, len(words.FROM_ME)
_MIRRORED = {"left": "right", "right": "left"}


@dataclass(frozen=True, slots=True)
class Arrays:
    """N pictures and T captions, the first L of which name single objects."""

    pixels: NDArray[np.uint8]
    """(N, side, side, 3)"""
    captions: tuple[str, ...]
    """(T)"""
    mirrored: NDArray[np.int64]
    """(T): the caption of the mirror image."""
    fits: NDArray[np.bool_]
    """(N, L): True if a picture shows such an object."""
    groups: NDArray[np.int64]
    """(N, MOST_GROUPS, GROUP_SIZE): groups of captions, the first of which is true; −1 is padding."""
    spots: NDArray[np.float32]
    """(N, MOST_SPOTS, 4): boxes in fractions of the picture."""
    names: NDArray[np.int64]
    """(N, MOST_SPOTS, 2): category and colour as indices; −1 for none."""
    categories: tuple[str, ...]
    colours: tuple[str, ...]

    @property
    def n_looks(self) -> int:
        """Number of captions of single objects, L."""
        return int(self.fits.shape[1])


def arrays_of(found: Sequence[Sample], pixels: NDArray[np.uint8] | None = None, *, seed: int = 0) -> Arrays:
    """Convert samples to arrays, and keep at most `MOST_GROUPS` groups per picture, drawn by `seed`.

    Args:
        found: The samples.
        pixels: Their pixels, if already in one array, which may be large.
        seed: Seed of the selection of groups.
    """
    categories = tuple(sorted({s[4] for sample in found for s in sample.spots} | _single_words(found)))
    looks = [*categories, *(f"{hue} {category}" for category in categories for hue in words.HUES)]
    rng = np.random.default_rng(seed)
    kept = [_select_groups(sample, rng) for sample in found]
    texts = {text for groups in kept for group in groups for text in group}
    captions = [say.caption(look) for look in looks]
    captions += sorted(texts | {_mirror(text) for text in texts})
    index_of = {text: i for i, text in enumerate(captions)}
    look_place = {look: i for i, look in enumerate(looks)}
    n = len(found)
    fits = np.zeros((n, len(looks)), bool)
    groups_of = np.full((n, MOST_GROUPS, GROUP_SIZE), -1, np.int64)
    spots = np.zeros((n, MOST_SPOTS, 4), np.float32)
    names = np.full((n, MOST_SPOTS, 2), -1, np.int64)
    for i, (sample, groups) in enumerate(zip(found, kept, strict=True)):
        fits[i, [look_place[look] for look in sample.looks]] = True
        for k, group in enumerate(groups):
            groups_of[i, k, : len(group)] = [index_of[text] for text in group]
        for k, (*corners, category, colour) in enumerate(sample.spots[:MOST_SPOTS]):
            spots[i, k] = corners
            names[i, k] = categories.index(category), words.HUES.index(colour) if colour else -1
    if pixels is None:
        pixels = np.stack([sample.pixels for sample in found])
    mirrored = np.array([index_of[_mirror(text)] for text in captions])
    return Arrays(pixels, tuple(captions), mirrored, fits, groups_of, spots, names, categories, words.HUES)


def _single_words(samples: Sequence[Sample]) -> set[str]:
    return {look for sample in samples for look in sample.looks if " " not in look}


def _select_groups(sample: Sample, rng: np.random.Generator) -> list[tuple[str, ...]]:
    order = rng.permutation(len(sample.groups))[:MOST_GROUPS]
    return [sample.groups[i] for i in order]


def _mirror(text: str) -> str:
    """Return the caption of the mirror image.

    >>> _mirror("a picture of a red ball left of a blue cube")
    'a picture of a red ball right of a blue cube'
    """
    return " ".join(_MIRRORED.get(word, word) for word in text.split(" "))
