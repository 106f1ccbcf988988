"""Reading the answer to a question out of free text. What cannot be read is said so, never guessed and never a zero."""

from __future__ import annotations

from theodolite.instruments.scene.data.questions import Question
from theodolite.instruments.scene.reading.answer import Answer
from theodolite.instruments.scene.reading.read_choice import read_choice
from theodolite.instruments.scene.reading.read_number import read_number

ANSWER_PARSER = "scene-answer/1"
"""The name and version that is stored beside each reading."""


def parse_answer(text: str, question: Question) -> Answer:
    """Reads the answer to a question.

    >>> from theodolite.instruments.scene.data.questions import Option, Question
    >>> asked = Question("q", "s", "indoor", "is left", "Is object 1 left of object 2?", (1, 2), "A", "easy",
    ...                  (Option("Yes", "yes"), Option("No", "no")))
    >>> parse_answer("The answer is a chair, so **B**", asked).letter
    'B'
    """
    if question.form == "number":
        return read_number(text)
    return read_choice(text, [option.text for option in question.options])
