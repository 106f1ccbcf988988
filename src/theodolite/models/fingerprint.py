"""The fingerprint of a checkpoint: a hash of every byte that can affect its answers."""

from __future__ import annotations

import hashlib
from functools import lru_cache
from pathlib import Path
from typing import Any

from theodolite.core.errors import ModelError

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


def loaded_fingerprint(model: Any, processor: Any) -> str:
    """Return a hash of a loaded model: every weight, its config, and its processor with tokenizer and chat template.

    Raises:
        ModelError: If some weights are not in memory.
    """
    import torch

    digest = hashlib.sha256(model.config.to_json_string().encode())
    for name, weights in sorted(model.state_dict().items()):
        digest.update(name.encode())
        if not isinstance(weights, torch.Tensor):
            digest.update(repr(weights).encode())
            continue
        if weights.is_meta:
            raise ModelError(
                f"the weights {name} are not in memory but offloaded; name the checkpoint instead, as hf:PATH"
            )
        plain = weights.detach().cpu().contiguous().reshape(-1)
        digest.update(f"{weights.dtype}{tuple(weights.shape)}".encode())
        digest.update(plain.view(torch.uint8).numpy().data)
    for part in (processor, getattr(processor, "image_processor", None)):
        if part is not None and hasattr(part, "to_json_string"):
            digest.update(part.to_json_string().encode())
    tokenizer = processor.tokenizer
    backend = getattr(tokenizer, "backend_tokenizer", None)
    words = backend.to_str() if backend is not None else repr(sorted(tokenizer.get_vocab().items()))
    template = getattr(processor, "chat_template", None) or getattr(tokenizer, "chat_template", None)
    digest.update(f"{words}\0{template}".encode())
    return digest.hexdigest()[:16]
