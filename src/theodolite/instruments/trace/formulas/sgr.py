"""The step grounding rate and its kin (equations 1 and 3), each with its interval and its n."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias, get_args

import numpy as np

from theodolite import stats
from theodolite.instruments.trace.claims.types import LABELS, REASONS
from theodolite.instruments.trace.estimates import mean_estimate
from theodolite.instruments.trace.formulas.ego_share import EgoMotion, ego_motion
from theodolite.instruments.trace.verifiers.judging import Granularity, JudgedStep, JudgedTrace

Handling: TypeAlias = Literal["exclude", "penalise", "neutral"]
"""What an unverifiable claim counts: nothing, as unsupported, or half."""

HANDLINGS: tuple[Handling, ...] = get_args(Handling)

Stage: TypeAlias = Literal["early", "middle", "late"]
STAGES: tuple[Stage, ...] = get_args(Stage)


def step_grounding(
    step: JudgedStep, *, handling: Handling = "exclude", granularity: Granularity = "whole"
) -> float | None:
    """g(r): the share of a step's claims that are supported (equation 1); None if nothing counts.

    With s supported, u unsupported and x unverifiable claims: s/(s+u) for ``exclude``, s/(s+u+x) for ``penalise``,
    (s + x/2)/(s+u+x) for ``neutral``.
    """
    labels = Counter(verdict.label for _, verdict in step.counted(granularity))
    s, u, x = (labels[label] for label in LABELS)
    if handling == "exclude":
        return s / (s + u) if s + u else None
    return (s + (x / 2 if handling == "neutral" else 0)) / (s + u + x) if s + u + x else None


def step_hallucinates(step: JudgedStep, *, granularity: Granularity = "whole") -> bool | None:
    """Whether any claim of a step is unsupported (equation 3); None if none of them can be judged."""
    labels = [verdict.label for _, verdict in step.counted(granularity) if verdict.label != "unverifiable"]
    return "unsupported" in labels if labels else None


@dataclass(frozen=True, slots=True)
class Grounding:
    """How well a set of traces is grounded."""

    n_traces: int
    n_failed: int
    """Traces that could not be judged at all."""
    n_without_steps: int
    """Traces of a bare answer: what is measured of them is a lower bound."""
    n_steps: int
    n_claims: int
    verdicts: dict[str, int]
    reasons: dict[str, int]
    """Why claims were unverifiable."""
    n_guesses: int
    """Claims that were hedged."""
    sgr: stats.Estimate | None
    """Mean over traces of the mean g over their steps."""
    sgr_of_steps: stats.Estimate | None
    """Mean g over all steps of all traces: long traces weigh more."""
    hr: stats.Estimate | None
    """Share of steps with an unsupported claim among the steps that can be judged; mean over traces."""
    hr_of_all_steps: stats.Estimate | None
    """The same over all steps, as equation 3 is written."""
    hr_against_sgr: stats.Estimate | None
    """Pearson's r, over steps, of hallucination and 1 − g."""
    unverifiable: stats.Estimate | None
    """Share of claims that cannot be judged."""
    profile: dict[str, stats.Estimate | None]
    """SGR of the first quarter, the middle half and the last quarter of the steps."""
    decline: stats.Estimate | None
    """SGR of the first quarter minus that of the last, over the traces that have both."""
    accuracy: stats.Estimate | None
    """Share of right answers among the traces whose episode has one; an answer that could not be read is not right."""
    n_unread: int
    """Traces in which no answer could be read, of those whose episode has one."""
    gap: stats.Estimate | None
    """Accuracy minus SGR, over the traces that have both."""
    is_lower_bound: bool
    """Whether most traces had no steps."""
    ego_motion: EgoMotion
    """What is said of one's own movements."""


def grounding(
    traces: Sequence[JudgedTrace],
    *,
    handling: Handling = "exclude",
    granularity: Granularity = "whole",
    seed: int = 0,
) -> Grounding:
    """Measures a set of traces; intervals are clustered by the traces' units."""
    judged = [trace for trace in traces if not trace.failure]
    pairs = [pair for trace in judged for step in trace.steps for pair in step.counted(granularity)]
    reasons = Counter(verdict.reason for _, verdict in pairs if verdict.reason is not None)
    labels = Counter(verdict.label for _, verdict in pairs)

    def rate(trace: JudgedTrace) -> float | None:
        return trace_sgr(trace, handling=handling, granularity=granularity)

    def hallucinations(trace: JudgedTrace) -> float | None:
        return _mean([step_hallucinates(step, granularity=granularity) for step in trace.steps])

    def literal(trace: JudgedTrace) -> float | None:
        return _mean([bool(step_hallucinates(step, granularity=granularity)) for step in trace.steps])

    def correct(trace: JudgedTrace) -> float | None:
        return None if trace.is_correct is None else float(trace.is_correct)

    early_late = [_stages(trace, handling, granularity) for trace in judged]
    return Grounding(
        n_traces=len(traces),
        n_failed=len(traces) - len(judged),
        n_without_steps=sum(trace.trace.is_lower_bound for trace in judged),
        n_steps=sum(len(trace.steps) for trace in judged),
        n_claims=len(pairs),
        verdicts={label: labels[label] for label in LABELS},
        reasons={reason: reasons[reason] for reason in REASONS},
        n_guesses=sum(bool(claim.hedge) for claim, _ in pairs),
        sgr=over_traces(judged, rate, seed=seed),
        sgr_of_steps=_over_steps(judged, handling, granularity, seed),
        hr=over_traces(judged, hallucinations, seed=seed),
        hr_of_all_steps=over_traces(judged, literal, seed=seed),
        hr_against_sgr=_hr_against_sgr(judged, handling, granularity, seed),
        unverifiable=_claim_share(judged, granularity, seed),
        profile={stage: _stage_estimate(judged, early_late, stage, seed) for stage in STAGES},
        decline=paired(judged, [s["early"] for s in early_late], [s["late"] for s in early_late], seed=seed),
        accuracy=over_traces(judged, correct, seed=seed),
        n_unread=sum(t.is_correct is not None and not t.trace.answer.strip() for t in judged),
        gap=paired(judged, [correct(t) for t in judged], [rate(t) for t in judged], seed=seed),
        is_lower_bound=bool(judged) and 2 * sum(t.trace.is_lower_bound for t in judged) > len(judged),
        ego_motion=ego_motion(judged, granularity=granularity, seed=seed),
    )


def trace_sgr(
    trace: JudgedTrace, *, handling: Handling = "exclude", granularity: Granularity = "whole"
) -> float | None:
    """SGR = (1/N) Σ g(rᵢ) over the steps of one trace that count; None if none does."""
    return _mean([step_grounding(step, handling=handling, granularity=granularity) for step in trace.steps])


def over_traces(
    traces: Sequence[JudgedTrace], value: Callable[[JudgedTrace], float | None], *, seed: int
) -> stats.Estimate | None:
    """The mean over the traces that have a value, clustered by unit; None if none has."""
    found = [(number, trace.unit) for trace in traces if (number := value(trace)) is not None]
    return mean_estimate([number for number, _ in found], [unit for _, unit in found], seed=seed)


def difference_estimate(
    first: Sequence[float], second: Sequence[float], units: Sequence[str], *, seed: int
) -> stats.Estimate | None:
    """The mean difference of paired shares: clustered bootstrap; None for fewer than two units.

    Where all differences are alike, n alike units still leave room for others: what Wilson's interval of n of n leaves.
    """
    n = len(set(units))
    if n < 2:
        return None
    a, b = np.asarray(first, np.float64), np.asarray(second, np.float64)
    if np.ptp(a - b) > 0:
        return stats.bootstrap((a, b), "difference", clusters=list(units), interval="percentile", seed=seed)
    value, doubt = float((a - b).mean()), 1 - stats.wilson_interval(n, n).low
    low, high = max(-1.0, value - doubt), min(1.0, value + doubt)
    return stats.Estimate(value, low, high, n, 0.95, "Wilson, all pairs alike", n_items=a.size)


def paired(
    traces: Sequence[JudgedTrace], first: Sequence[float | None], second: Sequence[float | None], *, seed: int
) -> stats.Estimate | None:
    """The mean difference over the traces that have both, clustered by unit."""
    both = [
        (a, b, t.unit)
        for t, a, b in zip(traces, first, second, strict=True)
        if a is not None and b is not None
    ]
    return difference_estimate(
        [a for a, *_ in both], [b for _, b, _ in both], [u for *_, u in both], seed=seed
    )


def _mean(values: Sequence[float | bool | None]) -> float | None:
    found = [float(value) for value in values if value is not None]
    return sum(found) / len(found) if found else None


def _over_steps(
    traces: Sequence[JudgedTrace], handling: Handling, granularity: Granularity, seed: int
) -> stats.Estimate | None:
    found = [
        (g, trace.unit)
        for trace in traces
        for step in trace.steps
        if (g := step_grounding(step, handling=handling, granularity=granularity)) is not None
    ]
    return mean_estimate([g for g, _ in found], [unit for _, unit in found], seed=seed)


def _claim_share(traces: Sequence[JudgedTrace], granularity: Granularity, seed: int) -> stats.Estimate | None:
    found = [
        (float(verdict.label == "unverifiable"), trace.unit)
        for trace in traces
        for step in trace.steps
        for _, verdict in step.counted(granularity)
    ]
    return mean_estimate([x for x, _ in found], [unit for _, unit in found], seed=seed)


def _hr_against_sgr(
    traces: Sequence[JudgedTrace], handling: Handling, granularity: Granularity, seed: int
) -> stats.Estimate | None:
    rows = [
        (float(h), 1 - g, trace.unit)
        for trace in traces
        for step in trace.steps
        if (g := step_grounding(step, handling=handling, granularity=granularity)) is not None
        and (h := step_hallucinates(step, granularity=granularity)) is not None
    ]
    wrong, short = [row[0] for row in rows], [row[1] for row in rows]
    units = [row[2] for row in rows]
    if len(set(units)) < 3 or len(set(wrong)) < 2 or len(set(short)) < 2:
        return None
    if len(set(units)) == len(units):
        return stats.pearson(wrong, short)
    distribution = stats.bootstrap_distribution(
        (np.array(wrong), np.array(short)), _correlation, clusters=units, jackknife=False, seed=seed
    )
    if distribution.n_undefined > 0.05 * distribution.resamples.size:
        return None
    return distribution.estimate("percentile")


def _correlation(first: np.ndarray, second: np.ndarray) -> float:
    if np.ptp(first) == 0 or np.ptp(second) == 0:
        return float("nan")
    return float(np.corrcoef(first, second)[0, 1])


def _stages(trace: JudgedTrace, handling: Handling, granularity: Granularity) -> dict[Stage, float | None]:
    """SGR by stage; step i of n stands at (i + ½)/n of the way, and one that stands on an edge counts to the outer stage."""
    n = len(trace.steps)
    parts: dict[Stage, list[float | None]] = {stage: [] for stage in STAGES}
    for i, step in enumerate(trace.steps):
        progress = (i + 0.5) / n
        stage: Stage = "early" if progress <= 0.25 else "late" if progress >= 0.75 else "middle"
        parts[stage].append(step_grounding(step, handling=handling, granularity=granularity))
    return {stage: _mean(values) for stage, values in parts.items()}


def _stage_estimate(
    traces: Sequence[JudgedTrace], stages: Sequence[dict[Stage, float | None]], stage: Stage, seed: int
) -> stats.Estimate | None:
    found = [
        (value, trace.unit)
        for trace, by in zip(traces, stages, strict=True)
        if (value := by[stage]) is not None
    ]
    return mean_estimate([value for value, _ in found], [unit for _, unit in found], seed=seed)
