"""A server of files on this machine that goes on where a download stopped, breaks off, redirects and asks for a login."""

import hashlib
import json
import threading
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import unquote, urlsplit


def blob_name(data):
    """What git calls a file with this content."""
    return hashlib.sha1(b"blob %d\0" % len(data) + data, usedforsecurity=False).hexdigest()


@dataclass
class Files:
    """What is served, and how."""

    content: dict[str, bytes] = field(default_factory=dict)
    """By path."""
    breaks: int = 0
    """How many answers break off in the middle."""
    ignores_range: bool = False
    token: str = ""
    """Asked for, if there is one."""
    elsewhere: str = ""
    """Another server, to which requests for files are passed on."""
    asked: list = field(default_factory=list)
    """Path, range and authorization of every request."""
    address: str = ""

    def hub(self, repo, files):
        """Serve a data set as the hub does: large files by SHA-256, small ones as blobs of git."""
        siblings = []
        for name, data in files.items():
            entry = {"rfilename": name, "size": len(data)}
            if name.endswith(".parquet"):
                entry["lfs"] = {"sha256": hashlib.sha256(data).hexdigest(), "size": len(data)}
            else:
                entry["blobId"] = blob_name(data)
            siblings.append(entry)
            self.content[f"/datasets/{repo}/resolve/c0ffee/{name}"] = data
        listing = json.dumps({"sha": "c0ffee", "siblings": siblings}).encode()
        self.content[f"/api/datasets/{repo}"] = listing


@contextmanager
def serving(files):
    """Serve files on a free port, and tell them the address."""

    class Handler(BaseHTTPRequestHandler):
        def log_message(self, *_):
            pass

        def do_GET(self):
            path = unquote(urlsplit(self.path).path)
            said = self.headers.get("Authorization", "")
            files.asked.append((path, self.headers.get("Range", ""), said))
            is_listing = path.startswith("/api/")
            if files.token and not is_listing and said != f"Bearer {files.token}":
                self.send_error(401)
            elif files.elsewhere and not is_listing:
                self.send_response(302)
                self.send_header("Location", files.elsewhere + self.path)
                self.end_headers()
            elif path not in files.content:
                self.send_error(404)
            else:
                self.answer(files.content[path])

        def answer(self, data):
            start = 0
            wanted = self.headers.get("Range", "")
            if wanted and not files.ignores_range:
                start = int(wanted.removeprefix("bytes=").partition("-")[0])
                self.send_response(206 if start < len(data) else 416)
            else:
                self.send_response(200)
            rest = data[start:]
            self.send_header("Content-Length", str(len(rest)))
            self.end_headers()
            if files.breaks:
                files.breaks -= 1
                rest = rest[: len(rest) // 2]
                self.close_connection = True
            self.wfile.write(rest)

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    files.address = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield files
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
