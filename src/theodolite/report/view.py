"""``theodolite view``: runs and diagnoses in the browser, from this machine to this machine, read-only.

The server listens on the loopback address alone. A page of another site that is open in the same browser could still reach
it, so a request must name this very address as its host (a name that was pointed here has another), and what other sites ask
for is refused. There is no way to send anything: GET and HEAD are all that is understood.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Sequence
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, ClassVar, Self
from urllib.parse import unquote, urlsplit

from theodolite.diagnose.record import read_diagnosis
from theodolite.errors import TheodoliteError, UsageError
from theodolite.report._html_page import policy, render_page
from theodolite.report._html_pictures import media_type
from theodolite.report._html_runs import progress_words
from theodolite.report._view_roots import Roots, key_of
from theodolite.report._view_sources import DiagnosisSource, RunSource
from theodolite.runs import Run

__all__ = ["LOOPBACK", "Viewer"]

LOOPBACK = "127.0.0.1"
_KEY = r"(?P<key>[0-9a-f]{12})"
_NAME = r"(?P<name>[0-9A-Za-z_-]{1,96}(?:\.[a-z]{3,4})?)"


class Viewer:
    """A server of the runs and diagnoses below some folders.

    Use as a context manager, or call `close`; `serve` answers until it is interrupted.
    """

    def __init__(self, folders: Sequence[str | Path], *, port: int = 0) -> None:
        """Port 0 takes any that is free.

        Raises:
            UsageError: a folder is not there, or the port is taken.
        """
        self.roots = Roots.of(folders)
        self._runs: dict[str, RunSource] = {}
        self._diagnoses: dict[str, DiagnosisSource] = {}
        try:
            self._server = _Server((LOOPBACK, port), _Handler)
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
        """Where to look."""
        return f"http://{LOOPBACK}:{self._server.server_address[1]}/"

    def serve(self) -> None:
        """Answers until `close` or an interrupt."""
        self._is_serving = True
        self._server.serve_forever(poll_interval=0.2)

    def close(self) -> None:
        """Stops."""
        if self._is_serving:
            self._server.shutdown()
        self._server.server_close()

    def run(self, key: str) -> RunSource | None:
        """The run of an address."""
        if key not in self._runs:
            for folder in self.roots.runs():
                self._runs.setdefault(
                    key_of(folder), RunSource(folder, self.roots, f"/run/{key_of(folder)}/")
                )
        return self._runs.get(key)

    def diagnosis(self, key: str) -> DiagnosisSource | None:
        """The diagnosis of an address."""
        if key not in self._diagnoses:
            for folder in self.roots.diagnoses():
                self._diagnoses.setdefault(key_of(folder), DiagnosisSource(folder))
        return self._diagnoses.get(key)

    def index(self) -> str:
        """The list of all that is there now."""
        return render_page(
            "index.html",
            {
                "runs": [self._run_line(folder) for folder in self.roots.runs()],
                "diagnoses": [self._diagnosis_line(folder) for folder in self.roots.diagnoses()],
                "roots": [str(folder) for folder in self.roots.folders],
                "has_items": True,  # the script looks for news
            },
            is_served=True,
        )

    def _run_line(self, folder: Path) -> dict[str, Any]:
        line = {"name": self.roots.name(folder), "url": f"/run/{key_of(folder)}/", "problem": ""}
        try:
            with Run.open(folder) as run:
                told = {
                    "instrument": run.info.instrument,
                    "model": run.info.model,
                    "words": progress_words(run.tally()),
                    "created": run.info.created.strftime("%Y-%m-%d %H:%M"),
                }
        except TheodoliteError as error:
            return {**line, "problem": str(error)}
        return {**line, **told}

    def _diagnosis_line(self, folder: Path) -> dict[str, Any]:
        line = {"name": self.roots.name(folder), "url": f"/diagnosis/{key_of(folder)}/", "problem": ""}
        try:
            found = read_diagnosis(folder)
        except TheodoliteError as error:
            return {**line, "problem": str(error), "created": ""}
        models = ", ".join(model.name for model in found.models)
        return {**line, "models": models, "created": found.created.strftime("%Y-%m-%d %H:%M")}


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    viewer: Viewer

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A browser that went away in the middle of an answer is no error."""
        if not isinstance(sys.exception(), ConnectionError | TimeoutError):
            super().handle_error(request, client_address)


Answer = tuple[bytes, str]
"""What is sent, and its media type."""


def _page(text: str) -> Answer:
    return text.encode(), "text/html; charset=utf-8"


def _json(value: Any) -> Answer:
    text = json.dumps(value, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    return text.encode(), "application/json"


def _of_run(answer: Callable[[RunSource, str], Answer | None]) -> Callable[[Viewer, str, str], Answer | None]:
    def found(viewer: Viewer, key: str, name: str) -> Answer | None:
        source = viewer.run(key)
        return None if source is None else answer(source, name)

    return found


def _item(source: RunSource, name: str) -> Answer | None:
    detail = source.item(int(name))
    return None if detail is None else _json(detail)


def _run_picture(source: RunSource, name: str) -> Answer | None:
    found = source.shelf.read(name)
    return None if found is None else (found[0], f"image/{found[1]}")


def _diagnosis(viewer: Viewer, key: str, _: str) -> Answer | None:
    source = viewer.diagnosis(key)
    return None if source is None else _page(source.page())


def _diagnosis_picture(viewer: Viewer, key: str, name: str) -> Answer | None:
    source = viewer.diagnosis(key)
    content = None if source is None else source.pictures.get(name)
    return None if content is None else (content, media_type(name))


_ROUTES: tuple[tuple[re.Pattern[str], Callable[[Viewer, str, str], Answer | None]], ...] = tuple(
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


class _Handler(BaseHTTPRequestHandler):
    """Answers one request. Addresses are matched whole; no part of one is ever used as a path."""

    server: _Server
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
        """Answers."""
        self._answer()

    def do_HEAD(self) -> None:
        """Answers without the content."""
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
                found = answer(self.server.viewer, parts.get("key") or "", parts.get("name") or "")
            except TheodoliteError as error:
                text = f"{error}\n".encode()
                self._send(HTTPStatus.INTERNAL_SERVER_ERROR, (text, "text/plain; charset=utf-8"))
                return
            except Exception:
                words = b"internal error; the terminal of `theodolite view` shows where\n"
                self._send(HTTPStatus.INTERNAL_SERVER_ERROR, (words, "text/plain; charset=utf-8"))
                raise
            if found is not None:
                self._send(HTTPStatus.OK, found)
                return
        self._send(HTTPStatus.NOT_FOUND, (b"there is nothing at this address\n", "text/plain; charset=utf-8"))

    def _refusal(self) -> str:
        """Why the request is refused; empty if it is not."""
        port = self.server.server_address[1]
        if self.headers.get("Host", "") not in {f"{LOOPBACK}:{port}", f"localhost:{port}"}:
            return f"this server answers to http://{LOOPBACK}:{port}/ alone\n"
        if self.headers.get("Sec-Fetch-Site", "none") not in {"none", "same-origin"}:
            return "this server answers no other site\n"
        return ""

    def _send(self, status: HTTPStatus, answer: Answer) -> None:
        content, kind = answer
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(content)))
        self.send_header("Connection", "close")  # no thread outlives its answer
        for name, value in self._SAFE.items():
            self.send_header(name, value)
        if kind.startswith("text/html"):
            self.send_header("Content-Security-Policy", f"{policy(is_served=True)}; frame-ancestors 'none'")
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(content)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the library's name
        """Nothing: a page that asks every second would fill the terminal."""
