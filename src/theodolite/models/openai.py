"""Chat models behind an OpenAI-compatible server: ``openai:name@url``.

The API key is read from the environment and removed from all texts. The number of requests in flight adapts to the
server.
"""

from __future__ import annotations

import asyncio
import base64
import email.utils
import html
import io
import json
import math
import os
import random
import re
import time
import zlib
from collections import deque
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any, ClassVar, Literal
from urllib.parse import quote, urlsplit

import httpx2
from pydantic import Field

from theodolite.core.errors import ModelError, UsageError
from theodolite.core.pictures import open_image
from theodolite.core.types import Message, Picture, Request, Response
from theodolite.models.contract import Capability, ModelName, ModelOptions, read_options
from theodolite.runs import all_of, describe, run_async

if TYPE_CHECKING:
    from openai import AsyncOpenAI


_LONG = 8
"""A shorter key is a placeholder such as ``EMPTY``. It is removed only as a whole word, and never from an answer."""

_HIDDEN = "[key]"
_PIECE = 6
"""Any part of a key of this length is removed from an error message."""
_END = 4
"""The first or last characters of a key, standing alone, as in "ending in 4f2c"."""
_MASK = "[*•·.…xX#_-]"
_MOST_CLEANED = 1 << 14
"""Characters of an error message that are kept at all."""


class Secret:
    """A key that is revealed only to the request header.

    >>> Secret("sk-0123456789").clean("got Bearer sk-0123456789, sorry")
    'got Bearer [key], sorry'
    >>> Secret("sk-0123456789")
    Secret([key])
    >>> Secret("sk-0123456789").clean_error("wrong key sk-0****89, the one that ends in 6789")
    'wrong key [key], the one that ends in [key]'
    """

    __slots__ = ("_forms", "_parts", "_value")

    def __init__(self, value: str) -> None:
        self._value = value
        self._parts = _parts_of(value) if len(value) >= _LONG else None
        self._forms = _forms_of(value) if len(value) >= _LONG else None

    @classmethod
    def from_environment(cls, variable: str) -> Secret:
        """Read the key from a variable, without surrounding white space. Empty if the variable is not set.

        Raises:
            ModelError: If an HTTP header cannot contain it. The message does not include the key.
        """
        value = os.environ.get(variable, "").strip()
        if any(not "!" <= character <= "~" for character in value):
            raise ModelError(
                f"the key in {variable} contains a space, a control or a non-ASCII character; set it again"
            )
        return cls(value)

    def __repr__(self) -> str:
        return f"Secret({_HIDDEN if self._value else ''})"

    def __bool__(self) -> bool:
        return bool(self._value)

    def reveal(self) -> str:
        """Return the key."""
        return self._value

    def clean(self, text: str) -> str:
        """Remove the key from a text, also in its usual encodings. Call this before shortening the text: half a key would not be found."""
        if self._forms is not None:
            return self._forms.sub(_HIDDEN, text)
        if not self._value:
            return text
        return re.sub(rf"(?<!\w){re.escape(self._value)}(?!\w)", _HIDDEN, text)

    def clean_error(self, text: str) -> str:
        """Remove the key and parts of it, which some servers repeat: ``sk-ab…yz``, or its last four characters."""
        text = self.clean(text[:_MOST_CLEANED])
        return text if self._parts is None else self._parts.sub(_HIDDEN, text)

    def clean_response(self, response: Response) -> Response:
        """Remove the key from all texts of a response."""
        from_answer = self.clean if len(self._value) >= _LONG else str
        return replace(
            response,
            text=from_answer(response.text),
            reasoning=from_answer(response.reasoning),
            reason=self.clean_error(response.reason),
            finish=self.clean_error(response.finish),
        )


def _forms_of(key: str) -> re.Pattern[str]:
    """Return a pattern for a key as it is, reversed, in base64, in hexadecimal, and escaped for addresses, JSON and HTML."""
    data = key.encode()
    forms = {key, key[::-1], quote(key, safe=""), html.escape(key), json.dumps(key)[1:-1]}
    escapes = ("{:02x}", "%{:02x}", "\\u{:04x}", "\\x{:02x}", "&#{};", "&#x{:x};")
    letters = {"".join(escape.format(byte) for byte in data) for escape in escapes}
    for start in range(
        3
    ):  # bytes before it, by which base64 shifts; the characters at its ends depend on its neighbours
        packed = base64.b64encode(bytes(start) + data).decode()
        inner = packed[-(-8 * start // 6) : 8 * (start + len(data)) // 6]
        forms |= {inner, inner.replace("+", "-").replace("/", "_")}

    def any_of(texts: set[str]) -> str:
        return "|".join(map(re.escape, sorted(texts, key=len, reverse=True)))

    return re.compile(f"{any_of(forms)}|(?i:{any_of(letters)})")


def _parts_of(key: str) -> re.Pattern[str]:
    """Return a pattern for masked and shortened forms of a key."""

    def any_of(parts: Iterable[str]) -> str:
        return "(?:" + "|".join(map(re.escape, sorted(set(parts), key=len, reverse=True))) + ")"

    starts = any_of(key[:n] for n in range(2, len(key)))
    ends = any_of(key[-n:] for n in range(2, len(key)))
    pieces = any_of(key[i : i + _PIECE] for i in range(len(key) - _PIECE + 1))
    alone = any_of(part for n in range(_END, _PIECE) for part in (key[:n], key[-n:]))
    return re.compile(
        rf"(?<!\w){starts}{_MASK}{{2,}}{ends}?|{starts}…{ends}?|{_MASK}{{2,}}{ends}(?!\w)|…{ends}(?!\w)"
        rf"|{pieces}+|(?<!\w){alone}(?!\w)"
    )


# Request control for servers: how many requests may be in flight, and when to retry.


_QUEUEING = 2.0
"""The server is queueing requests if an answer takes this many times as long as without load."""
_GAIN = 1.05
"""Minimum gain that counts as progress: five per cent more answers per second for a quarter more requests."""
_HOLD = 20
"""Number of rounds for which the best limit is kept before a higher one is tried again."""


class AdaptiveLimiter:
    """Concurrency limit that grows while throughput grows and shrinks when the server is overloaded.

    A round has as many answers as the limit allows at once. After each round:

    * if the server answers as fast as without load, the limit doubles; after the first sign of overload it grows
      by one;
    * if answers have become slow, and a quarter more requests than in the best round bring no more answers per
      second, the limit returns to the best one and is held for a while.

    A 429, a 503 or a time-out halves the limit, at most once per round. ``Retry-After`` pauses all new requests.
    """

    def __init__(self, maximum: int, *, start: int = 16) -> None:
        self.maximum = maximum
        self.limit = min(start, maximum)
        self.in_flight = 0
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._resume_at = 0.0
        self._doubling = True
        self._cut_at = float("-inf")
        self._round: list[float] = []
        self._round_started: float | None = None
        self._fastest = float("inf")
        self._best_rate = 0.0
        self._best_limit = self.limit
        self._hold = 0

    @asynccontextmanager
    async def slot(self) -> AsyncIterator[None]:
        """Wait for a free slot and hold it while the block runs."""
        await self._acquire()
        try:
            yield
        finally:
            self.in_flight -= 1
            self._wake()

    def succeeded(self, seconds: float) -> None:
        """Report an answer and its duration."""
        if self._round_started is None:
            self._round_started = time.monotonic() - seconds
        self._round.append(seconds)
        if len(self._round) >= self.limit:
            self._end_round()
            self._wake()

    def strained(self) -> None:
        """Report a 429, a 503 or a time-out. Halves the limit once for all requests that fail at the same time."""
        now = time.monotonic()
        self._doubling = False
        if now - self._cut_at >= min(self._fastest, 1.0):
            self._cut_at = now
            self.limit = max(1, self.limit // 2)
            self._round, self._round_started = [], None

    def pause(self, seconds: float) -> None:
        """Pause all new requests, as the server asked."""
        self._resume_at = max(self._resume_at, time.monotonic() + seconds)

    async def _acquire(self) -> None:
        await self._wait_for_pause()
        if self.in_flight < self.limit and not self._waiting:
            self.in_flight += 1
            return
        waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append(waiter)
        try:
            await waiter
        except asyncio.CancelledError:
            if waiter.done() and not waiter.cancelled():
                self.in_flight -= 1
                self._wake()
            raise
        await self._wait_for_pause()

    async def _wait_for_pause(self) -> None:
        while (left := self._resume_at - time.monotonic()) > 0:  # noqa: ASYNC110 - the pause may be extended meanwhile
            await asyncio.sleep(left)

    def _wake(self) -> None:
        while self._waiting and self.in_flight < self.limit:
            waiter = self._waiting.popleft()
            if not waiter.done():
                self.in_flight += 1
                waiter.set_result(None)

    def _end_round(self) -> None:
        now = time.monotonic()
        mean = sum(self._round) / len(self._round)
        rate = len(self._round) / max(now - (self._round_started or 0.0), 1e-9)
        self._round_started = now
        self._round.clear()
        self._fastest = min(self._fastest, mean)
        is_better = rate > self._best_rate * _GAIN
        if is_better:
            self._best_rate, self._best_limit = rate, self.limit
        elif mean > _QUEUEING * self._fastest and self.limit > self._best_limit * 1.25:
            self.limit, self._doubling, self._hold = self._best_limit, False, _HOLD
        if self._hold:
            self._hold -= 1
            return
        self._best_rate *= 0.99  # the server's capacity may change, so the best rate is slowly forgotten
        self.limit = min(self.maximum, self.limit * 2 if self._doubling else self.limit + 1)


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """Exponential back-off with full jitter: wait ``uniform(0, min(cap, base * 2**k))`` before retry k.

    The jitter only spreads the load. No measured value depends on it.
    """

    retries: int = 5
    base_seconds: float = 0.5
    cap_seconds: float = 30.0
    patience_seconds: float = 120.0
    """The longest ``Retry-After`` that is respected."""

    def delay(self, retry: int, asked: float | None) -> float:
        """Return the seconds before retry number `retry` (from 0), at least what the server asked for.

        >>> RetryPolicy().delay(0, asked=3.0) >= 3.0
        True
        """
        jitter = random.uniform(0, min(self.cap_seconds, self.base_seconds * 2**retry))  # noqa: S311
        return jitter if asked is None else min(asked, self.patience_seconds) + jitter * 0.1


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Return the wait in seconds that a response asks for: ``retry-after-ms`` or ``retry-after`` (seconds or date).

    A date is compared with the server's own clock, if the response has a ``date``. None if there is no such header or
    it is invalid. `RetryPolicy` limits how long a wait is respected.

    >>> retry_after({"retry-after": "2"})
    2.0
    """
    try:
        if "retry-after-ms" in headers:
            return _seconds(float(headers["retry-after-ms"]) / 1000)
        value = headers.get("retry-after")
        if value is None:
            return None
        if value.strip()[:1].isdecimal() and "," not in value and ":" not in value:
            return _seconds(float(value))
        then = email.utils.parsedate_to_datetime(value).timestamp()
        now = (
            email.utils.parsedate_to_datetime(headers["date"]).timestamp()
            if "date" in headers
            else time.time()
        )
        return max(0.0, then - now)
    except (ValueError, TypeError, OverflowError):
        return None


def _seconds(value: float) -> float | None:
    return None if math.isnan(value) or value < 0 else value


# The JSON of chat requests and completions, and the size limit on what is read from a server.


_MEBIBYTE = 1 << 20
_TOP = 20
"""Tokens for each position that a server is asked for; most give no more."""
MOST_TOKENS = 1 << 30
"""No prompt or answer has more tokens. A server that says so is wrong, and its count is not known."""
_REFUSALS = frozenset(
    {
        "content_filter",
        "refusal",
        "safety",
        "prohibited_content",
        "blocklist",
        "blocked",
        "recitation",
        "spii",
        "guardrail",
    }
)
"""How an answer finishes that the model or its server declined to give, in the words of several servers."""
_REFUSING_CODES = frozenset(
    {
        *("content_filter", "content_policy_violation", "responsibleaipolicyviolation", "moderation_blocked"),
        *("data_inspection_failed", "safety", "prohibited_content", "content_policy", "content_filtered"),
    }
)
"""The codes of errors that decline a request."""
_LONGEST_FINISH = 100
_WINDOW_BITS = {"gzip": 31, "deflate": 47}
"""For zlib; 47 detects by itself whether there is a header."""


class Unanswered(Exception):  # noqa: N818 - an expected outcome, not a program error
    """An attempt that gave no answer."""

    def __init__(
        self,
        reason: str,
        *,
        again: bool,
        strain: bool = False,
        is_down: bool = False,
        wait: float | None = None,
    ) -> None:
        """Create the exception.

        Args:
            reason: The reason, without any key.
            again: True if a retry may help.
            strain: True if the server is overloaded, so that fewer requests should be in flight.
            is_down: True if the cause is the server, not this request.
            wait: Seconds to wait, as requested by the server.
        """
        super().__init__(reason)
        self.again = again
        self.strain = strain
        self.is_down = is_down
        self.wait = wait


class BoundedStream(httpx2.AsyncByteStream):
    """A response body that is decompressed here and raises an error if it is too long."""

    def __init__(self, stream: Any, encoding: str, most_mib: float) -> None:
        self.stream = stream
        self.most_mib = most_mib
        self._inflater = zlib.decompressobj(_WINDOW_BITS[encoding]) if encoding else None

    @classmethod
    def take_over(cls, response: httpx2.Response, most_mib: float) -> None:
        """Replace the stream of a response, so that it is not decompressed without a limit."""
        encoding = response.headers.get("content-encoding", "").strip().lower().replace("identity", "")
        if encoding and encoding not in _WINDOW_BITS:
            raise Unanswered(
                f"the server compressed its answer as {encoding!r}, which was not requested", again=False
            )
        response.headers.pop("content-encoding", None)
        response.stream = cls(response.stream, encoding, most_mib)

    async def __aiter__(self) -> AsyncIterator[bytes]:
        left = int(self.most_mib * _MEBIBYTE)
        async for packed in self.stream:
            chunk = self._unpacked(packed, left + 1)
            left -= len(chunk)
            if left < 0:
                raise Unanswered(f"the answer is larger than {self.most_mib:g} MiB", again=False)
            yield chunk

    def _unpacked(self, packed: bytes, most: int) -> bytes:
        if self._inflater is None:
            return packed
        try:
            return self._inflater.decompress(packed, most)
        except zlib.error as error:
            raise Unanswered(f"the server's compressed answer is damaged ({error})", again=True) from None

    async def aclose(self) -> None:
        """Close the connection."""
        await self.stream.aclose()


def read_completion(body: bytes, secret: Secret) -> Response:
    """Read the first choice of a chat completion and remove the key. Anything else raises `Unanswered`.

    An empty message counts as an answer with empty text: a retry would give the same, and leaving it out would
    make the model look better.
    """
    try:
        completion = json.loads(body)
        choices = completion["choices"]
    except (ValueError, KeyError, TypeError, RecursionError):
        head = secret.clean_error(body.decode(errors="replace"))[:80]
        raise Unanswered(f"the server's answer is not a chat completion: {head!r}", again=True) from None
    if not isinstance(choices, list) or not choices or not isinstance(choices[0], dict):
        raise Unanswered("the server's answer contains no choice", again=True)
    message = choices[0].get("message")
    if not isinstance(message, dict):
        raise Unanswered("the server's answer contains no message", again=True)
    finish = _text(choices[0].get("finish_reason"))[:_LONGEST_FINISH]
    usage = completion.get("usage")
    usage = usage if isinstance(usage, dict) else {}
    fields: dict[str, Any] = {
        "reasoning": _text(message.get("reasoning_content") or message.get("reasoning")),
        "finish": finish,
        "prompt_tokens": _count(usage.get("prompt_tokens")),
        "completion_tokens": _count(usage.get("completion_tokens")),
    }
    refusal = _text(message.get("refusal")) or _refusal_part(message.get("content"))
    if refusal or finish.casefold() in _REFUSALS:
        response = Response("refused", reason=refusal or finish.replace("_", " "), **fields)
    else:
        response = Response("answered", text=_content(message.get("content")), **fields)
    return secret.clean_response(response)


def _content(value: object) -> str:
    """Return the text of an answer. Some servers send a bare number where the answer is one.

    >>> [_content(value) for value in (5, 0.5, True, None, "left", [{"text": "a"}])]
    ['5', '0.5', '', '', 'left', 'a']
    """
    if isinstance(value, int | float) and not isinstance(value, bool) and value == value:  # noqa: PLR0124 - not NaN
        return repr(value)
    return _text(value)


def _refusal_part(content: object) -> str:
    """Return the text of the first part of a content that declines."""
    parts = content if isinstance(content, list) else ()
    return next(
        (_text(part["refusal"]) for part in parts if isinstance(part, dict) and part.get("refusal")), ""
    )


def _text(value: object) -> str:
    """Return plain text, or the joined text parts of a content list."""
    parts = (
        [part.get("text") for part in value if isinstance(part, dict)] if isinstance(value, list) else [value]
    )
    return "".join(part for part in parts if isinstance(part, str))


def _count(value: object) -> int:
    """Return a token count: 0, which is not known, unless it is a whole number and at most `MOST_TOKENS`.

    >>> [_count(value) for value in (7, -7, 7.0, "7", None, [7], True, 1 << 70)]
    [7, 0, 7, 0, 0, 0, 0, 0]
    """
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return value if type(value) is int and 0 <= value <= MOST_TOKENS else 0


def read_logprobs(body: bytes) -> tuple[float, ...]:
    """Read the log-probabilities of the tokens of a chat completion. Empty if it has none.

    >>> read_logprobs(b'{"choices": [{"logprobs": {"content": [{"token": "A", "logprob": -0.5}]}}]}')
    (-0.5,)
    """
    try:
        tokens = json.loads(body)["choices"][0]["logprobs"]["content"]
        return tuple(float(token["logprob"]) for token in tokens)
    except (ValueError, LookupError, TypeError, RecursionError, OverflowError):
        return ()


def read_top_tokens(body: bytes) -> tuple[dict[str, float], ...]:
    """Read the most probable tokens at each position of a chat completion, the chosen one first. Empty if it has none.

    >>> read_top_tokens(b'''{"choices": [{"logprobs": {"content": [{"token": "A", "logprob": -0.5,
    ...     "top_logprobs": [{"token": "A", "logprob": -0.5}, {"token": "B", "logprob": -1}]}]}}]}''')
    ({'A': -0.5, 'B': -1.0},)
    """
    try:
        return tuple(
            {
                str(at["token"]): float(at["logprob"]),
                **{
                    str(each["token"]): float(each["logprob"])
                    for each in at.get("top_logprobs") or ()
                    if each["token"] != at["token"]
                },
            }
            for at in json.loads(body)["choices"][0]["logprobs"]["content"]
        )
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError, OverflowError):
        return ()


def message_json(message: Message) -> dict[str, Any]:
    """Convert a turn to the format of chat servers. Without a picture its content is plain text.

    Servers whose template supports only text drop a list of parts, and the model gets an empty prompt.

    >>> message_json(Message.user("Where is the cup?"))
    {'role': 'user', 'content': 'Where is the cup?'}
    """
    if not message.pictures:
        return {"role": message.role, "content": message.text}
    return {"role": message.role, "content": [_content_part(part) for part in message.content]}


def _content_part(part: str | Picture) -> dict[str, Any]:
    if isinstance(part, str):
        return {"type": "text", "text": part}
    return {"type": "image_url", "image_url": {"url": _data_url(part)}}


@lru_cache(maxsize=128)
def _data_url(picture: Picture) -> str:
    """Encode the picture's own bytes if every server reads them the same way, otherwise as PNG."""
    data, kind = picture.read(), picture.media_type
    if kind not in {"image/png", "image/jpeg", "image/webp"} or not _is_plain(data):
        buffer = io.BytesIO()
        picture.load().save(buffer, format="PNG")
        data, kind = buffer.getvalue(), "image/png"
    return f"data:{kind};base64,{base64.b64encode(data).decode()}"


def _is_plain(data: bytes) -> bool:
    """Return True if every reader sees the same picture: upright, opaque, RGB or 8-bit grey."""
    orientation = 0x0112
    with open_image(data) as image:
        is_upright = image.getexif().get(orientation, 1) == 1
        return is_upright and image.mode in {"RGB", "L"} and "transparency" not in image.info


# Models behind an OpenAI-compatible server (vLLM, SGLang, Ollama, hosted): ``openai:<name>@<base url>``.
#
# The key comes from the environment (``OPENAI_API_KEY``, or the variable given by ``?key_env=``) and is used only in the
# request header. It is removed from every text and error message, see `Secret`. Redirects are not followed: pictures and
# the key go to the named server only.


_GIVE_UP_AFTER = 50
"""After this many consecutive requests without an answer, the server is considered down."""


class OpenAIOptions(ModelOptions):
    """The options after ``?`` in ``openai:name@url?…``."""

    max_in_flight: int = Field(default=64, ge=1, le=4096)
    """Maximum number of concurrent requests. Fewer are used if the server is overloaded."""
    timeout: float = Field(default=120.0, gt=0)
    """Seconds for one attempt."""
    retries: int = Field(default=5, ge=0, le=100)
    key_env: str = "OPENAI_API_KEY"
    """The environment variable with the key."""
    max_answer_mib: float = Field(default=4.0, gt=0)
    """Maximum size of a response body."""
    tokens_field: Literal["max_tokens", "max_completion_tokens"] = "max_tokens"
    """The server's name for the limit on new tokens."""
    system: Literal["system", "user"] = "system"
    """``user`` puts system text at the head of the first user turn, for servers that refuse or ignore that role."""
    stop: Literal["server", "here"] = "server"
    """``here`` does not send stop strings, for servers that refuse them. Answers are cut at them in either case."""


def open_model(name: ModelName) -> OpenAIModel:
    """Create a client. Nothing is sent yet."""
    model, at, url = name.target.partition("@")
    try:
        parts = urlsplit(url)
        is_url = parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.port != 0
    except ValueError:  # an unmatched bracket, or a port that is not a number
        is_url = False
    if not at or not model or not is_url:
        raise UsageError(
            f"{name.text!r} must be written openai:NAME@URL, such as openai:qwen@http://127.0.0.1:8000/v1"
        )
    if parts.username or parts.password:
        raise UsageError(
            "a server's URL must not contain a user name or password; put the key in the environment"
        )
    options = read_options(name, OpenAIOptions)
    return OpenAIModel(name.text, model, url.rstrip("/"), options)


@dataclass(slots=True)
class _Connection:
    """The client and limiter of one event loop."""

    client: AsyncOpenAI
    limiter: AdaptiveLimiter


class OpenAIModel:
    """A chat model on a server."""

    lacks: ClassVar[Mapping[Capability, str]] = {
        "choose": "chat servers do not return the log-probabilities of given options; use the checkpoint as hf:…"
    }

    def __init__(self, name: str, model: str, base_url: str, options: OpenAIOptions) -> None:
        self.name = name
        self.model = model
        self.base_url = base_url
        self.options = options
        self.identity = f"openai:{model}@{base_url}" + ("?system=user" if options.system == "user" else "")
        self.batch_size = options.max_in_flight
        self.retry = RetryPolicy(retries=options.retries)
        self._secret = Secret.from_environment(options.key_env)
        self._connections: dict[int, _Connection] = {}
        self._unanswered_in_a_row = 0

    def generate(self, requests: Sequence[Request]) -> list[Response]:
        """Send all requests concurrently, limited by the server's capacity."""

        async def ask_all() -> list[Response]:
            try:
                await self.check()
                return await all_of(self.answer(request) for request in requests)
            finally:
                await self.aclose()

        return run_async(ask_all)

    async def check(self) -> None:
        """Check before a run that the server can be reached and accepts the key.

        Raises:
            ModelError: If not.
        """
        import openai

        try:
            # The connection is not used again: servers on uvicorn that fail here answer 500, and then close it unannounced.
            await self._here().client.models.list(
                timeout=min(10.0, self.options.timeout), extra_headers={"Connection": "close"}
            )
        except openai.APIConnectionError as error:
            if isinstance(error.__cause__, Unanswered):
                return  # it answers, though not with a list of models
            raise ModelError(
                f"no server answers at {self.base_url} ({self._describe(error.__cause__ or error)}); "
                "start it, or correct the URL"
            ) from None
        except openai.APIStatusError as error:
            if error.status_code != 404:  # some servers do not list their models
                self._raise_if_hopeless(error)
        except (
            openai.OpenAIError,
            Unanswered,
            AttributeError,
            KeyError,
            RecursionError,
            TypeError,
            ValueError,
        ):
            return  # the server responds, though not as expected: the requests will show whether it works

    async def answer(self, request: Request) -> Response:
        """Send a request until there is an answer, no retry is left, or a retry cannot help."""
        return (await self._answer(request, {}))[0]

    async def _answer(self, request: Request, more: Mapping[str, Any]) -> tuple[Response, bytes]:
        """Return the response to a request with more fields in its body, and what the server sent."""
        limiter = self._here().limiter
        started = time.monotonic()
        try:
            body = self._body(request) | dict(more)
        except (UsageError, OSError, SyntaxError, ValueError) as error:  # a picture that cannot be sent
            return Response.failed(describe(error)), b""
        for attempt in range(self.options.retries + 1):
            try:
                async with limiter.slot():
                    asked = time.monotonic()
                    sent = await self._post(body)
                    response = sent if isinstance(sent, Response) else read_completion(sent, self._secret)
                limiter.succeeded(time.monotonic() - asked)
            except Unanswered as failure:
                if failure.strain:
                    limiter.strained()
                if not failure.again or attempt == self.options.retries:
                    return self._gave_up(failure, time.monotonic() - started, attempt + 1), b""
                if failure.wait is not None:
                    limiter.pause(min(failure.wait, self.retry.patience_seconds))
                await asyncio.sleep(self.retry.delay(attempt, failure.wait))
            else:
                self._unanswered_in_a_row = 0
                seconds = time.monotonic() - started
                found = replace(_cut(response, request.stop), seconds=seconds, attempts=attempt + 1)
                return found, b"" if isinstance(sent, Response) else sent
        raise AssertionError("unreachable: the last attempt returns")

    async def logprobs(self, request: Request) -> tuple[float, ...]:
        """Ask once for the log-probabilities of the answer's tokens. Empty if the server does not give them."""
        try:
            answer = await self._post(self._body(request) | {"logprobs": True, "top_logprobs": 1})
        except Unanswered:
            return ()
        return () if isinstance(answer, Response) else read_logprobs(answer)

    async def answers_with_tokens(
        self, requests: Sequence[Request]
    ) -> list[tuple[Response, tuple[dict[str, float], ...]]]:
        """Answer requests, and give the most probable tokens at each position of each answer, the chosen one first.

        Returns:
            For each request its response, and by position token to log-probability; empty if the server gives none.
        """
        more = {"logprobs": True, "top_logprobs": _TOP}
        try:
            answers = await all_of(self._answer(request, more) for request in requests)
        finally:
            await self.aclose()
        return [(response, read_top_tokens(sent)) for response, sent in answers]

    async def aclose(self) -> None:
        """Close the connections of the running event loop."""
        connection = self._connections.pop(id(asyncio.get_running_loop()), None)
        if connection is not None:
            await connection.client.close()

    def close(self) -> None:
        """Do nothing: connections are closed with their event loop."""

    def _here(self) -> _Connection:
        loop = id(asyncio.get_running_loop())
        if loop not in self._connections:
            from openai import AsyncOpenAI, DefaultAsyncHttpxClient

            client = AsyncOpenAI(
                base_url=self.base_url,
                api_key=self._secret.reveal() or "none",  # local servers accept any key
                default_headers={"Accept-Encoding": "identity"},
                max_retries=0,
                timeout=self.options.timeout,
                http_client=DefaultAsyncHttpxClient(
                    event_hooks={"response": [self._bound_body]}, follow_redirects=False
                ),
            )
            self._connections[loop] = _Connection(client, AdaptiveLimiter(self.options.max_in_flight))
        return self._connections[loop]

    async def _post(self, body: dict[str, Any]) -> bytes | Response:
        """Return the body of the server's answer, or a refusal."""
        import openai

        try:
            async with asyncio.timeout(self.options.timeout):
                # The raw call: validating the response with the client's types would cost more time than the network.
                answer = await self._here().client.post(
                    "/chat/completions", cast_to=httpx2.Response, body=body
                )
        except (TimeoutError, openai.APITimeoutError):
            reason = f"no answer within {self.options.timeout:g} s"
            raise Unanswered(reason, again=True, strain=True, is_down=True) from None
        except openai.APIConnectionError as error:
            if isinstance(error.__cause__, Unanswered):
                raise error.__cause__ from None
            reason = f"connection lost: {self._describe(error.__cause__ or error)}"
            raise Unanswered(reason, again=True, is_down=True) from None
        except openai.APIStatusError as error:
            return self._refused_or_raise(error)
        return answer.content

    async def _bound_body(self, response: httpx2.Response) -> None:
        """Limit how much of a response is read."""
        BoundedStream.take_over(response, self.options.max_answer_mib)

    def _body(self, request: Request) -> dict[str, Any]:
        body: dict[str, Any] = {
            "model": self.model,
            "messages": [message_json(message) for message in self._turns(request)],
            "temperature": request.temperature,
            self.options.tokens_field: request.max_tokens,
        }
        if request.stop and self.options.stop == "server":
            body["stop"] = list(request.stop)
        if request.seed is not None:
            body["seed"] = request.seed
        return body

    def _turns(self, request: Request) -> Sequence[Message]:
        """Return the turns as sent: with ``?system=user``, system text opens the first user turn."""
        system = "".join(f"{message.text}\n\n" for message in request.messages if message.role == "system")
        if self.options.system == "system" or not system:
            return request.messages
        turns = [message for message in request.messages if message.role != "system"]
        first = next((i for i, message in enumerate(turns) if message.role == "user"), None)
        if first is None:
            return [Message.user(system), *turns]
        opened = Message.user(system, *turns[first].content)
        if not opened.pictures:
            opened = Message.user(system + turns[first].text)
        return [*turns[:first], opened, *turns[first + 1 :]]

    def _refused_or_raise(self, error: Any) -> Response:
        status = error.status_code
        detail = self._describe(error)
        if 400 <= status < 500 and _code(error).casefold() in _REFUSING_CODES:
            return Response("refused", reason=detail)
        self._raise_if_hopeless(error)
        if 300 <= status < 400:
            location = self._secret.clean_error(error.response.headers.get("location", "nowhere"))[:200]
            reason = f"HTTP {status}: the server redirects to {location!r}, which is not followed; name that server instead"
            raise Unanswered(reason, again=False, is_down=True) from None
        again = status in {408, 409, 425, 429} or status >= 500
        raise Unanswered(
            f"HTTP {status}: {detail}",
            again=again,
            strain=status in {429, 503},
            is_down=status == 429 or status >= 500,
            wait=retry_after(error.response.headers),
        ) from None

    def _raise_if_hopeless(self, error: Any) -> None:
        """Raise a `ModelError` for errors that concern every request."""
        detail = self._describe(error)
        if error.status_code in {401, 403}:
            held = "the key in" if self._secret else "no key: set"
            raise ModelError(f"{self.base_url} rejects {held} {self.options.key_env} ({detail})") from None
        if error.status_code == 404:
            raise ModelError(
                f"{self.base_url} has no model {self.model!r}, or no chat API there ({detail})"
            ) from None
        if error.status_code == 429 and _code(error) == "insufficient_quota":
            raise ModelError(f"the quota at {self.base_url} is exhausted ({detail})") from None

    def _gave_up(self, last: Unanswered, seconds: float, attempts: int) -> Response:
        """Return the failed response of a request. A request that the server rejects shows that the server is up."""
        self._unanswered_in_a_row = self._unanswered_in_a_row + 1 if last.is_down else 0
        if self._unanswered_in_a_row >= _GIVE_UP_AFTER:
            raise ModelError(
                f"{self.base_url} gave no answer to {self._unanswered_in_a_row} requests in a row (last: {last}); "
                "repeat the command to resume when the server is available again"
            )
        return Response.failed(str(last), seconds=seconds, attempts=attempts)

    def _describe(self, error: BaseException) -> str:
        return describe(error, clean=self._secret.clean_error)


def _cut(response: Response, stop: Sequence[str]) -> Response:
    """End an answer at the first stop string: some servers ignore them, some return them."""
    ends = [response.text.index(word) for word in stop if word in response.text]
    return replace(response, text=response.text[: min(ends)], finish="stop") if ends else response


def _code(error: Any) -> str:
    return str(getattr(error, "code", "") or "")
