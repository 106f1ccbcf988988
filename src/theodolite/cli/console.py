"""Results on standard output, progress and notes on standard error. Light: the help of the program loads nothing else."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from rich.console import Console
from rich.text import Text

__all__ = ["err", "note", "notes", "out", "print_json"]

out = Console(highlight=False)
err = Console(stderr=True, highlight=False)


def print_json(value: Any) -> None:
    """Print a JSON document, without wrapping or colours."""
    out.file.write(json.dumps(value, indent=2, ensure_ascii=False, default=str) + "\n")


def note(text: str) -> None:
    """Print a note to standard error, without wrapping, so that paths can be copied."""
    err.print(Text(text), soft_wrap=True)


def notes(texts: Iterable[str]) -> None:
    """Print several notes."""
    for text in texts:
        note(text)
