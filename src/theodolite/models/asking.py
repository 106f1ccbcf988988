"""Measurers that ask a model: free text, or log-probabilities of options."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Literal, TypeAlias

from theodolite.core.errors import ContractError
from theodolite.core.types import Choice, Item, Record, Request, Response
from theodolite.models.contract import (
    ChoosingModel,
    HintedModel,
    RecordedModel,
    ServedModel,
    VisionLanguageModel,
    require,
)
from theodolite.models.opening import open_model
from theodolite.runs import Measurer, MeasurerFactory, Reuse

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
    """Return a factory that opens the model where it is called: in this process or in a worker."""
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
