"""Data sets are written whole or not at all."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from theodolite.core.errors import MissingExtraError, StorageError, TheodoliteError, UsageError, reason_of

__all__ = ["whole_folder"]


@contextmanager
def whole_folder(folder: Path) -> Iterator[Path]:
    """Yield a place for a new data set. It becomes `folder` when the block ends without an error.

    So an interrupted command leaves nothing under that name, and the same command starts again. A killed process leaves
    a hidden folder beside it.

    Raises:
        UsageError: If the folder exists and is not empty.
        StorageError: If it cannot be written.
    """
    try:
        if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
            raise UsageError(f"{folder} is not empty; choose another --out, a new folder for the data set")
        folder.parent.mkdir(parents=True, exist_ok=True)
        scratch = TemporaryDirectory(prefix=f".{folder.name}.", dir=folder.parent)
    except OSError as error:
        raise StorageError(f"cannot write into {folder}: {reason_of(error)}; choose another --out") from error
    with scratch:
        place = Path(scratch.name) / folder.name
        try:
            yield place
        except MissingExtraError:
            raise
        except TheodoliteError as error:
            raise type(error)(str(error).replace(str(place), str(folder))) from error
        try:
            place.rename(folder)  # takes the place of an empty folder
        except OSError as error:
            raise StorageError(
                f"cannot write {folder}: {reason_of(error)}; another command may have written there meanwhile"
            ) from error
