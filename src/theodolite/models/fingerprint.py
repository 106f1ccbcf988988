"""What tells one checkpoint from another: every byte that can change an answer."""

from __future__ import annotations

import hashlib
from functools import lru_cache
from pathlib import Path

_ENDINGS = frozenset(
    {".safetensors", ".json", ".jinja", ".txt", ".py", ".model", ".spm", ".tiktoken", ".bpe", ".vocab"}
)
"""Of weights, configurations, templates, tokenisers and the repository's own code."""
_ABOUT = "certificate.json"
"""What was measured on a checkpoint may lie beside it, and makes no other model of it."""


def fingerprint(source: str, commit: str | None) -> str:
    """A hub checkpoint by its commit, a folder by the whole content of its files.

    Weights are read whole when they are loaded anyway; one tensor that was changed at one place is another model.

    Args:
        source: a folder, or an id on the hub.
        commit: of the hub checkpoint, if it is known.
    """
    folder = Path(source)
    if not folder.is_dir():
        return commit or f"{source}@unknown"
    digest = hashlib.sha256()
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder)
        is_hidden = any(part.startswith(".") for part in name.parts)
        if path.suffix in _ENDINGS and path.name != _ABOUT and not is_hidden and path.is_file():
            stat = path.stat()
            content = _file_digest(path.absolute(), stat.st_size, stat.st_mtime_ns)
            digest.update(f"{name.as_posix()}\0{content}\n".encode())
    return digest.hexdigest()[:16]


@lru_cache(maxsize=4096)
def _file_digest(path: Path, size: int, mtime_ns: int) -> str:  # noqa: ARG001 - size and time are the cache's key
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
