"""Data sets that take long are made beside the measuring: the model is busy with other instruments meanwhile.

Each instrument's sets are made by a process of their own, ``python -m theodolite.diagnose.background_data NAME FOLDER
SIZE SEED SPLIT…``. A process that fails does no harm: whoever needs the data makes them then.
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

from theodolite.diagnose.request import find_size
from theodolite.instruments.instrument import Instrument, Study, find_instruments


class Makers:
    """Processes at work, by instrument."""

    def __init__(self) -> None:
        self._at_work: dict[str, subprocess.Popen[bytes]] = {}

    def start(self, instrument: Instrument, study: Study) -> None:
        """Starts making an instrument's data."""
        words = [
            *(sys.executable, "-m", "theodolite.diagnose.background_data", instrument.name),
            *(str(study.folder), str(study.size), str(study.seed), *study.splits),
        ]
        try:
            self._at_work[instrument.name] = subprocess.Popen(  # noqa: S603 - our own module
                words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
            )
        except OSError:
            return  # no room for another process: the data are made when they are needed

    def wait(self, instrument: Instrument) -> None:
        """Waits until an instrument's data are no longer being made."""
        process = self._at_work.pop(instrument.name, None)
        if process is not None:
            process.wait()

    def stop(self) -> None:
        """Ends what is still at work."""
        for process in self._at_work.values():
            process.terminate()
            process.wait()
        self._at_work.clear()


@contextmanager
def making(wanted: Iterable[Instrument], study: Study) -> Iterator[Makers]:
    """Makes the data of some instruments in the background."""
    makers = Makers()
    try:
        for instrument in wanted:
            makers.start(instrument, study)
        yield makers
    finally:
        makers.stop()


def _end_with(parent: int) -> None:
    """Ends this process once its parent is gone, however it went."""
    while os.getppid() == parent:
        time.sleep(0.5)
    os._exit(1)


def main(words: list[str]) -> None:
    """Makes one instrument's data."""
    threading.Thread(target=_end_with, args=(os.getppid(),), daemon=True).start()
    name, folder, size, seed, *splits = words
    study = Study(Path(folder), find_size(size), int(seed), tuple(splits))
    find_instruments([name])[0].make_data(study)


if __name__ == "__main__":
    main(sys.argv[1:])
