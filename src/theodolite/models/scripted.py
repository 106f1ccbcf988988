"""Deterministic behaviours for tests and certification: ``scripted:<behaviour>``.

Each is a plain function from a request to an answer, so that the information it uses is easy to see: ``looker`` uses
only the pixels and the question, ``guesser`` only the question.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
import time
from collections.abc import Callable, Mapping, Sequence
from typing import ClassVar, Literal, TypeAlias, cast
from urllib.parse import urlencode

import numpy as np
from pydantic import Field

from theodolite.core.errors import UsageError
from theodolite.core.registry import registry
from theodolite.core.types import Choice, Pixels, Request, Response
from theodolite.models.contract import Capability, ModelName, ModelOptions, read_options
from theodolite.runs import describe

PAINTS: Mapping[str, tuple[int, int, int]] = {
    "red": (214, 39, 40),
    "green": (44, 160, 44),
    "blue": (31, 119, 180),
    "yellow": (255, 210, 60),
    "purple": (148, 103, 189),
    "orange": (255, 127, 14),
}
"""RGB colours of drawn pictures, which scripted models know by name."""


class ScriptedOptions(ModelOptions):
    """The options after ``?`` in ``scripted:behaviour?…``."""

    text: str = "left"
    """The answer of ``constant``."""
    every: int = Field(default=7, ge=1)
    """``flaky`` fails on one in this many requests, chosen by the request's content."""
    delay: float = Field(default=0.0, ge=0)
    """Seconds per answer."""
    batch_size: int = Field(default=32, ge=1)


Behaviour: TypeAlias = Callable[[Request, ScriptedOptions], str | Response]
_DEFAULTS = ScriptedOptions()


def open_model(name: ModelName) -> ScriptedModel:
    """Open a behaviour: a built-in one, or a registered one."""
    return ScriptedModel(name.text, _behaviour(name.target), read_options(name, ScriptedOptions))


def _behaviour(name: str) -> Behaviour:
    if name in BEHAVIOURS:
        return BEHAVIOURS[name]
    registered = {entry.name: entry for entry in registry().entries("behaviour")}
    if name not in registered:
        known = ", ".join({**BEHAVIOURS, **registered})
        raise UsageError(f"there is no scripted behaviour {name!r}; there are: {known}")
    script = cast("Callable[[Request], str | Response]", registered[name].load())
    return lambda request, _: script(request)


class ScriptedModel:
    """A scripted behaviour as a model."""

    lacks: ClassVar[Mapping[Capability, str]] = {}
    takes_hints: Literal[True] = True

    def __init__(self, name: str, behaviour: Behaviour, options: ScriptedOptions | None = None) -> None:
        self.name = name
        self.behaviour = behaviour
        self.options = options or ScriptedOptions()
        query = self.options.model_dump(exclude={"delay", "batch_size"}, exclude_defaults=True)
        self.identity = name.partition("?")[0] + (f"?{urlencode(query)}" if query else "")
        self.batch_size = self.options.batch_size

    def generate(self, requests: Sequence[Request]) -> list[Response]:
        """Answer the requests in order."""
        return [self._answer(request) for request in requests]

    def choose(
        self, requests: Sequence[Request], options: Sequence[Sequence[str]]
    ) -> list[Choice | Response]:
        """Give probability 0.97 to the option that it would answer, and the rest evenly to the others.

        If its answer is none of the options, all are equally probable. Refusals and failures are returned as such.
        """
        return [
            _as_choice(response.text, tuple(labels)) if response.is_answered else response
            for response, labels in zip(self.generate(requests), options, strict=True)
        ]

    def close(self) -> None:
        """Do nothing."""

    def _answer(self, request: Request) -> Response:
        started = time.monotonic()
        if self.options.delay:
            time.sleep(self.options.delay)
        try:
            answer = self.behaviour(request, self.options)
        except Exception as error:  # noqa: BLE001 - a behaviour may fail like a model
            return Response.failed(describe(error))
        if isinstance(answer, Response):
            return answer
        return Response("answered", text=answer, finish="stop", seconds=time.monotonic() - started)


def _as_choice(text: str, options: tuple[str, ...]) -> Choice:
    if not options:
        raise UsageError("there are no options to choose from")
    chosen = [option for option in options if option.strip().casefold() == text.strip().casefold()]
    if not chosen or len(options) == 1:
        return Choice(options, (-math.log(len(options)),) * len(options))
    other = math.log(0.03 / (len(options) - 1))
    return Choice(options, tuple(math.log(0.97) if option == chosen[0] else other for option in options))


def echo(request: Request, _: ScriptedOptions = _DEFAULTS) -> str:
    """Return the received request as JSON, so that tests can see exactly what reaches the model."""
    return json.dumps(
        {
            "text": request.text,
            "pictures": [{"digest": p.digest, "size": p.size} for p in request.pictures],
            "max_tokens": request.max_tokens,
            "temperature": request.temperature,
            "seed": request.seed,
            "stop": list(request.stop),
            "hint": dict(request.hint),
        }
    )


def constant(_: Request, options: ScriptedOptions = _DEFAULTS) -> str:
    """Return the same text for every request, given as ``?text=…``."""
    return options.text


def oracle(request: Request, _: ScriptedOptions = _DEFAULTS) -> str:
    """Return the correct answer, from the hint."""
    if "gold" not in request.hint:
        raise UsageError("scripted:oracle needs items with the correct answer as a hint")
    return str(request.hint["gold"])


def refuser(_: Request, __: ScriptedOptions = _DEFAULTS) -> Response:
    """Decline every request."""
    return Response("refused", reason="scripted:refuser declines every request")


def rambler(request: Request, _: ScriptedOptions = _DEFAULTS) -> str:
    """Talk about the question without answering it."""
    return (
        "That is a deep question. Much could be said of it, and much has been. " * 3
        + f"({len(request.text)})"
    )


def flaky(request: Request, options: ScriptedOptions = _DEFAULTS) -> str:
    """Guess, and fail on a fixed share of requests."""
    if _number(request.digest) % options.every == 0:
        raise RuntimeError("scripted:flaky fails on this request")
    return guesser(request, options)


def guesser(request: Request, _: ScriptedOptions = _DEFAULTS) -> str:
    """Pick one of the options in the question by a hash of the question: a pure language prior."""
    options = _options_named(request.text)
    return options[_number(request.text) % len(options)]


def looker(request: Request, _: ScriptedOptions = _DEFAULTS) -> str:
    """Locate the two coloured objects of the question in the pixels, and name the direction of the first one."""
    if not request.pictures:
        return "I cannot see a picture."
    colours = [word for word in re.findall(r"[a-z]+", request.text.casefold()) if word in PAINTS]
    if len(colours) < 2:
        return "I cannot tell which things are meant."
    pixels = request.pictures[-1].pixels()
    target, reference = (_centre(pixels, PAINTS[colour]) for colour in colours[:2])
    if target is None or reference is None:
        return "I cannot find both."
    right, down = target[0] - reference[0], target[1] - reference[1]
    if abs(right) >= abs(down):
        return "right" if right > 0 else "left"
    return "below" if down > 0 else "above"


BEHAVIOURS: Mapping[str, Behaviour] = {
    "looker": looker,
    "guesser": guesser,
    "oracle": oracle,
    "constant": constant,
    "refuser": refuser,
    "rambler": rambler,
    "flaky": flaky,
    "echo": echo,
}


def _centre(pixels: Pixels, colour: tuple[int, int, int]) -> tuple[float, float] | None:
    """Return the centroid (x, y) of the pixels within 12 of a colour in every channel."""
    near = (np.abs(pixels.astype(np.int16) - np.asarray(colour, np.int16)) <= 12).all(axis=2)
    rows, columns = np.nonzero(near)
    return (float(columns.mean()), float(rows.mean())) if len(rows) else None


def _options_named(text: str) -> list[str]:
    """Return the options of ``A) left`` or ``Answer with one of: left, right.``; else the four directions."""
    lettered = re.findall(r"^\s*\(?([A-Z])[).:]\s+\S", text, flags=re.MULTILINE)
    if lettered:
        return lettered
    listed = re.search(r"one of:?\s*([^.?\n]+)", text, flags=re.IGNORECASE)
    if listed:
        return [word.strip() for word in re.split(r",|\bor\b", listed.group(1)) if word.strip()]
    return ["left", "right", "above", "below"]


def _number(text: str) -> int:
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8])
