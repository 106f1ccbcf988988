import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats as reference

from theodolite.core.errors import UsageError
from theodolite.stats import jonckheere_terpstra

ALTERNATIVES = ["increasing", "decreasing", "two-sided"]
VALUES = np.array([1.0, 2.0, 2.0, 3.0, 2.0, 5.0, 4.0])
GROUPS = np.array([0, 0, 1, 1, 1, 2, 2])


def brute_force(values, groups):
    return sum(
        (a < b) + (a == b) / 2
        for (a, g), (b, h) in itertools.product(zip(values, groups, strict=True), repeat=2)
        if g < h
    )


@settings(deadline=None, max_examples=60)
@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 3)), min_size=2, max_size=15))
def test_statistic_counts_ordered_pairs(items):
    values, groups = (np.array(side) for side in zip(*items, strict=True))
    if np.unique(groups).size < 2:
        return
    result = jonckheere_terpstra(values, groups, method="normal")
    assert result.statistic == pytest.approx(brute_force(values, groups))
    assert 0 <= result.p_value <= 1


@pytest.mark.parametrize("alternative", ALTERNATIVES)
def test_exact_p_agrees_with_all_permutations(alternative):
    null = np.array([brute_force(VALUES[list(order)], GROUPS) for order in itertools.permutations(range(7))])
    observed = brute_force(VALUES, GROUPS)
    above, below = np.mean(null >= observed), np.mean(null <= observed)
    expected = {"increasing": above, "decreasing": below, "two-sided": min(1, 2 * min(above, below))}
    result = jonckheere_terpstra(VALUES, GROUPS, alternative=alternative)
    assert result.p_value == pytest.approx(expected[alternative])
    assert result.method == "exact, all 210 arrangements"


@pytest.mark.parametrize("alternative", ALTERNATIVES)
def test_normal_p_has_the_mean_and_variance_of_all_permutations(alternative):
    null = np.array([brute_force(VALUES[list(order)], GROUPS) for order in itertools.permutations(range(7))])
    z = (brute_force(VALUES, GROUPS) - null.mean()) / null.std()
    tails = {
        "increasing": reference.norm.sf(z),
        "decreasing": reference.norm.cdf(z),
        "two-sided": 2 * reference.norm.sf(abs(z)),
    }
    result = jonckheere_terpstra(VALUES, GROUPS, alternative=alternative, method="normal")
    assert result.p_value == pytest.approx(tails[alternative])
    assert result.alternative == alternative


def test_two_groups_are_mann_whitney():
    generator = np.random.default_rng(0)
    first, second = generator.integers(0, 9, 20), generator.integers(2, 11, 25)
    theirs = reference.mannwhitneyu(second, first, method="asymptotic", use_continuity=False)
    ours = jonckheere_terpstra(np.r_[first, second], np.r_[np.zeros(20), np.ones(25)], method="normal")
    assert ours.statistic == theirs.statistic
    assert ours.p_value == pytest.approx(theirs.pvalue)


def test_monte_carlo_nears_the_normal_p():
    generator = np.random.default_rng(1)
    groups = np.repeat([1, 2, 3, 4], 12)
    values = generator.normal(size=48) + 0.15 * groups
    drawn = jonckheere_terpstra(values, groups, alternative="increasing", n_permutations=20000, seed=2)
    normal = jonckheere_terpstra(values, groups, alternative="increasing", method="normal")
    assert "Monte Carlo, 20000" in drawn.method
    assert drawn.p_value == pytest.approx(normal.p_value, abs=0.01)


def test_groups_are_in_the_order_of_their_labels():
    rising = jonckheere_terpstra([1, 2, 3, 4, 5, 6], [1, 1, 2, 2, 10, 10], alternative="increasing")
    assert rising.p_value == pytest.approx(math.factorial(2) ** 3 / math.factorial(6))
    falling = jonckheere_terpstra([1, 2, 3, 4, 5, 6], [1, 1, 2, 2, 10, 10], alternative="decreasing")
    assert falling.p_value == 1


@pytest.mark.parametrize("method", ["normal", "permutation"])
@pytest.mark.parametrize("groups", [[1, 1, 2, 2, 3], [1, 2, 2, 2, 2]])
def test_constant_values_show_no_trend(method, groups):
    assert jonckheere_terpstra([0.1] * 5, groups, method=method).p_value == 1


@pytest.mark.parametrize("method", ["normal", "permutation"])
def test_two_items(method):
    result = jonckheere_terpstra([1, 2], ["a", "b"], alternative="increasing", method=method)
    assert result.statistic == 1
    assert result.p_value == pytest.approx(0.5 if method == "permutation" else reference.norm.sf(1))


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: jonckheere_terpstra([], []), "at least 1"),
        (lambda: jonckheere_terpstra([1, 2], ["a", "a"]), "2 groups"),
        (lambda: jonckheere_terpstra([1, 2], ["a"]), "same length"),
        (lambda: jonckheere_terpstra([1, np.nan], ["a", "b"]), "finite"),
        (lambda: jonckheere_terpstra([1, 2], ["a", "b"], alternative="greater"), "one of"),
        (lambda: jonckheere_terpstra([1, 2], ["a", "b"], method="exact"), "one of"),
        (lambda: jonckheere_terpstra([1, 2], ["a", "b"], seed=-1), "seed"),
    ],
)
def test_refusals(call, words):
    with pytest.raises(UsageError, match=words):
        call()
