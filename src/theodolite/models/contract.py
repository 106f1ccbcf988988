"""The model contract: one required protocol, and optional capabilities."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal, Protocol, TypeAlias, TypeGuard, runtime_checkable

from theodolite.core.errors import UnsupportedError
from theodolite.core.types import Choice, Request, Response

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
    """True if `choose` can be called."""
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
