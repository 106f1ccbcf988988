"""Plan, store, resume, cache; the local and the Ray engine.

A run is a folder (`Run`). Its plan is a list of items, an engine measures what is pending, scoring reads the
results and never calls a model. Nothing here knows what a model is: an engine drives a `Measurer`.
"""

from __future__ import annotations

from theodolite.runs.bisect_failures import describe, isolate
from theodolite.runs.cache import AnswerCache
from theodolite.runs.engine import Engine, EngineName, MeasureOptions, measure
from theodolite.runs.event_loop import all_of, run_async
from theodolite.runs.inspect_log import InspectSample, InspectScore, InspectTask, write_inspect_log
from theodolite.runs.local import LocalEngine
from theodolite.runs.measurer import AsyncMeasurer, Measurer, MeasurerFactory, Reuse
from theodolite.runs.measuring import EngineOptions, Plan, RunSettings, measure_run
from theodolite.runs.names import slug
from theodolite.runs.ray import RayEngine
from theodolite.runs.run import Run, find_runs, read_info, write_atomically
from theodolite.runs.serialize import RunInfo
from theodolite.runs.store import Parsed, Result, Tally
from theodolite.runs.tables import ExportFormat, export_run

__all__ = [
    "AnswerCache",
    "AsyncMeasurer",
    "Engine",
    "EngineName",
    "EngineOptions",
    "ExportFormat",
    "InspectSample",
    "InspectScore",
    "InspectTask",
    "LocalEngine",
    "MeasureOptions",
    "Measurer",
    "MeasurerFactory",
    "Parsed",
    "Plan",
    "RayEngine",
    "Result",
    "Reuse",
    "Run",
    "RunInfo",
    "RunSettings",
    "Tally",
    "all_of",
    "describe",
    "export_run",
    "find_runs",
    "isolate",
    "measure",
    "measure_run",
    "read_info",
    "run_async",
    "slug",
    "write_atomically",
    "write_inspect_log",
]
