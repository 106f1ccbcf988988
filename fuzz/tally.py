"""What a fuzz job counts, and the one way to try an input."""

from __future__ import annotations

import os
import resource
import signal
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from theodolite.core.errors import TheodoliteError

_MOST_EXAMPLES = 20
_LONGEST_EXAMPLE = 400
READ, REFUSED, _BUG = 0, 2, 3
"""Exit statuses of a child process."""


@dataclass(slots=True)
class Tally:
    """How many inputs were tried and what went wrong.

    Attributes:
        inputs: How many inputs were tried.
        uncaught: How many ended with an exception that the reader does not promise.
        over_time: How many took longer than they may.
        over_memory: How many needed more memory than they may.
        stray_writes: How many wrote outside the output folder.
        examples: The first of what went wrong, each with what is needed to make it again.
    """

    inputs: int = 0
    uncaught: int = 0
    over_time: int = 0
    over_memory: int = 0
    stray_writes: int = 0
    examples: list[str] = field(default_factory=list)

    @property
    def faults(self) -> int:
        """How many faults were found."""
        return self.uncaught + self.over_time + self.over_memory + self.stray_writes

    def add(self, fault: str, example: str) -> None:
        """Count a fault: the field that counts it, and an example."""
        setattr(self, fault, getattr(self, fault) + 1)
        if len(self.examples) < _MOST_EXAMPLES:
            self.examples.append(f"{fault}: {example}"[:_LONGEST_EXAMPLE])

    def __add__(self, other: Tally) -> Tally:
        return Tally(
            self.inputs + other.inputs,
            self.uncaught + other.uncaught,
            self.over_time + other.over_time,
            self.over_memory + other.over_memory,
            self.stray_writes + other.stray_writes,
            [*self.examples, *other.examples][:_MOST_EXAMPLES],
        )

    def __str__(self) -> str:
        return (
            f"{self.inputs} inputs: {self.uncaught} uncaught, {self.over_time} over time, "
            f"{self.over_memory} over memory, {self.stray_writes} writes outside the output folder"
        )


class OverTime(BaseException):  # so that no reader catches it
    """An input exceeded its time limit."""


@contextmanager
def _alarm(seconds: float) -> Iterator[None]:
    """Raise OverTime in the main thread after this wall-clock time, so that one input cannot block the job."""

    def ring(*_: object) -> None:
        raise OverTime

    before = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def peak_megabytes() -> float:
    """Return the peak memory of this process."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / (2**20 if sys.platform == "darwin" else 2**10)


def in_a_process(work: Callable[[], Any]) -> tuple[str, int, resource.struct_rusage]:
    """Do some work in a child process. Return its error, its exit status, and what it used."""
    reading, writing = os.pipe()
    pid = os.fork()
    if not pid:
        status, text = READ, ""
        try:
            resource.setrlimit(resource.RLIMIT_CPU, (60, 60))
            resource.setrlimit(resource.RLIMIT_AS, (32 << 30, 32 << 30))
            work()
        except TheodoliteError:
            status = REFUSED
        except BaseException as error:  # noqa: BLE001 - whatever it is, it is what the job looks for
            status, text = _BUG, f"{type(error).__name__}: {error}"
        finally:
            os.write(writing, text.encode("utf-8", "replace")[:400])
            os._exit(status)
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        text = pipe.read().decode("utf-8", "replace")
    _, status, used = os.wait4(pid, 0)
    return text, os.waitstatus_to_exitcode(status), used


def attempt(
    tally: Tally,
    place: str,
    work: Callable[[], Any],
    *,
    promised: tuple[type[Exception], ...] = (),
    seconds: float = 5.0,
    megabytes: float = 256.0,
) -> Any:
    """Try one input and count what went wrong; return the result of `work`, or None.

    Args:
        tally: Counts the input and its faults.
        place: Identifies the input, so that it can be reproduced: reader, seed and number.
        work: Reads the input.
        promised: The exceptions that the reader may raise for unreadable input.
        seconds: The processor time that one input may take.
        megabytes: How much one input may raise the peak memory of the process.
    """
    tally.inputs += 1
    memory, begun, result = peak_megabytes(), time.process_time(), None
    try:
        with _alarm(10 * seconds):  # wall-clock time, which other processes lengthen
            result = work()
    except promised:
        result = None
    except OverTime:
        tally.add("over_time", place)
        return None
    except Exception as error:  # noqa: BLE001 - whatever it is, it is what the job looks for
        tally.add("uncaught", f"{place}: {type(error).__name__}: {error}")
    if time.process_time() - begun > seconds:
        tally.add("over_time", f"{place}: {time.process_time() - begun:.1f} s")
    if peak_megabytes() - memory > megabytes:
        tally.add("over_memory", f"{place}: {peak_megabytes() - memory:.0f} MB")
    return result
