"""Store each picture of a diagnosis once: files with the same content become hard links to one file."""

from __future__ import annotations

import hashlib
import os
import shutil
from collections import defaultdict
from pathlib import Path

_KINDS = {".png", ".jpg", ".jpeg", ".webp", ".gif"}


def dedupe_images(folder: Path) -> int:
    """Replace pictures with the same content below a folder by hard links to one of them.

    Every run has its own copy of the pictures that its model was shown, and so has the report. If the file system
    has no hard links, the copies stay.

    Returns:
        The number of bytes freed.
    """
    by_size: defaultdict[int, list[Path]] = defaultdict(list)
    for path in sorted(folder.rglob("*")):
        if path.suffix in _KINDS and path.is_file() and not path.is_symlink():
            by_size[path.stat().st_size].append(path)
    freed = 0
    for size, paths in by_size.items():
        first: dict[bytes, Path] = {}
        for path in paths if len(paths) > 1 else ():
            kept = first.setdefault(hashlib.sha256(path.read_bytes()).digest(), path)
            if not kept.samefile(path) and _replaced(path, kept):
                freed += size
    return freed


def _replaced(path: Path, kept: Path) -> bool:
    """Replace a file by a hard link to `kept`. Return False if that failed. The file exists at all times."""
    beside = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        beside.unlink(missing_ok=True)
        beside.hardlink_to(kept)
        beside.replace(path)
    except OSError:
        beside.unlink(missing_ok=True)
        return False
    return True


def link_or_copy(source: str | Path, target: str | Path) -> None:
    """Make a hard link to a file, or a copy if links are not possible."""
    try:
        Path(target).hardlink_to(Path(source).resolve())
    except OSError:
        shutil.copyfile(source, target)
