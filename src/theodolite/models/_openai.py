"""Models behind an OpenAI-compatible server (vLLM, SGLang, Ollama, hosted): ``openai:<name>@<base url>``.

The key comes from the environment (``OPENAI_API_KEY``, or the variable named by ``?key_env=``) and leaves this
module only in the request header: it is cut out of every text and reason that goes further.
"""

from __future__ import annotations

import asyncio
import base64
import io
import json
import os
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any, ClassVar, Literal
from urllib.parse import urlsplit

import httpx2
from pydantic import Field

from theodolite.errors import ModelError, UsageError
from theodolite.models._contract import Capability
from theodolite.models._limiter import AdaptiveLimiter
from theodolite.models._open import ModelName, ModelOptions, read_options
from theodolite.models._retry import RetryPolicy, retry_after
from theodolite.runs import all_of, describe, run_async
from theodolite.types import Picture, Request, Response

if TYPE_CHECKING:
    from openai import AsyncOpenAI

_MEBIBYTE = 1 << 20
_GIVE_UP_AFTER = 50
"""So many unanswered requests in a row, with none answered between them, and the server counts as gone."""


class OpenAIOptions(ModelOptions):
    """What can follow the ``?`` in ``openai:name@url?…``."""

    max_in_flight: int = Field(default=64, ge=1, le=4096)
    """The most requests at once; fewer where the server shows strain."""
    timeout: float = Field(default=120.0, gt=0)
    """Seconds for one whole attempt."""
    retries: int = Field(default=5, ge=0, le=100)
    key_env: str = "OPENAI_API_KEY"
    """The environment variable that holds the key."""
    max_answer_mib: float = Field(default=4.0, gt=0)
    """A longer body is given up, not read."""
    tokens_field: Literal["max_tokens", "max_completion_tokens"] = "max_tokens"
    """What the server calls the limit on new tokens."""


def open_model(name: ModelName) -> OpenAIModel:
    """Makes a client; nothing is sent yet."""
    model, at, url = name.target.partition("@")
    parts = urlsplit(url)
    if not at or not model or parts.scheme not in {"http", "https"} or not parts.hostname:
        raise UsageError(
            f"{name.text!r} must be written openai:NAME@URL, such as openai:qwen@http://127.0.0.1:8000/v1"
        )
    if parts.username or parts.password:
        raise UsageError("a server's URL must hold no user name or password; put the key in the environment")
    options = read_options(name, OpenAIOptions)
    return OpenAIModel(name.text, model, url.rstrip("/"), options)


class _Unanswered(Exception):  # noqa: N818 - not an error of the program
    """One attempt that brought no answer."""

    def __init__(self, reason: str, *, again: bool, strain: bool = False, wait: float | None = None) -> None:
        super().__init__(reason)
        self.again = again
        self.strain = strain
        self.wait = wait


class _BoundedStream(httpx2.AsyncByteStream):
    """A body that ends with an error when it grows too long."""

    def __init__(self, stream: Any, most_mib: float) -> None:
        self.stream = stream
        self.most_mib = most_mib

    async def __aiter__(self) -> AsyncIterator[bytes]:
        left = int(self.most_mib * _MEBIBYTE)
        async for chunk in self.stream:
            left -= len(chunk)
            if left < 0:
                raise _Unanswered(f"the answer is larger than {self.most_mib:g} MiB", again=False)
            yield chunk

    async def aclose(self) -> None:
        await self.stream.aclose()


@dataclass(slots=True)
class _Connection:
    """What belongs to one event loop."""

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
        self.identity = f"openai:{model}@{base_url}"
        self.batch_size = options.max_in_flight
        self.retry = RetryPolicy(retries=options.retries)
        self._connections: dict[int, _Connection] = {}
        self._unanswered_in_a_row = 0

    def generate(self, requests: Sequence[Request]) -> list[Response]:
        """Asks all requests at once, as far as the server bears it."""

        async def ask_all() -> list[Response]:
            try:
                await self.check()
                return await all_of(self.answer(request) for request in requests)
            finally:
                await self.aclose()

        return run_async(ask_all)

    async def check(self) -> None:
        """Finds out, before a run, whether a server is there and takes the key.

        Raises:
            ModelError: it is not, or does not.
        """
        import openai

        try:
            await self._here().client.models.list(timeout=min(10.0, self.options.timeout))
        except openai.APIConnectionError as error:
            raise ModelError(
                f"no server answers at {self.base_url} ({describe(error.__cause__ or error)}); start it, or correct the URL"
            ) from None
        except openai.APIStatusError as error:
            if error.status_code != 404:  # some servers do not list their models
                self._raise_if_hopeless(error)
        except openai.OpenAIError:
            return  # it answers, in its own way: the requests themselves will tell

    async def answer(self, request: Request) -> Response:
        """Asks until there is an answer, the retries are used up, or asking again is no use."""
        limiter = self._here().limiter
        started = time.monotonic()
        try:
            body = self._body(request)
        except (UsageError, OSError, SyntaxError, ValueError) as error:  # a picture that cannot be sent
            return Response.failed(describe(error))
        for attempt in range(self.options.retries + 1):
            try:
                async with limiter.slot():
                    asked = time.monotonic()
                    response = await self._ask_once(body)
                limiter.succeeded(time.monotonic() - asked)
            except _Unanswered as failure:
                if failure.strain:
                    limiter.strained()
                if not failure.again or attempt == self.options.retries:
                    return self._gave_up(str(failure), time.monotonic() - started, attempt + 1)
                if failure.wait is not None:
                    limiter.pause(min(failure.wait, self.retry.patience_seconds))
                await asyncio.sleep(self.retry.delay(attempt, failure.wait))
            else:
                self._unanswered_in_a_row = 0
                return replace(response, seconds=time.monotonic() - started, attempts=attempt + 1)
        raise AssertionError("the last attempt returns")

    async def aclose(self) -> None:
        """Closes this event loop's connections."""
        connection = self._connections.pop(id(asyncio.get_running_loop()), None)
        if connection is not None:
            await connection.client.close()

    def close(self) -> None:
        """Connections close with the event loop that made them."""

    def _here(self) -> _Connection:
        loop = id(asyncio.get_running_loop())
        if loop not in self._connections:
            from openai import AsyncOpenAI, DefaultAsyncHttpxClient

            client = AsyncOpenAI(
                base_url=self.base_url,
                api_key=self._key() or "none",  # local servers take any
                max_retries=0,
                timeout=self.options.timeout,
                http_client=DefaultAsyncHttpxClient(event_hooks={"response": [self._bound_body]}),
            )
            self._connections[loop] = _Connection(client, AdaptiveLimiter(self.options.max_in_flight))
        return self._connections[loop]

    async def _ask_once(self, body: dict[str, Any]) -> Response:
        import openai

        try:
            async with asyncio.timeout(self.options.timeout):
                # The raw call: the typed one spends more time on checking our own types than on the network.
                answer = await self._here().client.post(
                    "/chat/completions", cast_to=httpx2.Response, body=body
                )
        except (TimeoutError, openai.APITimeoutError):
            reason = f"no answer within {self.options.timeout:g} s"
            raise _Unanswered(reason, again=True, strain=True) from None
        except openai.APIConnectionError as error:
            if isinstance(error.__cause__, _Unanswered):
                raise error.__cause__ from None
            reason = f"connection lost: {describe(error.__cause__ or error)}"
            raise _Unanswered(reason, again=True) from None
        except openai.APIStatusError as error:
            return self._refused_or_raise(error)
        return self._clean(_read_answer(answer.content))

    async def _bound_body(self, response: httpx2.Response) -> None:
        """Sees to it that no more of an answer is read than is allowed."""
        response.stream = _BoundedStream(response.stream, self.options.max_answer_mib)

    def _body(self, request: Request) -> dict[str, Any]:
        body: dict[str, Any] = {
            "model": self.model,
            "messages": [
                {"role": m.role, "content": [_part(part) for part in m.content]} for m in request.messages
            ],
            "temperature": request.temperature,
            self.options.tokens_field: request.max_tokens,
        }
        if request.stop:
            body["stop"] = list(request.stop)
        if request.seed is not None:
            body["seed"] = request.seed
        return body

    def _refused_or_raise(self, error: Any) -> Response:
        self._raise_if_hopeless(error)
        status = error.status_code
        detail = self._clean_text(describe(error))
        if status == 400 and _code(error) in {"content_filter", "content_policy_violation"}:
            return Response("refused", reason=detail)
        again = status in {408, 409, 425, 429} or status >= 500
        raise _Unanswered(
            f"HTTP {status}: {detail}",
            again=again,
            strain=status in {429, 503},
            wait=retry_after(error.response.headers),
        ) from None

    def _raise_if_hopeless(self, error: Any) -> None:
        """What concerns every request alike ends the run at once."""
        detail = self._clean_text(describe(error))
        if error.status_code in {401, 403}:
            held = "the key in" if self._key() else "no key: set"
            raise ModelError(f"{self.base_url} refuses {held} {self.options.key_env} ({detail})") from None
        if error.status_code == 404:
            raise ModelError(
                f"{self.base_url} has no model {self.model!r}, or no chat API there ({detail})"
            ) from None
        if error.status_code == 429 and _code(error) == "insufficient_quota":
            raise ModelError(f"the quota at {self.base_url} is used up ({detail})") from None

    def _gave_up(self, reason: str, seconds: float, attempts: int) -> Response:
        self._unanswered_in_a_row += 1
        if self._unanswered_in_a_row >= _GIVE_UP_AFTER:
            raise ModelError(
                f"{self.base_url} left {self._unanswered_in_a_row} requests in a row without an answer (last: {reason}); "
                "when it is well again, the same command goes on from here"
            )
        return Response.failed(reason, seconds=seconds, attempts=attempts)

    def _key(self) -> str:
        return os.environ.get(self.options.key_env, "")

    def _clean(self, response: Response) -> Response:
        return replace(
            response,
            text=self._clean_text(response.text),
            reason=self._clean_text(response.reason),
            reasoning=self._clean_text(response.reasoning),
        )

    def _clean_text(self, text: str) -> str:
        key = self._key()
        return text.replace(key, "[key]") if len(key) >= 8 else text


def _read_answer(body: bytes) -> Response:
    """The first choice of a chat completion; what is not one counts as unanswered."""
    try:
        completion = json.loads(body)
        choices = completion["choices"]
    except (ValueError, KeyError, TypeError, RecursionError):
        head = body[:80].decode(errors="replace")
        raise _Unanswered(f"the server's answer is not a chat completion: {head!r}", again=True) from None
    if not isinstance(choices, list) or not choices or not isinstance(choices[0], dict):
        raise _Unanswered("the server's answer holds no choice", again=True)
    message = choices[0].get("message")
    message = message if isinstance(message, dict) else {}
    finish = str(choices[0].get("finish_reason") or "")
    usage = completion.get("usage")
    usage = usage if isinstance(usage, dict) else {}
    fields: dict[str, Any] = {
        "reasoning": _text(message.get("reasoning_content") or message.get("reasoning")),
        "finish": finish,
        "prompt_tokens": _count(usage.get("prompt_tokens")),
        "completion_tokens": _count(usage.get("completion_tokens")),
    }
    if message.get("refusal") or finish == "content_filter":
        return Response("refused", reason=_text(message.get("refusal")) or "content filter", **fields)
    text = _text(message.get("content"))
    if not text:
        return Response("failed", reason=f"empty answer (finish reason: {finish or 'none'})", **fields)
    return Response("answered", text=text, **fields)


def _text(value: object) -> str:
    """Plain text, or the text parts of a content list."""
    if isinstance(value, list):
        return "".join(_text(part.get("text")) for part in value if isinstance(part, dict))
    return value if isinstance(value, str) else ""


def _count(value: object) -> int:
    return value if isinstance(value, int) and value >= 0 else 0


def _code(error: Any) -> str:
    return str(getattr(error, "code", "") or "")


def _part(part: str | Picture) -> dict[str, Any]:
    if isinstance(part, str):
        return {"type": "text", "text": part}
    return {"type": "image_url", "image_url": {"url": _data_url(part)}}


@lru_cache(maxsize=128)
def _data_url(picture: Picture) -> str:
    """The picture's own bytes where a server can be trusted to read them alike, else as PNG."""
    data, kind = picture.read(), picture.media_type
    if kind not in {"image/png", "image/jpeg", "image/webp"} or _is_rotated(data):
        buffer = io.BytesIO()
        picture.load().save(buffer, format="PNG")
        data, kind = buffer.getvalue(), "image/png"
    return f"data:{kind};base64,{base64.b64encode(data).decode()}"


def _is_rotated(data: bytes) -> bool:
    """Whether EXIF says that the picture is to be turned, which servers may or may not do."""
    from PIL import Image

    orientation = 0x0112
    with Image.open(io.BytesIO(data)) as image:
        return bool(image.getexif().get(orientation, 1) != 1)
