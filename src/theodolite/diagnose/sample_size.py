"""Sample size for undecided results."""

from __future__ import annotations

import math

from theodolite import stats
from theodolite.diagnose.record import Comparison, OpenQuestion
from theodolite.diagnose.verdict import NEAR, Placed, standing_of
from theodolite.stats.power import MeanDesign

POWER = 0.8
_MOST = 1_000_000
"""More clusters than this are not feasible."""


def spread_of(estimate: stats.Estimate) -> float:
    """Return the standard deviation per cluster implied by an interval: its half-width over z, times √n."""
    z = stats_z(estimate.level)
    return (estimate.high - estimate.low) / (2 * z) * math.sqrt(estimate.n)


def stats_z(level: float) -> float:
    """Return the normal quantile of a two-sided confidence level."""
    from scipy.special import ndtri

    return float(ndtri((1 + level) / 2))


def clusters_needed(estimate: stats.Estimate, threshold: float, *, power: float = POWER) -> int | None:
    """Return the number of clusters for which a t-test finds that an estimate differs from a threshold.

    The true value is assumed to equal the estimate. None if the estimate is too close to the threshold.

    >>> clusters_needed(stats.Estimate(0.6, 0.4, 0.8, n=40, level=0.95, method="percentile"), 0.75)
    148
    """
    spread, distance = spread_of(estimate), abs(estimate.value - threshold)
    if spread == 0:
        return 2
    if distance / spread < 1e-3:
        return None
    needed = MeanDesign(distance / spread).sample_size(power)
    return needed if needed <= _MOST else None


def open_position(placed: Placed, instrument: str) -> OpenQuestion | None:
    """Return the open question and the sample size for an undecided position. None if it is decided."""
    where = placed.position
    if where is None or placed.why_not or standing_of(where) != "undecided":
        return None
    crossed = [line for line in (NEAR, 1 - NEAR) if where.low <= line <= where.high]
    nearest = min(crossed, key=lambda line: abs(where.value - line))
    counts = [clusters_needed(where, line) for line in crossed]
    known = [count for count in counts if count is not None]
    needed = max(known) if len(known) == len(counts) else None
    side = "above" if where.value > nearest else "below"
    lines = " and ".join(f"{line:g}" for line in crossed)
    basis = (
        f"if the true position is {where.value:.2f}, and varies as it does over these {where.n} clusters"
        if needed
        else f"the position is too close to {nearest:g}: no feasible number of clusters would decide it"
    )
    return OpenQuestion(
        model=placed.model,
        instrument=instrument,
        question=f"Does its position lie {side} {nearest:g}? The interval [{where.low:.2f}, {where.high:.2f}] contains {lines}.",
        n_now=where.n,
        n_needed=needed,
        power=POWER,
        basis=basis,
    )


def open_comparison(comparison: Comparison) -> OpenQuestion | None:
    """Return the open question and the sample size for a difference whose interval contains zero, else None."""
    figure = comparison.difference
    if figure is None or figure.low > 0 or figure.high < 0 or figure.value == 0:
        return None
    estimate = figure.estimate()
    needed = clusters_needed(estimate, 0.0)
    return OpenQuestion(
        model=comparison.first,
        instrument=comparison.instrument,
        question=f"Does it differ from {comparison.second} in {comparison.metric} ({comparison.split})? The difference is "
        f"{figure.value:+.3f} [{figure.low:+.3f}, {figure.high:+.3f}].",
        n_now=figure.n,
        n_needed=needed,
        power=POWER,
        basis="if the true difference is the one measured, with a paired t-test"
        if needed
        else "the difference is too close to zero for any feasible number of clusters",
    )
