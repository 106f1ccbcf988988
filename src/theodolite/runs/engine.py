"""The measuring loop: from a plan to stored records, here or in workers."""

from __future__ import annotations

import asyncio
import itertools
import json
import re
import time
import warnings
from collections.abc import Callable, Coroutine, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, field, replace
from importlib import metadata
from pathlib import Path
from platform import python_version
from typing import Any, Literal, Protocol, Self, TypeAlias, TypeVar, cast, runtime_checkable

from theodolite import __version__
from theodolite.core.errors import ContractError, DamageWarning, StorageError, TheodoliteError, UsageError
from theodolite.core.types import Choice, Item, Record, Response, canonical_json, content_hash
from theodolite.runs.run import Run
from theodolite.runs.store import (
    FAILURES,
    RunInfo,
    Session,
    Tally,
    checksum,
    choice_to_json,
    connect,
    is_whole,
    object_from_json,
    readable,
    record_from_row,
    schema_of,
    storable,
)

# A cache of answers across runs: a SQLite file that any number of processes may share.


_CREATE = "CREATE TABLE answers (key TEXT PRIMARY KEY, answer TEXT NOT NULL, sum BLOB NOT NULL) WITHOUT ROWID"
_CREATE_1 = _CREATE.replace(", sum BLOB NOT NULL", "")
"""The first format, without checksums."""


class AnswerCache:
    """Reusable answers by key. Only answered, deterministic records are stored; failures and refusals are not."""

    def __init__(self, folder: str | Path) -> None:
        self.path = Path(folder) / "answers.sqlite"
        with self._errors():
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self._db = connect(self.path, "create")
            is_older = self._check()
            self._db.execute("PRAGMA journal_mode=WAL")
            self._db.execute("PRAGMA synchronous=NORMAL")
            if is_older:
                self._convert()
            self._db.execute(_CREATE.replace("TABLE", "TABLE IF NOT EXISTS", 1))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._db.close()

    def get(self, key: str) -> Record | None:
        """Return the answer stored under the key, without an item id. None if there is none, or if it is damaged."""
        with self._errors():
            row = self._db.execute("SELECT key, answer, sum FROM answers WHERE key = ?", (key,)).fetchone()
        if row is None:
            return None
        if not is_whole(row):
            warnings.warn(f"{self.path}: a damaged answer is asked again", DamageWarning, stacklevel=2)
            return None
        with readable(self.path, f"the answer of the key {key}"):
            data = object_from_json(row[1])
            answer = (data["text"], "", data["reasoning"], data["finish"], *data["tokens"], 0.0, 1)
            scores = (data["choice"], json.dumps(data["values"]), True)
            return record_from_row("", ("answered", *answer, *scores))

    def put(self, key: str, record: Record) -> None:
        """Store an answer."""
        r = record.response
        if not r.is_answered:
            return
        data = {
            "text": storable(r.text),
            "reasoning": storable(r.reasoning),
            "finish": storable(r.finish),
            "tokens": [r.prompt_tokens, r.completion_tokens],
            "choice": choice_to_json(record.choice),
            "values": record.values,
        }
        with self._errors(), self._db:
            row = (key, storable(canonical_json(data)))
            self._db.execute("INSERT OR REPLACE INTO answers VALUES (?, ?, ?)", (*row, checksum(row)))

    def _check(self) -> bool:
        """Check that the file contains only answers. Return True if it has the first format."""
        schema = schema_of(self._db)
        if schema == {("table", "answers", _CREATE_1)}:
            return True
        if schema - {("table", "answers", _CREATE)}:
            self._db.close()
            raise StorageError(f"{self.path} is not an answer cache of Theodolite; choose another --cache")
        return False

    def _convert(self) -> None:
        """Add checksums to a cache of the first format."""
        with self._db:
            self._db.execute("BEGIN IMMEDIATE")
            rows = self._db.execute("SELECT key, answer FROM answers").fetchall()
            self._db.execute("DROP TABLE answers")
            self._db.execute(_CREATE)
            self._db.executemany(
                "INSERT INTO answers VALUES (?, ?, ?)", ((*row, checksum(row)) for row in rows)
            )

    @contextmanager
    def _errors(self) -> Iterator[None]:
        try:
            yield
        except (*FAILURES, OSError) as error:
            raise StorageError(
                f"the answer cache {self.path} cannot be used ({error}); remove it or omit --cache"
            ) from error


# The protocol of what an engine drives: something that measures items. Independent of models.


_KEY_VERSION = 1

Reuse: TypeAlias = Literal["same request", "same request and hint", "never"]
"""When one record may be reused for another item. ``same request``: for every item with the same request. ``same
request and hint``: a scripted model's answer also depends on the hint. ``never``: the record holds more than an answer,
such as relevance maps."""


@runtime_checkable
class Measurer(Protocol):
    """Measures batches of items. If it raises an error for a batch with a bad item, the engine identifies that item."""

    @property
    def identity(self) -> str:
        """Identifies its results: the model's identity and how it was asked."""
        ...

    @property
    def batch_size(self) -> int:
        """Preferred number of items per batch."""
        ...

    @property
    def reuse(self) -> Reuse:
        """When one item's record may be reused for another."""
        ...

    def measure(self, items: Sequence[Item]) -> Sequence[Record]:
        """Return one record per item, in order.

        If it asks the items in another order, the `place` of each record says in which.
        """
        ...

    def close(self) -> None:
        """Release all resources."""
        ...


@runtime_checkable
class AsyncMeasurer(Measurer, Protocol):
    """Measures items concurrently, one request each."""

    async def check(self) -> None:
        """Raise an error before any request if nothing can be measured."""
        ...

    async def measure_one(self, item: Item) -> Record:
        """Return the record of one item."""
        ...

    async def aclose(self) -> None:
        """Release the resources that belong to the running event loop."""
        ...


MeasurerFactory: TypeAlias = Callable[[], Measurer]
"""Creates a measurer, in this process or in a worker's."""


def answer_key(identity: str, item: Item, reuse: Reuse) -> str | None:
    """Return the cache key of an item: a hash of the model, messages, picture bytes and parameters.

    Args:
        identity: The identity of the measurer.
        item: The item.
        reuse: When one item's record may be reused for another.

    Returns:
        The key. None if the answer must not be reused: sampling is random, or the record has more than an answer.
    """
    if reuse == "never" or not item.request.is_deterministic:
        return None
    hint = dict(item.request.hint) if reuse == "same request and hint" else None
    return content_hash([_KEY_VERSION, identity, item.request.digest, list(item.options), hint])


# Run asynchronous work from synchronous code, in scripts and in notebooks.


ResultT = TypeVar("ResultT")


async def all_of(work: Iterable[Coroutine[Any, Any, ResultT]]) -> list[ResultT]:
    """Run all coroutines and return their results in order. If one raises, the others are cancelled first."""
    try:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(coroutine) for coroutine in work]
    except ExceptionGroup as several:
        raise several.exceptions[0] from None
    return [task.result() for task in tasks]


def run_async(work: Callable[[], Coroutine[Any, Any, ResultT]]) -> ResultT:
    """Run a coroutine to completion. If this thread already runs an event loop (a notebook), use another thread."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(work())
    with ThreadPoolExecutor(max_workers=1) as pool:
        return pool.submit(asyncio.run, work()).result()


# Measuring a plan: pending items are sent to an engine, and its records are committed as they arrive.


EngineName: TypeAlias = Literal["local", "ray"]


@dataclass(frozen=True, slots=True)
class Task:
    """An item to be measured by an engine."""

    seq: int
    item: Item
    key: str | None
    is_retry: bool
    """True if it failed in an earlier session."""
    place: int | None = None
    """Its place among all requests of the run, in the order in which they are handed out. None if no request is made."""


Sink: TypeAlias = Callable[[Sequence[tuple[Task, Record]]], None]
"""Commits finished work before it returns."""


class Engine(Protocol):
    """Takes tasks from an iterator and passes each to the sink once, in any order.

    Tasks are taken as they can be processed, not all at once, and asked in the order in which they are taken. A batch
    goes to the sink as a whole. Finished work is passed on before more is taken.
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

    def __post_init__(self) -> None:
        if self.limit is not None and self.limit < 1:
            raise UsageError(f"--limit must be at least 1, not {self.limit}")


_PLAIN = MeasureOptions()


def measure(run: Run, engine: Engine, options: MeasureOptions = _PLAIN) -> Tally:
    """Measure the pending items of a run: those not asked yet and those that failed.

    Items are asked in an order shuffled by the run's seed (`Store.pending`), so that what a model keeps from one request to
    the next does not go with what the plan asks first: an original and then its edits. `Record.place` stores the order in which requests
    were handed to the model. A batch takes consecutive places. Within it, a model may run requests at once, or those with
    fewer pictures and shorter texts first, which are equal for an item and its edits. Requests in progress at the same time
    (servers, several workers) start in this order, and may end in another.

    An answer from the cache is used for an item only if all items of its family (`Store.family`) have, or find, theirs
    there. So no pair compares a cached answer with a fresh one. An identical request within the run is made once.

    Args:
        run: A run from `Run.start`, with its plan.
        engine: The engine to use.
        options: Limit, cache and progress.

    Returns:
        The progress of the run. If interrupted, everything committed so far is kept.
    """
    session = Session(engine=engine.name, workers=engine.workers, versions=_versions())
    run.store.add_session(session.model_dump_json())
    tally = run.tally()
    report = options.progress or (lambda _: None)
    places = itertools.count(run.store.last_place() + 1)

    same = _SameRequests()

    def sink(finished: Sequence[tuple[Task, Record]]) -> None:
        nonlocal tally
        stored = run.store.add([(task.seq, task.key, record) for task, record in _placed(finished)])
        for (task, _), record in zip(finished, stored, strict=True):
            tally = _counted(tally, task, record)
            if options.cache is not None and task.key is not None and not record.reused:
                options.cache.put(task.key, record)
        report(tally)
        reused = [
            (other, _reused(record, other.item))
            for (task, _), record in zip(finished, stored, strict=True)
            for other in same.answered(task, record)
        ]
        if reused:
            sink(reused)

    def tasks() -> Iterator[Task]:
        for seq, item, is_retry in run.store.pending(seed=run.info.seed, limit=options.limit):
            key = answer_key(engine.identity, item, engine.reuse)
            known = _known_answer(run, engine, options.cache, item, key)
            task = Task(seq, item, key, is_retry)
            if known is not None:
                sink([(task, _reused(known, item))])
            elif not same.is_in_progress(task):
                yield replace(task, place=next(places))

    report(tally)
    engine.work(tasks(), sink)
    if same.unanswered:
        engine.work((replace(task, place=next(places)) for task in same.unanswered), sink)
    return run.tally()


class _SameRequests:
    """Items that make the same request as one that is in progress, and wait for its answer."""

    def __init__(self) -> None:
        self._waiting: dict[str, list[Task]] = {}
        self.unanswered: list[Task] = []
        """Tasks that waited for an answer that did not come."""

    def is_in_progress(self, task: Task) -> bool:
        """Return True if the same request is in progress; the task then waits. Otherwise it is from now on."""
        if task.key is None:
            return False
        if task.key in self._waiting:
            self._waiting[task.key].append(task)
            return True
        self._waiting[task.key] = []
        return False

    def answered(self, task: Task, record: Record) -> list[Task]:
        """Return the tasks to which the answer of a finished request belongs too."""
        waiting = self._waiting.pop(task.key, []) if task.key is not None else []
        if record.response.is_answered:
            return waiting
        self.unanswered += waiting
        return []


def _reused(known: Record, item: Item) -> Record:
    """Return a known answer as that to an item. No request was made for it."""
    response = replace(known.response, seconds=0.0, attempts=0)
    return replace(known, item_id=item.id, response=response, reused=True)


def _counted(tally: Tally, task: Task, record: Record) -> Tally:
    """Update the tally by one record, to avoid a query per commit."""
    counts = {
        "answered": tally.answered,
        "refused": tally.refused,
        "failed": tally.failed - int(task.is_retry),
    }
    counts[record.response.status] += 1
    return replace(tally, reused=tally.reused + int(record.reused), **counts)


def _placed(finished: Sequence[tuple[Task, Record]]) -> Iterator[tuple[Task, Record]]:
    """Yield a batch with its places. If the measurer says in which order it asked, its places are taken in that order."""
    made = [(task, record) for task, record in finished if task.place is not None]
    places = iter(sorted(cast("int", task.place) for task, _ in made))
    order = sorted(range(len(made)), key=lambda i: (made[i][1].place or 0, i))
    placed = {made[i][0].seq: next(places) for i in order}
    for task, record in finished:
        yield task, replace(record, place=placed[task.seq]) if task.seq in placed else record


def _known_answer(
    run: Run, engine: Engine, cache: AnswerCache | None, item: Item, key: str | None
) -> Record | None:
    """Return an answer that can be reused for an item: that to the same request in this run, else one from the cache."""
    if key is None:
        return None
    if (own := run.store.find_answer(key)) is not None or cache is None:
        return own
    known = cache.get(key)
    if known is None or not all(_is_in_cache(run, engine, cache, *each) for each in run.store.family(item)):
        return None
    return known


def _is_in_cache(run: Run, engine: Engine, cache: AnswerCache, item: Item, record: Record | None) -> bool:
    """Return True if the answer to an item came from the cache, or would come from there."""
    if record is not None and record.response.status != "failed":
        return record.is_cached
    key = answer_key(engine.identity, item, engine.reuse)
    if key is None:
        return False
    own = run.store.find_answer(key)
    return own.is_cached if own is not None else cache.get(key) is not None


def _versions() -> dict[str, str]:
    """Return the versions of the packages that can affect an answer. Nothing is imported."""
    versions = {"python": python_version()}
    for name in ("theodolite", "numpy", "pillow", "torch", "transformers", "openai", "ray"):
        try:
            versions[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return versions


# Measure a batch of items so that one bad item does not affect the others.


_COMPUTED = ("choice", "measured")
"""How a response finishes that no text was generated for."""

ItemT = TypeVar("ItemT")


def measure_batch(measurer: Measurer, items: Sequence[Item]) -> list[Record]:
    """Measure a batch. An item that raises an error becomes a failed record; the others are still measured."""
    if isinstance(measurer, AsyncMeasurer):
        return run_async(lambda: _measure_together(measurer, items))
    return bisect_failures(lambda part: _timed(measurer, part), items, on_failure=failed_record)


def _timed(measurer: Measurer, items: Sequence[Item]) -> list[Record]:
    """Measure a batch, and divide its time among the records without one, which were computed inside the model."""
    started = time.monotonic()
    records = _checked(items, measurer.measure(items))
    inside = {r.item_id for r in records if r.response.finish in _COMPUTED and not r.response.seconds}
    left = time.monotonic() - started - sum(record.response.seconds for record in records)
    return [
        replace(r, response=replace(r.response, seconds=max(left, 0.0) / len(inside)))
        if r.item_id in inside
        else r
        for r in records
    ]


async def measure_one(measurer: AsyncMeasurer, item: Item) -> Record:
    """Measure one item. Any error becomes a failed record."""
    try:
        return _checked([item], [await measurer.measure_one(item)])[0]
    except Exception as error:
        if concerns_all(error):
            raise
        return failed_record(item, describe(error))


def failed_record(item: Item, reason: str) -> Record:
    """Create the record of an item that could not be measured."""
    return Record(item.id, Response.failed(reason))


async def _measure_together(measurer: AsyncMeasurer, items: Sequence[Item]) -> list[Record]:
    try:
        await measurer.check()
        return await all_of(measure_one(measurer, item) for item in items)
    finally:
        await measurer.aclose()


def _checked(items: Sequence[Item], records: Sequence[Record]) -> list[Record]:
    """Check a measurer's output: one record per item, with matching ids and values that can be written as JSON."""
    if len(records) != len(items):
        raise ContractError(f"{len(records)} records were returned for {len(items)} items")
    for item, record in zip(items, records, strict=True):
        if not isinstance(record, Record):
            raise ContractError(f"a {type(record).__name__} was returned instead of a record")
        if not isinstance(record.response, Response):
            raise ContractError(f"a {type(record.response).__name__} was returned instead of a response")
        if not isinstance(record.choice, Choice | None):
            raise ContractError(f"a {type(record.choice).__name__} was returned instead of a choice")
        if not isinstance(record.place, int | None):
            raise ContractError(f"the place {record.place!r:.80} is no number")
        if record.item_id != item.id:
            raise ContractError(f"a record of {record.item_id} was returned for the item {item.id}")
        try:
            canonical_json(record.values)
        except (TypeError, ValueError) as error:
            raise UsageError(f"the measured values cannot be written as JSON: {error}") from error
    return list(records)


def bisect_failures(
    work: Callable[[Sequence[ItemT]], Sequence[ResultT]],
    items: Sequence[ItemT],
    *,
    on_failure: Callable[[ItemT, str], ResultT],
) -> list[ResultT]:
    """Process a batch. If that raises an error, halve the batch until only the bad items fail.

    Splitting also helps when a GPU runs out of memory. Errors that concern the whole model or the run folder are
    raised.

    Args:
        work: Function that processes a batch.
        items: The batch.
        on_failure: Function from a bad item and the reason to its result.

    >>> bisect_failures(lambda xs: [1 / x for x in xs], [1, 0, 4], on_failure=lambda x, reason: reason)
    [1.0, 'ZeroDivisionError: division by zero', 0.25]
    """
    try:
        return list(work(items))
    except Exception as error:
        if concerns_all(error):
            raise
        if len(items) == 1:
            return [on_failure(items[0], describe(error))]
    half = len(items) // 2
    return [
        *bisect_failures(work, items[:half], on_failure=on_failure),
        *bisect_failures(work, items[half:], on_failure=on_failure),
    ]


def concerns_all(error: Exception) -> bool:
    """Return True if an error concerns the whole model or run folder, not just one item's input or answer."""
    return isinstance(error, TheodoliteError) and not isinstance(error, UsageError | ContractError)


def describe(error: BaseException, *, clean: Callable[[str], str] = str) -> str:
    """Describe an error in one line. The type is included unless it is one of Theodolite's own errors.

    Args:
        error: The error.
        clean: Removes secrets. Applied before the text is shortened.
    """
    text = re.sub(
        r"\b0x[0-9a-f]{6,}\b", "0x…", " ".join(str(error).split())
    )  # so that equal errors give equal text
    text = storable(clean(text)[:500])
    if isinstance(error, TheodoliteError):
        return text
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


# The single-process engine: batches for local models, concurrent requests for servers.


class LocalEngine:
    """Drives one measurer."""

    name: EngineName = "local"

    def __init__(self, measurer: Measurer, *, workers: int | None = None) -> None:
        """Create the engine.

        Args:
            measurer: The measurer to drive.
            workers: Number of items processed at once. Default: the measurer's batch size.
        """
        if workers is not None and workers < 1:
            raise UsageError(f"--workers must be at least 1, not {workers}")
        self.measurer = measurer
        self.identity = measurer.identity
        self.reuse = measurer.reuse
        self.workers = workers or measurer.batch_size

    def work(self, tasks: Iterator[Task], sink: Sink) -> None:
        """Measure all tasks."""
        measurer = self.measurer
        if isinstance(measurer, AsyncMeasurer):
            run_async(lambda: self._work_async(measurer, tasks, sink))
            return
        while batch := list(itertools.islice(tasks, self.workers)):
            records = measure_batch(measurer, [task.item for task in batch])
            sink(list(zip(batch, records, strict=True)))

    def close(self) -> None:
        """Close the measurer."""
        self.measurer.close()

    async def _work_async(self, measurer: AsyncMeasurer, tasks: Iterator[Task], sink: Sink) -> None:
        async def worker() -> None:
            for task in tasks:
                sink([(task, await measure_one(measurer, task.item))])

        try:
            await measurer.check()
            await all_of(worker() for _ in range(self.workers))
        finally:
            await measurer.aclose()


# The measuring loop: start or resume a run, plan its items, measure the pending ones, and repeat if the plan grew.
#
# Everything that calls a model uses this loop: each ``run`` command, the diagnosis and the twins' separation
# certificates.


Plan: TypeAlias = Callable[[Run], Iterable[Item]]
"""Returns the items of a run, given its results so far. Some plans add items once the first answers are known."""

_RAY_WORKERS = 2


@dataclass(frozen=True, slots=True)
class EngineOptions:
    """Where and how the model runs."""

    engine: str = "local"
    workers: int | None = None
    ray_address: str | None = None
    cache: Path | None = None
    """Folder of the answer cache shared between runs."""

    def __post_init__(self) -> None:
        if self.engine not in {"local", "ray"}:
            raise UsageError(f"there is no engine {self.engine!r}; there are: local, ray")
        if self.ray_address is not None and self.engine != "ray":
            raise UsageError("--ray-address needs --engine ray")


@dataclass(frozen=True, slots=True)
class RunSettings:
    """What identifies a run. A run folder can be resumed only with equal settings."""

    kind: str
    """The instrument, or one of its kinds of run, such as ``grid-explain``."""
    model: str
    seed: int = 0
    settings: Mapping[str, Any] = field(default_factory=dict)


def measure_run(
    folder: Path,
    settings: RunSettings,
    plan: Plan,
    source: Measurer | MeasurerFactory,
    *,
    options: EngineOptions | None = None,
    limit: int | None = None,
    progress: Callable[[Tally], None] | None = None,
) -> Tally:
    """Start or resume a run, and measure until its plan has no new items.

    Args:
        folder: The run folder.
        settings: Kind, model, seed and settings. Must be the same when a run is resumed.
        plan: Returns the items.
        source: An open measurer, which stays open, or a factory, which the engine calls.
        options: Engine, workers and cache.
        limit: Measure only this many items, from the start of the plan.
        progress: Called after every commit.

    Returns:
        The progress of the run.
    """
    how = options or EngineOptions()
    with ExitStack() as stack:
        engine = _engine(source, how, stack)
        info = RunInfo(
            instrument=settings.kind,
            model=settings.model,
            identity=engine.identity,
            settings=dict(settings.settings),
            seed=settings.seed,
            theodolite=__version__,
        )
        run = stack.enter_context(Run.start(folder, info))
        cache = stack.enter_context(AnswerCache(how.cache)) if how.cache is not None else None
        measuring = MeasureOptions(limit=limit, cache=cache, progress=progress)
        grows = _plan(run, plan)[1]
        tally = measure(run, engine, measuring)
        while grows:
            n_new, grows = _plan(run, plan)
            if not n_new:
                break
            tally = measure(run, engine, measuring)
        return tally


def _plan(run: Run, plan: Plan) -> tuple[int, bool]:
    """Plan all items. Return the number of new ones, and whether the plan depends on results, so that it may grow."""
    run.was_read = False
    n_new = run.plan(plan(run), whole=True)
    return n_new, run.was_read


def _engine(source: Measurer | MeasurerFactory, how: EngineOptions, stack: ExitStack) -> Engine:
    """Create the engine. If it opens its own measurer, it is closed with the stack."""
    if isinstance(source, Measurer) and not isinstance(source, type):  # a class is a factory
        if how.engine == "ray":
            raise UsageError("an open model cannot be sent to Ray workers; pass its name instead")
        return LocalEngine(source, workers=how.workers)
    if how.engine == "ray":
        from theodolite.runs.ray import RayEngine

        engine: Engine = RayEngine(source, workers=how.workers or _RAY_WORKERS, address=how.ray_address)
    else:
        engine = LocalEngine(source(), workers=how.workers)
    return stack.enter_context(closing(engine))
