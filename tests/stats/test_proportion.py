import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats as reference
from statsmodels.stats.contingency_tables import mcnemar as statsmodels_mcnemar
from statsmodels.stats.proportion import proportion_confint

from theodolite.core.errors import UsageError
from theodolite.stats import binomial_test, sign_flip_test, wilson_interval

ALTERNATIVES = ["two-sided", "greater", "less"]


@settings(deadline=None, max_examples=80)
@given(st.integers(1, 60).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))), st.floats(0.5, 0.999))
def test_wilson_agrees_with_statsmodels(counts, level):
    ours = wilson_interval(*counts, level=level)
    theirs = proportion_confint(*counts, alpha=1 - level, method="wilson")
    assert (ours.low, ours.high) == pytest.approx(theirs, abs=1e-12)
    assert 0 <= ours.low <= ours.value <= ours.high <= 1
    assert ours.low < ours.high


@pytest.mark.parametrize("p", [0.03, 0.3, 0.5, 0.97])
def test_wilson_covers(p):
    counts = np.arange(81)
    inside = [wilson_interval(int(k), 80).low <= p <= wilson_interval(int(k), 80).high for k in counts]
    assert 0.92 <= reference.binom.pmf(counts, 80, p) @ inside <= 0.99


@pytest.mark.parametrize("alternative", ALTERNATIVES)
@pytest.mark.parametrize(
    ("hits", "n", "p"), [(0, 5, 0.25), (7, 20, 0.25), (20, 20, 0.5), (3, 3, 1.0), (0, 3, 0.0)]
)
def test_binomial_agrees_with_enumeration(alternative, hits, n, p):
    pmf = reference.binom.pmf(np.arange(n + 1), n, p)
    expected = {
        "greater": pmf[hits:].sum(),
        "less": pmf[: hits + 1].sum(),
        "two-sided": pmf[pmf <= pmf[hits] * (1 + 1e-7)].sum(),
    }
    ours = binomial_test(hits, n, probability=p, alternative=alternative)
    assert ours.p_value == pytest.approx(min(1, expected[alternative]))
    assert ours.statistic == hits / n


def paired(both, gained, lost, neither):
    counts = [both, gained, lost, neither]
    return np.repeat([1, 1, 0, 0], counts), np.repeat([1, 0, 1, 0], counts)


@pytest.mark.parametrize("counts", [(5, 3, 9, 4), (0, 6, 6, 0), (1, 0, 4, 1), (2, 12, 1, 3), (40, 30, 12, 8)])
def test_flipped_signs_of_single_answers_are_the_exact_mcnemar_test(counts):
    both, gained, lost, neither = counts
    theirs = statsmodels_mcnemar([[both, gained], [lost, neither]], exact=True)
    ours = sign_flip_test(*paired(*counts), seed=0)
    assert ours.p_value == pytest.approx(theirs.pvalue)
    assert ours.statistic == pytest.approx((gained - lost) / sum(counts))
    assert ours.n == sum(counts)
    assert f"{gained + lost} clusters that differ" in ours.method


def test_no_discordant_pairs():
    assert sign_flip_test([1, 0], [1, 0], seed=0).p_value == 1
    assert sign_flip_test([1, 0], [1, 0], alternative="less", seed=0).p_value == 1


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: wilson_interval(0, 0), "at least 1"),
        (lambda: wilson_interval(3, 2), "exceed"),
        (lambda: wilson_interval(1.5, 2), "whole number"),
        (lambda: wilson_interval(1, 2, level=0), "level"),
        (lambda: binomial_test(1, 2, probability=1.5), "probability"),
        (lambda: binomial_test(-1, 2), "at least 0"),
        (lambda: binomial_test(1, 2, alternative="more"), "one of"),
    ],
)
def test_refusals(call, words):
    with pytest.raises(UsageError, match=words):
        call()
