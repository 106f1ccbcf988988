"""What a certificate is made of: probes that are put to models, rows that are kept of their answers, lines read off the rows."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from multiprocessing import get_context
from typing import Any, TypeAlias, TypeVar

from theodolite import stats
from theodolite.core.errors import UsageError
from theodolite.core.types import Choice, Request
from theodolite.models import HintedModel, VisionLanguageModel, is_choosing

T = TypeVar("T")
Row: TypeAlias = dict[str, Any]
"""One answer as it is kept: ``split``, ``kind`` (``plain``, or what was done), ``part`` (prompt, bucket, world …), ``unit``,
``gold``, ``shortcut``; and ``said`` (the option) or ``text`` and ``status``."""

BOUND = 0.05
"""Two figures are equal if their difference lies within ±5 points (two one-sided tests)."""
_PORTION = 256
"""Probes that are put to every model before the next are made."""


@dataclass(frozen=True, slots=True)
class Line:
    """One figure of a certificate."""

    task: str
    """``relation``, ``grid``, ``scene`` or ``trace``."""
    what: str
    """Such as ``accuracy``, ``says the shortcut``, ``follows: mirror``, ``keeps: ground``."""
    split: str
    """``aligned``, ``crossed`` or ``free``."""
    estimate: stats.Estimate
    part: str = ""
    """A prompt, bucket, group or world; empty for all together."""
    unread: int = 0
    """Answers that failed, were refused or could not be read; they count as wrong."""


def line_from_json(value: Any) -> Line:
    """The inverse of a line's plain form."""
    return Line(
        str(value["task"]),
        str(value["what"]),
        str(value["split"]),
        stats.Estimate(**value["estimate"]),
        str(value["part"]),
        int(value["unread"]),
    )


@dataclass(frozen=True, slots=True)
class Probe:
    """A request, and what is to be known of it."""

    request: Request
    row: Row
    options: tuple[str, ...] = ()
    """What may be answered; empty where the whole text counts."""
    read: Callable[[str], str | None] | None = None
    """How an answer in words comes down to an option."""


def put(probes: Iterable[Probe], models: Sequence[VisionLanguageModel]) -> Iterator[list[list[Row]]]:
    """Puts probes to models, portion by portion: for each portion, the rows of each model."""
    waiting = iter(probes)
    while some := list(itertools.islice(waiting, _PORTION)):
        yield [_rows(some, model) for model in models]


def _rows(some: Sequence[Probe], model: VisionLanguageModel) -> list[Row]:
    found: dict[int, Row] = {}
    choosing = [i for i, probe in enumerate(some) if probe.options and is_choosing(model)]
    writing = [i for i in range(len(some)) if i not in set(choosing)]
    if choosing and is_choosing(model):
        requests = [_visible(model, some[i].request) for i in choosing]
        choices = model.choose(requests, [some[i].options for i in choosing])
        for i, choice in zip(choosing, choices, strict=True):
            found[i] = {**some[i].row, "said": choice.best if isinstance(choice, Choice) else None}
    if writing:
        responses = model.generate([_visible(model, some[i].request) for i in writing])
        for i, response in zip(writing, responses, strict=True):
            read = some[i].read
            if some[i].options:
                said = read(response.text) if response.is_answered and read is not None else None
                found[i] = {**some[i].row, "said": said}
            else:
                found[i] = {**some[i].row, "status": response.status, "text": response.text}
    return [found[i] for i in range(len(some))]


def _visible(model: VisionLanguageModel, request: Request) -> Request:
    """The request without what only a scripted model may see."""
    return request if isinstance(model, HintedModel) else replace(request, hint={})


def spread(make: Callable[[T], list[Probe]], tasks: Sequence[T], workers: int) -> Iterator[Probe]:
    """The probes of every task, in order; made by so many processes ahead of their use."""
    if workers < 2:
        for task in tasks:
            yield from make(task)
        return
    with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as pool:
        waiting = [pool.submit(make, task) for task in tasks]
        try:
            for ready in waiting:
                yield from ready.result()
        finally:  # who has enough need not wait for the rest
            for unused in waiting:
                unused.cancel()


def share(hits: Sequence[bool]) -> stats.Estimate:
    """A share of independent items."""
    return stats.wilson_interval(int(sum(hits)), len(hits))


def mean(values: Sequence[float], clusters: Sequence[str]) -> stats.Estimate:
    """A mean of shares, over clusters."""
    return _found(stats.clustered_mean(values, list(clusters)))


def macro(values: Sequence[float], groups: Sequence[str], clusters: Sequence[str]) -> stats.Estimate:
    """The mean over groups of the means of their values, over clusters.

    >>> macro([1, 1, 0, 1], ["a", "a", "b", "a"], ["s", "t", "s", "t"]).value
    0.5
    """
    return _found(stats.clustered_mean(values, list(clusters), groups=list(groups)))


def difference(first: Sequence[float], second: Sequence[float], clusters: Sequence[str]) -> stats.Estimate:
    """A paired difference of shares with its 90 % interval, which lies within ±5 points exactly if both tests at 5 % reject."""
    return _found(stats.clustered_difference(first, second, list(clusters), level=0.9))


def _found(estimate: stats.Estimate | None) -> stats.Estimate:
    if estimate is None:
        raise UsageError("a certificate line needs at least one item")
    return estimate
