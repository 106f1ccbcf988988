"""A share as it would be without the errors of whoever counted it (Rogan and Gladen).

A judge calls a true claim true with probability a (sensitivity) and a false one false with probability b (specificity). If the
share θ of the claims is true, it calls the share p = θ a + (1 − θ)(1 − b) true, so

    θ = (p + b − 1) / (a + b − 1)        cut to [0, 1]

The interval holds every θ for which T(θ) = p − θ a − (1 − θ)(1 − b), which then has the mean 0, is near 0:

    |T(θ)| ≤ √(w_p² + θ² w_a² + (1 − θ)² w_b²)

where each w is the distance from a value to that end of its interval on the side that would bring T to 0 (Fieller's set with the
variances recovered from the intervals, as in MOVER). So the uncertainty of both errors counts, ends near 0 and 1 are not
symmetric, and a judge that may be a coin (a + b = 1) leaves the whole of [0, 1].

Coverage is simulated in ``tests/stats/test_misclassified.py``.
"""

from __future__ import annotations

import numpy as np

from theodolite.core.errors import UsageError
from theodolite.core.tables import Estimate

_STEPS = 2000
"""Values of θ that are tried."""


def informedness(sensitivity: Estimate, specificity: Estimate) -> Estimate:
    """Return sensitivity + specificity − 1: 1 for a judge without errors, 0 for a coin (Youden's J), with its interval (MOVER).

    >>> from theodolite.stats import wilson_interval
    >>> print(informedness(wilson_interval(90, 100), wilson_interval(50, 100)))
    0.400 [0.278, 0.506] (n=200)
    """
    _check_levels(sensitivity, specificity)
    value = sensitivity.value + specificity.value - 1
    low = value - np.hypot(sensitivity.value - sensitivity.low, specificity.value - specificity.low)
    high = value + np.hypot(sensitivity.high - sensitivity.value, specificity.high - specificity.value)
    n, n_items = sensitivity.n + specificity.n, sensitivity.n_items + specificity.n_items
    return Estimate(
        value, float(low), float(high), n, sensitivity.level, "two intervals combined (MOVER)", n_items
    )


def corrected_share(observed: Estimate, sensitivity: Estimate, specificity: Estimate) -> Estimate | None:
    """Return a share corrected for the errors of the judge that counted it, with an interval that holds all three uncertainties.

    Args:
        observed: The share that the judge calls true.
        sensitivity: Of what is true, the share that it calls true.
        specificity: Of what is false, the share that it calls false.

    Returns:
        The estimate; None if the judge is no better than a coin, so that nothing can be said.

    >>> from theodolite.stats import wilson_interval
    >>> print(corrected_share(wilson_interval(78, 100), wilson_interval(90, 100), wilson_interval(70, 100)))
    0.800 [0.631, 0.967] (n=100)
    """
    _check_levels(observed, sensitivity, specificity)
    gain = sensitivity.value + specificity.value - 1
    if gain <= 0:
        return None
    theta, step = np.linspace(0.0, 1.0, _STEPS + 1), 1 / _STEPS
    value = min(1.0, max(0.0, (observed.value + specificity.value - 1) / gain))
    off = observed.value - theta * sensitivity.value - (1 - theta) * (1 - specificity.value)
    down, up = (
        [e.value - e.low for e in (observed, sensitivity, specificity)],
        [e.high - e.value for e in (observed, sensitivity, specificity)],
    )
    reach = np.where(
        off > 0,
        np.sqrt(down[0] ** 2 + (theta * up[1]) ** 2 + ((1 - theta) * down[2]) ** 2),
        np.sqrt(up[0] ** 2 + (theta * down[1]) ** 2 + ((1 - theta) * up[2]) ** 2),
    )
    kept = theta[np.abs(off) <= reach]
    low, high = (float(kept.min()) - step, float(kept.max()) + step) if kept.size else (value, value)
    return Estimate(
        value,
        max(0.0, min(low, value)),
        min(1.0, max(high, value)),
        observed.n,
        observed.level,
        "Rogan–Gladen, with the intervals of both errors",
        observed.n_items,
    )


def _check_levels(*estimates: Estimate) -> None:
    if len({estimate.level for estimate in estimates}) > 1:
        raise UsageError(f"the levels of estimates must be the same, got {[e.level for e in estimates]}")
