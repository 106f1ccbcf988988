"""A run: a folder that describes itself and can be resumed."""

from __future__ import annotations

import errno
import fcntl
import itertools
import json
import os
import re
import shutil
import sqlite3
import stat
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Self, cast

from pydantic import ValidationError

from theodolite.core.errors import DamageWarning, StorageError, UsageError
from theodolite.core.files import file_hash
from theodolite.core.registry import registry
from theodolite.core.tables import Table
from theodolite.core.types import Item, Json, Picture, Truth, canonical_json, content_hash
from theodolite.runs.store import (
    COUNTED,
    FAILURES,
    NO_CHECKSUMS,
    SCHEMA_VERSION,
    STORED_COLUMNS,
    Parsed,
    Result,
    RunInfo,
    Store,
    Tally,
    add_places,
    check_format_1,
    checksum,
    connect,
    explain,
    format_of,
    full_disk,
    is_whole,
    is_whole_record,
    meta_of,
    open_store,
    planned_in,
    record_checksum,
    stored_columns,
    stored_request,
)

__all__ = [
    "Damage",
    "verify_run",
]


# Damage in the store of a run: find it, and copy all whole rows into a new file, so that only what is lost is asked again.


_ITEM = "seq, id, name, request, options, meta"
_MOST_MESSAGES = 10
"""Messages of SQLite's own check that are passed on."""
_FEWEST_ROW_BYTES = 128
"""No item takes less space than this, so the file's size bounds the number of items."""
DAMAGED = ".damaged"
"""Ending of a damaged file that was replaced."""


@dataclass(frozen=True, slots=True)
class Damage:
    """One damaged part of a run."""

    file: str
    what: str
    reason: str


def find_damage(path: Path) -> Iterator[Damage]:
    """Yield all damage in a store: everything that is not as it was written.

    Checks SQLite's own structure, the checksum of every row, and the number of rows. A file of format 1 has no
    checksums: only its structure is checked.
    """
    try:
        with closing(connect(path, "ro")) as db:
            has_checksums = format_of(db, path) > NO_CHECKSUMS
            if not has_checksums:
                check_format_1(db, path)
        with closing(open_store(path, "ro") if has_checksums else connect(path, "ro")) as db:
            yield from _structural(db, path)
            if has_checksums:
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
        if ok := _belongs("arrays", row[1], row[3:]):
            arrays.setdefault(row[0], []).append(row[3])
        return ok

    def record_ok(row: Sequence[Any]) -> bool:
        names = canonical_json(sorted(arrays.get(row[0], ())))
        return _belongs("records", row[1], row[3:]) and names == row[-3]

    def reading_ok(row: Sequence[Any]) -> bool:
        return _belongs("parsed", row[1], row[3:])

    checks: dict[str, tuple[str, str, Callable[[Sequence[Any]], bool]]] = {
        "items": (_ITEM, "the item", is_whole),
        "arrays": ("arrays.name, dtype, shape, data", "an array of", array_ok),
        "records": (stored_columns(db), "the record of", record_ok),
        "parsed": ("parser, status, value", "a reading of", reading_ok),
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


def _belongs(table: str, item_id: str | None, row: Sequence[Any]) -> bool:
    """Return True if a row (columns, checksum) is intact and belongs to this item."""
    return is_whole_record(item_id, row) if table == "records" else is_whole((item_id, *row))


def _wrong_counts(db: sqlite3.Connection, path: Path, counted: dict[str, int]) -> Iterator[Damage]:
    try:
        written = dict(db.execute("SELECT name, n FROM counts"))
    except FAILURES as error:
        yield Damage(path.name, "the table counts", explain(path, error))
        return
    for table in COUNTED:
        if counted[table] != written.get(table):
            reason = f"{counted[table]} rows were found, {written.get(table)!r:.40} were written"
            yield Damage(path.name, f"the table {table}", reason)


def convert_if_older(path: Path) -> bool:
    """Convert a store of an older format in place, and return True if it was. Call while holding the run's lock."""
    version = older_format(path)
    with _errors(path):
        if version is None:
            return False
        if version > NO_CHECKSUMS:
            add_places(path)
            return True
        with TemporaryDirectory(prefix=".mending-", dir=path.parent) as folder:
            new = Path(folder) / path.name
            convert(path, new)
            _replace(path, new)
    return True


def open_older(path: Path) -> Store:
    """Open a converted copy of a store of format 1, for reading."""
    with _errors(path), TemporaryDirectory(prefix="theodolite-") as folder:
        new = Path(folder) / path.name
        convert(path, new)
        store = Store(new, mode="ro")
    store.path, store.folder = path, path.parent
    return store


def older_format(path: Path) -> int | None:
    """Return the format of a store if it is older than the one that this version writes, else None."""
    try:
        with closing(connect(path, "ro")) as db:
            version = format_of(db, path)
    except (*FAILURES, StorageError):
        return None  # whoever opens it explains the error
    return version if version < SCHEMA_VERSION else None


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
        columns = STORED_COLUMNS.removesuffix(", arrays, place")
        for seq, *row in db.execute(f"SELECT seq, {columns} FROM records"):  # noqa: S608
            row += [canonical_json(sorted(names.get(seq, ()))), None]
            put("records", (seq, *row, record_checksum(ids.get(seq), row)))
        for seq, *row in db.execute("SELECT seq, parser, status, value FROM parsed"):
            put("parsed", (seq, *row, checksum((ids.get(seq), *row))))
        for row in db.execute("SELECT started, session FROM sessions ORDER BY rowid"):
            put("sessions", (*row, checksum(row)))


def repair(path: Path) -> tuple[list[Damage], list[int]]:
    """Find the damage in a store, and replace it by a file with all intact rows. Call while holding the run's lock.

    The damaged file is kept next to it. A file that cannot be opened, or is intact, is left alone.

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
    """Copy all rows whose checksum matches, item by item, so that one damaged page does not hide the others."""
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
            rows = _rows(db, f"SELECT {columns}, sum FROM {table} WHERE seq = ?", seq)  # noqa: S608
            return [row for row in rows if _belongs(table, item_id, row)]

        arrays = whole("arrays", "name, dtype, shape, data")
        records = whole("records", STORED_COLUMNS)
        if records and canonical_json(sorted(row[0] for row in arrays)) == records[0][-3]:
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
    """Return the rows of a query. Empty if they lie in a damaged part of the file."""
    try:
        return db.execute(query, values).fetchall()
    except FAILURES:
        return []


def _replace(path: Path, new: Path) -> None:
    """Replace a store by a new one, to which the old write-ahead log must not be applied."""
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


# A lock, so that only one process at a time measures into a run.


class RunLock:
    """An exclusive file lock. The system releases it when the process ends for any reason."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._file = -1

    def __enter__(self) -> Self:
        self.acquire()
        return self

    def __exit__(self, *_: object) -> None:
        self.release()

    def acquire(self) -> None:
        """Acquire the lock, or raise an error that names the process that holds it."""
        try:
            flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
            self._file = os.open(self.path, flags, 0o644)
        except OSError as error:
            raise StorageError(
                f"cannot write {self.path}: {error.strerror}; check the folder's permissions"
            ) from error
        status = os.fstat(self._file)
        if not stat.S_ISREG(status.st_mode) or status.st_nlink > 1:
            self.release()
            raise StorageError(
                f"{self.path} is a link or not a regular file; writing to it could change another file"
            )
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            holder = os.pread(self._file, 64, 0).decode(errors="replace").strip() or "unknown"
            self.release()
            raise StorageError(
                f"another process (pid {holder}) is measuring into {self.path.parent}; wait for it or choose another --out"
            ) from None
        os.ftruncate(self._file, 0)
        os.pwrite(self._file, str(os.getpid()).encode(), 0)

    def release(self) -> None:
        """Release the lock."""
        if self._file >= 0:
            os.close(self._file)
            self._file = -1


# A run: a self-describing folder.
#
# run.json         the instrument, model, settings and version
# measured.sqlite  the plan, every raw answer, and what was read in them
# pictures/        pictures made for the run; other pictures stay where they are
# scores.json      the tables of the last scoring
# lock             held while a process measures
# measured.sqlite.sum  the hash of the store when it was last closed and known to be whole
#
# All but the pictures, whose names are hashes of their content, carry checksums. `Run.start` repairs what is damaged, and
# what was lost is asked again.


_INFO, _STORE, _PICTURES, _SCORES, _LOCK = "run.json", "measured.sqlite", "pictures", "scores.json", "lock"
_SEAL = f"{_STORE}.sum"
_STORE_FILES = (_SEAL, f"{_STORE}-journal", f"{_STORE}-wal", f"{_STORE}-shm", _STORE)
"""In the order of removal: a log left without its database would look like a loss of data."""
_PLAN_CHUNK = 1000
_CHECKSUM = "checksum"
_LONGEST_NAME, _HASH_DIGITS = 80, 8
_PLAIN_NAME = re.compile(r"[a-z0-9]+:[a-z0-9_]+(?:-[a-z0-9_]+)*")
"""Model names whose folder needs no hash to be unique, also on a disk that ignores case."""
_FULL = frozenset({errno.ENOSPC, errno.EDQUOT})
"""Error codes for a full disk or quota."""


class DamagedInfoError(StorageError):
    """``run.json`` is damaged."""


class Run:
    """An open run folder. Use as a context manager."""

    def __init__(self, folder: Path, info: RunInfo, store: Store, lock: RunLock | None = None) -> None:
        """Use `start` or `open`."""
        self.folder = folder
        self.info = info
        self.store = store
        self.store.complete = partial(_complete, info)
        self.was_read = False
        """True after results were read: what is planned from them may change with them."""
        self._lock = lock
        self._is_whole = store.is_writable and lock is None and is_sealed(folder)
        """True if the store is known to be whole, so that it is again when it is closed."""
        self._pictures: set[str] = set()
        """Digests of the run's own pictures that are known to be whole."""

    @classmethod
    def start(cls, folder: str | Path, info: RunInfo) -> Run:
        """Create the run, or resume it. No other process can measure into it until it is closed.

        Raises:
            StorageError: If the folder cannot be used, or another process is measuring into it.
            UsageError: If the folder contains a run with other settings, or other files.
        """
        folder = Path(folder)
        _make_folder(folder)
        lock = RunLock(folder / _LOCK)
        lock.acquire()
        try:
            vacant = _mend(folder)
            if (folder / _INFO).exists():
                run = cls.open(folder, writable=True)
                run._lock = lock  # noqa: SLF001 - our own
                run._is_whole = True  # noqa: SLF001
                run.store.vacant = vacant
                return _resume(run, info)
            _remove_unfinished(folder)
            run = cls(folder, info, Store(folder / _STORE, mode="create"), lock)
            run._is_whole = True
            _write_info(run)
        except BaseException:
            lock.release()
            raise
        return run

    @classmethod
    def open(cls, folder: str | Path, *, writable: bool = False) -> Run:
        """Open an existing run. By default read-only, which is safe while the run is being measured."""
        folder = Path(folder)
        info = read_info(folder)
        path = folder / _STORE
        if not path.exists():
            raise StorageError(f"{path} is missing, so the answers of the run are lost")
        version = older_format(path)
        if version is not None:
            if writable:
                with RunLock(folder / _LOCK):
                    convert_if_older(path)
            elif version <= NO_CHECKSUMS:
                return cls(folder, info, open_older(path))
        return cls(folder, info, Store(path, mode="rw" if writable else "ro"))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.store.close()
        if self._is_whole:
            _seal(self.folder)
        if self._lock is not None:
            self._lock.release()

    def plan(self, items: Iterable[Item], *, whole: bool = False) -> int:
        """Add items to the plan. Items already planned keep their results.

        Args:
            items: The items to add.
            whole: True if these are all items of the run. Other items without an answer are then removed.

        Returns:
            The number of new items.

        Raises:
            UsageError: If `whole` is True and the run has answers to other items: its data have changed. Nothing is
                added then.
        """
        waiting = iter(items)
        chunks = iter(lambda: list(itertools.islice(waiting, _PLAN_CHUNK)), [])
        if not whole:
            new = 0
            for chunk in chunks:
                with self.store.transaction():
                    new += self._plan(chunk, None)
            return new
        planned: set[str] = set()
        with self.store.transaction():
            new = sum(self._plan(chunk, planned) for chunk in chunks)
            measured = self.store.keep_only(planned)
            if measured:
                raise UsageError(
                    f"{self.folder} has answers to {len(measured)} items that are no longer in the plan, such as "
                    f"{measured[0]!r}: the data have changed; restore them or choose another --out"
                )
        return new

    def results(self, *, arrays: bool = False, with_repeats: bool = False) -> Iterator[Result]:
        """Yield every item of the plan with its results, in plan order, a few at a time in memory.

        Args:
            arrays: If True, also read the records' arrays.
            with_repeats: If True, also yield requests that were made again. Otherwise `repeats` has them.
        """
        self.was_read = True
        results = self.store.results(arrays=arrays)
        return results if with_repeats else (result for result in results if not result.item.truth.repeats)

    def repeats(self) -> Iterator[tuple[Result, Result]]:
        """Yield the results of each request that was made again: the first time and the second time."""
        self.was_read = True
        return self.store.repeats()

    def tally(self) -> Tally:
        """Return the progress of the run."""
        self.was_read = True
        return self.store.tally()

    def write_parsed(self, rows: Iterable[Parsed]) -> None:
        """Store the parsed answers next to the raw text. Do nothing if the run is open read-only."""
        if self.store.is_writable:
            self.store.write_parsed(rows)

    def write_tables(self, tables: Iterable[Table]) -> None:
        """Replace ``scores.json`` with these tables. Do nothing if the run is open read-only."""
        if self.store.is_writable:
            self.write_scores(
                {"instrument": self.info.instrument, "tables": [table.as_json() for table in tables]}
            )

    def tables(self) -> list[Table]:
        """Return the tables of the last scoring. Empty if the run was not scored, or by an older version."""
        stored = self.scores()
        tables = stored.get("tables", []) if isinstance(stored, dict) else []
        return [Table.from_json(table) for table in tables]

    def write_scores(self, scores: Mapping[str, Json]) -> None:
        """Replace ``scores.json`` atomically."""
        write_atomically(self.folder / _SCORES, sealed(scores))

    def scores(self) -> Any:
        """Return the contents of ``scores.json``, or None."""
        path = self.folder / _SCORES
        try:
            text = path.read_text(encoding="utf-8") if path.exists() else None
            return None if text is None else unsealed(text, is_required=True)
        except (OSError, ValueError, RecursionError) as error:
            raise StorageError(f"{path} cannot be read ({error}); score the run again") from error

    def _plan(self, items: list[Item], planned: set[str] | None) -> int:
        """Plan some items in one step and add their ids to `planned`. Return the number of new items."""
        by_id: dict[str, tuple[Item, str]] = {}
        for item in items:
            try:
                by_id[item.id] = item, canonical_json(meta_of(item))
            except (TypeError, ValueError) as error:
                raise UsageError(f"the item {item.name!r} cannot be written as JSON: {error}") from error
        if planned is not None:
            planned.update(by_id)
        known = self.store.metas(list(by_id))
        for item_id in known:
            self._restore_pictures(by_id[item_id][0])
        new = {item_id: pair for item_id, pair in by_id.items() if item_id not in known}
        changed = [
            (meta, item_id) for item_id, (_, meta) in by_id.items() if known.get(item_id, meta) != meta
        ]
        self.store.plan((self._row(item_id, item, meta) for item_id, (item, meta) in new.items()), changed)
        return len(new)

    def _row(self, item_id: str, item: Item, meta: str) -> tuple[str, str, str, str, str]:
        paths = {picture.digest: self._picture_path(picture) for picture in item.request.pictures}
        request = stored_request(item.request, paths)
        return item_id, item.name, request, canonical_json(list(item.options)), meta

    def _picture_path(self, picture: Picture) -> str:
        """Return the path under which the run finds a picture. Pictures in memory are written into the run."""
        if picture.path is not None:
            return str(picture.path if picture.is_absent else picture.path.absolute())
        relative = Path(_PICTURES) / f"{picture.digest}.{picture.media_type.partition('/')[2]}"
        target = self.folder / relative
        if not target.exists():
            _write_picture(target, picture)
        self._pictures.add(picture.digest)
        return str(relative)

    def _restore_pictures(self, item: Item) -> None:
        """Write the run's own pictures of a planned item again if their files are lost or damaged."""
        for picture in item.request.pictures:
            if picture.path is not None or picture.digest in self._pictures:
                continue
            target = self.folder / self._picture_path(picture)
            try:
                Picture(picture.digest, path=target).read()
            except UsageError:
                _warn(f"{target} was damaged and has been written again")
                _write_picture(target, picture)


def slug(name: str) -> str:
    """Convert a model name to a folder name. Different names give different folders, however long they are.

    >>> slug("pocket:grounded")
    'pocket-grounded'
    >>> slug("hf:models/tiny?dtype=float32")
    'hf-models-tiny-dtype-float32-ba958aeb'
    """
    plain = re.sub(r"[^A-Za-z0-9._]+", "-", name).strip("-.")
    if _PLAIN_NAME.fullmatch(name) and len(name) <= _LONGEST_NAME:
        return plain
    return f"{plain[:_LONGEST_NAME]}-{content_hash(name)[:_HASH_DIGITS]}"


def read_info(folder: Path) -> RunInfo:
    """Read ``run.json``."""
    path = folder / _INFO
    try:
        data = unsealed(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise UsageError(f"{folder} is not a run: it has no {_INFO}") from None
    except OSError as error:
        raise StorageError(f"cannot read {path}: {error.strerror}") from error
    except (ValueError, RecursionError) as error:
        raise DamagedInfoError(f"{path} is damaged: {error}") from error
    version = data.get("schema_version") if isinstance(data, dict) else None
    if isinstance(version, int) and version > SCHEMA_VERSION:
        raise StorageError(
            f"{path} was written by a newer Theodolite (format {version}; this one reads up to {SCHEMA_VERSION}); "
            "upgrade Theodolite"
        )
    try:
        return RunInfo.model_validate(data)
    except ValidationError as error:
        first = error.errors()[0]
        raise DamagedInfoError(
            f"{path} does not describe a run: {'.'.join(map(str, first['loc']))}: {first['msg']}"
        ) from None


def sealed(value: Mapping[str, Json]) -> str:
    """Encode an object as JSON with a checksum of its content."""
    plain = {name: field for name, field in value.items() if name != _CHECKSUM}
    whole = {_CHECKSUM: content_hash(plain), **plain}
    return json.dumps(whole, indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def unsealed(text: str, *, is_required: bool = False) -> Any:
    """Parse the output of `sealed`. A file without a checksum is accepted unless one is required.

    Raises:
        ValueError: If the checksum does not match.
    """
    value = json.loads(text)
    seal = value.pop(_CHECKSUM, None) if isinstance(value, dict) else None
    if (is_required or seal is not None) and seal != content_hash(value):
        raise ValueError("its checksum does not fit")
    return value


def find_runs(folder: str | Path) -> list[Path]:
    """Return all run folders at or below a folder, sorted."""
    folder = Path(folder)
    if not folder.is_dir():
        raise UsageError(
            f"there is no folder {folder}; pass a run, a folder of runs or a diagnosis "
            "(`theodolite runs list DIR` lists the runs in a folder)"
        )
    return sorted(path.parent for path in folder.rglob(_INFO) if (path.parent / _STORE).exists())


def write_atomically(path: Path, content: str | bytes | Iterable[str]) -> None:
    """Write a file atomically: after a crash, and for readers, it has the old or the new content, never a part."""
    parts = (content,) if isinstance(content, str | bytes) else content
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary.unlink(missing_ok=True)
        with temporary.open("xb") as file:  # does not follow an existing link
            file.writelines(part.encode() if isinstance(part, str) else part for part in parts)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    except OSError as error:
        with suppress(OSError):
            temporary.unlink(missing_ok=True)
        raise StorageError(_write_error(path, error)) from error


def _write_error(path: Path, error: OSError) -> str:
    if error.errno in _FULL:
        return full_disk(path)
    return (
        f"cannot write {path}: {error.strerror}; check the permissions of the folder or choose another --out"
    )


def _make_folder(folder: Path) -> None:
    """Create the folder if needed. Refuse a folder with other files."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        names = sorted(path.name for path in folder.iterdir())
    except OSError as error:
        why = f"cannot create the run folder {folder}: {error.strerror}; choose another --out"
        raise StorageError(full_disk(folder) if error.errno in _FULL else why) from error
    others = [
        name
        for name in names
        if name not in {_LOCK, f"{_STORE}{DAMAGED}", *_STORE_FILES} and not name.startswith(".")
    ]
    if others and _INFO not in names:
        raise UsageError(f"{folder} is not empty and contains no run ({others[0]} …); choose another --out")


def _remove_unfinished(folder: Path) -> None:
    """Remove a store left by a process that was killed before it wrote ``run.json``, when nothing was planned."""
    planned = planned_in(folder / _STORE)
    if planned:
        raise StorageError(
            f"{folder / _STORE} contains {planned} items of a run, but {folder / _INFO} is missing; "
            f"restore {_INFO} or choose another --out"
        )
    for name in _STORE_FILES:
        (folder / name).unlink(missing_ok=True)


def _mend(folder: Path) -> list[int]:
    """Repair a run that is about to be resumed. Return the positions of lost items."""
    path = folder / _STORE
    if not path.exists() or not path.stat().st_size:
        return []
    convert_if_older(path)
    damage, vacant = ([], []) if is_sealed(folder) else repair(path)
    if damage:
        _warn(
            f"{path} was damaged ({len(damage)} findings, the first: {damage[0].what}: {damage[0].reason}); whole "
            f"records were kept, the others are asked again, and the damaged file is now {path.name}{DAMAGED}"
        )
    try:
        read_info(folder)
    except (DamagedInfoError, UsageError) as error:
        _restore_info(folder, str(error))
    except StorageError:
        return vacant  # written by a newer version: whoever opens it explains
    return vacant


def is_sealed(folder: Path) -> bool:
    """Return True if the store is, byte by byte, as it was when it was closed, and was known to be whole.

    Reading its bytes takes a hundredth of the time of checking its rows one by one. Whoever reads a row checks it anyway.
    """
    try:
        return not _has_log(folder) and (folder / _SEAL).read_text("ascii") == file_hash(folder / _STORE)
    except (OSError, ValueError, UsageError):
        return False


def _seal(folder: Path) -> None:
    """Keep the hash of a store that is closed and whole. Without one, or with a wrong one, all rows are checked next time."""
    with suppress(OSError, UsageError, StorageError):
        if not _has_log(folder):
            write_atomically(folder / _SEAL, file_hash(folder / _STORE))


def _has_log(folder: Path) -> bool:
    """Return True if a write-ahead log has something that is not in the store."""
    log = folder / f"{_STORE}-wal"
    return log.exists() and log.stat().st_size > 0


def _restore_info(folder: Path, why: str) -> None:
    """Write ``run.json`` again from its copy in the store, if there is one and something was planned."""
    path = folder / _STORE
    if not planned_in(path):
        return
    store = Store(path, mode="ro")
    kept = store.info()
    store.close()
    if kept is not None:
        write_atomically(folder / _INFO, kept)
        _warn(f"{why}; it was written again from its copy in {path.name}")


def _complete(info: RunInfo, item: Item) -> Item:
    """Add the truth to an item that was stored by an older version without it."""
    older = next((entry for entry in registry().entries("older") if entry.name == info.instrument), None)
    if older is not None:
        complete = cast("Callable[[Item, Mapping[str, Any]], Item]", older.load())
        return complete(item, info.settings)
    gold = item.meta.get("gold")
    named = {"group": "kind", **{name: name for name in ("cluster", "split", "condition", "repeats")}}
    fields: dict[str, Any] = {name: str(item.meta[key]) for name, key in named.items() if item.meta.get(key)}
    return replace(item, truth=Truth(() if gold in {None, ""} else (str(gold),), **fields))


def _write_info(run: Run) -> None:
    """Write ``run.json``, and a copy of it into the store first."""
    text = sealed(run.info.model_dump(mode="json"))
    run.store.write_info(text)
    write_atomically(run.folder / _INFO, text)


def _write_picture(target: Path, picture: Picture) -> None:
    target.parent.mkdir(exist_ok=True)
    write_atomically(target, picture.read())


def _warn(text: str) -> None:
    warnings.warn(text, DamageWarning, stacklevel=2)


def _resume(run: Run, info: RunInfo) -> Run:
    """Return the existing run if its settings are the same. A run without answers is started over instead."""
    differences = run.info.differences(info)
    if not differences:
        if run.store.info() is None or run.info.schema_version < SCHEMA_VERSION:  # from an older format
            run.info = run.info.model_copy(update={"schema_version": SCHEMA_VERSION})
            _write_info(run)
        return run
    if run.store.forget_plan():
        run.info = info
        _write_info(run)
        return run
    run.store.close()
    name, (there, here) = next(iter(differences.items()))
    raise UsageError(
        f"{run.folder} contains a run with {name}={there!r}, but now {name}={here!r}; "
        "use the same settings to resume it, or choose another --out"
    )


# Check a whole run folder: ``run.json``, the store, the pictures and ``scores.json``.


def verify_run(folder: str | Path) -> list[Damage]:
    """Return all damage in a run folder: everything that is not as it was written. Nothing is changed.

    Raises:
        UsageError: If the folder is not a run.
    """
    folder = Path(folder)
    store = folder / "measured.sqlite"
    if not folder.is_dir() or not (store.exists() or (folder / "run.json").exists()):
        raise UsageError(f"{folder} is not a run: it has neither run.json nor {store.name}")
    damage = []
    try:
        read_info(folder)
    except (StorageError, UsageError) as error:
        damage.append(Damage("run.json", "the file", str(error)))
    if not store.exists():
        return [*damage, Damage(store.name, "the file", "it is missing")]
    damage += find_damage(store)
    try:
        with warnings.catch_warnings(), Run.open(folder) as run:
            warnings.simplefilter("ignore", DamageWarning)  # reported above, in full
            damage += _damaged_pictures(run)
            run.scores()
    except (StorageError, UsageError) as error:
        is_known = any(str(error) == fault.reason for fault in damage)
        damage += [] if is_known else [Damage(folder.name, "the run", str(error))]
    return damage


def _damaged_pictures(run: Run) -> Iterator[Damage]:
    checked: set[Picture] = set()
    for result in run.results():
        for picture in result.item.request.pictures:
            if picture not in checked and not picture.is_absent:
                checked.add(picture)
                try:
                    picture.read()
                except UsageError as error:
                    yield Damage(str(picture.path), f"a picture of {result.item.name!r}", str(error))
