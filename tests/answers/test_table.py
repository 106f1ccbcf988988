"""Answers written by hand, row by row, and variations of them that must read the same."""

import tomllib
from pathlib import Path

import pytest

from theodolite.answers import AnswerFormat, read_answer

_GROUPS = tomllib.loads((Path(__file__).parent / "table.toml").read_text(encoding="utf-8"))["group"]
_FIELDS = ("kind", "options", "style", "unit", "subject", "object", "claim")
ROWS = [
    pytest.param(
        AnswerFormat(**{key: group[key] for key in _FIELDS if key in group}), row, id=f"{group['name']}-{i}"
    )
    for group in _GROUPS
    for i, row in enumerate(group["rows"])
]


def test_the_table_is_large_and_varied():
    assert len(ROWS) >= 250
    assert {group["kind"] for group in _GROUPS} == {
        "choice",
        "yes-no",
        "number",
        "count",
        "direction",
        "text",
    }
    statuses = {row.values[1].get("status", "value") for row in ROWS}
    assert statuses == {"value", "none of these", "refused", "cut off", "ambiguous", "unreadable"}


def _reading(text, expected, row):
    answer = read_answer(text, expected, is_cut_off=row.get("cut", False))
    assert answer.reason
    return answer.status, answer.value


def _wanted(row):
    value = row.get("value")
    return row.get("status", "value"), pytest.approx(value) if isinstance(value, float) else value


@pytest.mark.parametrize(("expected", "row"), ROWS)
def test_an_answer_is_read_as_a_person_reads_it(expected, row):
    assert _reading(row["text"], expected, row) == _wanted(row)


@pytest.mark.parametrize(
    "form",
    [
        "\n  {}  \n\n",
        "assistant:\n{}",
        "{}<|im_end|>",
        "<think>Is it A, left, 7 m or yes?</think>\n{}",
        "{}\n\nUser: Thanks.",
    ],
)
def test_what_surrounds_an_answer_does_not_change_it(form):
    for parameters in ROWS:
        expected, row = parameters.values
        plain = row["text"]
        if (
            row.get("cut")
            or not plain.strip(" .")
            or plain.startswith(("<think>", "USER"))
            or "</think>" in plain
        ):
            continue
        assert _reading(form.format(plain), expected, row) == _wanted(row), plain
