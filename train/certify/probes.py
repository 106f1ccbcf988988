"""The parts of a certificate: probes to ask models, rows with their answers, and estimates over the rows."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias, TypeVar

from theodolite import stats
from theodolite.core.errors import UsageError
from theodolite.core.processes import worker_pool
from theodolite.core.types import Choice, Request
from theodolite.models import HintedModel, VisionLanguageModel, is_choosing

T = TypeVar("T")
Row: TypeAlias = dict[str, Any]
"""One stored answer: ``split``, ``kind`` (``plain``, or the edit), ``part`` (prompt, bucket, world …), ``unit`` (cluster),
``gold``, ``shortcut``, and either ``said`` (the chosen option) or ``text`` and ``status``."""

_CHUNK = 256
"""Number of probes that all models are asked before more are made."""


@dataclass(frozen=True, slots=True)
class Probe:
    """A request, with what scoring needs to know about it."""

    request: Request
    row: Row
    options: tuple[str, ...] = ()
    """The possible answers. Empty if the whole text is scored."""
    read: Callable[[str], str | None] | None = None
    """Function that reads an option in an answer. Returns None if there is none."""


def ask(probes: Iterable[Probe], models: Sequence[VisionLanguageModel]) -> Iterator[list[list[Row]]]:
    """Ask models all probes, in chunks. Yield the rows of each model for every chunk."""
    waiting = iter(probes)
    while some := list(itertools.islice(waiting, _CHUNK)):
        yield [_rows(some, model) for model in models]


def _rows(some: Sequence[Probe], model: VisionLanguageModel) -> list[Row]:
    rows: dict[int, Row] = {}
    choosing = [i for i, probe in enumerate(some) if probe.options and is_choosing(model)]
    writing = [i for i in range(len(some)) if i not in set(choosing)]
    if choosing and is_choosing(model):
        requests = [_without_hint(model, some[i].request) for i in choosing]
        choices = model.choose(requests, [some[i].options for i in choosing])
        for i, choice in zip(choosing, choices, strict=True):
            rows[i] = {**some[i].row, "said": choice.best if isinstance(choice, Choice) else None}
    if writing:
        responses = model.generate([_without_hint(model, some[i].request) for i in writing])
        for i, response in zip(writing, responses, strict=True):
            read = some[i].read
            if some[i].options:
                value = read(response.text) if response.is_answered and read is not None else None
                rows[i] = {**some[i].row, "said": value}
            else:
                rows[i] = {**some[i].row, "status": response.status, "text": response.text}
    return [rows[i] for i in range(len(some))]


def _without_hint(model: VisionLanguageModel, request: Request) -> Request:
    """Remove the hint, which only scripted models may see, for all other models."""
    return request if isinstance(model, HintedModel) else replace(request, hint={})


def make_probes(make: Callable[[T], list[Probe]], tasks: Sequence[T], workers: int) -> Iterator[Probe]:
    """Yield the probes of all tasks in order. With several workers, processes make them ahead of use.

    Args:
        make: Makes the probes of one task.
        tasks: The tasks.
        workers: Number of processes; below two, everything runs in this one.
    """
    if workers < 2:
        for task in tasks:
            yield from make(task)
        return
    with worker_pool(workers) as pool:
        waiting = [pool.submit(make, task) for task in tasks]
        try:
            for ready in waiting:
                yield from ready.result()
        finally:  # the caller may stop early
            for unused in waiting:
                unused.cancel()


def share(hits: Sequence[bool]) -> stats.Estimate:
    """Estimate a proportion of independent items."""
    return stats.wilson_interval(int(sum(hits)), len(hits))


def mean(values: Sequence[float], clusters: Sequence[str]) -> stats.Estimate:
    """Estimate the mean of values in [0, 1], over clusters."""
    return _required(stats.clustered_mean(values, list(clusters)))


def macro(values: Sequence[float], groups: Sequence[str], clusters: Sequence[str]) -> stats.Estimate:
    """Estimate the macro mean: the mean over groups of the means of their values, over clusters.

    >>> macro([1, 1, 0, 1], ["a", "a", "b", "a"], ["s", "t", "s", "t"]).value
    0.5
    """
    return _required(stats.clustered_mean(values, list(clusters), groups=list(groups)))


def difference(first: Sequence[float], second: Sequence[float], clusters: Sequence[str]) -> stats.Estimate:
    """Estimate a paired difference with its 90 % interval, which lies within ±5 points if both tests at 5 % reject."""
    return _required(stats.clustered_difference(first, second, list(clusters), level=0.9))


def _required(estimate: stats.Estimate | None) -> stats.Estimate:
    if estimate is None:
        raise UsageError("a certificate line needs at least one item")
    return estimate
