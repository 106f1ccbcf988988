"""Spatial questions: seven competencies, twenty-seven kinds, nine groups to report by.

A question carries what it asks twice: as text for a model, and as `kind`, `objects`, `relation` and `distance_m` for a
solver, which therefore never has to read text.
"""

from __future__ import annotations

import math
import string
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias, get_args

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

ROLES: Mapping[Kind, str] = {
    **dict.fromkeys(KINDS[0:7], "a, b: where a is relative to b, seen from the camera"),
    **dict.fromkeys(KINDS[7:10], "a, b: which of them is"),
    **dict.fromkeys(KINDS[10:13], "a: its size in metres"),
    **dict.fromkeys(KINDS[13:15], "a, b: which of them is"),
    **dict.fromkeys(KINDS[15:17], "a, b, c: which of b and c is, with respect to a (the centre)"),
    "distance to camera": "a: metres from the camera to its middle",
    "distance between": "a, b: metres from middle to middle",
    "rank by volume": "a, b, c: largest first",
    "rank by height": "a, b, c: tallest first",
    "rank by distance": "a, b, c: nearest to the camera first",
    "count in direction": "a (the centre): how many others are `relation` of it",
    "count within": "a (the centre): how many others are within `distance_m` of it",
    "count beyond": "a (the centre): how many others are farther than `distance_m` from it",
    "where after turning": "a (the centre), b, c: stand at a, face b, in which of eight sectors is c",
    "distance after placing": "a (the centre), b: something new lies `relation` of a, `distance_m` away from it along the "
    "ground; its horizontal distance to b",
}
"""What a question's `objects` stand for, kind by kind."""

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


@dataclass(frozen=True, slots=True)
class Option:
    """One of the answers to choose from."""

    text: str
    """As it is shown, without its letter."""
    key: str
    """As a solver says it: ``yes``/``no``; a mark; marks in order, ``3-1-2``; a count; words of `PREDICATES` joined by
    ``+`` in their order; one of `SECTORS`."""


@dataclass(frozen=True, slots=True)
class Question:
    """A question about the marked objects of one scene."""

    id: str
    scene: str
    domain: Domain
    kind: Kind
    text: str
    """The question itself, without options or instructions. Names objects by their marks alone."""
    objects: tuple[int, ...]
    """Marks, in the roles that `ROLES` gives."""
    gold: str
    """The letter of the right option, or the number in metres to two decimals."""
    difficulty: Difficulty
    """Of the scene: by the edges of its star."""
    options: tuple[Option, ...] = ()
    """In the order of their letters A, B, C …; empty where a number is asked."""
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
        """Whether a letter or a number is asked."""
        return "number" if self.kind in NUMERIC_KINDS else "choice"

    @property
    def group(self) -> tuple[Form, Competency]:
        """One of the nine."""
        return self.form, self.competency

    @property
    def layer(self) -> Layer:
        """Atomic: read off the graph. Compositional: several steps over it."""
        return "atomic" if self.competency in ATOMIC else "compositional"

    @property
    def letters(self) -> str:
        """Of the options, in order."""
        return LETTERS[: len(self.options)]

    @property
    def gold_number(self) -> float:
        """The gold of a numeric question."""
        try:
            return float(self.gold)
        except ValueError:
            raise UsageError(f"question {self.id!r} has the gold {self.gold!r}, which is no number") from None

    @property
    def gold_option(self) -> Option | None:
        """The right option, where there are options."""
        return self.options[LETTERS.index(self.gold)] if self.options else None

    def letter_of(self, key: str) -> str | None:
        """The letter of the option that says this, if one does."""
        return next(
            (letter for letter, o in zip(self.letters, self.options, strict=True) if o.key == key), None
        )

    @property
    def lines(self) -> str:
        """The question with its lettered options, one a line."""
        shown = [f"{letter}: {o.text}" for letter, o in zip(self.letters, self.options, strict=True)]
        return "\n".join([self.text, "Options:", *shown] if shown else [self.text])
