"""How much SGR depends on the way it is measured: counting, verifiers, errors, number of steps, length, cost.

`condition_scores` measures the traces of one model in other ways. `robustness` compares such ways, and prompt styles, over
models: does SGR still predict retention, and are models ranked alike? Source: step grounding, section 6.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from theodolite import stats
from theodolite.core.tables import Column, Table
from theodolite.instruments.trace.claims.types import Trace, Verifier
from theodolite.instruments.trace.data.episode import Episode
from theodolite.instruments.trace.formulas.sgr import AS_PAPER, HANDLINGS, Counting, mean_of, trace_sgr
from theodolite.instruments.trace.score import mean_over
from theodolite.instruments.trace.verifiers.judging import Hedges, JudgedTrace, judge
from theodolite.instruments.trace.verifiers.noise import NoisyVerifier

ERROR_RATES = (0.02, 0.05, 0.08, 0.1)
STEP_COUNTS = (2, 4, 6, 8)
_COUNTED = {"exclude": "excluded", "penalise": "penalised", "neutral": "neutral", "credit": "credited"}


@dataclass(frozen=True, slots=True)
class ConditionScore:
    """SGR of one model, measured in one way."""

    name: str
    sgr: stats.Estimate | None
    seconds: float | None
    """Mean time of a response; for fewer steps, its share by the number of words."""


def condition_scores(  # noqa: PLR0913 - what traces are measured by
    traces: Sequence[Trace],
    episodes: Mapping[str, Episode],
    verifier: Verifier,
    *,
    how: Counting = AS_PAPER,
    hedges: Hedges = "abstract",
    others: Sequence[Verifier] = (),
    seconds: float | None = None,
    seed: int = 0,
) -> list[ConditionScore]:
    """SGR of the same traces with other counting, hedges, verifiers, error rates and numbers of steps.

    Args:
        traces: With their claims.
        episodes: By id.
        verifier: The reference verifier.
        how: Which claims count in the reference.
        hedges: How hedged claims are judged in the reference.
        others: Further verifiers.
        seconds: Mean time of a response.
        seed: Seed of the errors.
    """
    judged = judge(traces, episodes, verifier, hedges=hedges)
    found = [ConditionScore(name, _sgr(judged, other), seconds) for name, other in _countings(how)]
    flipped: Hedges = "as stated" if hedges == "abstract" else "abstract"
    again = judge(traces, episodes, verifier, hedges=flipped)
    found.append(ConditionScore(f"guesses {flipped}", _sgr(again, how), seconds))
    for judge_by in (*others, *(NoisyVerifier(verifier, rate, seed) for rate in ERROR_RATES)):
        again = judge(traces, episodes, judge_by, hedges=hedges)
        found.append(ConditionScore(f"judged by {judge_by.name}", _sgr(again, how), seconds))
    for most in STEP_COUNTS:
        cut = [limit_steps(trace, most) for trace in judged]
        cost = None if seconds is None else seconds * _words(cut) / max(1, _words(judged))
        found.append(ConditionScore(f"at most {most} steps", _sgr(cut, how), cost))
    return found


def _countings(how: Counting) -> Iterator[tuple[str, Counting]]:
    for handling in HANDLINGS:
        if handling != how.handling:
            yield f"unverifiable {_COUNTED[handling]}", replace(how, handling=handling)
    if how.granularity == "whole":
        yield "every claim counted", replace(how, granularity="every")
    else:
        yield "whole claim counted", replace(how, granularity="whole")


def _sgr(judged: Sequence[JudgedTrace], how: Counting) -> stats.Estimate | None:
    return mean_over([(trace_sgr(trace, how), trace.unit) for trace in judged if not trace.failure])


def _words(traces: Sequence[JudgedTrace]) -> int:
    return sum(len(step.step.text.split()) for trace in traces for step in trace.steps)


def limit_steps(trace: JudgedTrace, most: int) -> JudgedTrace:
    """The trace with at most this many steps, evenly spaced, so that all stages are kept."""
    n = len(trace.steps)
    if n <= most:
        return trace
    kept = sorted({round(i * (n - 1) / max(1, most - 1)) for i in range(most)})
    return replace(trace, steps=tuple(trace.steps[i] for i in kept))


def conditions_table(scores: Sequence[ConditionScore]) -> Table:
    """One row per way of measuring."""
    columns = [
        Column("condition", "measured otherwise"),
        Column("sgr", "SGR", "share", "trace.sgr"),
        Column("seconds", "seconds a sample"),
    ]
    rows = [[s.name, s.sgr, None if s.seconds is None else f"{s.seconds:.3g}"] for s in scores]
    return Table.of("trace.conditions", "The same traces, measured in other ways", columns, rows)


@dataclass(frozen=True, slots=True)
class Verbosity:
    """Length of traces, and its effect on SGR."""

    words: stats.Estimate | float | None
    """Words per trace; without an interval if all traces are equally long."""
    claims_per_step: stats.Estimate | float | None
    sgr_against_words: stats.Estimate | None
    """Spearman's ρ over traces, clustered by unit."""
    sgr_of_short: stats.Estimate | None
    """SGR with every trace cut to the number of steps of the shortest quarter."""
    n_steps_of_short: int


def verbosity(traces: Sequence[JudgedTrace], *, how: Counting = AS_PAPER, seed: int = 0) -> Verbosity:
    """Measures the length of traces, and its effect on SGR."""
    judged = [trace for trace in traces if trace.steps]
    lengths = [(float(_words([trace])), trace.unit) for trace in judged]
    scored = [
        (sgr, words, unit)
        for trace, (words, unit) in zip(judged, lengths, strict=True)
        if (sgr := trace_sgr(trace, how)) is not None
    ]
    short = max(1, int(np.quantile([len(trace.steps) for trace in judged], 0.25)) if judged else 0)
    per_step = [(float(len(s.counted(how.granularity))), t.unit) for t in judged for s in t.steps]
    return Verbosity(
        words=_mean_length(lengths),
        claims_per_step=_mean_length(per_step),
        sgr_against_words=_rank_correlation(scored, seed),
        sgr_of_short=mean_over([(trace_sgr(limit_steps(t, short), how), t.unit) for t in judged]),
        n_steps_of_short=short,
    )


def _mean_length(rows: Sequence[tuple[float, str]]) -> stats.Estimate | float | None:
    return mean_over(rows, bounds=None) or mean_of([value for value, _ in rows])


def _rank_correlation(rows: Sequence[tuple[float, float, str]], seed: int) -> stats.Estimate | None:
    sgr, words, units = ([row[i] for row in rows] for i in range(3))
    if len(set(units)) < 5 or np.ptp(sgr) == 0 or np.ptp(words) == 0:
        return None
    clusters = None if len(set(units)) == len(units) else units
    return stats.spearman(sgr, words, clusters=clusters, seed=seed)


def verbosity_table(found: Verbosity) -> Table:
    """One row."""
    key = "trace.verbosity"
    columns = [
        Column("words", "words per trace", "number", key),
        Column("claims_per_step", "claims per step", "number", key),
        Column("rho", "ρ(SGR, words)", "correlation", key),
        Column("sgr_of_short", f"SGR of {found.n_steps_of_short} steps", "share", key),
    ]
    row = [found.words, found.claims_per_step, found.sgr_against_words, found.sgr_of_short]
    return Table.of("trace.verbosity", "Verbosity", columns, [row])


@dataclass(frozen=True, slots=True)
class Condition:
    """One way of measuring, over models."""

    name: str
    sgr: Mapping[str, float]
    """By model."""
    seconds: float | None = None
    """Cost of a sample, if known."""


@dataclass(frozen=True, slots=True)
class ConditionRobustness:
    """One way of measuring, compared with the reference over models."""

    condition: str
    r: stats.Estimate | None
    """Pearson's r of this SGR and retention."""
    rho: stats.Estimate | None
    """Spearman's ρ of this SGR and the reference's."""
    shift: float | None
    """Mean difference from the reference's SGR."""
    seconds: float | None
    n_models: int


def robustness(
    reference: Condition, conditions: Sequence[Condition], retention: Mapping[str, float]
) -> list[ConditionRobustness]:
    """Compares ways of measuring, the reference first. Fewer than three models give no correlation."""
    return [_compared(condition, reference, retention) for condition in (reference, *conditions)]


def _compared(
    condition: Condition, reference: Condition, retention: Mapping[str, float]
) -> ConditionRobustness:
    both = sorted(set(condition.sgr) & set(reference.sgr))
    known = sorted(set(condition.sgr) & set(retention))
    mine, theirs = [condition.sgr[m] for m in both], [reference.sgr[m] for m in both]
    return ConditionRobustness(
        condition.name,
        _correlation([condition.sgr[m] for m in known], [retention[m] for m in known], ranks=False),
        None if condition is reference else _correlation(mine, theirs, ranks=True),
        float(np.mean(mine) - np.mean(theirs)) if both else None,
        condition.seconds,
        len(both),
    )


def _correlation(first: Sequence[float], second: Sequence[float], *, ranks: bool) -> stats.Estimate | None:
    if len(first) < 3 or np.ptp(first) == 0 or np.ptp(second) == 0:
        return None
    return stats.spearman(first, second) if ranks else stats.pearson(first, second)


def robustness_table(rows: Sequence[ConditionRobustness]) -> Table:
    """One row per way of measuring."""
    columns = [
        Column("condition", "condition"),
        Column("r", "r with retention", "correlation", "trace.retention"),
        Column("rho", "ρ with the reference", "correlation", "trace.rank_agreement"),
        Column("shift", "shift in points", "points"),
        Column("seconds", "seconds a sample"),
        Column("models", "models", "count"),
    ]
    cells = [
        [
            r.condition,
            r.r,
            r.rho,
            r.shift,
            None if r.seconds is None else f"{r.seconds:.3g}",
            r.n_models,
        ]
        for r in rows
    ]
    return Table.of("trace.robustness", "Robustness of the finding", columns, cells)
