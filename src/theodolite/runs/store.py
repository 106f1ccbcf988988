"""The plan and the results of a run, in one SQLite file in write-ahead mode.

Why SQLite: a committed row survives ``kill -9``, readers see a consistent state during a run, the cost per row does not
grow with the run, and many tools can open the file. Each record is committed as it arrives. With
``synchronous=NORMAL`` a commit does not wait for the disk: a killed process loses nothing. A power cut can lose
the last commits, but does not damage the file.
"""

from __future__ import annotations

import json
import sqlite3
import time
from collections.abc import Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from theodolite.core.errors import StorageError
from theodolite.core.types import Item, Json, Record, canonical_json
from theodolite.runs.records import RECORD_COLUMNS, pack, readable, record_from_row, record_row, unpack
from theodolite.runs.schema import connect, explain, open_store
from theodolite.runs.serialize import Session, item_from_row

_ITEM_TABLES = ("arrays", "parsed", "records", "items")
_FINISHED = frozenset({"answered", "refused"})
_PAGE = 256
"""Rows fetched at a time, so that memory use does not grow with the run."""


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
        with self._errors():
            self._db = open_store(path, mode)

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

        Call within a `transaction`.
        """
        self._db.executemany(
            "INSERT INTO items (id, name, request, options, meta) VALUES (?, ?, ?, ?, ?)", new
        )
        self._db.executemany("UPDATE items SET meta = ? WHERE id = ?", changed)

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

    def pending(self, *, limit: int | None = None) -> Iterator[tuple[int, Item, bool]]:
        """Yield unfinished items in plan order, each at most once.

        Args:
            limit: Consider only this many items, from the start of the plan.

        Yields:
            The item's position in the plan, the item, and True if it failed before.
        """
        last, end = 0, self._last_of(limit)
        while True:
            with self._errors():
                page = self._db.execute(
                    "SELECT items.seq, status, id, name, request, options, meta FROM items LEFT JOIN records USING (seq) "
                    "WHERE items.seq > ? AND items.seq <= ? AND (status IS NULL OR status = 'failed') "
                    "ORDER BY items.seq LIMIT ?",
                    (last, end, _PAGE),
                ).fetchall()
            if not page:
                return
            for seq, status, *columns in page:
                yield seq, self._item(seq, columns), status is not None
            last = page[-1][0]

    def add(self, records: Sequence[tuple[int, str | None, Record]]) -> None:
        """Commit records as (seq, cache key, record). Failed records are overwritten, finished ones are not."""
        now = time.time()
        with self._errors(), self._db:
            self._db.executemany(
                f"INSERT INTO records (seq, {RECORD_COLUMNS}, key, at) "  # noqa: S608 - a constant
                "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) "
                "ON CONFLICT (seq) DO UPDATE SET status = excluded.status, text = excluded.text, "
                "reason = excluded.reason, reasoning = excluded.reasoning, finish = excluded.finish, "
                "prompt_tokens = excluded.prompt_tokens, completion_tokens = excluded.completion_tokens, "
                "seconds = excluded.seconds, attempts = attempts + excluded.attempts, choice = excluded.choice, "
                '"values" = excluded."values", reused = excluded.reused, key = excluded.key, at = excluded.at '
                "WHERE status = 'failed'",
                [(seq, *record_row(record), key, now) for seq, key, record in records],
            )
            self._db.executemany(
                "INSERT OR REPLACE INTO arrays VALUES (?, ?, ?, ?, ?)",
                (
                    (seq, name, *pack(array))
                    for seq, _, record in records
                    for name, array in record.arrays.items()
                ),
            )

    def find_answer(self, key: str) -> Record | None:
        """Return an answered record with the same key in this run, or None."""
        with self._errors():
            row = self._db.execute(
                f"SELECT {RECORD_COLUMNS} FROM records WHERE key = ? AND status = 'answered' LIMIT 1",  # noqa: S608
                (key,),
            ).fetchone()
        if row is None:
            return None
        with readable(self.path, f"the record of the key {key}"):
            return record_from_row("", row)

    def results(self, *, arrays: bool = False) -> Iterator[Result]:
        """Yield every item of the plan with its results, in plan order.

        Args:
            arrays: If True, also read the records' arrays.
        """
        last = 0
        while True:
            with self._errors():
                page = self._db.execute(
                    f"SELECT items.seq, id, name, request, options, meta, {RECORD_COLUMNS} "  # noqa: S608
                    "FROM items LEFT JOIN records USING (seq) WHERE items.seq > ? ORDER BY items.seq LIMIT ?",
                    (last, _PAGE),
                ).fetchall()
                parsed = self._parsed(page[0][0], page[-1][0]) if page else {}
            if not page:
                return
            for seq, *columns in page:
                item_id, record = columns[0], columns[5:]
                item = self._item(seq, columns[:5])
                with readable(self.path, f"the record in row {seq}"):
                    found = None if record[0] is None else record_from_row(item_id, record)
                if arrays and found is not None:
                    found = replace(found, arrays=self._arrays(seq))
                readings = tuple(Parsed(item_id, *reading) for reading in parsed.get(seq, ()))
                yield Result(seq, item, found, readings)
            last = page[-1][0]

    def write_parsed(self, rows: Iterable[Parsed]) -> None:
        """Store what parsers read, replacing what the same parser read earlier."""
        with self._errors(), self._db:
            self._db.executemany(
                "INSERT OR REPLACE INTO parsed (seq, parser, status, value) "
                "SELECT seq, ?, ?, ? FROM items WHERE id = ?",
                ((row.parser, row.status, canonical_json(row.value), row.item_id) for row in rows),
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
            self._db.execute("INSERT INTO sessions VALUES (datetime('now'), ?)", (session,))

    def sessions(self) -> list[str]:
        """Return all sessions, oldest first, each as the JSON of a `Session`."""
        with self._errors():
            found = [row[0] for row in self._db.execute("SELECT session FROM sessions ORDER BY rowid")]
        with readable(self.path, "a session entry"):
            for text in found:
                Session.model_validate_json(text)
        return found

    def _parsed(self, first: int, last: int) -> dict[int, list[tuple[str, str, Any]]]:
        found: dict[int, list[tuple[str, str, Any]]] = {}
        for seq, parser, status, value in self._db.execute(
            "SELECT seq, parser, status, value FROM parsed WHERE seq BETWEEN ? AND ? ORDER BY seq, parser",
            (first, last),
        ):
            with readable(self.path, f"a reading in row {seq}"):
                found.setdefault(seq, []).append((parser, status, json.loads(value)))
        return found

    def _item(self, seq: int, columns: Sequence[str]) -> Item:
        """Restore an item from its id, name, request, options and metadata."""
        item_id, *row = columns
        with readable(self.path, f"the item in row {seq}"):
            item = item_from_row(row, self.folder)
            if item.id != item_id:
                raise ValueError(f"its id should be {item.id}, not {item_id}")
        return item

    def _arrays(self, seq: int) -> dict[str, NDArray[Any]]:
        with self._errors():
            rows = self._db.execute(
                "SELECT name, dtype, shape, data FROM arrays WHERE seq = ?", (seq,)
            ).fetchall()
        return {name: unpack(*columns) for name, *columns in rows}

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
        except sqlite3.Error as error:
            raise StorageError(explain(self.path, error)) from error


def planned_in(path: Path) -> int:
    """Return the number of items in a store file. 0 if there is no file, or if its creation was interrupted.

    Raises:
        StorageError: If it is not a Theodolite file.
    """
    log = path.with_name(f"{path.name}-wal")
    if not any(each.exists() and each.stat().st_size for each in (path, log)):
        return 0
    if not path.exists():
        raise StorageError(f"{log} exists without {path.name}; restore that file or choose another --out")
    try:
        db = connect(path, "ro")
        try:
            tables = db.execute("SELECT COUNT(*) FROM sqlite_master").fetchone()[0]
        finally:
            db.close()
    except sqlite3.Error as error:
        raise StorageError(explain(path, error)) from error
    if not tables:
        return 0
    store = Store(path, mode="ro")
    try:
        return store.tally().planned
    finally:
        store.close()
