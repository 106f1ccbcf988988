"""Runs: plan, measure, store, resume and cache; the local and the Ray engine.

A run is a folder (`Run`). Its plan is a list of items, an engine measures the pending ones, and scoring reads the stored
results without calling a model. This package does not depend on models: an engine drives a `Measurer`.
"""

from __future__ import annotations

from theodolite.runs.engine import (
    AnswerCache,
    AsyncMeasurer,
    Engine,
    EngineName,
    EngineOptions,
    LocalEngine,
    MeasureOptions,
    Measurer,
    MeasurerFactory,
    Plan,
    Reuse,
    RunSettings,
    all_of,
    answer_key,
    bisect_failures,
    describe,
    measure,
    measure_run,
    run_async,
)
from theodolite.runs.planning import Cost, Price, plan_cost, planned_items
from theodolite.runs.ray import RayEngine
from theodolite.runs.run import Damage, Run, find_runs, read_info, slug, verify_run, write_atomically
from theodolite.runs.store import Parsed, Result, RunInfo, Tally

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
    "answer_key",
    "bisect_failures",
    "describe",
    "find_runs",
    "measure",
    "measure_run",
    "plan_cost",
    "planned_items",
    "read_info",
    "run_async",
    "slug",
    "verify_run",
    "write_atomically",
]
