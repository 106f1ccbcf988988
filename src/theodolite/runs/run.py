"""A run: a self-describing folder.

run.json         the instrument, model, settings and version
measured.sqlite  the plan, every raw answer, and what was read in them
pictures/        pictures made for the run; other pictures stay where they are
scores.json      the tables of the last scoring
lock             held while a process measures
"""

from __future__ import annotations

import errno
import itertools
import json
import os
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Self

from pydantic import ValidationError

from theodolite.core.errors import StorageError, UsageError
from theodolite.core.files import read_json
from theodolite.core.tables import Table
from theodolite.core.types import REPEATS, Item, Json, Picture, canonical_json
from theodolite.runs.lock import RunLock
from theodolite.runs.schema import full_disk
from theodolite.runs.serialize import SCHEMA_VERSION, RunInfo, request_to_json
from theodolite.runs.store import Parsed, Result, Store, Tally, planned_in

_INFO, _STORE, _PICTURES, _SCORES, _LOCK = "run.json", "measured.sqlite", "pictures", "scores.json", "lock"
_STORE_FILES = (f"{_STORE}-journal", f"{_STORE}-wal", f"{_STORE}-shm", _STORE)
"""In the order of removal: a log left without its database would look like a loss of data."""
_PLAN_CHUNK = 1000
_FULL = frozenset({errno.ENOSPC, errno.EDQUOT})
"""Error codes for a full disk or quota."""


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
            if (folder / _INFO).exists():
                run = cls.open(folder, writable=True)
                run._lock = lock  # noqa: SLF001 - our own
                return _resume(run, info)
            _remove_unfinished(folder)
            store = Store(folder / _STORE, mode="create")
            write_atomically(folder / _INFO, info.model_dump_json(indent=2) + "\n")
            return cls(folder, info, store, lock)
        except BaseException:
            lock.release()
            raise

    @classmethod
    def open(cls, folder: str | Path, *, writable: bool = False) -> Run:
        """Open an existing run. By default read-only, which is safe while the run is being measured."""
        folder = Path(folder)
        info = read_info(folder)
        if not (folder / _STORE).exists():
            raise StorageError(f"{folder / _STORE} is missing, so the answers of the run are lost")
        return cls(folder, info, Store(folder / _STORE, mode="rw" if writable else "ro"))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.store.close()
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
        found = self.store.results(arrays=arrays)
        return found if with_repeats else (result for result in found if REPEATS not in result.item.meta)

    def repeats(self) -> Iterator[tuple[Result, Result]]:
        """Yield the results of each request that was made again: the first time and the second time."""
        again = {
            str(result.item.meta[REPEATS]): result
            for result in self.store.results()
            if REPEATS in result.item.meta
        }
        if again:
            for first in self.results():
                if first.item.name in again:
                    yield first, again[first.item.name]

    def tally(self) -> Tally:
        """Return the progress of the run."""
        return self.store.tally()

    def write_parsed(self, rows: Iterable[Parsed]) -> None:
        """Store what was read in the answers, next to the raw text. Does nothing if the run is open read-only."""
        if self.store.is_writable:
            self.store.write_parsed(rows)

    def write_tables(self, tables: Iterable[Table]) -> None:
        """Replace ``scores.json`` with these tables. Does nothing if the run is open read-only."""
        if self.store.is_writable:
            value = {"instrument": self.info.instrument, "tables": [table.as_json() for table in tables]}
            text = json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False)
            write_atomically(self.folder / _SCORES, text + "\n")

    def tables(self) -> list[Table]:
        """Return the tables of the last scoring. Empty if the run was not scored, or by an older version."""
        stored = self.scores()
        found = stored.get("tables", []) if isinstance(stored, dict) else []
        return [Table.from_json(table) for table in found]

    def write_scores(self, scores: Json) -> None:
        """Replace ``scores.json`` atomically."""
        text = json.dumps(scores, indent=2, ensure_ascii=False, allow_nan=False)
        write_atomically(self.folder / _SCORES, text + "\n")

    def owns(self, path: Path) -> bool:
        """True if a path is one of the run's own files, with links resolved."""
        target = path.resolve()
        own = [*_STORE_FILES, _INFO, _SCORES, _LOCK]
        return (
            any(target == (self.folder / name).resolve() for name in own)
            or (self.folder / _PICTURES).resolve() in target.parents
        )

    def scores(self) -> Any:
        """Return the contents of ``scores.json``, or None."""
        path = self.folder / _SCORES
        try:
            return read_json(path) if path.exists() else None
        except UsageError as error:
            raise StorageError(f"{path} cannot be read ({error}); score the run again") from error

    def _plan(self, items: list[Item], planned: set[str] | None) -> int:
        """Plan some items in one step and add their ids to `planned`. Return the number of new items."""
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
        changed = [
            (meta, item_id) for item_id, (_, meta) in by_id.items() if known.get(item_id, meta) != meta
        ]
        self.store.plan((self._row(item_id, item, meta) for item_id, (item, meta) in new.items()), changed)
        return len(new)

    def _row(self, item_id: str, item: Item, meta: str) -> tuple[str, str, str, str, str]:
        paths = {picture.digest: self._picture_path(picture) for picture in item.request.pictures}
        request = canonical_json(request_to_json(item.request, paths))
        return item_id, item.name, request, canonical_json(list(item.options)), meta

    def _picture_path(self, picture: Picture) -> str:
        """Return the path under which the run finds a picture. Pictures in memory are written into the run."""
        if picture.path is not None:
            return str(picture.path.absolute())
        relative = Path(_PICTURES) / f"{picture.digest}.{picture.media_type.partition('/')[2]}"
        target = self.folder / relative
        if not target.exists():
            target.parent.mkdir(exist_ok=True)
            write_atomically(target, picture.read())
        return str(relative)


def slug(name: str) -> str:
    """Convert a model name to a folder name.

    >>> slug("hf:models/tiny?dtype=float32")
    'hf-models-tiny-dtype-float32'
    """
    return re.sub(r"[^A-Za-z0-9.]+", "-", name).strip("-")


def read_info(folder: Path) -> RunInfo:
    """Read ``run.json``."""
    path = folder / _INFO
    if not path.exists():
        raise UsageError(f"{folder} is not a run: it has no {_INFO}")
    try:
        data = read_json(path)
    except UsageError as error:
        raise StorageError(str(error)) from error
    version = data.get("schema_version") if isinstance(data, dict) else None
    if isinstance(version, int) and version > SCHEMA_VERSION:
        raise StorageError(
            f"{path} was written by a newer Theodolite (format {version}; this one reads up to {SCHEMA_VERSION}); "
            "upgrade: pip install -U theodolite"
        )
    try:
        return RunInfo.model_validate(data)
    except ValidationError as error:
        first = error.errors()[0]
        raise StorageError(
            f"{path} does not describe a run: {'.'.join(map(str, first['loc']))}: {first['msg']}"
        ) from None


def find_runs(folder: str | Path) -> list[Path]:
    """Return all run folders at or below a folder, sorted."""
    folder = Path(folder)
    if not folder.is_dir():
        raise UsageError(
            f"there is no folder {folder}; pass a run, a folder of runs or a diagnosis "
            "(`theodolite runs list DIR` lists the runs in a folder)"
        )
    return sorted(path.parent for path in folder.rglob(_INFO) if (path.parent / _STORE).exists())


def write_atomically(path: Path, content: str | bytes) -> None:
    """Write a file so that readers, and crashes, leave either the old or the new content, never a part."""
    data = content.encode() if isinstance(content, str) else content
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        temporary.unlink(missing_ok=True)
        with temporary.open("xb") as file:  # does not follow an existing link
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    except OSError as error:
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
    others = [name for name in names if name not in {_LOCK, *_STORE_FILES} and not name.startswith(".")]
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


def _resume(run: Run, info: RunInfo) -> Run:
    """Return the existing run if its settings are the same. A run without answers is started over instead."""
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
        f"{run.folder} contains a run with {name}={there!r}, but now {name}={here!r}; "
        "use the same settings to resume it, or choose another --out"
    )
