"""Read rows of questions and answers from data sets and evaluations, with their various field names.

Files may be JSON, JSON lines (under any ending), CSV, TSV, Parquet or Excel, also packed with gzip. ``layouts.toml`` declares the
accepted field names, and the layouts of evaluations whose rows need more than names.
"""

from __future__ import annotations

import csv
import io
import math
import os
import re
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib import resources
from itertools import pairwise
from pathlib import Path, PurePosixPath
from typing import Any, BinaryIO, Generic, Literal, TypeAlias, TypeVar, get_args
from urllib.parse import parse_qsl
from xml.etree.ElementTree import ParseError, XMLParser

from theodolite.core.errors import UsageError, reason_of
from theodolite.core.files import Problem, fault_of, lines_of, open_plain, parse_json, read_each, read_text
from theodolite.core.unpack import Allowance, inflate, open_archive
from theodolite.models.parquet import parquet_rows

__all__ = [
    "BINARY_SUFFIXES",
    "NAMES",
    "PLACE",
    "PLACEHOLDER",
    "SUFFIXES",
    "NameIndex",
    "Role",
    "Row",
    "arranged",
    "chosen_rows",
    "fields_of",
    "first",
    "holds_answer",
    "naming",
    "picture_name",
    "plain_words",
    "read_rows",
    "split_options",
    "suffix_of",
    "values",
    "with_places",
]


Row: TypeAlias = dict[str, Any]
Role: TypeAlias = Literal[
    "id", "picture", "question", "statement", "options", "captions", "truth", "response", "reasoning", "group"
]

_DECLARED = tomllib.loads(resources.files(__package__).joinpath("layouts.toml").read_text("utf-8"))
NAMES: Mapping[Role, tuple[str, ...]] = {role: tuple(names) for role, names in _DECLARED["names"].items()}
"""Accepted field names, by what they hold. The first one that a row has is used. They are declared in ``layouts.toml``."""
PLACEHOLDER = re.compile(r"<image>|<image_?\d+>|<\|?image[^>]*\|?>")
"""Matches the placeholders of pictures in a prompt."""

PACKED = ".gz"
"""Follows the ending of a file that is packed with gzip."""
SUFFIXES = (".jsonl", ".json", ".csv", ".tsv")
BINARY_SUFFIXES = (".parquet", ".xlsx")
"""Tables that are not text; a recording may be one."""
_LISTS = (
    *("questions", "annotations", "data", "rows", "items", "samples", "results", "examples", "instances"),
    *("entries", "predictions", "val", "test"),
)
"""Fields of a JSON object that hold its rows."""
_TURNS = ("conversations", "conversation", "messages")
_MOST_SHOWN = 8
"""Values of a field that a message names."""
_LARGEST_CELL = 1 << 28
"""Maximum size of a cell of a CSV file, which may hold an encoded picture."""
_ROW, _CELL, _ELEMENT = 240, 64, 40
"""What a row, a cell beyond its text, and an element of XML take in memory, in bytes."""


def read_rows(path: Path, problems: list[Problem]) -> list[Row]:
    """Read the rows of a file. Conversations become one row for each question with its answer.

    Args:
        path: The file.
        problems: Problems of broken rows are appended here. The rows are left out.

    A JSON file holds a list of objects, an object by id, or an object with such a list under a name such as ``questions``,
    ``annotations`` or ``data``; or one object in each line. Fields of an object under ``doc`` (lmms-eval) count as fields of the row.

    Raises:
        UsageError: If the file cannot be read, or holds no objects.
    """
    try:
        records, wrong = _READERS.get(suffix_of(path), _json)(path)
        rows = [row for record in records for turn in _turns(record) for row in arranged(turn)]
    except (OSError, ValueError, RecursionError, csv.Error) as error:
        reason = reason_of(error) if isinstance(error, OSError) else fault_of(error)
        raise UsageError(f"cannot read {path}: {reason}") from error
    if not rows:
        raise UsageError(f"{path} has no rows" + (f": {wrong[0]}" if wrong else ""))
    problems += wrong
    return rows


def _packed(
    read: Callable[[BinaryIO, Allowance], list[Row]],
) -> Callable[[Path], tuple[list[Row], list[Problem]]]:
    """Return a reader of a packed file, which may become only so much larger in memory."""

    def rows(path: Path) -> tuple[list[Row], list[Problem]]:
        with open_plain(path) as file:
            allowance = Allowance(os.fstat(file.fileno()).st_size)
            is_packed = path.suffix == PACKED
            return read(io.BytesIO(inflate(file, allowance)) if is_packed else file, allowance), []

    return rows


def _csv(path: Path) -> tuple[list[Row], list[Problem]]:
    csv.field_size_limit(_LARGEST_CELL)
    text = read_text(path).lstrip("\r\n")
    head = text.partition("\n")[0]
    delimiter = "\t" if suffix_of(path) == ".tsv" else max(",;\t", key=head.count)
    lines = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
    allowance = Allowance(len(text))
    names = next(lines, [])
    rows = []
    for cells in filter(None, lines):
        allowance.spend(_ROW + sum(_CELL + len(cell) for cell in cells))
        rows.append(dict(zip(names, cells, strict=False)))
    return rows, []


def _json(path: Path) -> tuple[list[Row], list[Problem]]:
    if _has_lines(path):
        records, problems = read_each(lines_of(path), lambda line: _object(parse_json(line, is_strict=False)))
    else:
        value = parse_json(read_text(path), is_strict=False)
        value = _rows_of(value) if isinstance(value, dict) else value
        if not isinstance(value, list):
            raise ValueError("the file is no list and no object")
        rows = [(f"{path.name}, entry {number}", row) for number, row in enumerate(value, 1)]
        records, problems = read_each(rows, _object)
    return [row for _, row in records], problems


def _has_lines(path: Path) -> bool:
    """Return True if each line of a file is an object, whatever its name says: POPE names such files ``.json``."""
    if suffix_of(path) == ".jsonl":
        return True
    lines = lines_of(path)
    first, second = next(lines, None), next(lines, None)
    if first is None or second is None:
        return False
    try:
        return isinstance(parse_json(first[1], is_strict=False), dict)
    except ValueError:
        return False


def _object(value: Any) -> Row:
    if not isinstance(value, dict):
        raise UsageError("it is not an object")
    inner = value.get("doc")
    return {**inner, **value} if isinstance(inner, dict) else value


def _rows_of(value: Row) -> list[Any]:
    """Return the rows of a JSON object: a list in it, its values by id, or itself."""
    for name in _LISTS:
        if isinstance(value.get(name), list):
            return list(value[name])
    if value and all(isinstance(fields, dict) for fields in value.values()):
        return [{"id": key, **fields} for key, fields in value.items()]
    return [value]


def _turns(row: Row) -> Iterator[Row]:
    """Yield a row for each question of a conversation with the answer that follows. Other rows are unchanged."""
    turns = next((row[name] for name in _TURNS if isinstance(row.get(name), list)), None)
    if turns is None:
        yield row
        return
    messages = [(_speaker(turn), _turn_text(turn)) for turn in turns if isinstance(turn, dict)]
    pairs = [(a[1], b[1]) for a, b in pairwise(messages) if (a[0], b[0]) == ("user", "model")]
    name = first(row, "id")
    for number, (question, answer) in enumerate(pairs, 1):
        own = name if len(pairs) == 1 or name is None else f"{name}#{number}"
        kept = {key: value for key, value in row.items() if key not in _TURNS}
        yield {**kept, "id": own, "question": plain_words(question), "answer": answer}


def _speaker(turn: Mapping[str, Any]) -> str:
    name = str(turn.get("from") or turn.get("role") or "").casefold()
    return {"human": "user", "user": "user", "gpt": "model", "assistant": "model"}.get(name, "")


def _turn_text(turn: Mapping[str, Any]) -> str:
    content = turn.get("value", turn.get("content", ""))
    if isinstance(content, list):
        return "\n".join(str(part.get("text", "")) for part in content if isinstance(part, dict))
    return str(content)


def plain_words(text: str) -> str:
    """Return text without placeholders of pictures and outer space."""
    return PLACEHOLDER.sub(" ", text).strip()


def suffix_of(path: Path) -> str:
    """Return the ending of a file's name that tells its form.

    >>> suffix_of(Path("answers.jsonl.gz")), suffix_of(Path("answers.csv"))
    ('.jsonl', '.csv')
    """
    return Path(path.stem).suffix if path.suffix == PACKED else path.suffix


# Layouts that need more than names.


@dataclass(frozen=True, slots=True)
class _Source:
    """Where a layout finds a value."""

    field: str = ""
    part: str = ""
    values: Mapping[str, str] | None = None
    join: Sequence[str] = ()
    all: Sequence[str] = ()
    always: Any = None

    @classmethod
    def of(cls, declared: str | Mapping[str, Any]) -> _Source:
        """Read a declared source."""
        if isinstance(declared, str):
            return cls(declared)
        return cls(**{"always" if name == "is" else name: value for name, value in declared.items()})

    def value(self, known: Mapping[str, Any]) -> Any:
        """Return the value for a row, given by plain names. None if there is none."""
        if self.join:
            parts = [known.get(_plain(name)) for name in self.join]
            return None if all(map(_is_empty, parts)) else "-".join(map(str, parts))
        if self.all:
            return [known[name] for name in map(_plain, self.all) if not _is_empty(known.get(name))]
        found = known.get(_plain(self.field)) if self.field else self.always
        if self.part:
            match = re.search(self.part, str(found))
            found = match[1] if match else None
        return found if self.values is None else self.values.get(str(found).strip())


@dataclass(frozen=True, slots=True)
class _Layout:
    has: frozenset[str]
    sources: Mapping[str, _Source]
    each: Sequence[Mapping[str, _Source]]

    @classmethod
    def of(cls, declared: Mapping[str, Any]) -> _Layout:
        """Read a declared layout."""

        def sources(some: Mapping[str, Any]) -> dict[str, _Source]:
            return {NAMES[role][0]: _Source.of(some[role]) for role in get_args(Role) if role in some}

        each = [sources(entry) for entry in declared.get("each", ())]
        return cls(frozenset(map(_plain, declared["has"])), sources(declared), each or [{}])

    def rows(self, row: Row) -> Iterator[Row]:
        """Yield the rows that a row stands for."""
        known = {_plain(name): value for name, value in row.items()}
        for number, entry in enumerate(self.each, 1):
            found = {name: source.value(known) for name, source in {**self.sources, **entry}.items()}
            if len(self.each) > 1:
                picture = NAMES["picture"][0]
                if _is_empty(found.get(picture)):
                    found[picture] = f"{found['id']} {entry[picture].field}"
                found["id"] = f"{found['id']}-{number}"
            yield {**row, **found}


def arranged(row: Row) -> Iterator[Row]:
    """Yield the rows that a row stands for, with our own names of fields where it has a declared layout.

    >>> row = {"Index": 7, "Question_0": "Is it open?", "Question_1": "Is it red?", "Image_0_Question_0": "Yes"}
    >>> row |= {"Image_1_Question_0": "No", "Image_0_Question_1": "No", "Image_1_Question_1": "Yes"}
    >>> [(each["id"], each["picture"], each["question"], each["truth"]) for each in arranged(row)][:2]
    [('7-1', '7 Image_0', 'Is it open?', 'Yes'), ('7-2', '7 Image_1', 'Is it open?', 'No')]
    """
    layout = _layout_of(tuple(row))
    return iter([row]) if layout is None else layout.rows(row)


@lru_cache(maxsize=64)
def _layout_of(names: tuple[str, ...]) -> _Layout | None:
    known = frozenset(map(_plain, names))
    return next((layout for layout in _layouts() if layout.has <= known), None)


@lru_cache(maxsize=1)
def _layouts() -> tuple[_Layout, ...]:
    return tuple(map(_Layout.of, _DECLARED["layout"]))


_LONGEST_NAME = 1000
"""A longer text is an encoded picture."""


def picture_name(row: Row, *, field: str = "") -> str:
    """Return the name of the first picture of a row. Empty if it has none, or embeds it."""
    for value in values(row, "picture", field=field):
        entry = value[0] if isinstance(value, list) else value
        if isinstance(entry, dict):
            entry = entry.get("path") or entry.get("file_name") or ""
        if isinstance(entry, str | int) and 0 < len(str(entry)) <= _LONGEST_NAME:
            return str(entry)
    return ""


PLACE = "#"
"""The field that `with_places` adds."""


def with_places(rows: Iterable[Row]) -> list[Row]:
    """Add what stands for the picture to each row that has no field for one: the row's own id, or its number.

    Evaluations often leave pictures out of their logs. Two rows with the same question and different right answers are about two
    pictures, whatever these are called.

    >>> [row[PLACE] for row in with_places([{"id": "a/1"}, {"question": "Where?"}])]
    ['#a-1', '#2']
    """
    placed = []
    for number, row in enumerate(rows, 1):
        if not _PICTURE_NAMES.isdisjoint(map(_plain, row)):
            placed.append(row)
            continue
        own = row.get("doc_id", first(row, "id"))
        placed.append({**row, PLACE: "#" + re.sub(r"[/\\]", "-", str(number if own is None else own))})
    return placed


def fields_of(rows: Sequence[Row]) -> tuple[str, ...]:
    """Return all field names of the first rows, in order."""
    return tuple(dict.fromkeys(name for row in rows[:100] for name in row if name != PLACE))


def split_options(path: Path) -> tuple[Path, dict[str, str]]:
    """Split ``FILE?name=value&name=value`` into the file and its options, which name fields or choose rows.

    >>> split_options(Path("quiz.csv?picture=photo&split=test"))
    (PosixPath('quiz.csv'), {'picture': 'photo', 'split': 'test'})

    Raises:
        UsageError: If the options are malformed.
    """
    name, mark, query = str(path).partition("?")
    if not mark or path.exists():
        return path, {}
    try:
        return Path(name), dict(parse_qsl(query, keep_blank_values=True, strict_parsing=True))
    except ValueError:
        raise UsageError(f"the options of {str(path)!r} must be written ?name=value&name=value") from None


def naming(path: Path) -> str:
    """Say how to name the fields of a file of questions."""
    file = split_options(path)[0]
    return f'name your own, as in --data "{file}?picture=FIELD&question=FIELD&answer=FIELD"'


def chosen_rows(
    rows: Sequence[Row], options: Mapping[str, str], roles: Mapping[str, Role], path: Path
) -> list[Row]:
    """Return the rows that options choose by the value of a field.

    Args:
        rows: All rows.
        options: The names of fields by what they hold, one of `roles`, or values by the name of another field.
        roles: The roles for which a field can be named.
        path: The file, for messages.

    Raises:
        UsageError: If there is no such field, or no such row.
    """
    known = fields_of(rows)
    for name, field in options.items():
        if (field if name in roles else name) not in known:
            wanted = field if name in roles else name
            raise UsageError(
                f"{path} has no field {wanted!r}; it has: {', '.join(known)} (options name fields as {'=, '.join(roles)}=, "
                "or choose rows by the value of a field)"
            )
    chosen = list(rows)
    for name, value in options.items():
        if name in roles:
            continue
        there = list(dict.fromkeys(str(row.get(name)) for row in chosen))
        chosen = [row for row in chosen if str(row.get(name)) == value]
        if not chosen:
            more = " …" if len(there) > _MOST_SHOWN else ""
            raise UsageError(
                f"no row of {path} has {name}={value}; there are: {', '.join(there[:_MOST_SHOWN])}{more}"
            )
    return chosen


def values(row: Mapping[str, Any], role: Role, *, field: str = "") -> Iterator[Any]:
    """Yield what a row holds in a role, best first. Empty values are left out.

    Args:
        row: A row.
        role: What is looked for.
        field: The name of the field, if it was given.

    >>> list(values({"Image ID": 7, "image": "", "img": "a.png"}, "picture"))
    ['a.png', 7]
    """
    known = {_plain(name): value for name, value in reversed(list(row.items()))}
    for name in (field,) if field else NAMES[role]:
        value = row.get(name) if name in row else known.get(_plain(name))
        if not _is_empty(value):
            yield value


def holds_answer(row: Mapping[str, Any]) -> bool:
    """Return True if a row has a recorded answer, in a field of its own.

    >>> holds_answer({"question": "Where?", "answer": "left"}), holds_answer({"truth": "left", "answer": "left"})
    (False, True)
    """
    known = {_plain(name) for name, value in row.items() if not _is_empty(value)}
    asked, right, said = (
        [name for name in map(_plain, NAMES[role]) if name in known]
        for role in ("question", "truth", "response")
    )
    return bool(set(said) - set(asked[:1]) - set(right[:1]))


def first(row: Mapping[str, Any], role: Role, *, field: str = "") -> Any:
    """Return the best value of a role, or None."""
    return next(values(row, role, field=field), None)


@lru_cache(maxsize=1024)
def _plain(name: str) -> str:
    return re.sub(r"[\W_]+", "", name).casefold()


_PICTURE_NAMES = frozenset(map(_plain, NAMES["picture"]))


def _is_empty(value: Any) -> bool:
    if isinstance(value, float):
        return math.isnan(value)
    return value is None or (isinstance(value, str) and not value.strip()) or value in ([], {})


T = TypeVar("T")


class NameIndex(Generic[T]):
    """Values by the name of a picture, which may be written as a path, a file name, a stem or a number.

    >>> index = NameIndex([("val2014/COCO_val2014_000000000042.jpg", "found")])
    >>> [index.find(name) for name in ("000000000042.jpg", "42", "43")]
    [['found'], ['found'], []]
    """

    def __init__(self, entries: Sequence[tuple[str, T]]) -> None:
        self._found: dict[tuple[str, str], list[tuple[tuple[str, ...], T]]] = {}
        for name, value in entries:
            parts = _parts(name)
            for key in _keys(parts):
                self._found.setdefault(key, []).append((parts, value))

    def find(self, name: str) -> list[T]:
        """Return the values whose name matches best: all with the longest common end of the path."""
        parts = _parts(name)
        candidates = next((self._found[key] for key in _keys(parts) if key in self._found), [])
        common = [_common_end(parts, other) for other, _ in candidates]
        return [value for (_, value), n in zip(candidates, common, strict=True) if n == max(common)]


def _parts(name: str) -> tuple[str, ...]:
    name = name.partition("?")[0] if "://" in name else name
    return tuple(
        part for part in PurePosixPath(name.replace("\\", "/")).parts if part not in {"/", ".", ".."}
    )


def _keys(parts: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    """Yield the keys of a name, the most exact first."""
    if not parts:
        return
    name = parts[-1].casefold()
    stem = name.rpartition(".")[0] if re.search(r"\.[a-z]{3,4}$", name) else name
    yield "name", name
    yield "stem", stem
    number = re.search(r"^\d+$|(?<=[_-])\d{6,}$", stem)
    if number:
        yield "number", number[0].lstrip("0")


def _common_end(left: Sequence[str], right: Sequence[str]) -> int:
    pairs = zip(reversed(left), reversed(right), strict=False)
    return next((n for n, (a, b) in enumerate(pairs) if a != b), min(len(left), len(right)))


# Rows of an Excel workbook (``.xlsx``), as VLMEvalKit writes its results: the first sheet, with names in its first row.


_SHEET = "xl/worksheets/sheet1.xml"
_STRINGS = "xl/sharedStrings.xml"
_ESCAPED = re.compile(r"_x([0-9A-Fa-f]{4})_")
"""How a workbook writes characters that XML cannot hold."""
_FED = 1 << 16
_DEEPEST = 100


def _workbook_rows(file: BinaryIO, allowance: Allowance) -> list[Row]:
    """Read the rows of the first sheet as text and numbers; empty cells are left out.

    Raises:
        ValueError: If it is not a workbook, or unpacks to more than allowed.
    """
    try:
        with open_archive(file, allowance) as archive:
            if _SHEET not in archive.members:
                raise ValueError("it has no sheet")
            strings = _Strings(allowance)
            if _STRINGS in archive.members:
                _feed(archive.read(_STRINGS), strings)
            sheet = _Sheet(allowance, strings.texts)
            _feed(archive.read(_SHEET), sheet)
    except (LookupError, OverflowError, ParseError, UnicodeError) as error:  # also a wrong encoding
        raise ValueError(f"it is not an Excel workbook: {error}") from error
    names = sheet.rows[0] if sheet.rows else {}
    return [
        {str(names[column]): value for column, value in row.items() if column in names}
        for row in sheet.rows[1:]
    ]


def _feed(data: bytes, target: _Strings) -> None:
    """Parse XML in pieces. No tree is built, so that its size does not matter."""
    parser = XMLParser(target=target)  # noqa: S314 - the targets refuse a document type, so there are no entities to expand
    for start in range(0, len(data), _FED):
        parser.feed(data[start : start + _FED])
    parser.close()


class _Strings:
    """Collects the texts of shared strings, as the target of an XML parser."""

    def __init__(self, allowance: Allowance) -> None:
        self.texts: list[str] = []
        self._allowance = allowance
        self._pieces: list[str] = []
        self._is_open = False
        self._depth = 0

    def doctype(self, *_: object) -> None:
        """Refuse a document type, which could declare entities."""
        raise ValueError("its XML declares entities")

    def start(self, tag: str, attributes: Mapping[str, str]) -> None:  # noqa: ARG002
        """Begin an element."""
        self._enter()
        if _local(tag) == "si":
            self._pieces.clear()
        self._is_open = _local(tag) == "t"

    def data(self, text: str) -> None:
        """Collect text."""
        if self._is_open:
            self._allowance.spend(_CELL + len(text))
            self._pieces.append(text)

    def end(self, tag: str) -> None:
        """End an element."""
        self._depth -= 1
        self._is_open = False
        if _local(tag) == "si":
            self._allowance.spend(_CELL)
            self.texts.append(self._text())

    def close(self) -> None:
        """Do nothing: the parser asks for it."""

    def _enter(self) -> None:
        self._allowance.spend(_ELEMENT)
        self._depth += 1
        if self._depth > _DEEPEST:
            raise ValueError("its XML is nested too deeply")

    def _text(self) -> str:
        text = "".join(self._pieces)
        self._pieces.clear()
        whole = _ESCAPED.sub(lambda match: chr(int(match[1], 16)), text)
        return whole.encode("utf-16", "surrogatepass").decode(
            "utf-16", "replace"
        )  # halves of characters are escaped alone


class _Sheet(_Strings):
    """Collects the rows of a sheet, each a value by its column."""

    def __init__(self, allowance: Allowance, strings: Sequence[str]) -> None:
        super().__init__(allowance)
        self.rows: list[dict[str, Any]] = []
        self._strings = strings
        self._place, self._kind = "", "n"
        self._has_value = False

    def start(self, tag: str, attributes: Mapping[str, str]) -> None:
        """Begin a row, a cell, or its text or value."""
        self._enter()
        name = _local(tag)
        if name == "row":
            self._allowance.spend(_ROW)
            self.rows.append({})
        elif name == "c":
            self._place, self._kind = attributes.get("r", ""), attributes.get("t", "n")
            self._pieces.clear()
            self._has_value = self._kind == "inlineStr"
        self._has_value |= name == "v"
        self._is_open = name == ("t" if self._kind == "inlineStr" else "v")

    def end(self, tag: str) -> None:
        """End an element; a cell gets its value."""
        self._depth -= 1
        self._is_open = False
        if _local(tag) == "c" and self.rows and self._has_value:
            self._allowance.spend(_CELL)
            self.rows[-1][re.sub(r"\d+$", "", self._place)] = self._value(self._text())

    def _value(self, content: str) -> Any:
        if self._kind == "s":
            index = int(content)
            if not 0 <= index < len(self._strings):
                raise ValueError(f"cell {self._place} names a text that is not there")
            self._allowance.spend(len(self._strings[index]))
            return self._strings[index]
        if self._kind == "n":
            number = float(content)
            return int(number) if number.is_integer() else number
        return content


def _local(tag: str) -> str:
    """Return the name of an element without its namespace."""
    return tag.rpartition("}")[2]


_READERS: Mapping[str, Callable[[Path], tuple[list[Row], list[Problem]]]] = {
    ".csv": _csv,
    ".tsv": _csv,
    ".parquet": _packed(parquet_rows),
    ".xlsx": _packed(_workbook_rows),
}
