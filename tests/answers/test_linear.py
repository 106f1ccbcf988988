"""Reading takes linear time, whatever the text repeats."""

import time

import pytest

from theodolite.answers import (
    AnswerFormat,
    guard,
    json_values,
    normal_form,
    outer_layers,
    quantities,
    read_answer,
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


KILLERS = [
    "answer:\n",
    "not left ",
    "#",
    '{"',
    "{",
    "×10^{99999}",
    "½",
    "<answer>",
    "left and ",
    "object 1, ",
]


def _seconds(work, text):
    """The shorter of two runs."""
    times = []
    for _ in range(2):
        begun = time.process_time()
        work(text)
        times.append(time.process_time() - begun)
    return min(times)


def _ratio(work, piece, size, factor):
    """How much longer a text takes that is so many times as long."""
    short, long = (piece * (n // len(piece)) for n in (size, factor * size))
    return _seconds(work, long) / max(_seconds(work, short), 2e-3)


def _assert_linear(work, piece, size, factor=4):
    ratios = [_ratio(work, piece, size, factor)]
    while ratios[-1] > 1.8 * factor and len(ratios) < 4:  # a busy machine may disturb one measurement
        ratios.append(_ratio(work, piece, size, factor))
    assert min(ratios) <= 1.8 * factor, (piece, ratios)


def _read_all(text):
    for expected in FORMATS:
        read_answer(text, expected)


@pytest.mark.parametrize("piece", PIECES)
def test_reading_is_linear(piece, monkeypatch):
    monkeypatch.setattr(guard, "LONGEST", 10**9)
    _assert_linear(_read_all, piece, 1_500)


@pytest.mark.parametrize("work", [json_values, quantities, outer_layers, normal_form])
def test_the_parts_are_linear(work):
    for piece in PIECES:
        _assert_linear(work, piece, 4_000)


@pytest.mark.slow
@pytest.mark.parametrize("piece", KILLERS)
def test_twice_the_text_takes_twice_the_time_up_to_200_kb(piece, monkeypatch):
    monkeypatch.setattr(guard, "LONGEST", 10**9)
    for work in (json_values, lambda text: read_answer(text, FORMATS[0])):
        _assert_linear(work, piece, 100_000, factor=2)


@pytest.mark.parametrize("piece", KILLERS)
def test_long_texts_are_read_quickly(piece):
    text = piece * (200_000 // len(piece))
    begun = time.process_time()
    read_answer(text, FORMATS[0])
    json_values(text)
    assert time.process_time() - begun < 10
