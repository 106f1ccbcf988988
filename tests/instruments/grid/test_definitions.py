"""Every definition of the grid names a function that exists; every column links to a definition; every metric has one."""

import tomllib
from importlib import import_module, resources

import pytest

from theodolite.instruments.grid.data.audit import audit, audit_tables, compare_datasets, comparison_table
from theodolite.instruments.grid.data.dataset import DatasetPlan, make_dataset
from theodolite.instruments.grid.data.files import read_dataset, write_dataset
from theodolite.instruments.grid.models.certify import certificate_tables, released_certificate
from theodolite.instruments.grid.score import METRICS

TEXT = resources.files("theodolite.instruments.grid").joinpath("definitions.toml").read_text(encoding="utf-8")
DEFINED = tomllib.loads(TEXT)["grid"]


@pytest.mark.parametrize("name", DEFINED)
def test_a_definition_names_the_function_that_computes_it(name):
    module, _, function = DEFINED[name]["function"].partition(":")
    assert callable(getattr(import_module(f"theodolite.{module}"), function))


def test_every_kind_of_metric_is_defined_once_and_points_the_same_way():
    kinds = {metric.kind.partition(".")[2]: metric for metric in METRICS}
    listed = [kind for each in DEFINED.values() for kind in each.get("metrics", ())]
    assert sorted(listed) == sorted(kinds)
    for each in DEFINED.values():
        for kind in each.get("metrics", ()):
            if each["grounded"] != "neither":
                assert (each["grounded"] == "higher") == kinds[kind].higher_is_grounded, kind


def test_the_columns_of_audits_and_certificates_link_to_definitions(tmp_path):
    stored = []
    for mode in ("pure", "spur"):
        plan = DatasetPlan(mode, 2, 0, buckets=("M-F0-D1",), densities=("sparse",))
        stored.append(read_dataset(write_dataset(make_dataset(plan), tmp_path / mode, pictures=False)))
    tables = audit_tables([audit(each, n_permutations=9) for each in stored])
    tables.append(comparison_table(compare_datasets(*stored)))
    tables += certificate_tables(released_certificate("pure"))
    keys = {column.key for table in tables for column in table.columns if column.key}
    assert len(keys) > 5
    assert {key.partition(".")[2] for key in keys} <= set(DEFINED)


def test_the_released_certificate_is_a_table_by_bucket():
    table, *others = certificate_tables(released_certificate("pure"))
    names = [column.name for column in table.columns]
    first = dict(zip(names, table.rows[0], strict=True))
    assert table.name == "grid.certificate_pure_paper"
    assert [each.name for each in others] == ["grid.certificate_pure_sound", "grid.certificate_pure_released"]
    assert len(table.rows) == 19
    assert first["pure_sparse"].value == 1.0
    assert first["follows"] is None  # attribute questions have no direction
