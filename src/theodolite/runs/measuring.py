"""The measuring loop: start or resume a run, plan its items, measure the pending ones, and repeat if the plan grew.

Everything that calls a model uses this loop: each ``run`` command, the diagnosis and the twins' separation
certificates.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from contextlib import ExitStack, closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

from theodolite import __version__
from theodolite.core.errors import UsageError
from theodolite.core.types import Item
from theodolite.runs.cache import AnswerCache
from theodolite.runs.engine import Engine, MeasureOptions, measure
from theodolite.runs.local import LocalEngine
from theodolite.runs.measurer import Measurer, MeasurerFactory
from theodolite.runs.ray import RayEngine
from theodolite.runs.results import Tally
from theodolite.runs.run import Run
from theodolite.runs.serialize import RunInfo

Plan: TypeAlias = Callable[[Run], Iterable[Item]]
"""Returns the items of a run, given its results so far. Some plans add items once the first answers are known."""

_RAY_WORKERS = 2


@dataclass(frozen=True, slots=True)
class EngineOptions:
    """Where and how the model runs."""

    engine: str = "local"
    workers: int | None = None
    ray_address: str | None = None
    cache: Path | None = None
    """Folder of the answer cache shared between runs."""

    def __post_init__(self) -> None:
        if self.engine not in {"local", "ray"}:
            raise UsageError(f"there is no engine {self.engine!r}; there are: local, ray")
        if self.ray_address is not None and self.engine != "ray":
            raise UsageError("--ray-address needs --engine ray")


@dataclass(frozen=True, slots=True)
class RunSettings:
    """What identifies a run. A run folder can be resumed only with equal settings."""

    kind: str
    """The instrument, or one of its kinds of run, such as ``grid-explain``."""
    model: str
    seed: int = 0
    settings: Mapping[str, Any] = field(default_factory=dict)


def measure_run(
    folder: Path,
    settings: RunSettings,
    plan: Plan,
    source: Measurer | MeasurerFactory,
    *,
    options: EngineOptions | None = None,
    limit: int | None = None,
    progress: Callable[[Tally], None] | None = None,
) -> Tally:
    """Start or resume a run, and measure until its plan has no new items.

    Args:
        folder: The run folder.
        settings: Kind, model, seed and settings. Must be the same when a run is resumed.
        plan: Returns the items.
        source: An open measurer, which stays open, or a factory, which the engine calls.
        options: Engine, workers and cache.
        limit: Measure only this many items, from the start of the plan.
        progress: Called after every commit.

    Returns:
        The progress of the run.
    """
    how = options or EngineOptions()
    with ExitStack() as stack:
        engine = _engine(source, how, stack)
        info = RunInfo(
            instrument=settings.kind,
            model=settings.model,
            identity=engine.identity,
            settings=dict(settings.settings),
            seed=settings.seed,
            theodolite=__version__,
        )
        run = stack.enter_context(Run.start(folder, info))
        cache = stack.enter_context(AnswerCache(how.cache)) if how.cache is not None else None
        measuring = MeasureOptions(limit=limit, cache=cache, progress=progress)
        run.plan(plan(run), whole=True)
        tally = measure(run, engine, measuring)
        while run.plan(plan(run), whole=True):
            tally = measure(run, engine, measuring)
        return tally


def _engine(source: Measurer | MeasurerFactory, how: EngineOptions, stack: ExitStack) -> Engine:
    """Create the engine. If it opens its own measurer, it is closed with the stack."""
    if isinstance(source, Measurer) and not isinstance(source, type):  # a class is a factory
        if how.engine == "ray":
            raise UsageError("an open model cannot be sent to Ray workers; pass its name instead")
        return LocalEngine(source, workers=how.workers)
    if how.engine == "ray":
        engine: Engine = RayEngine(source, workers=how.workers or _RAY_WORKERS, address=how.ray_address)
    else:
        engine = LocalEngine(source(), workers=how.workers)
    return stack.enter_context(closing(engine))
