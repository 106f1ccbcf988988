"""The pictures of a report: copied beside it, or put into it, each once."""

from __future__ import annotations

import base64
import hashlib
import io
from pathlib import Path

from theodolite.errors import StorageError
from theodolite.runs import write_atomically

FOLDER = "pictures"
_LARGEST_BYTES, _LONGEST_PX = 200_000, 960
"""A picture that is larger is made smaller for the page; the original stays where it is."""
_KINDS = {"PNG": "png", "JPEG": "jpg", "GIF": "gif", "WEBP": "webp"}


class Pictures:
    """Takes pictures into a report, and knows under which name each stands there."""

    def __init__(self, folder: Path, *, is_inside: bool = False) -> None:
        """`is_inside`: the page itself holds them, as data."""
        self.folder = folder
        self.is_inside = is_inside
        self.inside: dict[str, str] = {}
        self.missing: dict[str, str] = {}
        """What could not be shown, and why."""
        self._names: dict[str, tuple[str, int, int] | None] = {}

    def take(self, path: Path) -> tuple[str, int, int] | None:
        """A picture's name in the report with its own width and height; None if it cannot be shown."""
        key = str(path)
        if key not in self._names:
            try:
                self._names[key] = self._taken(path)
            except (OSError, SyntaxError, ValueError) as error:
                self.missing[key] = str(error) or type(error).__name__
                self._names[key] = None
        return self._names[key]

    def _taken(self, path: Path) -> tuple[str, int, int]:
        content, kind, size = readable_picture(path.read_bytes())
        name = f"{hashlib.sha256(content).hexdigest()[:20]}.{kind}"
        if self.is_inside:
            media = "jpeg" if kind == "jpg" else kind
            self.inside[name] = f"data:image/{media};base64,{base64.b64encode(content).decode()}"
        else:
            target = self.folder / FOLDER / name
            if not target.exists():
                try:
                    target.parent.mkdir(parents=True, exist_ok=True)
                except OSError as error:
                    raise StorageError(f"cannot make {target.parent}: {error.strerror}") from error
                write_atomically(target, content)
        return name, *size


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
