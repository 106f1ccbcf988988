"""Open the models of a diagnosis, and find out their capabilities."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeAlias

from theodolite.attribution import capability_of
from theodolite.core.errors import UsageError
from theodolite.core.scores import CAPABILITIES, Capability, covers
from theodolite.diagnose.record import LeftOut
from theodolite.instruments.instrument import Instrument
from theodolite.models import (
    ModelName,
    ServedModel,
    VisionLanguageModel,
    check_source,
    loaded_model,
    open_model,
)
from theodolite.runs import run_async

__all__ = ["ModelLike", "Opened", "check_models", "given_models", "left_out", "opened"]

ModelLike: TypeAlias = str | VisionLanguageModel | Any
"""A name, an object that fulfils the model contract, or a transformers model in memory."""

_SMALL, _LARGE_BATCH = 50_000_000, 32


@dataclass(frozen=True, slots=True)
class Opened:
    """An open model with its capability."""

    name: str
    model: VisionLanguageModel
    gives: Capability

    @property
    def identity(self) -> str:
        """Distinguishes models of the same name, such as by a hash of the weights."""
        return self.model.identity

    @property
    def capabilities(self) -> tuple[Capability, ...]:
        """All its capabilities, from text on."""
        return tuple(need for need in CAPABILITIES if covers(self.gives, need))


def check_models(names: Iterable[str]) -> None:
    """Find wrong names, missing folders and unreachable servers before the first model is measured.

    Large models are not loaded.

    Raises:
        TheodoliteError: If a model cannot be opened.
    """
    for name in names:
        parsed = ModelName.parse(name)
        if parsed.scheme == "hf":
            check_source(parsed.target)
        else:
            with opened(name):
                pass


@contextmanager
def given_models(
    model: ModelLike | Sequence[ModelLike], processor: Any = None
) -> Iterator[dict[str, VisionLanguageModel | None]]:
    """Context manager: models by name, each in memory or None if it is to be opened by its name.

    Raises:
        UsageError: If something is not a model, or a name is given twice.
    """
    listed = list(model) if isinstance(model, list | tuple) else [model]
    if processor is not None and (len(listed) != 1 or isinstance(listed[0], str | VisionLanguageModel)):
        raise UsageError(
            "processor belongs to one transformers model in memory; for several, wrap each with "
            "theodolite.models.loaded_model(model, processor)"
        )
    found: dict[str, VisionLanguageModel | None] = {}
    with ExitStack() as stack:
        for each in listed:
            own = None if isinstance(each, str) else _in_memory(each, processor, stack)
            name = each if isinstance(each, str) else str(own and own.name)
            if name in found:
                raise UsageError(
                    f"the model {name} is given twice; to compare two seeds of one model use two folders, and give models in "
                    "memory different names with theodolite.models.loaded_model(model, processor, name=…)"
                )
            found[name] = own
        if not found:
            raise UsageError("no model is given; name one, such as hf:PATH or pocket:grounded")
        yield found


def _in_memory(model: Any, processor: Any, stack: ExitStack) -> VisionLanguageModel:
    """Return an object that fulfils the model contract; a transformers model is wrapped, and restored in the end."""
    if isinstance(model, VisionLanguageModel):
        return model
    if not (hasattr(model, "generate") and hasattr(model, "config")):
        raise UsageError(
            f"a {type(model).__name__} is not a model: give a name such as hf:PATH, a transformers model with its processor, "
            "or an object that fulfils the model contract (theodolite.testing.check_model lists what is missing)"
        )
    if processor is None:
        raise UsageError("a transformers model in memory needs its processor: diagnose(model=…, processor=…)")
    wrapped = loaded_model(model, processor)
    stack.callback(wrapped.close)
    return wrapped


@contextmanager
def opened(name: str, given: Mapping[str, VisionLanguageModel] | None = None) -> Iterator[Opened]:
    """Context manager: a model, opened for all instruments. One that is given stays open."""
    own = (given or {}).get(name)
    model = own if own is not None else open_model(name)
    try:
        if isinstance(model, ServedModel):
            run_async(partial(_check_server, model))
        with _fast_if_small(model):
            yield Opened(name, model, capability_of(model))
    finally:
        if own is None:
            model.close()


@contextmanager
def _fast_if_small(model: VisionLanguageModel) -> Iterator[None]:
    """Context manager: a small checkpoint gets a larger batch size, unless its name sets one, and one thread.

    A model of four million parameters takes about as long for 32 requests as for 8. With a second thread, a diagnosis of
    the twins took twice the CPU time, and longer.
    """
    checkpoint = getattr(model, "checkpoint", None)
    parameters = list(checkpoint.model.parameters()) if checkpoint is not None else []
    if not parameters or sum(weights.numel() for weights in parameters) >= _SMALL:
        yield
        return
    import torch

    before = model.batch_size
    if "batch_size=" not in model.name and model.batch_size < _LARGE_BATCH:
        object.__setattr__(model, "batch_size", _LARGE_BATCH)
    threads = torch.get_num_threads()
    torch.set_num_threads(1 if parameters[0].device.type == "cpu" else threads)
    try:
        yield
    finally:
        torch.set_num_threads(threads)
        object.__setattr__(model, "batch_size", before)


async def _check_server(model: ServedModel) -> None:
    """Raise an error if the server cannot be reached."""
    try:
        await model.check()
    finally:
        await model.aclose()


_WHY: Mapping[Capability, tuple[str, str]] = {
    "gradients": (
        "it gives no gradients and no attention",
        "open the same weights in this process, with hf:PATH",
    ),
    "choices": (
        "it gives no log-probabilities of options",
        "open the same weights in this process, with hf:PATH",
    ),
}


def left_out(instruments: Iterable[Instrument], gives: Capability, name: str) -> tuple[LeftOut, ...]:
    """List the metrics that a model does not support, by instrument, with the reason and a remedy."""
    found = []
    for instrument in instruments:
        for need, (why, remedy) in _WHY.items():
            missing = [
                metric for metric in instrument.metrics if metric.needs == need and not covers(gives, need)
            ]
            if missing:
                shown = "; ".join(metric.name for metric in missing[:2])
                more = f" and {len(missing) - 2} more" if len(missing) > 2 else ""
                what = f"{len(missing)} metrics that need {_NAMES[need]}: {shown}{more}"
                found.append(
                    LeftOut(instrument=instrument.name, what=what, why=f"{name}: {why}", remedy=remedy)
                )
    return tuple(found)


_NAMES: Mapping[Capability, str] = {
    "text": "answers in words",
    "choices": "log-probabilities",
    "gradients": "gradients and attention",
}
