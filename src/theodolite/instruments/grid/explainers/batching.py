"""Joining the model calls of many scenes into one batch.

An explainer asks for a few dozen coalitions, looks at them and asks again; a GPU needs thousands. So every scene runs in
its own thread. A thread that calls the model waits until all others wait too or are done; then all inputs go out together.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from threading import Condition
from typing import Any, TypeVar

import numpy as np

from theodolite.instruments.grid.explainers.game import Floats
from theodolite.instruments.grid.explainers.readers import NetworkReader, Reader, Shown
from theodolite.instruments.grid.explainers.second_order import Slope, SlopeRequest

T = TypeVar("T")


@dataclass(slots=True)
class _PendingCall:
    """One thread's call, and its result."""

    kind: str
    what: Any
    found: Any = None
    error: BaseException | None = None
    is_done: bool = False


class _Meeting:
    """A barrier that collects the calls of several threads."""

    def __init__(self, reader: Reader, parties: int) -> None:
        self._reader = reader
        self._running = parties
        self._waiting: list[_PendingCall] = []
        self._changed = Condition()

    def ask(self, kind: str, what: Any) -> Any:
        """Submit a call, and return its result once all threads have called."""
        asked = _PendingCall(kind, what)
        with self._changed:
            self._waiting.append(asked)
            self._answer_if_all_wait()
            self._changed.wait_for(lambda: asked.is_done)
        if asked.error is not None:
            raise asked.error
        return asked.found

    def leave(self) -> None:
        """Mark one thread as done."""
        with self._changed:
            self._running -= 1
            self._answer_if_all_wait()

    def _answer_if_all_wait(self) -> None:
        if not self._waiting or len(self._waiting) < self._running:
            return
        for kind, answer in (("logits", self._logits), ("slopes", self._slopes)):
            asked = [call for call in self._waiting if call.kind == kind]
            try:
                for call, result in zip(asked, answer([call.what for call in asked]), strict=True):
                    call.found = result
            except Exception as error:  # noqa: BLE001 - raised in every thread that called
                for call in asked:
                    call.error = error
        for call in self._waiting:
            call.is_done = True
        self._waiting = []
        self._changed.notify_all()

    def _logits(self, shown: list[Shown]) -> list[Floats]:
        if not shown:
            return []
        logits = self._reader.logits(joined(shown))
        ends = np.cumsum([len(part) for part in shown])[:-1]
        return np.split(logits, ends)

    def _slopes(self, requests: list[SlopeRequest]) -> list[Slope]:
        if not requests:
            return []
        assert isinstance(self._reader, NetworkReader)  # noqa: S101 - only networks are asked together
        return self._reader.slopes(requests)


def joined(shown: Sequence[Shown]) -> Shown:
    """Concatenate inputs of one data set with one convention."""
    first = shown[0]
    return Shown(
        first.batch,
        np.concatenate([part.pictures for part in shown]),
        np.concatenate([part.questions for part in shown]),
        np.concatenate([part.cell_mask for part in shown]),
        np.concatenate([part.word_mask for part in shown]),
        first.fill,
        first.hiding,
    )


class Seat:
    """A thread's view of the reader: the same answers, but batched with the other threads."""

    def __init__(self, reader: Reader, meeting: _Meeting) -> None:
        self.name, self.identity = reader.name, reader.identity
        self.can_differentiate = reader.can_differentiate
        self._meeting = meeting

    def logits(self, shown: Shown) -> Floats:
        """Return the logits over the answers, (m, answers)."""
        return np.asarray(self._meeting.ask("logits", shown))


class NetworkSeat(Seat):
    """The same for a paired network, which can be differentiated."""

    def slopes(self, requests: Sequence[SlopeRequest]) -> list[Slope]:
        """Return the second-order gradients."""
        return [self._meeting.ask("slopes", request) for request in requests]


def run_together(reader: Reader, jobs: Sequence[Callable[[Reader], T]]) -> list[T]:
    """Run jobs concurrently, each with a reader whose calls are batched with the others'.

    Inputs of all jobs must be of one data set and one convention.

    Raises:
        Exception: Whatever the first failed job raised; the others run to their end.
    """
    if len(jobs) == 1 or not isinstance(reader, NetworkReader):
        return [job(reader) for job in jobs]
    meeting = _Meeting(reader, len(jobs))

    def run(job: Callable[[Reader], T]) -> T:
        try:
            return job(NetworkSeat(reader, meeting))
        finally:
            meeting.leave()

    with ThreadPoolExecutor(len(jobs)) as threads:
        started = [threads.submit(run, job) for job in jobs]
        return [thread.result() for thread in started]
