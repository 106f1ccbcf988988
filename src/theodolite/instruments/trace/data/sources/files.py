"""Reading JSON that others wrote, with what is wrong said in one sentence."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from theodolite.core.errors import UsageError
from theodolite.instruments.trace.data.dataset import Problem
from theodolite.instruments.trace.data.episode import Episode


def load_json(path: Path) -> Any:
    """The content of a file.

    Raises:
        UsageError: it cannot be read, or is no JSON.
    """
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror}") from error
    except ValueError as error:
        raise UsageError(f"{path} is not JSON: {error}") from error


def picture_folder(path: str | Path | None) -> Path | None:
    """The folder of pictures that was named.

    Raises:
        UsageError: there is no such folder.
    """
    if path is not None and not Path(path).is_dir():
        raise UsageError(f"there is no folder of pictures {path}")
    return None if path is None else Path(path)


def without_pictures(episodes: Sequence[Episode], folder: Path | None, layout: str) -> Iterator[Problem]:
    """A word if a folder of pictures was named and none of them is in it."""
    if folder is not None and not any(f.picture is not None for e in episodes for f in e.frames):
        yield Problem(str(folder), f"no frame has its picture there; they are looked for as {layout}")


def first_fault(error: ValidationError | ValueError) -> str:
    """Where the first thing is wrong, and what."""
    if not isinstance(error, ValidationError):
        return str(error)
    first = error.errors()[0]
    place = ".".join(map(str, first["loc"]))
    return f"{place}: {first['msg']}" if place else str(first["msg"])
