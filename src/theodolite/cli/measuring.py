"""Measuring as commands did it before `theodolite.cli.running`; to be replaced by that."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from theodolite.cli.output import progress_bar
from theodolite.cli.running import SOME_FAILED, exit_if_failed
from theodolite.core.types import Item
from theodolite.runs import EngineOptions, MeasurerFactory, Plan, RunSettings, Tally, measure_run

__all__ = ["SOME_FAILED", "Asked", "HowToMeasure", "exit_if_failed", "measure_plan"]


@dataclass(frozen=True, slots=True)
class HowToMeasure:
    """The options that every ``run`` command shares."""

    engine: str = "local"
    workers: int | None = None
    ray_address: str | None = None
    cache: Path | None = None
    limit: int | None = None


@dataclass(frozen=True, slots=True)
class Asked:
    """What makes a run this run and no other."""

    instrument: str
    model: str
    seed: int
    settings: dict[str, Any]


def measure_plan(
    folder: Path, asked: Asked, items: Plan | Iterable[Item], factory: MeasurerFactory, how: HowToMeasure
) -> Tally:
    """Measures a run."""
    with progress_bar(f"{asked.instrument} {asked.model}", how.limit) as bar:
        return measure_run(
            folder,
            RunSettings(asked.instrument, asked.model, asked.seed, asked.settings),
            items if callable(items) else (lambda _: items),
            factory,
            options=EngineOptions(how.engine, how.workers, how.ray_address, how.cache),
            limit=how.limit,
            progress=bar,
        )
