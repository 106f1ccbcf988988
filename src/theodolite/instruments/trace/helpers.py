"""Models that read or judge traces for us: asked together, each request once, within a budget, and their answers kept.

Extractors and verifiers ask when they need an answer, one trace at a time. `settled` runs a computation until nothing is left to
ask: each time, what was asked meanwhile is collected and sent in one batch. So requests run at once, and are counted before
the first is sent.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TypeVar

from theodolite.core.errors import UsageError
from theodolite.core.types import Item, Request, Response, content_hash
from theodolite.models import HintedModel, VisionLanguageModel, ask_measurer, open_model
from theodolite.runs import (
    AnswerCache,
    Cost,
    EngineOptions,
    Measurer,
    Run,
    RunSettings,
    Tally,
    answer_key,
    measure_run,
    plan_cost,
)

T = TypeVar("T")

KIND = "trace helper"
"""The kind of the passing runs in which helpers are asked."""
_ROUNDS = 12
"""More rounds than any computation needs: claims are extracted, then judged, then judged at the next step."""
_WAITING = Response.failed("not asked yet")


@dataclass(slots=True)
class Desk:
    """What was asked of helpers, and what they answered."""

    cache: Path | None = None
    """The folder where answers are kept from one process to the next."""
    budget: int | None = None
    """The most requests that are sent; None for any number."""
    workers: int | None = None
    progress: Callable[[str, int, int], None] = lambda *_: None
    asked: int = 0
    """Requests that were sent."""
    refused: int = 0
    """Requests that were not sent, since the budget was spent."""
    is_collecting: bool = False
    _answers: dict[str, Response] = field(default_factory=dict)
    _waiting: dict[str, dict[str, Item]] = field(default_factory=dict)
    """Items by model and key."""
    _open: dict[str, Measurer] = field(default_factory=dict)

    def ask(self, helper: Helper, requests: Sequence[Request]) -> list[Response]:
        """Return one response per request, in order; while requests are collected, a failed one for what is not known yet."""
        if helper.name not in self._open:
            self._open[helper.name] = helper.measurer()
        measurer = self._open[helper.name]
        items = [
            Item(content_hash([KIND, request.digest, dict(request.hint)]), request) for request in requests
        ]
        keys = [answer_key(measurer.identity, item, measurer.reuse) or item.id for item in items]
        waiting = self._waiting.setdefault(helper.name, {})
        new = {k: i for k, i in zip(keys, items, strict=True) if k not in self._answers and k not in waiting}
        known = self._kept(new)
        self._answers |= known
        waiting |= {key: item for key, item in new.items() if key not in known}
        if not self.is_collecting:
            self.send()
        return [self._answers.get(key, _WAITING) for key in keys]

    def _kept(self, keys: Iterable[str]) -> dict[str, Response]:
        """Return the answers that earlier processes kept."""
        if self.cache is None or not (self.cache / "answers.sqlite").exists():
            return {}
        with AnswerCache(self.cache) as cache:
            found = {key: cache.get(key) for key in keys}
        return {key: record.response for key, record in found.items() if record is not None}

    @contextmanager
    def collecting(self) -> Iterator[None]:
        """Collect what is asked meanwhile; nothing is sent."""
        self.is_collecting = True
        try:
            yield
        finally:
            self.is_collecting = False

    @property
    def n_waiting(self) -> int:
        """The number of requests that wait for being sent."""
        return sum(map(len, self._waiting.values()))

    def send(self) -> None:
        """Send what waits, as far as the budget allows; the rest fails."""
        waiting, self._waiting = self._waiting, {}
        for name, items in waiting.items():
            left = len(items) if self.budget is None else max(0, self.budget - self.asked)
            sent = dict(list(items.items())[:left])
            self.asked += len(sent)
            self.refused += len(items) - len(sent)
            spent = Response.failed(f"the budget of {self.budget} requests is spent")
            self._answers |= dict.fromkeys(items, spent) | (self._measured(name, sent) if sent else {})

    def _measured(self, name: str, items: dict[str, Item]) -> dict[str, Response]:
        def progress(tally: Tally) -> None:
            self.progress(f"asking {name}", tally.finished, tally.planned)

        with TemporaryDirectory() as scratch:
            folder = Path(scratch) / "run"
            how = EngineOptions(workers=self.workers, cache=self.cache)
            plan = list(items.values())
            measure_run(
                folder,
                RunSettings(KIND, name),
                lambda _: plan,
                self._open[name],
                options=how,
                progress=progress,
            )
            with Run.open(folder) as run:
                found = {r.item.id: r.record.response for r in run.results() if r.record is not None}
        return {key: found.get(item.id, _WAITING) for key, item in items.items()}

    def costs(self) -> dict[str, Cost]:
        """Return what sending all that waits would take, by model. A few requests are sent to find out."""
        return {
            name: plan_cost(list(items.values()), self._open[name], RunSettings(KIND, name))
            for name, items in self._waiting.items()
            if items
        }


_DESK: ContextVar[Desk | None] = ContextVar("desk", default=None)


@dataclass(frozen=True, slots=True)
class Helper:
    """A model that helps, by name or already open."""

    name: str
    model: VisionLanguageModel | None = None

    @classmethod
    def of(cls, named: str | VisionLanguageModel, role: str) -> Helper:
        """Return a helper.

        Args:
            named: A model, or its name.
            role: What it is for, for the message: ``judge:MODEL``.

        Raises:
            UsageError: No model is named.
        """
        if not isinstance(named, str):
            return cls(named.name, named)
        if not named:
            raise UsageError(f"{role} needs a model, such as openai:NAME@URL; see `theodolite list models`")
        return cls(named)

    @property
    def takes_hints(self) -> bool:
        """True if it is scripted, and may read the hints of requests."""
        return isinstance(self.model, HintedModel) or self.name.startswith("scripted:")

    def measurer(self) -> Measurer:
        """Return what asks the model. A model that is named is opened once in a process."""
        return _opened(self.name) if self.model is None else ask_measurer(self.model)

    def ask(self, requests: Sequence[Request]) -> list[Response]:
        """Return one response per request, in order. Equal requests are sent once."""
        desk = _DESK.get()
        if desk is not None:
            return desk.ask(self, requests)
        with at_desk(Desk()) as own:
            return own.ask(self, requests)


@lru_cache(maxsize=4)
def _opened(name: str) -> Measurer:
    return ask_measurer(open_model(name))


@contextmanager
def at_desk(desk: Desk) -> Iterator[Desk]:
    """Let all helpers ask at a desk."""
    token = _DESK.set(desk)
    try:
        yield desk
    finally:
        _DESK.reset(token)


def settled(compute: Callable[[], T], forget: Callable[[], object] = lambda: None) -> T:
    """Return the result of a computation once helpers have answered all that it asks.

    Args:
        compute: It asks helpers, and can be repeated.
        forget: Clears what the computation remembers, before it is repeated.
    """
    desk = _DESK.get()
    if desk is None:
        with at_desk(Desk()):
            return settled(compute, forget)
    for _ in range(_ROUNDS):
        with desk.collecting():
            result = compute()
        if not desk.n_waiting:
            return result
        forget()
        desk.send()
    return compute()


def collected(*computations: Callable[[], object]) -> dict[str, Cost]:
    """Return what the first round of some computations would ask, by model, and what that costs."""
    with ExitStack() as stack:
        desk = _DESK.get() or stack.enter_context(at_desk(Desk()))
        with desk.collecting():
            for compute in computations:
                compute()
        return desk.costs()
