r"""The convex programme of PID, for many tables at once.

min over Δ_P of I_q(Y; X1X2), by mirror descent with Sinkhorn projection onto the margins: the gradient of I_q by q is
log q(y|x1x2)/q(y), and q·exp(−η·gradient) is scaled until q(x1,y) and q(x2,y) are as given. With a few dozen samples most
entries of a table are 0 because a margin is; only the others are kept, those of all tables in one array, and a table leaves
when it has converged.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from theodolite.instruments.grid.explainers.game import Floats

_TINY = 1e-300
_ROUNDS = 60
_FITS = 1e-9


@dataclass(slots=True)
class _Places:
    """The entries of some tables at which q may be above 0."""

    table: NDArray[np.int64]
    """The table of each entry, ascending."""
    first: NDArray[np.int64]
    """The number of its (x1, y) among all tables."""
    second: NDArray[np.int64]
    """Of its (x2, y)."""
    both: NDArray[np.int64]
    """Of its (x1, x2)."""
    margin_1: Floats
    """p(x1, y) of the entry."""
    margin_2: Floats
    margin_y: Floats
    q: Floats

    def only(self, kept: NDArray[np.bool_]) -> _Places:
        return _Places(*(getattr(self, name)[kept] for name in self.__slots__))


def _places(joints: Sequence[Floats]) -> _Places:
    parts: list[list[NDArray[np.generic]]] = []
    offset = np.zeros(3, np.int64)
    for number, joint in enumerate(joints):
        n1, n2, ny = joint.shape
        first, second, margin = joint.sum(axis=1), joint.sum(axis=0), joint.sum(axis=(0, 1))
        a, b, y = np.nonzero((first[:, None] > 0) & (second[None] > 0))
        one, two, of_y = first[a, y], second[b, y], margin[y]
        numbers = [a * ny + y + offset[0], b * ny + y + offset[1], a * n2 + b + offset[2]]
        parts.append([np.full(len(a), number), *numbers, one, two, of_y, one * two / of_y])
        offset += (n1 * ny, n2 * ny, n1 * n2)
    return _Places(*(np.concatenate(column) for column in zip(*parts, strict=True)))


def _sums(numbers: NDArray[np.int64], values: Floats) -> Floats:
    """For each entry, the sum of the values of all entries with its number."""
    return np.asarray(np.bincount(numbers, values)[numbers])


def _fitted(places: _Places, q: Floats) -> Floats:
    """Scales q until both margins are as given."""
    for _ in range(_ROUNDS):
        q = q * (places.margin_1 / np.maximum(_sums(places.first, q), _TINY))
        q = q * (places.margin_2 / np.maximum(_sums(places.second, q), _TINY))
        if np.abs(_sums(places.first, q) - places.margin_1).max() < _FITS:
            break
    return q


def _bits(places: _Places, q: Floats, tables: int) -> Floats:
    """I_q(Y; X1X2) of every table, in bits."""
    outer = _sums(places.both, q) * places.margin_y
    terms = q * np.log2(np.maximum(q, _TINY) / np.maximum(outer, _TINY))
    return np.asarray(np.bincount(places.table, terms, minlength=tables), np.float64)


def least_information(joints: Sequence[Floats], *, steps: int = 4000, tolerance: float = 1e-9) -> Floats:
    """The least I_q(Y; X1X2) over Δ_P of every joint distribution (x1, x2, y), in bits.

    >>> xor = np.zeros((2, 2, 2))
    >>> xor[[0, 0, 1, 1], [0, 1, 0, 1], [0, 1, 1, 0]] = 0.25
    >>> float(least_information([xor])[0])
    0.0
    """
    tables = len(joints)
    places = _places(joints)
    best = _bits(places, places.q, tables)
    step, is_done = np.ones(tables), np.zeros(tables, bool)
    for _ in range(steps):
        q, table = places.q, places.table
        slope = np.log(np.maximum(q, _TINY) / np.maximum(_sums(places.both, q), _TINY))
        lowest = np.full(tables, np.inf)
        np.minimum.at(lowest, table, slope)
        moved = _fitted(places, q * np.exp(-step[table] * (slope - lowest[table])))
        value = _bits(places, moved, tables)
        is_better = (value <= best + 1e-13) & ~is_done  # a table that has left has no places any more
        places.q = np.where(is_better[table], moved, q)
        has_come_to_rest = is_better & (best - value < tolerance)
        best = np.where(is_better, np.minimum(best, value), best)
        step = np.where(is_better, np.minimum(step * 1.2, 50.0), step / 2)
        left = has_come_to_rest | (step < 1e-6)
        if (left & ~is_done).any():
            is_done |= left
            if is_done.all():
                break
            places = places.only(~is_done[places.table])
    return np.asarray(best)
