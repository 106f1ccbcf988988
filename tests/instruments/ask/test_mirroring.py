"""What mirroring does to the right answer, by the words of question, options and answer."""

import pytest

from theodolite.instruments.ask.data.questions import Question
from theodolite.instruments.ask.questions import mirrored, with_roles_exchanged

FOUR = ("To the left", "To the right", "On top", "Under")


@pytest.mark.parametrize(
    ("question", "answer", "options", "after"),
    [
        ("Where is the cup?", "To the left", FOUR, "To the right"),
        ("Where is the cup?", "left", (), "right"),
        ("Is the cup on the left or on the right?", "right", (), "left"),
        ("Which?", "A mug to the left of a table", ("A mug to the left of a table", "A mug to the right of a table"), "A mug to the right of a table"),
        ("Is the cup to the left of the plate?", "yes", (), "no"),
        ("Is this sentence true of the picture? The cat is at the right side of the dog.\nAnswer yes or no.", "yes", (), "no"),
    ],
)  # fmt: skip
def test_the_right_answer_changes(question, answer, options, after):
    edit, found = mirrored(Question("q", question, answer, (), options))
    assert (edit.name, edit.is_relevant, found) == ("mirror", True, after)


@pytest.mark.parametrize(
    ("question", "answer", "options"),
    [
        ("What colour is the cup?", "red", ()),
        ("Is there a cup?", "yes", ()),
        ("How many cups?", "3", ("2", "3")),
    ],
)
def test_the_right_answer_stays(question, answer, options):
    edit, found = mirrored(Question("q", question, answer, (), options))
    assert (edit.name, edit.is_relevant, found) == ("mirror, not asked for", False, answer)


@pytest.mark.parametrize(
    ("question", "answer", "options"),
    [
        ("Where is the cup?", "On top", FOUR),
        ("Where is the cup?", "left", ("left", "middle")),
        ("What is left of the plate?", "cup", ()),
        ("Is the cup to the left of the plate?", "no", ()),
        ("Is the man on the left holding a bat?", "yes", ()),
        ("Is there a cup to the left of the plate?", "yes", ()),
        ("Is the cup left or right of the plate?", "yes", ()),
        ("What does the sign say?", "turn left", ()),
        ("What time is it?", "noon", ()),
        ("What number is on the shirt?", "7", ()),
        ("In which direction does the cat look?", "up", ()),
    ],
)
def test_the_right_answer_is_not_known(question, answer, options):
    assert mirrored(Question("q", question, answer, (), options)) is None


@pytest.mark.parametrize(
    ("words", "answer", "exchanged"),
    [
        ("Where is the cup relative to the plate?", "left", ("Where is the plate relative to the cup?", "right")),
        ("Is the red dog to the left of a car?", "yes", ("Is a car to the left of the red dog?", "no")),
        ("Is the cup left or right of the plate?", "right", ("Is the plate left or right of the cup?", "left")),
        ("What is the position of the cup in relation to the pen?", "left", ("What is the position of the pen in relation to the cup?", "right")),
        ("Is the dog to the left of the car?", "no", None),
        ("Where is the cup relative to the plate?", "above", None),
        ("Are the cups left of the plate?", "yes", None),
        ("Is the man on the left of the man with the hat?", "yes", None),
        ("What is to the left of the cup?", "left", None),
    ],
)  # fmt: skip
def test_roles_are_exchanged_where_the_words_allow_it(words, answer, exchanged):
    turned = with_roles_exchanged(Question("q", words, answer, ()))
    assert (turned and (turned.question, turned.answer)) == exchanged
