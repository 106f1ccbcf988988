"""The columns of audits and certificates link to definitions."""

from theodolite.core.scores import definitions
from theodolite.instruments.grid.data.audit import audit, audit_tables, compare_datasets, comparison_table
from theodolite.instruments.grid.data.files import DatasetPlan, make_dataset, read_dataset, write_dataset
from theodolite.instruments.grid.models.certificate import certificate_tables, released_certificate


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
    assert keys <= set(definitions())


def test_the_released_certificate_is_a_table_by_bucket():
    table, *others = certificate_tables(released_certificate("pure"))
    names = [column.name for column in table.columns]
    first = dict(zip(names, table.rows[0], strict=True))
    assert table.name == "grid.certificate_pure_paper"
    assert [each.name for each in others] == ["grid.certificate_pure_sound", "grid.certificate_pure_released"]
    assert len(table.rows) == 19
    assert first["pure_sparse"].value == 1.0
    assert first["follows"] is None  # attribute questions have no direction
