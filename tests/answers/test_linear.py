"""Reading takes linear time, whatever the text repeats."""

import re

import pytest

from linear import NASTY, assert_linear, assert_linear_up_to_200_kb
from theodolite.answers import (
    AnswerFormat,
    json_values,
    normal_form,
    outer_layers,
    quantities,
    read_answer,
)
from theodolite.answers import (
    text as reader,
)

FORMATS = [
    AnswerFormat.choice(["to the left", "object 3, object 1", "4"], style="letter"),
    AnswerFormat.directions(("left", "right", "front left"), subject="the cup", object="the plate"),
    AnswerFormat.number("m"),
    AnswerFormat.count(),
    AnswerFormat.text(),
]
PIECES = [
    *(
        "a",
        "A ",
        "1 ",
        "1,",
        "1.",
        " ",
        "\n",
        "#",
        "*",
        "_",
        "'",
        '"',
        "(",
        "{",
        "}",
        "[",
        "<",
        "=",
        "½",
        "①",
        "\u0300\u0301",
    ),
    *(
        "answer:",
        "answer:\n",
        "the answer is ",
        "B is the correct answer ",
        "so ",
        "not left ",
        "left and ",
        "its left cup ",
    ),
    *(
        '{"',
        '{"a":',
        "{'a",
        '"\\"',
        "×10^{99999}",
        "1×10^{9}",
        "1 m / 2 = ",
        "object 1, ",
        "none of ",
        "cannot ",
        "if ",
        "left? ",
    ),
    *(
        "<think>",
        "</think>",
        "<ans>1</ans>",
        "<answer>",
        "</answer>",
        "<b>",
        "\\boxed{",
        "\\boxed{1}",
        "USER: ",
        "assistant:\n",
    ),
    *("one hundred and ", "1. x\n", "A: to the left\n", "Wait, ", "no, ", "counter-"),
]


def _read_all(text):
    for expected in FORMATS:
        read_answer(text, expected)


@pytest.mark.parametrize("piece", PIECES)
def test_reading_is_linear(piece):
    assert_linear(_read_all, piece, 1_500, factor=4, most=1.8)


@pytest.mark.parametrize("work", [json_values, quantities, outer_layers, normal_form])
def test_the_parts_are_linear(work):
    for piece in PIECES:
        assert_linear(work, piece, 4_000, factor=4, most=1.8)


def test_a_quadratic_reader_is_found_out():
    with pytest.raises(AssertionError):
        assert_linear(re.compile("a*b").search, "a", 4_000, factor=4, most=1.8)


@pytest.mark.slow
@pytest.mark.parametrize("number", range(len(NASTY)))
def test_reading_is_linear_up_to_200_kb(number, monkeypatch):
    monkeypatch.setattr(reader, "LONGEST", 10**9)
    expected = FORMATS[number % len(FORMATS)]
    for work in (json_values, outer_layers, normal_form, lambda text: read_answer(text, expected)):
        assert_linear_up_to_200_kb(work, NASTY[number])
