"""How answers to the user's questions are read: by the form that the question itself asks for."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from theodolite.answers import read_answer
from theodolite.instruments.ask.data.questions import Question

FOUR = ["left", "right", "above", "below"]


def read(text, options):
    return read_answer(text, Question("q", "Where?", "left", (), tuple(options)).format)


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("left", "left"),
        (" Left. ", "left"),
        ("**LEFT**", "left"),
        ("The red square is to the left of the blue one.", "left"),
        ("Answer: below", "below"),
        ("It could be left or right, but the answer is right.", "right"),
        ("<think>left? no, right.</think> above", "above"),
        ("<think>left or right, I wonder", None),
        ("The answer is to the left, not right.", "left"),
        ("left or right", None),
        ("leftover", None),
        ("upright", None),
        ("I cannot see a picture.", None),
        ("", None),
        ("   \n", None),
    ],
)
def test_answers_are_read_as_a_person_would(text, answer):
    found = read(text, FOUR)
    assert (found.value, found.is_read) == (answer, answer is not None)


def test_longer_options_win_over_their_parts():
    assert read("It is top left.", ["left", "top left", "right"]).value == "top left"


def test_open_answers_are_taken_whole():
    assert read("  Two **cups**. ", []).value == "two cups"
    assert read("<think>hm</think>", []).status == "unreadable"


def test_refused_ambiguous_and_unreadable_are_distinguished():
    assert read("no idea", FOUR).status == "refused"
    assert read("left, right", FOUR).status == "ambiguous"
    assert read("banana", FOUR).status == "unreadable"


@given(st.text(max_size=300), st.lists(st.text(min_size=1, max_size=8), max_size=5, unique=True))
@settings(max_examples=300, deadline=None)
def test_no_text_is_too_odd(text, options):
    found = read(text, options)
    assert found.reason
    if options and found.is_read:
        assert found.value in Question("q", "Where?", "left", (), tuple(options)).format.options
    assert found.is_read == (found.value is not None)


@pytest.mark.parametrize(
    ("text", "options", "value"),
    [
        ("-1", ["1", "2"], ""),
        ("−1", ["1", "2"], ""),
        ("1.5", ["1", "2"], ""),
        ("1,5 metres", ["1", "5"], ""),
        ("about 1.", ["1", "2"], "1"),
        ("1, I think", ["1", "2"], "1"),
        ("It is not on the left", ["left", "right"], ""),
        ("it isn't right", ["left", "right"], ""),
        ("It isn’t to the right of it.", ["left", "right"], ""),
        ("The answer is not left.", ["left", "right"], ""),
        ("It is not on the left, it is on the right", ["left", "right"], "right"),
        ("not left but right", ["left", "right"], "right"),
        ("left, not right", ["left", "right"], "left"),
        ("I am not sure, but left", ["left", "right"], "left"),
        ("No, it is on the left", ["left", "right"], "left"),
        ("No.", ["yes", "no"], "no"),
        ("It cannot be seen", ["cannot be seen", "left"], "cannot be seen"),
        ("neither left nor right", ["left", "right"], ""),
    ],
)
def test_what_is_denied_or_part_of_a_number_is_not_taken_for_an_answer(text, options, value):
    answer = read(text, options)
    assert (answer.value or "") == value
    assert answer.is_read == bool(value)
