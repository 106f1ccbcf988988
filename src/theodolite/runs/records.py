"""Conversion of records and arrays to rows of the store and back, and the checksum of a row.

A run folder may come from an untrusted source, so everything read from it is checked.
"""

from __future__ import annotations

import hashlib
import json
import math
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, get_args

import numpy as np
from numpy.typing import NDArray

from theodolite.core.errors import StorageError, UsageError
from theodolite.core.types import Record, Response, Status, canonical_json
from theodolite.runs.serialize import choice_from_json, choice_to_json

RECORD_COLUMNS = (
    "status, text, reason, reasoning, finish, prompt_tokens, completion_tokens, seconds, attempts, choice, "
    '"values", reused'
)
STORED_COLUMNS = f"{RECORD_COLUMNS}, key, at, arrays"
"""All columns of a record but its position and checksum."""
N_RECORD_COLUMNS = RECORD_COLUMNS.count(",") + 1
MOST = (1 << 63) - 1
"""The largest integer that SQLite stores."""
_KINDS: tuple[type | tuple[type, ...], ...] = (str, str, str, str, str, int, int, (int, float), int)
"""The types of the columns that make up a response."""
LARGEST_BYTES = 1 << 30
"""The maximum size of an array in a record."""


@contextmanager
def readable(path: Path, what: str) -> Iterator[None]:
    """Convert errors while reading one row into a `StorageError` that names the file and the row."""
    try:
        yield
    except (KeyError, TypeError, ValueError, AttributeError, RecursionError, UsageError) as error:
        reason = " ".join(str(error).split())[:200]
        raise StorageError(
            f"{path}: {what} is damaged or was not written by Theodolite ({type(error).__name__}: {reason})"
        ) from error


_ROW_ENCODER = json.JSONEncoder(separators=(",", ":"), default=lambda data: {"bytes": len(data)})


def checksum(row: Sequence[Any]) -> bytes:
    """Return the checksum of a row: BLAKE2b with 16 bytes over the types and values of its columns.

    >>> checksum((1, "left", None)) == checksum((1, "left", None)), checksum((1, "left")) == checksum((1, "lefu"))
    (True, False)
    """
    digest = hashlib.blake2b(_ROW_ENCODER.encode(tuple(row)).encode(), digest_size=16)
    for value in row:
        if isinstance(value, bytes):
            digest.update(value)
    return digest.digest()


def is_whole(row: Sequence[Any]) -> bool:
    """True if the last value of a row is the checksum of the others."""
    return bool(checksum(row[:-1]) == row[-1])


def record_row(record: Record) -> tuple[Any, ...]:
    """Convert a record to the values of `RECORD_COLUMNS`, as SQLite returns them.

    Raises:
        TypeError, ValueError: If it holds something that cannot be stored.
    """
    r = record.response
    if not math.isfinite(r.seconds):
        raise ValueError(f"{r.seconds} seconds")
    choice = choice_to_json(record.choice)
    return (
        r.status,
        storable(r.text),
        storable(r.reason),
        storable(r.reasoning),
        storable(r.finish),
        min(int(r.prompt_tokens), MOST),
        min(int(r.completion_tokens), MOST),
        float(r.seconds),
        int(r.attempts),
        None if choice is None else storable(choice),
        storable(canonical_json(record.values)),
        int(record.reused),
    )


def record_from_row(item_id: str, row: Sequence[Any]) -> Record:
    """Convert the values of `RECORD_COLUMNS` back to a record."""
    *columns, choice, values, reused = row
    for value, kind in zip(columns, _KINDS, strict=True):
        if not isinstance(value, kind):
            raise TypeError(f"{value!r:.80} has the wrong type")
    if columns[0] not in get_args(Status):
        raise ValueError(f"unknown status {columns[0]!r:.80}")
    return Record(
        item_id,
        Response(*columns),
        choice_from_json(choice),
        object_from_json(values),
        reused=bool(reused),
    )


def object_from_json(text: str) -> dict[str, Any]:
    """Parse a JSON object."""
    value = json.loads(text)
    if not isinstance(value, dict):
        raise TypeError(f"{text[:80]!r} is not a JSON object")
    return value


def storable(text: str) -> str:
    """Make text encodable as UTF-8: a lone surrogate, which JSON may contain, becomes a question mark."""
    return text.encode("utf-8", "replace").decode()


def pack(array: NDArray[Any]) -> tuple[str, str, bytes]:
    """Convert an array to its dtype, its shape as JSON and its compressed bytes."""
    if array.dtype.kind not in "biuf" or array.nbytes > LARGEST_BYTES:
        raise StorageError(
            f"a record can store numeric arrays of up to {LARGEST_BYTES >> 30} GiB, "
            f"not {array.dtype} of {array.nbytes} bytes"
        )
    return array.dtype.str, canonical_json(array.shape), zlib.compress(array.tobytes(), 1)


def unpack(dtype: str, shape: str, data: bytes) -> NDArray[Any]:
    """Restore an array from the output of `pack`. Never decompresses more than the shape allows.

    Raises:
        StorageError: If the row was not written by `pack`.

    >>> unpack(*pack(np.array([[1.0, 2.0]])))
    array([[1., 2.]])
    """
    try:
        return _unpack(np.dtype(dtype), json.loads(shape), data)
    except (TypeError, ValueError, zlib.error) as error:
        raise StorageError(f"a stored array is damaged or was not written by Theodolite ({error})") from error


def _unpack(kind: np.dtype[Any], sides: list[int], data: bytes) -> NDArray[Any]:
    if kind.kind not in "biuf" or not all(type(side) is int and side >= 0 for side in sides):
        raise ValueError(f"{kind} of shape {sides}")
    size = math.prod(sides) * kind.itemsize
    if size > LARGEST_BYTES:
        raise ValueError(f"{size} bytes")
    inflater = zlib.decompressobj()
    raw = inflater.decompress(data, size + 1)
    if len(raw) != size or not inflater.eof:
        raise ValueError(f"{len(data)} bytes do not match the shape {sides}")
    return np.frombuffer(raw, kind).reshape(sides)
