"""Inspect user files to find out their format."""

from __future__ import annotations

import json
from itertools import islice
from pathlib import Path

__all__ = ["first_keys", "has_file"]


def first_keys(path: Path) -> set[str]:
    """Return the keys of the first object in a JSONL file. Empty if there is none."""
    try:
        with path.open(encoding="utf-8") as file:
            line = next((line for line in islice(file, 20) if line.strip()), "")
        value = json.loads(line)
    except (OSError, ValueError):
        return set()
    return set(value) if isinstance(value, dict) else set()


def has_file(folder: Path, name: str) -> bool:
    """Return True if a folder has a file of that name that is not empty."""
    path = folder / name
    return path.is_file() and path.stat().st_size > 0
