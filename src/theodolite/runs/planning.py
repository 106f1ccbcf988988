"""Estimate the cost of a run: requests, pictures, tokens and time. A few items are asked to measure the last two."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path

from theodolite import __version__
from theodolite.core.errors import MissingExtraError, ModelError, UnsupportedError, UsageError
from theodolite.core.types import Item, Record
from theodolite.runs.engine import EngineOptions, Measurer, MeasurerFactory, Plan, RunSettings, measure_run
from theodolite.runs.run import Run
from theodolite.runs.store import RunInfo

__all__ = [
    "Cost",
    "Price",
    "plan_cost",
    "planned_items",
]


_TIMED_S = 15.0
"""The timing aims to take no longer than this."""
_MOST_TIMED = 32
_TOKENS = 1_000_000
"""Prices are per million tokens."""


@dataclass(frozen=True, slots=True)
class Price:
    """US dollars per million tokens, of prompts and of answers."""

    prompt: float
    answer: float

    @classmethod
    def parse(cls, text: str) -> Price:
        """Parse one price for both, or two prices separated by a comma.

        Raises:
            UsageError: If the text is neither.

        >>> Price.parse("0.5,2"), Price.parse("3")
        (Price(prompt=0.5, answer=2.0), Price(prompt=3.0, answer=3.0))
        """
        try:
            prompt, answer = [float(word) for word in text.split(",")] * (1 if "," in text else 2)
        except ValueError:
            prompt = answer = -1.0
        if not (0 <= prompt < float("inf") and 0 <= answer < float("inf")):
            raise UsageError(
                f"--price takes US dollars per million tokens, one number or two (prompts,answers), not {text!r}"
            )
        return cls(prompt, answer)


@dataclass(frozen=True, slots=True)
class Cost:
    """The cost of a plan. What could not be measured is None, for the reason in `why_not`."""

    requests: int = 0
    """Number of items; with `calls` model calls each."""
    calls: int = 0
    """Model calls, at most: some items need several."""
    pictures: int = 0
    longest_answers_tokens: int = 0
    """Tokens of answers, at most."""
    prompt_tokens: int | None = 0
    """Expected tokens of prompts, pictures included. None if the model does not count them."""
    answer_tokens: int | None = 0
    seconds: float | None = 0.0
    """Expected time. None if nothing could be asked."""
    timed: int = 0
    """Number of items that were asked to find out."""
    why_not: str = ""

    def usd(self, price: Price) -> float | None:
        """Return the expected price. None if tokens are not known."""
        if self.prompt_tokens is None or self.answer_tokens is None:
            return None
        return (self.prompt_tokens * price.prompt + self.answer_tokens * price.answer) / _TOKENS

    def __add__(self, other: Cost) -> Cost:
        """Add the costs of two plans."""
        return Cost(
            self.requests + other.requests,
            self.calls + other.calls,
            self.pictures + other.pictures,
            self.longest_answers_tokens + other.longest_answers_tokens,
            _sum(self.prompt_tokens, other.prompt_tokens),
            _sum(self.answer_tokens, other.answer_tokens),
            None if self.seconds is None or other.seconds is None else self.seconds + other.seconds,
            self.timed + other.timed,
            self.why_not or other.why_not,
        )


def _sum(one: int | None, other: int | None) -> int | None:
    return None if one is None or other is None else one + other


def plan_cost(
    plan: Plan | Iterable[Item],
    source: Measurer | MeasurerFactory | None,
    settings: RunSettings,
    *,
    options: EngineOptions | None = None,
    calls: int = 1,
    more: int = 0,
    limit: int | None = None,
) -> Cost:
    """Count what a plan would ask, and ask a few of its items to measure time and tokens.

    Args:
        plan: The items, or a function that returns them.
        source: The measurer, or a factory. If None, nothing is asked.
        settings: The settings of the run.
        options: Engine and workers. The timing itself is always local.
        calls: Maximum number of model calls per item.
        more: Maximum number of items that are added once the first answers are known.
        limit: Count only this many items, from the start of the plan.
    """
    planned = list(islice(planned_items(plan, settings), limit))
    n = len(planned) + more if limit is None else min(len(planned) + more, limit)
    share = n / len(planned) if planned else 0.0
    counted = Cost(
        n,
        n * calls,
        round(share * sum(len(item.request.pictures) for item in planned)),
        round(share * sum(item.request.max_tokens for item in planned)),
    )
    if not planned:
        return counted
    if source is None:
        return replace(
            counted, seconds=None, prompt_tokens=None, answer_tokens=None, why_not="no model is named"
        )
    try:
        records, seconds = _timed(planned, source, settings, options or EngineOptions())
    except (MissingExtraError, ModelError, UnsupportedError) as error:
        return replace(counted, seconds=None, prompt_tokens=None, answer_tokens=None, why_not=str(error))
    answered = [each.response for each in records if each.response.is_answered]
    prompts = [each.prompt_tokens for each in answered if each.prompt_tokens]
    answers = [each.completion_tokens for each in answered if each.prompt_tokens]
    failed = next((each.response.reason for each in records if not each.response.is_answered), "")
    return replace(
        counted,
        prompt_tokens=round(sum(prompts) / len(prompts) * n) if prompts else None,
        answer_tokens=round(sum(answers) / len(answers) * n) if answers else None,
        seconds=seconds * n if answered else None,
        timed=len(records),
        why_not="" if answered else f"no answer in {len(records)} requests: {failed}",
    )


def planned_items(plan: Plan | Iterable[Item], settings: RunSettings) -> Iterable[Item]:
    """Return the items that a new run would start with."""
    if not callable(plan):
        return plan
    info = RunInfo(instrument=settings.kind, model=settings.model, identity="planned", theodolite=__version__)
    with tempfile.TemporaryDirectory() as scratch, Run.start(Path(scratch) / "run", info) as run:
        return list(plan(run))


def _timed(
    items: Sequence[Item], source: Measurer | MeasurerFactory, settings: RunSettings, options: EngineOptions
) -> tuple[list[Record], float]:
    """Ask one item, then as many as time allows, evenly over the plan. Return the records and seconds per item."""
    is_open = isinstance(source, Measurer) and not isinstance(source, type)
    measurer: Measurer = source if is_open else source()  # type: ignore[assignment, operator]
    how = EngineOptions(workers=options.workers)
    try:
        with tempfile.TemporaryDirectory() as scratch:
            first, seconds = _measured(items[:1], measurer, settings, how, Path(scratch) / "1")
            n = min(len(items), _MOST_TIMED, round(_TIMED_S / max(seconds, 1e-3)))
            if n < 2:
                return first, seconds
            some = [items[i * len(items) // n] for i in range(n)]
            records, seconds = _measured(some, measurer, settings, how, Path(scratch) / "2")
            return records, seconds / n
    finally:
        if not is_open:
            measurer.close()


def _measured(
    items: Sequence[Item], measurer: Measurer, settings: RunSettings, how: EngineOptions, folder: Path
) -> tuple[list[Record], float]:
    began = time.monotonic()
    measure_run(folder, settings, lambda _: items, measurer, options=how)
    seconds = time.monotonic() - began
    with Run.open(folder) as run:
        return [
            result.record for result in run.results(with_repeats=True) if result.record is not None
        ], seconds
