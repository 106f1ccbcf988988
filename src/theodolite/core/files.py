"""Read files that others wrote: text, JSON, JSON Lines and compressed data. Everything is bounded and checked.

A file that cannot be read raises a `UsageError`. An invalid record is skipped: `read_each` reports where
it is and what is wrong with it.

JSON is parsed strictly: NaN, Infinity, lone surrogates and more than 200 levels of nesting are rejected.
If a key occurs twice in an object, the last one counts.
"""

from __future__ import annotations

import errno
import hashlib
import io
import json
import os
import shutil
import stat
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, BinaryIO, TypeVar, cast

from theodolite.core.errors import MissingExtraError, StorageError, TheodoliteError, UsageError, reason_of
from theodolite.core.unpack import Allowance, inflate, inflated_lines, json_cost

if TYPE_CHECKING:
    from pydantic import TypeAdapter

__all__ = [
    "ALLOW_OUTSIDE",
    "LARGEST_FILE",
    "Problem",
    "adapter",
    "allow_outside",
    "check",
    "counted_problems",
    "dump",
    "fault_of",
    "file_hash",
    "inside",
    "is_there",
    "lies_inside",
    "lines_of",
    "link_or_copy",
    "open_plain",
    "parse_json",
    "read_bytes",
    "read_each",
    "read_gzip",
    "read_json",
    "read_lines",
    "read_list",
    "read_text",
    "told_problems",
    "whole_file",
    "whole_folder",
]

LARGEST_FILE = 1 << 30
"""Maximum size of a file of text or JSON, in bytes. The largest annotation file of COCO has 0.45 GB."""

ALLOW_OUTSIDE = "THEODOLITE_ALLOW_OUTSIDE"
"""The environment variable that ``--allow-outside`` sets, so that worker processes know it too."""

_MOST_TOLD = 3
_MOST_BROKEN = 50_000
"""If more records than this are broken, and more than are not, the file is another one."""
_LONGEST_REASON = 200
_HASHED = 1 << 20
_OPENED = {Path("/dev/fd"), Path("/proc/self/fd")}
"""Where a process finds the files that it was started with."""
_LINE = 400
"""What a line costs beyond its text: its place, and its problem if it has one."""
_SMALL = 1 << 20
"""Shorter JSON is not looked through for brackets: it cannot become large."""
_WIDE = {b"\xff\xfe": "UTF-16", b"\xfe\xff": "UTF-16"}
_GZIP = b"\x1f\x8b"
_MARK = b"\xef\xbb\xbf"
"""The byte order mark of UTF-8, which some editors write."""

S = TypeVar("S")
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Problem:
    """Something that could not be used, and why."""

    where: str
    """File and place: a line, or the path of a key."""
    reason: str

    def __str__(self) -> str:
        return f"{self.where}: {self.reason}"


def told_problems(problems: Sequence[Problem]) -> tuple[str, ...]:
    """Summarise in one sentence how many records were left out, with the places of the first ones. Empty if none was.

    >>> told_problems([Problem("a.jsonl, line 3", "id: Field required")])
    ('1 broken record is left out: a.jsonl, line 3: id: Field required',)
    """
    if not problems:
        return ()
    n = len(problems)
    first = "; ".join(map(str, problems[:_MOST_TOLD])) + ("; …" if n > _MOST_TOLD else "")
    return (f"{n} broken {'record is' if n == 1 else 'records are'} left out: {first}",)


def counted_problems(problems: Sequence[Problem]) -> dict[str, int]:
    """Count the records that were left out, under a reason that names the place of the first one. Empty if none was."""
    return {f"broken records, such as {problems[0]}": len(problems)} if problems else {}


def open_plain(path: Path) -> BinaryIO:
    """Open a file for reading. Devices, pipes and sockets are refused, since reading one may never end.

    A pipe that the shell made for the command, as ``<(…)`` does, is read.

    Raises:
        OSError: If it cannot be opened, or is not a plain file.
    """
    if path.parent in _OPENED and stat.S_ISFIFO(path.stat().st_mode):
        return path.open("rb")
    _check_plain(path.stat().st_mode)  # before it is opened, which may already act on a device
    descriptor = os.open(
        path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK
    )  # a pipe in its place would wait for a writer
    try:
        _check_plain(os.fstat(descriptor).st_mode)
        os.set_blocking(descriptor, True)
        return os.fdopen(descriptor, "rb")
    except BaseException:
        os.close(descriptor)
        raise


def _check_plain(mode: int) -> None:
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
    if not stat.S_ISREG(mode):
        kinds = ((stat.S_ISFIFO, "a pipe"), (stat.S_ISSOCK, "a socket"))
        kind = next((name for is_kind, name in kinds if is_kind(mode)), "a device")
        raise OSError(errno.EINVAL, f"it is not a file but {kind}")


def file_hash(path: Path, *, largest: int | None = None, seconds: float = 1800.0) -> str:
    """Return the SHA-256 of a file's content.

    Args:
        path: The file.
        largest: Maximum size in bytes.
        seconds: How long it may take: a disk that hangs should not hang the program for ever.

    Raises:
        OSError: If it cannot be read, is not a plain file, is larger, or takes longer.
    """
    digest, begun, read = hashlib.sha256(), time.monotonic(), 0
    with open_plain(path) as file:
        size = os.fstat(file.fileno()).st_size
        while piece := file.read(_HASHED):
            read += len(piece)
            if largest is not None and max(size, read) > largest:
                raise OSError(errno.EFBIG, f"it is larger than {largest >> 20} MiB")
            if time.monotonic() - begun > seconds:
                raise OSError(errno.ETIMEDOUT, f"reading it took more than {seconds:g} s")
            digest.update(piece)
    return digest.hexdigest()


def read_bytes(path: Path, what: str = "", *, largest: int = LARGEST_FILE) -> bytes:
    """Read a whole file.

    Args:
        path: The file.
        what: Its content, for the message, such as ``"annotations"``.
        largest: Maximum size in bytes.

    Raises:
        UsageError: If it cannot be read, or is larger.
    """
    try:
        data = _read_bounded(path, largest)
    except (OSError, ValueError) as error:
        raise UsageError(_unreadable(path, what, reason_of(error))) from error
    if data is None:
        raise UsageError(_unreadable(path, what, f"it is larger than {largest >> 20} MiB"))
    return data


def read_text(path: Path, what: str = "") -> str:
    """Read a whole file of UTF-8 text, with or without a byte order mark. One packed with gzip is unpacked.

    Raises:
        UsageError: If it cannot be read, or has another encoding.
    """
    data = read_bytes(path, what)
    try:
        return _decoded(_unpacked(data))
    except ValueError as error:
        raise UsageError(_unreadable(path, what, str(error))) from error


def read_json(path: Path, what: str = "") -> Any:
    """Read a JSON file.

    Raises:
        UsageError: If it cannot be read, or is not JSON.
    """
    data = read_bytes(path, what)
    try:
        return parse_json(data)
    except ValueError as error:
        raise UsageError(f"{_named(path, what)} is not JSON: {error}") from error


def read_gzip(path: Path, what: str = "") -> bytes:
    """Read a gzip file.

    Raises:
        UsageError: If it cannot be read, is not gzip, is cut off, or unpacks to more than allowed.
    """
    try:
        with open_plain(path) as file:
            return inflate(file, Allowance(os.fstat(file.fileno()).st_size))
    except (OSError, ValueError) as error:
        raise UsageError(_unreadable(path, what, reason_of(error))) from error


def parse_json(data: str | bytes, *, is_strict: bool = True) -> Any:
    """Parse JSON.

    Args:
        data: Its text.
        is_strict: False to accept NaN and infinity, and to replace lone surrogates, as the results of others have them.

    Raises:
        ValueError: If it is not JSON, or would take far more memory than its text. The message says what is wrong, and where.
    """
    plain = data.encode("utf-8", "replace") if isinstance(data, str) else data
    if plain[:2] in _WIDE:
        raise ValueError(_wide(plain))
    if not plain.strip():
        raise ValueError("it is empty")
    if len(plain) > _SMALL:
        Allowance(len(plain)).spend(json_cost(plain))
    return _strict(plain.removeprefix(_MARK)) if is_strict else _loose(_decoded(plain))


def _strict(data: bytes) -> Any:
    from pydantic_core import from_json

    try:
        return from_json(data, allow_inf_nan=False)
    except ValueError as error:
        is_deep = str(error).startswith("recursion limit")
        raise ValueError("it is nested too deeply" if is_deep else str(error)) from None


def _loose(text: str) -> Any:
    try:
        value = json.loads(text)
        if "\\u" in text:  # a lone surrogate can be escaped, but not written
            value = json.loads(json.dumps(value, ensure_ascii=False).encode("utf-8", "replace"))
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    except ValueError as error:
        raise ValueError(f"it is not JSON: {error}") from error
    return value


@cache
def adapter(form: Any) -> TypeAdapter[Any]:
    """Return the pydantic adapter for records of a type. Cached, since building one takes milliseconds."""
    from pydantic import TypeAdapter

    return TypeAdapter(form)


def check(form: type[T], value: Any, *, picture: Callable[[Any], Any] | None = None) -> T:
    """Validate a value against a type that pydantic can check: a model, a dataclass, or any other type.

    Args:
        form: The type of the record.
        value: The value as read from a file.
        picture: Function from the stored form of a picture to the picture, for records with pictures.

    Raises:
        UsageError: If the value is invalid. The message says where in the value.
    """
    from pydantic import ValidationError

    try:
        record: T = adapter(form).validate_python(value, context={"picture": picture})  # type: ignore[arg-type]  # types can be hashed
    except ValidationError as error:
        raise UsageError(fault_of(error)) from None
    return record


def dump(
    record: Any,
    form: Any = None,
    *,
    exclude_defaults: bool = False,
    picture: Callable[[Any], Any] | None = None,
) -> Any:
    """Convert a record to plain JSON values.

    Args:
        record: A dataclass or a model.
        form: Its type, if that is more specific than its class.
        exclude_defaults: Leave out fields that have their defaults.
        picture: Function that writes a picture and returns its stored form.
    """
    kind: type = form or type(record)
    failures: list[OSError] = []

    def write(shown: Any) -> Any:
        try:
            return picture(shown) if picture is not None else None
        except OSError as error:
            failures.append(error)
            raise

    from pydantic_core import PydanticSerializationError

    try:
        return adapter(kind).dump_python(
            record,
            mode="json",
            by_alias=True,
            exclude_defaults=exclude_defaults,
            context={"picture": picture and write},
        )
    except PydanticSerializationError:
        if failures:  # pydantic hides why a picture could not be written, such as a full disk
            raise failures[0] from None
        raise


def fault_of(error: Exception) -> str:
    """Describe an error in one line. Of a failed validation: the first place and what is wrong there."""
    from pydantic import ValidationError

    if isinstance(error, RecursionError):
        return "it is nested too deeply"
    if not isinstance(error, ValidationError):
        return " ".join(str(error).split())[:_LONGEST_REASON] if isinstance(error, ValueError) else str(error)
    first = error.errors(include_url=False, include_input=False)[0]
    place = _place(first["loc"])
    message = " ".join(str(first["msg"]).split())
    return (f"{place}: {message}" if place else message)[:_LONGEST_REASON]


def read_each(
    rows: Iterable[tuple[str, S]], read: Callable[[S], T]
) -> tuple[list[tuple[str, T]], list[Problem]]:
    """Read records one by one.

    Args:
        rows: The records, each with its place.
        read: Reads one record. Raises a `UsageError` or a ValueError (such as a failed validation) if it is invalid.

    Returns:
        The valid records, each with its place, and the problems of the others.

    Raises:
        UsageError: If nearly all of a great many are invalid.
    """
    records: list[tuple[str, T]] = []
    problems: list[Problem] = []
    for where, row in rows:
        try:
            records.append((where, read(row)))
        except (UsageError, ValueError, RecursionError) as error:
            problems.append(Problem(where, fault_of(error)))
            if len(problems) > max(_MOST_BROKEN, len(records)):
                raise UsageError(f"most records are broken, such as {problems[0]}") from None
    return records, problems


def read_lines(path: Path, read: Callable[[Any], T]) -> tuple[list[tuple[str, T]], list[Problem]]:
    """Read a JSON Lines file. `read` is called with the value of each line. Empty lines are skipped.

    Raises:
        UsageError: If the file cannot be read.
    """
    return read_each(lines_of(path), lambda line: read(parse_json(line)))


def read_list(value: Any, where: str, form: type[T]) -> tuple[list[tuple[str, T]], list[Problem]]:
    """Read the records of a list, or of an object by its keys.

    Args:
        value: A list or an object.
        where: Its place: a file, and the path of its key if it is part of the file.
        form: The type of a record.

    Raises:
        UsageError: If it is neither a list nor an object.
    """
    if isinstance(value, Mapping):
        rows = [(f"{where}.{key}", row) for key, row in value.items()]
    elif isinstance(value, list):
        rows = [(f"{where}[{number}]", row) for number, row in enumerate(value)]
    else:
        raise UsageError(f"{where} must be a list, not {_kind(value)}")
    return read_each(rows, lambda row: check(form, row))


def lines_of(path: Path, what: str = "") -> Iterator[tuple[str, bytes]]:
    """Yield the lines of a file that are not empty, each with its place. A file packed with gzip is unpacked.

    Raises:
        UsageError: If the file cannot be read, or its lines of JSON would take far more memory than the file.
    """
    try:
        with open_plain(path) as file:
            size = os.fstat(file.fileno()).st_size
            if size > LARGEST_FILE:
                raise UsageError(_unreadable(path, what, f"it is larger than {LARGEST_FILE >> 20} MiB"))
            allowance = Allowance(size)
            is_packed = cast("io.BufferedReader", file).peek(2)[:2] == _GZIP
            unpacked: Iterable[bytes] = inflated_lines(file, Allowance(size)) if is_packed else file
            for number, line in enumerate(unpacked, 1):
                if number == 1 and line[:2] in _WIDE:
                    raise UsageError(_unreadable(path, what, _wide(line)))
                plain = line.removeprefix(_MARK) if number == 1 else line
                if plain.strip():
                    allowance.spend(_LINE + json_cost(plain))
                    yield f"{path.name}, line {number}", plain
    except (OSError, ValueError) as error:
        raise UsageError(_unreadable(path, what, reason_of(error))) from error


def is_there(path: Path) -> bool:
    """Return True if the file exists. A name that no file can have is not an error."""
    try:
        return path.is_file()
    except (OSError, ValueError):
        return False


def link_or_copy(source: str | Path, target: str | Path) -> None:
    """Create a hard link to a file, or a copy if links are not possible."""
    try:
        Path(target).hardlink_to(Path(source).resolve())
    except OSError:
        shutil.copyfile(source, target)


@contextmanager
def allow_outside() -> Iterator[None]:
    """Let data name files anywhere within the context: what ``--allow-outside`` does."""
    before = os.environ.get(ALLOW_OUTSIDE)
    os.environ[ALLOW_OUTSIDE] = "1"
    try:
        yield
    finally:
        if before is None:
            del os.environ[ALLOW_OUTSIDE]
        else:
            os.environ[ALLOW_OUTSIDE] = before


def inside(folder: Path, name: str, what: str = "file") -> Path:
    """Return the path of a file in a folder, by a name from a data set.

    The file may be shown to a model, so neither the name nor a link may lead out of the folder, unless `allow_outside`
    says so.

    Args:
        folder: The folder. It may itself be a link.
        name: The name of the file, relative to the folder.
        what: What the file is, for the message.

    Raises:
        UsageError: If the name leads out of the folder, or cannot be the name of a file.

    >>> inside(Path("data"), "a/../b.png").as_posix()
    'data/b.png'
    """
    home = os.path.normpath(folder.absolute())
    target = os.path.normpath(os.path.join(home, name))  # noqa: PTH118 - lexical, so that ".." cannot follow a link
    is_file_name = "\0" not in name and target != home
    if is_file_name and os.environ.get(ALLOW_OUTSIDE):
        return Path(target)
    if not is_file_name or not Path(target).is_relative_to(home):
        raise UsageError(
            f"the {what} {name!r:.200} lies outside {folder}; move it there, or add --allow-outside"
        )
    if not lies_inside(Path(target), folder):
        raise UsageError(
            f"the {what} {name!r:.200} is a link that leads out of {folder}; move the file there, or add --allow-outside"
        )
    return folder / Path(target).relative_to(home)


def lies_inside(path: Path, *folders: Path) -> bool:
    """Return True if a file really lies in one of the folders, wherever links lead, or if `allow_outside` says that it need not."""
    real = Path(os.path.realpath(path))
    homes = (os.path.realpath(folder) for folder in folders)
    return bool(os.environ.get(ALLOW_OUTSIDE)) or any(real.is_relative_to(home) for home in homes)


def _read_bounded(path: Path, largest: int) -> bytes | None:
    """Return the content of a file, even if its size is not known in advance. None if it is larger."""
    with open_plain(path) as file:
        size = os.fstat(file.fileno()).st_size
        data = file.read(size + 1) if size <= largest else b""
        while size <= largest and len(data) <= largest and (more := file.read(1 << 20)):
            data += more
    return None if max(size, len(data)) > largest else data


def _unpacked(data: bytes) -> bytes:
    """Unpack what gzip packed; return anything else as it is."""
    return inflate(io.BytesIO(data), Allowance(len(data))) if data[:2] == _GZIP else data


def _decoded(data: bytes) -> str:
    if data[:2] in _WIDE:
        raise ValueError(_wide(data))
    try:
        return data.removeprefix(_MARK).decode()
    except UnicodeDecodeError as error:
        raise ValueError(f"it is not UTF-8 text (byte {error.start})") from error


def _wide(data: bytes) -> str:
    return f"it is {_WIDE[data[:2]]} text; save it as UTF-8"


def _named(path: Path, what: str) -> str:
    return f"the {what} {path}" if what else str(path)


def _unreadable(path: Path, what: str, reason: str) -> str:
    return f"cannot read {_named(path, what)}: {reason}"


def _kind(value: Any) -> str:
    kinds: dict[type, str] = {dict: "an object", list: "a list", str: "text", bool: "true or false"}
    if value is None:
        return "null"
    return next((name for kind, name in kinds.items() if isinstance(value, kind)), "a number")


def _place(parts: Sequence[str | int]) -> str:
    """Return the place of a fault, without the names of internal classes.

    >>> _place(("steps", 0, "_WrittenStep", "text")), _place(("steps", 1, "str"))
    ('steps.0.text', 'steps.1')
    """
    return ".".join(
        str(part)[:80] for part in parts if part not in {"str", "int"} and not str(part).startswith("_")
    )


# Data sets are written whole or not at all.


@contextmanager
def whole_file(path: Path) -> Iterator[Path]:
    """Yield the path of a draft that takes the file's place once the block ends without an error: never a part of it."""
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        yield draft
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)


@contextmanager
def whole_folder(folder: Path) -> Iterator[Path]:
    """Yield a temporary path for a new data set. It becomes `folder` if the block ends without an error.

    An interrupted command leaves nothing under that name and can be repeated. A killed process leaves a hidden folder
    beside it.

    Raises:
        UsageError: If the folder exists and is not empty.
        StorageError: If it cannot be written.
    """
    try:
        if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
            raise UsageError(f"{folder} is not empty; choose another --out, a new folder for the data set")
        folder.parent.mkdir(parents=True, exist_ok=True)
        scratch = TemporaryDirectory(prefix=f".{folder.name}.", dir=folder.parent)
    except OSError as error:
        raise StorageError(f"cannot write into {folder}: {reason_of(error)}; choose another --out") from error
    with scratch:
        unfinished = Path(scratch.name) / folder.name
        try:
            yield unfinished
        except MissingExtraError:
            raise
        except TheodoliteError as error:
            raise type(error)(str(error).replace(str(unfinished), str(folder))) from error
        try:
            unfinished.rename(folder)  # takes the place of an empty folder
        except OSError as error:
            raise StorageError(
                f"cannot write {folder}: {reason_of(error)}; another command may have written there meanwhile"
            ) from error
