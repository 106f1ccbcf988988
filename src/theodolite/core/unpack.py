"""Unpack what others packed: gzip, archives, JSON. Nothing becomes much larger in memory than it is on disk.

Every reader of a format that can hide much in little (a compressed file, an archive, a table of repeated cells, nested
JSON) takes an `Allowance` by the size of the file, spends from it what it is about to keep, and so refuses a
decompression bomb before it has unpacked it.
"""

from __future__ import annotations

import io
import struct
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, BinaryIO

from theodolite.core.errors import MissingExtraError

__all__ = [
    "ALWAYS_ALLOWED",
    "Allowance",
    "Archive",
    "inflate",
    "inflated",
    "inflated_lines",
    "json_cost",
    "open_archive",
]

ALWAYS_ALLOWED = 128 << 20
"""What any file may become in memory, in bytes, however small it is."""
_GROWTH = 12
"""How many times its own size a larger file may become. Text is compressed to a tenth; the annotations of COCO, parsed,
take five times their size."""

_PIECE = 1 << 20
_CONTAINER, _VALUE = 80, 32
"""Upper bounds of what a list or an object, and a value in one, take in memory beyond their text."""
_ENTRY = 640
"""What `zipfile` keeps for one member, in bytes."""
_ZSTANDARD = 93
"""The compression method of inspect_ai's archives, which `zipfile` supports only since Python 3.14."""
_METHODS = {zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, _ZSTANDARD}
_LARGEST_WINDOW = 128 << 20
"""Maximum window size of Zstandard, the default limit of its own program."""


class Allowance:
    """How many more bytes a file may become in memory.

    >>> allowance = Allowance(1000)
    >>> allowance.spend(100 << 20)
    >>> allowance.spend(100 << 20)
    Traceback (most recent call last):
    ValueError: it unpacks to more than 128 MiB
    """

    def __init__(self, packed: int) -> None:
        """Allow a file of a size in bytes its due."""
        self.total = max(ALWAYS_ALLOWED, _GROWTH * packed)
        self.left = self.total

    def spend(self, n: int) -> None:
        """Take `n` bytes from what is left.

        Raises:
            ValueError: If that is more than is left.
        """
        self.left -= n
        if self.left < 0:
            raise ValueError(f"it unpacks to more than {self.total >> 20} MiB")


def json_cost(data: bytes) -> int:
    """Return an upper bound of what JSON takes in memory once parsed, beyond its text. Reads only brackets and commas.

    >>> json_cost(b'{"a": [1, 2]}')
    256
    """
    containers = data.count(b"[") + data.count(b"{")
    return _CONTAINER * containers + _VALUE * (containers + data.count(b","))


def inflate(file: BinaryIO, allowance: Allowance) -> bytes:
    """Return the content of a gzip file.

    Raises:
        ValueError: If it is not gzip, is cut off, or has more content than allowed.
    """
    data = bytearray()
    for piece in inflated(file):
        allowance.spend(len(piece))
        data += piece
    return bytes(data)


def inflated_lines(file: BinaryIO, allowance: Allowance) -> Iterator[bytes]:
    """Yield the lines of a gzip file, without holding more than one of them.

    Raises:
        ValueError: If it is not gzip, is cut off, or has more content than allowed.
    """
    rest = bytearray()
    for piece in inflated(file):
        allowance.spend(len(piece) + _VALUE * piece.count(b"\n"))
        rest += piece
        if b"\n" in piece:
            *lines, last = rest.split(b"\n")
            yield from map(bytes, lines)
            rest = last
    if rest:
        yield bytes(rest)


def inflated(file: BinaryIO) -> Iterator[bytes]:
    """Yield the content of a gzip file in pieces of at most a mebibyte. Whoever keeps them spends from an allowance.

    Raises:
        ValueError: If it is not gzip, or is cut off.
    """
    unpacker, is_empty = zlib.decompressobj(wbits=31), True
    while not unpacker.eof and (packed := unpacker.unconsumed_tail or file.read(_PIECE)):
        try:
            piece = unpacker.decompress(packed, _PIECE)
        except zlib.error as error:
            raise ValueError(f"it is not gzip, or is damaged ({error})") from error
        is_empty &= not piece
        yield piece
    if not unpacker.eof:
        raise ValueError("it is not gzip, or is empty" if is_empty else "it is cut off")


class Archive:
    """A zip archive. Its members are read one by one; all together may not be larger than allowed."""

    def __init__(self, archive: zipfile.ZipFile, allowance: Allowance) -> None:
        """Take an open archive.

        Raises:
            ValueError: If it says itself that it unpacks to more than allowed.
        """
        self._archive = archive
        self.members = {info.filename: info for info in archive.infolist()}
        """The members by name. Of several with one name, the last counts."""
        self.allowance = allowance
        allowance.spend(sum(info.file_size + _ENTRY for info in self.members.values()))

    def read(self, name: str) -> bytes:
        """Return the content of a member: as much as it declares, which was checked when the archive was opened.

        Raises:
            ValueError: If it is damaged, encrypted, packed by another method, or larger than it declares.
        """
        info = self.members[name]
        if info.compress_type not in _METHODS:
            raise ValueError(f"{name} is compressed by an unknown method ({info.compress_type})")
        try:
            if info.compress_type == _ZSTANDARD:
                return _read_zstandard(self._archive, info)
            with self._archive.open(info) as member:
                return member.read(
                    info.file_size
                )  # without a number, it would be unpacked whole before it is cut
        except (
            *(OSError, EOFError, LookupError, NotImplementedError, RuntimeError, OverflowError),
            *(struct.error, zipfile.BadZipFile, zlib.error),
        ) as error:
            raise ValueError(f"{type(error).__name__}: {error}") from error


@contextmanager
def open_archive(file: BinaryIO, allowance: Allowance) -> Iterator[Archive]:
    """Open a zip archive.

    Raises:
        ValueError: If it is none, or declares more than allowed.
    """
    try:
        archive = zipfile.ZipFile(file)
    except (OSError, LookupError, NotImplementedError, struct.error, zipfile.BadZipFile) as error:
        raise ValueError(f"{type(error).__name__}: {error}") from error
    with archive:
        yield Archive(archive, allowance)


def _read_zstandard(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> bytes:
    try:
        import zstandard
    except ImportError:
        raise MissingExtraError("zstandard", "inspect", "reading a log of inspect_ai") from None
    raw: Any = archive.fp
    raw.seek(info.header_offset)
    header = raw.read(30)
    skip = int.from_bytes(header[26:28], "little") + int.from_bytes(header[28:30], "little")
    raw.seek(info.header_offset + 30 + skip)
    packed = io.BytesIO(raw.read(info.compress_size))
    data = bytearray()
    try:
        with zstandard.ZstdDecompressor(max_window_size=_LARGEST_WINDOW).stream_reader(packed) as member:
            while len(data) <= info.file_size and (
                piece := member.read(min(_PIECE, info.file_size + 1 - len(data)))
            ):
                data += piece
    except zstandard.ZstdError as error:
        raise ValueError(str(error)) from error
    if len(data) != info.file_size:
        raise ValueError(f"{info.filename} does not have the size that it declares")
    return bytes(data)
