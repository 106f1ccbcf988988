"""``theodolite view``: a local, read-only web server for runs and diagnoses.

The server listens only on the loopback address. Pages of other sites in the same browser could still reach it. So the Host
header of a request must be this address, which excludes DNS rebinding, and cross-site requests are refused. Only GET and
HEAD are supported.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Self

from theodolite.core.errors import TheodoliteError, UsageError
from theodolite.diagnose.record import read_diagnosis
from theodolite.report.html.page import render_page
from theodolite.report.html.runs import progress_words
from theodolite.report.viewer.roots import Roots, key_of
from theodolite.report.viewer.server import LOOPBACK, Handler, Server
from theodolite.report.viewer.sources import DiagnosisSource, RunSource
from theodolite.runs import Run

__all__ = ["LOOPBACK", "Viewer"]


class Viewer:
    """A server for the runs and diagnoses below some folders.

    Use it as a context manager, or call `close`. `serve` runs until it is interrupted.
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
            found = read_diagnosis(folder)
        except TheodoliteError as error:
            return {**line, "problem": str(error), "created": ""}
        models = ", ".join(model.name for model in found.models)
        return {**line, "models": models, "created": found.created.strftime("%Y-%m-%d %H:%M")}
