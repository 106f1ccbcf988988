"""Measuring a plan: what is pending goes out, what comes back is committed at once."""

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
from theodolite.runs.run import Run
from theodolite.runs.serialize import Session
from theodolite.runs.store import Tally

EngineName: TypeAlias = Literal["local", "ray"]


@dataclass(frozen=True, slots=True)
class Task:
    """An item on its way through an engine."""

    seq: int
    item: Item
    key: str | None
    is_retry: bool
    """Whether it failed in an earlier session."""


Sink: TypeAlias = Callable[[Sequence[tuple[Task, Record]]], None]
"""Takes finished work; returns once it is committed."""


class Engine(Protocol):
    """Takes tasks from the source and hands each to the sink once, in any order.

    It pulls tasks as it can work on them, not all at once, and hands over what is done before it takes more.
    """

    @property
    def name(self) -> EngineName:
        """Which engine this is."""
        ...

    @property
    def workers(self) -> int:
        """How much it works on at once."""
        ...

    @property
    def identity(self) -> str:
        """The identity of its measurer, for cache keys."""
        ...

    @property
    def reuse(self) -> Reuse:
        """When one item's record may serve another."""
        ...

    def work(self, tasks: Iterator[Task], sink: Sink) -> None:
        """Runs until the tasks are used up."""
        ...

    def close(self) -> None:
        """Frees the measurer, and what else it holds."""
        ...


@dataclass(frozen=True, slots=True)
class MeasureOptions:
    """How to go about measuring a plan."""

    limit: int | None = None
    """Only the first so many items of the plan."""
    cache: AnswerCache | None = None
    """Answers of other runs."""
    progress: Callable[[Tally], None] | None = None
    """Called after every commit with how far the run is."""


_PLAIN = MeasureOptions()


def measure(run: Run, engine: Engine, options: MeasureOptions = _PLAIN) -> Tally:
    """Measures what is pending in a run: items never asked, and items that failed.

    Args:
        run: from `Run.start`, with its plan.
        engine: how the work is done.
        options: limit, cache and progress.

    Returns:
        How far the run is now. Interrupted, everything committed so far stays.
    """
    if options.limit is not None and options.limit < 1:
        raise UsageError(f"--limit must be at least 1, not {options.limit}")
    session = Session(engine=engine.name, workers=engine.workers, versions=_versions())
    run.store.add_session(session.model_dump_json())
    tally = run.tally()
    tell = options.progress or (lambda _: None)

    def sink(finished: Sequence[tuple[Task, Record]]) -> None:
        nonlocal tally
        run.store.add([(task.seq, task.key, record) for task, record in finished])
        for task, record in finished:
            tally = _counted(tally, task, record)
            if options.cache is not None and task.key is not None and not record.reused:
                options.cache.put(task.key, record)
        tell(tally)

    def tasks() -> Iterator[Task]:
        for seq, item, is_retry in run.store.pending(limit=options.limit):
            key = answer_key(engine.identity, item, engine.reuse)
            task = Task(seq, item, key, is_retry)
            known = _known_answer(run, options.cache, task.key)
            if known is None:
                yield task
            else:
                response = replace(known.response, seconds=0.0, attempts=0)  # nothing was asked for it
                sink([(task, replace(known, item_id=item.id, response=response, reused=True))])

    tell(tally)
    engine.work(tasks(), sink)
    return run.tally()


def _counted(tally: Tally, task: Task, record: Record) -> Tally:
    """The tally after one more record, so that no query is needed for each commit."""
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
    """The versions of what can change an answer; nothing is imported."""
    found = {"python": python_version()}
    for name in ("theodolite", "numpy", "pillow", "torch", "transformers", "openai", "ray"):
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return found
