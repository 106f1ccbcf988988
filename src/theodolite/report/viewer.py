"""Serve the pages of runs and diagnoses to a browser on this machine."""

from __future__ import annotations

import hashlib
import json
import re
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, ClassVar, Protocol, Self
from urllib.parse import unquote, urlsplit

from theodolite.core.errors import TheodoliteError, UsageError
from theodolite.core.types import Picture
from theodolite.diagnose.api import Browsed, browse, data_of
from theodolite.diagnose.record import DIAGNOSIS_FILE, read_diagnosis
from theodolite.diagnose.running import ITEMS_FILE
from theodolite.report.glossary import Glossary
from theodolite.report.html.diagnosis import diagnosis_page
from theodolite.report.html.parts import (
    ItemTable,
    Pictures,
    finished,
    media_type,
    policy,
    readable_picture,
    render_page,
)
from theodolite.report.html.runs import progress_words, run_view, runs_context, width_percent
from theodolite.runs import Run, Tally, find_runs

__all__ = [
    "LOOPBACK",
    "Viewer",
]


# The folders that the viewer may read, and their pictures. Nothing outside is opened, also not through links.


_RUN_FILES = ("run.json", "measured.sqlite", "measured.sqlite-wal", "measured.sqlite-shm", "scores.json")


@dataclass(frozen=True, slots=True)
class Roots:
    """The folders that may be read."""

    folders: tuple[Path, ...]

    @classmethod
    def of(cls, folders: Sequence[str | Path]) -> Roots:
        """Resolve folders.

        Raises:
            UsageError: If one does not exist.
        """
        resolved = []
        for folder in map(Path, folders):
            if not folder.is_dir():
                raise UsageError(
                    f"there is no folder {folder}; give a folder with runs or diagnoses, such as the --out of an earlier command"
                )
            resolved.append(folder.resolve())
        return cls(tuple(dict.fromkeys(resolved)))

    def hold(self, path: Path) -> bool:
        """Return True if a path, with links resolved, lies below one of the folders."""
        resolved = path.resolve()
        return any(resolved.is_relative_to(folder) for folder in self.folders)

    def runs(self) -> Iterator[Path]:
        """Yield all runs whose files all lie inside."""
        for root in self.folders:
            for folder in find_runs(root):
                if self.hold(folder) and all(self.hold(folder / name) for name in _RUN_FILES):
                    yield folder

    def diagnoses(self) -> Iterator[Path]:
        """Yield the folders of all diagnoses whose files lie inside."""
        for root in self.folders:
            for file in sorted(root.rglob(DIAGNOSIS_FILE)):
                if self.hold(file) and self.hold(file.parent / "items.jsonl"):
                    yield file.parent

    def name(self, path: Path) -> str:
        """Return a path for display, relative to the given folder."""
        resolved = path.resolve()
        for folder in self.folders:
            if resolved.is_relative_to(folder):
                return (Path(folder.name) / resolved.relative_to(folder)).as_posix()
        return path.name


def key_of(path: Path) -> str:
    """Return the key of a folder in addresses."""
    return hashlib.sha256(str(path.resolve()).encode()).hexdigest()[:12]


class PictureShelf:
    """The pictures of served pages, by their names."""

    def __init__(self, roots: Roots) -> None:
        self._roots = roots
        self._held: dict[str, Picture] = {}
        self._sizes: dict[str, tuple[str, int, int] | None] = {}
        self.outside = 0
        """Number of pictures outside of the folders."""

    def place(self, picture: Picture) -> str:
        """Add a picture, if it may be read, and return its name."""
        if picture.path is not None and picture.data is None and not self._roots.hold(picture.path):
            if picture.digest not in self._sizes:
                self.outside += 1
                self._sizes[picture.digest] = None
        else:
            self._held[picture.digest] = picture
        return picture.digest

    def take(self, name: str) -> tuple[str, int, int] | None:
        """Return the name and size of a picture. None if it cannot be read."""
        if name not in self._sizes:
            try:
                self._sizes[name] = (name, *self._held[name].size)
            except (KeyError, TheodoliteError):
                self._sizes[name] = None
        return self._sizes[name]

    def read(self, name: str) -> tuple[bytes, str] | None:
        """Return a picture in a format that browsers show, and its media subtype."""
        picture = self._held.get(name)
        if picture is None or (
            picture.path is not None and picture.data is None and not self._roots.hold(picture.path)
        ):
            return None
        try:
            content, kind, _ = readable_picture(picture.read())
        except (OSError, TheodoliteError):
            return None
        return content, "jpeg" if kind == "jpg" else kind


# The served runs and diagnoses. They are read on request, and again when they change.


_PATIENCE = 4.0
"""An active run is read again only after this many times the duration of the last read."""
_RECENT_S = 30.0


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The state of a run at one time."""

    version: str
    tally: Tally
    browsed: Browsed
    table: ItemTable
    seconds: float
    """Duration of the read."""
    is_whole: bool
    """True if everything was read, False if only what is fast to read."""


@dataclass
class RunSource:
    """One run, which is read again as it progresses."""

    folder: Path
    roots: Roots
    address: str
    shelf: PictureShelf = field(init=False)
    _snapshot: Snapshot | None = None
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _thread: threading.Thread | None = None
    _read_at: float = 0.0
    _changed_at: float = 0.0
    _has_moved: bool = False
    _seen: Tally | None = None

    def __post_init__(self) -> None:
        self.shelf = PictureShelf(self.roots)

    def tally(self) -> Tally:
        """Return the current progress."""
        with Run.open(self.folder) as run:
            tally = run.tally()
        if tally != self._seen:
            self._has_moved = self._seen is not None
            self._changed_at = time.monotonic()
            self._seen = tally
        return tally

    def snapshot(self) -> Snapshot:
        """Return the latest snapshot. The first one is a quick read; a full read is started in the background."""
        with self._lock:
            if self._snapshot is None:
                self._snapshot = self._read(is_whole=False)
            now = self._snapshot
        self._refresh(self.tally())
        return now

    def state(self) -> dict[str, Any]:
        """Return the progress, for polling by the page."""
        tally = self.tally()
        self._refresh(tally)
        is_recent = time.monotonic() - self._changed_at < _RECENT_S
        word = "complete"
        if tally.pending:
            word = "stopped; the same command resumes it"
            if is_recent:
                word = "measuring" if self._has_moved else "waiting for results"
        now = self._snapshot
        return {
            "version": now.version if now is not None else "",
            "state": "on" if is_recent and tally.pending else "ended",
            "word": word,
            "counts": progress_words(tally),
            "done": width_percent(tally.finished, tally.planned),
            "failed": width_percent(tally.failed, tally.planned),
        }

    def page(self) -> str:
        """Render the page of the run."""
        now = self.snapshot()
        glossary = Glossary({figure.key: figure.name for figure in now.browsed.figures})
        now.table.index(glossary)  # adds the links of the items to the glossary
        with Run.open(self.folder) as run:
            view = run_view(run, now.browsed, name=self.roots.name(self.folder))
        context = runs_context([view], glossary, live=self.address)
        context["items_note"] = " ".join(self._notes(now))
        context["figures_note"] = (
            "" if now.is_whole else "The metrics are being computed; this page updates itself."
        )
        return finished("run.html", context, glossary, is_served=True)

    def items(self) -> dict[str, Any]:
        """Return the rows of all items."""
        now = self.snapshot()
        return {**now.table.index(Glossary()), "pictures": f"{self.address}picture/", "version": now.version}

    def item(self, number: int) -> dict[str, Any] | None:
        """Return the details of one item. None if there is no such item."""
        details = self.snapshot().table.details
        return details[number] if 0 <= number < len(details) else None

    def _notes(self, now: Snapshot) -> list[str]:
        notes = []
        if not now.is_whole:
            notes.append("The overlays of items are being computed; this page updates itself.")
        if self.shelf.outside:
            notes.append(
                f"{self.shelf.outside} pictures lie outside of the served folders; give their folder as well: "
                "theodolite view RUNS PICTURES."
            )
        return notes

    def _refresh(self, tally: Tally) -> None:
        """Read the run again in the background, if it has changed and the last read was long enough ago."""
        now = self._snapshot
        if now is None or (now.is_whole and now.tally == tally):
            return
        waited = time.monotonic() - self._read_at
        if self._thread is not None and self._thread.is_alive():
            return
        if now.is_whole and waited < _PATIENCE * now.seconds:
            return
        self._thread = threading.Thread(target=self._read_whole, daemon=True)
        self._thread.start()

    def _read_whole(self) -> None:
        try:
            snapshot = self._read(is_whole=True)
        except TheodoliteError:
            return  # keep the quick snapshot
        with self._lock:
            self._snapshot = snapshot

    def _read(self, *, is_whole: bool) -> Snapshot:
        started = time.monotonic()
        with Run.open(self.folder) as run:
            tally = run.tally()
            # Edited pictures are made from the originals, which must lie inside as well.
            is_inside = all(self.roots.hold(path) for path in data_of(run)) and not self.shelf.outside
            browsed = browse(run, self.shelf.place, may_read_data=is_whole and is_inside)
        if is_whole and not is_inside:
            browsed.notes.append(
                "its data or pictures lie outside of the served folders, so maps and metrics are not shown; "
                "give their folder as well"
            )
        table = ItemTable({figure.key: figure.name for figure in browsed.figures})
        for row in browsed.rows:
            table.add(row, self.shelf.take)
        self._read_at = time.monotonic()
        version = f"{'whole' if is_whole else 'quick'}-{tally.planned}-{tally.finished}-{tally.failed}"
        return Snapshot(version, tally, browsed, table, self._read_at - started, is_whole)


@dataclass
class DiagnosisSource:
    """One diagnosis. Its page is rendered again when its files have changed."""

    folder: Path
    pictures: dict[str, bytes] = field(default_factory=dict)
    _page: str = ""
    _state: tuple[float, ...] = ()
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def page(self) -> str:
        """Render the page of the diagnosis."""
        state = tuple(
            path.stat().st_mtime
            for name in (DIAGNOSIS_FILE, ITEMS_FILE)
            if (path := self.folder / name).exists()
        )
        with self._lock:
            if state != self._state:
                self.pictures.clear()
                kept = Pictures(lambda name, content, _: self.pictures.__setitem__(name, content))
                self._page, self._state = diagnosis_page(self.folder, kept, {}, is_served=True), state
            return self._page


# The HTTP server of ``theodolite view``: routes, checks of requests, and responses.


LOOPBACK = "127.0.0.1"
_KEY = r"(?P<key>[0-9a-f]{12})"
_NAME = r"(?P<name>[0-9A-Za-z_-]{1,96}(?:\.[a-z]{3,4})?)"


class Served(Protocol):
    """The content that is served."""

    def index(self) -> str:
        """Return the page with all runs and diagnoses."""

    def run(self, key: str) -> RunSource | None:
        """Return the run with a key, or None."""

    def diagnosis(self, key: str) -> DiagnosisSource | None:
        """Return the diagnosis with a key, or None."""


class Server(ThreadingHTTPServer):
    """An HTTP server with one thread per request."""

    daemon_threads = True
    viewer: Served

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Ignore closed connections, and handle other errors as usual."""
        if not isinstance(sys.exception(), ConnectionError | TimeoutError):
            super().handle_error(request, client_address)


Answer = tuple[bytes, str]
"""The content of a response, and its media type."""


def _page(text: str) -> Answer:
    return text.encode(), "text/html; charset=utf-8"


def _json(value: Any) -> Answer:
    text = json.dumps(value, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    return text.encode(), "application/json"


def _of_run(answer: Callable[[RunSource, str], Answer | None]) -> Callable[[Served, str, str], Answer | None]:
    def found(viewer: Served, key: str, name: str) -> Answer | None:
        source = viewer.run(key)
        return None if source is None else answer(source, name)

    return found


def _item(source: RunSource, name: str) -> Answer | None:
    detail = source.item(int(name))
    return None if detail is None else _json(detail)


def _run_picture(source: RunSource, name: str) -> Answer | None:
    picture = source.shelf.read(name)
    return None if picture is None else (picture[0], f"image/{picture[1]}")


def _diagnosis(viewer: Served, key: str, _: str) -> Answer | None:
    source = viewer.diagnosis(key)
    return None if source is None else _page(source.page())


def _diagnosis_picture(viewer: Served, key: str, name: str) -> Answer | None:
    source = viewer.diagnosis(key)
    content = None if source is None else source.pictures.get(name)
    return None if content is None else (content, media_type(name))


_ROUTES: tuple[tuple[re.Pattern[str], Callable[[Served, str, str], Answer | None]], ...] = tuple(
    (re.compile(pattern), answer)
    for pattern, answer in (
        (r"/", lambda viewer, _key, _name: _page(viewer.index())),
        (rf"/run/{_KEY}/", _of_run(lambda source, _: _page(source.page()))),
        (rf"/run/{_KEY}/state\.json", _of_run(lambda source, _: _json(source.state()))),
        (rf"/run/{_KEY}/items\.json", _of_run(lambda source, _: _json(source.items()))),
        (rf"/run/{_KEY}/item/(?P<name>\d{{1,9}})\.json", _of_run(_item)),
        (rf"/run/{_KEY}/picture/{_NAME}", _of_run(_run_picture)),
        (rf"/diagnosis/{_KEY}/", _diagnosis),
        (rf"/diagnosis/{_KEY}/pictures/{_NAME}", _diagnosis_picture),
    )
)


class Handler(BaseHTTPRequestHandler):
    """Handler of one request. Addresses are matched as a whole, and no part of one is used as a path."""

    server: Server
    server_version = "Theodolite"
    sys_version = ""
    protocol_version = "HTTP/1.1"
    timeout = 30
    _SAFE: ClassVar[dict[str, str]] = {
        "X-Content-Type-Options": "nosniff",
        "X-Frame-Options": "DENY",
        "Referrer-Policy": "no-referrer",
        "Cross-Origin-Resource-Policy": "same-origin",
        "Cross-Origin-Opener-Policy": "same-origin",
        "Cache-Control": "no-store",
    }

    def do_GET(self) -> None:
        """Answer a request."""
        self._answer()

    def do_HEAD(self) -> None:
        """Answer a request without the content."""
        self._answer()

    def _answer(self) -> None:
        refusal = self._refusal()
        if refusal:
            self._send(HTTPStatus.FORBIDDEN, (refusal.encode(), "text/plain; charset=utf-8"))
            return
        path = unquote(urlsplit(self.path).path)
        for pattern, answer in _ROUTES:
            match = pattern.fullmatch(path)
            if match is None:
                continue
            parts = match.groupdict()
            try:
                reply = answer(self.server.viewer, parts.get("key") or "", parts.get("name") or "")
            except TheodoliteError as error:
                text = f"{error}\n".encode()
                self._send(HTTPStatus.INTERNAL_SERVER_ERROR, (text, "text/plain; charset=utf-8"))
                return
            except Exception:
                words = b"internal error; see the terminal of `theodolite view`\n"
                self._send(HTTPStatus.INTERNAL_SERVER_ERROR, (words, "text/plain; charset=utf-8"))
                raise
            if reply is not None:
                self._send(HTTPStatus.OK, reply)
                return
        self._send(HTTPStatus.NOT_FOUND, (b"not found\n", "text/plain; charset=utf-8"))

    def _refusal(self) -> str:
        """Return why the request is refused. Empty if it is not."""
        port = self.server.server_address[1]
        if self.headers.get("Host", "") not in {f"{LOOPBACK}:{port}", f"localhost:{port}"}:
            return f"this server answers only at http://{LOOPBACK}:{port}/\n"
        if self.headers.get("Sec-Fetch-Site", "none") not in {"none", "same-origin"}:
            return "requests from other sites are refused\n"
        return ""

    def _send(self, status: HTTPStatus, answer: Answer) -> None:
        content, kind = answer
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(content)))
        self.send_header("Connection", "close")  # so that the thread ends with the response
        for name, value in self._SAFE.items():
            self.send_header(name, value)
        if kind.startswith("text/html"):
            self.send_header("Content-Security-Policy", f"{policy(is_served=True)}; frame-ancestors 'none'")
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(content)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the name in the base class
        """Log nothing, since a live page sends a request every second."""


# ``theodolite view``: a local, read-only web server for runs and diagnoses.
#
# The server listens only on the loopback address. Pages of other sites in the same browser could still reach it. So the Host
# header of a request must be this address, which excludes DNS rebinding, and cross-site requests are refused. Only GET and
# HEAD are supported.


class Viewer:
    """A server for the runs and diagnoses below some folders.

    Use it as a context manager, or call `close`. `serve` blocks until it is interrupted.
    """

    def __init__(self, folders: Sequence[str | Path], *, port: int = 0) -> None:
        """Open the port. 0 is any free one.

        Raises:
            UsageError: If a folder does not exist, or if the port is in use.
        """
        self.roots = Roots.of(folders)
        self._runs: dict[str, RunSource] = {}
        self._diagnoses: dict[str, DiagnosisSource] = {}
        try:
            self._server = Server((LOOPBACK, port), Handler)
        except OSError as error:
            raise UsageError(
                f"cannot listen on {LOOPBACK}:{port}: {error.strerror}; choose another --port"
            ) from error
        self._server.viewer = self
        self._is_serving = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def url(self) -> str:
        """The address of the index page."""
        return f"http://{LOOPBACK}:{self._server.server_address[1]}/"

    def serve(self) -> None:
        """Serve until `close` or an interrupt."""
        self._is_serving = True
        self._server.serve_forever(poll_interval=0.2)

    def close(self) -> None:
        """Stop the server."""
        if self._is_serving:
            self._server.shutdown()
        self._server.server_close()

    def run(self, key: str) -> RunSource | None:
        """Return the run with a key, or None."""
        if key not in self._runs:
            for folder in self.roots.runs():
                self._runs.setdefault(
                    key_of(folder), RunSource(folder, self.roots, f"/run/{key_of(folder)}/")
                )
        return self._runs.get(key)

    def diagnosis(self, key: str) -> DiagnosisSource | None:
        """Return the diagnosis with a key, or None."""
        if key not in self._diagnoses:
            for folder in self.roots.diagnoses():
                self._diagnoses.setdefault(key_of(folder), DiagnosisSource(folder))
        return self._diagnoses.get(key)

    def index(self) -> str:
        """Render the page with all runs and diagnoses."""
        return render_page(
            "index.html",
            {
                "runs": [self._run_line(folder) for folder in self.roots.runs()],
                "diagnoses": [self._diagnosis_line(folder) for folder in self.roots.diagnoses()],
                "roots": [str(folder) for folder in self.roots.folders],
                "has_items": True,  # includes the script, which refreshes the page
            },
            is_served=True,
        )

    def _run_line(self, folder: Path) -> dict[str, Any]:
        line = {"name": self.roots.name(folder), "url": f"/run/{key_of(folder)}/", "problem": ""}
        try:
            with Run.open(folder) as run:
                details = {
                    "instrument": run.info.instrument,
                    "model": run.info.model,
                    "words": progress_words(run.tally()),
                    "created": run.info.created.strftime("%Y-%m-%d %H:%M"),
                }
        except TheodoliteError as error:
            return {**line, "problem": str(error)}
        return {**line, **details}

    def _diagnosis_line(self, folder: Path) -> dict[str, Any]:
        line = {"name": self.roots.name(folder), "url": f"/diagnosis/{key_of(folder)}/", "problem": ""}
        try:
            diagnosis = read_diagnosis(folder)
        except TheodoliteError as error:
            return {**line, "problem": str(error), "created": ""}
        models = ", ".join(model.name for model in diagnosis.models)
        return {**line, "models": models, "created": diagnosis.created.strftime("%Y-%m-%d %H:%M")}
