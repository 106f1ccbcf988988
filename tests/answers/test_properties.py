"""What holds for every text: no exception, values that were offered, mark-up that does not matter."""

import json
import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from theodolite.answers import (
    Answer,
    AnswerFormat,
    json_values,
    normal_form,
    outer_layers,
    quantities,
    read_answer,
)

FORMATS = [
    AnswerFormat.choice(
        {"A": "to the left", "B": "to the right", "C": "above", "D": "below"}, style="letter"
    ),
    AnswerFormat.choice(["object 3", "object 5", "object 9"], style="letter"),
    AnswerFormat.choice(["Clockwise rotation", "Counterclockwise rotation"], style="index"),
    AnswerFormat.choice(["lamp", "potted plant", "the same"], style="word"),
    AnswerFormat.choice(["2", "3", "4"], style="letter"),
    AnswerFormat.directions(
        ("left", "right", "front left", "back right"), subject="the cup", object="the plate"
    ),
    AnswerFormat.yes_no(),
]
OPEN = [
    AnswerFormat.number("m"),
    AnswerFormat.number(),
    AnswerFormat.number("parsec"),
    AnswerFormat.count(),
    AnswerFormat.text(),
]
ODD = [
    AnswerFormat("choice", {}),
    AnswerFormat("choice", {"": "", "a": ""}),
    AnswerFormat("choice", {"½": "①", "\ud800": "\x00"}),
    AnswerFormat("count", {"one": "1"}),
    AnswerFormat("yes-no"),
]
PIECES = st.sampled_from(
    [
        *(
            "A",
            "B",
            "(C)",
            "**D**",
            "0",
            "1",
            "left",
            "to the right",
            "above",
            "object 3",
            "lamp",
            "yes",
            "No.",
            "the cup",
        ),
        *(
            "the answer is",
            "Answer:",
            "so",
            "not",
            "n't",
            "option",
            "none of the options",
            "I cannot see",
            "wait,",
            "if",
            "or",
        ),
        *(
            "3.2",
            ".5",
            "-",
            "1/0",
            "½",
            "②",
            "٣",
            "𝟛",
            "e9",
            "m",
            "cm",
            "feet",
            "three",
            "hundred",
            "and a half",
            "±",
            "×10^{99}",
        ),
        *(
            "<think>",
            "</think>",
            "<answer>",
            "</ans>",
            "<b>",
            "\\boxed{",
            "}",
            "{",
            '{"',
            "[",
            "]",
            '"',
            "'",
            "\n",
            "```",
            "#",
            "|",
        ),
        *(
            "=",
            "≈",
            "?",
            ".",
            ",",
            ":",
            "(",
            "\x00",
            "\ud800",
            "İ",
            "\u0301",
            "ﷺ",
            "assistant:",
            "USER:",
            "1" * 400,
            "1e" + "9" * 50,
        ),
    ]
)
TEXTS = st.one_of(
    st.text(), st.lists(PIECES, max_size=25).map(" ".join), st.lists(PIECES, max_size=25).map("".join)
)


def check(answer, expected):
    assert isinstance(answer, Answer)
    assert answer.is_read == (answer.value is not None)
    assert answer.reason
    if answer.is_read and expected.options:
        assert answer.value in expected.options
    elif answer.is_read and expected.kind == "number":
        assert isinstance(answer.value, float)
        assert math.isfinite(answer.value)
    elif answer.is_read and expected.kind == "count":
        assert isinstance(answer.value, int)
        assert answer.value >= 0
    elif answer.is_read:
        assert answer.value == normal_form(answer.value)


@settings(max_examples=300, deadline=None)
@given(TEXTS, st.sampled_from([*FORMATS, *OPEN, *ODD]), st.booleans(), TEXTS)
def test_no_text_is_too_odd(text, expected, is_cut_off, reasoning):
    check(read_answer(text, expected, is_cut_off=is_cut_off, reasoning=reasoning), expected)
    json_values(text)
    outer_layers(text)
    assert all(math.isfinite(found.value) for found in quantities(text))


@settings(max_examples=200, deadline=None)
@given(TEXTS)
def test_normal_forms_are_stable(text):
    assert normal_form(normal_form(text)) == normal_form(text)
    assert normal_form(f"  **{text}** ") == normal_form(text)


@settings(max_examples=100, deadline=None)
@given(TEXTS, st.sampled_from([*FORMATS, *OPEN]), st.sampled_from(["{} ", "\n{}\n", "\t{}"]))
def test_outer_space_does_not_matter(text, expected, form):
    plain, spaced = read_answer(text.strip(), expected), read_answer(form.format(text.strip()), expected)
    assert (spaced.status, spaced.value) == (plain.status, plain.value)


@pytest.mark.parametrize("expected", FORMATS)
@pytest.mark.parametrize(
    "form",
    [
        *("{}", " {}. ", "**{}**", "`{}`", '"{}"', "({})", "$\\boxed{{{}}}$", "```\n{}\n```"),
        *(
            "<answer>{}</answer>",
            "<ans>{}",
            "{}</ans>",
            "<final>{}</final>",
            "<think>hm</think>{}",
            "so it goes</think>{}",
        ),
        *(
            "Answer: {}",
            "The answer is {}.",
            "### Answer\n{}",
            "Final answer: **{}**",
            "I choose {}.",
            "{} is the correct answer.",
        ),
        *('{{"answer": "{}"}}', "assistant: {}", "{}<|im_end|>", "Therefore, the answer is {}"),
    ],
)
def test_labels_and_texts_are_read_in_every_dress(expected, form):
    for label, text in expected.options.items():
        for said in {label, text}:
            answer = read_answer(form.format(said), expected)
            assert (answer.status, answer.value) == ("value", label), form.format(said)


@pytest.mark.parametrize("expected", FORMATS)
def test_what_is_denied_or_doubled_is_no_answer(expected):
    for label, text in expected.options.items():
        assert read_answer(f"The answer is not {text}.", expected).value != label
        for other, other_text in expected.options.items():
            if other != label and not {"left", "front left"} <= {text, other_text}:
                assert read_answer(f"{text} or {other_text}", expected).status == "ambiguous"
                assert read_answer(f"It is not {text} but {other_text}.", expected).value == other


@given(
    st.floats(0.01, 1e6),
    st.sampled_from(["{:.2f} m", "about {:.2f} metres", "The answer is {:.2f}m.", "**{:.2f}**"]),
)
@settings(max_examples=100, deadline=None)
def test_numbers_come_back_as_they_were_written(value, form):
    said = form.format(value)
    assert read_answer(said, AnswerFormat.number("m")).value == pytest.approx(float(f"{value:.2f}"))
    assert read_answer(said, AnswerFormat.number("cm")).value is not None


SCRAPS = st.recursive(
    st.one_of(
        st.none(), st.booleans(), st.integers(-5, 10**17), st.floats(allow_nan=False), st.text(max_size=6)
    ),
    lambda inner: st.one_of(
        st.lists(inner, max_size=4), st.dictionaries(st.text(max_size=5), inner, max_size=4)
    ),
    max_leaves=20,
)


@settings(max_examples=200, deadline=None)
@given(st.dictionaries(st.text(max_size=5), SCRAPS, min_size=1, max_size=4), st.integers(0, 200))
def test_json_comes_back_whole_and_a_part_of_it_never_fails(value, cut):
    text = json.dumps(value)
    assert json_values(f"Here it is:\n```json\n{text}\n```")[0].value == value
    json_values(text[:-cut])
    json_values(text.replace('"', "'"))
