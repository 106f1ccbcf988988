"""What every model promises, and how to ask for what only some can do."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal, Protocol, TypeAlias, TypeGuard, runtime_checkable

from theodolite.core.errors import UnsupportedError
from theodolite.core.types import Choice, Request, Response

Capability: TypeAlias = Literal["generate", "choose"]
"""``generate``: free text. ``choose``: log-probabilities of given options."""

_WORDS: dict[Capability, str] = {
    "generate": "write answers",
    "choose": "give the log-probabilities of options",
}


@runtime_checkable
class VisionLanguageModel(Protocol):
    """A model under test. One bad request gives a failed response; only an unusable model raises."""

    @property
    def name(self) -> str:
        """The string it was opened with."""
        ...

    @property
    def identity(self) -> str:
        """Everything about the model that can change its answers: part of each cache key. Holds no secret."""
        ...

    @property
    def lacks(self) -> Mapping[Capability, str]:
        """What it cannot do, each with the reason; empty if it can do everything."""
        ...

    @property
    def batch_size(self) -> int:
        """How many requests it likes at once."""
        ...

    def generate(self, requests: Sequence[Request]) -> list[Response]:
        """One response per request, in order."""
        ...

    def close(self) -> None:
        """Frees what it holds. It is not used afterwards."""
        ...


@runtime_checkable
class ChoosingModel(VisionLanguageModel, Protocol):
    """A model whose logits are to be had."""

    def choose(
        self, requests: Sequence[Request], options: Sequence[Sequence[str]]
    ) -> Sequence[Choice | Response]:
        """The log-probability of each option as the answer; ``options[i]`` belong to ``requests[i]``.

        Where there is no such thing, because the request was refused or failed, the response that says so.
        """
        ...


@runtime_checkable
class ServedModel(VisionLanguageModel, Protocol):
    """A model behind a server, where many requests wait at once and each comes back when it is done."""

    async def check(self) -> None:
        """Raises `ModelError`, before anything is asked, if no server is there or it refuses the key."""
        ...

    async def answer(self, request: Request) -> Response:
        """One response; retries, time-outs and the limit on requests in flight are the client's own affair."""
        ...

    async def aclose(self) -> None:
        """Closes the connections that belong to the running event loop."""
        ...


@runtime_checkable
class HintedModel(VisionLanguageModel, Protocol):
    """A scripted model, which may read `Request.hint`. Real models never receive one."""

    @property
    def takes_hints(self) -> Literal[True]:
        """Says that hints do no harm here: nothing is learnt or measured about this model."""
        ...


@runtime_checkable
class RecordedModel(VisionLanguageModel, Protocol):
    """A model that looks its answers up. They may depend on `Request.ref` too, and cost nothing: none is reused."""

    @property
    def is_recorded(self) -> Literal[True]:
        """Says that every request is to be looked up for itself."""
        ...


def is_choosing(model: VisionLanguageModel) -> TypeGuard[ChoosingModel]:
    """Whether `choose` can be called."""
    return "choose" not in model.lacks


def require(model: VisionLanguageModel, *capabilities: Capability) -> None:
    """Checks before a run that the model can do what the run needs.

    Raises:
        UnsupportedError: it cannot; the message names what is missing and why.
    """
    for capability in capabilities:
        if capability in model.lacks:
            raise UnsupportedError(
                f"{model.name} cannot {_WORDS[capability]} ({capability}): {model.lacks[capability]}"
            )
