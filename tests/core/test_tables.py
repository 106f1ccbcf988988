"""Tables: what is declared comes back from JSON, and every cell is written by its unit."""

import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from theodolite.core.errors import UsageError
from theodolite.core.tables import NOTHING, Column, Estimate, Table, format_cell, format_number, short_name

ESTIMATE = Estimate(0.5, 0.4, 0.625, n=9, level=0.95, method="Wilson", n_items=20, p_value=0.02)
COLUMNS = [Column("who", "who"), Column("right", "right", "share", "ask.accuracy"), Column("n", "n", "count")]
TABLE = Table.of("ask.settings", "Settings", COLUMNS, [["a", ESTIMATE, 3], ["b", None, 0]], ["A note."])


def test_a_table_comes_back_from_json():
    text = json.dumps(TABLE.as_json(), allow_nan=False)
    assert Table.from_json(json.loads(text)) == TABLE
    row = json.loads(text)["rows"][0]
    assert list(row) == ["who", "right", "n"]
    assert (row["right"]["value"], row["right"]["low"], row["right"]["n_items"]) == (0.5, 0.4, 20)


def test_what_is_no_number_is_null_in_json():
    table = Table.of("x.y", "X", [Column("x", "x", "share")], [[math.nan], [math.inf], [0.5]])
    assert [row["x"] for row in json.loads(json.dumps(table.as_json(), allow_nan=False))["rows"]] == [
        None, None, 0.5
    ]  # fmt: skip


CELLS = (
    st.none()
    | st.text()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.builds(
        lambda value, width, n: Estimate(value, value - width, value + width, n, 0.9, "made"),
        st.floats(-1e6, 1e6),
        st.floats(0, 10),
        st.integers(1, 99),
    )
)


@given(st.text(), st.lists(st.tuples(CELLS, CELLS)), st.lists(st.text()))
def test_any_table_comes_back_from_json(title, rows, notes):
    columns = [Column("a", "first", "share"), Column("b", "second", "points", "x.y", signed=True)]
    table = Table.of("x.y", title, columns, rows, notes)
    assert Table.from_json(json.loads(json.dumps(table.as_json()))) == table


@pytest.mark.parametrize(
    "value",
    [
        {},
        [],
        None,
        {**TABLE.as_json(), "rows": [{"who": "a"}]},
        {**TABLE.as_json(), "rows": [{"who": [1], "right": None, "n": 1}]},
        {**TABLE.as_json(), "columns": [{"name": "who"}]},
        {**TABLE.as_json(), "rows": [{"who": "a", "right": {"value": 1}, "n": 1}]},
    ],
)
def test_what_is_no_table_is_refused(value):
    with pytest.raises(UsageError, match="not a table"):
        Table.from_json(value)


def test_a_table_must_have_one_cell_for_each_column_and_columns_of_their_own_names():
    with pytest.raises(UsageError, match=r"a row of the table x\.y has 1 cells for 3 columns"):
        Table.of("x.y", "X", COLUMNS, [["a"]])
    with pytest.raises(UsageError, match=r"two columns of the table x\.y have one name"):
        Table.of("x.y", "X", [*COLUMNS, Column("n", "again")], [])


@pytest.mark.parametrize(
    ("cell", "column", "text"),
    [
        (None, Column("x", "x", "share"), NOTHING),
        ("as it is", Column("x", "x", "share"), "as it is"),
        (ESTIMATE, Column("x", "x", "share"), "50.0 % [40.0, 62.5]"),
        (ESTIMATE, Column("x", "x", "points"), "+50.0 [+40.0, +62.5]"),
        (ESTIMATE, Column("x", "x", "number"), "0.50 [0.40, 0.62]"),
        (ESTIMATE, Column("x", "x", "correlation", signed=True), "+0.50 [+0.40, +0.62]"),
        (7, Column("x", "x"), "7"),
        (0.25, Column("x", "x"), "0.25"),
    ],
)
def test_cells_are_written_by_the_unit_of_their_column(cell, column, text):
    assert format_cell(cell, column) == text


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (0.0, "points", "0.0"),
        (-0.0001, "points", "0.0"),
        (0.0001, "points", "0.0"),
        (-0.25, "share", "−25.0 %"),
        (-12.34, "degrees", "−12.3°"),
        (1234.5, "bits", "1234.5"),
        (0.04, "p", ".040"),
        (0.0009, "p", "< .001"),
        (1.0, "p", "1.000"),
        (12, "count", "12"),
        (12.0, "count", "12"),
        (math.nan, "share", NOTHING),
        (math.inf, "number", NOTHING),
        (math.nan, "p", NOTHING),
        (math.nan, "count", NOTHING),
    ],
)
def test_numbers_have_a_true_minus_and_no_minus_zero(value, unit, text):
    assert format_number(value, unit, signed=unit == "points") == text


def test_a_replayed_run_has_the_name_of_the_model_that_it_recorded(tmp_path):
    run = tmp_path / "runs" / "compass"
    run.mkdir(parents=True)
    assert short_name(f"replay:{run}") == "replay:compass"
    (run / "run.json").write_text('{"model": "hf:/models/Some-VLM?dtype=float16"}', "utf-8")
    assert short_name(f"replay:{run}") == short_name(f"replay:{run.parent}") == "replay:hf:Some-VLM"
    (run / "run.json").write_text("[", "utf-8")
    assert short_name(f"replay:{run}") == "replay:compass"
