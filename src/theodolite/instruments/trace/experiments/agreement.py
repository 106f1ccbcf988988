"""How far verifiers agree with each other, claim by claim and in how they rank traces."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from theodolite import stats
from theodolite.core.errors import UsageError
from theodolite.instruments.trace.claims.types import Trace, Verifier
from theodolite.instruments.trace.data.dataset import Problem
from theodolite.instruments.trace.data.episode import Episode
from theodolite.instruments.trace.estimates import mean_estimate
from theodolite.instruments.trace.formulas.sgr import Grounding, grounding, trace_sgr
from theodolite.instruments.trace.verifiers.judging import JudgedTrace, judge
from theodolite.instruments.trace.verifiers.noise import NoisyVerifier


@dataclass(frozen=True, slots=True)
class Agreement:
    """Two verifiers on the same traces."""

    first: str
    second: str
    same: stats.Estimate | None
    """Share of claims to which both give the same of the three labels, clustered by unit. Where nearly all claims are true,
    κ is near 0 whatever this share."""
    kappa: stats.Estimate | None
    """Cohen's κ over all three labels, clustered by unit."""
    kappa_judged: stats.Estimate | None
    """κ over the claims that both could judge."""
    rho: stats.Estimate | None
    """Spearman's ρ of the traces' SGR."""
    n_claims: int
    n_both_judged: int
    failures: tuple[Problem, ...] = ()
    """Traces that one of the two could not judge, and why; they count for nothing here."""


def verifier_agreement(
    traces: Sequence[Trace], episodes: Mapping[str, Episode], verifiers: Sequence[Verifier], *, seed: int = 0
) -> list[Agreement]:
    """Compares all pairs of verifiers on traces with their claims."""
    if len(verifiers) < 2:
        raise UsageError("agreement needs at least two verifiers")
    names = [verifier.name for verifier in verifiers]
    if len(set(names)) < len(names):
        raise UsageError(f"agreement is between different verifiers, got {', '.join(names)}")
    judged = {v.name: judge(traces, episodes, v) for v in verifiers}
    return [_agreement(a, b, judged[a], judged[b], seed) for a, b in combinations(judged, 2)]


def _agreement(
    first: str, second: str, a: Sequence[JudgedTrace], b: Sequence[JudgedTrace], seed: int
) -> Agreement:
    labels: list[tuple[str, str, str]] = []
    rates: list[tuple[float, float, str]] = []
    failures: list[Problem] = []
    for x, y in zip(a, b, strict=True):
        if x.failure or y.failure:
            failures += [Problem(t.trace.episode, f"{t.verifier}: {t.failure}") for t in (x, y) if t.failure]
            continue
        for s, t in zip(x.steps, y.steps, strict=True):
            pairs = zip(s.counted(), t.counted(), strict=True)
            labels += [(v.label, w.label, x.unit) for (_, v), (_, w) in pairs]
        g, h = trace_sgr(x), trace_sgr(y)
        if g is not None and h is not None:
            rates.append((g, h, x.unit))
    known = [row for row in labels if "unverifiable" not in row[:2]]
    return Agreement(
        first,
        second,
        mean_estimate([float(v == w) for v, w, _ in labels], [unit for *_, unit in labels], seed=seed),
        _kappa(labels, seed),
        _kappa(known, seed),
        _rho(rates, seed),
        n_claims=len(labels),
        n_both_judged=len(known),
        failures=tuple(failures),
    )


def _kappa(rows: Sequence[tuple[str, str, str]], seed: int) -> stats.Estimate | None:
    if len(rows) < 2:
        return None
    units = [unit for *_, unit in rows]
    try:
        clusters = units if 1 < len(set(units)) < len(units) else None
        return stats.cohen_kappa([a for a, *_ in rows], [b for _, b, _ in rows], clusters=clusters, seed=seed)
    except UsageError:  # one and the same label throughout
        return None


def _rho(rows: Sequence[tuple[float, float, str]], seed: int) -> stats.Estimate | None:
    x, y, units = [g for g, *_ in rows], [h for _, h, _ in rows], [u for *_, u in rows]
    if len(set(units)) < 5 or np.ptp(x) == 0 or np.ptp(y) == 0:
        return None
    return stats.spearman(x, y, clusters=None if len(set(units)) == len(units) else units, seed=seed)


def noise_sweep(
    traces: Sequence[Trace],
    episodes: Mapping[str, Episode],
    verifier: Verifier,
    *,
    rates: Sequence[float] = (0.0, 0.02, 0.05, 0.08, 0.1),
    seed: int = 0,
) -> list[tuple[float, Grounding]]:
    """The same traces judged with more and more errors."""
    return [
        (rate, grounding(judge(traces, episodes, NoisyVerifier(verifier, rate, seed)), seed=seed))
        for rate in rates
    ]
