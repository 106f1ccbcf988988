"""The served runs and diagnoses. They are read on request, and again when they change."""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from theodolite.core.errors import TheodoliteError
from theodolite.diagnose.browse import Browsed, browse, data_of
from theodolite.diagnose.items import ITEMS_FILE
from theodolite.diagnose.record import DIAGNOSIS_FILE
from theodolite.report.html.definitions import Glossary
from theodolite.report.html.diagnosis import diagnosis_page
from theodolite.report.html.items import ItemTable
from theodolite.report.html.page import finished
from theodolite.report.html.pictures import Pictures
from theodolite.report.html.runs import percent, progress_words, run_view, runs_context
from theodolite.report.viewer.roots import PictureShelf, Roots
from theodolite.runs import Run, Tally

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
    """One run, read again as it progresses."""

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
            "done": percent(tally.finished, tally.planned),
            "failed": percent(tally.failed, tally.planned),
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
        """Return the details of one item, or None."""
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
            found = self._read(is_whole=True)
        except TheodoliteError:
            return  # keep the quick snapshot
        with self._lock:
            self._snapshot = found

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
