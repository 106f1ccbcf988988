"""Models behind an OpenAI-compatible server (vLLM, SGLang, Ollama, hosted): ``openai:<name>@<base url>``.

The key comes from the environment (``OPENAI_API_KEY``, or the variable named by ``?key_env=``) and leaves this
module only in the request header: it is cut out of every text and reason that goes further, see `Secret`.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, Literal
from urllib.parse import urlsplit

import httpx2
from pydantic import Field

from theodolite.core.errors import ModelError, UsageError
from theodolite.core.types import Request, Response
from theodolite.models.api_key import Secret
from theodolite.models.chat_json import BoundedStream, Unanswered, content_part, read_completion
from theodolite.models.contract import Capability
from theodolite.models.limiter import AdaptiveLimiter
from theodolite.models.opening import ModelName, ModelOptions, read_options
from theodolite.models.retry import RetryPolicy, retry_after
from theodolite.runs import all_of, describe, run_async

if TYPE_CHECKING:
    from openai import AsyncOpenAI

_GIVE_UP_AFTER = 50
"""So many requests in a row that the server was not up to, and it counts as gone."""


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
    try:
        parts = urlsplit(url)
        is_url = parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.port != 0
    except ValueError:  # half a bracket, or a port that is no number
        is_url = False
    if not at or not model or not is_url:
        raise UsageError(
            f"{name.text!r} must be written openai:NAME@URL, such as openai:qwen@http://127.0.0.1:8000/v1"
        )
    if parts.username or parts.password:
        raise UsageError("a server's URL must hold no user name or password; put the key in the environment")
    options = read_options(name, OpenAIOptions)
    return OpenAIModel(name.text, model, url.rstrip("/"), options)


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
        self._secret = Secret.from_environment(options.key_env)
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
                f"no server answers at {self.base_url} ({self._describe(error.__cause__ or error)}); "
                "start it, or correct the URL"
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
            except Unanswered as failure:
                if failure.strain:
                    limiter.strained()
                if not failure.again or attempt == self.options.retries:
                    return self._gave_up(failure, time.monotonic() - started, attempt + 1)
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
                api_key=self._secret.reveal() or "none",  # local servers take any
                default_headers={"Accept-Encoding": "identity"},
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
            raise Unanswered(reason, again=True, strain=True, is_down=True) from None
        except openai.APIConnectionError as error:
            if isinstance(error.__cause__, Unanswered):
                raise error.__cause__ from None
            reason = f"connection lost: {self._describe(error.__cause__ or error)}"
            raise Unanswered(reason, again=True, is_down=True) from None
        except openai.APIStatusError as error:
            return self._refused_or_raise(error)
        return read_completion(answer.content, self._secret)

    async def _bound_body(self, response: httpx2.Response) -> None:
        """Sees to it that no more of an answer is read than is allowed."""
        BoundedStream.take_over(response, self.options.max_answer_mib)

    def _body(self, request: Request) -> dict[str, Any]:
        body: dict[str, Any] = {
            "model": self.model,
            "messages": [
                {"role": m.role, "content": [content_part(part) for part in m.content]}
                for m in request.messages
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
        detail = self._describe(error)
        if status == 400 and _code(error) in {"content_filter", "content_policy_violation"}:
            return Response("refused", reason=detail)
        again = status in {408, 409, 425, 429} or status >= 500
        raise Unanswered(
            f"HTTP {status}: {detail}",
            again=again,
            strain=status in {429, 503},
            is_down=status == 429 or status >= 500,
            wait=retry_after(error.response.headers),
        ) from None

    def _raise_if_hopeless(self, error: Any) -> None:
        """What concerns every request alike ends the run at once."""
        detail = self._describe(error)
        if error.status_code in {401, 403}:
            held = "the key in" if self._secret else "no key: set"
            raise ModelError(f"{self.base_url} refuses {held} {self.options.key_env} ({detail})") from None
        if error.status_code == 404:
            raise ModelError(
                f"{self.base_url} has no model {self.model!r}, or no chat API there ({detail})"
            ) from None
        if error.status_code == 429 and _code(error) == "insufficient_quota":
            raise ModelError(f"the quota at {self.base_url} is used up ({detail})") from None

    def _gave_up(self, last: Unanswered, seconds: float, attempts: int) -> Response:
        """A request that stays without an answer. One that the server rejects shows that the server is well."""
        self._unanswered_in_a_row = self._unanswered_in_a_row + 1 if last.is_down else 0
        if self._unanswered_in_a_row >= _GIVE_UP_AFTER:
            raise ModelError(
                f"{self.base_url} left {self._unanswered_in_a_row} requests in a row without an answer (last: {last}); "
                "when it is well again, the same command goes on from here"
            )
        return Response.failed(str(last), seconds=seconds, attempts=attempts)

    def _describe(self, error: BaseException) -> str:
        return describe(error, clean=self._secret.clean)


def _code(error: Any) -> str:
    return str(getattr(error, "code", "") or "")
