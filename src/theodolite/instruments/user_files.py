"""Inspect user files to find out their format."""

from __future__ import annotations

from pathlib import Path

from theodolite.core.errors import UsageError
from theodolite.core.files import lines_of, parse_json

__all__ = ["first_keys", "has_file"]


def first_keys(path: Path) -> set[str]:
    """Return the keys of the first object in a JSONL file. Empty if there is none."""
    try:
        _, line = next(lines_of(path), ("", b""))
        value = parse_json(line)
    except (UsageError, ValueError):
        return set()
    return set(value) if isinstance(value, dict) else set()


def has_file(folder: Path, name: str) -> bool:
    """Return True if a folder has a file of that name that is not empty."""
    path = folder / name
    return path.is_file() and path.stat().st_size > 0
