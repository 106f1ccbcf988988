"""A chat server that misbehaves on demand, speaking plain HTTP so that every fault is a real one on the wire."""

import asyncio
import gzip
import json
import socket
import struct
import threading
from collections import Counter


class FaultServer:
    """Answers ``/v1/chat/completions``. The request's own text says what goes wrong: ``fault:429 …``."""

    def __init__(self):
        self.counts = Counter()
        self.requests = []
        self.in_flight = 0
        self.most_in_flight = 0
        self.delay = 0.0
        self.url = ""
        self.models = {"object": "list", "data": []}
        self._ready = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()
        assert self._ready.wait(10)

    def stop(self):
        self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join(10)

    def _run(self):
        asyncio.run(self._serve())

    async def _serve(self):
        self._loop, self._stop = asyncio.get_running_loop(), asyncio.Event()
        server = await asyncio.start_server(self._handle, "127.0.0.1", 0)
        self.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1"
        self._ready.set()
        await self._stop.wait()
        server.close()

    async def _handle(self, reader, writer):
        try:
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                length = next(
                    (
                        int(line.split(b":")[1])
                        for line in head.split(b"\r\n")
                        if line.lower().startswith(b"content-length")
                    ),
                    0,
                )
                body = json.loads(await reader.readexactly(length)) if length else {}
                await self._answer(head, body, writer)
        except (asyncio.IncompleteReadError, ConnectionError, asyncio.CancelledError):
            pass
        finally:
            writer.close()

    async def _answer(self, head, body, writer):
        if b"/models" in head.split(b"\r\n")[0]:
            await send(writer, 200, self.models)
            return
        self.requests.append((head.decode(), body))
        self.in_flight += 1
        self.most_in_flight = max(self.most_in_flight, self.in_flight)
        try:
            text = text_of(body)
            fault = text.split()[0].removeprefix("fault:") if text.startswith("fault:") else ""
            self.counts[fault, text] += 1
            await asyncio.sleep(self.delay)
            await FAULTS.get(fault, answer)(writer, body, self.counts[fault, text])
        finally:
            self.in_flight -= 1


async def send(writer, status, payload, headers=()):
    data = payload if isinstance(payload, bytes) else json.dumps(payload).encode()
    lines = [
        f"HTTP/1.1 {status} x",
        "content-type: application/json",
        f"content-length: {len(data)}",
        *headers,
    ]
    writer.write("\r\n".join(lines).encode() + b"\r\n\r\n" + data)
    await writer.drain()


def text_of(body):
    """The text of the last turn, which is plain where there is no picture."""
    content = body["messages"][-1]["content"]
    return content if isinstance(content, str) else "".join(part.get("text", "") for part in content)


def completion(text, **message):
    return {
        "id": "1",
        "object": "chat.completion",
        "choices": [
            {
                "index": 0,
                "finish_reason": "stop",
                "message": {"role": "assistant", "content": text, **message},
            }
        ],
        "usage": {"prompt_tokens": 5, "completion_tokens": 2, "total_tokens": 7},
    }


async def answer(writer, body, _):
    await send(writer, 200, completion("you said: " + text_of(body)))


async def reset(writer, *_):
    """Ends the connection with RST."""
    writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    writer.transport.abort()
    raise ConnectionError


async def hang(*_):
    await asyncio.sleep(3600)


async def truncated(writer, *_):
    """Promises more than it sends, then closes."""
    data = json.dumps(completion("never whole")).encode()
    writer.write(f"HTTP/1.1 200 OK\r\ncontent-length: {len(data)}\r\n\r\n".encode() + data[:40])
    await writer.drain()
    writer.close()
    raise ConnectionError


def fails_first(status, times, headers=()):
    async def behave(writer, body, count):
        if count <= times:
            await send(writer, status, {"error": {"message": "not now"}}, headers)
        else:
            await answer(writer, body, count)

    return behave


def says(status, payload):
    async def behave(writer, *_):
        await send(writer, status, payload)

    return behave


def said(body):
    """What the request says after its fault."""
    return text_of(body).partition(" ")[2]


async def echo_as_no_completion(writer, body, _):
    await send(writer, 200, ("." * 70 + said(body)).encode())


async def echo_as_finish(writer, body, _):
    answered = completion("left")
    answered["choices"][0]["finish_reason"] = said(body)
    await send(writer, 200, answered)


async def echo_as_400(writer, body, _):
    await send(writer, 400, {"error": {"message": said(body)}})


async def echo_as_error(writer, body, _):
    """So long that the echo lies across the length at which a reason is cut."""
    await send(writer, 400, {"error": {"message": "." * 440 + said(body)}})


def odd(**changes):
    """A completion with some fields replaced, as raw JSON."""

    def put(text, name, value):
        return text.replace(json.dumps(name), value, 1)

    text = json.dumps(
        {
            "choices": [
                {"finish_reason": "FINISH", "logprobs": "LOGPROBS", "message": {"content": "CONTENT"}}
            ],
            "usage": {"prompt_tokens": "PROMPT", "completion_tokens": "COMPLETION"},
        }
    )
    defaults = {"FINISH": '"stop"', "LOGPROBS": "null", "CONTENT": '"left"', "PROMPT": "5", "COMPLETION": "2"}
    for name, value in {**defaults, **changes}.items():
        text = put(text, name, value)
    return text.encode()


COUNTS = {
    "negative": ("-7", 0),
    "over-64-bits": (str(1 << 70), 0),
    "float": ("3.0", 3),
    "half": ("3.5", 0),
    "exponent": ("1e300", 0),
    "implausible": ("99999999999", 0),
    "nan": ("NaN", 0),
    "infinite": ("Infinity", 0),
    "text": ('"7"', 0),
    "null": ("null", 0),
    "list": ("[7]", 0),
    "true": ("true", 0),
}
"""A usage count in JSON, and what is made of it."""

DEEP = "[" * 900 + "]" * 900
ODD_REPLIES = {
    "many-digits": odd(PROMPT="9" * 5000),
    "deep": b"[" * 100_000,
    "deep-content": odd(CONTENT=DEEP),
    "deep-text": odd(CONTENT='[{"text":' * 400 + '"x"' + "}]" * 400),
    "deep-finish": odd(FINISH=DEEP),
    "finish-object": odd(FINISH='{"a": 1}'),
    "content-number": odd(CONTENT="5"),
    "content-parts": odd(CONTENT='[{"type": "text", "text": "left"}, null, 5, {"text": 7}, {"text": "!"}]'),
    "content-surrogate": odd(CONTENT='"\\ud83d"'),
    "nan-logprobs": odd(LOGPROBS='{"content": [{"token": "x", "logprob": NaN}]}'),
    "top-list": b"[1, 2]",
    "top-text": b'"hello"',
    "top-null": b"null",
    "choices-object": b'{"choices": {"0": 1}}',
    "choices-numbers": b'{"choices": [1]}',
    "message-list": b'{"choices": [{"message": [1]}]}',
    "usage-list": b'{"choices": [{"message": {"content": "left"}}], "usage": [1]}',
    "not-utf8": b'{"choices": [{"message": {"content": "\xff"}}]}',
    "nothing": b"",
}


def redirects(status):
    async def behave(writer, body, _):
        await send(writer, status, b"", [f"location: {said(body)}"])

    return behave


async def bomb(writer, *_):
    """A small body that unpacks to 64 MiB."""
    packed = gzip.compress(json.dumps(completion(" " * (64 << 20))).encode(), compresslevel=9)
    await send(writer, 200, packed, ["content-encoding: gzip"])


async def packed(writer, body, _):
    """Packs its answer although nobody asked for it."""
    await send(
        writer, 200, gzip.compress(json.dumps(completion("left")).encode()), ["content-encoding: gzip"]
    )


def huge(_):
    return json.dumps(completion("x" * 10_000_000)).encode()


async def ten_megabytes(writer, *_):
    await send(writer, 200, huge(None))


FAULTS = {
    **{
        f"count-{name}": says(200, odd(PROMPT=value, COMPLETION=value)) for name, (value, _) in COUNTS.items()
    },
    **{name: says(200, reply) for name, reply in ODD_REPLIES.items()},
    **{f"redirect-{status}": redirects(status) for status in (301, 302, 303, 307, 308)},
    "429": says(429, {"error": {"message": "slow down"}}),
    "429-twice": fails_first(429, 2, ["retry-after: 0.05"]),
    "500": says(500, {"error": {"message": "oh no"}}),
    "500-once": fails_first(500, 1),
    "503-once": fails_first(503, 1),
    "400": says(400, {"error": {"message": "your request is bad"}}),
    "401": says(401, {"error": {"message": "who are you?"}}),
    "404": says(404, {"error": {"message": "no such model"}}),
    "quota": says(429, {"error": {"message": "pay first", "code": "insufficient_quota"}}),
    "filter": says(400, {"error": {"message": "not that", "code": "content_filter"}}),
    "reset": reset,
    "hang": hang,
    "truncated": truncated,
    "bad-json": says(200, b'{"choices": [{"mess'),
    "not-json": says(200, b"<html>gateway</html>"),
    "empty-choice": says(200, {"choices": []}),
    "null-choice": says(200, {"choices": None}),
    "no-message": says(200, {"choices": [{"finish_reason": "stop"}]}),
    "empty-text": says(200, completion("")),
    "refusal": says(200, completion(None, refusal="I would rather not")),
    "refusal-part": says(200, completion([{"type": "refusal", "refusal": "I would rather not"}])),
    "safety": says(200, odd(FINISH='"SAFETY"', CONTENT="null")),
    "declined": says(200, odd(FINISH='"refusal"', CONTENT='""')),
    "policy": says(403, {"error": {"message": "not that", "code": "content_policy_violation"}}),
    "number": says(200, odd(CONTENT="5")),
    "fraction": says(200, odd(CONTENT="-0.5")),
    "thinking": says(200, completion("left", reasoning_content="the cup is on the left")),
    "huge": ten_megabytes,
    "bomb": bomb,
    "packed": packed,
    "echo-as-no-completion": echo_as_no_completion,
    "echo-as-finish": echo_as_finish,
    "echo-as-error": echo_as_error,
    "echo-as-400": echo_as_400,
    "surrogate": says(
        200, b'{"choices": [{"finish_reason": "stop", "message": {"content": "half \\ud83d a pair"}}]}'
    ),
}
