"""Measure a batch of items so that one bad item does not affect the others."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TypeVar

from theodolite.core.errors import ContractError, TheodoliteError, UsageError
from theodolite.core.types import Choice, Item, Record, Response, canonical_json
from theodolite.runs.event_loop import all_of, run_async
from theodolite.runs.measurer import AsyncMeasurer, Measurer
from theodolite.runs.records import storable

_COMPUTED = ("choice", "measured")
"""How a response finishes that no text was generated for."""

ItemT = TypeVar("ItemT")
ResultT = TypeVar("ResultT")


def measure_batch(measurer: Measurer, items: Sequence[Item]) -> list[Record]:
    """Measure a batch. An item that raises an error becomes a failed record; the others are still measured."""
    if isinstance(measurer, AsyncMeasurer):
        return run_async(lambda: _measure_together(measurer, items))
    return bisect_failures(lambda part: _timed(measurer, part), items, on_failure=failed_record)


def _timed(measurer: Measurer, items: Sequence[Item]) -> list[Record]:
    """Measure, and divide the time among the records that were computed inside the model, which have none of their own."""
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
    """Process a batch. If that raises an error, split the batch in halves until only the bad items fail.

    Splitting also helps when a GPU runs out of memory. Errors that concern the whole model or the run folder are
    raised.

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
    """True if an error concerns the whole model or run folder, not just one item's input or answer."""
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
