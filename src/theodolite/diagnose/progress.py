"""How far a diagnosis is, in one line: which of all steps, its items, and the time that is left."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeAlias

from theodolite.diagnose.request import Progress
from theodolite.runs import Tally, duration

__all__ = ["Overall", "printed"]

Step: TypeAlias = tuple[str, str]
"""A model and an instrument."""
_ENDED = frozenset({"done", "left out"})
_LINE_EVERY_S = 0.5


class Overall:
    """Follows all steps of a diagnosis. Called like any `Progress`."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._steps: dict[Step, str] = {}
        """All steps, each with its last word."""
        self._tallies: dict[Step, Tally] = {}
        self._first: dict[Step, tuple[float, int]] = {}
        """The time of the first tally, and the number of items done by then."""
        self._seconds: dict[Step, float] = {}
        self._now: Step | None = None
        self._last = clock()

    def __call__(self, model: str, instrument: str, progress: Tally | str) -> None:
        """Note the progress of a step."""
        step, now = (model, instrument), self._clock()
        if self._now is not None:
            self._seconds[self._now] = self._seconds.get(self._now, 0.0) + now - self._last
        self._last = now
        if isinstance(progress, str):
            self._steps[step] = progress
            if progress == "waiting":
                return
        else:
            self._steps[step] = "asking"
            self._tallies[step] = progress
            self._first.setdefault(step, (now, _done(progress)))
        self._now = step

    @property
    def place(self) -> str:
        """The current step among all: ``2 of 4``."""
        begun = sum(word != "waiting" for word in self._steps.values())
        return f"{begun} of {len(self._steps)}"

    @property
    def tally(self) -> Tally | None:
        """The tally of the current step."""
        return self._tallies.get(self._now) if self._now else None

    def tally_of(self, model: str, instrument: str) -> Tally | None:
        """The last tally of a step."""
        return self._tallies.get((model, instrument))

    def spent(self, model: str, instrument: str) -> float:
        """Seconds spent on a step so far."""
        return self._seconds.get((model, instrument), 0.0)

    @property
    def left(self) -> str:
        """The time that is left, over all steps; ``at least``, if an instrument was not measured before. Empty if not known."""
        here = self._left_here()
        waiting = [step for step, word in self._steps.items() if word == "waiting"]
        known = [self._expected(step) for step in waiting]
        seconds = (here or 0.0) + sum(each for each in known if each is not None)
        if (here is None and self._steps.get(self._now or ("", "")) == "asking") or not seconds:
            return ""
        return f"{'at least ' if None in known else ''}{duration(seconds)} left"

    def line(self) -> str:
        """Say it all in one line."""
        if self._now is None:
            return ""
        word, tally = self._steps[self._now], self.tally
        if word == "asking" and tally is not None:
            word = f"{_done(tally)} of {tally.planned} items"
        left = self.left
        return f"{self.place}: {' '.join(self._now)}, {word}" + (f", {left}" if left else "")

    def _left_here(self) -> float | None:
        """Seconds left for the items of the current step. None if not known."""
        step, tally = self._now, self.tally
        if step is None or tally is None or self._steps[step] != "asking":
            return None
        began, first = self._first[step]
        new = _done(tally) - first
        remaining = tally.planned - _done(tally)
        if new <= 0:
            return 0.0 if not remaining else None
        return (self._clock() - began) / new * remaining

    def _expected(self, step: Step) -> float | None:
        """Seconds of a step, by those of other models on the same instrument. None if there are none."""
        model, instrument = step
        ended = {each: self.spent(*each) for each, word in self._steps.items() if word in _ENDED}
        others = [spent for (_, name), spent in ended.items() if name == instrument]
        if not others:
            return None
        mine, theirs = 0.0, 0.0
        for (name, known), spent in ended.items():
            before = [each for (other, same), each in ended.items() if same == known and other != model]
            if name == model and before:
                mine, theirs = mine + spent, theirs + sum(before) / len(before)
        return sum(others) / len(others) * (mine / theirs if theirs else 1.0)


def _done(tally: Tally) -> int:
    return tally.finished + tally.failed


@contextmanager
def printed(progress: Progress | bool) -> Iterator[Progress]:  # noqa: FBT001 - a switch, or a function
    """Context manager: a function to call with the progress; True prints one line on standard error and rewrites it."""
    if not isinstance(progress, bool):
        yield progress
        return
    overall, width, last = Overall(), 0, -_LINE_EVERY_S

    def told(model: str, instrument: str, now: Tally | str) -> None:
        nonlocal width, last
        overall(model, instrument, now)
        if time.monotonic() - last >= _LINE_EVERY_S and (line := overall.line()):
            sys.stderr.write(f"\r{line:{width}}")
            sys.stderr.flush()
            width, last = len(line), time.monotonic()

    yield told if progress else lambda *_: None
    if width:
        sys.stderr.write(f"\r{'':{width}}\r")
