"""Pictures are bounded: too many pixels are refused by the header, and the largest fits into memory."""

import struct
import subprocess
import sys
import zlib
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from theodolite.core import pictures
from theodolite.core.errors import UsageError
from theodolite.core.pictures import MOST_PIXELS, NotAPictureError, decode, shown_size, stored_size
from theodolite.core.types import Picture


def png_header(path, width, height):
    """A PNG file that says how large it is, and holds nothing."""
    chunk = b"IHDR" + struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    start = b"\x89PNG\r\n\x1a\n\x00\x00\x00\x0d"
    path.write_bytes(start + chunk + struct.pack(">I", zlib.crc32(chunk)) + bytes(4) + b"IDAT" + bytes(4))
    return path


@pytest.mark.parametrize(
    ("width", "height"), [(12_000, 12_000), (8001, 8000), (2**31 - 1, 2**31 - 1), (64_000_001, 1)]
)
def test_a_picture_over_64_megapixels_is_refused_by_its_header(tmp_path, width, height):
    assert MOST_PIXELS == 64_000_000
    path = png_header(tmp_path / "a.png", width, height)
    for read in (
        Picture.from_path(path).pixels,
        lambda: Picture.from_path(path).size,
        lambda: stored_size(path),
    ):
        with pytest.raises(UsageError, match="at most 64 megapixels are read") as caught:
            read()
        assert "\n" not in str(caught.value)


def test_a_cut_off_picture_a_text_and_an_empty_file_are_told(tmp_path):
    path = tmp_path / "a.png"
    Picture.from_array(np.zeros((50, 50, 3), np.uint8)).load().save(path)
    path.write_bytes(path.read_bytes()[:-30])
    with pytest.raises(UsageError, match="cannot decode the picture"):
        decode(path)
    for content in (b"no picture", b"", b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 9 9\n"):
        path.write_bytes(content)
        with pytest.raises(NotAPictureError, match="it is not a picture" if content else "the file is empty"):
            shown_size(path)


def test_a_file_may_not_be_too_large(tmp_path, monkeypatch):
    path = tmp_path / "a.png"
    Image.new("RGB", (50, 50)).save(path)
    monkeypatch.setattr(pictures, "LARGEST_PICTURE", 10)
    with pytest.raises(UsageError, match="larger than"):
        Picture.from_path(path).read()


@pytest.mark.parametrize("mode", ["RGB", "RGBA", "LA", "L", "P", "I;16", "CMYK", "1"])
def test_bands_are_the_same_as_the_whole(tmp_path, monkeypatch, mode):
    rng = np.random.default_rng(0)
    if mode == "I;16":
        image = Image.fromarray(rng.integers(0, 65536, (37, 23), dtype=np.uint16))
    else:
        image = Image.fromarray(rng.integers(0, 256, (37, 23, 4), dtype=np.uint8), "RGBA").convert(mode)
    kind = "TIFF" if mode == "CMYK" else "PNG"
    image.save(tmp_path / "a", kind)
    whole = decode(tmp_path / "a")
    monkeypatch.setattr(pictures, "_BAND_PIXELS", 23 * 5)
    assert np.array_equal(decode(tmp_path / "a"), whole)
    assert whole.shape == (37, 23, 3)


def test_no_other_module_opens_a_picture():
    home = Path(pictures.__file__).parents[1]
    opening = {
        path.relative_to(home).as_posix() for path in home.rglob("*.py") if "Image.open(" in path.read_text()
    }
    exported = {"diagnose/export/lmms_eval.py"}  # as text for another program
    assert opening == {"core/pictures.py", *exported}


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["RGBA", "RGB"])
def test_the_largest_picture_needs_less_than_a_gigabyte(tmp_path, mode):
    exif = Image.Exif()
    exif[0x0112] = 6
    kind = {"RGBA": "PNG", "RGB": "JPEG"}[mode]
    Image.new(mode, (8000, 8000)).save(tmp_path / "a", kind, exif=exif)
    code = (
        "import sys; from theodolite.core.types import Picture; Picture.from_path(sys.argv[1]).pixels(); "
        "print(open('/proc/self/status').read().split('VmHWM:')[1].split()[0])"  # getrusage counts the parent in
    )
    told = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path / "a")], capture_output=True, text=True, check=True
    )
    assert int(told.stdout) < 1_000_000
