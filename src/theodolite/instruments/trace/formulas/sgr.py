"""The step grounding rate (SGR, equation 1) and the hallucination rate (HR, equation 3) of a trace.

With s supported, u unsupported and x unverifiable claims in step r, its grounding is g(r) = s / (s + u), and

    SGR = (1/N) Σ g(rᵢ)        over the N steps of the trace with a claim that can be judged
    HR  = (1/N) Σ 1[u(rᵢ) > 0]  over the same steps

Both are averaged over traces. Source: step grounding, sections 3.2 and 3.3.

SGR rewards caution ("there is a table"), so it must be compared under one prompt. Equation 3 as printed divides by all steps,
including those without a claim that can be judged: `trace_hr(…, of_all=True)`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias, get_args

from theodolite.instruments.trace.claims.types import LABELS, NOT_UNDERSTOOD, Reason
from theodolite.instruments.trace.verifiers.judging import Granularity, JudgedStep, JudgedTrace

Handling: TypeAlias = Literal["exclude", "penalise", "neutral", "credit"]
"""How unverifiable claims count: not at all, as unsupported, as half supported, or as supported."""
HANDLINGS: tuple[Handling, ...] = get_args(Handling)

Stage: TypeAlias = Literal["early", "middle", "late"]
STAGES: tuple[Stage, ...] = get_args(Stage)


@dataclass(frozen=True, slots=True)
class Counting:
    """Which claims count, and how unverifiable ones count."""

    handling: Handling = "exclude"
    granularity: Granularity = "whole"


AS_PAPER = Counting()
"""Whole claims; unverifiable ones do not count."""


def step_grounding(step: JudgedStep, how: Counting = AS_PAPER) -> float | None:
    """Return g(r), the share of supported claims in a step; None if no claim counts.

    It is s/(s+u) for ``exclude``, s/(s+u+x) for ``penalise``, (s + x/2)/(s+u+x) for ``neutral`` and (s + x)/(s+u+x) for
    ``credit``.
    """
    labels = Counter(verdict.label for _, verdict in step.counted(how.granularity))
    s, u, x = (labels[label] for label in LABELS)
    if how.handling == "exclude":
        return s / (s + u) if s + u else None
    credit = {"penalise": 0.0, "neutral": 0.5, "credit": 1.0}[how.handling]
    return (s + credit * x) / (s + u + x) if s + u + x else None


def step_hallucinates(step: JudgedStep, how: Counting = AS_PAPER) -> bool | None:
    """Return True if a claim of the step is unsupported; None if none can be judged."""
    labels = {verdict.label for _, verdict in step.counted(how.granularity)} - {"unverifiable"}
    return "unsupported" in labels if labels else None


def trace_sgr(trace: JudgedTrace, how: Counting = AS_PAPER) -> float | None:
    """Return SGR of one trace; None if no step counts."""
    return mean_of([step_grounding(step, how) for step in trace.steps])


def trace_unverifiable(
    trace: JudgedTrace, how: Counting = AS_PAPER, reason: Reason | None = None
) -> float | None:
    """Return the share of a trace's claims that cannot be judged, for any reason or for one; None without a claim."""
    verdicts = [verdict for step in trace.steps for _, verdict in step.counted(how.granularity)]
    return mean_of([v.label == "unverifiable" and reason in {None, v.reason} for v in verdicts])


def trace_not_understood(trace: JudgedTrace, how: Counting = AS_PAPER) -> float | None:
    """Return the share of a trace's claims that stand for clauses which were not understood; None without a claim."""
    return trace_unverifiable(trace, how, NOT_UNDERSTOOD)


def trace_sgr_bounds(trace: JudgedTrace, how: Counting = AS_PAPER) -> tuple[float | None, float | None]:
    """Return SGR of one trace if all unverifiable claims are wrong, and if all are right; None without a claim.

    SGR lies between them, and so would that of a verifier that could judge every claim and agrees on those judged here.
    """
    low, high = (trace_sgr(trace, Counting(handling, how.granularity)) for handling in _BOUNDS)
    return low, high


_BOUNDS: tuple[Handling, Handling] = ("penalise", "credit")


def trace_hr(trace: JudgedTrace, how: Counting = AS_PAPER, *, of_all: bool = False) -> float | None:
    """Return HR of one trace: over the steps that can be judged, or over all steps; None if there are none."""
    hallucinates = [step_hallucinates(step, how) for step in trace.steps]
    return mean_of([bool(x) for x in hallucinates] if of_all else hallucinates)


def stage_sgr(trace: JudgedTrace, how: Counting = AS_PAPER) -> dict[Stage, float | None]:
    """Return SGR of the first quarter, the middle half and the last quarter of the steps.

    Step i of n is at (i + ½)/n. A step at a boundary counts to the outer stage.
    """
    n = len(trace.steps)
    parts: dict[Stage, list[float | None]] = {stage: [] for stage in STAGES}
    for i, step in enumerate(trace.steps):
        progress = (i + 0.5) / n
        stage: Stage = "early" if progress <= 0.25 else "late" if progress >= 0.75 else "middle"
        parts[stage].append(step_grounding(step, how))
    return {stage: mean_of(values) for stage, values in parts.items()}


def mean_of(values: Sequence[float | bool | None]) -> float | None:
    """Return the mean of the values that are not None; None if there are none."""
    known = [float(value) for value in values if value is not None]
    return sum(known) / len(known) if known else None
