"""Decompression bombs and their like: little that becomes much. Each must be refused within a second and 500 MB.

Every bomb is read in a process of its own, whose memory and processor time the system measures.
"""

from __future__ import annotations

import gzip
import random
import shutil
import struct
import tempfile
import time
import warnings
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fuzz.tally import READ, REFUSED, Tally, in_a_process, peak_megabytes
from theodolite.core.files import read_gzip, read_json, read_lines
from theodolite.core.types import Picture, Request

SECONDS = 1.0
"""Processor time within which a bomb is refused."""
READING_SECONDS = 5.0
"""Processor time for a small one, which is read."""
MEGABYTES = max(500.0, peak_megabytes() + 300)
"""Peak memory of the process, which is larger where tests have loaded much else before."""


@dataclass(frozen=True)
class Bomb:
    """A file, and what reads it."""

    name: str
    """The name of the file; its ending chooses the reader of a table."""
    write: Callable[[Path, float], None]
    """Writes it, larger or smaller by a factor."""
    read: Callable[[Path], Any]


def run(seed: int, count: int, seconds: float | None = None) -> Tally:
    """Read bombs, each kind in turn with another size, until `count` were read or `seconds` have passed."""
    tally, begun, rng = Tally(), time.monotonic(), random.Random(f"bombs/{seed}")
    known = bombs()
    with tempfile.TemporaryDirectory() as home, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for number in range(count):
            if seconds is not None and time.monotonic() - begun > seconds:
                break
            bomb = known[number % len(known)]
            scale = 1.0 if number < len(known) else 4 ** rng.uniform(-1.5, 0.5)
            folder = Path(home) / str(number)
            folder.mkdir()
            path = folder / bomb.name.split(" ")[-1]
            in_a_process(lambda bomb=bomb, path=path, scale=scale: bomb.write(path, scale))  # type: ignore[misc]
            _attempt(tally, bomb, path, f"{bomb.name} {seed}/{number} × {scale:.2f}")
            shutil.rmtree(folder)
    return tally


def _attempt(tally: Tally, bomb: Bomb, path: Path, place: str) -> None:
    """Read one bomb in a process of its own, and count what went wrong."""
    tally.inputs += 1
    text, status, used = in_a_process(lambda: bomb.read(path))
    taken = used.ru_utime + used.ru_stime
    if status not in {READ, REFUSED}:
        tally.add("uncaught", f"{place}: {text or f'status {status}'}")
    if taken > (SECONDS if status == REFUSED else READING_SECONDS):
        tally.add("over_time", f"{place}: {taken:.1f} s")
    if used.ru_maxrss >> 10 > MEGABYTES:
        tally.add("over_memory", f"{place}: {used.ru_maxrss >> 10} MB")


def bombs() -> list[Bomb]:
    """Return every kind of bomb, with all readers loaded."""
    import pyarrow.parquet  # noqa: F401 - loaded once, not in every process

    return [
        *_json_bombs(),
        *_tables(),
        *_workbooks(),
        *_archives(),
        *_parquet_files(),
        *_pictures(),
        *_arrays(),
    ]


def _replayed(path: Path) -> None:
    from theodolite.models import open_model

    open_model(f"replay:{path}").generate([Request.ask("Where is the cup?", ref="a")])


def _bytes(content: Callable[[float], bytes]) -> Callable[[Path, float], None]:
    def write(path: Path, scale: float) -> None:
        path.write_bytes(content(scale))

    return write


def _times(piece: bytes, n: float) -> bytes:
    return piece * max(1, int(n))


def _json_bombs() -> Iterator[Bomb]:
    texts: dict[str, Callable[[float], bytes]] = {
        "deep lists": lambda s: _times(b"[", 5e6 * s),
        "deep objects": lambda s: _times(b'{"a":', 3e6 * s),
        "deep and closed": lambda s: _times(b"[", 199 * s) + b"1" + _times(b"]", 199 * s),
        "empty lists": lambda s: b"[" + _times(b"[],", 8e6 * s) + b"1]",
        "empty objects": lambda s: b"[" + _times(b"{},", 8e6 * s) + b"1]",
        "digits": lambda s: b"[" + _times(b"1,", 2e7 * s) + b"1]",
        "texts": lambda s: b"[" + _times(b'"",', 1e7 * s) + b"1]",
        "a number": lambda s: b"1" * int(2e7 * s),
        "a fraction": lambda s: b"0." + b"1" * int(2e7 * s),
        "one key": lambda s: b"{" + _times(b'"a":1,', 4e6 * s) + b'"b":1}',
        "many keys": lambda s: b"{" + b",".join(b'"%x":0' % i for i in range(int(1e6 * s))) + b"}",
        "wide text": lambda s: b'["' + "😀".encode() + _times(b"a", 2e7 * s) + b'"]',
        "escapes": lambda s: b'["' + _times(b"\\ud800", 3e6 * s) + b'"]',
    }  # fmt: skip
    for name, content in texts.items():
        yield Bomb(f"{name} a.json", _bytes(content), read_json)
        if name in {"deep lists", "empty lists", "digits", "escapes", "a number"}:
            yield Bomb(f"{name} of answers a.json", _bytes(content), _replayed)
    yield Bomb("lines a.jsonl", _bytes(lambda s: _times(b"{}\n", 4e6 * s)), _replayed)
    yield Bomb(
        "broken lines a.jsonl", _bytes(lambda s: _times(b"]\n", 3e6 * s)), lambda p: read_lines(p, dict)
    )
    packed: dict[str, Callable[[float], bytes]] = {
        "zeros a.jsonl.gz": lambda s: bytes(int(1e9 * s)),
        "no lines a.jsonl.gz": lambda s: _times(b"\n", 1e9 * s),
        "objects a.jsonl.gz": lambda s: _times(b"{}\n", 3e8 * s),
        "zeros a.csv.gz": lambda s: bytes(int(1e9 * s)),
        "zeros a.parquet.gz": lambda s: bytes(int(1e9 * s)),
        "zeros of answers a.json.gz": lambda s: bytes(int(1e9 * s)),
    }
    for name, content in packed.items():
        yield Bomb(name, _gzipped(content), _replayed)
    yield Bomb("zeros a.json.gz", _gzipped(lambda s: bytes(int(1e9 * s))), read_gzip)
    yield Bomb("lists a.json.gz", _gzipped(lambda s: _times(b"[],", 1e8 * s)), read_gzip)


def _gzipped(content: Callable[[float], bytes]) -> Callable[[Path, float], None]:
    def write(path: Path, scale: float) -> None:
        with gzip.open(path, "wb", 6) as file:
            piece = content(scale / 64)
            for _ in range(64):
                file.write(piece)

    return write


def _tables() -> Iterator[Bomb]:
    head = b"image,question,prediction\n"
    texts: dict[str, Callable[[float], bytes]] = {
        "wide a.csv": lambda s: b",".join(b"c%d" % i for i in range(int(2e5 * s))) + _times(b"\na", 3e6 * s),
        "commas a.csv": lambda s: head + _times(_times(b",", 999) + b"\n", 2e4 * s),
        "lines a.csv": lambda s: head + _times(b"a\n", 5e6 * s),
        "tabs a.tsv": lambda s: head.replace(b",", b"\t") + _times(b"\t\n", 5e6 * s),
        "quotes a.csv": lambda s: head + b'"' + _times(b'""', 1e7 * s),
    }
    for name, content in texts.items():
        yield Bomb(name, _bytes(content), _replayed)


def _zip(path: Path, members: dict[str, Iterator[bytes]], method: int = zipfile.ZIP_DEFLATED) -> None:
    with zipfile.ZipFile(path, "w", method, compresslevel=6) as archive:
        for name, pieces in members.items():
            with archive.open(name, "w", force_zip64=True) as member:
                for piece in pieces:
                    member.write(piece)


def _workbooks() -> Iterator[Bomb]:
    sheet, strings = "xl/worksheets/sheet1.xml", "xl/sharedStrings.xml"
    head, tail = b"<worksheet><sheetData>", b"</sheetData></worksheet>"

    def book(
        piece: bytes, n: float, *, before: bytes = head, after: bytes = tail, shared: bytes = b""
    ) -> Any:
        def write(path: Path, scale: float) -> None:
            size = max(1, int(n * scale) // 100)
            pieces = iter([before, *[piece * size] * 100, after])
            _zip(path, {**({strings: iter([shared])} if shared else {}), sheet: pieces})

        return write

    row = b'<row><c r="A1"><v>1</v></c></row>'
    long = b"<sst><si><t>" + b"x" * 1_000_000 + b"</t></si></sst>"
    yield Bomb("zeros a.xlsx", book(bytes(1000), 1e6), _replayed)
    yield Bomb(
        "cells a.xlsx", book(b"<c/>", 2.5e7, before=head + b"<row>", after=b"</row>" + tail), _replayed
    )
    yield Bomb("rows a.xlsx", book(b"<row/>", 2e7), _replayed)
    yield Bomb("numbers a.xlsx", book(row, 3e6), _replayed)
    yield Bomb("deep a.xlsx", book(b"<a>", 3e7, after=b""), _replayed)
    yield Bomb("names a.xlsx", book(b'<c r="A1" t="s"><v>0</v></c>', 4e6, before=head + b"<row>", after=b"</row>" + tail, shared=long), _replayed)  # fmt: skip
    yield Bomb(
        "repeats a.xlsx", book(b'<row><c r="A1" t="s"><v>0</v></c></row>', 3e6, shared=long), _replayed
    )
    laughs = b'<!DOCTYPE a [<!ENTITY a "ha"><!ENTITY b "' + b"&a;" * 9999 + b'">]><worksheet>&b;</worksheet>'
    yield Bomb("entities a.xlsx", book(b" ", 100, before=laughs, after=b""), _replayed)
    wide = laughs.decode().encode("utf-16")
    yield Bomb("wide entities a.xlsx", book(b"  ", 100, before=wide, after=b""), _replayed)
    many = b"<sst>" + b"<si/>" * 10_000_000 + b"</sst>"
    yield Bomb("strings a.xlsx", book(row, 100, shared=many), _replayed)


def _archives() -> Iterator[Bomb]:
    def log(
        pieces: Callable[[float], Iterator[bytes]], members: int = 1, method: int = zipfile.ZIP_DEFLATED
    ) -> Any:
        return lambda path, scale: _zip(
            path, {f"samples/{i}_epoch_1.json": pieces(scale) for i in range(members)}, method
        )

    def spaces(scale: float) -> Iterator[bytes]:
        return (b" " * 1_000_000 for _ in range(int(1000 * scale)))

    def some(scale: float) -> Iterator[bytes]:
        return (b"[" * 1_000_000 for _ in range(int(40 * scale)))

    yield Bomb("one member a.eval", log(spaces), _replayed)
    yield Bomb("many members a.eval", log(some, 40), _replayed)
    yield Bomb("bzip2 a.eval", log(some, 4, zipfile.ZIP_BZIP2), _replayed)
    yield Bomb("lzma a.eval", log(some, 4, zipfile.ZIP_LZMA), _replayed)
    yield Bomb("lying a.eval", _lying, _replayed)
    yield Bomb("overlapping a.eval", _overlapping, _replayed)
    yield Bomb("zstandard a.eval", _zstandard, _replayed)
    yield Bomb("lying zstandard a.eval", lambda p, s: _zstandard(p, s, declared=1000), _replayed)


def _lying(path: Path, scale: float) -> None:
    """Write an archive whose directory declares less than the member holds."""
    _zip(path, {"samples/1_epoch_1.json": iter([bytes(int(3e8 * scale))])})
    data = bytearray(path.read_bytes())
    place = data.rfind(b"PK\x01\x02")
    data[place + 24 : place + 28] = struct.pack("<I", 1000)
    path.write_bytes(data)


def _overlapping(path: Path, scale: float) -> None:
    """Write an archive with many entries that share one member."""
    _zip(path, {"samples/1_epoch_1.json": iter([bytes(int(3e6 * scale))])})
    data = path.read_bytes()
    place, end = data.rfind(b"PK\x01\x02"), data.rfind(b"PK\x05\x06")
    entry = bytearray(data[place:end])
    entries = b""
    for i in range(1000):
        entry[46 + 8 : 46 + 15] = b"%07d" % i  # another name of the same length
        entries += bytes(entry)
    tail = data[end : end + 8] + struct.pack("<HHII", 1000, 1000, len(entries), place) + b"\0\0"
    path.write_bytes(data[:place] + entries + tail)


def _zstandard(path: Path, scale: float, declared: int | None = None) -> None:
    """Write an archive with a member of Zstandard, method 93."""
    import zstandard

    size = int(1e9 * scale)
    packer = zstandard.ZstdCompressor(level=3).compressobj()
    packed = b"".join([*(packer.compress(bytes(1 << 20)) for _ in range(size >> 20)), packer.flush()])
    name = b"samples/1_epoch_1.json"
    shown = (size >> 20 << 20) if declared is None else declared
    common = struct.pack("<HHHHHIIIHH", 20, 0, 93, 0, 0, 0, len(packed), shown, len(name), 0)
    local = b"PK\x03\x04" + common + name + packed
    central = b"PK\x01\x02" + struct.pack("<H", 20) + common + struct.pack("<HHHII", 0, 0, 0, 0, 0) + name
    tail = b"PK\x05\x06" + struct.pack("<HHHHIIH", 0, 0, 1, 1, len(central), len(local), 0)
    path.write_bytes(local + central + tail)


def _parquet_files() -> Iterator[Bomb]:
    import pyarrow as pa
    from pyarrow import parquet

    def table(make: Callable[[int], pa.Table], n: float, **more: Any) -> Callable[[Path, float], None]:
        def write(path: Path, scale: float) -> None:
            parquet.write_table(
                make(max(1, int(n * scale))),
                path,
                compression="zstd",
                dictionary_pagesize_limit=1 << 30,
                **more,
            )

        return write

    def repeated(value: Any, kind: Any) -> Callable[[int], pa.Table]:
        return lambda n: pa.table(
            {"a": pa.DictionaryArray.from_arrays(pa.array([0] * n, pa.int32()), pa.array([value], kind))}
        )

    def listed(n: int) -> pa.Table:
        texts = repeated("x" * 100_000, pa.string())(n)["a"].combine_chunks()
        return pa.table(
            {"a": pa.ListArray.from_arrays(pa.array([0, n], pa.int32()), texts.dictionary_decode())}
        )

    text = "x" * 10_000_000
    kinds: dict[str, Callable[[Path, float], None]] = {
        "text": table(repeated(text, pa.string()), 1200),
        "bytes": table(repeated(text.encode(), pa.binary()), 1200),
        "unstored schema": table(repeated(text, pa.string()), 1200, store_schema=False),
        "fixed": table(lambda n: pa.table({"a": pa.array([b"x" * 100_000] * n, pa.binary(100_000))}), 3000),
        "one list": table(listed, 3000),
        "nulls": table(lambda n: pa.table({"a": pa.nulls(n)}), 1e7),
        "numbers": table(lambda n: pa.table({"a": pa.repeat(0, n)}), 2e7),
        "truths": table(lambda n: pa.table({"a": pa.repeat(True, n)}), 2e7),  # noqa: FBT003
        "columns": table(lambda n: pa.table({f"c{i}": [1] for i in range(n)}), 12_000),
        "groups": table(lambda n: pa.table({"a": pa.repeat("x" * 1000, n)}), 4e5, row_group_size=500),
    }
    for name, write in kinds.items():
        yield Bomb(f"{name} a.parquet", write, _replayed)
    yield Bomb("lying a.parquet", _lying_parquet, _replayed)
    yield Bomb("deep a.parquet", _deep_parquet, _replayed)


def _lying_parquet(path: Path, scale: float) -> None:
    """Write a file whose footer declares a hundredth of what its pages hold."""
    import pyarrow as pa
    from pyarrow import parquet

    n = int(5e6 * scale)
    parquet.write_table(
        pa.table({"a": pa.array([bytes(100)] * n, pa.binary())}),
        path,
        compression="zstd",
        use_dictionary=False,
    )
    size = parquet.ParquetFile(path).metadata.row_group(0).column(0).total_uncompressed_size
    data = path.read_bytes()
    foot = len(data) - 8 - struct.unpack("<I", data[-8:-4])[0]
    path.write_bytes(
        data[:foot] + data[foot:].replace(_zigzag(size), _zigzag(size // 100, len(_zigzag(size))))
    )


def _zigzag(value: int, length: int = 0) -> bytes:
    value, out = value << 1, b""
    while value > 127 or len(out) + 1 < length:
        out, value = out + bytes([value & 127 | 128]), value >> 7
    return out + bytes([value])


def _deep_parquet(path: Path, scale: float) -> None:
    import pyarrow as pa
    from pyarrow import parquet

    kind = pa.int8()
    for _ in range(int(60 * scale) + 1):
        kind = pa.struct([("a", kind)])
    parquet.write_table(pa.table({"a": pa.nulls(3, kind)}), path)


def _pictures() -> Iterator[Bomb]:
    def decoded(path: Path) -> None:
        Picture.from_path(path).pixels()

    def png(width: int, height: int, pieces: bytes) -> Callable[[Path, float], None]:
        def chunk(kind: bytes, data: bytes) -> bytes:
            return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

        def write(path: Path, scale: float) -> None:
            header = struct.pack(">IIBBBBB", width, int(height * scale) + 1, 8, 2, 0, 0, 0)
            text = (
                chunk(b"zTXt", b"a\0\0" + zlib.compress(bytes(int(5e8 * scale))))
                if pieces == b"zTXt"
                else b""
            )
            path.write_bytes(
                b"\x89PNG\r\n\x1a\n"
                + chunk(b"IHDR", header)
                + text
                + chunk(b"IDAT", pieces)
                + chunk(b"IEND", b"")
            )

        return write

    rows = zlib.compress(bytes(3 * 60_001 * 20_000 // 60))
    yield Bomb("wide a.png", png(60_000, 20_000, rows), decoded)
    yield Bomb("endless a.png", png(2**31 - 1, 2**30, rows), decoded)
    yield Bomb("text a.png", png(10, 10, b"zTXt"), decoded)
    for kind in ("gif", "webp", "tiff", "bmp"):
        yield Bomb(f"large a.{kind}", _large_picture(kind), decoded)


def _large_picture(kind: str) -> Callable[[Path, float], None]:
    def write(path: Path, scale: float) -> None:
        from PIL import Image

        side = min(int(9000 * scale), 16_000)
        packing: dict[str, Any] = {"compression": "tiff_deflate"} if kind == "tiff" else {}
        if kind == "webp":
            side, packing = min(side, 4000), {"lossless": True, "method": 0}
        image = Image.new("1" if kind == "bmp" else "P" if kind == "gif" else "RGB", (side, side))
        image.save(path, kind.upper(), **packing)

    return write


def _arrays() -> Iterator[Bomb]:
    """Yield a run of a stranger with an array of zeros."""

    def write(path: Path, scale: float) -> None:
        import sqlite3

        import numpy as np

        from theodolite.core.types import Item, Record, Response
        from theodolite.runs import Run, RunInfo
        from theodolite.runs.store import checksum

        item = Item("i", Request.ask("?"))
        info = RunInfo(instrument="x", model="m", identity="m", theodolite="0")
        with Run.start(path, info) as run:
            run.plan([item])
            run.store.add(
                [(1, None, Record(item.id, Response("answered", text="a"), arrays={"a": np.zeros(3)}))]
            )
        size = int(1.2e8 * scale)
        row = ("a", "<f8", f"[{size}]", zlib.compress(bytes(8 * size), 9))
        with closing(sqlite3.connect(path / "measured.sqlite")) as db, db:
            db.execute(
                "UPDATE arrays SET name = ?, dtype = ?, shape = ?, data = ?, sum = ?",
                (*row, checksum((item.id, *row))),
            )

    def read(path: Path) -> None:
        from theodolite.runs import Run

        with Run.open(path) as run:
            list(run.results(arrays=True))

    yield Bomb("array run", write, read)
