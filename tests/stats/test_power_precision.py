import numpy as np
import pytest
from scipy import stats as reference

from theodolite.core.errors import UsageError
from theodolite.stats import roc_auc, wilson_interval
from theodolite.stats.power import auc_sample_size, wilson_sample_size


@pytest.mark.parametrize("half_width", [0.02, 0.05, 0.1, 0.3])
@pytest.mark.parametrize("level", [0.9, 0.95])
def test_wilson_size_agrees_with_its_closed_form(half_width, level):
    z = reference.norm.ppf((1 + level) / 2)
    closed = z**2 / (4 * half_width**2) - z**2
    assert wilson_sample_size(half_width, level=level) == max(1, int(np.ceil(closed)))


@pytest.mark.parametrize("share", [0.0, 0.2, 0.9, 1.0])
def test_wilson_size_meets_the_width(share):
    n = wilson_sample_size(0.05, share)
    rounded = int(np.ceil(n / 20) * 20)  # so that the share is a whole number of items
    estimate = wilson_interval(round(share * rounded), rounded)
    assert (estimate.high - estimate.low) / 2 <= 0.05
    fewer = rounded - 40
    if fewer > 0:
        worse = wilson_interval(round(share * fewer), fewer)
        assert (worse.high - worse.low) / 2 > 0.05


@pytest.mark.parametrize("share", [0.5, 0.3])
def test_auc_size_meets_the_width(share):
    n = auc_sample_size(0.08, 1.0, positive_share=share)
    positives = round(n * share)
    labels = np.arange(n) < positives
    estimate = roc_auc(labels, labels)
    assert (estimate.high - estimate.low) / 2 <= 0.081
    shorter = roc_auc(labels[: n - 6 :], labels[: n - 6])
    assert (shorter.high - shorter.low) / 2 > 0.079


def test_auc_size_at_a_half_nears_the_normal():
    # Near 0.5 and for many items the variance is that of the null hypothesis, (n + 1) / 12 m n.
    n = auc_sample_size(0.02, 0.5)
    reach = reference.norm.ppf(0.975) * np.sqrt((n + 1) / (12 * (n / 2) ** 2))
    assert reach == pytest.approx(0.02, rel=0.01)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: wilson_sample_size(0.0), "half_width"),
        (lambda: wilson_sample_size(0.5), "half_width"),
        (lambda: wilson_sample_size(0.1, 1.2), "share"),
        (lambda: wilson_sample_size(0.1, level=1.0), "level"),
        (lambda: wilson_sample_size(1e-9), "too small"),
        (lambda: auc_sample_size(0.1, -0.1), "auc"),
        (lambda: auc_sample_size(0.1, 0.8, positive_share=1.0), "positive_share"),
    ],
)
def test_refusals(call, words):
    with pytest.raises(UsageError, match=words):
        call()
