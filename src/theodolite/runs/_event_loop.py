"""Running asynchronous work from plain code, in a script and in a notebook alike."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

ResultT = TypeVar("ResultT")


def run_async(work: Callable[[], Coroutine[Any, Any, ResultT]]) -> ResultT:
    """Runs a coroutine to its end; where this thread has a running loop (a notebook), in a thread of its own."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(work())
    with ThreadPoolExecutor(max_workers=1) as pool:
        return pool.submit(asyncio.run, work()).result()
