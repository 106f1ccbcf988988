"""Run asynchronous work from synchronous code, in scripts and in notebooks."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

ResultT = TypeVar("ResultT")


async def all_of(work: Iterable[Coroutine[Any, Any, ResultT]]) -> list[ResultT]:
    """Run all coroutines and return their results in order. If one raises, the others are cancelled first."""
    try:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(each) for each in work]
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
