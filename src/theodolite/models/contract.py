"""The model contract: one required protocol, and optional capabilities."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Literal, Protocol, TypeAlias, TypeGuard, TypeVar, cast, runtime_checkable
from urllib.parse import parse_qsl, urlencode

from pydantic import BaseModel, ConfigDict, ValidationError

from theodolite.core.errors import ContractError, UnsupportedError, UsageError
from theodolite.core.registry import registry
from theodolite.core.types import Choice, Item, Record, Request, Response
from theodolite.runs import Measurer, MeasurerFactory, Reuse

Capability: TypeAlias = Literal["generate", "choose"]
"""``generate``: free text. ``choose``: log-probabilities of given options."""

_WORDS: dict[Capability, str] = {
    "generate": "generate text",
    "choose": "give the log-probabilities of options",
}


@runtime_checkable
class VisionLanguageModel(Protocol):
    """A model under test. A failed request gives a failed response; only an unusable model raises an error."""

    @property
    def name(self) -> str:
        """The name it was opened with."""
        ...

    @property
    def identity(self) -> str:
        """Everything about the model that can affect its answers; part of each cache key. Contains no secret."""
        ...

    @property
    def lacks(self) -> Mapping[Capability, str]:
        """Missing capabilities, each with the reason. Empty if all are supported."""
        ...

    @property
    def batch_size(self) -> int:
        """Preferred number of requests per batch."""
        ...

    def generate(self, requests: Sequence[Request]) -> list[Response]:
        """Return one response per request, in order."""
        ...

    def close(self) -> None:
        """Release all resources. The model cannot be used afterwards."""
        ...


@runtime_checkable
class ChoosingModel(VisionLanguageModel, Protocol):
    """A model that provides log-probabilities."""

    def choose(
        self, requests: Sequence[Request], options: Sequence[Sequence[str]]
    ) -> Sequence[Choice | Response]:
        """Return the log-probability of each option as the answer; ``options[i]`` belong to ``requests[i]``.

        If the request was refused or failed, return that response instead.
        """
        ...


@runtime_checkable
class ServedModel(VisionLanguageModel, Protocol):
    """A model behind a server that handles many requests concurrently."""

    async def check(self) -> None:
        """Raise a `ModelError` before any request if the server cannot be reached or rejects the key."""
        ...

    async def answer(self, request: Request) -> Response:
        """Return one response. The client itself handles retries, time-outs and the limit on requests in flight."""
        ...

    async def aclose(self) -> None:
        """Close the connections that belong to the running event loop."""
        ...


@runtime_checkable
class HintedModel(VisionLanguageModel, Protocol):
    """A scripted model, which may read `Request.hint`. Other models never receive one."""

    @property
    def takes_hints(self) -> Literal[True]:
        """Marks a model that may receive hints."""
        ...


@runtime_checkable
class RecordedModel(VisionLanguageModel, Protocol):
    """A model that looks up recorded answers. They may depend on `Request.ref`, so they are never reused."""

    @property
    def is_recorded(self) -> Literal[True]:
        """Marks a model whose answers must not be reused for other requests."""
        ...


def is_choosing(model: VisionLanguageModel) -> TypeGuard[ChoosingModel]:
    """Return True if `choose` can be called."""
    return "choose" not in model.lacks


def require(model: VisionLanguageModel, *capabilities: Capability) -> None:
    """Check that a model has the required capabilities.

    Raises:
        UnsupportedError: If one is missing. The message gives the reason.
    """
    for capability in capabilities:
        if capability in model.lacks:
            raise UnsupportedError(
                f"{model.name} cannot {_WORDS[capability]} ({capability}): {model.lacks[capability]}"
            )


# Models by name, and the measurer that asks them items.


# Opens a model by name: ``scheme:target?option=value&option=value``.


@dataclass(frozen=True, slots=True)
class ModelName:
    """A parsed model name.

    >>> ModelName.parse("hf:models/tiny?dtype=float32").target
    'models/tiny'
    """

    scheme: str
    target: str
    options: dict[str, str]
    text: str
    """The name as given by the user."""

    @classmethod
    def parse(cls, text: str) -> ModelName:
        """Parse a name. The scheme is not looked up."""
        scheme, colon, rest = text.partition(":")
        if not colon or not scheme or not rest:
            raise UsageError(
                f"{text!r} does not name a model; write scheme:target, such as scripted:looker or hf:path/to/folder "
                "(see `theodolite list models`)"
            )
        target, _, query = rest.partition("?")
        try:
            pairs = parse_qsl(query, keep_blank_values=True, strict_parsing=True) if query else []
        except ValueError:
            raise UsageError(f"the options of {text!r} must be written ?name=value&name=value") from None
        return cls(scheme, target, dict(pairs), text)

    def with_options(self, **changes: str) -> str:
        """Return the name with some options added or replaced.

        >>> ModelName.parse("hf:models/tiny?dtype=float32&device=cpu").with_options(dtype="bfloat16")
        'hf:models/tiny?dtype=bfloat16&device=cpu'
        """
        return f"{self.scheme}:{self.target}?{urlencode({**self.options, **changes}, safe='/:')}"


class ModelOptions(BaseModel):
    """Base class of each backend's options. For an unknown name the error lists the known ones."""

    model_config = ConfigDict(extra="forbid", frozen=True)


OptionsT = TypeVar("OptionsT", bound=ModelOptions)


def read_options(name: ModelName, kind: type[OptionsT]) -> OptionsT:
    """Parse and check the options of a model name."""
    try:
        return kind.model_validate(name.options)
    except ValidationError as error:
        first = error.errors()[0]
        option = ".".join(map(str, first["loc"]))
        if first["type"] == "extra_forbidden":
            known = ", ".join(kind.model_fields) or "none"
            raise UsageError(f"{name.text!r} has no option {option!r}; it has: {known}") from None
        raise UsageError(
            f"invalid value for the option {option} of {name.text!r}: {first['msg'].lower()}"
        ) from None


def open_model(text: str) -> VisionLanguageModel:
    """Open a model by name.

    Args:
        text: For example ``scripted:looker``, ``hf:path``, ``openai:name@url`` or ``replay:run``.

    Raises:
        UsageError: If the name is wrong.
        ModelError: If the model cannot be used.
        MissingExtraError: If a required library is not installed.

    >>> open_model("scripted:echo").name
    'scripted:echo'
    """
    name = ModelName.parse(text)
    entry = registry().entry("model", name.scheme)
    opener = cast("Callable[[ModelName], object]", entry.load())
    model = opener(name)
    if not isinstance(model, VisionLanguageModel):
        raise ContractError(
            f"the model scheme {name.scheme!r} of {entry.origin} opened a {type(model).__name__}, which does not fulfil "
            "the model contract; theodolite.testing.check_model lists what is missing"
        )
    return model


# Measurers that ask a model: free text, or log-probabilities of options.


Answering: TypeAlias = Literal["write", "choose"]
"""How items are answered: ``write`` is free text, ``choose`` takes the log-probabilities of the item's options."""


def ask_measurer(model: VisionLanguageModel, answering: Answering = "write") -> Measurer:
    """Return a measurer that sends each item's request to a model.

    Raises:
        UnsupportedError: If `answering` is ``choose`` and the model does not provide log-probabilities.
    """
    if answering == "choose":
        require(model, "choose")
        return _Choosing(model)  # type: ignore[arg-type]  # checked by `require`
    require(model, "generate")
    return _WritingServed(model) if isinstance(model, ServedModel) else _Writing(model)


def ask_factory(name: str, answering: Answering = "write") -> MeasurerFactory:
    """Return a factory that opens the model in the process that calls it: this one or a worker."""
    return partial(_open_measurer, name, answering)


def _open_measurer(name: str, answering: Answering) -> Measurer:
    return ask_measurer(open_model(name), answering)


class _Writing:
    """Generates free text, in batches."""

    def __init__(self, model: VisionLanguageModel) -> None:
        self.model = model
        self.identity = f"{model.identity}|write"
        self.batch_size = model.batch_size
        self.reuse = _reuse(model)

    def measure(self, items: Sequence[Item]) -> list[Record]:
        responses = self.model.generate([_visible(self.model, item.request) for item in items])
        return [Record(item.id, response) for item, response in zip(items, responses, strict=True)]

    def close(self) -> None:
        self.model.close()


class _WritingServed(_Writing):
    """Generates free text with concurrent requests."""

    model: ServedModel

    async def check(self) -> None:
        await self.model.check()

    async def measure_one(self, item: Item) -> Record:
        return Record(item.id, await self.model.answer(_visible(self.model, item.request)))

    async def aclose(self) -> None:
        await self.model.aclose()


class _Choosing:
    """Answers with the most probable option. An item without options fails."""

    def __init__(self, model: ChoosingModel) -> None:
        self.model = model
        self.identity = f"{model.identity}|choose"
        self.batch_size = model.batch_size
        self.reuse = _reuse(model)

    def measure(self, items: Sequence[Item]) -> list[Record]:
        requests = [_visible(self.model, item.request) for item in items]
        choices = self.model.choose(requests, [item.options for item in items])
        return [_chosen(item, choice) for item, choice in zip(items, choices, strict=True)]

    def close(self) -> None:
        self.model.close()


def _chosen(item: Item, choice: Choice | Response) -> Record:
    if isinstance(choice, Choice):
        return Record(item.id, Response("answered", text=choice.best, finish="choice"), choice)
    if getattr(choice, "status", "") == "answered":  # a plug-in may return anything
        raise ContractError(
            f"a choice among {list(item.options)} was answered in words: {choice.text[:80]!r}"
        )
    return Record(item.id, choice)


def _reuse(model: VisionLanguageModel) -> Reuse:
    if isinstance(model, RecordedModel):
        return "never"
    return "same request and hint" if isinstance(model, HintedModel) else "same request"


def _visible(model: VisionLanguageModel, request: Request) -> Request:
    """Remove the hint unless the model is scripted."""
    if isinstance(model, HintedModel) or not request.hint:
        return request
    return replace(request, hint={})
