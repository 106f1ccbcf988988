"""Stories are drawn beside the measuring: drawing them takes a minute, and the model is busy with other instruments meanwhile.

Each set is made by a process of its own, ``python -m theodolite.diagnose.background_data FOLDER SPLIT EPISODES SEED``. A process that fails
does no harm: whoever needs the set makes it then.
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


class Makers:
    """Processes at work, by the folder that each makes."""

    def __init__(self) -> None:
        self._at_work: dict[Path, subprocess.Popen[bytes]] = {}

    def start(self, folder: Path, split: str, n: int, seed: int) -> None:
        """Begins to make a set of stories, unless it is there."""
        if folder.exists() or folder in self._at_work:
            return
        words: list[str | Path] = [
            sys.executable,
            "-m",
            "theodolite.diagnose.background_data",
            folder,
            split,
            str(n),
            str(seed),
        ]
        try:
            self._at_work[folder] = subprocess.Popen(  # noqa: S603 - our own module
                words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
            )
        except OSError:
            return  # no room for another process: it is made when it is needed

    def wait(self, folder: Path) -> None:
        """Waits until a folder is no longer being made."""
        process = self._at_work.pop(folder, None)
        if process is not None:
            process.wait()

    def stop(self) -> None:
        """Ends what is still at work."""
        for process in self._at_work.values():
            process.terminate()
            process.wait()
        self._at_work.clear()


@contextmanager
def making(wanted: Iterable[tuple[Path, str, int, int]]) -> Iterator[Makers]:
    """Makes sets of stories in the background: folder, split, episodes of each world, seed."""
    makers = Makers()
    try:
        for folder, split, n, seed in wanted:
            makers.start(folder, split, n, seed)
        yield makers
    finally:
        makers.stop()


def _end_with(parent: int) -> None:
    """Ends this process once its parent is gone, however it went: nobody waits for the set any more."""
    while os.getppid() == parent:
        time.sleep(0.5)
    os._exit(1)


def main(words: list[str]) -> None:
    """Makes one set."""
    threading.Thread(target=_end_with, args=(os.getppid(),), daemon=True).start()
    from theodolite.twins.parts import made, write_stories

    folder, split, n, seed = words
    made(Path(folder), lambda place: write_stories(place, split, int(n), int(seed)))


if __name__ == "__main__":
    main(sys.argv[1:])
