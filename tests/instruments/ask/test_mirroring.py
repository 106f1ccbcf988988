"""What mirroring does to the right answer, by the words of question, options and answer."""

import pytest

from theodolite.instruments.ask.data.questions import Question
from theodolite.instruments.ask.questions import mirrored

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
