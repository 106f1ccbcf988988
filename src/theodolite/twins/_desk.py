"""Asking a model in portions, and shares with their intervals: what every part of a certificate is made with."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from theodolite import stats
from theodolite.models import HintedModel, VisionLanguageModel, is_choosing
from theodolite.types import Choice, Request, Response

T = TypeVar("T")
BOUND = 0.05
"""Two figures are equal if their difference lies within ±5 points (two one-sided tests)."""
_PORTION = 4
"""Batches that are made ready at once."""


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


@dataclass(frozen=True, slots=True)
class Asked:
    """A question with fixed answers, and how an answer in words is read."""

    request: Request
    options: tuple[str, ...]
    read: Callable[[str], str | None]


@dataclass(slots=True)
class Desk:
    """Asks one model, keeps nothing but answers, and tells how far it is."""

    model: VisionLanguageModel
    seed: int = 0
    progress: Callable[[str, int], None] | None = None
    """Called with what is asked and how many answers there are of it."""
    counts: dict[str, int] = field(default_factory=dict)

    def answers(self, asked: Iterable[Asked], what: str) -> list[str | None]:
        """The most probable option of each, or what its words come down to; None where that is nothing."""
        found: list[str | None] = []
        for some in self._portions(asked, what):
            found += self._answer(some)
        return found

    def _answer(self, some: Sequence[Asked]) -> list[str | None]:
        requests = self._visible([each.request for each in some])
        if is_choosing(self.model):
            choices = self.model.choose(requests, [each.options for each in some])
            return [choice.best if isinstance(choice, Choice) else None for choice in choices]
        said = self.model.generate(requests)
        return [
            each.read(response.text) if response.is_answered else None
            for each, response in zip(some, said, strict=True)
        ]

    def texts(self, requests: Iterable[Request], what: str) -> list[Response]:
        """What the model writes."""
        found: list[Response] = []
        for some in self._portions(requests, what):
            found += self.model.generate(self._visible(some))
        return found

    def _visible(self, requests: Sequence[Request]) -> list[Request]:
        """The requests without what only a scripted model may see."""
        if isinstance(self.model, HintedModel):
            return list(requests)
        return [replace(request, hint={}) for request in requests]

    def _portions(self, asked: Iterable[T], what: str) -> Iterator[list[T]]:
        waiting = iter(asked)
        while some := list(itertools.islice(waiting, self.model.batch_size * _PORTION)):
            yield some
            self.counts[what] = self.counts.get(what, 0) + len(some)
            if self.progress is not None:
                self.progress(what, self.counts[what])


def share(hits: Sequence[bool]) -> stats.Estimate:
    """A share of independent items, with Wilson's interval."""
    return stats.wilson_interval(int(sum(hits)), len(hits))


def mean(values: Sequence[float], clusters: Sequence[str], *, seed: int) -> stats.Estimate:
    """A mean of shares with its interval over clusters; Wilson's for as many clusters where all are alike at 0 or 1."""
    array = np.asarray(values, np.float64)
    n = len(set(clusters))
    if n > 1 and np.ptp(array):
        return stats.bootstrap(array, clusters=list(clusters), interval="percentile", seed=seed)
    value = float(array.mean())
    if value in {0.0, 1.0}:
        return stats.wilson_interval(int(value) * n, n)
    return stats.Estimate(value, value, value, n, 0.95, "all values alike: no interval", array.size)


def macro(
    values: Sequence[float], groups: Sequence[str], clusters: Sequence[str], *, seed: int
) -> stats.Estimate:
    """The mean over groups of the means of their values, with its interval over clusters.

    >>> macro([1, 1, 0, 1], ["a", "a", "b", "a"], ["s", "t", "s", "t"], seed=0).value
    0.5
    """
    array = np.asarray(values, np.float64)
    codes = np.unique(np.asarray(groups), return_inverse=True)[1].astype(np.float64)
    if not np.ptp(array) or len(set(clusters)) < 2:
        return mean(values, clusters, seed=seed)

    def statistic(x: NDArray[np.float64], group: NDArray[np.float64]) -> float:
        return float(np.mean([x[group == code].mean() for code in np.unique(group)]))

    return stats.bootstrap(
        (array, codes), statistic, clusters=list(clusters), interval="percentile", seed=seed
    )


def difference(
    first: Sequence[float], second: Sequence[float], clusters: Sequence[str], *, seed: int
) -> stats.Estimate:
    """A paired difference of shares with its 90 % interval, which lies within ±5 points exactly if both tests at 5 % reject.

    Where all differences are alike, n alike units leave as much doubt as Wilson's interval of n of n.
    """
    a, b = np.asarray(first, np.float64), np.asarray(second, np.float64)
    n = len(set(clusters))
    if n > 1 and np.ptp(a - b):
        return stats.bootstrap(
            (a, b), "difference", clusters=list(clusters), interval="percentile", level=0.9, seed=seed
        )
    value, doubt = float((a - b).mean()), 1 - stats.wilson_interval(n, n, level=0.9).low
    return stats.Estimate(
        value, max(-1.0, value - doubt), min(1.0, value + doubt), n, 0.9, "Wilson, all pairs alike", a.size
    )


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
