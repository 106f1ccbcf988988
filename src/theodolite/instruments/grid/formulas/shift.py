"""The shift of an answer: total variation distance ½ Σ |p − p′| between its distribution before and after an edit."""

from __future__ import annotations

import numpy as np

from theodolite.core.types import Choice


def shift(before: Choice | None, after: Choice | None) -> float | None:
    """½ Σ |p − p′| over the options; None if either has no log-probabilities."""
    if before is None or after is None:
        return None
    first, second = np.asarray(before.probabilities), np.asarray(after.probabilities)
    return 0.5 * float(np.abs(first - second).sum())


def relation_shift(swap: float | None, decoy: float | None) -> float | None:
    """Shift with reversed directions minus shift with decoys, from −1 to 1; None if either is missing.

    1 for a model that moves with the relation and not with look-alikes, −1 for the opposite.
    """
    return None if swap is None or decoy is None else swap - decoy
