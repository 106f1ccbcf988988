"""What a format is, and small contents that several of them need."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

Files = Mapping[str, bytes]


@dataclass(frozen=True, slots=True)
class Format:
    """A small valid data set and its reader."""

    name: str
    files: Files
    """Contents by name, relative to the folder of the data set."""
    read: Callable[[Path, Path], Any]
    """The real reader. It is given the folder, and a folder that it may write into."""
    fixed: tuple[str, ...] = ()
    """Files that are not changed."""


def json_of(value: Any) -> bytes:
    return json.dumps(value).encode()


def lines_of(*rows: Any) -> bytes:
    return b"".join(json_of(row) + b"\n" for row in rows)


@cache
def picture(width: int = 80, height: int = 60, kind: str = "PNG", seed: int = 0) -> bytes:
    """Return a picture of noise."""
    pixels = np.random.default_rng(seed).integers(0, 256, (height, width, 3), dtype=np.uint8)
    buffer = io.BytesIO()
    Image.fromarray(pixels).save(buffer, kind)
    return buffer.getvalue()
