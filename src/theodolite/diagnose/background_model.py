"""Measure the last of several small models in a process of its own, while the others are measured and scored.

A small model keeps one core busy at most: without this process the diagnosis of the shipped models takes about 1.4 times as
long on two cores. The process, ``python -m theodolite.diagnose.background_model PARENT …``, measures
into the same run folders, so that nothing is left to measure when its turn comes. If it fails, the model is measured
then.
"""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from theodolite.core.options import find_size
from theodolite.diagnose.background_data import exit_with
from theodolite.diagnose.request import DiagnosisRequest
from theodolite.instruments.instrument import find_instruments

__all__ = ["BackgroundModel", "measured_in_background"]

_SMALL = "pocket:"


class BackgroundModel:
    """The last model of a request, if it is small and a second core is free for it."""

    def __init__(self, request: DiagnosisRequest) -> None:
        self._request = request
        self._process: subprocess.Popen[bytes] | None = None
        last = request.models[-1]
        is_plain = not request.data and not request.given and request.options.engine == "local"
        is_worth_it = len(request.models) > 1 and (os.cpu_count() or 1) > 1
        self.name = last if is_plain and is_worth_it and last.startswith(_SMALL) else ""

    def start(self) -> None:
        """Start measuring the model. Call this once the data are made."""
        if not self.name or self._process is not None:
            return
        request = self._request
        names = [instrument.name for instrument in request.instruments]
        command = [
            *(sys.executable, "-m", "theodolite.diagnose.background_model", str(os.getpid()), self.name),
            *(str(request.folder), str(request.size), str(request.seed), *names),
        ]
        try:
            self._process = subprocess.Popen(  # noqa: S603 - our own module
                command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
            )
        except OSError:
            return  # no process could be started: the model is measured when its turn comes

    def wait(self, name: str) -> None:
        """Wait for the process if it measures that model."""
        if self._process is not None and name == self.name:
            self._process.wait()

    def stop(self) -> None:
        """Stop the process if it still runs."""
        if self._process is not None:
            self._process.terminate()
            self._process.wait()


@contextmanager
def measured_in_background(request: DiagnosisRequest) -> Iterator[BackgroundModel]:
    """Yield the model that may be measured in the background, and stop its process at the end."""
    background = BackgroundModel(request)
    try:
        yield background
    finally:
        background.stop()


def main(arguments: list[str]) -> None:
    """Measure one model with the given instruments."""
    from theodolite.diagnose.running import measure_model

    parent, model, folder, size, seed, *names = arguments
    threading.Thread(target=exit_with, args=(int(parent),), daemon=True).start()
    request = DiagnosisRequest((model,), Path(folder), find_instruments(names), find_size(size), int(seed))
    measure_model(request, model)


if __name__ == "__main__":
    main(sys.argv[1:])
