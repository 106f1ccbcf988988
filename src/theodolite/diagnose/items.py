"""``items.jsonl``: one line per measured item, for browsing.

A line holds everything that a page needs to show the item, except the pictures, which are files in the same folder.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from pydantic import ValidationError

from theodolite.core.errors import StorageError, UsageError
from theodolite.core.views import ItemRow

ITEMS_FILE = "items.jsonl"


def write_items(rows: Iterable[ItemRow], folder: Path) -> Path:
    """Write ``items.jsonl`` into a folder, atomically.

    Returns:
        The path of the file.
    """
    path = folder / ITEMS_FILE
    try:
        folder.mkdir(parents=True, exist_ok=True)
        draft = path.with_name(f".{path.name}.part")
        with draft.open("w", encoding="utf-8") as file:
            file.writelines(row.model_dump_json(exclude_defaults=True) + "\n" for row in rows)
        draft.replace(path)
    except OSError as error:
        raise StorageError(
            f"cannot write {path}: {error.strerror}; free some space or choose another --out"
        ) from error
    return path


def read_items(folder: str | Path) -> Iterator[ItemRow]:
    """Yield the rows of ``items.jsonl`` in a folder.

    Raises:
        UsageError: If there is none, or if a line is not valid.
    """
    path = Path(folder) / ITEMS_FILE
    try:
        with path.open(encoding="utf-8") as file:
            for number, line in enumerate(file, 1):
                try:
                    yield ItemRow.model_validate_json(line)
                except ValidationError as error:
                    first = " ".join(str(error).split())[:200]
                    raise UsageError(f"{path}, line {number}: {first}") from error
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"cannot read {path}: {error}") from error
