"""Models behind an OpenAI-compatible server (vLLM, SGLang, Ollama, hosted): ``openai:<name>@<base url>``.

The key comes from the environment (``OPENAI_API_KEY``, or the variable given by ``?key_env=``) and is used only in the
request header. It is removed from every text and error message, see `Secret`. Redirects are not followed: pictures and
the key go to the named server only.
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
from theodolite.core.types import Message, Request, Response
from theodolite.models.api_key import Secret
from theodolite.models.chat_json import (
    BoundedStream,
    Unanswered,
    message_json,
    read_completion,
    read_logprobs,
)
from theodolite.models.contract import Capability
from theodolite.models.limiter import AdaptiveLimiter, RetryPolicy, retry_after
from theodolite.models.opening import ModelName, ModelOptions, read_options
from theodolite.runs import all_of, describe, run_async

if TYPE_CHECKING:
    from openai import AsyncOpenAI

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
                seconds = time.monotonic() - started
                return replace(_cut(response, request.stop), seconds=seconds, attempts=attempt + 1)
        raise AssertionError("unreachable: the last attempt returns")

    async def logprobs(self, request: Request) -> tuple[float, ...]:
        """Ask once for the log-probabilities of the answer's tokens. Empty if the server does not give them."""
        try:
            answer = await self._post(self._body(request) | {"logprobs": True, "top_logprobs": 1})
        except Unanswered:
            return ()
        return () if isinstance(answer, Response) else read_logprobs(answer)

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

    async def _ask_once(self, body: dict[str, Any]) -> Response:
        answer = await self._post(body)
        return answer if isinstance(answer, Response) else read_completion(answer, self._secret)

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
            "messages": [message_json(each) for each in self._turns(request)],
            "temperature": request.temperature,
            self.options.tokens_field: request.max_tokens,
        }
        if request.stop and self.options.stop == "server":
            body["stop"] = list(request.stop)
        if request.seed is not None:
            body["seed"] = request.seed
        return body

    def _turns(self, request: Request) -> Sequence[Message]:
        """The turns as sent: with ``?system=user``, system text opens the first user turn."""
        system = "".join(f"{each.text}\n\n" for each in request.messages if each.role == "system")
        if self.options.system == "system" or not system:
            return request.messages
        turns = [each for each in request.messages if each.role != "system"]
        first = next((i for i, each in enumerate(turns) if each.role == "user"), None)
        if first is None:
            return [Message.user(system), *turns]
        opened = Message.user(system, *turns[first].content)
        if not opened.pictures:
            opened = Message.user(system + turns[first].text)
        return [*turns[:first], opened, *turns[first + 1 :]]

    def _refused_or_raise(self, error: Any) -> Response:
        self._raise_if_hopeless(error)
        status = error.status_code
        detail = self._describe(error)
        if 300 <= status < 400:
            place = self._secret.clean_error(error.response.headers.get("location", "nowhere"))[:200]
            reason = f"HTTP {status}: the server redirects to {place!r}, which is not followed; name that server instead"
            raise Unanswered(reason, again=False, is_down=True) from None
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
