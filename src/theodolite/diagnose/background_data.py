"""Make slow data sets in the background, while the model is measured with other instruments.

Each instrument has its own process, ``python -m theodolite.diagnose.background_data PARENT NAME FOLDER SIZE SEED SPLIT…``. If a
process fails, the data are made when they are needed.
"""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from theodolite.core.options import find_size
from theodolite.instruments.instrument import Instrument, Study, find_instruments


class Makers:
    """The running processes, by instrument."""

    def __init__(self) -> None:
        self._processes: dict[str, subprocess.Popen[bytes]] = {}

    def start(self, instrument: Instrument, study: Study) -> None:
        """Start making the data of an instrument."""
        command = [
            *(sys.executable, "-m", "theodolite.diagnose.background_data", str(os.getpid()), instrument.name),
            *(str(study.folder), str(study.size), str(study.seed), *study.splits),
        ]
        try:
            self._processes[instrument.name] = subprocess.Popen(  # noqa: S603 - our own module
                command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
            )
        except OSError:
            return  # no process could be started: the data are made when they are needed

    def wait(self, instrument: Instrument) -> None:
        """Wait for the process of an instrument, if there is one."""
        process = self._processes.pop(instrument.name, None)
        if process is not None:
            process.wait()

    def stop(self) -> None:
        """Stop all running processes."""
        for process in self._processes.values():
            process.terminate()
            process.wait()
        self._processes.clear()


@contextmanager
def make_in_background(wanted: Iterable[Instrument], study: Study) -> Iterator[Makers]:
    """Make the data of the given instruments in the background while the block runs."""
    makers = Makers()
    try:
        for instrument in wanted:
            makers.start(instrument, study)
        yield makers
    finally:
        makers.stop()


def _exit_with(parent: int) -> None:
    """End this process when its parent ends."""
    while os.getppid() == parent:
        time.sleep(0.5)
    os._exit(1)


def main(arguments: list[str]) -> None:
    """Make the data of one instrument."""
    parent, name, folder, size, seed, *splits = arguments
    threading.Thread(target=_exit_with, args=(int(parent),), daemon=True).start()
    study = Study(Path(folder), find_size(size), int(seed), tuple(splits))
    for _ in find_instruments([name])[0].plan(study, "text"):
        pass  # planning makes the data


if __name__ == "__main__":
    main(sys.argv[1:])
