"""Splits that cannot overlap: a scene and its question belong to the split that their hash says, whenever they are made.

A stream of training data leaves out whatever hashes to validation or test, so that no list of forbidden scenes is
needed, and data made years apart on different machines stay disjoint.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

Split: TypeAlias = Literal["train", "validation", "test"]
SPLITS: tuple[Split, ...] = ("train", "validation", "test")

_PARTS = 16
"""One part in sixteen is validation, one is test."""


def _mix(value: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """The finaliser of splitmix64 (Steele, Lea and Flood 2014): every bit of the input reaches every bit of the output."""
    value = (value ^ (value >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    value = (value ^ (value >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return value ^ (value >> np.uint64(31))


@lru_cache(maxsize=16)
def _weights(length: int) -> NDArray[np.uint64]:
    """Odd 64-bit numbers, one per position: the golden-ratio sequence, mixed."""
    steps = np.arange(1, length + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    return _mix(steps) | np.uint64(1)


def hash_scenes(cells: NDArray[np.uint8], words: NDArray[np.uint8]) -> NDArray[np.uint64]:
    """A 64-bit hash of each scene with its question, (n,): mix(Σ wᵢ · (byteᵢ + 1) mod 2⁶⁴) over cells and words.

    It depends on nothing but the class ids and word ids, so it is the same on every machine.
    """
    content = np.concatenate([cells, words], axis=1).astype(np.uint64) + np.uint64(1)
    return _mix(content @ _weights(content.shape[1]))


def split_of(hashes: NDArray[np.uint64]) -> NDArray[np.str_]:
    """The split that each hash belongs to: 1/16 test, 1/16 validation, the rest train.

    >>> split_of(np.array([0, 1, 2, 15, 16], np.uint64)).tolist()
    ['test', 'validation', 'train', 'train', 'test']
    """
    part = (hashes % np.uint64(_PARTS)).astype(np.int64)
    return np.array(["test", "validation", "train"])[np.minimum(part, 2)]
