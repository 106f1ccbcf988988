"""A share that a judge of known errors counted: the correction covers the truth at its level."""

import numpy as np
import pytest

from theodolite.core.errors import UsageError
from theodolite.stats import clustered_mean, wilson_interval
from theodolite.stats.misclassified import corrected_share, informedness


def simulated(rng, theta, sensitivity, specificity, n, n_known, clusters=None):
    """Return the three estimates of one study."""
    truth = rng.random(n) < theta
    said = np.where(truth, rng.random(n) < sensitivity, rng.random(n) >= specificity)
    known = [rng.random(n_known) < rate for rate in (sensitivity, specificity)]
    units = None if clusters is None else np.arange(n) // (n // clusters)
    return clustered_mean(said, units), *(clustered_mean(each) for each in known)


@pytest.mark.parametrize(
    ("theta", "sensitivity", "specificity", "n", "n_known"),
    [
        (0.8, 0.9, 0.7, 200, 60),
        (0.5, 0.95, 0.95, 60, 40),
        (0.95, 0.9, 0.9, 100, 100),
        (1.0, 0.97, 0.8, 80, 60),
        (0.1, 0.8, 0.9, 100, 40),
        (0.7, 0.75, 0.6, 300, 150),
        (0.6, 1.0, 1.0, 80, 40),
        (0.6, 0.55, 0.5, 200, 60),
    ],
)
def test_the_truth_is_covered_at_the_level(theta, sensitivity, specificity, n, n_known):
    rng = np.random.default_rng([n, n_known, int(100 * theta)])
    inside = []
    for _ in range(600):
        found = corrected_share(*simulated(rng, theta, sensitivity, specificity, n, n_known))
        inside.append(found is None or found.low <= theta <= found.high)
    assert np.mean(inside) > 0.93


def test_the_raw_share_does_not_cover_it():
    rng = np.random.default_rng(0)
    raw = [simulated(rng, 0.8, 0.9, 0.7, 400, 60)[0] for _ in range(200)]
    assert np.mean([each.low <= 0.8 <= each.high for each in raw]) < 0.95
    raw = [simulated(rng, 0.3, 0.95, 0.5, 400, 60)[0] for _ in range(200)]
    assert np.mean([each.low <= 0.3 <= each.high for each in raw]) == 0


def test_a_judge_without_errors_changes_nothing_but_the_certainty():
    observed, known = wilson_interval(30, 50), wilson_interval(400, 400)
    found = corrected_share(observed, known, known)
    assert found.value == pytest.approx(0.6)
    assert found.low <= observed.low
    assert found.high >= observed.high
    assert found.low == pytest.approx(observed.low, abs=0.01)


def test_a_coin_says_nothing():
    half = wilson_interval(50, 100)
    assert corrected_share(half, half, half) is None
    barely = corrected_share(half, wilson_interval(52, 100), half)
    assert (barely.low, barely.high) == (0.0, 1.0)
    assert informedness(half, half).low < 0 < informedness(half, half).high


def test_levels_are_not_mixed():
    with pytest.raises(UsageError, match="levels"):
        corrected_share(*(wilson_interval(5, 10, level=level) for level in (0.9, 0.95, 0.95)))
