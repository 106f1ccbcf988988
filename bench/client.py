"""Our server client, with store, limiter and retries, compared with a bare asyncio loop of the ``openai`` client.

The server runs in a separate process and answers after a fixed time. Both sides send the same requests in turn; the
ratio is that of the medians.
"""

import asyncio
import json
import multiprocessing
import statistics
import tempfile
import time
from collections.abc import Iterator
from multiprocessing.connection import Connection
from pathlib import Path

from bench.plans import info, items
from bench.result import Result
from theodolite.models import ask_measurer, open_model
from theodolite.runs import LocalEngine, Run, measure

CONCURRENCY = 64
REQUESTS = 4_000
ROUNDS = 3
LATENCIES = (0.2, 0.02)
"""Seconds that the server takes to answer. With the first, both sides wait for the server, as with a real model. With the
second, the time is dominated by the clients' own work."""

_COMPLETION = json.dumps(
    {
        "id": "1",
        "object": "chat.completion",
        "created": 0,
        "model": "m",
        "choices": [
            {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": "left"}}
        ],
        "usage": {"prompt_tokens": 9, "completion_tokens": 1, "total_tokens": 10},
    }
).encode()
_RESPONSE = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n" % len(
    _COMPLETION
)


def run() -> Iterator[Result]:
    """Yield the answers per second of both sides, and their ratio."""
    for latency in LATENCIES:
        here, there = multiprocessing.Pipe()
        server = multiprocessing.Process(target=_serve, args=(there, latency), daemon=True)
        server.start()
        url = here.recv()
        pairs = [(_bare(url), _ours(url)) for _ in range(ROUNDS)]
        server.terminate()
        bare, ours = (statistics.median(side) for side in zip(*pairs, strict=True))
        where = f"{CONCURRENCY} in flight, server takes {latency:g} s"
        yield Result(f"bare loop, {where}", bare, "req/s")
        yield Result(f"theodolite, {where}", ours, "req/s")
        yield Result("theodolite over bare loop", ours / bare, "×", at_least=0.95)


def _ours(url: str) -> float:
    with tempfile.TemporaryDirectory() as folder:
        model = open_model(f"openai:m@{url}?max_in_flight={CONCURRENCY}")
        with Run.start(Path(folder) / "run", info()) as opened:
            opened.plan(items(REQUESTS))
            started = time.perf_counter()
            tally = measure(opened, LocalEngine(ask_measurer(model)))
            seconds = time.perf_counter() - started
    assert tally.answered == REQUESTS
    return REQUESTS / seconds


def _bare(url: str) -> float:
    from openai import AsyncOpenAI

    async def loop() -> None:
        client = AsyncOpenAI(base_url=url, api_key="none", max_retries=0)
        waiting = items(REQUESTS)

        async def worker() -> None:
            for item in waiting:
                content = [{"type": "text", "text": item.request.text}]
                await client.chat.completions.create(
                    model="m",
                    messages=[{"role": "user", "content": content}],  # type: ignore[list-item,misc]
                    max_tokens=512,
                    temperature=0.0,
                )

        async with asyncio.TaskGroup() as group:
            for _ in range(CONCURRENCY):
                group.create_task(worker())
        await client.close()

    started = time.perf_counter()
    asyncio.run(loop())
    return REQUESTS / (time.perf_counter() - started)


def _serve(pipe: Connection, latency: float) -> None:
    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                lines = head.lower().split(b"\r\n")
                length = next((int(x.split(b":")[1]) for x in lines if x.startswith(b"content-length")), 0)
                await reader.readexactly(length)
                await asyncio.sleep(latency if length else 0)
                writer.write(_RESPONSE + _COMPLETION)
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()

    async def serve() -> None:
        server = await asyncio.start_server(handle, "127.0.0.1", 0)
        pipe.send(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1")
        await server.serve_forever()

    asyncio.run(serve())
