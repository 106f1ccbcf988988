"""Open and decode pictures. No other module opens a picture file, so that the limits hold everywhere.

The header is read first. A picture of more than `MOST_PIXELS` pixels is refused before anything is decoded, and decoding works
in bands, so that the largest picture needs less than 1 GB.
"""

from __future__ import annotations

import io
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from theodolite.core.errors import TheodoliteError, UsageError, reason_of
from theodolite.core.files import open_plain, read_bytes

if TYPE_CHECKING:
    from PIL.Image import Image

__all__ = [
    "LARGEST_PICTURE",
    "MOST_PIXELS",
    "NotAPictureError",
    "check_size",
    "decode",
    "open_image",
    "read_picture",
    "shown_size",
    "stored_size",
]

MOST_PIXELS = 64_000_000
"""Maximum number of pixels of a picture."""

LARGEST_PICTURE = 256 << 20
"""Maximum size of a picture file, in bytes."""

_FORMATS = ("PNG", "JPEG", "MPO", "WEBP", "GIF", "BMP", "DIB", "TIFF", "PPM", "AVIF", "JPEG2000")
"""Formats of photographs and drawings. Pillow knows more, of which some start other programs."""
_ORIENTATION = 0x0112
"""The EXIF tag for the orientation of a photo."""
_BAND_PIXELS = 4_000_000


class NotAPictureError(UsageError):
    """A file is not a picture of a known format."""


def read_picture(path: Path) -> bytes:
    """Read the encoded bytes of a picture file.

    Raises:
        UsageError: If it cannot be read, or is larger than `LARGEST_PICTURE`.
    """
    return read_bytes(path, "picture", largest=LARGEST_PICTURE)


@contextmanager
def open_image(source: Path | bytes, name: object = "") -> Iterator[Image]:
    """Open a picture, reading only its header. Errors of decoding inside of the block become `UsageError`s.

    Args:
        source: A file, or encoded bytes.
        name: The name for messages. Default: the file.

    Raises:
        UsageError: If it is not a picture, is damaged, or has more than `MOST_PIXELS` pixels.
    """
    from PIL import Image, UnidentifiedImageError

    name = name or (source if isinstance(source, Path) else "in memory")
    try:
        with open_plain(source) if isinstance(source, Path) else nullcontext(io.BytesIO(source)) as file:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", Image.DecompressionBombWarning)  # the limit here is lower
                image = Image.open(file, formats=_formats())
            with image:
                check_size(image.size, name)
                yield image
    except TheodoliteError:
        raise
    except Image.DecompressionBombError:
        raise UsageError(_too_large(name)) from None
    except UnidentifiedImageError as error:
        what = "it is not a picture" if _is_filled(source) else "the file is empty"
        raise NotAPictureError(f"cannot decode the picture {name}: {what}") from error
    except OSError as error:
        raise UsageError(f"cannot decode the picture {name}: {reason_of(error)}") from error
    except Exception as error:  # decoders raise many kinds of errors for a damaged file
        raise UsageError(f"cannot decode the picture {name}: it is damaged ({error})") from error


def _is_filled(source: Path | bytes) -> bool:
    return bool(source.stat().st_size if isinstance(source, Path) else source)


def check_size(size_px: tuple[int, int], name: object) -> None:
    """Raise a `UsageError` if a picture of this width and height has too many pixels."""
    if size_px[0] * size_px[1] > MOST_PIXELS:
        raise UsageError(_too_large(name, size_px))


def stored_size(path: Path, name: object = "") -> tuple[int, int]:
    """Return width and height as stored, before any EXIF rotation. Only the header is read."""
    with open_image(path, name) as image:
        width, height = image.size
    return width, height


def shown_size(source: Path | bytes, name: object = "") -> tuple[int, int]:
    """Return width and height after the EXIF rotation."""
    with open_image(source, name) as image:
        width, height = image.size
        is_turned = image.getexif().get(_ORIENTATION, 1) in {5, 6, 7, 8}
    return (height, width) if is_turned else (width, height)


def decode(source: Path | bytes, name: object = "", *, is_turned: bool = True) -> NDArray[np.uint8]:
    """Decode a picture to RGB, shape ``(height, width, 3)``. Transparent parts become white.

    Args:
        source: A file, or encoded bytes.
        name: The name for messages. Default: the file.
        is_turned: True to apply the EXIF rotation.
    """
    from PIL import ImageOps

    with open_image(source, name) as image:
        kind = image.format
        if is_turned:
            ImageOps.exif_transpose(image, in_place=True)
        width, height = image.size
        rows = max(1, _BAND_PIXELS // width)
        if rows >= height:
            return _rgb(image, kind)
        pixels = np.empty((height, width, 3), np.uint8)
        for top in range(0, height, rows):
            band = image.crop((0, top, width, min(height, top + rows)))
            pixels[top : top + rows] = _rgb(band, kind)
        return pixels


def _rgb(image: Image, kind: str | None) -> NDArray[np.uint8]:
    from PIL import Image as Images

    if image.mode[:1] in {"I", "F"}:
        image = _eight_bits(image, kind)
    if image.mode in {"RGBA", "LA", "PA"} or "transparency" in image.info:
        layer = image.convert("RGBA")
        image = Images.new("RGBA", layer.size, "white")
        image.alpha_composite(layer)
    return np.asarray(image.convert("RGB"))


def _eight_bits(image: Image, kind: str | None) -> Image:
    """Convert 16-bit grey levels to 8 bits: ``round(v * 255 / 65535)``. Pillow would clip everything above 255.

    Raises:
        ValueError: If the levels have 32 bits. Such files do not state the range of their values.
    """
    from PIL import Image as Images

    if not (image.mode.startswith("I;16") or (image.mode == "I" and kind == "PNG")):
        raise ValueError(f"the range of its grey levels (mode {image.mode}) is unknown; save it with 8 bits")
    levels = np.asarray(image).astype(np.int64)
    grey = ((levels * 255 + 32767) // 65535).astype(np.uint8)
    hidden = image.info.get("transparency")
    if isinstance(hidden, int):
        grey[levels == hidden] = 255
    return Images.fromarray(grey)


def _too_large(name: object, size_px: tuple[int, int] | None = None) -> str:
    of_size = f" of {size_px[0]}×{size_px[1]} pixels" if size_px is not None else ""
    return (
        f"the picture {name}{of_size} is too large: at most {MOST_PIXELS // 1_000_000} megapixels are read; "
        "make it smaller, or leave it out"
    )


@cache
def _formats() -> tuple[str, ...]:
    from PIL import Image

    Image.init()
    return tuple(name for name in _FORMATS if name in Image.OPEN)
