"""Worker processes whose death is noticed at once and reported with its cause."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from multiprocessing.context import BaseContext
from typing import Any, cast

from theodolite.core.errors import WorkerError

__all__ = ["describe_exit", "end_with_parent", "worker_pool"]

_JOIN_S = 5.0


@contextmanager
def worker_pool(workers: int) -> Iterator[ProcessPoolExecutor]:
    """Run a pool of processes within the context. If one of them dies, the work ends at once with the cause.

    The processes also end if this one is killed.

    Raises:
        WorkerError: If a worker died. An exception raised by the work itself is passed on unchanged.
    """
    context = _Recording()
    pool = ProcessPoolExecutor(workers, cast("BaseContext", context), end_with_parent)
    try:
        yield pool
    except BrokenProcessPool as error:
        raise WorkerError(_cause(context.started)) from error
    finally:
        pool.shutdown(cancel_futures=True)


def end_with_parent() -> None:
    """End this worker process when its parent ends, for whatever reason."""
    parent = multiprocessing.parent_process()

    def wait() -> None:
        if parent is not None:
            parent.join()
            os._exit(1)

    threading.Thread(target=wait, daemon=True).start()


def describe_exit(status: int | None) -> str:
    """Describe the exit status of a process.

    >>> describe_exit(-9)
    'was killed by signal 9 (SIGKILL), as happens when memory runs out; use fewer --workers'
    >>> describe_exit(-11), describe_exit(3)
    ('was killed by signal 11 (SIGSEGV)', 'ended with status 3')
    """
    if status is None or status >= 0:
        return f"ended with status {status}"
    try:
        name = signal.Signals(-status).name
    except ValueError:
        name = "unknown"
    hint = ", as happens when memory runs out; use fewer --workers" if name == "SIGKILL" else ""
    return f"was killed by signal {-status} ({name}){hint}"


class _Recording:
    """A spawn context that records the processes it started."""

    def __init__(self) -> None:
        self._context = multiprocessing.get_context("spawn")
        self.started: list[Any] = []

    def Process(self, *arguments: Any, **more: Any) -> Any:  # noqa: N802 - the name of the context's class
        process = self._context.Process(*arguments, **more)
        self.started.append(process)
        return process

    def get_start_method(self, *, allow_none: bool = False) -> str:  # noqa: ARG002
        """Make the pool start all processes before it watches them, as it does for "fork".

        Otherwise it would start them one by one while it waits, and not notice the death of the latest one until the
        next result arrives.
        """
        return "fork"

    def __getattr__(self, name: str) -> Any:
        return getattr(self._context, name)


def _cause(started: list[Any]) -> str:
    """Describe why the first process died. The pool then ends the others with SIGTERM."""
    end = time.monotonic() + _JOIN_S
    while any(process.exitcode is None for process in started) and time.monotonic() < end:
        time.sleep(0.01)  # the pool itself waits for the processes, in another thread
    statuses = [process.exitcode for process in started if process.exitcode not in {None, 0}]
    own = [status for status in statuses if status != -signal.SIGTERM]
    return f"a worker process {describe_exit((own or statuses or [None])[0])}"
