"""The fingerprint of a checkpoint: a hash of every byte that can affect its answers."""

from __future__ import annotations

import hashlib
from functools import lru_cache
from pathlib import Path

_ENDINGS = frozenset(
    {".safetensors", ".json", ".jinja", ".txt", ".py", ".model", ".spm", ".tiktoken", ".bpe", ".vocab"}
)
"""Weights, configurations, templates, tokenisers and the repository's own code."""
_IGNORED = "certificate.json"
"""Measurements stored next to a checkpoint. They do not affect its answers."""


def fingerprint(source: str, commit: str | None) -> str:
    """Return the commit of a hub checkpoint, or a hash of all files in a folder.

    Weights are hashed in full, since a change to a single tensor makes a different model.

    Args:
        source: A folder, or an id on the hub.
        commit: The commit of the hub checkpoint, if known.
    """
    folder = Path(source)
    if not folder.is_dir():
        return commit or f"{source}@unknown"
    digest = hashlib.sha256()
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder)
        is_hidden = any(part.startswith(".") for part in name.parts)
        if path.suffix in _ENDINGS and path.name != _IGNORED and not is_hidden and path.is_file():
            stat = path.stat()
            content = _file_digest(path.absolute(), stat.st_size, stat.st_mtime_ns)
            digest.update(f"{name.as_posix()}\0{content}\n".encode())
    return digest.hexdigest()[:16]


@lru_cache(maxsize=4096)
def _file_digest(path: Path, size: int, mtime_ns: int) -> str:  # noqa: ARG001 - size and time are part of the cache key
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
