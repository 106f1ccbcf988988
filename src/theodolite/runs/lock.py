"""A lock, so that only one process at a time measures into a run."""

from __future__ import annotations

import fcntl
import os
import stat
from pathlib import Path
from typing import Self

from theodolite.core.errors import StorageError


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
        found = os.fstat(self._file)
        if not stat.S_ISREG(found.st_mode) or found.st_nlink > 1:
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
