"""The one place where a model's text becomes an answer."""

from theodolite.answers.formats import Answer
from theodolite.answers.guard import bounded, cut_note, guarded
from theodolite.answers.normalise import normal_form
from theodolite.answers.numbers import Quantity, quantities
from theodolite.answers.reading import READER, read_answer
from theodolite.answers.wrappers import JsonValue, Layers, json_values, outer_layers
from theodolite.core.truth import AnswerFormat

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
