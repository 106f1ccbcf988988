"""The same traces measured in other ways: what the robustness table is made of."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from theodolite import stats
from theodolite.instruments.trace.claims.types import Trace, Verifier
from theodolite.instruments.trace.data.episode import Episode
from theodolite.instruments.trace.experiments.robustness import limit_steps
from theodolite.instruments.trace.formulas.sgr import Handling, over_traces, trace_sgr
from theodolite.instruments.trace.verifiers.judging import Granularity, Hedges, JudgedTrace, judge
from theodolite.instruments.trace.verifiers.noise import NoisyVerifier

NOISES = (0.02, 0.05, 0.08, 0.1)
STEP_COUNTS = (2, 4, 6, 8)


@dataclass(frozen=True, slots=True)
class ConditionScore:
    """SGR under one way of measuring."""

    name: str
    sgr: stats.Estimate | None
    seconds: float | None
    """Mean time of a sample; for fewer steps, the share of it that their words are of all."""


@dataclass(frozen=True, slots=True)
class Reference:
    """How traces are measured otherwise: what the conditions depart from."""

    verifier: Verifier
    handling: Handling = "exclude"
    granularity: Granularity = "whole"
    hedges: Hedges = "abstract"
    seed: int = 0


def condition_scores(
    traces: Sequence[Trace],
    episodes: Mapping[str, Episode],
    reference: Reference,
    *,
    others: Sequence[Verifier] = (),
    seconds: float | None = None,
) -> list[ConditionScore]:
    """SGR of the same traces with other handling, claims, guesses, verifiers, errors and numbers of steps.

    Args:
        traces: with their claims.
        episodes: by id.
        reference: the way to depart from, in one respect at a time.
        others: further verifiers.
        seconds: mean time of a sample.
    """
    return list(_conditions(traces, episodes, reference, others, seconds))


def _conditions(
    traces: Sequence[Trace],
    episodes: Mapping[str, Episode],
    by: Reference,
    others: Sequence[Verifier],
    seconds: float | None,
) -> Iterator[ConditionScore]:
    judged = judge(traces, episodes, by.verifier, hedges=by.hedges)
    handlings: tuple[tuple[str, Handling], ...] = (
        ("penalised", "penalise"),
        ("neutral", "neutral"),
        ("excluded", "exclude"),
    )
    for word, handling in handlings:
        if handling != by.handling:
            yield ConditionScore(f"unverifiable {word}", _sgr(judged, by, handling=handling), seconds)
    granularity: Granularity = "every" if by.granularity == "whole" else "whole"
    yield ConditionScore(f"{granularity} claim counted", _sgr(judged, by, granularity=granularity), seconds)
    hedges: Hedges = "as stated" if by.hedges == "abstract" else "abstract"
    yield ConditionScore(
        f"guesses {hedges}", _sgr(judge(traces, episodes, by.verifier, hedges=hedges), by), seconds
    )
    for verifier in (*others, *(NoisyVerifier(by.verifier, rate, by.seed) for rate in NOISES)):
        yield ConditionScore(
            f"judged by {verifier.name}",
            _sgr(judge(traces, episodes, verifier, hedges=by.hedges), by),
            seconds,
        )
    for most in STEP_COUNTS:
        cut = [limit_steps(trace, most) for trace in judged]
        share = _words(cut) / max(1, _words(judged))
        yield ConditionScore(
            f"at most {most} steps", _sgr(cut, by), None if seconds is None else seconds * share
        )


def _sgr(
    judged: Sequence[JudgedTrace],
    by: Reference,
    *,
    handling: Handling | None = None,
    granularity: Granularity | None = None,
) -> stats.Estimate | None:
    def rate(trace: JudgedTrace) -> float | None:
        return trace_sgr(trace, handling=handling or by.handling, granularity=granularity or by.granularity)

    return over_traces([trace for trace in judged if not trace.failure], rate, seed=by.seed)


def _words(traces: Sequence[JudgedTrace]) -> int:
    return sum(len(step.step.text.split()) for trace in traces for step in trace.steps)
