"""The SQLite file of a run: its schema, how it is opened, and its error messages.

A run folder may come from an untrusted source. Anything else in the file (a view that never ends, a trigger that
rewrites rows) would run as soon as the file is read. A file with a schema other than ours is therefore refused.
"""

from __future__ import annotations

import shutil
import sqlite3
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

from theodolite.core.errors import StorageError
from theodolite.runs.serialize import SCHEMA_VERSION

APPLICATION_ID = 0x7E0D0117
"""Identifies the file in the SQLite header."""

_TABLES = """
CREATE TABLE items (
    seq INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    name TEXT NOT NULL,
    request TEXT NOT NULL,
    options TEXT NOT NULL,
    meta TEXT NOT NULL
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
    at REAL NOT NULL
);
CREATE INDEX records_by_key ON records (key) WHERE key IS NOT NULL;
CREATE TABLE parsed (
    seq INTEGER NOT NULL REFERENCES items (seq),
    parser TEXT NOT NULL,
    status TEXT NOT NULL,
    value TEXT NOT NULL,
    PRIMARY KEY (seq, parser)
) WITHOUT ROWID;
CREATE TABLE arrays (
    seq INTEGER NOT NULL REFERENCES items (seq),
    name TEXT NOT NULL,
    dtype TEXT NOT NULL,
    shape TEXT NOT NULL,
    data BLOB NOT NULL,
    PRIMARY KEY (seq, name)
) WITHOUT ROWID;
CREATE TABLE sessions (started TEXT NOT NULL, session TEXT NOT NULL);
"""


def open_store(path: Path, mode: str) -> sqlite3.Connection:
    """Open the file of a run.

    Args:
        path: Path of the file.
        mode: ``create``, ``rw`` or ``ro``.

    Raises:
        StorageError: If it is not a Theodolite file, or was written by a newer version.
    """
    db = connect(path, mode)
    try:
        if mode != "create":
            _check_ours(db, path)
        if mode != "ro":
            db.execute("PRAGMA journal_mode=WAL")
            db.execute("PRAGMA synchronous=NORMAL")
        if mode == "create":
            db.executescript(
                f"BEGIN; PRAGMA application_id={APPLICATION_ID}; PRAGMA user_version={SCHEMA_VERSION}; {_TABLES} COMMIT;"
            )
    except BaseException:
        db.close()
        raise
    return db


def connect(path: Path, mode: str) -> sqlite3.Connection:
    """Connect to any SQLite file, before anything is read from it."""
    uri = f"{path.absolute().as_uri()}?mode={'rwc' if mode == 'create' else mode}"
    db = sqlite3.connect(uri, uri=True, timeout=30.0)
    try:
        db.execute("PRAGMA trusted_schema=OFF")
        if mode == "ro":
            db.execute("SELECT COUNT(*) FROM sqlite_master").fetchone()
    except sqlite3.OperationalError as error:
        db.close()
        if mode != "ro" or ("readonly" not in str(error) and "unable to open" not in str(error)):
            raise
        return _open_immutable(path)
    except sqlite3.Error:
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
    db.execute("PRAGMA trusted_schema=OFF")
    db.execute("SELECT COUNT(*) FROM sqlite_master").fetchone()
    return db


def _check_ours(db: sqlite3.Connection, path: Path) -> None:
    application = db.execute("PRAGMA application_id").fetchone()[0]
    version = db.execute("PRAGMA user_version").fetchone()[0]
    if application != APPLICATION_ID:
        raise StorageError(f"{path} is a SQLite file, but not from Theodolite; choose another --out")
    if version > SCHEMA_VERSION:
        raise StorageError(
            f"{path} was written by a newer Theodolite (format {version}; this one reads up to {SCHEMA_VERSION}); "
            "upgrade: pip install -U theodolite"
        )
    unexpected = schema_of(db) ^ _expected_schema()
    if unexpected:
        kind, name, _ = min(unexpected)
        raise StorageError(
            f"{path} does not have Theodolite's schema (the {kind} {name}); it is damaged or from another program"
        )


@cache
def _expected_schema() -> frozenset[tuple[str, str, str]]:
    db = sqlite3.connect(":memory:")
    try:
        db.executescript(_TABLES)
        return schema_of(db)
    finally:
        db.close()


def schema_of(db: sqlite3.Connection) -> frozenset[tuple[str, str, str]]:
    """Return all tables, indexes, views and triggers as (kind, name, SQL)."""
    return frozenset(db.execute("SELECT type, name, COALESCE(sql, '') FROM sqlite_master"))


def full_disk(path: Path) -> str:
    """The message for a full disk."""
    return (
        f"the disk that holds {path} is full; free some space and repeat the command: finished work is kept"
    )


def explain(path: Path, error: sqlite3.Error) -> str:
    """Explain an SQLite error to the user in one sentence."""
    text = str(error)
    if "full" in text:
        return full_disk(path)
    if "not a database" in text:
        return f"{path} is not a SQLite file; it may be damaged: move it away or choose another --out"
    if "malformed" in text:
        return (
            f"{path} is damaged ({text}); `sqlite3 {path.name} .recover` may recover its rows into a new file"
        )
    if "readonly" in text or "unable to open" in text:
        return f"{path} cannot be opened for writing ({text}); check the permissions of the folder"
    if "locked" in text:
        return f"{path} is locked by another process; wait for it or stop it"
    return f"{path}: {text}"
