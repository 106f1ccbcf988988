import numpy as np
import pytest

from theodolite.core.errors import UsageError
from theodolite.stats.samples import (
    check_alpha,
    check_count,
    check_seed,
    finite_array,
    flags,
    is_constant,
    label_codes,
    sample,
    unit_codes,
    without_rounding,
)


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ([1.0, np.nan], "1 of 2 values"),
        ([1.0, np.inf], "NaN or infinite"),
        (["a", "b"], "real numbers"),
        ([1j], "real numbers"),
        ([[1, 2], [3]], "different lengths"),
        ([[1, 2], [3, 4]], "one dimension"),
        ([], "at least 1"),
        ([1.0, -1e101], "magnitude, got 1e\\+101"),
    ],
)
def test_sample_refuses(values, words):
    with pytest.raises(UsageError, match=words):
        sample(values, "values")


def test_sample_does_not_alias_its_input():
    given = np.arange(3.0)
    sample(given, "values")[0] = 9
    assert given[0] == 0


def test_flags_take_booleans_and_numbers_only_of_0_and_1():
    assert flags([True, False], "correct").tolist() == [1.0, 0.0]
    assert flags(np.array([1, 0]), "correct").tolist() == [1.0, 0.0]
    with pytest.raises(UsageError, match="got 2"):
        flags([0, 1, 2], "correct")


def test_label_codes():
    distinct, codes = label_codes(["b", "a", "b"], "groups")
    assert distinct.tolist() == ["a", "b"]
    assert codes.tolist() == [1, 0, 1]


@pytest.mark.parametrize(
    "labels", [[], [[1], [2]], ["a", None], [1.0, np.nan], np.array([{}, []], dtype=object)]
)
def test_label_codes_refuse(labels):
    with pytest.raises(UsageError):
        label_codes(labels, "groups")


def test_unit_codes():
    assert unit_codes(None, 3).tolist() == [0, 1, 2]
    with pytest.raises(UsageError, match="3 items, 2 labels"):
        unit_codes(["a", "b"], 3)


def test_is_constant_sees_through_rounding_only():
    assert is_constant(np.array([0.1 + 0.2, 0.3]))
    assert not is_constant(np.array([0.3, 0.3 + 1e-9]))
    assert is_constant(np.zeros(3))


def test_without_rounding():
    assert without_rounding(np.array([0.3, 1.0]), np.array([0.1 + 0.2, 0.5])).tolist() == [0.0, 0.5]


@pytest.mark.parametrize("value", [0, -1, 1.5, "3"])
def test_check_count_refuses(value):
    with pytest.raises(UsageError):
        check_count(value, "n")


def test_seed_and_alpha():
    assert check_seed(np.int64(0)) == 0
    with pytest.raises(UsageError):
        check_seed(-1)
    with pytest.raises(UsageError):
        check_seed(None)
    with pytest.raises(UsageError):
        check_alpha(0.5)


def test_finite_array_keeps_shape():
    assert finite_array([[1, 2]], "values").shape == (1, 2)
