"""Arrays of a record as rows of the store. A run folder may come from anyone: what it claims is checked."""

from __future__ import annotations

import json
import math
import zlib
from typing import Any

import numpy as np
from numpy.typing import NDArray

from theodolite.core.errors import StorageError
from theodolite.core.types import canonical_json

LARGEST_BYTES = 1 << 30
"""No array of a record is larger than this."""


def pack(array: NDArray[Any]) -> tuple[str, str, bytes]:
    """The kind of number, the shape as JSON, and the compressed bytes."""
    if array.dtype.kind not in "biuf" or array.nbytes > LARGEST_BYTES:
        raise StorageError(
            f"a record keeps arrays of plain numbers up to {LARGEST_BYTES >> 30} GiB, "
            f"not {array.dtype} of {array.nbytes} bytes"
        )
    return array.dtype.str, canonical_json(array.shape), zlib.compress(array.tobytes(), 1)


def unpack(dtype: str, shape: str, data: bytes) -> NDArray[Any]:
    """The array again.

    Raises:
        StorageError: the row is not what `pack` writes; nothing larger than the shape says is ever unpacked.

    >>> unpack(*pack(np.array([[1.0, 2.0]])))
    array([[1., 2.]])
    """
    try:
        return _unpack(np.dtype(dtype), json.loads(shape), data)
    except (TypeError, ValueError, zlib.error) as error:
        raise StorageError(f"a stored array is damaged or foreign ({error})") from error


def _unpack(kind: np.dtype[Any], sides: list[int], data: bytes) -> NDArray[Any]:
    if kind.kind not in "biuf" or not all(type(side) is int and side >= 0 for side in sides):
        raise ValueError(f"{kind} of shape {sides}")
    size = math.prod(sides) * kind.itemsize
    if size > LARGEST_BYTES:
        raise ValueError(f"{size} bytes")
    inflater = zlib.decompressobj()
    raw = inflater.decompress(data, size + 1)
    if len(raw) != size or not inflater.eof:
        raise ValueError(f"{len(data)} bytes do not hold the shape {sides}")
    return np.frombuffer(raw, kind).reshape(sides)
