"""Fetch files over the network: of a known size and a known digest, resumed, and whole or not at all.

A file is written beside its place first. An interrupted download goes on where it stopped; what has another content than
was announced is deleted. So a file that stands at its place is the one that was asked for.
"""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from theodolite.core.errors import StorageError, UsageError, reason_of
from theodolite.core.files import inside, open_plain

__all__ = ["LoginError", "RemoteFile", "UnreachableError", "download", "get_json"]

_PIECE = 1 << 18
_SECONDS = 30.0
"""How long a server may say nothing."""
_MOST_BREAKS = 20
"""How often a connection may break, if each has brought something."""
_LARGEST_ANSWER = 64 << 20
"""Bytes of a listing."""
_ROOM = 64 << 20
"""Bytes that stay free on the disk."""
_PARTIAL, _BEYOND, _NO_LOGIN = 206, 416, {401, 403}


class UnreachableError(UsageError):
    """A server cannot be reached, or does not have the file."""


class LoginError(UsageError):
    """A server gives the file only to those who logged in, and perhaps accepted its terms."""


@dataclass(frozen=True, slots=True)
class RemoteFile:
    """A file somewhere else."""

    address: str
    name: str
    """Its path below the folder that it is fetched into."""
    size: int
    """In bytes."""
    digest: str
    """``sha256:…`` of its content, or ``git:…``, its name as a blob of git."""


def get_json(address: str, *, headers: Mapping[str, str] | None = None) -> Any:
    """Return the JSON at an address.

    Raises:
        UnreachableError: If there is no answer, or an error.
        LoginError: If the server asks for a login.
        UsageError: If the answer is not JSON, or too large.
    """
    import httpx2

    from theodolite.core.files import parse_json

    data = bytearray()
    try:
        with httpx2.stream(
            "GET", address, headers=dict(headers or {}), follow_redirects=True, timeout=_SECONDS
        ) as response:
            _check_status(response.status_code, address)
            for piece in response.iter_bytes(_PIECE):
                data += piece
                if len(data) > _LARGEST_ANSWER:
                    raise UsageError(f"{address} answers with more than {_LARGEST_ANSWER >> 20} MiB")
    except (httpx2.HTTPError, httpx2.InvalidURL, OSError) as error:
        raise _unreachable(address, error) from error
    try:
        return parse_json(bytes(data))
    except ValueError as error:
        raise UsageError(f"{address} does not answer with JSON: {error}") from error


def download(
    file: RemoteFile,
    folder: Path,
    *,
    headers: Mapping[str, str] | None = None,
    progress: Callable[[int], None] = lambda _: None,
) -> Path:
    """Fetch a file, unless it is there already.

    Args:
        file: What to fetch.
        folder: Where it is written, under its name.
        headers: Sent to its server, and to no other one that the request is passed on to.
        progress: Called with the number of bytes that are there.

    Returns:
        Its path.

    Raises:
        UnreachableError: If the connection cannot be made, or breaks again and again. What has come stays for the next time.
        LoginError: If the server asks for a login.
        UsageError: If the content is not what was announced, or the name leads out of the folder.
        StorageError: If it cannot be written, or the disk is too small.
    """
    target = inside(folder, file.name)
    if target.is_file() and _is_whole(target, file):
        progress(file.size)
        return target
    part = target.with_name(f".{target.name}.part")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        if part.is_symlink():
            part.unlink()
        _fetch_all(file, part, headers or {}, progress)
        if not _is_whole(part, file):
            part.unlink()
            raise UsageError(
                f"{file.address} is another file than expected (not {file.digest}); nothing is kept"
            )
        part.replace(target)
    except OSError as error:
        raise StorageError(f"cannot write {target}: {reason_of(error)}") from error
    return target


def _fetch_all(
    file: RemoteFile, part: Path, headers: Mapping[str, str], progress: Callable[[int], None]
) -> None:
    """Fetch what is missing of a file, over as many connections as it takes."""
    part.touch()
    breaks = 0
    while (held := part.stat().st_size) != file.size:
        if shutil.disk_usage(part.parent).free < file.size - held + _ROOM:
            raise StorageError(f"{part.parent} has no room for {file.name} ({file.size >> 20} MiB)")
        try:
            _fetch_rest(file, part, 0 if held > file.size else held, headers, progress)
        except UnreachableError:
            breaks += 1
            if breaks > _MOST_BREAKS or part.stat().st_size <= held:
                raise


def _fetch_rest(
    file: RemoteFile, part: Path, start: int, headers: Mapping[str, str], progress: Callable[[int], None]
) -> None:
    """Append to a file what follows the bytes that are there; begin again if the server cannot."""
    import httpx2

    asked = {**headers, "Accept-Encoding": "identity"}  # a packed answer has another length
    if start:
        asked["Range"] = f"bytes={start}-"
    try:
        with httpx2.stream(
            "GET", file.address, headers=asked, follow_redirects=True, timeout=_SECONDS
        ) as response:
            if response.status_code == _BEYOND:
                part.write_bytes(b"")
                return
            _check_status(response.status_code, file.address)
            goes_on = response.status_code == _PARTIAL
            held = start if goes_on else 0
            with part.open("ab" if goes_on else "wb") as kept:
                for piece in response.iter_raw():
                    held += len(piece)
                    if held > file.size:
                        raise UsageError(
                            f"{file.address} sends more than the {file.size} bytes of {file.name}"
                        )
                    kept.write(piece)
                    progress(held)
        if held < file.size:
            raise UnreachableError(f"{_host(file.address)} broke off after {held} of {file.size} bytes")
    except (httpx2.HTTPError, httpx2.InvalidURL) as error:
        raise _unreachable(file.address, error) from error


def _check_status(status: int, address: str) -> None:
    if status in _NO_LOGIN:
        raise LoginError(f"{_host(address)} asks for a login (status {status})")
    if not 200 <= status < 300:
        raise UnreachableError(f"{_host(address)} answers {status} to {address}")


def _unreachable(address: str, error: Exception) -> UnreachableError:
    return UnreachableError(f"cannot reach {_host(address)}: {reason_of(error) or type(error).__name__}")


def _host(address: str) -> str:
    return urlsplit(address).netloc or address


def _is_whole(path: Path, file: RemoteFile) -> bool:
    """Return True if a file has the announced size and digest."""
    kind, _, wanted = file.digest.partition(":")
    with open_plain(path) as opened:
        if path.stat().st_size != file.size:
            return False
        if kind == "git":
            digest = hashlib.sha1(b"blob %d\0" % file.size, usedforsecurity=False)
        else:
            digest = hashlib.sha256()
        while piece := opened.read(_PIECE):
            digest.update(piece)
    return digest.hexdigest() == wanted.casefold()
