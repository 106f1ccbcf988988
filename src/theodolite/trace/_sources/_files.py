"""Reading JSON that others wrote, with what is wrong said in one sentence."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from theodolite.errors import UsageError


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
        raise UsageError(f"{path} is no JSON: {error}") from error


def first_fault(error: ValidationError | ValueError) -> str:
    """Where the first thing is wrong, and what."""
    if not isinstance(error, ValidationError):
        return str(error)
    first = error.errors()[0]
    place = ".".join(map(str, first["loc"]))
    return f"{place}: {first['msg']}" if place else str(first["msg"])
