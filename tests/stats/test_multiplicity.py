import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from statsmodels.stats.multitest import multipletests

from theodolite.core.errors import UsageError
from theodolite.stats import holm


@settings(deadline=None, max_examples=30)
@given(st.lists(st.floats(0, 1), min_size=1, max_size=15))
def test_agrees_with_statsmodels(p_values):
    assert holm(p_values) == pytest.approx(multipletests(p_values, method="holm")[1], abs=1e-12)


def test_keeps_its_input():
    given_p = np.array([0.5, 0.01])
    assert holm(given_p).tolist() == [0.5, 0.02]
    assert given_p.tolist() == [0.5, 0.01]


@pytest.mark.parametrize("p_values", [[], [0.1, np.nan], [1.2], [-0.1], [[0.1]]])
def test_refuses(p_values):
    with pytest.raises(UsageError):
        holm(p_values)
