"""Sample size for results that are not settled."""

from __future__ import annotations

import math
from collections.abc import Sequence

from theodolite.diagnose.record import Comparison, LookingForm, OpenQuestion
from theodolite.instruments.instrument import Instrument
from theodolite.pairs import AnsweredPair, pairs_to_settle
from theodolite.stats.power import clusters_needed

POWER = 0.8


def open_looking(
    instrument: Instrument,
    model: str,
    looking: LookingForm,
    pairs: Sequence[AnsweredPair],
    *,
    chance: float | None,
) -> OpenQuestion | None:
    """Return the sample size that would settle a verdict of pairs. None if it is settled."""
    if looking.standing != "not settled":
        return None
    factor = pairs_to_settle(pairs, chance=chance)
    n_now = looking.n_relevant
    is_own = looking.source == "own"
    needed = None if factor is None else math.ceil(factor * n_now)
    basis = "if the shares are those measured"
    if factor is None:
        basis = "a share lies too close to a threshold: no feasible number of pairs would settle it"
    return OpenQuestion(
        model=model,
        instrument=instrument.name,
        question=f"Does it look{' at your pictures' if is_own else ''}? {looking.because[:1].upper()}{looking.because[1:]}.",
        n_now=n_now,
        n_needed=needed,
        unit="pairs",
        size=None if is_own else needed,
        power=POWER,
        basis=basis,
    )


def open_comparison(comparison: Comparison) -> OpenQuestion | None:
    """Return the open question and the sample size for a difference whose interval contains zero, else None."""
    figure = comparison.difference
    if figure is None or figure.low > 0 or figure.high < 0 or figure.value == 0:
        return None
    estimate = figure.estimate()
    needed = clusters_needed(estimate, 0.0, power=POWER)
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
