"""What a diagnosis would take, before it: requests, pictures, tokens and time, by model and instrument."""

from __future__ import annotations

import tempfile
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

from theodolite.core.errors import MissingExtraError, ModelError, UnsupportedError
from theodolite.core.scores import Capability
from theodolite.diagnose.models import Opened, opened
from theodolite.diagnose.request import DiagnosisRequest
from theodolite.instruments.instrument import Instrument
from theodolite.runs import Cost, RunSettings, plan_cost

__all__ = ["plan_diagnosis"]


def plan_diagnosis(request: DiagnosisRequest) -> dict[str, dict[str, Cost]]:
    """Count what a diagnosis would ask, and ask a few items of each run to find out time and tokens.

    Data are made in a temporary folder, and nothing is kept. A model that cannot be reached is counted without its time.

    Returns:
        The cost of each instrument, by model.
    """
    with tempfile.TemporaryDirectory() as scratch:
        here = replace(request, folder=Path(scratch))
        return {name: _of_model(here, name) for name in request.models}


def _of_model(request: DiagnosisRequest, name: str) -> dict[str, Cost]:
    with ExitStack() as stack:
        model: Opened | None = None
        why = ""
        try:
            model = stack.enter_context(opened(name, request.given))
        except (MissingExtraError, ModelError) as error:
            why = str(error)
        found = {}
        for instrument in request.instruments:
            request.progress(name, instrument.name, "planning")
            try:
                found[instrument.name] = _of_instrument(request, name, model, instrument, why)
            except UnsupportedError as error:
                found[instrument.name] = Cost(why_not=f"left out: {error}")
        return found


def _of_instrument(
    request: DiagnosisRequest, name: str, model: Opened | None, instrument: Instrument, why: str
) -> Cost:
    gives: Capability = model.gives if model else "text"
    total = Cost()
    for plan in instrument.plan(request.study(instrument), gives):
        cost = plan_cost(
            plan.items,
            plan.measurer(model.model) if model else None,
            RunSettings(plan.kind, name, request.seed),
            options=request.options,
            calls=plan.calls,
            more=plan.more,
        )
        total += replace(cost, why_not=why) if why else cost
    return total
