"""Rows of traces: every step with its claims and the verdict on each."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from theodolite.core.views import ClaimView, StepsView, StepView
from theodolite.instruments.rows import verdict
from theodolite.instruments.trace.formulas.sgr import step_grounding
from theodolite.instruments.trace.verifiers.judged_runs import judged_run
from theodolite.instruments.trace.verifiers.judging import JudgedStep, JudgedTrace, open_verifier
from theodolite.runs import Result, Run

VERIFIER = "annotation"


def view_of(run: Run) -> Callable[[Result], dict[str, Any] | None]:
    """Return a function that gives the steps of an item. Items whose episode is gone are left out."""
    read, verifier = judged_run(run), open_verifier(VERIFIER)
    traces = {trace.result.item.id: trace for trace in read.traces}

    def view(result: Result) -> dict[str, Any] | None:
        trace = traces.get(result.item.id)
        if trace is None:
            return None
        judged = read.judged(trace, verifier)
        is_right = judged.is_correct if judged is not None and trace.answer.is_read else None
        return {
            "question": trace.episode.task,
            "correct": verdict(is_right, result.item.truth.condition),
            "steps": _view(judged, trace.episode.world),
        }

    return view


def _view(judged: JudgedTrace | None, world: str) -> StepsView | None:
    return None if judged is None else StepsView(steps=[_step(step) for step in judged.steps], world=world)


def _step(judged: JudgedStep) -> StepView:
    claims = [
        ClaimView(
            text=str(claim).partition(": ")[2] or judged.step.text[slice(*claim.span)],
            verdict=verdict.label,
            reason=verdict.reason or "",
            evidence=verdict.evidence,
        )
        for claim, verdict in judged.counted()
    ]
    return StepView(
        text=judged.step.text,
        frames=list(judged.step.frames),
        claims=claims,
        grounding=step_grounding(judged),
    )
