"""``items.jsonl``: one line per measured item, for browsing.

A line holds everything that a page needs to show the item, except the pictures, which are files in the same folder.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from theodolite.core.errors import StorageError, UsageError
from theodolite.core.files import check, lines_of, parse_json
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
    for where, line in lines_of(path):
        try:
            yield check(ItemRow, parse_json(line))
        except (UsageError, ValueError) as error:
            raise UsageError(f"{path.parent / where}: {error}") from error
