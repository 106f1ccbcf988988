"""Read answers out of model text. No other package does it."""

from theodolite.answers.numbers import Quantity, quantities
from theodolite.answers.reading import READER, Answer, read_answer
from theodolite.answers.text import (
    JsonValue,
    Layers,
    bounded,
    cut_note,
    guarded,
    json_values,
    normal_form,
    outer_layers,
)
from theodolite.core.types import AnswerFormat

__all__ = [
    "READER",
    "Answer",
    "AnswerFormat",
    "JsonValue",
    "Layers",
    "Quantity",
    "bounded",
    "cut_note",
    "guarded",
    "json_values",
    "normal_form",
    "outer_layers",
    "quantities",
    "read_answer",
]
