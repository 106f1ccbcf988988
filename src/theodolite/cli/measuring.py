"""What every ``run`` command does once it has a plan."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import ExitStack, closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias, cast

import typer

from theodolite import __version__
from theodolite.cli.output import note, progress_bar
from theodolite.core.errors import UsageError
from theodolite.core.types import Item
from theodolite.runs import (
    AnswerCache,
    Engine,
    EngineName,
    LocalEngine,
    MeasureOptions,
    MeasurerFactory,
    RayEngine,
    Run,
    RunInfo,
    Tally,
    measure,
)

Plan: TypeAlias = Iterable[Item] | Callable[[Run], Iterable[Item]]

SOME_FAILED = 1
"""The exit status of a run that ended with failed items."""


@dataclass(frozen=True, slots=True)
class HowToMeasure:
    """The options that every ``run`` command shares."""

    engine: str = "local"
    workers: int | None = None
    ray_address: str | None = None
    cache: Path | None = None
    limit: int | None = None


def open_engine(factory: MeasurerFactory, how: HowToMeasure) -> Engine:
    """The engine that was asked for."""
    if how.engine not in {"local", "ray"}:
        raise UsageError(f"there is no engine {how.engine!r}; there are local and ray")
    name = cast("EngineName", how.engine)
    if name == "ray":
        return RayEngine(factory, workers=how.workers or 2, address=how.ray_address)
    if how.ray_address is not None:
        raise UsageError("--ray-address goes with --engine ray")
    return LocalEngine(factory(), workers=how.workers)


@dataclass(frozen=True, slots=True)
class Asked:
    """What makes a run this run and no other."""

    instrument: str
    model: str
    seed: int
    settings: dict[str, Any]


def measure_plan(
    folder: Path, asked: Asked, items: Plan, factory: MeasurerFactory, how: HowToMeasure
) -> Tally:
    """Starts the run or takes it up, plans the items, and measures what is pending.

    Args:
        folder: of the run.
        asked: instrument, model, seed and settings.
        items: the plan; or what gives it from what the run holds already, where answers decide what is asked next.
        factory: of what measures them.
        how: engine, workers, cache, limit.
    """
    with ExitStack() as stack:
        engine = stack.enter_context(closing(open_engine(factory, how)))
        info = RunInfo(
            instrument=asked.instrument,
            model=asked.model,
            identity=engine.identity,
            settings=asked.settings,
            seed=asked.seed,
            theodolite=__version__,
        )
        run = stack.enter_context(Run.start(folder, info))
        cache = stack.enter_context(AnswerCache(how.cache)) if how.cache is not None else None
        run.plan(items(run) if callable(items) else items, whole=True)
        bar = stack.enter_context(progress_bar(f"{asked.instrument} {asked.model}", how.limit))
        options = MeasureOptions(limit=how.limit, cache=cache, progress=bar)
        tally = measure(run, engine, options)
        while callable(items) and run.plan(items(run), whole=True):
            tally = measure(run, engine, options)
        return tally


def exit_if_failed(tally: Tally, folder: Path) -> None:
    """Tells of failed items, and leaves with status 1 if there are any."""
    if tally.failed:
        note(
            f"{tally.failed} of {tally.planned} items failed; `theodolite runs show {folder}` tells why, "
            "and the same command asks them again"
        )
        raise typer.Exit(SOME_FAILED)
