"""How much an edit of the picture moves the answer, from the options' log-probabilities (ours).

shift       ½ Σ |p − p_edited|: total variation distance between two distributions over the options
margin      m = log p(said) − log p(next best)
effect      (m − m_edited) / max(|m|, 0.001), both margins of the option said about the original picture
occlusion   max over the hidden parts of |effect|
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

_LEAST_MARGIN = 1e-3
"""In nats: below it the options are practically tied, and a ratio to the margin has no meaning."""


def answer_shift(before: NDArray[np.float64], after: NDArray[np.float64]) -> float:
    """Total variation distance between two distributions, given as log-probabilities.

    >>> round(answer_shift(np.log([0.5, 0.5]), np.log([0.9, 0.1])), 6)
    0.4
    """
    return 0.5 * float(np.abs(_softmax(before) - _softmax(after)).sum())


def hiding_effect(before: NDArray[np.float64], after: NDArray[np.float64]) -> float:
    """How much of its margin the answer loses.

    >>> hiding_effect(np.array([-1.0, -2.0]), np.array([-1.5, -1.5]))
    1.0
    """
    best = int(before.argmax())
    margin = _margin(before, best)
    return (margin - _margin(after, best)) / max(abs(margin), _LEAST_MARGIN)


def occlusion(before: NDArray[np.float64], *parts: NDArray[np.float64]) -> float:
    """The largest effect of hiding one part, in absolute value."""
    return max(abs(hiding_effect(before, after)) for after in parts)


def _margin(log_probabilities: NDArray[np.float64], option: int) -> float:
    others = np.delete(log_probabilities, option)
    return float(log_probabilities[option] - others.max())


def _softmax(values: NDArray[np.float64]) -> NDArray[np.float64]:
    weights = np.exp(values - values.max())
    return np.asarray(weights / weights.sum())
