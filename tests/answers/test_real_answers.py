"""Answers of real models, with the reading of a careful person. The data lie beside the repository."""

import json
from pathlib import Path

import pytest

from theodolite.answers import AnswerFormat, read_answer

_FILE = Path(__file__).parents[3] / "shared" / "data" / "real_answers.jsonl"
_UNREAD = {"refused", "unreadable", "ambiguous", "none"}


@pytest.fixture(scope="module")
def judged():
    if not _FILE.exists():
        pytest.skip(f"there are no labelled answers at {_FILE}")
    rows = [json.loads(line) for line in _FILE.read_text(encoding="utf-8").splitlines()]
    return [(row, *_judge(row)) for row in rows]


def _judge(row):
    style = row["style"] if row["style"] in {"letter", "index", "word"} else ""
    expected = AnswerFormat(row["kind"], row["options"] or {}, style, row.get("unit") or "")
    answer = read_answer(row["text"], expected)
    accepted = [row["expected"], *(row.get("also_accepted") or [])]
    values = [value for value in accepted if value not in _UNREAD]
    if not answer.is_read:
        return answer, len(values) < len(accepted), values
    if isinstance(answer.value, str):
        return answer, answer.value in values, values
    return answer, any(abs(float(value) - answer.value) < 1e-9 for value in values), values


def test_what_is_read_is_right(judged):
    read = [(row, answer, is_right) for row, answer, is_right, _ in judged if answer.is_read]
    wrong = [(row["id"], row["expected"], answer) for row, answer, is_right in read if not is_right]
    assert len(wrong) <= 0.01 * len(read), wrong


def test_what_a_person_can_read_is_read(judged):
    readable = [(row, answer) for row, answer, is_right, values in judged if row["expected"] in values]
    missed = [(row["id"], row["expected"], answer) for row, answer in readable if not answer.is_read]
    assert len(missed) <= 0.03 * len(readable), missed
