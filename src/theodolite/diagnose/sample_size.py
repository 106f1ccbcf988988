"""How many units would settle what is open."""

from __future__ import annotations

import math

from theodolite import stats
from theodolite.diagnose.record import Comparison, OpenQuestion
from theodolite.diagnose.verdict import NEAR, Placed, standing_of
from theodolite.stats.power import MeanDesign

POWER = 0.8
_MOST = 1_000_000
"""A study of more units than this is not a plan."""


def spread_of(estimate: stats.Estimate) -> float:
    """The standard deviation per unit that an interval speaks of: its half-width over z, times √n."""
    z = stats_z(estimate.level)
    return (estimate.high - estimate.low) / (2 * z) * math.sqrt(estimate.n)


def stats_z(level: float) -> float:
    """The normal quantile of a two-sided level."""
    from scipy.special import ndtri

    return float(ndtri((1 + level) / 2))


def units_needed(estimate: stats.Estimate, line: float, *, power: float = POWER) -> int | None:
    """The units that a t-test needs to tell an estimate from a line, if it lies where it seems to; None if it is on it.

    >>> units_needed(stats.Estimate(0.6, 0.4, 0.8, n=40, level=0.95, method="percentile"), 0.75)
    148
    """
    spread, distance = spread_of(estimate), abs(estimate.value - line)
    if spread == 0:
        return 2
    if distance / spread < 1e-3:
        return None
    needed = MeanDesign(distance / spread).sample_size(power)
    return needed if needed <= _MOST else None


def open_position(placed: Placed, instrument: str) -> OpenQuestion | None:
    """What the position leaves open, and what would settle it; None if nothing is open."""
    where = placed.position
    if where is None or placed.why_not or standing_of(where) != "undecided":
        return None
    crossed = [line for line in (NEAR, 1 - NEAR) if where.low <= line <= where.high]
    nearest = min(crossed, key=lambda line: abs(where.value - line))
    counts = [units_needed(where, line) for line in crossed]
    known = [count for count in counts if count is not None]
    needed = max(known) if len(known) == len(counts) else None
    side = "above" if where.value > nearest else "below"
    lines = " and ".join(f"{line:g}" for line in crossed)
    basis = (
        f"if its position is {where.value:.2f} as it seems, and varies as it did over these {where.n} units"
        if needed
        else f"its position is too close to {nearest:g}: no reasonable number of units would tell them apart"
    )
    return OpenQuestion(
        model=placed.model,
        instrument=instrument,
        question=f"Does its position lie {side} {nearest:g}? The interval [{where.low:.2f}, {where.high:.2f}] holds {lines}.",
        n_now=where.n,
        n_needed=needed,
        power=POWER,
        basis=basis,
    )


def open_comparison(comparison: Comparison) -> OpenQuestion | None:
    """What a paired comparison leaves open: a difference whose interval holds zero."""
    figure = comparison.difference
    if figure is None or figure.low > 0 or figure.high < 0 or figure.value == 0:
        return None
    estimate = figure.estimate()
    needed = units_needed(estimate, 0.0)
    return OpenQuestion(
        model=comparison.first,
        instrument=comparison.instrument,
        question=f"Does it differ from {comparison.second} in {comparison.metric} ({comparison.split})? The difference is "
        f"{figure.value:+.3f} [{figure.low:+.3f}, {figure.high:+.3f}].",
        n_now=figure.n,
        n_needed=needed,
        power=POWER,
        basis="if the difference is what it seems, by a paired t-test"
        if needed
        else "the difference is too close to zero for any reasonable number of units",
    )
