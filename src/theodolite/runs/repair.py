"""Damage in the store of a run: find it, and copy all whole rows into a new file, so that only what is lost is asked again.

A file that SQLite or the schema check refuses as a whole is left as it is. A file of an older format is converted in the same way: its rows are copied into a new file, which then replaces it.
"""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from theodolite.core.errors import StorageError
from theodolite.core.types import canonical_json
from theodolite.runs.records import SCHEMA_VERSION, STORED_COLUMNS, checksum, is_whole
from theodolite.runs.store import (
    COUNTED,
    FAILURES,
    Store,
    check_format_1,
    connect,
    explain,
    format_of,
    open_store,
)

_ITEM = "seq, id, name, request, options, meta"
_MOST_MESSAGES = 10
"""Messages of SQLite's own check that are passed on."""
_FEWEST_ROW_BYTES = 128
"""No item takes less space than this, so the file's size bounds the number of items."""
DAMAGED = ".damaged"
"""Ending of a damaged file that was replaced."""


@dataclass(frozen=True, slots=True)
class Damage:
    """One thing that is damaged."""

    file: str
    what: str
    reason: str


def find_damage(path: Path) -> Iterator[Damage]:
    """Yield everything in a store that is not as it was written.

    Checks SQLite's own structure, the checksum of every row, and the number of rows. A file of format 1 has no
    checksums: only its structure is checked.
    """
    try:
        with closing(connect(path, "ro")) as db:
            is_old = format_of(db, path) < SCHEMA_VERSION
            if is_old:
                check_format_1(db, path)
        with closing(connect(path, "ro") if is_old else open_store(path, "ro")) as db:
            yield from _structural(db, path)
            if not is_old:
                yield from _damaged_rows(db, path)
    except FAILURES as error:
        yield Damage(path.name, "the file", explain(path, error))
    except StorageError as error:
        yield Damage(path.name, "the file", str(error))


def _structural(db: sqlite3.Connection, path: Path) -> Iterator[Damage]:
    try:
        for (text,) in db.execute(f"PRAGMA integrity_check({_MOST_MESSAGES})"):
            if text != "ok":
                yield Damage(path.name, "the structure", " ".join(str(text).split()))
    except FAILURES as error:
        yield Damage(path.name, "the structure", str(error))


def _damaged_rows(db: sqlite3.Connection, path: Path) -> Iterator[Damage]:
    arrays: dict[int, list[str]] = {}

    def array_ok(row: Sequence[Any]) -> bool:
        if ok := _belongs(row):
            arrays.setdefault(row[0], []).append(row[3])
        return ok

    def record_ok(row: Sequence[Any]) -> bool:
        return _belongs(row) and canonical_json(sorted(arrays.get(row[0], ()))) == row[-2]

    checks: dict[str, tuple[str, str, Callable[[Sequence[Any]], bool]]] = {
        "items": (_ITEM, "the item", is_whole),
        "arrays": ("arrays.name, dtype, shape, data", "an array of", array_ok),
        "records": (STORED_COLUMNS, "the record of", record_ok),
        "parsed": ("parser, status, value", "a reading of", _belongs),
        "sessions": ("started, session", "a session entry", is_whole),
        "info": ("info", "the copy of run.json", is_whole),
    }
    counts = {}
    for table, (columns, words, is_ok) in checks.items():
        counts[table] = 0
        query = f"SELECT {columns}, sum FROM {table}"  # noqa: S608 - constants
        if table in {"arrays", "records", "parsed"}:
            own = f"seq, id, items.name, {columns}, {table}.sum"
            query = f"SELECT {own} FROM {table} LEFT JOIN items USING (seq) ORDER BY seq"  # noqa: S608 - constants
        try:
            for row in db.execute(query):
                counts[table] += 1
                if not is_ok(row):
                    where = f" {row[2]!r:.80} (row {row[0]})" if len(row) > 3 else ""
                    yield Damage(path.name, f"{words}{where}", "the checksum does not fit")
        except FAILURES as error:
            yield Damage(path.name, f"the table {table}", explain(path, error))
    yield from _wrong_counts(db, path, counts)


def _belongs(row: Sequence[Any]) -> bool:
    """True if a row, given as (seq, item id, item name, columns and checksum), is whole and belongs to its item."""
    return is_whole((row[1], *row[3:]))


def _wrong_counts(db: sqlite3.Connection, path: Path, found: dict[str, int]) -> Iterator[Damage]:
    try:
        written = dict(db.execute("SELECT name, n FROM counts"))
    except FAILURES as error:
        yield Damage(path.name, "the table counts", explain(path, error))
        return
    for table in COUNTED:
        if found[table] != written.get(table):
            reason = f"{found[table]} rows were found, {written.get(table)!r:.40} were written"
            yield Damage(path.name, f"the table {table}", reason)


def convert_if_older(path: Path) -> bool:
    """Convert a store of an older format in place. Call while holding the run's lock. Return True if it was."""
    if not is_older(path):
        return False
    with _errors(path), TemporaryDirectory(prefix=".mending-", dir=path.parent) as folder:
        new = Path(folder) / path.name
        convert(path, new)
        _replace(path, new)
    return True


def open_older(path: Path) -> Store:
    """Open a converted copy of a store of an older format, for reading."""
    with _errors(path), TemporaryDirectory(prefix="theodolite-") as folder:
        new = Path(folder) / path.name
        convert(path, new)
        store = Store(new, mode="ro")
    store.path, store.folder = path, path.parent
    return store


def is_older(path: Path) -> bool:
    """True if a store has an older format than this version writes."""
    try:
        with closing(connect(path, "ro")) as db:
            return format_of(db, path) < SCHEMA_VERSION
    except (*FAILURES, StorageError):
        return False  # whoever opens it explains the error


def convert(old: Path, new: Path) -> None:
    """Write the rows of a store of format 1 into a new store, with checksums."""
    target = Store(new, mode="create")
    with closing(target), closing(connect(old, "ro")) as db, target.transaction():
        check_format_1(db, old)
        put = target.put_row
        ids = {}
        for row in db.execute(f"SELECT {_ITEM} FROM items ORDER BY seq"):  # noqa: S608 - a constant
            ids[row[0]] = row[1]
            put("items", (*row, checksum(row)))
        names: dict[int, list[str]] = {}
        for seq, *row in db.execute("SELECT seq, name, dtype, shape, data FROM arrays ORDER BY seq, name"):
            names.setdefault(seq, []).append(row[0])
            put("arrays", (seq, *row, checksum((ids.get(seq), *row))))
        for seq, *row in db.execute(f"SELECT seq, {STORED_COLUMNS.removesuffix(', arrays')} FROM records"):  # noqa: S608
            row.append(canonical_json(sorted(names.get(seq, ()))))
            put("records", (seq, *row, checksum((ids.get(seq), *row))))
        for seq, *row in db.execute("SELECT seq, parser, status, value FROM parsed"):
            put("parsed", (seq, *row, checksum((ids.get(seq), *row))))
        for row in db.execute("SELECT started, session FROM sessions ORDER BY rowid"):
            put("sessions", (*row, checksum(row)))


def repair(path: Path) -> tuple[list[Damage], list[int]]:
    """Find the damage in a store, and put a file with all whole rows in its place. Call while holding the run's lock.

    The damaged file is kept beside it. A file that cannot be opened, or is whole, is left alone.

    Returns:
        The damage, and the positions of items that were lost.
    """
    if not _can_be_opened(path):
        return [], []
    damage = list(find_damage(path))
    if not damage:
        return [], []
    with _errors(path), TemporaryDirectory(prefix=".mending-", dir=path.parent) as folder:
        new = Path(folder) / path.name
        target = Store(new, mode="create")
        with closing(target), closing(connect(path, "ro")) as db, target.transaction():
            kept = _copy_whole_rows(db, target, 1 + _bytes_of(path) // _FEWEST_ROW_BYTES)
        kept_as = path.with_name(path.name + DAMAGED)
        kept_as.unlink(missing_ok=True)
        shutil.copyfile(path, kept_as)
        _replace(path, new)
    places = set(range(1, max(kept, default=0)))
    return damage, sorted(places.difference(kept))


def _can_be_opened(path: Path) -> bool:
    try:
        open_store(path, "ro").close()
    except (*FAILURES, StorageError):
        return False  # whoever opens it explains the error
    return True


def _bytes_of(path: Path) -> int:
    """Return the size of a store and its write-ahead log."""
    log = path.with_name(f"{path.name}-wal")
    return path.stat().st_size + (log.stat().st_size if log.exists() else 0)


def _copy_whole_rows(db: sqlite3.Connection, target: Store, bound: int) -> list[int]:
    """Copy all rows whose checksum fits, item by item, so that one damaged page does not hide the others."""
    put, kept = target.put_row, []
    highest = _rows(db, "SELECT MAX(seq) FROM items")
    if highest and isinstance(highest[0][0], int) and highest[0][0] < 8 * bound:
        bound = max(bound, highest[0][0] + 1)
    for seq in range(1, bound):
        item = _rows(db, f"SELECT {_ITEM}, sum FROM items WHERE seq = ?", seq)  # noqa: S608
        if not item or not is_whole(item[0]):
            continue
        kept.append(seq)
        put("items", item[0])
        item_id = item[0][1]

        def whole(table: str, columns: str, seq: int = seq, item_id: str = item_id) -> list[tuple[Any, ...]]:
            found = _rows(db, f"SELECT {columns}, sum FROM {table} WHERE seq = ?", seq)  # noqa: S608
            return [row for row in found if is_whole((item_id, *row))]

        arrays = whole("arrays", "name, dtype, shape, data")
        records = whole("records", STORED_COLUMNS)
        if records and canonical_json(sorted(row[0] for row in arrays)) == records[0][-2]:
            put("records", (seq, *records[0]))
            for row in arrays:
                put("arrays", (seq, *row))
            for row in whole("parsed", "parser, status, value"):
                put("parsed", (seq, *row))
    for table, columns in (("sessions", "started, session"), ("info", "info")):
        for row in filter(is_whole, _rows(db, f"SELECT {columns}, sum FROM {table}")):  # noqa: S608
            put(table, row)
    return kept


def _rows(db: sqlite3.Connection, query: str, *values: int) -> list[tuple[Any, ...]]:
    """Return the rows of a query; none if they lie in a damaged part of the file."""
    try:
        return db.execute(query, values).fetchall()
    except FAILURES:
        return []


def _replace(path: Path, new: Path) -> None:
    """Put a new store in the place of an old one, whose log must not be applied to it."""
    for ending in ("-wal", "-shm"):
        path.with_name(path.name + ending).unlink(missing_ok=True)
    new.replace(path)


@contextmanager
def _errors(path: Path) -> Iterator[None]:
    try:
        yield
    except FAILURES as error:
        raise StorageError(explain(path, error)) from error
    except OSError as error:
        raise StorageError(f"cannot repair {path}: {error.strerror or error}") from error
