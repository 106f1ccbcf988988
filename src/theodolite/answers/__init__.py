"""The one place where a model's text becomes an answer."""

from theodolite.answers.formats import Answer, AnswerFormat
from theodolite.answers.guard import bounded, cut_note, guarded
from theodolite.answers.json_text import JsonValue, json_values
from theodolite.answers.layers import Layers, outer_layers
from theodolite.answers.numbers import Quantity, quantities
from theodolite.answers.plain import normal_form
from theodolite.answers.reading import READER, read_answer

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
