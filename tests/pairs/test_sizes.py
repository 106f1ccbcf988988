"""The sample sizes in the documentation are those of the simulation."""

from pathlib import Path

import pytest
from looking_sizes import right_verdict, settled, table

PAGE = Path(__file__).parents[2] / "docs" / "diagnose.md"


@pytest.mark.slow
def test_the_table_in_the_documentation_is_the_simulated_one():
    assert table() in PAGE.read_text(encoding="utf-8")


@pytest.mark.parametrize(("share", "n", "least"), [(1.0, 48, 0.95), (0.5, 48, 0.9), (0.25, 100, 0.9)])
def test_so_many_pairs_settle_it(share, n, least):
    found = settled(share, n, draws=40, seed=1)
    assert found.get(right_verdict(share), 0) >= least
    assert set(found) <= {right_verdict(share), "not settled"}
