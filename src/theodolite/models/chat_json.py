"""The JSON of chat requests and completions, and the size limit on what is read from a server."""

from __future__ import annotations

import base64
import io
import json
import zlib
from collections.abc import AsyncIterator
from functools import lru_cache
from typing import Any

import httpx2

from theodolite.core.pictures import open_image
from theodolite.core.types import Message, Picture, Response
from theodolite.models.api_key import Secret

_MEBIBYTE = 1 << 20
MOST_TOKENS = 1 << 40
"""No answer has more tokens; a server that says so is wrong."""
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
    if message.get("refusal") or finish == "content_filter":
        response = Response("refused", reason=_text(message.get("refusal")) or "content filter", **fields)
    else:
        response = Response("answered", text=_text(message.get("content")), **fields)
    return secret.clean_response(response)


def _text(value: object) -> str:
    """Return plain text, or the joined text parts of a content list."""
    parts = (
        [part.get("text") for part in value if isinstance(part, dict)] if isinstance(value, list) else [value]
    )
    return "".join(part for part in parts if isinstance(part, str))


def _count(value: object) -> int:
    """Return a token count: 0 unless it is a whole number, and at most `MOST_TOKENS`.

    >>> [_count(value) for value in (7, -7, 7.0, "7", None, [7], True, 1 << 70)] == [7, 0, 7, 0, 0, 0, 0, MOST_TOKENS]
    True
    """
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return min(max(value, 0), MOST_TOKENS) if type(value) is int else 0


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


def message_json(message: Message) -> dict[str, Any]:
    """Convert a turn to the format of chat servers. Without a picture its content is plain text.

    Servers whose template knows text only drop a list of parts, and the model gets an empty prompt.

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
    """True if every reader sees the same picture: upright, opaque, RGB or 8-bit grey."""
    orientation = 0x0112
    with open_image(data) as image:
        is_upright = image.getexif().get(orientation, 1) == 1
        return is_upright and image.mode in {"RGB", "L"} and "transparency" not in image.info
