"""The pictures of a report: stored in its folder, or embedded in the page. Each picture is stored once."""

from __future__ import annotations

import base64
import hashlib
import io
from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias

from theodolite.core.errors import StorageError, UsageError
from theodolite.core.pictures import open_image, read_picture
from theodolite.core.types import Picture
from theodolite.runs import write_atomically

FOLDER = "pictures"
_LARGE, _SMALL = (200_000, 960), (40_000, 560)
"""Maximum bytes and longer side. Larger pictures are scaled down for the page. The originals are not changed."""
_DRAWN = 2048
"""Pictures with at most this many colours are drawn, and look the same with 256."""
_KINDS = {"PNG": "png", "JPEG": "jpg", "GIF": "gif", "WEBP": "webp"}


Keep: TypeAlias = Callable[[str, bytes, "Path | None"], None]
"""Function that stores a picture, with its name, its bytes, and the path of a file with the same bytes, if there is one."""


class Pictures:
    """The pictures of a report, with their names in it."""

    def __init__(self, keep: Keep, *, is_small: bool = False) -> None:
        """Start empty. If `is_small`, pictures are scaled down to the size of an example, and take as few bytes as they can."""
        self._keep = keep
        self._convert = small_picture if is_small else readable_picture
        self._names: dict[str, tuple[str, int, int] | None] = {}
        self.missing: dict[str, str] = {}
        """Pictures that could not be shown, with the reason."""

    def take(self, path: Path) -> tuple[str, int, int] | None:
        """Add a picture file. Return its name in the report, and its width and height. None if it cannot be shown."""
        return self._take(str(path), lambda: read_picture(path), path)

    def take_picture(self, picture: Picture) -> tuple[str, int, int] | None:
        """Add a picture of a run. Return as `take`."""
        return self._take(picture.digest, picture.read, None)

    def _take(self, key: str, read: Callable[[], bytes], path: Path | None) -> tuple[str, int, int] | None:
        if key not in self._names:
            try:
                original = read()
                content, kind, size = self._convert(original)
            except (OSError, UsageError) as error:
                self.missing[key] = str(error) or type(error).__name__
                self._names[key] = None
            else:
                name = f"{hashlib.sha256(content).hexdigest()[:20]}.{kind}"
                self._keep(name, content, path if content is original else None)
                self._names[key] = name, *size
        return self._names[key]


def into_folder(folder: Path) -> Keep:
    """Store pictures as files in the folder of the page. Files that are already in that folder are linked, not copied."""
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
                pass  # no hard links on this file system: make a copy
            else:
                return
        write_atomically(target, content)

    return keep


def into_page(inside: dict[str, str]) -> Keep:
    """Embed pictures in the page, as data URLs."""

    def keep(name: str, content: bytes, _: Path | None) -> None:
        inside[name] = f"data:{media_type(name)};base64,{base64.b64encode(content).decode()}"

    return keep


def media_type(name: str) -> str:
    """Return the media type of a picture from its file extension.

    >>> media_type("0a1b.jpg")
    'image/jpeg'
    """
    kind = name.rpartition(".")[2]
    return f"image/{'jpeg' if kind == 'jpg' else kind}"


def small_picture(data: bytes) -> tuple[bytes, str, tuple[int, int]]:
    """Return a picture as `readable_picture`, in the fewest bytes: as it is, as JPEG, or drawn ones with a palette."""
    from PIL import Image

    content, kind, size = readable_picture(data, *_SMALL)
    with open_image(content) as opened:
        if kind != "png" or opened.mode not in {"RGB", "L", "P"} or "transparency" in opened.info:
            return content, kind, size
        plain = opened.convert("RGB")
    found = [(content, kind)]
    made = io.BytesIO()
    plain.save(made, "JPEG", quality=88, optimize=True)
    found.append((made.getvalue(), "jpg"))
    if plain.getcolors(_DRAWN) is not None:
        made = io.BytesIO()
        plain.quantize(256, dither=Image.Dither.NONE).save(made, "PNG", optimize=True)
        found.append((made.getvalue(), "png"))
    return (*min(found, key=lambda each: len(each[0])), size)


def readable_picture(
    data: bytes, most_bytes: int = _LARGE[0], longest_px: int = _LARGE[1]
) -> tuple[bytes, str, tuple[int, int]]:
    """Return a picture in a format that browsers show, its file extension, and the size of the original.

    Small PNG, JPEG, GIF and WebP files are not changed. Others are converted.

    Raises:
        UsageError: If it is not a picture, or is too large to open safely.
    """
    from PIL import ImageOps

    with open_image(data) as opened:
        is_turned = opened.getexif().get(0x0112, 1) != 1
        opened.load()
        kind = opened.format
        ImageOps.exif_transpose(opened, in_place=True)
        size = opened.size
        if kind in _KINDS and len(data) <= most_bytes and not is_turned:
            return data, _KINDS[kind], size
        has_alpha = opened.mode in {"RGBA", "LA", "PA"} or "transparency" in opened.info
        small = opened.convert("RGBA" if has_alpha else "RGB")
        small.thumbnail((longest_px, longest_px))
        made = io.BytesIO()
        small.save(made, "PNG" if has_alpha else "JPEG", quality=88)
    return made.getvalue(), "png" if has_alpha else "jpg", size
