"""Agreement of verifiers, claim by claim and in how they rank traces; and what errors of a verifier would change."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from theodolite import stats
from theodolite.core.errors import UsageError
from theodolite.core.files import Problem
from theodolite.core.tables import Column, Table
from theodolite.instruments.trace.claims.types import Trace, Verifier
from theodolite.instruments.trace.data.episode import Episode
from theodolite.instruments.trace.formulas.sgr import AS_PAPER, Counting, trace_hr, trace_sgr
from theodolite.instruments.trace.score import mean_over
from theodolite.instruments.trace.verifiers.judging import Hedges, JudgedTrace, judge
from theodolite.instruments.trace.verifiers.noise import NoisyVerifier


@dataclass(frozen=True, slots=True)
class Agreement:
    """Two verifiers on the same traces."""

    first: str
    second: str
    same: stats.Estimate | None
    """Share of claims with the same of the three labels. If nearly all claims are true, κ is near 0 whatever this share."""
    kappa: stats.Estimate | None
    """Cohen's κ over all three labels."""
    kappa_judged: stats.Estimate | None
    """κ over the claims that both can judge."""
    rho: stats.Estimate | None
    """Spearman's ρ of the traces' SGR."""
    n_claims: int
    n_both_judged: int
    failures: tuple[Problem, ...] = ()
    """Traces that one of the two failed on; they do not count."""


def verifier_agreement(judged: Sequence[Sequence[JudgedTrace]], *, seed: int = 0) -> list[Agreement]:
    """Compares all pairs of verifiers.

    Args:
        judged: The same traces as judged by each verifier.
        seed: Seed of the bootstrap.

    Raises:
        UsageError: There are fewer than two verifiers, or two of one name.
    """
    by_name = {traces[0].verifier: traces for traces in judged if traces}
    if len(judged) < 2:
        raise UsageError("agreement needs at least two verifiers")
    if len(by_name) < len(judged):
        raise UsageError(f"agreement is between different verifiers, got only {', '.join(by_name)}")
    return [_agreement(a, b, by_name[a], by_name[b], seed) for a, b in combinations(by_name, 2)]


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
        mean_over([(float(v == w), unit) for v, w, unit in labels]),
        kappa(labels, seed),
        kappa(known, seed),
        _rho(rates, seed),
        n_claims=len(labels),
        n_both_judged=len(known),
        failures=tuple(failures),
    )


def kappa(rows: Sequence[tuple[str, str, str]], seed: int) -> stats.Estimate | None:
    """Cohen's κ of pairs of labels, clustered by the third entries; None if there is only one label throughout."""
    if len(rows) < 2:
        return None
    first, second, units = ([row[i] for row in rows] for i in range(3))
    try:
        clusters = units if 1 < len(set(units)) < len(units) else None
        return stats.cohen_kappa(first, second, clusters=clusters, seed=seed)
    except UsageError:
        return None


def _rho(rows: Sequence[tuple[float, float, str]], seed: int) -> stats.Estimate | None:
    x, y, units = ([row[i] for row in rows] for i in range(3))
    if len(set(units)) < 5 or np.ptp(x) == 0 or np.ptp(y) == 0:
        return None
    return stats.spearman(x, y, clusters=None if len(set(units)) == len(units) else units, seed=seed)


def agreement_table(found: Sequence[Agreement]) -> Table:
    """One row per pair of verifiers."""
    columns = [
        Column("first", "first"),
        Column("second", "second"),
        Column("same", "same label", "share", "trace.label_agreement"),
        Column("kappa", "κ, three labels", "correlation", "trace.kappa"),
        Column("kappa_judged", "κ, both judged", "correlation", "trace.kappa"),
        Column("rho", "ρ of SGR", "correlation", "trace.rank_agreement"),
        Column("claims", "claims", "count"),
        Column("both_judged", "both judged", "count"),
    ]
    rows = [
        [
            a.first,
            a.second,
            a.same,
            a.kappa,
            a.kappa_judged,
            a.rho,
            a.n_claims,
            a.n_both_judged,
        ]
        for a in found
    ]
    return Table.of("trace.agreement", "Agreement of verifiers", columns, rows)


def noise_table(
    traces: Sequence[Trace],
    episodes: Mapping[str, Episode],
    verifier: Verifier,
    *,
    rates: Sequence[float],
    how: Counting = AS_PAPER,
    hedges: Hedges = "abstract",
    seed: int = 0,
) -> Table:
    """SGR and HR of the same traces if the verifier erred at the given rates."""
    rows = []
    for rate in rates:
        judged = judge(traces, episodes, NoisyVerifier(verifier, rate, seed), hedges=hedges)
        whole = [trace for trace in judged if not trace.failure]
        sgr = mean_over([(trace_sgr(trace, how), trace.unit) for trace in whole])
        hr = mean_over([(trace_hr(trace, how), trace.unit) for trace in whole])
        rows.append([rate, sgr, hr, len(judged), len(judged) - len(whole)])
    columns = [
        Column("rate", "errors", "share"),
        Column("sgr", "SGR", "share", "trace.sgr"),
        Column("hr", "HR", "share", "trace.hr"),
        Column("traces", "traces", "count"),
        Column("failed", "failed", "count"),
    ]
    return Table.of("trace.noise", f"Errors of the verifier {verifier.name}", columns, rows)
