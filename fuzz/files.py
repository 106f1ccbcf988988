"""Damaged files to every reader: a small valid file of each format is changed, and read by its real reader.

Changes know the structure: keys are dropped, doubled and renamed, values get other types, extreme numbers and hostile names,
lists are nested, archives are packed again; and they do not: bytes are flipped, cut off and inserted, text is encoded
otherwise, and files are replaced by folders and links. A reader must give a result or one of the project's own errors, in time,
in little memory, and write into its output folder only.
"""

from __future__ import annotations

import copy
import gzip
import io
import json
import os
import random
import shutil
import socket
import struct
import tempfile
import time
import warnings
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import chdir
from pathlib import Path
from typing import Any

from fuzz.formats import Format, formats
from fuzz.tally import Tally, attempt
from theodolite.core.errors import TheodoliteError

_SECONDS = 2.0
_DEEP = "@deep@"
_NUMBERS = (
    *(
        0,
        -1,
        1,
        2,
        0.5,
        -0.0,
        1e-320,
        1e300,
        -1e300,
        1e308,
        2**31,
        2**53 + 1,
        2**63,
        -(2**63),
        10**25,
        10**400,
    ),
    *(
        "@1e999@",
        "@-1e999@",
        "@NaN@",
        "@Infinity@",
        "@-Infinity@",
        "@1e99999@",
        "@0x10@",
        "@01@",
        "@.5@",
        "@9" + "9" * 5000 + "@",
    ),
)
"""Numbers, and between @ what is written without quotation marks."""
_OTHERS = (
    None,
    True,
    False,
    "",
    " ",
    "a",
    "0",
    "nan",
    "inf",
    "1e999",
    "-1",
    "９",
    [],
    {},
    [[]],
    [None],
    {"": None},
    {"a": {"a": []}},
    _DEEP,
)
_ODD = (
    "\x00",
    "a\x00b",
    "\ud800",
    "\udfff\ud800",
    "é\u2028\u2029\x85",
    "\u202e",
    "A" * 5000,
    "A" * 300,
    "(" * 60,
    "%s%n{0}",
    "<b>&'\"",
)
_SUFFIXES = {".json", ".jsonl"}


def run(seed: int, count: int, seconds: float | None = None) -> Tally:
    """Read damaged files until `count` inputs were tried or `seconds` have passed."""
    tally = Tally()
    begun = time.monotonic()
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        home = Path(folder).resolve()
        known = formats(_new(home / "made"))
        shutil.rmtree(home / "made")
        desk = _Desk(home)
        with chdir(desk.work):
            for number in range(count):
                if seconds is not None and time.monotonic() - begun > seconds:
                    break
                desk.read(tally, known[number % len(known)], f"{seed}/{number}")
    return tally


def repeat(place: str, keep: Path) -> None:
    """Read one damaged file again, without catching anything, and keep its folder.

    Args:
        place: The input as the tally's examples name it: ``format seed/number``.
        keep: An empty folder.
    """
    name, _, which = place.rpartition(" ")
    made = _new(keep / "made")
    form = next(form for form in formats(made) if form.name == name)
    desk = _Desk(keep.resolve())
    desk.prepare(form, random.Random(f"files/{which}"))
    form.read(desk.input, desk.out)


class _Desk:
    """Folders for one input at a time, nested deeply enough that names with several ``..`` stay inside."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.work = _new(home / "watched" / "a" / "b" / "c")
        self.input, self.out = self.work / "input", self.work / "out"
        _new(self.input)
        (self.work / "elsewhere").touch()

    def read(self, tally: Tally, form: Format, which: str) -> None:
        """Prepare an input and read it."""
        case = f"{form.name} {which}"
        self.prepare(form, random.Random(f"files/{which}"))
        before = self._state()
        attempt(
            tally,
            case,
            lambda: form.read(self.input, self.out),
            promised=(TheodoliteError,),
            seconds=_SECONDS,
        )
        after = self._state()
        if after != before:
            tally.add("stray_writes", f"{case}: {sorted(after ^ before)[:3]}")

    def prepare(self, form: Format, rng: random.Random) -> None:
        """Write the files of a format, one of them damaged."""
        for folder in (self.input, self.out):
            shutil.rmtree(folder, ignore_errors=True)
        chosen = rng.choice([name for name in form.files if name not in form.fixed])
        names = (
            f"../{self.input.name}/{chosen}",
            str(self.home / "absolute" / "x"),
            "../../x",
            "../" * 9 + "x",
            "/dev/null/x",
            ".",
            "..",
        )
        for name, content in form.files.items():
            path = self.input / name
            path.parent.mkdir(parents=True, exist_ok=True)
            if name != chosen:
                path.write_bytes(content)
            elif rng.random() < 0.03:
                _replace(path, content, rng, self.work)
            else:
                path.write_bytes(damaged(name, content, rng, names))

    def _state(self) -> set[tuple[str, int]]:
        """Return every file in sight but the output, with its time of writing."""
        state = set()
        for folder, folders, files in os.walk(self.home):
            if self.out.name in folders and folder == str(self.work):
                folders.remove(self.out.name)
            state |= {(f"{folder}/{name}", 0) for name in folders}
            state |= {(path, os.lstat(path).st_mtime_ns) for path in (f"{folder}/{name}" for name in files)}
        return state


def _new(folder: Path) -> Path:
    folder.mkdir(parents=True)
    return folder


def _replace(path: Path, content: bytes, rng: random.Random, work: Path) -> None:
    """Replace a file by a folder, a link, a pipe, a device or the like."""
    elsewhere = work / "elsewhere"
    elsewhere.write_bytes(content)
    kind = rng.randrange(8)
    if kind == 0:
        path.mkdir()
    elif kind == 1:
        path.symlink_to(path.name)
    elif kind == 2:
        path.symlink_to(elsewhere)
    elif kind == 3:
        path.symlink_to(work / "gone")
    elif kind == 4:
        os.mkfifo(path)
    elif kind == 5:
        path.symlink_to(rng.choice(("/dev/zero", "/dev/tty", "/proc/self/mem")))
    elif kind == 6:
        with socket.socket(socket.AF_UNIX) as listening, chdir(path.parent):
            listening.bind(path.name)


def damaged(name: str, content: bytes, rng: random.Random, names: tuple[str, ...]) -> bytes:
    """Return the content of a file with one to four changes."""
    suffix = Path(name).suffix
    structured: Callable[[bytes, random.Random, tuple[str, ...]], bytes] | None = None
    if suffix in _SUFFIXES:
        structured = _json_lines if suffix == ".jsonl" else _json_file
    elif suffix == ".gz":
        structured = _gzip_file
    elif suffix in {".eval", ".xlsx"}:
        structured = _zip_file
    elif suffix in {".txt", ".csv", ".tsv", ".ply"}:
        structured = _words
    elif suffix == ".png":
        structured = _png
    if structured is not None and rng.random() < 0.75:
        content = structured(content, rng, names)
    if structured is None or rng.random() < 0.25:
        content = _bytes(content, rng)
    return content


# Changes that know the structure


def _json_lines(content: bytes, rng: random.Random, names: tuple[str, ...]) -> bytes:
    lines = content.splitlines()
    index = rng.randrange(len(lines))
    lines[index] = _json_file(lines[index], rng, names)
    if rng.random() < 0.2:
        lines.insert(
            rng.randrange(len(lines) + 1), rng.choice((b"", b"{", b"null", b"[]", b"\xff", lines[index]))
        )
    return rng.choice((b"\n", b"\n", b"\r\n")).join(lines)


def _json_file(content: bytes, rng: random.Random, names: tuple[str, ...]) -> bytes:
    value = json.loads(content)
    for _ in range(rng.choice((1, 1, 1, 2, 4))):
        value = _changed(value, rng, names)
    text = json.dumps(value, ensure_ascii=rng.random() < 0.8)
    if _DEEP in text:
        depth = rng.choice((5, 150, 250, 900, 20_000))
        opened, closed = rng.choice((("[", "]"), ('{"a":', "}")))
        text = text.replace(f'"{_DEEP}"', opened * depth + "1" + closed * depth)
    if rng.random() < 0.05 and '":' in text:
        key = rng.choice([part.rpartition('"')[2] for part in text.split('":')[:-1]])
        text = text.replace(f'"{key}":', f'"{key}": {rng.choice(("null", "1", "[]"))}, "{key}":', 1)
    pieces = text.split('"@')
    text = pieces[0] + "".join(
        piece.replace('@"', "", 1) if '@"' in piece else f'"@{piece}' for piece in pieces[1:]
    )
    return text.encode("utf-8", "surrogatepass")


def _changed(value: Any, rng: random.Random, names: tuple[str, ...]) -> Any:
    """Return a JSON value with one change somewhere in it."""
    positions = list(_places(value))
    holder, key = rng.choice(positions) if positions else (None, None)
    if holder is None or rng.random() < 0.02:
        return copy.deepcopy(rng.choice((*_OTHERS, [value], {"a": value})))
    _edit(holder, key, rng, names, positions)
    try:
        return json.loads(json.dumps(value))  # without parts that it has twice
    except ValueError:
        return None  # it contains itself


def _edit(  # noqa: C901 - one branch for each kind of change
    holder: Any, key: Any, rng: random.Random, names: tuple[str, ...], positions: list[tuple[Any, Any]]
) -> None:
    """Change the value at one position."""
    kind = rng.randrange(9)
    if kind == 0:
        del holder[key]
    elif kind == 1:
        holder[key] = rng.choice(_NUMBERS)
    elif kind == 2:
        holder[key] = copy.deepcopy(rng.choice(_OTHERS))
    elif kind == 3:
        holder[key] = rng.choice((*_ODD, *names))
    elif kind == 4:
        other, other_key = rng.choice(positions)
        holder[key], other[other_key] = other[other_key], holder[key]
    elif kind == 5:
        holder[key] = rng.choice(
            ([holder[key]], {"a": holder[key]}, [holder[key]] * 3, str(holder[key])[:200])
        )
    elif kind == 6 and isinstance(holder, dict):
        holder[rng.choice((*_ODD, *names, "", str(key) + "x", str(key).upper()))] = holder.pop(key)
    elif kind == 7 and isinstance(holder, list):
        holder.insert(rng.randrange(len(holder) + 1), holder[key])
    elif isinstance(holder[key], list | dict):
        holder[key].clear()
    elif isinstance(holder[key], str):
        text = holder[key]
        holder[key] = rng.choice((text[: len(text) // 2], text * 3, text + rng.choice(_ODD), text[::-1]))
    else:
        holder[key] = rng.choice(_NUMBERS)


def _places(value: Any) -> Iterator[tuple[Any, Any]]:
    """Yield every position in a value, as the container and the key."""
    waiting, n = [value], 0
    while waiting and n < 4000:
        holder = waiting.pop()
        keys = (
            list(holder)
            if isinstance(holder, dict)
            else range(len(holder))
            if isinstance(holder, list)
            else ()
        )
        for key in keys:
            n += 1
            yield holder, key
            if isinstance(holder[key], dict | list):
                waiting.append(holder[key])


def _gzip_file(content: bytes, rng: random.Random, names: tuple[str, ...]) -> bytes:
    if rng.random() < 0.1:
        return gzip.compress(rng.choice((b"", b"\n", b" " * 3_000_000, b"[" * 100_000)))
    inner = gzip.decompress(content)
    change = _json_lines if inner.count(b"\n") > 1 else _json_file
    return gzip.compress(change(inner, rng, names), 1)


def _zip_file(content: bytes, rng: random.Random, names: tuple[str, ...]) -> bytes:
    packed = io.BytesIO()
    method = rng.choice((zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA))
    with zipfile.ZipFile(io.BytesIO(content)) as before, zipfile.ZipFile(packed, "w", method) as after:
        for name in before.namelist():
            inner = before.read(name)
            if rng.random() < 0.5:
                change = _words if name.endswith(".xml") else _json_file
                inner = change(inner, rng, names) if rng.random() < 0.8 else _bytes(inner, rng)
            after.writestr(
                rng.choice((name, name, name, name, "samples/../../x.json", f"samples{names[1]}.json")), inner
            )
    return packed.getvalue()


def _words(content: bytes, rng: random.Random, names: tuple[str, ...]) -> bytes:
    text = content.decode("latin-1")
    cut = rng.choice((" ", "\n", ",", "\t", "\r\n", ">", '"'))
    words = text.split(cut)
    for _ in range(rng.choice((1, 1, 2, 5))):
        index = rng.randrange(len(words))
        kind = rng.randrange(4)
        if kind == 0 and len(words) > 1:
            del words[index]
        elif kind == 1:
            words.insert(index, words[index])
        else:
            words[index] = str(
                rng.choice((*_NUMBERS, *_ODD, *names, "", "nan", "-", "1,5", "1e400", '"', "'"))
            ).strip("@")
    return (
        cut.join(words).encode("latin-1", "replace")
        if rng.random() < 0.5
        else cut.join(words).encode("utf-8", "replace")
    )


def _png(content: bytes, rng: random.Random, _: tuple[str, ...]) -> bytes:
    """Write other sizes and kinds into the header, with a correct checksum."""
    sides = (0, 1, 24, 80, 7999, 8001, 12_000, 30_000, 65_535, 2**31 - 1)
    header = struct.pack(">II", rng.choice(sides), rng.choice(sides)) + bytes(
        (rng.choice((1, 2, 4, 8, 16)), rng.choice((0, 2, 3, 4, 6)), 0, 0, rng.choice((0, 1)))
    )
    chunk = b"IHDR" + header
    return content[:12] + chunk + struct.pack(">I", zlib.crc32(chunk)) + content[33:]


# Changes that do not


def _bytes(content: bytes, rng: random.Random) -> bytes:
    data = bytearray(content)
    kind = rng.randrange(8)
    if kind == 0:
        return bytes(data[: rng.randrange(len(data) + 1)])
    if kind == 1 or not data:
        return rng.choice((b"", b"\n", b"\x00" * 40, b"\xef\xbb\xbf" + content, b"null", b"[]", b"{}"))
    if kind == 2:
        text = content.decode("utf-8", "replace")
        return text.encode(rng.choice(("utf-16", "utf-16-le", "utf-32", "utf-8-sig", "utf-7")), "replace")
    if kind == 3:
        offset = rng.randrange(len(data))
        data[offset:offset] = rng.randbytes(rng.choice((1, 4, 200)))
        return bytes(data)
    if kind == 4:
        a, b = sorted((rng.randrange(len(data)), rng.randrange(len(data))))
        return bytes(data[:a] + data[b:])
    for _ in range(rng.choice((1, 1, 3, 20))):
        data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
    return bytes(data)
