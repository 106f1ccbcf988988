"""Measuring a plan: pending items are sent to an engine, and its records are committed as they arrive."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from importlib import metadata
from platform import python_version
from typing import Literal, Protocol, TypeAlias

from theodolite.core.errors import UsageError
from theodolite.core.types import Item, Record
from theodolite.runs.cache import AnswerCache
from theodolite.runs.measurer import Reuse, answer_key
from theodolite.runs.results import Tally
from theodolite.runs.run import Run
from theodolite.runs.serialize import Session

EngineName: TypeAlias = Literal["local", "ray"]


@dataclass(frozen=True, slots=True)
class Task:
    """An item to be measured by an engine."""

    seq: int
    item: Item
    key: str | None
    is_retry: bool
    """True if it failed in an earlier session."""


Sink: TypeAlias = Callable[[Sequence[tuple[Task, Record]]], None]
"""Commits finished work before it returns."""


class Engine(Protocol):
    """Takes tasks from an iterator and passes each to the sink once, in any order.

    Tasks are taken as they can be processed, not all at once. Finished work is passed on before more is taken.
    """

    @property
    def name(self) -> EngineName:
        """Name of the engine."""
        ...

    @property
    def workers(self) -> int:
        """Number of items or batches in progress at once."""
        ...

    @property
    def identity(self) -> str:
        """The identity of its measurer, for cache keys."""
        ...

    @property
    def reuse(self) -> Reuse:
        """When one item's record may be reused for another."""
        ...

    def work(self, tasks: Iterator[Task], sink: Sink) -> None:
        """Measure all tasks."""
        ...

    def close(self) -> None:
        """Close the measurer and release all other resources."""
        ...


@dataclass(frozen=True, slots=True)
class MeasureOptions:
    """Options of `measure`."""

    limit: int | None = None
    """Measure only this many items, from the start of the plan."""
    cache: AnswerCache | None = None
    """Answers of other runs."""
    progress: Callable[[Tally], None] | None = None
    """Called after every commit with the progress of the run."""


_PLAIN = MeasureOptions()


def measure(run: Run, engine: Engine, options: MeasureOptions = _PLAIN) -> Tally:
    """Measure the pending items of a run: those not asked yet and those that failed.

    Args:
        run: A run from `Run.start`, with its plan.
        engine: The engine to use.
        options: Limit, cache and progress.

    Returns:
        The progress of the run. If interrupted, everything committed so far is kept.
    """
    if options.limit is not None and options.limit < 1:
        raise UsageError(f"--limit must be at least 1, not {options.limit}")
    session = Session(engine=engine.name, workers=engine.workers, versions=_versions())
    run.store.add_session(session.model_dump_json())
    tally = run.tally()
    report = options.progress or (lambda _: None)

    def sink(finished: Sequence[tuple[Task, Record]]) -> None:
        nonlocal tally
        stored = run.store.add([(task.seq, task.key, record) for task, record in finished])
        for (task, _), record in zip(finished, stored, strict=True):
            tally = _counted(tally, task, record)
            if options.cache is not None and task.key is not None and not record.reused:
                options.cache.put(task.key, record)
        report(tally)

    def tasks() -> Iterator[Task]:
        for seq, item, is_retry in run.store.pending(limit=options.limit):
            key = answer_key(engine.identity, item, engine.reuse)
            task = Task(seq, item, key, is_retry)
            known = _known_answer(run, options.cache, task.key)
            if known is None:
                yield task
            else:
                response = replace(known.response, seconds=0.0, attempts=0)  # no request was made for it
                sink([(task, replace(known, item_id=item.id, response=response, reused=True))])

    report(tally)
    engine.work(tasks(), sink)
    return run.tally()


def _counted(tally: Tally, task: Task, record: Record) -> Tally:
    """Update the tally by one record, to avoid a query per commit."""
    counts = {
        "answered": tally.answered,
        "refused": tally.refused,
        "failed": tally.failed - int(task.is_retry),
    }
    counts[record.response.status] += 1
    return replace(tally, reused=tally.reused + int(record.reused), **counts)


def _known_answer(run: Run, cache: AnswerCache | None, key: str | None) -> Record | None:
    if key is None:
        return None
    return run.store.find_answer(key) or (cache.get(key) if cache is not None else None)


def _versions() -> dict[str, str]:
    """The versions of the packages that can affect an answer. Nothing is imported."""
    found = {"python": python_version()}
    for name in ("theodolite", "numpy", "pillow", "torch", "transformers", "openai", "ray"):
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return found
