"""How much of a finding depends on how it was measured: prompts, handling, verifiers, noise, length, cost."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from theodolite import stats
from theodolite.instruments.trace.estimates import mean_estimate
from theodolite.instruments.trace.formulas.sgr import Handling, paired, trace_sgr
from theodolite.instruments.trace.verifiers.judging import Granularity, JudgedTrace


@dataclass(frozen=True, slots=True)
class Condition:
    """One way of measuring, over the same models."""

    name: str
    sgr: Mapping[str, float]
    """By model."""
    seconds: float | None = None
    """What a sample costs, where it is known."""


@dataclass(frozen=True, slots=True)
class RobustnessRow:
    """One line of the robustness table."""

    condition: str
    r: stats.Estimate | None
    """Pearson's r of this SGR and retention, over models."""
    rho: stats.Estimate | None
    """Spearman's ρ of this SGR and the reference's, over models: do the rankings agree?"""
    shift: float | None
    """Mean difference to the reference's SGR."""
    seconds: float | None
    n_models: int


def robustness_table(
    reference: Condition, conditions: Sequence[Condition], retention: Mapping[str, float]
) -> list[RobustnessRow]:
    """One row per condition, the reference first. Fewer than three models in common give no correlation."""
    return [_row(condition, reference, retention) for condition in (reference, *conditions)]


def _row(condition: Condition, reference: Condition, retention: Mapping[str, float]) -> RobustnessRow:
    both = sorted(set(condition.sgr) & set(reference.sgr))
    known = sorted(set(condition.sgr) & set(retention))
    mine = [condition.sgr[m] for m in both]
    theirs = [reference.sgr[m] for m in both]
    return RobustnessRow(
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


def limit_steps(trace: JudgedTrace, most: int) -> JudgedTrace:
    """A trace as if it had been asked for at most so many steps: evenly spaced ones are kept.

    Which steps a shorter trace would have held is not known; even spacing keeps its stages.
    """
    n = len(trace.steps)
    if n <= most:
        return trace
    kept = sorted({round(i * (n - 1) / max(1, most - 1)) for i in range(most)})
    return replace(trace, steps=tuple(trace.steps[i] for i in kept))


@dataclass(frozen=True, slots=True)
class Verbosity:
    """Whether long traces score better or worse for being long."""

    words: stats.Estimate | None
    """Words per trace."""
    claims_per_step: stats.Estimate | None
    sgr_against_words: stats.Estimate | None
    """Spearman's ρ over traces, clustered by unit."""
    sgr_of_short: stats.Estimate | None
    """SGR with every trace cut to the shortest quarter's number of steps."""
    n_steps_of_short: int


def verbosity(
    traces: Sequence[JudgedTrace],
    *,
    handling: Handling = "exclude",
    granularity: Granularity = "whole",
    seed: int = 0,
) -> Verbosity:
    """Measures it."""

    def rate(trace: JudgedTrace) -> float | None:
        return trace_sgr(trace, handling=handling, granularity=granularity)

    judged = [trace for trace in traces if trace.steps]
    lengths = [float(sum(len(step.step.text.split()) for step in trace.steps)) for trace in judged]
    units = [trace.unit for trace in judged]
    scored = [(g, w, u) for t, w, u in zip(judged, lengths, units, strict=True) if (g := rate(t)) is not None]
    short = int(np.quantile([len(trace.steps) for trace in judged], 0.25)) if judged else 0
    cut = [(g, t.unit) for t in judged if (g := rate(limit_steps(t, max(1, short)))) is not None]
    per_step = [
        (float(len(step.counted(granularity))), trace.unit) for trace in judged for step in trace.steps
    ]
    return Verbosity(
        words=mean_estimate(lengths, units, is_share=False, seed=seed),
        claims_per_step=mean_estimate(
            [c for c, _ in per_step], [u for _, u in per_step], is_share=False, seed=seed
        ),
        sgr_against_words=_against(
            [g for g, *_ in scored], [w for _, w, _ in scored], [u for *_, u in scored], seed
        ),
        sgr_of_short=mean_estimate([g for g, _ in cut], [u for _, u in cut], seed=seed),
        n_steps_of_short=max(1, short),
    )


def _against(
    sgr: Sequence[float], words: Sequence[float], units: Sequence[str], seed: int
) -> stats.Estimate | None:
    if len(set(units)) < 5 or np.ptp(sgr) == 0 or np.ptp(words) == 0:
        return None
    return stats.spearman(
        sgr, words, clusters=None if len(set(units)) == len(units) else list(units), seed=seed
    )


@dataclass(frozen=True, slots=True)
class CounterCausal:
    """The two-way control: the pictures changed and the words kept, and the reverse."""

    visual_sgr: stats.Estimate | None
    """Change of the SGR against the old truth, pictures changed."""
    visual_accuracy: stats.Estimate | None
    language_sgr: stats.Estimate | None
    """The same, with another lead-in before the task."""
    language_accuracy: stats.Estimate | None
    p_visual_falls_more: float | None
    """Permutation test that SGR falls more for the pictures than for the words, over units."""
    n_visual: int
    n_language: int


def counter_causal(
    visual: Sequence[tuple[JudgedTrace, JudgedTrace]],
    language: Sequence[tuple[JudgedTrace, JudgedTrace]],
    *,
    handling: Handling = "exclude",
    granularity: Granularity = "whole",
    seed: int = 0,
) -> CounterCausal:
    """Compares traces before and after.

    Args:
        visual: a trace, and one on edited pictures judged against the old truth.
        language: a trace, and one on the same pictures with the task after another lead-in.
        handling: of claims that cannot be judged.
        granularity: which claims count.
        seed: of bootstrap and permutation.
    """

    def rate(trace: JudgedTrace) -> float | None:
        return trace_sgr(trace, handling=handling, granularity=granularity)

    sides = [_change(pairs, rate, seed) for pairs in (visual, language)]
    falls = [
        [(g1 - g0, a.unit) for a, b in pairs if (g0 := rate(a)) is not None and (g1 := rate(b)) is not None]
        for pairs in (visual, language)
    ]
    return CounterCausal(
        *sides[0], *sides[1], _falls_more(falls[0], falls[1], seed), len(visual), len(language)
    )


def _falls_more(
    visual: Sequence[tuple[float, str]], language: Sequence[tuple[float, str]], seed: int
) -> float | None:
    """Pairs the units that have both; one-sided sign flip."""
    mean = [
        {unit: float(np.mean([v for v, u in side if u == unit])) for _, unit in side}
        for side in (visual, language)
    ]
    shared = sorted(set(mean[0]) & set(mean[1]))
    if len(shared) < 2:
        return None
    test = stats.sign_flip_test(
        [mean[0][u] for u in shared], [mean[1][u] for u in shared], alternative="less", seed=seed
    )
    return test.p_value


def _change(
    pairs: Sequence[tuple[JudgedTrace, JudgedTrace]],
    rate: Callable[[JudgedTrace], float | None],
    seed: int,
) -> tuple[stats.Estimate | None, stats.Estimate | None]:
    before = [a for a, _ in pairs]
    sgr = paired(before, [rate(b) for _, b in pairs], [rate(a) for a in before], seed=seed)
    correct = [
        [None if t.is_correct is None else float(t.is_correct) for t in side]
        for side in ([b for _, b in pairs], before)
    ]
    return sgr, paired(before, correct[0], correct[1], seed=seed)
