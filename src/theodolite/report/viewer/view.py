"""``theodolite view``: runs and diagnoses in the browser, from this machine to this machine, read-only.

The server listens on the loopback address alone. A page of another site that is open in the same browser could still reach
it, so a request must name this very address as its host (a name that was pointed here has another), and what other sites ask
for is refused. There is no way to send anything: GET and HEAD are all that is understood.
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
