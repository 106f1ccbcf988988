"""The HTTP server of ``theodolite view``: routes, checks of requests, and responses."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, ClassVar, Protocol
from urllib.parse import unquote, urlsplit

from theodolite.core.errors import TheodoliteError
from theodolite.report.html.page import policy
from theodolite.report.html.pictures import media_type
from theodolite.report.viewer.sources import DiagnosisSource, RunSource

LOOPBACK = "127.0.0.1"
_KEY = r"(?P<key>[0-9a-f]{12})"
_NAME = r"(?P<name>[0-9A-Za-z_-]{1,96}(?:\.[a-z]{3,4})?)"


class Viewer(Protocol):
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
    viewer: Viewer

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
                found = answer(self.server.viewer, parts.get("key") or "", parts.get("name") or "")
            except TheodoliteError as error:
                text = f"{error}\n".encode()
                self._send(HTTPStatus.INTERNAL_SERVER_ERROR, (text, "text/plain; charset=utf-8"))
                return
            except Exception:
                words = b"internal error; see the terminal of `theodolite view`\n"
                self._send(HTTPStatus.INTERNAL_SERVER_ERROR, (words, "text/plain; charset=utf-8"))
                raise
            if found is not None:
                self._send(HTTPStatus.OK, found)
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
