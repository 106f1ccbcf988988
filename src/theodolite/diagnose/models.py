"""Opening the models of a diagnosis, and finding out what each can give."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial

from theodolite.attribution import capability_of
from theodolite.core.scores import CAPABILITIES, Capability, covers
from theodolite.diagnose.record import LeftOut
from theodolite.instruments.instrument import Instrument
from theodolite.models import (
    ModelName,
    ServedModel,
    VisionLanguageModel,
    check_source,
    open_model,
)
from theodolite.runs import run_async

__all__ = ["Opened", "check_models", "left_out", "opened"]

_SMALL, _MANY = 50_000_000, 32


@dataclass(frozen=True, slots=True)
class Opened:
    """A model that is open, and what it gives."""

    name: str
    model: VisionLanguageModel
    gives: Capability

    @property
    def identity(self) -> str:
        """What tells it from another of the same name."""
        return self.model.identity

    @property
    def capabilities(self) -> tuple[Capability, ...]:
        """What it gives, and all that needs less."""
        return tuple(need for need in CAPABILITIES if covers(self.gives, need))


def check_models(names: Iterable[str]) -> None:
    """Finds a wrong name, a missing folder or a silent server before the first model is measured. Nothing large is loaded.

    Raises:
        TheodoliteError: what is wrong with which.
    """
    for name in names:
        parsed = ModelName.parse(name)
        if parsed.scheme == "hf":
            check_source(parsed.target)
        else:
            with opened(name):
                pass


@contextmanager
def opened(name: str) -> Iterator[Opened]:
    """Opens a model for all instruments, and closes it."""
    model = open_model(name)
    try:
        if isinstance(model, ServedModel):
            run_async(partial(_checked, model))
        with _quick(model):
            yield Opened(name, model, capability_of(model))
    finally:
        model.close()


@contextmanager
def _quick(model: VisionLanguageModel) -> Iterator[None]:
    """Lets a small checkpoint answer more requests at once, unless its name says how many, and on one core.

    A step of a model of four million parameters takes about as long for thirty-two requests as for eight, and two threads only
    wait for each other: with both cores a diagnosis of the twins took twice the processor's time, and longer.
    """
    checkpoint = getattr(model, "checkpoint", None)
    parameters = list(checkpoint.model.parameters()) if checkpoint is not None else []
    if not parameters or sum(weights.numel() for weights in parameters) >= _SMALL:
        yield
        return
    import torch

    if "batch_size=" not in model.name and model.batch_size < _MANY:
        object.__setattr__(model, "batch_size", _MANY)
    threads = torch.get_num_threads()
    torch.set_num_threads(1 if parameters[0].device.type == "cpu" else threads)
    try:
        yield
    finally:
        torch.set_num_threads(threads)


async def _checked(model: ServedModel) -> None:
    """Raises, before anything is asked, if no server is there."""
    try:
        await model.check()
    finally:
        await model.aclose()


_WHY: Mapping[Capability, tuple[str, str]] = {
    "gradients": (
        "it shows no gradients and no attention",
        "open the same weights in this process, with hf:PATH",
    ),
    "choices": (
        "it gives no log-probabilities of options",
        "open the same weights in this process, with hf:PATH",
    ),
}


def left_out(instruments: Iterable[Instrument], gives: Capability, name: str) -> tuple[LeftOut, ...]:
    """What a model does not allow, by instrument, with the reason and what would help."""
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
