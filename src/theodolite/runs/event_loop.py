"""Running asynchronous work from plain code, in a script and in a notebook alike."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

ResultT = TypeVar("ResultT")


async def all_of(work: Iterable[Coroutine[Any, Any, ResultT]]) -> list[ResultT]:
    """Waits for all, in order. If one raises, the others are cancelled and ended before the error goes on."""
    try:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(each) for each in work]
    except ExceptionGroup as several:
        raise several.exceptions[0] from None
    return [task.result() for task in tasks]


def run_async(work: Callable[[], Coroutine[Any, Any, ResultT]]) -> ResultT:
    """Runs a coroutine to its end; where this thread has a running loop (a notebook), in a thread of its own."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(work())
    with ThreadPoolExecutor(max_workers=1) as pool:
        return pool.submit(asyncio.run, work()).result()
