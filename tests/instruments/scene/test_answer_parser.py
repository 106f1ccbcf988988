"""Answers are read as a person would read them, and what cannot be read is said so."""

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from theodolite.instruments.scene.reading.read_choice import read_choice
from theodolite.instruments.scene.reading.read_number import read_number

YES_NO = ["Yes", "No"]
COUNTS = ["2", "3", "4", "5"]
OBJECTS = ["object 3", "object 5"]
SECTORS = ["front left", "back left", "back right", "front right"]
PLACES = ["left and in front", "left and behind", "right and in front", "right and behind"]
RANKS = [
    "object 3, object 1, object 2",
    "object 1, object 2, object 3",
    "object 2, object 1, object 3",
    "object 3, object 2, object 1",
]


@pytest.mark.parametrize(
    ("text", "metres"),
    [
        # the tables of the notes: what two public parsers misread
        ("3.2m", 3.2),
        ("about 3.2", 3.2),
        (".5", 0.5),
        ("It is approximately 2.5 meters from object 3.", 2.5),
        ("about 3", 3.0),
        ("~3", 3.0),
        ("3,200", 3200.0),
        ("3.2\nmeters", 3.2),
        ("three", 3.0),
        # units, commas, words, fractions
        ("45 cm", 0.45),
        ("3,2 m", 3.2),
        ("5 feet 6 inches", 1.6764),
        ("1 m 20 cm", 1.2),
        ("1.5-meter", 1.5),
        ("two and a half metres", 2.5),
        ("half a meter", 0.5),
        ("three point two five", 3.25),
        ("1 1/2", 1.5),
        ("3.5e0", 3.5),
        ("3.2 m (10.5 ft)", 3.2),
        ("-3", -3.0),
        ("5.", 5.0),
        # mark-up, tags, boxes
        ("**3.2**", 3.2),
        ("$3.2$", 3.2),
        (r"\boxed{3.2\,\text{m}}", 3.2),
        ("<answer>7.5</answer>", 7.5),
        ("<think>maybe 5 m, or 6</think>4.1", 4.1),
        ("so it may be 9 m.</think>\n\n4.1", 4.1),
        # sentences
        ("The distance between objects 3 and 5 is 4.2m", 4.2),
        ("object 3: 4.2", 4.2),
        ("12.50 m away from object 12", 12.5),
        ("The distance is 8.4 - 3.2 = 5.2 m", 5.2),
        ("One of the objects is 4 m away", 4.0),
        ("Object 2 is 3 in front", 3.0),
        ("1. Object 3 is at 4 m.\n2. Object 2 is at 6 m.\nFinal answer: 2.1", 2.1),
        ("The first is 4 m away, the second 6 m.\nThe distance is therefore 2.5 m.", 2.5),
    ],
)
def test_a_length_is_read_as_a_person_reads_it(text, metres):
    answer = read_number(text)
    assert answer.status == "parsed", answer
    assert answer.number == pytest.approx(metres)


@pytest.mark.parametrize(
    ("text", "status"),
    [
        ("nan", "unparsed"),
        ("infinity", "unparsed"),
        ("", "unparsed"),
        ("   \n", "unparsed"),
        ("between 2 and 3 meters", "ambiguous"),
        ("2-3 meters", "ambiguous"),
        ("4 m, or 6 m", "ambiguous"),
        ("I cannot see the image.", "refused"),
        ("I'm sorry, but I can't determine the distance without the image.", "refused"),
        ("<think>it could be 3", "unparsed"),
        ("far away", "unparsed"),
    ],
)
def test_what_holds_no_length_is_told_apart_by_why(text, status):
    answer = read_number(text)
    assert (answer.status, answer.number) == (status, None)
    assert answer.reason


@pytest.mark.parametrize(
    ("text", "options", "letter"),
    [
        # the tables of the notes
        ("C. 4 because option A is too small", COUNTS, "C"),
        ("The answer is a chair, so B", YES_NO, "B"),
        ("B: No", YES_NO, "B"),
        ("B\n\nExplanation: A is wrong", YES_NO, "B"),
        ("<think>maybe A</think>B", YES_NO, "B"),
        ("A)", YES_NO, "A"),
        ("(A)", YES_NO, "A"),
        ("A: Yes", YES_NO, "A"),
        ("**A**", YES_NO, "A"),
        ("The answer is A", YES_NO, "A"),
        # letters
        ("a", YES_NO, "A"),
        ("Ｂ", YES_NO, "B"),
        ("Answer: (b)", YES_NO, "B"),
        ("Option B", YES_NO, "B"),
        (r"\boxed{\text{B}}", YES_NO, "B"),
        ("### Answer\nC", COUNTS, "C"),
        ("B because it is nearer", YES_NO, "B"),
        ("A because it is nearer", YES_NO, "A"),
        ("I would say B.", YES_NO, "B"),
        ("The correct option is **C: 4**.", COUNTS, "C"),
        ("Option A says 2. Option B says 3. The correct answer is C.", COUNTS, "C"),
        ("B. Wait, actually the answer is A.", YES_NO, "A"),
        ("It can't be B. It must be A", YES_NO, "A"),
        ("I cannot see the image, but my guess is B", YES_NO, "B"),
        # the options' own words
        ("yes", YES_NO, "A"),
        ("No, object 3 is on the right.", YES_NO, "B"),
        ("four", COUNTS, "C"),
        ("4", COUNTS, "C"),
        ("There are 4 objects", COUNTS, "C"),
        ("3", OBJECTS, "A"),
        ("5 is closer", OBJECTS, "B"),
        ("The closer one is object 5.", OBJECTS, "B"),
        ("Object 3 is closer than object 5.", OBJECTS, "A"),
        ("3-1-2", RANKS, "A"),
        ("3, 1, 2", RANKS, "A"),
        ("It is to the front left of you.", SECTORS, "A"),
        ("Object 2 is left and behind object 1", PLACES, "B"),
    ],
)
def test_a_choice_is_read_as_a_person_reads_it(text, options, letter):
    answer = read_choice(text, options)
    assert (answer.status, answer.letter) == ("parsed", letter), answer


@pytest.mark.parametrize(
    ("text", "options", "status"),
    [
        ("A or B", YES_NO, "ambiguous"),
        ("Both A and B are plausible", YES_NO, "ambiguous"),
        ("The answer is not B.", YES_NO, "unparsed"),
        ("A chair is near the table.", YES_NO, "unparsed"),
        ("I cannot see the image.", YES_NO, "refused"),
        ("no image provided", YES_NO, "refused"),
        ("Without the picture, it is not possible to tell.", COUNTS, "refused"),
        ("<think>B", YES_NO, "unparsed"),
        ("", YES_NO, "unparsed"),
    ],
)
def test_what_holds_no_choice_is_told_apart_by_why(text, options, status):
    answer = read_choice(text, options)
    assert (answer.status, answer.letter) == (status, "")
    assert answer.reason


PIECES = st.sampled_from(
    [
        *("A", "B", "(C)", "**D**", "the answer is", "so", "not", "option", "object 3", "yes", "No."),
        *(
            "3.2",
            ".5",
            "-",
            "1/0",
            "1/2",
            "e9",
            "m",
            "cm",
            "feet",
            "NaN",
            "inf",
            "three",
            "hundred",
            "and a half",
        ),
        *(
            "<think>",
            "</think>",
            "<answer>",
            "\\boxed{",
            "}",
            "\n",
            "```",
            "#",
            "|",
            "between",
            "to",
            "10^400",
        ),
        *("I cannot see", "image", "=", "≈", "½", "٣", "𝟛", "\x00"),
    ]
)


@settings(max_examples=400, deadline=2000)
@given(
    st.one_of(
        st.text(), st.lists(PIECES, max_size=25).map(" ".join), st.lists(PIECES, max_size=25).map("".join)
    )
)
def test_no_text_breaks_the_parsers_and_nothing_unread_is_a_zero(text):
    number = read_number(text)
    assert (number.status == "parsed") == (number.number is not None)
    if number.number is not None:
        assert math.isfinite(number.number)
        assert number.number != 0 or "0" in text or "zero" in text.lower() or any(c.isdigit() for c in text)
    for options in (YES_NO, OBJECTS, RANKS):
        choice = read_choice(text, options)
        assert (choice.status == "parsed") == (
            choice.letter in set("ABCD"[: len(options)]) and choice.letter != ""
        )
        assert choice.status == "parsed" or choice.reason


@pytest.mark.parametrize("piece", ["1 ", "the answer is ", "<think>", "object 1, ", "1,", "{[", "one ", "a "])
def test_long_answers_are_read_in_good_time(piece):
    import time

    text = piece * 4000
    started = time.perf_counter()
    read_number(text)
    read_choice(text, RANKS)
    assert time.perf_counter() - started < 5
