import numpy as np
import pytest
from scipy import stats as reference
from statsmodels.stats.power import TTestIndPower, TTestPower
from statsmodels.stats.proportion import power_proportions_2indep

from theodolite.core.errors import UsageError
from theodolite.stats import auc as _auc
from theodolite.stats.power import (
    AucDesign,
    CorrelationDesign,
    MeanDesign,
    PairedProportionsDesign,
    TwoProportionsDesign,
)

DESIGNS = [
    TwoProportionsDesign(0.6, 0.75),
    TwoProportionsDesign(0.9, 0.1),
    PairedProportionsDesign(gained=0.15, lost=0.05),
    PairedProportionsDesign(gained=0.0, lost=0.2),
    MeanDesign(0.4),
    MeanDesign(-0.4, groups=2),
    MeanDesign(0.001),
    AucDesign(0.7),
    AucDesign(0.2, positive_share=0.1),
    CorrelationDesign(0.3),
    CorrelationDesign(-0.95),
]


@pytest.mark.parametrize("design", DESIGNS, ids=str)
@pytest.mark.parametrize("power", [0.5, 0.8, 0.95])
@pytest.mark.parametrize("alpha", [0.05, 0.005])
def test_sample_size_is_the_smallest_that_is_enough(design, power, alpha):
    n = design.sample_size(power, alpha=alpha)
    assert design.power(n, alpha=alpha) >= power
    if n > design._minimum:
        assert design.power(n - 1, alpha=alpha) < power


@pytest.mark.parametrize("design", DESIGNS, ids=str)
def test_power_rises_with_n_and_alpha(design):
    n = design.sample_size(0.6)
    values = [design.power(max(design._minimum, n // 2)), design.power(n), design.power(2 * n)]
    assert values == sorted(values)
    assert design.power(n, alpha=0.01) <= design.power(n, alpha=0.1)
    assert design.power(10**7) == pytest.approx(1) if not isinstance(design, MeanDesign) else True


@pytest.mark.parametrize(("first", "second", "n"), [(0.6, 0.75, 152), (0.1, 0.2, 90), (0.95, 0.85, 40)])
def test_two_proportions_agree_with_statsmodels(first, second, n):
    theirs = power_proportions_2indep(first - second, second, n, alternative="two-sided").power
    assert TwoProportionsDesign(first, second).power(n) == pytest.approx(theirs, abs=1e-3)


@pytest.mark.parametrize("effect", [0.2, 0.5, 1.5])
@pytest.mark.parametrize("n", [3, 12, 64, 300])
def test_means_agree_with_statsmodels(effect, n):
    one = TTestPower().power(effect, n, 0.05, alternative="larger", df=n - 1)
    two = TTestIndPower().power(effect, n, 0.05, alternative="larger")
    assert MeanDesign(effect).power(n, alpha=0.1) == pytest.approx(one, abs=1e-6)
    assert MeanDesign(effect, groups=2).power(n, alpha=0.1) == pytest.approx(two, abs=1e-6)


def test_means_agree_with_published_sizes():
    # Cohen (1988), table 2.4.1: d = 0.2, 0.5, 0.8 at 80 % power need 393, 64 and 26 per group.
    sizes = [MeanDesign(d, groups=2).sample_size(0.8) for d in (0.2, 0.5, 0.8)]
    assert sizes == pytest.approx([393, 64, 26], abs=1)


def test_means_join_smoothly_where_the_normal_takes_over():
    tiny = MeanDesign(0.02)
    below, above = tiny.power(10_001), tiny.power(10_002)
    assert above == pytest.approx(below, abs=1e-4)
    assert MeanDesign(40.0).power(10) == pytest.approx(1)
    assert MeanDesign(40.0).sample_size(0.8) == 2


def test_correlations_agree_with_published_sizes():
    # Hulley et al. (2013), Designing Clinical Research, appendix 6C: 80 % power, two-sided 0.05.
    sizes = [CorrelationDesign(r).sample_size(0.8) for r in (0.1, 0.3, 0.5)]
    assert sizes == pytest.approx([783, 85, 30], abs=1)


def rejections(p_values):
    return np.mean(np.asarray(p_values) <= 0.05)


def test_correlation_power_is_met_in_simulation():
    generator = np.random.default_rng(0)
    x = generator.normal(size=(2000, 85))
    y = 0.3 * x + np.sqrt(1 - 0.09) * generator.normal(size=x.shape)
    assert rejections(reference.pearsonr(x, y, axis=1).pvalue) == pytest.approx(0.8, abs=0.03)


def test_paired_power_is_met_in_simulation():
    generator = np.random.default_rng(0)
    n = PairedProportionsDesign(gained=0.15, lost=0.05).sample_size(0.8)
    gained, lost, _ = generator.multinomial(n, [0.15, 0.05, 0.8], 4000).T
    z = (gained - lost) / np.sqrt(np.maximum(gained + lost, 1))
    assert rejections(2 * reference.norm.sf(abs(z))) == pytest.approx(0.8, abs=0.03)


def test_auc_power_is_met_in_simulation():
    generator = np.random.default_rng(0)
    auc = 0.7
    n = AucDesign(auc).sample_size(0.8)
    shift = np.sqrt(2) * reference.norm.ppf(auc)
    positive = generator.normal(size=(1500, n // 2)) + shift
    negative = generator.normal(size=(1500, n - n // 2))
    p_values = reference.mannwhitneyu(positive, negative, axis=1, method="asymptotic").pvalue
    assert rejections(p_values) == pytest.approx(0.8, abs=0.05)


def test_auc_variances_are_those_of_the_module():
    design = AucDesign(0.8, positive_share=0.25)
    null, real = 81 / (12 * 20 * 60), _auc.hanley_mcneil_variance(0.8, 20, 60)
    expected = reference.norm.cdf((0.3 - 1.959964 * np.sqrt(null)) / np.sqrt(real))
    assert design.power(80) == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: TwoProportionsDesign(0.5, 0.5), "differ"),
        (lambda: TwoProportionsDesign(0.0, 0.5), "first"),
        (lambda: PairedProportionsDesign(0.8, 0.3), "at most 1"),
        (lambda: PairedProportionsDesign(0.1, 0.1), "differ"),
        (lambda: PairedProportionsDesign(-0.1, 0.1), "shares"),
        (lambda: MeanDesign(0.0), "not zero"),
        (lambda: MeanDesign(np.nan), "finite"),
        (lambda: MeanDesign(0.5, groups=3), "groups"),
        (lambda: AucDesign(0.5), "differ"),
        (lambda: AucDesign(1.0), "auc"),
        (lambda: AucDesign(0.7, positive_share=0.0), "positive_share"),
        (lambda: CorrelationDesign(0.0), "zero"),
        (lambda: CorrelationDesign(1.0), "between"),
        (lambda: MeanDesign(0.5).power(1), "at least 2"),
        (lambda: CorrelationDesign(0.5).power(3), "at least 4"),
        (lambda: MeanDesign(0.5).sample_size(1.0), "power"),
        (lambda: MeanDesign(0.5).sample_size(0.8, alpha=0), "alpha"),
        (lambda: MeanDesign(1e-9).sample_size(0.8), "too small"),
    ],
)
def test_refusals(call, words):
    with pytest.raises(UsageError, match=words):
        call()


def test_every_item_changing_one_way_is_certain():
    design = PairedProportionsDesign(gained=1.0, lost=0.0)
    assert design.power(4) == 1
    assert design.power(3) == 0
