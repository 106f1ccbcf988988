"""The SQLite file of a run: its schema, how it is opened, and its error messages.

A run folder may come from an untrusted source. Anything else in the file (a view that never ends, a trigger that
rewrites rows) would run as soon as the file is read. A file with a schema other than ours is therefore refused.
"""

from __future__ import annotations

import shutil
import sqlite3
from functools import cache, partial
from pathlib import Path
from tempfile import TemporaryDirectory

from theodolite.core.errors import StorageError
from theodolite.runs.serialize import SCHEMA_VERSION

FAILURES = (sqlite3.Error, MemoryError, UnicodeDecodeError)
"""What Python raises when SQLite meets a damaged file: a wrong length may ask for too much memory, and the message of an
error may quote damaged text."""
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
"""Each row has the checksum of its content (`theodolite.runs.records.checksum`), a record the names of its arrays."""
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
"""Format 1 had no checksums. It is converted: `theodolite.runs.mending`."""
PAGE_BYTES = 4096
_COUNTERS = frozenset({*range(24, 44), *range(92, 100)})
"""Bytes of the file header that change: counters, sizes and SQLite's version."""
_VERSION = frozenset(range(60, 64))
_MOST_DAMAGED_BYTES = 8
"""A first page that differs in more bytes than this is not ours."""


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
            _check_ours(db, path)
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
        f"{_TABLES} {_COUNTING} COMMIT;"
    )


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

    An immutable file is read without its write-ahead log. If an interrupted run has left a log, copies of both are
    merged in a temporary folder and opened before they are removed.
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
            ("a newer", "upgrade: pip install -U theodolite")
            if version > SCHEMA_VERSION
            else ("an unknown", "choose another --out")
        )
        raise StorageError(
            f"{path} was written by {age} Theodolite (format {version}; this one reads up to {SCHEMA_VERSION}); {remedy}"
        )
    return int(version)


def _check_ours(db: sqlite3.Connection, path: Path) -> None:
    if format_of(db, path) < SCHEMA_VERSION:
        raise OlderFormatError(f"{path} was written by an older Theodolite")
    unexpected = schema_of(db) ^ _expected_schema()
    if unexpected:
        kind, name, _ = min(unexpected, key=str)
        raise StorageError(
            f"{path} does not have Theodolite's schema (the {kind} {name}); it is damaged or from another program"
        )


def check_format_1(db: sqlite3.Connection, path: Path) -> None:
    """Check that a file of format 1 has its tables and nothing else that SQLite could run."""
    found = {
        (kind, name)
        for kind, name, sql in schema_of(db)
        if kind != "index" and (kind != "table" or not sql.startswith("CREATE VIRTUAL"))
    }
    if found != {("table", name) for name in _TABLES_OF_FORMAT_1}:
        raise StorageError(
            f"{path} does not have the schema of Theodolite's format 1; it is damaged or from another program"
        )


class OlderFormatError(StorageError):
    """The file has an older format and must be converted first."""


@cache
def _expected_schema() -> frozenset[tuple[str, str, str]]:
    db = sqlite3.connect(":memory:")
    try:
        db.executescript(_TABLES + _COUNTING)
        return schema_of(db)
    finally:
        db.close()


@cache
def _first_page() -> bytes:
    """The first page of every store: the file header and the schema."""
    db = sqlite3.connect(":memory:")
    try:
        db.execute(f"PRAGMA page_size={PAGE_BYTES}")
        _create_tables(db)
        page = bytearray(db.serialize()[:PAGE_BYTES])
    finally:
        db.close()
    page[18:20] = b"\2\2"  # a file in write-ahead mode
    return bytes(page)


def damaged_bytes(data: bytes) -> int | None:
    """Return in how many bytes a file's first page differs from a store's, or None if it is not that of a store.

    Another version number is not damage: a newer Theodolite may have written it.
    """
    wrong = {
        i for i, pair in enumerate(zip(data, _first_page(), strict=False)) if pair[0] != pair[1]
    } - _COUNTERS
    is_ours = len(data) >= PAGE_BYTES and len(wrong) <= _MOST_DAMAGED_BYTES and not wrong & _VERSION
    return len(wrong) if is_ours else None


def good_first_page(n_bytes: int) -> bytes:
    """Return the first page for a copy of a store of this size, to read its rows whatever its own first page says."""
    page = bytearray(_first_page())
    page[24:28] = page[92:96] = b"\0\0\0\1"  # equal counters: the size below is valid
    page[28:32] = (n_bytes // PAGE_BYTES).to_bytes(4, "big")
    return bytes(page)


def schema_of(db: sqlite3.Connection) -> frozenset[tuple[str, str, str]]:
    """Return all tables, indexes, views and triggers as (kind, name, SQL)."""
    return frozenset(db.execute("SELECT type, name, COALESCE(sql, '') FROM sqlite_master"))


def full_disk(path: Path) -> str:
    """The message for a full disk."""
    return (
        f"the disk that holds {path} is full; free some space and repeat the command: finished work is kept"
    )


def explain(path: Path, error: Exception) -> str:
    """Explain an SQLite error to the user in one sentence."""
    text = str(error)
    if "full" in text:
        return full_disk(path)
    if "not a database" in text:
        return f"{path} is not a SQLite file; it may be damaged: move it away or choose another --out"
    if "malformed" in text or isinstance(error, MemoryError | UnicodeDecodeError | sqlite3.DataError):
        return (
            f"{path} is damaged ({text or 'a length is wrong'}); `theodolite runs verify {path.parent}` shows what, "
            "and the command that made the run asks again what cannot be recovered"
        )
    if "readonly" in text or "unable to open" in text:
        return f"{path} cannot be opened for writing ({text}); check the permissions of the folder"
    if "locked" in text:
        return f"{path} is locked by another process; wait for it or stop it"
    return f"{path}: {text}"
