"""Deterministic behaviours for tests and certification: ``scripted:<behaviour>``.

Each is a plain function from a request to an answer, so that what it knows is plain to see: ``looker`` reads
nothing but the pixels and the question, ``guesser`` nothing but the question.
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
from theodolite.models.colours import PAINTS
from theodolite.models.contract import Capability
from theodolite.models.opening import ModelName, ModelOptions, read_options
from theodolite.runs import describe


class ScriptedOptions(ModelOptions):
    """What can follow the ``?`` in ``scripted:behaviour?…``."""

    text: str = "left"
    """What ``constant`` says."""
    every: int = Field(default=7, ge=1)
    """``flaky`` fails on one request of so many, chosen by the request's content."""
    delay: float = Field(default=0.0, ge=0)
    """Seconds that each answer takes."""
    batch_size: int = Field(default=32, ge=1)


Behaviour: TypeAlias = Callable[[Request, ScriptedOptions], str | Response]


def open_model(name: ModelName) -> ScriptedModel:
    """Looks the behaviour up in the table below, and then among the registered ones."""
    return ScriptedModel(name.text, _behaviour(name.target), read_options(name, ScriptedOptions))


def behaviours() -> dict[str, str]:
    """Every name that can follow ``scripted:``, with what it does."""
    own = {name: (act.__doc__ or "").strip().partition("\n")[0] for name, act in BEHAVIOURS.items()}
    return own | {entry.name: entry.summary for entry in registry().entries("behaviour")}


def _behaviour(name: str) -> Behaviour:
    if name in BEHAVIOURS:
        return BEHAVIOURS[name]
    registered = {entry.name: entry for entry in registry().entries("behaviour")}
    if name not in registered:
        known = ", ".join([*BEHAVIOURS, *registered])
        raise UsageError(f"there is no scripted behaviour {name!r}; there are: {known}")
    script = cast("Callable[[Request], str | Response]", registered[name].load())
    return lambda request, _: script(request)


class ScriptedModel:
    """A behaviour that keeps the model contract."""

    lacks: ClassVar[Mapping[Capability, str]] = {}
    takes_hints: Literal[True] = True

    def __init__(self, name: str, behaviour: Behaviour, options: ScriptedOptions | None = None) -> None:
        self.name = name
        self.behaviour = behaviour
        self.options = options or ScriptedOptions()
        said = self.options.model_dump(exclude={"delay", "batch_size"}, exclude_defaults=True)
        self.identity = name.partition("?")[0] + (f"?{urlencode(said)}" if said else "")
        self.batch_size = self.options.batch_size

    def generate(self, requests: Sequence[Request]) -> list[Response]:
        """Answers one after the other."""
        return [self._answer(request) for request in requests]

    def choose(
        self, requests: Sequence[Request], options: Sequence[Sequence[str]]
    ) -> list[Choice | Response]:
        """Puts 0.97 of the probability on the option that it would say, the rest evenly; all evenly if it says none.

        Where it would refuse or fail, it does so here too.
        """
        return [
            _as_choice(said.text, tuple(each)) if said.is_answered else said
            for said, each in zip(self.generate(requests), options, strict=True)
        ]

    def close(self) -> None:
        """Holds nothing."""

    def _answer(self, request: Request) -> Response:
        started = time.monotonic()
        if self.options.delay:
            time.sleep(self.options.delay)
        try:
            said = self.behaviour(request, self.options)
        except Exception as error:  # noqa: BLE001 - a behaviour may fail as a model may
            return Response.failed(describe(error))
        if isinstance(said, Response):
            return said
        return Response("answered", text=said, finish="stop", seconds=time.monotonic() - started)


def _as_choice(said: str, options: tuple[str, ...]) -> Choice:
    if not options:
        raise UsageError("there are no options to choose from")
    chosen = [option for option in options if option.strip().casefold() == said.strip().casefold()]
    if not chosen or len(options) == 1:
        return Choice(options, (-math.log(len(options)),) * len(options))
    other = math.log(0.03 / (len(options) - 1))
    return Choice(options, tuple(math.log(0.97) if option == chosen[0] else other for option in options))


def _echo(request: Request, _: ScriptedOptions) -> str:
    """What it received, as JSON: lets a test see exactly what reached the model."""
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


def _constant(_: Request, options: ScriptedOptions) -> str:
    """Always the same text, given as ``?text=…``."""
    return options.text


def _oracle(request: Request, _: ScriptedOptions) -> str:
    """The gold answer, from the hint."""
    if "gold" not in request.hint:
        raise UsageError("scripted:oracle needs items that carry their gold answer as a hint")
    return str(request.hint["gold"])


def _refuser(_: Request, __: ScriptedOptions) -> Response:
    """Declines every request."""
    return Response("refused", reason="scripted:refuser declines every request")


def _rambler(request: Request, _: ScriptedOptions) -> str:
    """Talks round the question and never answers it."""
    return (
        "That is a deep question. Much could be said of it, and much has been. " * 3
        + f"({len(request.text)})"
    )


def _flaky(request: Request, options: ScriptedOptions) -> str:
    """Guesses, and fails on a fixed share of requests."""
    if _number(request.digest) % options.every == 0:
        raise RuntimeError("scripted:flaky fails on this request")
    return _guesser(request, options)


def _guesser(request: Request, _: ScriptedOptions) -> str:
    """Picks one of the options that the question names, by a hash of the question alone: a pure language prior."""
    options = _options_named(request.text)
    return options[_number(request.text) % len(options)]


def _looker(request: Request, _: ScriptedOptions) -> str:
    """Finds the two coloured things that the question names in the pixels, and says where the first lies."""
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
    "looker": _looker,
    "guesser": _guesser,
    "oracle": _oracle,
    "constant": _constant,
    "refuser": _refuser,
    "rambler": _rambler,
    "flaky": _flaky,
    "echo": _echo,
}


def _centre(pixels: Pixels, colour: tuple[int, int, int]) -> tuple[float, float] | None:
    """The centroid (x, y) of the pixels within 12 of a colour in every channel."""
    near = (np.abs(pixels.astype(np.int16) - np.asarray(colour, np.int16)) <= 12).all(axis=2)
    rows, columns = np.nonzero(near)
    return (float(columns.mean()), float(rows.mean())) if len(rows) else None


def _options_named(text: str) -> list[str]:
    """Options written ``A) left`` or in ``Answer with one of: left, right.``; four directions if there are none."""
    lettered = re.findall(r"^\s*\(?([A-Z])[).:]\s+\S", text, flags=re.MULTILINE)
    if lettered:
        return lettered
    listed = re.search(r"one of:?\s*([^.?\n]+)", text, flags=re.IGNORECASE)
    if listed:
        return [word.strip() for word in re.split(r",|\bor\b", listed.group(1)) if word.strip()]
    return ["left", "right", "above", "below"]


def _number(text: str) -> int:
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8])
