import math
import pickle

import pytest

from theodolite.core.errors import UsageError
from theodolite.stats import Estimate, HypothesisTest


def make(**changes):
    fields = {"value": 0.8123, "low": 0.774, "high": 0.8459, "n": 300, "level": 0.95, "method": "Wilson"}
    return Estimate(**(fields | changes))


def test_prints_value_interval_and_n():
    assert str(make()) == "0.812 [0.774, 0.846] (n=300)"
    assert f"{make():.1%}" == "81.2% [77.4%, 84.6%] (n=300)"


def test_prints_items_beside_clusters():
    assert str(make(n=40, n_items=300)) == "0.812 [0.774, 0.846] (n=40, 300 items)"


def test_items_default_to_n():
    assert make().n_items == 300
    assert make(n=40, n_items=300).n_items == 300


@pytest.mark.parametrize(
    "changes",
    [
        {"value": math.nan},
        {"low": -math.inf},
        {"low": 0.9, "high": 0.8},
        {"n": 0},
        {"level": 1.0},
        {"level": 95},
    ],
)
def test_refuses_what_is_no_estimate(changes):
    with pytest.raises(UsageError):
        make(**changes)


def test_excludes_and_lies_within():
    estimate = make(value=0.0, low=-0.02, high=0.03)
    assert estimate.excludes(0.031)
    assert not estimate.excludes(0.03)
    assert estimate.lies_within(-0.05, 0.05)
    assert not estimate.lies_within(-0.05, 0.03)


def test_is_frozen_and_pickles():
    estimate = make()
    with pytest.raises(AttributeError):
        estimate.value = 1.0
    assert pickle.loads(pickle.dumps(estimate)) == estimate


def test_hypothesis_test_prints_and_checks():
    outcome = HypothesisTest(2.5, 0.0004, n=8, n_items=24, method="exact", alternative="two-sided")
    assert str(outcome) == "statistic=2.5, p<0.001 (n=8, 24 items)"
    assert "p=0.040" in str(HypothesisTest(2.5, 0.04, n=8, method="exact", alternative="less"))
    with pytest.raises(UsageError):
        HypothesisTest(2.5, 1.2, n=8, method="exact", alternative="less")
    with pytest.raises(UsageError):
        HypothesisTest(math.nan, 0.2, n=8, method="exact", alternative="less")
