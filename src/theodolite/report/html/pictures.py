"""The pictures of a report: copied beside it, or put into it, each once."""

from __future__ import annotations

import base64
import hashlib
import io
from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias

from theodolite.core.errors import StorageError, UsageError
from theodolite.core.types import Picture
from theodolite.runs import write_atomically

FOLDER = "pictures"
_LARGEST_BYTES, _LONGEST_PX = 200_000, 960
"""A picture that is larger is made smaller for the page; the original stays where it is."""
_KINDS = {"PNG": "png", "JPEG": "jpg", "GIF": "gif", "WEBP": "webp"}


Keep: TypeAlias = Callable[[str, bytes, "Path | None"], None]
"""Puts a picture's bytes where its name leads; where a file with just these bytes is at hand, it is named too."""


class Pictures:
    """Takes pictures into a report, and knows under which name each stands there."""

    def __init__(self, keep: Keep) -> None:
        self._keep = keep
        self._names: dict[str, tuple[str, int, int] | None] = {}
        self.missing: dict[str, str] = {}
        """What could not be shown, and why."""

    def take(self, path: Path) -> tuple[str, int, int] | None:
        """A picture's name in the report with its own width and height; None if it cannot be shown."""
        return self._take(str(path), path.read_bytes, path)

    def take_picture(self, picture: Picture) -> tuple[str, int, int] | None:
        """The same of a picture of a run."""
        return self._take(picture.digest, picture.read, None)

    def _take(self, key: str, read: Callable[[], bytes], path: Path | None) -> tuple[str, int, int] | None:
        if key not in self._names:
            try:
                original = read()
                content, kind, size = readable_picture(original)
            except (OSError, SyntaxError, ValueError, UsageError) as error:
                self.missing[key] = str(error) or type(error).__name__
                self._names[key] = None
            else:
                name = f"{hashlib.sha256(content).hexdigest()[:20]}.{kind}"
                self._keep(name, content, path if content is original else None)
                self._names[key] = name, *size
        return self._names[key]


def into_folder(folder: Path) -> Keep:
    """Pictures go into files beside the page. One that lies there already under another name is linked, not copied."""
    home = folder.resolve()

    def keep(name: str, content: bytes, path: Path | None) -> None:
        target = folder / FOLDER / name
        if target.exists():
            return
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise StorageError(
                f"cannot make {target.parent}: {error.strerror}; choose another --out"
            ) from error
        if path is not None and path.resolve().is_relative_to(home):
            try:
                target.hardlink_to(path.resolve())
            except OSError:
                pass  # this file system has no links, so the page gets a copy
            else:
                return
        write_atomically(target, content)

    return keep


def into_page(inside: dict[str, str]) -> Keep:
    """Pictures go into the page itself, as addresses that hold them."""

    def keep(name: str, content: bytes, _: Path | None) -> None:
        inside[name] = f"data:{media_type(name)};base64,{base64.b64encode(content).decode()}"

    return keep


def media_type(name: str) -> str:
    """Of a picture, by its name's ending.

    >>> media_type("0a1b.jpg")
    'image/jpeg'
    """
    kind = name.rpartition(".")[2]
    return f"image/{'jpeg' if kind == 'jpg' else kind}"


def readable_picture(data: bytes) -> tuple[bytes, str, tuple[int, int]]:
    """A picture's bytes as a browser shows them, its kind, and the size of the original.

    Small PNG, JPEG, GIF and WebP files stay as they are; others are made anew.

    Raises:
        ValueError: it is no picture, or one too large to open safely.
    """
    from PIL import Image, ImageOps

    try:
        with Image.open(io.BytesIO(data)) as opened:
            opened.load()
            upright = ImageOps.exif_transpose(opened)
            size = upright.size
            is_turned = upright.size != opened.size or opened.getexif().get(0x0112, 1) != 1
            if opened.format in _KINDS and len(data) <= _LARGEST_BYTES and not is_turned:
                return data, _KINDS[opened.format], size
            has_alpha = upright.mode in {"RGBA", "LA", "PA"} or "transparency" in upright.info
            small = upright.convert("RGBA" if has_alpha else "RGB")
            small.thumbnail((_LONGEST_PX, _LONGEST_PX))
            made = io.BytesIO()
            small.save(made, "PNG" if has_alpha else "JPEG", quality=88)
            return made.getvalue(), "png" if has_alpha else "jpg", size
    except Image.DecompressionBombError as error:
        raise ValueError(f"the picture is too large: {error}") from error
