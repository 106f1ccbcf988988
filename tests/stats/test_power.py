import numpy as np
import pytest
from statsmodels.stats.power import TTestIndPower, TTestPower

from theodolite.core.errors import UsageError
from theodolite.stats.power import MeanDesign

DESIGNS = [MeanDesign(0.4), MeanDesign(-0.4, groups=2), MeanDesign(0.001)]


@pytest.mark.parametrize("design", DESIGNS, ids=str)
@pytest.mark.parametrize("power", [0.5, 0.8, 0.95])
@pytest.mark.parametrize("alpha", [0.05, 0.005])
def test_sample_size_is_the_smallest_that_is_enough(design, power, alpha):
    n = design.sample_size(power, alpha=alpha)
    assert design.power(n, alpha=alpha) >= power
    assert n == 2 or design.power(n - 1, alpha=alpha) < power


@pytest.mark.parametrize("design", DESIGNS, ids=str)
def test_power_rises_with_n_and_alpha(design):
    n = design.sample_size(0.6)
    values = [design.power(max(2, n // 2)), design.power(n), design.power(2 * n)]
    assert values == sorted(values)
    assert design.power(n, alpha=0.01) <= design.power(n, alpha=0.1)


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


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: MeanDesign(0.0), "not zero"),
        (lambda: MeanDesign(np.nan), "finite"),
        (lambda: MeanDesign(0.5, groups=3), "groups"),
        (lambda: MeanDesign(0.5).power(1), "at least 2"),
        (lambda: MeanDesign(0.5).sample_size(1.0), "power"),
        (lambda: MeanDesign(0.5).sample_size(0.8, alpha=0), "alpha"),
        (lambda: MeanDesign(1e-9).sample_size(0.8), "too small"),
    ],
)
def test_refusals(call, words):
    with pytest.raises(UsageError, match=words):
        call()
