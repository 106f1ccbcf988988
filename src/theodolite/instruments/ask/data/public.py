"""Public data sets by name: what they are, and a folder of one that can be asked about.

`public.toml` declares them: where they come from, under which licence, and what is fetched. What the fields of their rows
hold is declared where all rows are read, in ``models/layouts.toml``. A folder has plain files alone: tables with pictures in
them become ``questions.jsonl`` and ``pictures``, archives their members, and ``source.json`` says where all came from.
"""

from __future__ import annotations

import difflib
import json
import os
import re
import shlex
import shutil
import tomllib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from fnmatch import fnmatchcase
from functools import cache
from importlib.resources import files as resources
from pathlib import Path
from typing import Any
from urllib.parse import quote

from theodolite.core.download import LoginError, RemoteFile, UnreachableError, download, get_json
from theodolite.core.errors import StorageError, UsageError, reason_of
from theodolite.core.files import (
    Problem,
    check,
    dump,
    file_hash,
    inside,
    open_plain,
    read_json,
    whole_file,
)
from theodolite.core.types import Picture
from theodolite.core.unpack import Allowance, open_archive
from theodolite.instruments.ask.data.questions import PictureFinder, Question, Unusable, read_question
from theodolite.models.tables import Row, read_rows

__all__ = ["PublicData", "Source", "find_public", "get_public", "public_data"]

HUB = "https://huggingface.co"
RECORD = "source.json"
QUESTIONS = "questions.jsonl"
_SCRATCH = ".download"
"""Where files lie until their rows are questions, or they are unpacked."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Address:
    """A file at an address."""

    name: str
    address: str
    size: int
    sha256: str
    unpack: tuple[str, ...] = ()
    """Patterns of the members of an archive that are kept."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PublicData:
    """A public data set. The comment of ``public.toml`` describes the fields."""

    name: str
    title: str
    about: str
    cite: str
    licence: str
    page: str
    needs_login: bool = False
    megabytes: int | None = None
    """What is fetched, where the source tells it before."""
    hub: str = ""
    files: tuple[str, ...] = ()
    fetch: tuple[Address, ...] = ()
    by_hand: tuple[str, ...] = ()
    needed: tuple[str, ...] = ()
    """What must be there once the commands were typed."""
    rows: tuple[str, ...] = ()
    note: str = ""
    command: str = "diagnose --model MODEL --data {folder}"

    def commands(self, folder: Path) -> str:
        """Return the command that diagnoses the folder."""
        return f"theodolite {self.command.format(folder=shlex.quote(str(folder)))}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """Where the files of a folder came from: its ``source.json``."""

    name: str
    title: str
    licence: str
    page: str
    cite: str
    fetched: str
    """The day."""
    commit: str = ""
    """Of the data set on the hub."""
    files: Mapping[str, str]
    """What was fetched, with its digest."""
    questions: int = 0
    """How many were made of rows."""
    left_out: Mapping[str, int]
    """Rows that make no question, by reason."""


@cache
def public_data() -> tuple[PublicData, ...]:
    """Return all public data sets."""
    text = resources(__package__).joinpath("public.toml").read_text(encoding="utf-8")
    return tuple(check(PublicData, {"name": name, **entry}) for name, entry in tomllib.loads(text).items())


def find_public(name: str) -> PublicData:
    """Return a data set by its name.

    Raises:
        UsageError: If there is none.
    """
    known = {data.name: data for data in public_data()}
    plain = re.sub(r"[\W_]", "", name).casefold()
    if plain not in known:
        near = difflib.get_close_matches(plain, known, n=1)
        advice = f"did you mean {near[0]!r}?" if near else f"there are: {', '.join(known)}"
        raise UsageError(f"there is no public data set {name!r}; {advice}")
    return known[plain]


def get_public(
    data: PublicData, folder: Path, progress: Callable[[str, int, int | None], None] = lambda *_: None
) -> Source:
    """Fetch a data set into a folder, and make questions of its rows. What is there already is not fetched again.

    Args:
        data: The data set.
        folder: Where it is written.
        progress: Called with the name of a file, the bytes that are there, and all.

    Raises:
        UsageError: If it cannot be reached, needs a login, or is not what it should be. The message has the line to type.
    """
    record = folder / RECORD
    if record.is_file():
        source = check(Source, read_json(record))
        if source.name != data.name:
            raise UsageError(f"{folder} has {source.title}; choose another --out")
        return source
    if data.by_hand:
        fetched, commit = _typed(data, folder), ""
    else:
        fetched, commit = _fetched(data, folder, progress)
    n, left_out = _make_questions(data, folder)
    source = Source(
        name=data.name,
        title=data.title,
        licence=data.licence,
        page=data.page,
        cite=data.cite,
        fetched=datetime.now(UTC).date().isoformat(),
        commit=commit,
        files=fetched,
        questions=n,
        left_out=left_out,
    )
    with whole_file(record) as draft:
        draft.write_text(json.dumps(dump(source), indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    shutil.rmtree(folder / _SCRATCH, ignore_errors=True)
    return source


def _typed(data: PublicData, folder: Path) -> dict[str, str]:
    """Return what was fetched by hand; if something is missing, say what to type."""
    if any(not (folder / name).exists() for name in data.needed):
        lines = "\n".join(f"  {line.format(folder=shlex.quote(str(folder)))}" for line in data.by_hand)
        raise UsageError(
            f"{data.title} is fetched by hand: {data.note} Type\n{lines}\nand this command again"
        )
    there = [folder / name for name in data.needed if (folder / name).is_file()]
    return {path.name: f"sha256:{file_hash(path)}" for path in there}


def _fetched(
    data: PublicData, folder: Path, progress: Callable[[str, int, int | None], None]
) -> tuple[dict[str, str], str]:
    """Fetch the files of a data set. Return their digests, and its commit on the hub."""
    headers: dict[str, str] = {}
    commit = ""
    try:
        if data.hub:
            headers = _token()
            commit, remote = _listed(data, headers)
        else:
            remote = [
                RemoteFile(each.address, each.name, each.size, f"sha256:{each.sha256}") for each in data.fetch
            ]
        for file in remote:
            _place(data, file, folder, headers, progress)
    except LoginError as error:
        raise UsageError(
            f"{error}: accept the terms of {data.title} on {data.page}, log in with `hf auth login`, and repeat this command"
        ) from error
    except UnreachableError as error:
        present = _brought(data, folder)
        if not present:
            raise UsageError(_elsewhere(data, folder, error)) from error
        shutil.rmtree(folder / _SCRATCH, ignore_errors=True)  # what was begun here is there as a whole
        return present, ""
    return {file.name: file.digest for file in remote}, commit


def _token() -> dict[str, str]:
    """Return the header with the user's token of the hub, if there is one."""
    try:
        from huggingface_hub import get_token
    except ImportError:
        token = os.environ.get("HF_TOKEN", "")
    else:
        token = get_token() or ""
    is_private = _hub().startswith(("https://", "http://127.0.0.1", "http://localhost"))
    return {"Authorization": f"Bearer {token}"} if token and is_private else {}


def _hub() -> str:
    return os.environ.get("HF_ENDPOINT", "").rstrip("/") or HUB


def _listed(data: PublicData, headers: Mapping[str, str]) -> tuple[str, list[RemoteFile]]:
    """Return the commit of a data set on the hub, and those of its files that are wanted."""
    if os.environ.get("HF_HUB_OFFLINE", "").casefold() in {"1", "true", "yes", "on"}:
        raise UnreachableError("HF_HUB_OFFLINE is set")
    address = f"{_hub()}/api/datasets/{data.hub}?blobs=true"
    about = get_json(address, headers=headers)
    try:
        commit, entries = str(about["sha"]), list(about["siblings"])
        chosen = [each for each in entries if _matches(str(each["rfilename"]), data.files)]
        files = [_on_hub(data, commit, each) for each in chosen]
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise UsageError(
            f"{address} does not list files as the hub does ({type(error).__name__}: {error})"
        ) from error
    if not files:
        raise UsageError(f"{data.hub} has no files {', '.join(data.files)} any more; see {data.page}")
    return commit, files


def _on_hub(data: PublicData, commit: str, entry: Mapping[str, Any]) -> RemoteFile:
    name, lfs = str(entry["rfilename"]), entry.get("lfs")
    digest = f"sha256:{lfs['sha256']}" if lfs else f"git:{entry['blobId']}"
    place = f"{_hub()}/datasets/{data.hub}/resolve/{quote(commit, safe='')}/{quote(name)}"
    return RemoteFile(place, name, int(entry["size"]), digest)


def _place(
    data: PublicData,
    file: RemoteFile,
    folder: Path,
    headers: Mapping[str, str],
    progress: Callable[[str, int, int | None], None],
) -> None:
    """Fetch a file, and unpack it if it is an archive."""
    members = next((each.unpack for each in data.fetch if each.name == file.name), ())
    home = folder / _SCRATCH if members or data.rows else folder
    path = download(
        file,
        home,
        headers=headers,
        progress=lambda held: progress(f"{data.name}: {file.name}", held, file.size),
    )
    if members:
        _unpack(path, members, folder)


def _unpack(path: Path, wanted: Sequence[str], folder: Path) -> None:
    """Write the wanted members of an archive."""
    try:
        with open_plain(path) as file, open_archive(file, Allowance(path.stat().st_size)) as archive:
            for name in archive.members:
                if not _matches(name, wanted):
                    continue
                with whole_file(inside(folder, name, "member")) as draft:
                    draft.write_bytes(archive.read(name))
    except ValueError as error:
        raise UsageError(f"cannot unpack {path}: {error}") from error
    except OSError as error:
        raise StorageError(f"cannot unpack {path}: {reason_of(error)}") from error


def _matches(name: str, patterns: Sequence[str]) -> bool:
    """Return True if a path matches a pattern, of which no ``*`` stands for a slash.

    >>> _matches("data/test-1.parquet", ["data/*.parquet"]), _matches("a/b/c.jpg", ["a/*.jpg"])
    (True, False)
    """
    return any(name.count("/") == pattern.count("/") and fnmatchcase(name, pattern) for pattern in patterns)


def _brought(data: PublicData, folder: Path) -> dict[str, str]:
    """Return the wanted files that were brought into the folder by other means; all patterns must be there."""
    found: dict[str, str] = {}
    for pattern in data.files or [each.name for each in data.fetch]:
        paths = [path for path in sorted(folder.glob(pattern)) if path.is_file()]
        if not paths:
            return {}
        for path in paths:
            name = path.relative_to(folder).as_posix()
            found[name] = f"sha256:{file_hash(inside(folder, name))}"
    known = {each.name: each for each in data.fetch}
    for name, digest in found.items():
        if name in known and digest != f"sha256:{known[name].sha256}":
            raise UsageError(f"{folder / name} is another file than that of {known[name].address}")
        if name in known and known[name].unpack:
            _unpack(folder / name, known[name].unpack, folder)
    return found


def _elsewhere(data: PublicData, folder: Path, error: Exception) -> str:
    """Return the message with the lines that fetch a data set where there is a network."""
    place = shlex.quote(str(folder))
    if data.hub:
        wanted = " ".join(shlex.quote(pattern) for pattern in data.files)
        lines = [f"hf download --repo-type dataset {data.hub} --include {wanted} --local-dir {place}"]
    else:
        lines = [
            f"curl --location --create-dirs --output {shlex.quote(str(folder / each.name))} {each.address}"
            for each in data.fetch
        ]
    text = "\n".join(f"  {line}" for line in lines)
    return f"{error}. Where there is a network, type\n{text}\nbring the folder here, and repeat this command"


# Questions of rows.


def _make_questions(data: PublicData, folder: Path) -> tuple[int, dict[str, int]]:
    """Write the questions of all rows with their pictures. Return how many, and what is left out."""
    if not data.rows:
        return 0, {}
    home = folder / _SCRATCH if (folder / _SCRATCH).is_dir() else folder
    finder, left_out, n = PictureFinder(home), Counter[str](), 0
    try:
        with whole_file(folder / QUESTIONS) as draft, draft.open("w", encoding="utf-8") as written:
            for number, row in enumerate(_rows(data, home, left_out), 1):
                try:
                    entry = _entry(read_question(row, number, finder), folder)
                except Unusable as error:
                    left_out[str(error)] += 1
                    continue
                n += 1
                written.write(json.dumps({"id": f"{data.name}-{n}", **entry}, ensure_ascii=False) + "\n")
            if not n:
                reasons = ", ".join(f"{reason} ({count})" for reason, count in left_out.most_common(3))
                raise UsageError(f"no row of {data.title} makes a question: {reasons or 'there are none'}")
    except OSError as error:
        raise StorageError(f"cannot write into {folder}: {reason_of(error)}") from error
    return n, dict(left_out)


def _rows(data: PublicData, home: Path, left_out: Counter[str]) -> Iterator[Row]:
    """Yield the rows of all tables, one table after the other."""
    for pattern in data.rows:
        for path in sorted(home.glob(pattern)):
            problems: list[Problem] = []
            yield from read_rows(path, problems)
            left_out.update(f"broken row, such as {problems[0]}" for _ in problems)


def _entry(question: Question, folder: Path) -> dict[str, Any]:
    """Return a question in the form of question files, and write its pictures: each once, however often it is asked about."""
    entry: dict[str, Any] = {"question": question.question, "answer": question.answer}
    if question.options:
        entry["options"] = list(question.options)
    if question.group:
        entry["group"] = question.group
    return {**entry, "pictures": [_kept(picture, folder) for picture in question.pictures]}


def _kept(picture: Picture, folder: Path) -> str:
    """Write a picture, and return its path below the folder."""
    kind = picture.media_type.partition("/")[2]
    if kind == "octet-stream":
        raise Unusable("not a picture")
    path = folder / "pictures" / f"{picture.digest[:32]}.{kind}"
    if not path.is_file():
        with whole_file(path) as draft:
            draft.write_bytes(picture.read())
    return path.relative_to(folder).as_posix()
