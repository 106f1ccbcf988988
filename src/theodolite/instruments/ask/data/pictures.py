"""Find the pictures that a question file names: by path, by file name, by number, or encoded in the file."""

from __future__ import annotations

import base64
import binascii
import os
import re
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import Any

from theodolite.core.errors import UsageError
from theodolite.core.types import Picture
from theodolite.models.tables import NameIndex

__all__ = ["PictureFinder", "Unusable"]

_SUFFIXES = frozenset({".jpg", ".jpeg", ".png", ".webp", ".bmp", ".gif", ".tif", ".tiff"})
_MOST_FILES = 500_000
_DEEPEST = 3
"""How many folders below that of the question file are searched. A folder given with ``--images`` is searched whole."""
_SHORTEST_ENCODED = 200


class Unusable(Exception):  # noqa: N818 - it is counted, not reported
    """A row cannot be used. The message is the reason under which it is counted."""


class PictureFinder:
    """Finds pictures in the folder of a question file, and in the folder given with ``--images``.

    A relative path that leaves the folder of the file is refused unless it leads into the other one, since pictures are
    sent to the model. An absolute path is used as it is.
    """

    def __init__(self, home: Path, images: Path | None = None) -> None:
        self._home = home
        self._images = images
        self._folders = [folder for folder in (images, home) if folder is not None]

    def find(self, value: Any) -> Picture:
        """Return the picture that a field names.

        Raises:
            Unusable: If there is none, or more than one.
        """
        if isinstance(value, dict):
            value = (
                value.get("path") or value.get("file_name") or value.get("bytes") or value.get("url") or ""
            )
        encoded = _decoded(value) if isinstance(value, str) else None
        if encoded is not None:
            return encoded
        name = str(value).strip()
        path = self._by_path(name) if "://" not in name else None
        try:
            return Picture.from_path(path or self._by_name(name))
        except UsageError as error:
            raise Unusable("picture cannot be read") from error

    def _by_path(self, name: str) -> Path | None:
        for folder in self._folders:
            path = folder / name
            if _is_file(path):
                self._check(path, folder, name)
                return path
        return None

    def _check(self, path: Path, folder: Path, name: str) -> None:
        inside = Path(os.path.normpath(path)).is_relative_to(os.path.normpath(folder))
        if inside or Path(name).is_absolute():
            return
        if self._images is None or not path.resolve().is_relative_to(self._images.resolve()):
            raise Unusable("picture outside the folder of the file (name its folder with --images)")

    def _by_name(self, name: str) -> Path:
        found = self._index.find(name)
        if len(found) != 1:
            raise Unusable("several pictures of that name" if found else "picture not found")
        return found[0]

    @cached_property
    def _index(self) -> NameIndex[Path]:
        for folder in self._folders:
            entries = [
                (str(path), path) for path in _walk(folder, None if folder is self._images else _DEEPEST)
            ]
            if entries:
                return NameIndex(entries)
        return NameIndex([])


def _walk(folder: Path, deepest: int | None) -> Iterator[Path]:
    """Yield the picture files below a folder, without hidden ones."""
    n = 0
    for place, folders, files in os.walk(folder):
        depth = len(Path(place).relative_to(folder).parts)
        folders[:] = [] if depth == deepest else sorted(name for name in folders if not name.startswith("."))
        for name in sorted(files):
            if os.path.splitext(name)[1].lower() in _SUFFIXES:  # noqa: PTH122 - half a million times
                yield Path(place, name)
                n += 1
                if n == _MOST_FILES:
                    return


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except OSError:  # such as a name that is too long
        return False


def _decoded(text: str) -> Picture | None:
    """A picture in base64, perhaps as a data URL. None if it is not one."""
    _, comma, rest = text.partition(",") if text.startswith("data:image/") else ("", "", "")
    body = rest if comma else text
    if len(body) < _SHORTEST_ENCODED or re.match(r"[A-Za-z0-9+/\s]+={0,2}\s*$", body) is None:
        return None
    try:
        picture = Picture.from_bytes(base64.b64decode(body))
    except (binascii.Error, ValueError):
        return None
    return None if picture.media_type == "application/octet-stream" else picture
