"""Sample size for results that are not settled."""

from __future__ import annotations

import math
from collections.abc import Sequence

from theodolite import stats
from theodolite.diagnose.record import Comparison, LookingForm, OpenQuestion
from theodolite.instruments.instrument import Instrument
from theodolite.pairs import AnsweredPair, pairs_to_settle
from theodolite.stats.power import MeanDesign

POWER = 0.8
_MOST = 1_000_000
"""More clusters than this are not feasible."""


def clusters_needed(estimate: stats.Estimate, threshold: float, *, power: float = POWER) -> int | None:
    """Return the number of clusters for which a t-test finds that an estimate differs from a threshold.

    The true value is assumed to equal the estimate, and the standard deviation per cluster is that implied by the interval:
    its half-width over z, times √n. None if the estimate is too close to the threshold.

    >>> clusters_needed(stats.Estimate(0.6, 0.4, 0.8, n=40, level=0.95, method="percentile"), 0.75)
    148
    """
    from scipy.special import ndtri

    z = float(ndtri((1 + estimate.level) / 2))
    spread = (estimate.high - estimate.low) / (2 * z) * math.sqrt(estimate.n)
    distance = abs(estimate.value - threshold)
    if spread == 0:
        return 2
    if distance / spread < 1e-3:
        return None
    needed = MeanDesign(distance / spread).sample_size(power)
    return needed if needed <= _MOST else None


def open_looking(
    instrument: Instrument,
    model: str,
    looking: LookingForm,
    pairs: Sequence[AnsweredPair],
    *,
    chance: float | None,
    size: str | int,
) -> OpenQuestion | None:
    """Return the sample size that would settle a verdict of pairs. None if it is settled."""
    if looking.standing != "not settled":
        return None
    factor = pairs_to_settle(pairs, chance=chance)
    n_now = len({pair.cluster for pair in pairs if pair.edit.is_relevant})
    is_own = looking.source == "own"
    basis = "if the shares are those measured"
    if factor is None:
        basis = "a share lies too close to a threshold: no feasible number of pairs would settle it"
    return OpenQuestion(
        model=model,
        instrument=instrument.name,
        question=f"Does it look{' at your pictures' if is_own else ''}? {looking.because[:1].upper()}{looking.because[1:]}.",
        n_now=n_now,
        n_needed=None if factor is None else math.ceil(factor * n_now),
        size=None if factor is None or is_own else instrument.scaled_size(size, factor),
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
