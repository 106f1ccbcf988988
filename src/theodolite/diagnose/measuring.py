"""Measuring: the only stage that calls a model. Every run resumes where it stopped."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from theodolite import __version__
from theodolite.core.errors import UsageError
from theodolite.core.scores import NEEDS, Need, Readout, can
from theodolite.diagnose.record import InstrumentName, LeftOut
from theodolite.models import ModelName, ServedModel, VisionLanguageModel, check_source, open_model
from theodolite.runs import (
    AnswerCache,
    AsyncMeasurer,
    Engine,
    LocalEngine,
    MeasureOptions,
    RayEngine,
    Run,
    RunInfo,
    Tally,
    measure,
    run_async,
)
from theodolite.twins.parts import Part, gives_of_model

_SMALL, _MANY = 50_000_000, 32
_IN_HAND = 8
"""Batches in hand at once: questions and graphs, with pictures and without, cannot share one, and those of like length should."""


@dataclass(frozen=True, slots=True)
class How:
    """Where and how the model runs."""

    engine: str = "local"
    workers: int | None = None
    ray_address: str | None = None

    def __post_init__(self) -> None:
        if self.engine not in {"local", "ray"}:
            raise UsageError(f"there is no engine {self.engine!r}; there are local and ray")
        if self.ray_address is not None and self.engine != "ray":
            raise UsageError("--ray-address goes with --engine ray")


@dataclass(frozen=True, slots=True)
class Opened:
    """A model that is open, and what it gives."""

    name: str
    model: VisionLanguageModel
    gives: Need

    @property
    def identity(self) -> str:
        """What tells it from another of the same name."""
        return self.model.identity

    @property
    def capabilities(self) -> tuple[Need, ...]:
        """What it gives, and all that needs less."""
        return tuple(need for need in NEEDS if can(self.gives, need))


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
            yield Opened(name, model, gives_of_model(model))
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


_WHY: Mapping[Need, tuple[str, str]] = {
    "gradients": (
        "it shows no gradients and no attention",
        "open the same weights in this process, with hf:PATH",
    ),
    "choices": (
        "it gives no log-probabilities of options",
        "open the same weights in this process, with hf:PATH",
    ),
}


def left_out(
    instruments: Mapping[InstrumentName, Iterable[Readout]], gives: Need, name: str
) -> tuple[LeftOut, ...]:
    """What a model does not allow, by instrument, with the reason and what would help."""
    found = []
    for instrument, readouts in instruments.items():
        for need, (why, remedy) in _WHY.items():
            missing = [readout for readout in readouts if readout.needs == need and not can(gives, need)]
            if missing:
                shown = "; ".join(readout.name for readout in missing[:2])
                more = f" and {len(missing) - 2} more" if len(missing) > 2 else ""
                what = f"{len(missing)} readouts that need {_NAMES[need]}: {shown}{more}"
                found.append(LeftOut(instrument=instrument, what=what, why=f"{name}: {why}", remedy=remedy))
    return tuple(found)


_NAMES: Mapping[Need, str] = {
    "text": "answers in words",
    "choices": "log-probabilities",
    "gradients": "gradients and attention",
}


def measure_part(
    part: Part,
    subject: Opened,
    folder: Path,
    *,
    how: How,
    seed: int,
    cache: AnswerCache | None = None,
    progress: Callable[[Tally], None] | None = None,
) -> Tally:
    """Starts the run of a part or takes it up, plans its items, and measures what is pending."""
    engine = _engine(part, subject, how)
    try:
        info = RunInfo(
            instrument=part.kind,
            model=subject.name,
            identity=engine.identity,
            settings=dict(part.settings),
            seed=seed,
            theodolite=__version__,
        )
        with Run.start(folder, info) as run:
            options = MeasureOptions(cache=cache, progress=progress)
            run.plan(part.items(run), whole=True)
            tally = measure(run, engine, options)
            while run.plan(part.items(run), whole=True):
                tally = measure(run, engine, options)
            return tally
    finally:
        if how.engine == "ray":
            engine.close()  # the local engine's model serves the next part


def _engine(part: Part, subject: Opened, how: How) -> Engine:
    if how.engine == "ray":
        return RayEngine(part.factory(subject.name), workers=how.workers or 2, address=how.ray_address)
    measurer = part.measurer(subject.model)
    workers = how.workers
    if workers is None and not isinstance(measurer, AsyncMeasurer):
        workers = max(measurer.batch_size, subject.model.batch_size * _IN_HAND)
    return LocalEngine(measurer, workers=workers)
