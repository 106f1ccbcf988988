"""The document: what is written is read again, what is foreign is refused, and the schema says what it holds."""

import json
import math
from dataclasses import replace
from functools import partial

import pytest
from diagnosis_sample import HOSTILE, VIEWS, sample_diagnosis, write_sample

from theodolite.core.errors import StorageError, UsageError
from theodolite.core.files import check, dump
from theodolite.diagnose.record import Diagnosis, Interval, read_diagnosis, schema, write_diagnosis
from theodolite.diagnose.running import read_items, write_items
from theodolite.stats import bootstrap


def test_what_is_written_is_read_again(tmp_path):
    folder = write_sample(tmp_path / "report", n=24)
    assert read_diagnosis(folder) == sample_diagnosis() == read_diagnosis(folder / "diagnosis.json")
    rows = list(read_items(folder))
    assert len(rows) == 24
    assert {row.instrument for row in rows} == {"compass", "grid", "scene", "trace"}
    assert all((folder / picture).is_file() for row in rows for picture in row.pictures)
    assert all(getattr(row, VIEWS[row.instrument][0]) is not None for row in rows)


def test_hostile_text_is_kept_as_it_was_said(tmp_path):
    rows = list(read_items(write_sample(tmp_path, n=4, hostile=True)))
    assert all(row.answer == HOSTILE for row in rows)


def test_an_estimate_is_stored_without_its_p_value():
    estimate = bootstrap([0, 1, 1, 0, 1, 1], clusters=list("aabbcc"), seed=0)
    stored = dump(replace(estimate, p_value=0.04), Interval)
    assert "p_value" not in stored
    assert check(Interval, stored) == estimate
    with pytest.raises(UsageError, match="finite numbers"):
        check(Interval, stored | {"value": math.nan})


def test_a_newer_an_older_and_a_foreign_document_are_refused(tmp_path):
    path = write_diagnosis(sample_diagnosis(), tmp_path)
    value = json.loads(path.read_text())
    path.write_text(json.dumps(value | {"schema_version": 5}))
    with pytest.raises(UsageError, match="newer Theodolite"):
        read_diagnosis(tmp_path)
    path.write_text(json.dumps(value | {"schema_version": 3}))
    with pytest.raises(UsageError, match="older Theodolite"):
        read_diagnosis(tmp_path)
    path.write_text(json.dumps(value | {"surprise": 1}))
    with pytest.raises(UsageError, match="not a diagnosis"):
        read_diagnosis(tmp_path)
    path.write_text("{")
    with pytest.raises(UsageError, match="is not JSON"):
        read_diagnosis(tmp_path)
    with pytest.raises(UsageError, match="theodolite diagnose --out"):
        read_diagnosis(tmp_path / "nowhere")


def test_nan_never_gets_into_the_document(tmp_path):
    path = write_diagnosis(sample_diagnosis(), tmp_path)
    assert "NaN" not in path.read_text()
    json.loads(path.read_text(), parse_constant=pytest.fail)


def test_the_schema_holds_for_what_is_written(tmp_path):
    jsonschema = pytest.importorskip("jsonschema")
    value = json.loads(write_diagnosis(sample_diagnosis(), tmp_path).read_text())
    jsonschema.Draft202012Validator(schema()).validate(value)
    del value["models"][0]["verdict"]
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.Draft202012Validator(schema()).validate(value)


def test_a_line_that_is_no_item_is_named(tmp_path):
    path = write_sample(tmp_path, n=3) / "items.jsonl"
    path.write_text(path.read_text() + "{}\n")
    with pytest.raises(UsageError, match=r"items\.jsonl, line 4"):
        list(read_items(tmp_path))


def test_a_full_disk_is_told(tmp_path):
    blocked = tmp_path / "file"
    blocked.write_text("")
    with pytest.raises(StorageError, match="choose another --out"):
        write_diagnosis(sample_diagnosis(), blocked / "below")


def test_names_are_found_or_told():
    diagnosis: Diagnosis = sample_diagnosis()
    assert diagnosis.instrument("scene").name == "scene"
    with pytest.raises(UsageError, match="it has pocket:grounded"):
        diagnosis.model("pocket:grund")


def test_no_space_is_told_with_what_to_do(tmp_path, monkeypatch):
    def full(*_, **__):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("pathlib.Path.open", full)
    for write in (partial(write_diagnosis, sample_diagnosis()), partial(write_items, [])):
        with pytest.raises(StorageError, match="is full; free some space"):
            write(tmp_path)
