"""The SQLite file of a run: tables, checksums, and all functions that read or write them."""

from __future__ import annotations

import hashlib
import json
import math
import re
import shutil
import sqlite3
import time
import warnings
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import cache, partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, Field, TypeAdapter

from theodolite.core.errors import DamageWarning, StorageError, UsageError
from theodolite.core.types import (
    Choice,
    Item,
    Json,
    Picture,
    Record,
    Request,
    Response,
    Status,
    Truth,
    canonical_json,
)
from theodolite.core.unpack import Allowance

# Items, records and arrays as rows of the store and back, and the checksum of a row.


# The file format of a run folder: ``run.json``, and requests, items and choices as JSON.


SCHEMA_VERSION = 3
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
        differing: dict[str, tuple[Any, Any]] = {
            name: (getattr(self, name), getattr(other, name))
            for name in ("instrument", "model", "identity", "seed")
            if _without_options(name, self) != _without_options(name, other)
        }
        mine, theirs = _plain(self.settings), _plain(other.settings)
        for name in sorted(mine.keys() | theirs.keys()):
            if mine.get(name) != theirs.get(name):
                differing[name] = (mine.get(name), theirs.get(name))
        return differing


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
    """Return settings as they are after a round trip through JSON: tuples become lists, keys become text."""
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
    """Return the stored metadata of an item: its meta, with its truth."""
    truth = _TRUTH.dump_python(item.truth, mode="json", exclude_defaults=True)
    return {**item.meta, TRUTH: truth}


def item_from_row(row: Sequence[str], folder: Path) -> tuple[Item, bool]:
    """Restore an item from its stored columns: name, request, options, meta. Also return whether its truth is stored.

    Relative paths of pictures are relative to the folder of the run.
    """

    def read(stored: Any) -> Picture:
        match stored:
            case {"picture": str(digest), "path": str(path)}:
                known = Picture(digest, path=Path(path))
                return known if known.is_absent else Picture(digest, path=folder / path)
        raise ValueError("a picture is an object with its digest and its path")

    name, request, options, meta = row
    fields = _META.validate_json(meta, strict=True)
    asked = _REQUEST.validate_json(request, strict=True, context={"picture": read})
    item = item_of_meta(name, asked, fields, tuple(_OPTIONS.validate_json(options, strict=True)))
    return item, TRUTH in fields


def item_of_meta(
    name: str, request: Request, fields: Mapping[str, Any], options: tuple[str, ...] = ()
) -> Item:
    """Restore an item from the result of `meta_of`. It has no truth if none is stored."""
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
    """The result of a parser on a raw answer."""

    item_id: str
    parser: str
    """Name and version of the parser, such as ``options/1``."""
    status: str
    """``parsed``, or the reason why not."""
    value: Json = None


@dataclass(frozen=True, slots=True)
class Result:
    """An item with its record, if it was measured, and the results of parsers."""

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
STORED_COLUMNS = f"{RECORD_COLUMNS}, key, at, arrays, place"
"""All columns of a record but its position and checksum."""
_STORED_COLUMNS_2 = STORED_COLUMNS.replace("place", "NULL")
"""The same of format 2, which did not store places."""
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
    """Return True if a row is intact: its last value is the checksum of the others."""
    return bool(checksum(row[:-1]) == row[-1])


def record_checksum(item_id: str | None, row: Sequence[Any]) -> bytes:
    """Return the checksum of a record, given the values of `STORED_COLUMNS`.

    A place that is not known is left out, so that records of format 2 keep their checksums.
    """
    return checksum((item_id, *(row if row[-1] is not None else row[:-1])))


def is_whole_record(item_id: str | None, row: Sequence[Any]) -> bool:
    """Return True if a record is intact, given the values of `STORED_COLUMNS` and its checksum."""
    return bool(record_checksum(item_id, row[:-1]) == row[-1])


def record_row(record: Record) -> tuple[Any, ...]:
    """Convert a record to the values of `RECORD_COLUMNS`, as SQLite returns them.

    Raises:
        TypeError, ValueError: If it contains something that cannot be stored.
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
    packed = zlib.compress(array.tobytes(), 1)
    if array.nbytes > Allowance(len(packed)).total:  # it would not be unpacked again
        packed = zlib.compress(array.tobytes(), 0)
    return array.dtype.str, canonical_json(array.shape), packed


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
    Allowance(len(data)).spend(size)
    inflater = zlib.decompressobj()
    raw = inflater.decompress(data, size + 1)
    if len(raw) != size or not inflater.eof:
        raise ValueError(f"{len(data)} bytes do not match the shape {sides}")
    return np.frombuffer(raw, kind).reshape(sides)


# The SQLite file of a run: its schema, how it is opened, and its error messages.
#
# A run folder may come from an untrusted source. Anything else in the file (a view that never ends, a trigger that
# rewrites rows) would run as soon as the file is read. A file with a schema other than ours is therefore refused.


FAILURES = (sqlite3.Error, MemoryError, UnicodeDecodeError)
"""Errors that Python raises when SQLite reads a damaged file: a wrong length may request too much memory, and an error
message may quote damaged text."""
_REMEDY = "restore a copy of it, or choose another --out"
"""What to do about a file that cannot be opened."""
APPLICATION_ID = 0x7E0D0117
"""Identifies the file in the SQLite header."""
_decode = partial(str, encoding="utf-8", errors="surrogateescape")
"""Text that is not UTF-8 is damaged. It is read all the same, so that its checksum shows it and other rows are kept."""

_TABLES = """
CREATE TABLE items (
    seq INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    name TEXT NOT NULL,
    request TEXT NOT NULL,
    options TEXT NOT NULL,
    meta TEXT NOT NULL,
    sum BLOB NOT NULL
);
CREATE TABLE records (
    seq INTEGER PRIMARY KEY REFERENCES items (seq),
    status TEXT NOT NULL,
    text TEXT NOT NULL,
    reason TEXT NOT NULL,
    reasoning TEXT NOT NULL,
    finish TEXT NOT NULL,
    prompt_tokens INTEGER NOT NULL,
    completion_tokens INTEGER NOT NULL,
    seconds REAL NOT NULL,
    attempts INTEGER NOT NULL,
    choice TEXT,
    "values" TEXT NOT NULL,
    reused INTEGER NOT NULL,
    key TEXT,
    at REAL NOT NULL,
    arrays TEXT NOT NULL,
    sum BLOB NOT NULL
);
CREATE INDEX records_by_key ON records (key) WHERE key IS NOT NULL;
CREATE TABLE parsed (
    seq INTEGER NOT NULL REFERENCES items (seq),
    parser TEXT NOT NULL,
    status TEXT NOT NULL,
    value TEXT NOT NULL,
    sum BLOB NOT NULL,
    PRIMARY KEY (seq, parser)
) WITHOUT ROWID;
CREATE TABLE arrays (
    seq INTEGER NOT NULL REFERENCES items (seq),
    name TEXT NOT NULL,
    dtype TEXT NOT NULL,
    shape TEXT NOT NULL,
    data BLOB NOT NULL,
    sum BLOB NOT NULL,
    PRIMARY KEY (seq, name)
) WITHOUT ROWID;
CREATE TABLE sessions (started TEXT NOT NULL, session TEXT NOT NULL, sum BLOB NOT NULL);
CREATE TABLE info (info TEXT NOT NULL, sum BLOB NOT NULL);
CREATE TABLE counts (name TEXT PRIMARY KEY, n INTEGER NOT NULL) WITHOUT ROWID;
"""
"""Each row has the checksum of its content (`theodolite.runs.store.checksum`), a record the names of its arrays."""
_ADD_PLACES = "ALTER TABLE records ADD COLUMN place INTEGER;"
"""What makes a file of format 2 one of format 3. A new file is made with it too, so that both have the same schema."""
COUNTED = ("items", "parsed", "records")
"""The tables whose rows triggers count, so that a row that damage hides is missed."""
_COUNTING = "".join(
    f"INSERT INTO counts VALUES ('{table}', 0);"  # noqa: S608 - constants
    f"CREATE TRIGGER {table}_added AFTER INSERT ON {table} "
    f"BEGIN UPDATE counts SET n = n + 1 WHERE name = '{table}'; END;"
    f"CREATE TRIGGER {table}_removed AFTER DELETE ON {table} "
    f"BEGIN UPDATE counts SET n = n - 1 WHERE name = '{table}'; END;"
    for table in COUNTED
)
_TABLES_OF_FORMAT_1 = frozenset({"items", "records", "parsed", "arrays", "sessions"})
"""Format 1 had no checksums. It is converted: `theodolite.runs.run`."""
NO_CHECKSUMS = 1
"""The last format without checksums."""


def open_store(path: Path, mode: str) -> sqlite3.Connection:
    """Open the file of a run.

    Args:
        path: Path of the file.
        mode: ``create``, ``rw`` or ``ro``.

    Raises:
        StorageError: If it is not a Theodolite file, or was written by another version.
    """
    db = connect(path, mode)
    try:
        if mode != "create":
            _check_ours(db, path, mode)
        if mode != "ro":
            db.execute("PRAGMA journal_mode=WAL")
            db.execute("PRAGMA synchronous=NORMAL")
        if mode == "create":
            _create_tables(db)
    except BaseException:
        db.close()
        raise
    return db


def _create_tables(db: sqlite3.Connection) -> None:
    db.executescript(
        f"BEGIN; PRAGMA application_id={APPLICATION_ID}; PRAGMA user_version={SCHEMA_VERSION}; "
        f"{_TABLES} {_COUNTING} {_ADD_PLACES} COMMIT;"
    )


def add_places(path: Path) -> None:
    """Turn a file of format 2 into one of format 3, in place. All rows stay as they are."""
    db = connect(path, "rw")
    try:
        _check_schema(db, path, 2)
        db.executescript(f"BEGIN; {_ADD_PLACES} PRAGMA user_version=3; COMMIT;")
    finally:
        db.close()


def connect(path: Path, mode: str) -> sqlite3.Connection:
    """Connect to any SQLite file, before anything is read from it."""
    uri = f"{path.absolute().as_uri()}?mode={'rwc' if mode == 'create' else mode}"
    db = sqlite3.connect(uri, uri=True, timeout=30.0)
    db.text_factory = _decode
    try:
        db.execute("PRAGMA trusted_schema=OFF")
        if mode == "ro":
            db.execute("SELECT COUNT(*) FROM sqlite_master").fetchone()
    except sqlite3.OperationalError as error:
        db.close()
        if mode != "ro" or ("readonly" not in str(error) and "unable to open" not in str(error)):
            raise
        return _open_immutable(path)
    except FAILURES:
        db.close()
        raise
    return db


def _open_immutable(path: Path) -> sqlite3.Connection:
    """Connect to a file in a read-only folder, which therefore has no writer.

    An immutable file is read without its write-ahead log. If an interrupted run left a log, copies of both are merged
    in a temporary folder and opened before they are removed.
    """
    log = path.with_name(f"{path.name}-wal")
    if not (log.exists() and log.stat().st_size):
        return _connect_immutable(path)
    with TemporaryDirectory(prefix="theodolite-") as folder:
        copy = Path(folder) / path.name
        shutil.copyfile(path, copy)
        shutil.copyfile(log, copy.with_name(log.name))
        merging = sqlite3.connect(copy)
        try:
            merging.execute("PRAGMA trusted_schema=OFF")
            merging.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        finally:
            merging.close()
        return _connect_immutable(copy)


def _connect_immutable(path: Path) -> sqlite3.Connection:
    db = sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro&immutable=1", uri=True)
    db.text_factory = _decode
    db.execute("PRAGMA trusted_schema=OFF")
    db.execute("SELECT COUNT(*) FROM sqlite_master").fetchone()
    return db


def format_of(db: sqlite3.Connection, path: Path) -> int:
    """Return the version of the file's format.

    Raises:
        StorageError: If it is not a Theodolite file, or was written by a newer version.
    """
    application = db.execute("PRAGMA application_id").fetchone()[0]
    version = db.execute("PRAGMA user_version").fetchone()[0]
    if application != APPLICATION_ID:
        raise StorageError(f"{path} is a SQLite file, but not from Theodolite; choose another --out")
    if not 1 <= version <= SCHEMA_VERSION:
        age, remedy = (
            ("a newer", "upgrade Theodolite")
            if version > SCHEMA_VERSION
            else ("an unknown", "choose another --out")
        )
        raise StorageError(
            f"{path} was written by {age} Theodolite (format {version}; this one reads up to {SCHEMA_VERSION}); {remedy}"
        )
    return int(version)


def _check_ours(db: sqlite3.Connection, path: Path, mode: str) -> None:
    version = format_of(db, path)
    if version <= NO_CHECKSUMS or (version < SCHEMA_VERSION and mode != "ro"):
        raise OlderFormatError(f"{path} was written by an older Theodolite")
    _check_schema(db, path, version)


def _check_schema(db: sqlite3.Connection, path: Path, version: int) -> None:
    unexpected = schema_of(db) ^ _expected_schema(version)
    if unexpected:
        kind, name, _ = min(unexpected, key=str)
        raise StorageError(
            f"{path} does not have Theodolite's schema (the {kind} {name}): it is damaged or from another program; {_REMEDY}"
        )


def check_format_1(db: sqlite3.Connection, path: Path) -> None:
    """Check that a file of format 1 has exactly its tables, and nothing else that SQLite could execute."""
    tables = {
        (kind, name)
        for kind, name, sql in schema_of(db)
        if kind != "index" and (kind != "table" or not sql.startswith("CREATE VIRTUAL"))
    }
    if tables != {("table", name) for name in _TABLES_OF_FORMAT_1}:
        raise StorageError(
            f"{path} does not have the schema of Theodolite's format 1; it is damaged or from another program"
        )


class OlderFormatError(StorageError):
    """The file has an older format and must be converted first."""


@cache
def _expected_schema(version: int) -> frozenset[tuple[str, str, str]]:
    db = sqlite3.connect(":memory:")
    try:
        db.executescript(_TABLES + _COUNTING + (_ADD_PLACES if version == SCHEMA_VERSION else ""))
        return schema_of(db)
    finally:
        db.close()


def schema_of(db: sqlite3.Connection) -> frozenset[tuple[str, str, str]]:
    """Return all tables, indexes, views and triggers as (kind, name, SQL)."""
    return frozenset(db.execute("SELECT type, name, COALESCE(sql, '') FROM sqlite_master"))


def stored_columns(db: sqlite3.Connection) -> str:
    """Return `STORED_COLUMNS` as a file of this format has them: an older one gives null for what it did not store."""
    version = db.execute("PRAGMA user_version").fetchone()[0]
    return STORED_COLUMNS if version == SCHEMA_VERSION else _STORED_COLUMNS_2


def full_disk(path: Path) -> str:
    """Return the message for a full disk."""
    return (
        f"the disk that holds {path} is full; free some space and repeat the command: finished work is kept"
    )


def explain(path: Path, error: Exception) -> str:
    """Explain an SQLite error to the user in one sentence."""
    text = str(error)
    if "full" in text:
        return full_disk(path)
    if "not a database" in text:
        return f"{path} is not a SQLite file, or it is damaged; {_REMEDY}"
    if "malformed" in text or isinstance(error, MemoryError | UnicodeDecodeError | sqlite3.DataError):
        return (
            f"{path} is damaged ({text or 'a length is wrong'}); `theodolite runs verify {path.parent}` shows what, "
            f"and the command that made the run asks the lost items again; if that command says this, {_REMEDY}"
        )
    if "readonly" in text or "unable to open" in text:
        return f"{path} cannot be opened for writing ({text}); check the permissions of the folder"
    if "locked" in text:
        return f"{path} is locked by another process; wait for it or stop it"
    return f"{path}: {text}"


# The plan and the results of a run, in one SQLite file in write-ahead mode.
#
# Why SQLite: a committed row survives ``kill -9``, readers see a consistent state during a run, the cost per row does not
# grow with the run, and many tools can open the file. Each record is committed as it arrives. With
# ``synchronous=NORMAL`` a commit does not wait for the disk: a killed process loses nothing. A power cut can lose
# the last commits, but does not damage the file.
#
# Every row has a checksum of its content. A damaged row is never read as something else: it counts as missing, and a
# `DamageWarning` says so. `theodolite.runs.run` finds all damage and keeps
# the whole rows.


_ITEM_TABLES = ("arrays", "parsed", "records", "items")
_FINISHED = frozenset({"answered", "refused"})
_ATTEMPTS = [name.strip() for name in STORED_COLUMNS.split(",")].index("attempts")
_PAGE = 256
"""Rows fetched at a time, so that memory use does not grow with the run."""


class Store:
    """The SQLite file of one run."""

    def __init__(self, path: Path, *, mode: str = "rw") -> None:
        """Open the file.

        Args:
            path: Path of the file.
            mode: ``create``, ``rw`` or ``ro``.
        """
        self.path = path
        self.folder = path.parent
        self.is_writable = mode != "ro"
        self.vacant: list[int] = []
        """Positions of damaged items that were removed, to be taken by the same items when they are planned again."""
        self.complete: Callable[[Item], Item] | None = None
        """Completes an item that was stored before items carried their truth."""
        self._told: set[str] = set()
        self._has_families = False
        with self._errors():
            self._db = open_store(path, mode)
            self._stored_columns = stored_columns(self._db)

    def close(self) -> None:
        """Close the file. The write-ahead log is merged first, so that a single file remains."""
        try:
            self._db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        except sqlite3.Error:
            pass  # a reader is active, or the disk is full: the log stays next to the file and nothing is lost
        finally:
            self._db.close()

    def metas(self, ids: Sequence[str]) -> dict[str, str]:
        """Return the metadata of those of the given items that are already planned."""
        marks = ", ".join("?" * len(ids))
        with self._errors():
            return dict(self._db.execute(f"SELECT id, meta FROM items WHERE id IN ({marks})", ids))  # noqa: S608

    def plan(self, new: Iterable[tuple[str, str, str, str, str]], changed: Iterable[tuple[str, str]]) -> None:
        """Add items as (id, name, request, options, meta), and update metadata as (meta, id).

        Call within a `transaction`. New items take the places of removed damaged ones first.
        """
        last = self._db.execute("SELECT COALESCE(MAX(seq), 0) FROM items").fetchone()[0]
        for row in new:
            if self.vacant:
                seq = self.vacant.pop(0)
            else:
                seq = last = last + 1
            self.put_row("items", (seq, *row, checksum((seq, *row))))
        for meta, item_id in changed:
            row = self._db.execute(
                "SELECT seq, id, name, request, options FROM items WHERE id = ?", (item_id,)
            ).fetchone()
            self._db.execute(
                "UPDATE items SET meta = ?, sum = ? WHERE id = ?", (meta, checksum((*row, meta)), item_id)
            )

    def keep_only(self, ids: AbstractSet[str]) -> list[str]:
        """Remove all other items that have no answer, and return the names of those that have one.

        Call within a `transaction`.
        """
        others = [
            (seq, name, status in _FINISHED)
            for seq, item_id, name, status in self._db.execute(
                "SELECT items.seq, id, name, status FROM items LEFT JOIN records USING (seq)"
            )
            if item_id not in ids
        ]
        for table in _ITEM_TABLES:
            self._db.executemany(
                f"DELETE FROM {table} WHERE seq = ?",  # noqa: S608 - a constant
                ((seq,) for seq, _, is_answered in others if not is_answered),
            )
        return [name for _, name, is_answered in others if is_answered]

    def forget_plan(self) -> bool:
        """Remove the plan if there is no answer yet. Return True if it was removed."""
        with self.transaction():
            if self.keep_only(frozenset()):
                self._db.rollback()
                return False
            self._db.execute("DELETE FROM sessions")
        return True

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Context manager: everything inside is committed together, or not at all."""
        with self._errors(), self._db:
            yield

    def put_row(self, table: str, row: Sequence[Any]) -> None:
        """Add a row with its checksum. Call within a `transaction`."""
        columns = f"(seq, {STORED_COLUMNS}, sum)" if table == "records" else ""
        self._db.execute(f"INSERT INTO {table} {columns} VALUES ({', '.join('?' * len(row))})", row)  # noqa: S608 - constants

    def pending(self, *, seed: int = 0, limit: int | None = None) -> Iterator[tuple[int, Item, bool]]:
        """Yield unfinished items in a random order, each at most once.

        The order is that of a hash of the seed and what is shown, and among items that show the same pictures of the seed
        and the item's id. So it says nothing about the plan, is the same whenever a run is resumed, items planned later do
        not change it, and a model reads a picture once for all that is asked about it.

        Args:
            seed: Seed of the order.
            limit: Consider only this many items, from the start of the plan.

        Yields:
            The item's position in the plan, the item, and True if it failed before.
        """
        last, end = 0, self._last_of(limit)

        def turn(item_id: str, request: str) -> bytes:
            shown = " ".join(_PICTURE.findall(request)) or item_id
            return _hash_of(f"{seed} {shown}") + _hash_of(f"{seed} {item_id}")

        with (
            self._errors()
        ):  # a temporary table is sorted on disk, so that memory use does not grow with the run
            for table in ("turns", "families"):
                self._db.execute(f"DROP TABLE IF EXISTS temp.{table}")
            self._has_families = False
            self._db.create_function("turn", 2, turn, deterministic=True)
            self._db.execute("CREATE TEMP TABLE turns (turn INTEGER PRIMARY KEY, seq INTEGER NOT NULL)")
            with self._db:
                self._db.execute(
                    "INSERT INTO turns (seq) SELECT items.seq FROM items LEFT JOIN records USING (seq) "
                    "WHERE items.seq <= ? AND (status IS NULL OR status = 'failed') ORDER BY turn(id, request)",
                    (end,),
                )
        while True:
            with self._errors():
                page = self._db.execute(
                    "SELECT turn, seq, status, id, name, request, options, meta "
                    "FROM turns JOIN items USING (seq) LEFT JOIN records USING (seq) "
                    "WHERE turn > ? ORDER BY turn LIMIT ?",
                    (last, _PAGE),
                ).fetchall()
            if not page:
                return
            for _, seq, status, *columns in page:
                yield seq, self._item(seq, columns), status is not None
            last = page[-1][0]

    def last_place(self) -> int:
        """Return the place of the last request that was made; 0 if there is none."""
        with self._errors():
            return int(self._db.execute("SELECT COALESCE(MAX(place), 0) FROM records").fetchone()[0])

    def family(self, item: Item) -> Iterator[tuple[Item, Record | None]]:
        """Yield the item before all edits and repeats, and all items made from it, with their records if they have any.

        Call while measuring: the plan is that of the last call of `pending`.
        """
        with self._errors():
            if not self._has_families:
                self._db.create_function("family", 2, _family_in_row, deterministic=True)
                self._db.execute("CREATE TEMP TABLE families (family TEXT NOT NULL, seq INTEGER NOT NULL)")
                with self._db:
                    self._db.execute("INSERT INTO families SELECT family(name, meta), seq FROM items")
                self._db.execute("CREATE INDEX temp.by_family ON families (family)")
                self._has_families = True
            rows = self._db.execute(
                f"SELECT seq, items.id, name, request, options, meta, {STORED_COLUMNS}, records.sum FROM families "  # noqa: S608
                "JOIN items USING (seq) LEFT JOIN records USING (seq) WHERE family = ?",
                (_family(item.name, item.truth),),
            ).fetchall()
        for seq, *row in rows:
            record = None if row[5] is None else self._record(seq, row[0], row[5:], arrays=False)
            yield self._item(seq, row[:5]), record

    def add(self, records: Sequence[tuple[int, str | None, Record]]) -> list[Record]:
        """Commit records as (seq, cache key, record). Failed records are overwritten, finished ones are not.

        Returns:
            The records as stored. A record that cannot be stored becomes a failed record.
        """
        now = time.time()
        stored = []
        with self._errors(), self._db:
            for seq, key, record in records:
                kept, row, arrays = _storable(record)
                stored.append(kept)
                old = self._db.execute(
                    "SELECT id, status, attempts FROM items LEFT JOIN records USING (seq) WHERE seq = ?",
                    (seq,),
                ).fetchone()
                if old is None or old[1] in _FINISHED:
                    continue
                if old[1] is not None:
                    row = (*row[:_ATTEMPTS], row[_ATTEMPTS] + old[2], *row[_ATTEMPTS + 1 :])
                    self._db.execute("DELETE FROM records WHERE seq = ?", (seq,))
                    self._db.execute("DELETE FROM arrays WHERE seq = ?", (seq,))
                row = (*row, key, now, canonical_json(sorted(kept.arrays)), kept.place)
                self.put_row("records", (seq, *row, record_checksum(old[0], row)))
                for array in arrays:
                    self.put_row("arrays", (seq, *array, checksum((old[0], *array))))
        return stored

    def find_answer(self, key: str) -> Record | None:
        """Return an answered record with the same key in this run, or None."""
        with self._errors():
            row = self._db.execute(
                f"SELECT id, {STORED_COLUMNS}, records.sum FROM records JOIN items USING (seq) "  # noqa: S608
                "WHERE key = ? AND status = 'answered' LIMIT 1",
                (key,),
            ).fetchone()
        if row is None or not is_whole_record(row[0], row[1:]):
            return None
        with readable(self.path, f"the record of the key {key}"):
            return replace(record_from_row("", row[1 : 1 + N_RECORD_COLUMNS]), place=_place(row[-2]))

    def results(self, *, arrays: bool = False) -> Iterator[Result]:
        """Yield every item of the plan with its results, in plan order. Damaged parts are left out, with a warning.

        Args:
            arrays: If True, also read the records' arrays.
        """
        last, seen, stamp = 0, Counter[str](), self._stamp()
        while True:
            with self._errors():
                page = self._db.execute(
                    "SELECT seq, id, name, request, options, meta, sum FROM items WHERE seq > ? ORDER BY seq LIMIT ?",
                    (last, _PAGE),
                ).fetchall()
                by_seq = self._found(page[0][0], page[-1][0]) if page else {}
            for row in page:
                if row[0] <= last:
                    raise StorageError(
                        explain(self.path, sqlite3.DatabaseError("malformed: items out of order"))
                    )
                last = row[0]
                seen["items"] += 1
                if is_whole(row):
                    result = self._result(row, by_seq.get(last, {}), arrays=arrays)
                    seen["records"] += "records" in by_seq.get(last, {})
                    seen["parsed"] += len({reading.parser for reading in result.parsed})
                    yield result
                else:
                    self._tell_damage(f"the item in row {last}")
            if not page:
                self._tell_losses(seen, stamp)
                return

    def repeats(self) -> Iterator[tuple[Result, Result]]:
        """Yield the results of each request that was made again: the first time and the second time. Only these are read."""
        with self._errors():
            told = "instr(meta, '\"repeats\":') OR NOT instr(meta, '\"truth\":')"  # one of an older version may repeat
            seqs = [seq for (seq,) in self._db.execute(f"SELECT seq FROM items WHERE {told} ORDER BY seq")]  # noqa: S608 - a constant
        again = {each.item.truth.repeats: each for each in self._some(seqs) if each.item.truth.repeats}
        with self._errors():
            names = self._db.execute("SELECT seq, name FROM items ORDER BY seq") if again else ()
            seqs = [seq for seq, name in names if name in again]
        for first in self._some(seqs):
            if not first.item.truth.repeats:
                yield first, again[first.item.name]

    def _some(self, seqs: Iterable[int]) -> Iterator[Result]:
        """Yield the items in some rows with their results. Damaged ones are left out."""
        for seq in seqs:
            with self._errors():
                row = self._db.execute(
                    "SELECT seq, id, name, request, options, meta, sum FROM items WHERE seq = ?", (seq,)
                ).fetchone()
                by_seq = self._found(seq, seq)
            if row is not None and is_whole(row):
                yield self._result(row, by_seq.get(seq, {}), arrays=False)

    def _result(
        self, row: Sequence[Any], by_table: dict[str, list[tuple[Any, ...]]], *, arrays: bool
    ) -> Result:
        seq, item_id = row[:2]
        item = self._item(seq, row[1:6])
        record = None
        for stored in by_table.get("records", ()):
            record = self._record(seq, item_id, stored, arrays=arrays)
        readings = []
        for stored in by_table.get("parsed", ()):
            if is_whole((item_id, *stored)):
                with readable(self.path, f"a reading in row {seq}"):
                    parser, status, value = stored[:3]
                    readings.append(Parsed(item_id, parser, status, json.loads(value)))
            else:
                self._tell_damage(f"a reading in row {seq}")
        return Result(seq, item, record, tuple(readings))

    def _record(self, seq: int, item_id: str, row: Sequence[Any], *, arrays: bool) -> Record | None:
        if not is_whole_record(item_id, row):
            self._tell_damage(f"the record in row {seq}")
            return None
        with readable(self.path, f"the record in row {seq}"):
            record = replace(record_from_row(item_id, row[:N_RECORD_COLUMNS]), place=_place(row[-2]))
            names = json.loads(row[-3])
        if not (arrays and names):
            return record
        loaded = self._arrays(seq, item_id)
        if sorted(loaded) != names:
            self._tell_damage(f"an array of the record in row {seq}")
            return None
        return replace(record, arrays=loaded)

    def write_parsed(self, rows: Iterable[Parsed]) -> None:
        """Store parser results, replacing earlier ones of the same parser."""
        with self._errors(), self._db:
            self._db.executemany(
                "INSERT INTO parsed SELECT seq, ?, ?, ?, ? FROM items WHERE id = ? "
                "ON CONFLICT DO UPDATE SET status = excluded.status, value = excluded.value, sum = excluded.sum",
                (
                    (*values, checksum((row.item_id, *values)), row.item_id)
                    for row in rows
                    for values in [(row.parser, row.status, storable(canonical_json(row.value)))]
                ),
            )

    def tally(self) -> Tally:
        """Count the items by status."""
        with self._errors():
            by_status = dict(
                self._db.execute("SELECT status, COUNT(*) FROM records GROUP BY status").fetchall()
            )
            reused = self._db.execute("SELECT COUNT(*) FROM records WHERE reused").fetchone()[0]
            counts = {status: by_status.get(status, 0) for status in ("answered", "refused", "failed")}
            return Tally(planned=self._count("items"), reused=reused, **counts)

    def add_session(self, session: str) -> None:
        """Record the start of a measuring session."""
        with self._errors(), self._db:
            row = (time.strftime("%Y-%m-%d %H:%M:%S", time.gmtime()), session)
            self.put_row("sessions", (*row, checksum(row)))

    def sessions(self) -> list[str]:
        """Return all sessions, oldest first, each as the JSON of a `Session`."""
        with self._errors():
            rows = self._db.execute("SELECT started, session, sum FROM sessions ORDER BY rowid").fetchall()
        whole = [row[1] for row in rows if is_whole(row)]
        if len(whole) < len(rows):
            self._tell_damage("a session entry")
        with readable(self.path, "a session entry"):
            for text in whole:
                Session.model_validate_json(text)
        return whole

    def write_info(self, info: str) -> None:
        """Keep a copy of ``run.json``, in case the file is damaged."""
        with self._errors(), self._db:
            self._db.execute("DELETE FROM info")
            self.put_row("info", (info, checksum((info,))))

    def info(self) -> str | None:
        """Return the copy of ``run.json``, if it is intact."""
        with self._errors():
            row = self._db.execute("SELECT info, sum FROM info").fetchone()
        return row[0] if row is not None and is_whole(row) else None

    def _found(self, first: int, last: int) -> dict[int, dict[str, list[tuple[Any, ...]]]]:
        """Return the records and readings of some rows, by row and table."""
        by_seq: dict[int, dict[str, list[tuple[Any, ...]]]] = {}
        for table, columns in (("records", self._stored_columns), ("parsed", "parser, status, value")):
            for seq, *row in self._db.execute(
                f"SELECT seq, {columns}, sum FROM {table} WHERE seq BETWEEN ? AND ? ORDER BY seq",  # noqa: S608
                (first, last),
            ):
                by_seq.setdefault(seq, {}).setdefault(table, []).append(tuple(row))
        return by_seq

    def _stamp(self) -> tuple[int, int, dict[str, int]]:
        """Return counters that change when this or another process writes, and the expected number of rows."""
        with self._errors():
            version = self._db.execute("PRAGMA data_version").fetchone()[0]
            return version, self._db.total_changes, dict(self._db.execute("SELECT name, n FROM counts"))

    def _tell_losses(self, seen: Counter[str], before: tuple[int, int, dict[str, int]]) -> None:
        """Warn if there are fewer or more rows than were written, unless something was written in the meantime."""
        if self._stamp()[:2] == before[:2]:
            for table in COUNTED:
                if seen[table] != before[2].get(table, -1):
                    self._tell_damage(
                        f"the number of {table}, {seen[table]} of {before[2].get(table, 'unknown')},"
                    )

    def _tell_damage(self, what: str) -> None:
        """Warn once for each kind of damage."""
        kind = what.partition(" in row ")[0].partition(",")[0]
        if kind not in self._told:
            self._told.add(kind)
            warnings.warn(
                f"{self.path}: {what} is damaged and counts as missing; `theodolite runs verify {self.folder}` lists "
                "all damage, and the command that made the run asks the missing items again",
                DamageWarning,
                stacklevel=2,
            )

    def _item(self, seq: int, columns: Sequence[str]) -> Item:
        """Restore an item from its id, name, request, options and metadata."""
        item_id, *row = columns
        with readable(self.path, f"the item in row {seq}"):
            item, has_truth = item_from_row(row, self.folder)
            if item.id != item_id:
                raise ValueError(f"its id should be {item.id}, not {item_id}")
            return item if has_truth or self.complete is None else self.complete(item)

    def _arrays(self, seq: int, item_id: str) -> dict[str, NDArray[Any]]:
        with self._errors():
            rows = self._db.execute(
                "SELECT name, dtype, shape, data, sum FROM arrays WHERE seq = ?", (seq,)
            ).fetchall()
        return {row[0]: unpack(*row[1:4]) for row in rows if is_whole((item_id, *row))}

    def _last_of(self, limit: int | None) -> int:
        """Return the position of the last of the first `limit` items."""
        with self._errors():
            row = self._db.execute(
                "SELECT seq FROM items ORDER BY seq LIMIT 1 OFFSET ?", ((limit or 0) - 1,)
            ).fetchone()
        return int(row[0]) if limit is not None and row is not None else 1 << 62

    def _count(self, table: str) -> int:
        return int(self._db.execute(f"SELECT COUNT(*) FROM {table}").fetchone()[0])  # noqa: S608 - a constant

    @contextmanager
    def _errors(self) -> Iterator[None]:
        try:
            yield
        except FAILURES as error:
            raise StorageError(explain(self.path, error)) from error


_PICTURE = re.compile(r'"picture":"([^"]*)"')
"""The digest of a picture in a stored request. Within a text of the request, quotes have a backslash."""


def _hash_of(text: str) -> bytes:
    return hashlib.blake2b(text.encode(errors="replace"), digest_size=16).digest()


def _place(value: Any) -> int | None:
    if not isinstance(value, int | None):
        raise TypeError(f"the place {value!r:.80} has the wrong type")
    return value


def _family_in_row(name: str, meta: str) -> str:
    """Return the family of an item, given two of its stored columns. A damaged item is its own family."""
    try:
        return _family(name, _TRUTH.validate_python(json.loads(meta).get(TRUTH, {})))
    except (ValueError, AttributeError):
        return name


def _family(name: str, truth: Truth) -> str:
    return truth.base or truth.repeats or name


def _storable(record: Record) -> tuple[Record, tuple[Any, ...], list[tuple[str, str, str, bytes]]]:
    """Return a record with its row and packed arrays. A record that cannot be stored becomes a failed one."""
    try:
        return record, record_row(record), [(name, *pack(array)) for name, array in record.arrays.items()]
    except (TypeError, ValueError, OverflowError, AttributeError, StorageError) as error:
        reason = f"the answer cannot be stored ({type(error).__name__}: {error})"[:500]
        failed = Record(record.item_id, Response.failed(reason), place=record.place)
        return failed, record_row(failed), []


def planned_in(path: Path) -> int:
    """Return the number of items in a store file. 0 if there is no file, or if its creation was interrupted.

    Raises:
        StorageError: If it is not a Theodolite file.
    """
    log = path.with_name(f"{path.name}-wal")
    if not any(file.exists() and file.stat().st_size for file in (path, log)):
        return 0
    if not path.exists():
        raise StorageError(f"{log} exists without {path.name}; restore that file or choose another --out")
    try:
        db = connect(path, "ro")
        try:
            tables = db.execute("SELECT COUNT(*) FROM sqlite_master").fetchone()[0]
        finally:
            db.close()
    except FAILURES as error:
        raise StorageError(explain(path, error)) from error
    if not tables:
        return 0
    store = Store(path, mode="ro")
    try:
        return store.tally().planned
    finally:
        store.close()
