"""Stored runs give the numbers, exports and help that they gave before."""

import pytest
from goldens import EXPORTS, TABLES, diagnosis, differences, expected, exported, helps, table, unpack


@pytest.fixture(scope="module")
def stored(tmp_path_factory):
    return unpack(tmp_path_factory.mktemp("golden"))


def same(name, found):
    wrong = differences(expected(name), found)
    assert not wrong, f"{len(wrong)} differences from what {name} was:\n" + "\n".join(wrong[:20])


@pytest.mark.parametrize("name", TABLES)
def test_every_table_of_a_stored_run_is_as_before(name, stored):
    same(name, table(name, stored))


@pytest.mark.parametrize("name", EXPORTS)
def test_every_export_of_a_stored_run_is_as_before(name, stored, tmp_path):
    same(name, exported(name, stored, tmp_path))


def test_the_stored_diagnosis_is_as_before(stored):
    same("diagnosis", diagnosis(stored))


def test_every_help_is_as_before():
    same("helps", helps())


def test_a_difference_is_found():
    assert differences({"a": [1.0, "x"]}, {"a": [1.0 + 1e-8, "x"]}) == []
    assert differences({"a": [1.0]}, {"a": [1.001]}) == [".a[0]: 1.001, not 1.0"]
    assert differences({"a": 1}, {"b": 1}) == [".a is gone", ".b is new"]
