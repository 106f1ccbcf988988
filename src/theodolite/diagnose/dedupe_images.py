"""Pictures of a diagnosis are kept once: two files of the same content become one, under both names."""

from __future__ import annotations

import hashlib
import os
import shutil
from collections import defaultdict
from pathlib import Path

_KINDS = {".png", ".jpg", ".jpeg", ".webp", ".gif"}


def keep_once(folder: Path) -> int:
    """Links pictures of the same content below a folder, so that each takes its place on the disk once.

    Each model has a run of its own, with the pictures that it was shown, and the page has those that it shows. Where the file
    system has no links, the copies stay.

    Returns:
        How many bytes were freed.
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
    """Whether a file could be made another name of the one that is kept; never is there no file."""
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
    """Another name for a file; a copy of it where that cannot be had."""
    try:
        Path(target).hardlink_to(Path(source).resolve())
    except OSError:
        shutil.copyfile(source, target)
