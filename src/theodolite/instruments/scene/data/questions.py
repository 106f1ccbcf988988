"""Spatial questions: seven competencies, twenty-seven kinds with their wording, and nine groups to report by.

A question holds what it asks twice: as text for a model, and as `kind`, `objects`, `relation` and `distance_m` for the
solver, which therefore never has to read text. Objects are named by their marks only.
"""

from __future__ import annotations

import math
import string
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias, get_args

from theodolite.answers import AnswerFormat
from theodolite.core.errors import UsageError
from theodolite.instruments.scene.data.graph import Difficulty, Domain
from theodolite.instruments.scene.data.relations import Predicate

Competency: TypeAlias = Literal[
    "direction", "size", "distance", "ranking", "counting", "transformation", "deduction"
]
Form: TypeAlias = Literal["choice", "number"]
Layer: TypeAlias = Literal["atomic", "compositional"]

Kind: TypeAlias = Literal[
    "is in front",
    "is behind",
    "is left",
    "is right",
    "is above",
    "is below",
    "position",
    "larger",
    "taller",
    "wider",
    "length",
    "height",
    "width",
    "closer to camera",
    "farther from camera",
    "closer to object",
    "farther from object",
    "distance to camera",
    "distance between",
    "rank by volume",
    "rank by height",
    "rank by distance",
    "count in direction",
    "count within",
    "count beyond",
    "where after turning",
    "distance after placing",
]
KINDS: tuple[Kind, ...] = get_args(Kind)

COMPETENCY_OF: Mapping[Kind, Competency] = {
    **dict.fromkeys(KINDS[0:7], "direction"),
    **dict.fromkeys(KINDS[7:13], "size"),
    **dict.fromkeys(KINDS[13:19], "distance"),
    **dict.fromkeys(KINDS[19:22], "ranking"),
    **dict.fromkeys(KINDS[22:25], "counting"),
    "where after turning": "transformation",
    "distance after placing": "deduction",
}
NUMERIC_KINDS: frozenset[Kind] = frozenset(
    {"length", "height", "width", "distance to camera", "distance between", "distance after placing"}
)

GROUPS: tuple[tuple[Form, Competency], ...] = (
    ("choice", "direction"),
    ("choice", "size"),
    ("number", "size"),
    ("choice", "distance"),
    ("number", "distance"),
    ("choice", "ranking"),
    ("choice", "counting"),
    ("choice", "transformation"),
    ("number", "deduction"),
)
"""The nine groups whose mean is the QA score."""
ATOMIC: frozenset[Competency] = frozenset({"direction", "distance", "size"})

SECTORS = (
    "front",
    "front right",
    "right",
    "back right",
    "back",
    "back left",
    "left",
    "front left",
)
"""Eight sectors of 45°, clockwise seen from above; sector k is centred on a bearing of 45° · k from straight ahead."""

LETTERS = string.ascii_uppercase


def group_name(form: Form, competency: Competency) -> str:
    """As tables show a group.

    >>> group_name("number", "size")
    'size (number)'
    """
    return f"{competency} ({form})"


@dataclass(frozen=True, slots=True)
class Option:
    """One of the answers to choose from."""

    text: str
    """As it is shown, without its letter."""
    key: str
    """As the solver says it: ``yes`` or ``no``; a mark; marks in order, ``3-1-2``; a count; words of `PREDICATES` in order,
    joined by ``+``; one of `SECTORS`."""


@dataclass(frozen=True, slots=True)
class SceneQuestion:
    """A question about the marked objects of one scene."""

    id: str
    scene: str
    domain: Domain
    kind: Kind
    text: str
    """The question itself, without options or instructions."""
    objects: tuple[int, ...]
    """Marks, in the order in which the text names them."""
    gold: str
    """The letter of the right option, or the number in metres to two decimals."""
    difficulty: Difficulty
    """Of the scene: by the edges of its star."""
    options: tuple[Option, ...] = ()
    """In the order of their letters A, B, C …; empty if a number is asked for."""
    relation: Predicate | None = None
    distance_m: float | None = None

    def __post_init__(self) -> None:
        if self.form == "number":
            if self.options or not math.isfinite(self.gold_number) or self.gold_number <= 0:
                raise UsageError(f"question {self.id!r} needs a number above zero as gold and no options")
        elif not 2 <= len(self.options) <= len(LETTERS) or self.gold not in LETTERS[: len(self.options)]:
            raise UsageError(
                f"question {self.id!r} needs two options or more, and one of their letters as gold"
            )

    @property
    def competency(self) -> Competency:
        """What it tests."""
        return COMPETENCY_OF[self.kind]

    @property
    def form(self) -> Form:
        """Whether a letter or a number is asked for."""
        return "number" if self.kind in NUMERIC_KINDS else "choice"

    @property
    def group(self) -> tuple[Form, Competency]:
        """One of the nine groups."""
        return self.form, self.competency

    @property
    def group_name(self) -> str:
        """Of its group, such as ``size (number)``."""
        return group_name(*self.group)

    @property
    def layer(self) -> Layer:
        """Atomic: the graph states the answer. Compositional: it takes several steps."""
        return "atomic" if self.competency in ATOMIC else "compositional"

    @property
    def letters(self) -> str:
        """The letters of the options, in order."""
        return LETTERS[: len(self.options)]

    @property
    def gold_number(self) -> float:
        """The gold of a numeric question."""
        try:
            return float(self.gold)
        except ValueError:
            raise UsageError(
                f"question {self.id!r} has the gold {self.gold!r}, which is not a number"
            ) from None

    @property
    def format(self) -> AnswerFormat:
        """The form of its answer: the letter of an option, or a number of metres."""
        if self.form == "number":
            return AnswerFormat.number("m")
        options = {letter: o.text for letter, o in zip(self.letters, self.options, strict=True)}
        is_count = self.competency == "counting"
        return (AnswerFormat.count if is_count else AnswerFormat.choice)(options, style="letter")

    def letter_of(self, key: str) -> str | None:
        """The letter of the option with this key; None if there is none."""
        return next(
            (letter for letter, o in zip(self.letters, self.options, strict=True) if o.key == key), None
        )

    @property
    def lines(self) -> str:
        """The question with its lettered options, one per line."""
        shown = [f"{letter}: {o.text}" for letter, o in zip(self.letters, self.options, strict=True)]
        return "\n".join([self.text, "Options:", *shown] if shown else [self.text])


_PHRASES: Mapping[Predicate, str] = {
    "left": "to the left of",
    "right": "to the right of",
    "in front of": "in front of",
    "behind": "behind",
    "up": "above",
    "down": "below",
}
_SHORT: Mapping[Predicate, str] = {
    "left": "left",
    "right": "right",
    "in front of": "in front",
    "behind": "behind",
    "up": "above",
    "down": "below",
}
_NEARNESS: Mapping[Predicate, str] = {
    "in front of": " (nearer to the camera)",
    "behind": " (farther from the camera)",
}

_TEXTS: Mapping[Kind, str] = {
    "is in front": "Seen from the camera, is {0} in front of {1}, that is, nearer along the line of sight?",
    "is behind": "Seen from the camera, is {0} behind {1}, that is, farther along the line of sight?",
    "is left": "Seen from the camera, is {0} to the left of {1}?",
    "is right": "Seen from the camera, is {0} to the right of {1}?",
    "is above": "Is {0} above {1}, that is, does it begin where {1} ends, or higher?",
    "is below": "Is {0} below {1}, that is, does it end where {1} begins, or lower?",
    "position": "Seen from the camera, where is {0} relative to {1}? "
    '"In front" means nearer to the camera, "behind" farther from it.',
    "larger": "In the real world, which has the larger volume: {0} or {1}?",
    "taller": "In the real world, which is taller: {0} or {1}?",
    "wider": "In the real world, which is wider, measured along the shorter of its two horizontal sides: {0} or {1}?",
    "length": "How long is {0} in the real world, along the longer of its two horizontal sides, in metres?",
    "height": "How tall is {0} in the real world, in metres?",
    "width": "How wide is {0} in the real world, along the shorter of its two horizontal sides, in metres?",
    "closer to camera": "Which is closer to the camera: {0} or {1}?",
    "farther from camera": "Which is farther from the camera: {0} or {1}?",
    "closer to object": "Which is closer to {0}, from middle to middle: {1} or {2}?",
    "farther from object": "Which is farther from {0}, from middle to middle: {1} or {2}?",
    "distance to camera": "How far is the middle of {0} from the camera, in metres?",
    "distance between": "How far apart are the middles of {0} and {1}, in metres?",
    "rank by volume": "Order these by volume, the largest first: {0}, {1}, {2}.",
    "rank by height": "Order these by height, the tallest first: {0}, {1}, {2}.",
    "rank by distance": "Order these by their distance from the camera, the nearest first: {0}, {1}, {2}.",
    "count in direction": "Seen from the camera, how many of the other marked objects are {relation} {0}{nearness}?",
    "count within": "How many of the other marked objects are within {distance} metres of {0}, from middle to middle?",
    "count beyond": "How many of the other marked objects are more than {distance} metres away from {0}, from middle to "
    "middle?",
    "where after turning": "Imagine standing at {0} and facing {1}. In which direction from you is {2}?",
    "distance after placing": "Something new is put on the ground {distance} metres {relation} {0}{nearness}, seen from the "
    "camera. How far is it then from {1} along the ground, in metres?",
}


def question_text(
    kind: Kind, marks: Sequence[int], *, relation: Predicate | None = None, distance_m: float | None = None
) -> str:
    """The text of a question."""
    return _TEXTS[kind].format(
        *map(_name, marks),
        relation=_PHRASES[relation] if relation is not None else "",
        nearness=_NEARNESS.get(relation, "") if relation is not None else "",
        distance=f"{distance_m:g}" if distance_m is not None else "",
    )


def option_text(kind: Kind, key: str) -> str:
    """The text of an option with a key.

    >>> option_text("rank by height", "3-1-2"), option_text("position", "left+in front of")
    ('object 3, object 1, object 2', 'left and in front')
    """
    if kind.startswith("rank"):
        return ", ".join(_name(int(mark)) for mark in key.split("-"))
    if kind == "position":
        return _joined([_SHORT[word] for word in key.split("+")])  # type: ignore[index]  # words of `PREDICATES`
    if kind.startswith("is "):
        return key.capitalize()
    return key if kind.startswith(("count", "where")) else _name(int(key))


def _name(mark: int) -> str:
    return f"object {mark}"


def _joined(words: Sequence[str]) -> str:
    return " and ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)
