import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy import stats as reference
from scipy.optimize import minimize_scalar
from scipy.special import xlogy
from statsmodels.stats import proportion as proportions
from statsmodels.stats.weightstats import CompareMeans, DescrStatsW, ttost_ind, ttost_paired

from theodolite.core.errors import UsageError
from theodolite.stats import equivalence_of_proportions, equivalence_test
from theodolite.stats.equivalence import _score

GENERATOR = np.random.default_rng(9)
FIRST = GENERATOR.normal(0.1, 1, 30)
SECOND = GENERATOR.normal(0.0, 2, 40)
BOUNDS = (-0.8, 1.1)


def test_one_sample_agrees_with_statsmodels():
    theirs = DescrStatsW(FIRST).ttost_mean(*BOUNDS)
    ours = equivalence_test(FIRST, bounds=BOUNDS)
    assert ours.p_value == pytest.approx(theirs[0])
    assert (ours.p_lower, ours.p_upper) == pytest.approx((theirs[1][1], theirs[2][1]))
    assert (ours.estimate.low, ours.estimate.high) == pytest.approx(DescrStatsW(FIRST).tconfint_mean(0.1))
    assert ours.estimate.level == pytest.approx(0.9)


def test_paired_agrees_with_statsmodels():
    theirs = ttost_paired(FIRST, SECOND[:30], *BOUNDS)
    ours = equivalence_test(FIRST, SECOND[:30], bounds=BOUNDS, paired=True)
    assert (ours.p_value, ours.p_lower, ours.p_upper) == pytest.approx(
        (theirs[0], theirs[1][1], theirs[2][1])
    )
    assert ours.estimate.n == 30


def test_independent_agrees_with_statsmodels():
    theirs = ttost_ind(FIRST, SECOND, *BOUNDS, usevar="unequal")
    ours = equivalence_test(FIRST, SECOND, bounds=BOUNDS, alpha=0.1)
    interval = CompareMeans(DescrStatsW(FIRST), DescrStatsW(SECOND)).tconfint_diff(0.2, usevar="unequal")
    assert (ours.p_value, ours.p_lower, ours.p_upper) == pytest.approx(
        (theirs[0], theirs[1][1], theirs[2][1])
    )
    assert (ours.estimate.low, ours.estimate.high) == pytest.approx(interval)
    assert ours.estimate.n == 70


@settings(deadline=None, max_examples=60)
@given(st.lists(st.floats(-2, 2), min_size=2, max_size=12), st.floats(0.05, 2))
def test_verdict_is_the_inclusion_of_the_interval(values, margin):
    assume(np.ptp(values) > 1e-6)
    result = equivalence_test(values, bounds=(-margin, margin))
    slack = min(abs(result.estimate.low + margin), abs(result.estimate.high - margin))
    if slack > 1e-9:
        assert result.equivalent == result.estimate.lies_within(-margin, margin)
    assert result.p_value == max(result.p_lower, result.p_upper)


@pytest.mark.parametrize(
    ("first", "second", "paired"),
    [([0.0, 0.0], None, False), ([0.1] * 5, [0.1] * 5, True), ([0.3] * 5, [0.0] * 4, False)],
)
def test_data_without_spread_prove_nothing(first, second, paired):
    with pytest.raises(UsageError, match=f"all {len(first) + (0 if paired else len(second or []))} values"):
        equivalence_test(first, second, bounds=(-0.2, 0.2), paired=paired)


def test_one_constant_sample_of_two_is_no_hindrance():
    half = equivalence_test([0.3] * 5, [0.0, 0.1, 0.2], bounds=(-0.5, 0.5))
    assert half.estimate.low < half.estimate.high


def test_false_equivalence_is_as_rare_as_promised():
    generator = np.random.default_rng(0)
    wrong = [
        equivalence_test(generator.normal(0.5, 1, 30), bounds=(-0.5, 0.5)).equivalent for _ in range(400)
    ]
    assert np.mean(wrong) <= 0.08
    right = [equivalence_test(generator.normal(0, 1, 60), bounds=(-0.5, 0.5)).equivalent for _ in range(200)]
    assert np.mean(right) >= 0.9


@pytest.mark.parametrize(("hits", "n"), [(0, 20), (9, 20), (20, 20)])
def test_one_proportion_agrees_with_statsmodels(hits, n):
    theirs = proportions.binom_tost(hits, n, 0.3, 0.7)
    ours = equivalence_of_proportions((hits, n), bounds=(0.3, 0.7))
    assert (ours.p_value, ours.p_lower, ours.p_upper) == pytest.approx((theirs[0], theirs[1], theirs[2]))
    interval = proportions.proportion_confint(hits, n, alpha=0.1, method="beta")
    assert (ours.estimate.low, ours.estimate.high) == pytest.approx(interval)


def score(table, delta):
    """z of the difference `delta`, the likelihood under it maximised by search."""
    hits, n, other_hits, other_n = table

    def loss(q):
        p = q + delta
        return -(
            xlogy(hits, p)
            + xlogy(n - hits, 1 - p)
            + xlogy(other_hits, q)
            + xlogy(other_n - other_hits, 1 - q)
        )

    bounds = (max(0, -delta) + 1e-12, min(1, 1 - delta) - 1e-12)
    q = minimize_scalar(loss, bounds=bounds, method="bounded", options={"xatol": 1e-12}).x
    variance = (q + delta) * (1 - q - delta) / n + q * (1 - q) / other_n
    return (hits / n - other_hits / other_n - delta) / np.sqrt(variance)


@pytest.mark.parametrize(
    "table", [(18, 20, 30, 40), (5, 20, 5, 20), (1, 30, 6, 25), (20, 20, 38, 40), (90, 300, 110, 310)]
)
def test_two_proportions_agree_with_constrained_likelihood(table):
    # Not against statsmodels: at a difference other than zero its restricted estimate has a count in the place of
    # a number of trials (0.15.0, score_test_proportions_2indep, tmp1), and does not maximise the likelihood.
    ours = equivalence_of_proportions(table[:2], table[2:], bounds=(-0.25, 0.2))
    assert ours.p_lower == pytest.approx(reference.norm.sf(score(table, -0.25)), abs=1e-6)
    assert ours.p_upper == pytest.approx(reference.norm.cdf(score(table, 0.2)), abs=1e-6)
    z = reference.norm.ppf(0.95)
    assert score(table, ours.estimate.low) == pytest.approx(z, abs=1e-4)
    assert score(table, ours.estimate.high) == pytest.approx(-z, abs=1e-4)


def test_two_proportions_agree_with_statsmodels_at_zero():
    theirs = proportions.test_proportions_2indep(18, 20, 30, 40, method="score", correction=False)
    assert _score((18, 20, 30, 40), 0.0) == pytest.approx(theirs.statistic)


@settings(deadline=None, max_examples=60)
@given(st.integers(0, 12), st.integers(0, 9))
def test_two_proportions_at_any_counts(hits, other):
    ours = equivalence_of_proportions((hits, 12), (other, 9), bounds=(-0.3, 0.3))
    assert -1 <= ours.estimate.low <= ours.estimate.value <= ours.estimate.high <= 1
    assert ours.estimate.low < ours.estimate.high
    assert ours.equivalent == ours.estimate.lies_within(-0.3, 0.3)
    mirrored = equivalence_of_proportions((12 - hits, 12), (9 - other, 9), bounds=(-0.3, 0.3))
    assert mirrored.p_lower == pytest.approx(ours.p_upper, abs=1e-9)
    assert mirrored.estimate.low == pytest.approx(-ours.estimate.high, abs=1e-6)


def test_two_proportions_cover():
    generator = np.random.default_rng(0)
    hits = 0
    for a, b in zip(generator.binomial(40, 0.9, 400), generator.binomial(60, 0.8, 400), strict=True):
        estimate = equivalence_of_proportions(
            (int(a), 40), (int(b), 60), bounds=(-1, 1), alpha=0.025
        ).estimate
        hits += estimate.low <= 0.1 <= estimate.high
    assert 0.92 <= hits / 400 <= 0.98


def test_bounds_beyond_what_a_proportion_can_be():
    assert equivalence_of_proportions((9, 10), bounds=(0.5, 1.5)).p_upper == 0
    assert equivalence_of_proportions((9, 10), bounds=(-0.5, 0.99)).p_lower == 0
    wide = equivalence_of_proportions((9, 10), (1, 10), bounds=(-1.5, 1.5))
    assert (wide.p_lower, wide.p_upper) == (0, 0)
    assert reference.binom.cdf(9, 10, 0.99) == pytest.approx(
        equivalence_of_proportions((9, 10), bounds=(-0.5, 0.99)).p_upper
    )


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: equivalence_test([], bounds=BOUNDS), "at least 2"),
        (lambda: equivalence_test([1.0], bounds=BOUNDS), "at least 2"),
        (lambda: equivalence_test([1.0, np.nan], bounds=BOUNDS), "finite"),
        (lambda: equivalence_test([1.0, 2.0], [1.0], bounds=BOUNDS), "at least 2"),
        (lambda: equivalence_test([1.0, 2.0], [1.0, 2.0, 3.0], bounds=BOUNDS, paired=True), "same length"),
        (lambda: equivalence_test([1.0, 2.0], bounds=BOUNDS, paired=True), "two samples"),
        (lambda: equivalence_test([1.0, 2.0], bounds=(1.0, -1.0)), "lower one first"),
        (lambda: equivalence_test([1.0, 2.0], bounds=(1.0, 1.0)), "lower one first"),
        (lambda: equivalence_test([1.0, 2.0], bounds=(-1.0, 0.0, 1.0)), "two finite"),
        (lambda: equivalence_test([1.0, 2.0], bounds=(-np.inf, 1.0)), "finite"),
        (lambda: equivalence_test([1.0, 2.0], bounds=BOUNDS, alpha=0.7), "alpha"),
        (lambda: equivalence_of_proportions((3, 2), bounds=BOUNDS), "exceed"),
        (lambda: equivalence_of_proportions((0, 0), bounds=BOUNDS), "at least 1"),
        (lambda: equivalence_of_proportions((1, 2), (-1, 2), bounds=BOUNDS), "at least 0"),
    ],
)
def test_refusals(call, words):
    with pytest.raises(UsageError, match=words):
        call()
