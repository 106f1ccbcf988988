"""Signatures: raised only if every condition holds, with the numbers that decided."""

from theodolite.core.scores import Condition, SignatureKind, judge_signature
from theodolite.core.tables import Estimate, HypothesisTest

KIND = SignatureKind("language prior", "Show another picture.", "Balance the answers.", "a paper, section 6")
TEST = HypothesisTest(3.0, 0.01, n=60, method="sign flips", alternative="greater")


def condition(label, low, high, *, below):
    estimate = None if low is None else Estimate((low + high) / 2, low, high, n=60, level=0.95, method="made")
    return Condition(label, estimate, lambda x: x.high < below, f"below {below:g}")


def test_it_is_raised_if_every_condition_holds():
    found = judge_signature(
        KIND, [condition("a", 0.0, 0.04, below=0.1), condition("b", 0.2, 0.4, below=0.5)], test=TEST
    )
    assert (found.name, found.standing, found.is_raised) == ("language prior", "raised", True)
    assert found.because == "a 0.02 [0.00, 0.04], which is below 0.1; b 0.30 [0.20, 0.40], which is below 0.5"
    assert {label: number.value for label, number in found.numbers.items()} == {
        "a": 0.02,
        "b": 0.30000000000000004,
    }
    assert found.test is TEST


def test_it_is_not_raised_if_one_fails_and_that_one_is_named():
    found = judge_signature(
        KIND, [condition("a", 0.0, 0.04, below=0.1), condition("b", 0.2, 0.6, below=0.5)], test=TEST
    )
    assert (found.standing, found.is_raised) == ("not raised", False)
    assert found.because == "b 0.40 [0.20, 0.60], but should be below 0.5"
    assert set(found.numbers) == {"a", "b"}


def test_an_interval_that_touches_the_line_does_not_raise_it():
    assert not judge_signature(KIND, [condition("a", 0.05, 0.1, below=0.1)]).is_raised


def test_a_missing_number_means_not_measured_even_if_another_fails():
    found = judge_signature(
        KIND, [condition("a", None, None, below=0.1), condition("b", 0.2, 0.6, below=0.5)]
    )
    assert found.standing == "not measured"
    assert found.because == "not measured: a"
    assert set(found.numbers) == {"b"}
    assert found.test is None
