"""Items, records and arrays as rows of the store and back, and the checksum of a row."""

from __future__ import annotations

import hashlib
import json
import math
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, Field, TypeAdapter

from theodolite.core.errors import StorageError, UsageError
from theodolite.core.truth import Truth
from theodolite.core.types import (
    Choice,
    Item,
    Json,
    Picture,
    Record,
    Request,
    Response,
    Status,
    canonical_json,
)

# The file format of a run folder: ``run.json``, and requests, items and choices as JSON.


SCHEMA_VERSION = 2
"""Version of the run folder's format. Older versions are converted, newer ones are refused."""


class RunInfo(BaseModel):
    """``run.json``: the instrument, model and settings of a run."""

    model_config = ConfigDict(frozen=True)

    schema_version: int = SCHEMA_VERSION
    instrument: str
    """The instrument that planned the run, such as ``ask`` or ``compass``."""
    model: str
    """The model name as given by the user."""
    identity: str
    """The model's identity, which distinguishes models of the same name."""
    settings: dict[str, Any] = Field(default_factory=dict)
    """All other settings: data, prompts, seeds. They must be the same when the run is resumed."""
    seed: int = 0
    created: datetime = Field(default_factory=lambda: datetime.now(UTC))
    theodolite: str
    """The version of Theodolite that created the run."""

    def differences(self, other: RunInfo) -> dict[str, tuple[Any, Any]]:
        """Return the fields and settings that differ, as name -> (here, there).

        Models are compared by name and identity. Options in a model's name that do not affect answers, such as a
        time-out, are part of neither.
        """
        found: dict[str, tuple[Any, Any]] = {
            name: (getattr(self, name), getattr(other, name))
            for name in ("instrument", "model", "identity", "seed")
            if _without_options(name, self) != _without_options(name, other)
        }
        mine, theirs = _plain(self.settings), _plain(other.settings)
        for name in sorted(mine.keys() | theirs.keys()):
            if mine.get(name) != theirs.get(name):
                found[name] = (mine.get(name), theirs.get(name))
        return found


class Session(BaseModel):
    """One measuring session. A run that was interrupted and resumed has several."""

    model_config = ConfigDict(frozen=True)

    started: datetime = Field(default_factory=lambda: datetime.now(UTC))
    engine: Literal["local", "ray"]
    workers: int
    versions: dict[str, str]


def _without_options(name: str, info: RunInfo) -> Any:
    return info.model.partition("?")[0] if name == "model" else getattr(info, name)


def _plain(settings: dict[str, Any]) -> dict[str, Any]:
    """Settings as read back from JSON: tuples become lists, keys become text."""
    plain: dict[str, Any] = json.loads(json.dumps(settings))
    return plain


_REQUEST = TypeAdapter(Request)
_OPTIONS = TypeAdapter(list[str])
_META: TypeAdapter[dict[str, Any]] = TypeAdapter(dict[str, Any])
_TRUTH = TypeAdapter(Truth)
TRUTH = "truth"
"""The key of the stored meta that holds the truth. Runs of older versions do not have it."""
_SCORES: TypeAdapter[dict[str, float | None]] = TypeAdapter(dict[str, float | None])


def stored_request(request: Request, paths: Mapping[str, str]) -> str:
    """Return a request as JSON text. Each picture is stored by its digest and its path, taken from `paths`."""
    context = {"picture": lambda picture: {"picture": picture.digest, "path": paths[picture.digest]}}
    return canonical_json(_REQUEST.dump_python(request, context=context))


def meta_of(item: Item) -> dict[str, Json]:
    """Return what is stored of an item besides its request and its options: its meta, with its truth."""
    truth = _TRUTH.dump_python(item.truth, mode="json", exclude_defaults=True)
    return {**item.meta, TRUTH: truth}


def item_from_row(row: Sequence[str], folder: Path) -> tuple[Item, bool]:
    """Restore an item from its stored columns: name, request, options, meta. Also return whether its truth is stored.

    Relative paths of pictures are relative to the folder of the run.
    """

    def read(stored: Any) -> Picture:
        match stored:
            case {"picture": str(digest), "path": str(path)}:
                return Picture(digest, path=folder / path)
        raise ValueError("a picture is an object with its digest and its path")

    name, request, options, meta = row
    fields = _META.validate_json(meta, strict=True)
    asked = _REQUEST.validate_json(request, strict=True, context={"picture": read})
    item = item_of_meta(name, asked, fields, tuple(_OPTIONS.validate_json(options, strict=True)))
    return item, TRUTH in fields


def item_of_meta(
    name: str, request: Request, fields: Mapping[str, Any], options: tuple[str, ...] = ()
) -> Item:
    """Restore an item from what `meta_of` returned; without a truth if there is none."""
    truth = _TRUTH.validate_python(fields.get(TRUTH, {}))
    return Item(name, request, options, {key: fields[key] for key in fields if key != TRUTH}, truth)


def choice_to_json(choice: Choice | None) -> str | None:
    """Convert options and log-probabilities to JSON text. The logarithm of zero is null, as JSON has no infinity."""
    if choice is None:
        return None
    values = (None if value == -math.inf else value for value in choice.log_probabilities)
    scores = dict(zip(choice.options, values, strict=True))
    return json.dumps(scores, ensure_ascii=False, allow_nan=False)


def choice_from_json(text: str | None) -> Choice | None:
    """Restore a choice from `choice_to_json`."""
    if text is None:
        return None
    scores = _SCORES.validate_json(text, strict=True)
    return Choice(tuple(scores), tuple(-math.inf if value is None else value for value in scores.values()))


# What a run's store returns: items with their records and readings, and the progress.


@dataclass(frozen=True, slots=True)
class Parsed:
    """What a parser read in a raw answer."""

    item_id: str
    parser: str
    """Name and version of the parser, such as ``options/1``."""
    status: str
    """``parsed``, or the reason why not."""
    value: Json = None


@dataclass(frozen=True, slots=True)
class Result:
    """An item with its record, if it was measured, and what parsers read in it."""

    seq: int
    """Position in the plan, from 1."""
    item: Item
    record: Record | None
    parsed: tuple[Parsed, ...] = ()


@dataclass(frozen=True, slots=True)
class Tally:
    """The progress of a run."""

    planned: int = 0
    answered: int = 0
    refused: int = 0
    failed: int = 0
    reused: int = 0

    @property
    def finished(self) -> int:
        """Number of items that will not be asked again: answered or refused."""
        return self.answered + self.refused

    @property
    def pending(self) -> int:
        """Number of items that resuming would ask: not yet asked, or failed."""
        return self.planned - self.finished

    def __add__(self, other: Tally) -> Tally:
        """Add up the progress of two runs."""
        return Tally(
            self.planned + other.planned,
            self.answered + other.answered,
            self.refused + other.refused,
            self.failed + other.failed,
            self.reused + other.reused,
        )


# Conversion of records and arrays to rows of the store and back, and the checksum of a row.
#
# A run folder may come from an untrusted source, so everything read from it is checked.


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
