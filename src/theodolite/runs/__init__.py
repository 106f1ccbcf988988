"""Runs: plan, measure, store, resume and cache; the local and the Ray engine.

A run is a folder (`Run`). Its plan is a list of items, an engine measures the pending ones, and scoring reads the stored
results without calling a model. This package does not depend on models: an engine drives a `Measurer`.
"""

from __future__ import annotations

from theodolite.runs.batch import bisect_failures, describe
from theodolite.runs.cache import AnswerCache
from theodolite.runs.durations import duration
from theodolite.runs.engine import Engine, EngineName, MeasureOptions, measure
from theodolite.runs.event_loop import all_of, run_async
from theodolite.runs.local import LocalEngine
from theodolite.runs.measurer import AsyncMeasurer, Measurer, MeasurerFactory, Reuse
from theodolite.runs.measuring import EngineOptions, Plan, RunSettings, measure_run
from theodolite.runs.planning import Cost, Price, plan_cost
from theodolite.runs.ray import RayEngine
from theodolite.runs.results import Parsed, Result, Tally
from theodolite.runs.run import Run, find_runs, read_info, slug, write_atomically
from theodolite.runs.serialize import RunInfo
from theodolite.runs.verify import Damage, verify_run

__all__ = [
    "AnswerCache",
    "AsyncMeasurer",
    "Cost",
    "Damage",
    "Engine",
    "EngineName",
    "EngineOptions",
    "LocalEngine",
    "MeasureOptions",
    "Measurer",
    "MeasurerFactory",
    "Parsed",
    "Plan",
    "Price",
    "RayEngine",
    "Result",
    "Reuse",
    "Run",
    "RunInfo",
    "RunSettings",
    "Tally",
    "all_of",
    "bisect_failures",
    "describe",
    "duration",
    "find_runs",
    "measure",
    "measure_run",
    "plan_cost",
    "read_info",
    "run_async",
    "slug",
    "verify_run",
    "write_atomically",
]
