"""Measuring a batch so that one bad item costs itself alone: what every engine does at its core."""

from __future__ import annotations

from collections.abc import Sequence

from theodolite.core.errors import ContractError, UsageError
from theodolite.core.types import Choice, Item, Record, Response, canonical_json
from theodolite.runs.bisect_failures import concerns_all, describe, isolate
from theodolite.runs.event_loop import all_of, run_async
from theodolite.runs.measurer import AsyncMeasurer, Measurer


def measure_batch(measurer: Measurer, items: Sequence[Item]) -> list[Record]:
    """Measures a batch; an item that breaks it becomes a failed record, the others are measured all the same."""
    if isinstance(measurer, AsyncMeasurer):
        return run_async(lambda: _measure_together(measurer, items))
    return isolate(lambda part: _checked(part, measurer.measure(part)), items, on_failure=failed_record)


async def measure_one(measurer: AsyncMeasurer, item: Item) -> Record:
    """Measures one item; whatever goes wrong with it becomes a failed record."""
    try:
        return _checked([item], [await measurer.measure_one(item)])[0]
    except Exception as error:
        if concerns_all(error):
            raise
        return failed_record(item, describe(error))


def failed_record(item: Item, reason: str) -> Record:
    """The record of an item that could not be measured."""
    return Record(item.id, Response.failed(reason))


async def _measure_together(measurer: AsyncMeasurer, items: Sequence[Item]) -> list[Record]:
    try:
        await measurer.check()
        return await all_of(measure_one(measurer, item) for item in items)
    finally:
        await measurer.aclose()


def _checked(items: Sequence[Item], records: Sequence[Record]) -> list[Record]:
    """Holds a measurer to its promise: one record per item, each of its item, each writable as JSON."""
    if len(records) != len(items):
        raise ContractError(f"{len(records)} records came back for {len(items)} items")
    for item, record in zip(items, records, strict=True):
        if not isinstance(record, Record):
            raise ContractError(f"a {type(record).__name__} came back, where a record belongs")
        if not isinstance(record.response, Response):
            raise ContractError(f"a {type(record.response).__name__} came back, where a response belongs")
        if not isinstance(record.choice, Choice | None):
            raise ContractError(f"a {type(record.choice).__name__} came back, where a choice belongs")
        if record.item_id != item.id:
            raise ContractError(f"a record of {record.item_id} came back for the item {item.id}")
        try:
            canonical_json(record.values)
        except (TypeError, ValueError) as error:
            raise UsageError(f"the measured values cannot be written as JSON: {error}") from error
    return list(records)
