"""A run: a folder that describes itself.

run.json         what was asked, by what version, when
measured.sqlite  the plan, every raw answer, what parsers read in them
pictures/        the pictures that were made for the run; others stay where they are
scores.json      the figures of the last scoring
lock             held while a process measures
"""

from __future__ import annotations

import errno
import itertools
import json
import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Self

from pydantic import ValidationError

from theodolite.core.errors import StorageError, UsageError
from theodolite.core.tables import Table
from theodolite.core.types import Item, Json, Picture, canonical_json
from theodolite.runs.lock import RunLock
from theodolite.runs.schema import full_disk
from theodolite.runs.serialize import SCHEMA_VERSION, RunInfo, request_to_json
from theodolite.runs.store import Parsed, Result, Store, Tally, planned_in

_INFO, _STORE, _PICTURES, _SCORES, _LOCK = "run.json", "measured.sqlite", "pictures", "scores.json", "lock"
_STORE_FILES = (f"{_STORE}-journal", f"{_STORE}-wal", f"{_STORE}-shm", _STORE)
"""In the order in which they may be removed: a log without its database could not be told from a loss."""
_PLAN_CHUNK = 1000
_FULL = frozenset({errno.ENOSPC, errno.EDQUOT})
"""What the system says where no more can be written."""


class Run:
    """An open run folder. Use as a context manager."""

    def __init__(self, folder: Path, info: RunInfo, store: Store, lock: RunLock | None = None) -> None:
        """Use `start` or `open`."""
        self.folder = folder
        self.info = info
        self.store = store
        self._lock = lock

    @classmethod
    def start(cls, folder: str | Path, info: RunInfo) -> Run:
        """Makes the run, or takes it up where it stopped. No other process can measure into it until it is closed.

        Raises:
            StorageError: the folder cannot be used, or another process is at work in it.
            UsageError: the run that is there was asked for something else, or the folder holds other files.
        """
        folder = Path(folder)
        _make_folder(folder)
        lock = RunLock(folder / _LOCK)
        lock.acquire()
        try:
            if (folder / _INFO).exists():
                run = cls.open(folder, writable=True)
                run._lock = lock  # noqa: SLF001 - our own
                return _taken_up(run, info)
            _remove_unfinished(folder)
            store = Store(folder / _STORE, mode="create")
            write_atomically(folder / _INFO, info.model_dump_json(indent=2) + "\n")
            return cls(folder, info, store, lock)
        except BaseException:
            lock.release()
            raise

    @classmethod
    def open(cls, folder: str | Path, *, writable: bool = False) -> Run:
        """Opens a run that is there; by default only for reading, which is safe while it is being measured."""
        folder = Path(folder)
        info = read_info(folder)
        if not (folder / _STORE).exists():
            raise StorageError(f"{folder / _STORE} is missing, so the run has lost its answers")
        return cls(folder, info, Store(folder / _STORE, mode="rw" if writable else "ro"))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.store.close()
        if self._lock is not None:
            self._lock.release()

    def plan(self, items: Iterable[Item], *, whole: bool = False) -> int:
        """Adds items to the plan; those that are in it already keep what was measured.

        Args:
            items: to add.
            whole: whether these are all that the run may hold. Others without an answer leave the plan.

        Returns:
            How many were new.

        Raises:
            UsageError: these are all, but the run holds answers to others: its data have changed since. Nothing is
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
                    f"{self.folder} holds answers to {len(measured)} items that are no longer in the plan, such as "
                    f"{measured[0]!r}: the data have changed since; put them back, or choose another --out"
                )
        return new

    def results(self, *, arrays: bool = False) -> Iterator[Result]:
        """Every item of the plan with what is known of it, in plan order, a few at a time in memory.

        Args:
            arrays: whether to read the records' arrays too.
        """
        return self.store.results(arrays=arrays)

    def tally(self) -> Tally:
        """How far the run is."""
        return self.store.tally()

    def write_parsed(self, rows: Iterable[Parsed]) -> None:
        """Stores what was read in the answers beside the raw text. Does nothing if the run is open for reading only."""
        if self.store.is_writable:
            self.store.write_parsed(rows)

    def write_tables(self, tables: Iterable[Table]) -> None:
        """Replaces ``scores.json`` by these tables. Does nothing if the run is open for reading only."""
        if self.store.is_writable:
            value = {"instrument": self.info.instrument, "tables": [table.as_json() for table in tables]}
            text = json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False)
            write_atomically(self.folder / _SCORES, text + "\n")

    def tables(self) -> list[Table]:
        """The tables of the last scoring; none if the run was not scored, or by an older version."""
        stored = self.scores()
        found = stored.get("tables", []) if isinstance(stored, dict) else []
        return [Table.from_json(table) for table in found]

    def write_scores(self, scores: Json) -> None:
        """Replaces ``scores.json`` in one step."""
        text = json.dumps(scores, indent=2, ensure_ascii=False, allow_nan=False)
        write_atomically(self.folder / _SCORES, text + "\n")

    def owns(self, path: Path) -> bool:
        """Whether a path is one of the run's own files, wherever links lead."""
        target = path.resolve()
        own = [*_STORE_FILES, _INFO, _SCORES, _LOCK]
        return (
            any(target == (self.folder / name).resolve() for name in own)
            or (self.folder / _PICTURES).resolve() in target.parents
        )

    def scores(self) -> Any:
        """The figures of the last scoring, or None."""
        path = self.folder / _SCORES
        try:
            return json.loads(path.read_text(encoding="utf-8")) if path.exists() else None
        except (OSError, ValueError) as error:
            raise StorageError(f"{path} cannot be read ({error}); score the run again") from error

    def _plan(self, items: list[Item], planned: set[str] | None) -> int:
        """Plans some items together, and notes their ids; returns how many were new."""
        by_id: dict[str, tuple[Item, str]] = {}
        for item in items:
            try:
                by_id[item.id] = item, canonical_json(item.meta)
            except (TypeError, ValueError) as error:
                raise UsageError(f"the item {item.name!r} cannot be written as JSON: {error}") from error
        if planned is not None:
            planned.update(by_id)
        known = self.store.metas(list(by_id))
        new = {item_id: pair for item_id, pair in by_id.items() if item_id not in known}
        mended = [(meta, item_id) for item_id, (_, meta) in by_id.items() if known.get(item_id, meta) != meta]
        self.store.plan((self._row(item_id, item, meta) for item_id, (item, meta) in new.items()), mended)
        return len(new)

    def _row(self, item_id: str, item: Item, meta: str) -> tuple[str, str, str, str, str]:
        paths = {picture.digest: self._picture_path(picture) for picture in item.request.pictures}
        request = canonical_json(request_to_json(item.request, paths))
        return item_id, item.name, request, canonical_json(list(item.options)), meta

    def _picture_path(self, picture: Picture) -> str:
        """Where the run finds a picture again; one that exists in memory alone is written into the run."""
        if picture.path is not None:
            return str(picture.path.absolute())
        relative = Path(_PICTURES) / f"{picture.digest}.{picture.media_type.partition('/')[2]}"
        target = self.folder / relative
        if not target.exists():
            target.parent.mkdir(exist_ok=True)
            write_atomically(target, picture.read())
        return str(relative)


def read_info(folder: Path) -> RunInfo:
    """Reads ``run.json`` alone."""
    path = folder / _INFO
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise UsageError(f"{folder} is not a run: it has no {_INFO}") from None
    except OSError as error:
        raise StorageError(f"cannot read {path}: {error.strerror}") from error
    except ValueError as error:
        raise StorageError(f"{path} is damaged: {error}") from error
    version = data.get("schema_version") if isinstance(data, dict) else None
    if isinstance(version, int) and version > SCHEMA_VERSION:
        raise StorageError(
            f"{path} was made by a newer Theodolite (format {version}; this one knows {SCHEMA_VERSION}); "
            "upgrade: pip install -U theodolite"
        )
    try:
        return RunInfo.model_validate(data)
    except ValidationError as error:
        first = error.errors()[0]
        raise StorageError(
            f"{path} is not a run's: {'.'.join(map(str, first['loc']))}: {first['msg']}"
        ) from None


def find_runs(folder: str | Path) -> list[Path]:
    """All run folders at or below a folder, sorted."""
    folder = Path(folder)
    if not folder.is_dir():
        raise UsageError(
            f"there is no folder {folder}; name a run, a folder of runs or a diagnosis "
            "(`theodolite runs list DIR` shows what lies in a folder)"
        )
    return sorted(path.parent for path in folder.rglob(_INFO) if (path.parent / _STORE).exists())


def write_atomically(path: Path, content: str | bytes) -> None:
    """Writes a file so that a reader, or a crash, finds the old content or the new one, never a part."""
    data = content.encode() if isinstance(content, str) else content
    beside = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        beside.unlink(missing_ok=True)
        with beside.open("xb") as file:  # never through a link that lies there
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        beside.replace(path)
    except OSError as error:
        beside.unlink(missing_ok=True)
        raise StorageError(_why_not_written(path, error)) from error


def _why_not_written(path: Path, error: OSError) -> str:
    if error.errno in _FULL:
        return full_disk(path)
    return f"cannot write {path}: {error.strerror}; check the folder's permissions or choose another --out"


def _make_folder(folder: Path) -> None:
    """Makes the folder if need be; one that holds a stranger's files is refused."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        names = sorted(path.name for path in folder.iterdir())
    except OSError as error:
        why = f"cannot make the run folder {folder}: {error.strerror}; choose another --out"
        raise StorageError(full_disk(folder) if error.errno in _FULL else why) from error
    strangers = [name for name in names if name not in {_LOCK, *_STORE_FILES} and not name.startswith(".")]
    if strangers and _INFO not in names:
        raise UsageError(f"{folder} is not empty and holds no run ({strangers[0]} …); choose another --out")


def _remove_unfinished(folder: Path) -> None:
    """Removes a store that was killed before ``run.json`` was written: nothing had been planned yet."""
    planned = planned_in(folder / _STORE)
    if planned:
        raise StorageError(
            f"{folder / _STORE} holds {planned} items of a run, but {folder / _INFO} is missing; "
            f"put {_INFO} back, or choose another --out"
        )
    for name in _STORE_FILES:
        (folder / name).unlink(missing_ok=True)


def _taken_up(run: Run, info: RunInfo) -> Run:
    """The run that is there, if it was asked for the same; one that has no answer yet is begun anew."""
    differences = run.info.differences(info)
    if not differences:
        return run
    if run.store.forget_plan():
        write_atomically(run.folder / _INFO, info.model_dump_json(indent=2) + "\n")
        run.info = info
        return run
    run.store.close()
    name, (there, here) = next(iter(differences.items()))
    raise UsageError(
        f"{run.folder} holds a run with {name}={there!r}, and this one has {name}={here!r}; "
        "repeat the first settings to go on with it, or choose another --out"
    )
