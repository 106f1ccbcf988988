"""The Ray engine for several GPUs or machines: one actor per worker, each with its own measurer.

Only this process writes to the run, so the workers need no shared disk. Pictures are sent with their items.

Ray ends the process that drives it, without an exception, when the head of the cluster or the agent of its own machine is gone.
So it is driven from a process of its own, which asks this one for tasks and hands it the records.
"""

from __future__ import annotations

import itertools
import logging
import math
import multiprocessing
import os
import pickle
import signal
import socket
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import cached_property
from importlib.util import find_spec
from typing import Any, Literal

from theodolite.core.errors import MissingExtraError, ModelError, TheodoliteError, UsageError, WorkerError
from theodolite.core.processes import describe_exit, end_with_parent
from theodolite.core.types import Item, Message, Picture, Record, Request
from theodolite.runs.engine import (
    EngineName,
    Measurer,
    MeasurerFactory,
    Reuse,
    Sink,
    Task,
    failed_record,
    measure_batch,
)

_MAX_DEATHS = 2
"""An item whose worker died this many times is recorded as failed."""
_END_TIMEOUT_S = 30.0
_START_TIMEOUT_S = 120.0
"""How long to wait for the first worker to be scheduled on the cluster."""


class _Worker:
    """The class of the Ray actors."""

    def __init__(self, factory: MeasurerFactory) -> None:
        self.factory = factory

    @cached_property
    def measurer(self) -> Measurer:
        """The measurer. Opened at the first call, not with the actor, so that errors are passed on unchanged."""
        return self.factory()

    def describe(self) -> tuple[str, int, Reuse]:
        """Return the measurer's identity, batch size and reuse rule."""
        return self.measurer.identity, self.measurer.batch_size, self.measurer.reuse

    def measure(self, items: list[Item]) -> list[Record]:
        """Measure a batch."""
        return measure_batch(self.measurer, items)


class RayEngine:
    """Drives several measurers on a Ray cluster."""

    name: EngineName = "ray"

    def __init__(self, factory: MeasurerFactory, *, workers: int = 2, address: str | None = None) -> None:
        """Start the workers. Each gets one CPU and, if the cluster has GPUs, a GPU or a fraction of one.

        Args:
            factory: Creates the measurer in each worker. Must be picklable.
            workers: Number of workers. A running cluster may have room for fewer at first; the others start as it grows.
            address: Address of a running cluster. Default: start a local one.

        Raises:
            UsageError: If a local cluster would have fewer CPUs than workers.
            WorkerError: If the cluster ended.
        """
        if workers < 1:
            raise UsageError(f"--workers must be at least 1, not {workers}")
        if find_spec("ray") is None:
            raise MissingExtraError("ray", "ray", "--engine ray")
        self.workers = workers
        context = multiprocessing.get_context("spawn")
        self._pipe, other = context.Pipe()
        self._driver = context.Process(target=_drive, args=(other, factory, workers, address), daemon=False)
        self._driver.start()
        other.close()
        try:
            self.identity, self.reuse = self._receive("ready")[1]
        except BaseException:
            self.close()
            raise

    def work(self, tasks: Iterator[Task], sink: Sink) -> None:
        """Measure all tasks, one batch per worker at a time. If a worker dies, its batch is sent to another.

        Raises:
            WorkerError: If the cluster ended. What the sink got is kept.
        """
        in_hand: dict[int, Task] = {}
        self._send("work")
        while True:
            kind, content = self._receive("next", "done", "end")
            if kind == "end":
                return
            if kind == "next":
                batch = list(itertools.islice(tasks, content))
                in_hand |= {task.seq: task for task in batch}
                self._send(batch)
            else:
                sink([(in_hand.pop(seq), record) for seq, record in content])

    def close(self) -> None:
        """Stop the workers, and the local cluster if this engine started it."""
        self._pipe.close()  # which ends the driver
        self._driver.join(_END_TIMEOUT_S)
        if self._driver.exitcode is None:
            self._driver.kill()
            self._driver.join()

    def _send(self, message: Any) -> None:
        try:
            self._pipe.send(message)
        except OSError:
            raise self._ended() from None

    def _receive(self, *kinds: str) -> tuple[str, Any]:
        try:
            kind, content = self._pipe.recv()
        except (EOFError, OSError):
            raise self._ended() from None
        if kind not in kinds:  # it is an error
            raise content
        return kind, content

    def _ended(self) -> WorkerError:
        self._driver.join(_END_TIMEOUT_S)
        return WorkerError(
            f"the Ray cluster ended: the process that drives it {describe_exit(self._driver.exitcode)}, as happens when the head "
            "of the cluster, or its agent on this machine, is gone. Finished items are kept; the same command goes on"
        )


def _drive(pipe: Any, factory: MeasurerFactory, workers: int, address: str | None) -> None:
    """Drive the cluster for the process at the other end of a pipe, until it closes it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the command, which then closes the pipe
    end_with_parent()
    _quiet()
    driver = None
    try:
        driver = _Driver(factory, workers, address)
        pipe.send(("ready", (driver.identity, driver.reuse)))
        while pipe.recv():
            driver.work(
                _asked(pipe), lambda done: pipe.send(("done", [(task.seq, record) for task, record in done]))
            )
            pipe.send(("end", None))
    except (EOFError, OSError):
        pass  # the other end is closed
    except Exception as error:  # noqa: BLE001 - it is raised at the other end
        with suppress(OSError):
            pipe.send(
                ("error", error if _can_be_sent(error) else ModelError(f"{type(error).__name__}: {error}"))
            )
    finally:
        if driver is not None:
            driver.close()


def _asked(pipe: Any) -> Callable[[int], list[Task]]:
    """Return a function that gets the next tasks from the other end of a pipe."""

    def ask(n: int) -> list[Task]:
        pipe.send(("next", n))
        tasks: list[Task] = pipe.recv()
        return tasks

    return ask


def _can_be_sent(error: Exception) -> bool:
    try:
        return type(pickle.loads(pickle.dumps(error))) is type(error)  # noqa: S301 - our own object, made a line before
    except Exception:  # noqa: BLE001 - whatever it is, it is told as text
        return False


def _quiet() -> None:
    """Keep what Ray's own libraries write when a cluster ends, pages of it, off the terminal."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.dup2(nowhere, 2)
    os.close(nowhere)


class _Driver:
    """Schedules batches on the actors of a cluster."""

    def __init__(self, factory: MeasurerFactory, workers: int, address: str | None) -> None:
        self._ray = _connect(address)
        self._factory = self._ray.put(factory)
        self._actor_class = self._ray.remote(_Worker)
        self._actors: list[Any] = []
        self._starting: dict[Any, int] = {}
        """Workers that are not scheduled yet, by the reference that becomes ready with them."""
        try:
            self._gpus = _gpu_share(self._ray.cluster_resources(), workers, can_grow=address is not None)
            self._actors = [self._new_actor() for _ in range(workers)]
            self._starting = {self._ready_reference(i): i for i in range(workers)}
            self._ready = self._wait_for_workers()
            self.identity, self._batch_size, self.reuse = self._describe(self._ready[0])
        except BaseException:
            self.close()
            raise

    def work(self, tasks: Callable[[int], list[Task]], sink: Sink) -> None:
        """Measure all tasks, one batch per worker at a time. If a worker dies, its batch is sent to another."""
        again: deque[list[Task]] = deque()
        deaths: dict[int, int] = {}
        busy: dict[Any, tuple[int, list[Task]]] = {}
        idle, self._ready = self._ready, []
        while True:
            while idle and (batch := self._next_batch(tasks, again)):
                index = idle.pop()
                busy[
                    self._actors[index].measure.remote([_with_picture_bytes(task.item) for task in batch])
                ] = (
                    index,
                    batch,
                )
            if not busy and idle:
                self._ready = idle
                return
            if not busy:
                idle.extend(self._wait_for_workers())
                continue
            for reference in self._ray.wait([*busy, *self._starting], num_returns=1)[0]:
                if reference in self._starting:
                    idle.append(self._started(reference))
                    continue
                index, batch = busy.pop(reference)
                records = self._fetch(reference)
                if isinstance(records, list):
                    idle.append(index)
                    sink(list(zip(batch, records, strict=True)))
                    continue
                self._actors[index] = self._new_actor()
                self._starting[self._ready_reference(index)] = index
                again.extend([batch] if records == "node" else self._retries(batch, deaths, sink))

    def close(self) -> None:
        """Stop the workers, and the local cluster if this engine started it."""
        for actor in self._actors:
            self._ray.kill(actor)
        self._ray.shutdown()

    def _next_batch(self, tasks: Callable[[int], list[Task]], again: deque[list[Task]]) -> list[Task]:
        return again.popleft() if again else tasks(self._batch_size)

    def _fetch(self, reference: Any) -> list[Record] | Literal["worker", "node"]:
        """Return the records of a batch, or what died: its worker, or the whole machine, which is no fault of the batch."""
        try:
            records: list[Record] = self._ray.get(reference)
        except self._ray.exceptions.RayTaskError as error:
            raise _cause(error) from None
        except self._ray.exceptions.RayError as error:
            return "node" if "node" in str(error) and "died" in str(error).partition("node")[2] else "worker"
        return records

    def _retries(self, batch: list[Task], deaths: dict[int, int], sink: Sink) -> list[list[Task]]:
        """Return the batches to retry: each item alone, so that one that kills its worker is identified."""
        for task in batch:
            deaths[task.seq] = deaths.get(task.seq, 0) + 1
        failed = [task for task in batch if len(batch) == 1 and deaths[task.seq] >= _MAX_DEATHS]
        if failed:
            sink(
                [(task, failed_record(task.item, f"its worker died {_MAX_DEATHS} times")) for task in failed]
            )
        return [[task] for task in batch if task not in failed]

    def _new_actor(self) -> Any:
        return self._actor_class.options(num_cpus=1, num_gpus=self._gpus).remote(self._factory)

    def _ready_reference(self, index: int) -> Any:
        return self._actors[index].__ray_ready__.remote()

    def _wait_for_workers(self) -> list[int]:
        """Wait until at least one worker is scheduled."""
        ready = self._ray.wait(list(self._starting), num_returns=1, timeout=_START_TIMEOUT_S)[0]
        if not ready:
            raise UsageError(
                f"no worker could be scheduled on the Ray cluster within {_START_TIMEOUT_S:g} s: each needs a CPU"
                f"{f' and {self._gpus:g} of a GPU' if self._gpus else ''}, and these are in use"
            )
        return [self._started(reference) for reference in ready]

    def _started(self, reference: Any) -> int:
        try:
            self._ray.get(reference)
        except self._ray.exceptions.RayError as error:
            raise ModelError(
                f"a Ray worker could not be started: {_last_line(error)}. If the Ray cluster ended, start it again: finished "
                "items are kept, and the same command goes on"
            ) from None
        return self._starting.pop(reference)

    def _describe(self, index: int) -> tuple[str, int, Reuse]:
        try:
            described: tuple[str, int, Reuse] = self._ray.get(self._actors[index].describe.remote())
        except self._ray.exceptions.RayTaskError as error:
            raise _cause(error) from None
        except self._ray.exceptions.RayError as error:
            raise ModelError(f"a Ray worker could not open the model: {_last_line(error)}") from None
        return described


def _gpu_share(resources: Mapping[str, float], workers: int, *, can_grow: bool = False) -> float:
    """Return the fraction of a GPU for each worker. Raises an error if there are too few CPUs, and cannot be more.

    With g GPUs for w workers, ⌈w/g⌉ workers share one GPU.

    >>> [_gpu_share({"CPU": 8, "GPU": gpus}, 4) for gpus in (8, 4, 3, 1, 0)]
    [1.0, 1.0, 0.5, 0.25, 0.0]
    """
    processors, gpus = int(resources.get("CPU", 0)), int(resources.get("GPU", 0))
    if workers > processors and not can_grow:
        raise UsageError(
            f"--workers {workers} needs as many CPUs, but the Ray cluster has {processors}; use at most {processors}"
        )
    return 1 / math.ceil(workers / gpus) if gpus else 0.0


def _connect(address: str | None) -> Any:
    import ray

    _refuse_if_unreachable(address)
    try:
        ray.init(
            address=address,
            log_to_driver=False,
            logging_level=logging.ERROR,
            include_dashboard=False if address is None else None,
        )
    except (ConnectionError, ValueError, RuntimeError) as error:
        raise UsageError(
            f"cannot reach the Ray cluster at {address or 'a local address'}: {_last_line(error)}"
        ) from error
    return ray


def _refuse_if_unreachable(address: str | None) -> None:
    """Check that the cluster is reachable. Ray itself would take minutes to fail."""
    host, colon, port = (address or "").removeprefix("ray://").rpartition(":")
    if not colon or not port.isdigit():
        return
    try:
        socket.create_connection((host, int(port)), timeout=5).close()
    except OSError as error:
        raise UsageError(f"cannot reach the Ray cluster at {address}: {error}") from None


def _cause(error: Any) -> Exception:
    """Return the error raised in the worker if it is one of Theodolite's own, else a `ModelError`."""
    cause = error.cause
    return (
        cause
        if isinstance(cause, TheodoliteError)
        else ModelError(f"a Ray worker failed: {_last_line(cause or error)}")
    )


def _last_line(error: BaseException) -> str:
    lines = str(error).strip().splitlines()
    return lines[-1] if lines else type(error).__name__


def _with_picture_bytes(item: Item) -> Item:
    """Load the pictures of an item, for a machine that does not have the files."""

    def part(content: str | Picture) -> str | Picture:
        if isinstance(content, str) or content.data is not None:
            return content
        try:
            return replace(content, data=content.read())
        except UsageError:
            return content  # unreadable here; the worker reports it in the record

    messages: Sequence[Message] = [
        Message(m.role, tuple(map(part, m.content))) for m in item.request.messages
    ]
    request: Request = replace(item.request, messages=tuple(messages))
    return replace(item, request=request)
