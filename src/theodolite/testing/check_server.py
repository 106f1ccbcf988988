"""Probe whether text, pictures and system text that are sent to a server reach its model.

Two requests that differ in one thing are asked. If that thing reaches the model, the number of prompt tokens, the answer or
its log-probabilities change. What also changes when a request is repeated is no evidence.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np

from theodolite.core.types import Message, Picture, Request, Response
from theodolite.models import ServedModel
from theodolite.runs import run_async
from theodolite.testing.findings import Remark

_TEXTS = (
    "Name one fruit.",
    "In which month does it snow most often in Oslo, and how many days does that month have?",
)
_QUESTIONS = (
    "Which colour is this picture? Answer in one word.",
    "Count the corners of the largest thing in this picture, then say what it could be used for.",
)
_ROLES = (
    "You are a pirate. Answer in capital letters only.",
    "Say nothing but numbers. Be very brief, please.",
)
_SHOWN = ("picture", "other picture", "third picture")
_LOGPROB_NOISE = 0.1
"""If log-probabilities change more than this when a request is repeated, they are not compared."""
_COUNT, _ANSWER, _LOGPROBS = "the prompt's token count", "the answer", "its log-probabilities"


@runtime_checkable
class _GivesLogprobs(Protocol):
    async def logprobs(self, request: Request) -> tuple[float, ...]: ...


@dataclass(frozen=True, slots=True)
class _Reply:
    """The response to a probe."""

    response: Response
    logprobs: tuple[float, ...]

    @property
    def values(self) -> tuple[str, ...]:
        """The names of the values that can be compared with those of another reply."""
        counted = (_COUNT,) if self.response.prompt_tokens else ()
        return (*counted, _ANSWER, *((_LOGPROBS,) if self.logprobs else ()))

    def change(self, other: _Reply, value: str) -> float:
        """Return how much a value differs from that of another reply; 0 if they are equal."""
        if value == _COUNT:
            return abs(self.response.prompt_tokens - other.response.prompt_tokens)
        if value == _ANSWER:
            return float(self.response.text != other.response.text)
        if len(self.logprobs) != len(other.logprobs):
            return math.inf
        return max(abs(one - two) for one, two in zip(self.logprobs, other.logprobs, strict=True))


@dataclass(frozen=True, slots=True)
class _Replies:
    """The replies to all probes, by name."""

    by_name: dict[str, _Reply]
    noise: dict[str, float]
    """How far each value changes when a request is repeated. Values that change completely are left out."""

    @classmethod
    def of(cls, by_name: dict[str, _Reply]) -> _Replies:
        """Build the replies, with the noise of the repeated requests that were answered."""
        repeats = [(by_name[name], by_name[f"{name} again"]) for name in ("text", "picture")]
        repeats = [pair for pair in repeats if all(reply.response.is_answered for reply in pair)]
        noise: dict[str, float] = {}
        for value in (_COUNT, _ANSWER, _LOGPROBS):
            changes = [one.change(two, value) for one, two in repeats if value in one.values]
            most = _LOGPROB_NOISE if value == _LOGPROBS else 0.0
            if changes and max(changes) <= most:
                noise[value] = max(changes)
        return cls(by_name, noise)

    def fault(self, *names: str) -> str:
        """Return why a probe has no answer. Empty if all have one."""
        responses = (self.by_name[name].response for name in names)
        return next(
            (response.reason or response.status for response in responses if not response.is_answered), ""
        )

    def is_changed(self, first: str, *others: str) -> bool:
        """Return True if a reply differs from the first by more than a repeated request does."""
        one = self.by_name[first]
        return any(
            one.change(other, value) > 2 * noise
            for other in (self.by_name[name] for name in others)
            for value, noise in self.noise.items()
            if value in one.values and value in other.values
        )

    @property
    def same(self) -> str:
        """Return a sentence that says that nothing changes."""
        *values, last = self.noise
        return f"{', '.join(values)} and {last} are the same" if values else f"{last} is the same"


def reaches_the_model(model: ServedModel) -> Iterator[str]:
    """Yield a sentence for each input that does not reach the model behind a server, and remarks."""
    replies = _Replies.of(_ask(model))
    text, picture = replies.fault("text", "other text"), replies.fault(*_SHOWN, "picture, other text")
    if text:
        yield f"the server does not answer a question without a picture: {text}"
    if picture:
        yield f"the server does not answer a question about a picture: {picture}"
    if text and picture:
        return
    if not replies.noise:
        yield Remark("a repeated request gets other answers, so it cannot be told what reaches the model")
        return
    if not text and not replies.is_changed("text", "other text"):
        yield f"{replies.same} for two different questions: text does not reach the model"
    if not picture:
        yield from _pictures(replies)
    if not text:
        yield from _settings(replies)


def _pictures(replies: _Replies) -> Iterator[str]:
    if not replies.is_changed("picture", "picture, other text"):
        yield (
            f"{replies.same} for two different questions about a picture: "
            "text does not reach the model if there is a picture"
        )
    if replies.is_changed(*_SHOWN):
        return
    shown, bare = (replies.by_name[name].response.prompt_tokens for name in ("picture", "text of picture"))
    if _COUNT in replies.noise and shown > bare and _LOGPROBS not in replies.noise:
        yield Remark(
            f"a picture adds {shown - bare} tokens to the prompt, but {replies.same} for three different pictures: "
            "it cannot be told whether the model gets more than a placeholder"
        )
    else:
        yield f"{replies.same} for three different pictures: pictures do not reach the model"


def _settings(replies: _Replies) -> Iterator[str]:
    """Yield remarks on optional features that a server does not support."""
    if fault := replies.fault("system", "other system"):
        yield Remark(f"the server refuses system text ({fault}); ?system=user sends it in the user's turn")
    elif not replies.is_changed("system", "other system"):
        yield Remark(
            f"{replies.same} for two different system texts: system text does not reach the model; "
            "?system=user sends it in the user's turn"
        )
    if fault := replies.fault("stop"):
        yield Remark(f"the server refuses stop strings ({fault}); with ?stop=here answers are cut here")
    for value, words in ((_COUNT, "token counts"), (_LOGPROBS, "log-probabilities")):
        if value not in replies.by_name["text"].values:
            yield Remark(f"the server gives no {words}")


def _ask(model: ServedModel) -> dict[str, _Reply]:
    """Ask all probes, one after the other, so that none shares a batch with another."""

    async def ask_all() -> dict[str, _Reply]:
        try:
            return {name: await _reply(model, request) for name, request in _requests().items()}
        finally:
            await model.aclose()

    return run_async(ask_all)


async def _reply(model: ServedModel, request: Request) -> _Reply:
    response = await model.answer(request)
    if not response.is_answered or not isinstance(model, _GivesLogprobs):
        return _Reply(response, ())
    return _Reply(response, await model.logprobs(request))


def _requests() -> dict[str, Request]:
    """Return the probes by name. The pictures have one size, so that they have the same number of tokens."""
    rng = np.random.default_rng(0)
    red, blue = (np.full((224, 224, 3), colour, np.uint8) for colour in ((220, 30, 30), (30, 30, 220)))
    blue[60:160, 60:160] = (250, 250, 40)
    noise = rng.integers(0, 256, (224, 224, 3), dtype=np.uint8)
    pictures = [Picture.from_array(values) for values in (red, blue, noise)]

    def asked(*content: str | Picture, system: str = "", stop: tuple[str, ...] = ()) -> Request:
        turns = (*((Message("system", (system,)),) if system else ()), Message.user(*content))
        return Request(turns, max_tokens=8, stop=stop)

    return {
        "text": asked(_TEXTS[0]),
        "text again": asked(_TEXTS[0]),
        "other text": asked(_TEXTS[1]),
        "text of picture": asked(_QUESTIONS[0]),
        "picture": asked(pictures[0], _QUESTIONS[0]),
        "picture again": asked(pictures[0], _QUESTIONS[0]),
        "other picture": asked(pictures[1], _QUESTIONS[0]),
        "third picture": asked(pictures[2], _QUESTIONS[0]),
        "picture, other text": asked(pictures[0], _QUESTIONS[1]),
        "system": asked(_TEXTS[0], system=_ROLES[0]),
        "other system": asked(_TEXTS[0], system=_ROLES[1]),
        "stop": asked(_TEXTS[0], stop=("\n",)),
    }
