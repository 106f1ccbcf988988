"""Spatial questions about the marked objects of a scene.

A question holds what it asks twice: as text for a model, and as `kind`, `objects`, `relation` and `distance_m` for the
solver, which therefore never has to read text. Objects are named by their marks only. What can be asked is declared in
`theodolite.instruments.scene.kinds`.
"""

from __future__ import annotations

import math
import string
from dataclasses import dataclass
from typing import Literal, TypeAlias

from theodolite.answers import AnswerFormat
from theodolite.core.errors import UsageError
from theodolite.instruments.scene.kinds import (
    ATOMIC,
    KINDS,
    Competency,
    Form,
    QuestionKind,
    apart_by_mark_m,
    distance_by_mark_m,
    group_name,
    kind_of,
    size_by_mark_m,
)
from theodolite.worlds.scene_graph import Difficulty, Domain, Edge, Node, Predicate, StarGraph

Layer: TypeAlias = Literal["atomic", "compositional"]

LETTERS = string.ascii_uppercase


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
    kind: str
    """One of `KINDS`."""
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
        kind_of(self.kind)
        if self.form == "number":
            if self.options or not math.isfinite(self.gold_number) or self.gold_number <= 0:
                raise UsageError(f"question {self.id!r} needs a number above zero as gold and no options")
        elif not 2 <= len(self.options) <= len(LETTERS) or self.gold not in LETTERS[: len(self.options)]:
            raise UsageError(
                f"question {self.id!r} needs two options or more, and one of their letters as gold"
            )

    @property
    def spec(self) -> QuestionKind:
        """Its kind: how it is worded, drawn and solved."""
        return KINDS[self.kind]

    @property
    def competency(self) -> Competency:
        """What it tests."""
        return self.spec.competency

    @property
    def form(self) -> Form:
        """Whether a letter or a number is asked for."""
        return self.spec.form

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
        make = AnswerFormat.count if self.spec.shape.is_count else AnswerFormat.choice
        return make(options, style="letter")

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


# The shortcut of the scene instrument: answers predicted from a question's wording and the numbers of its marks.
#
# Marks are numbered at random, so the rule is right only by chance; where it is right, a question is *aligned*.


_TOLERANCE = 0.1
"""A number agrees with the rule if it is off by less than this share of the truth."""


def scene_shortcut(question: SceneQuestion) -> str:
    """The letter or the number that the rule predicts.

    - *is a … of b?*: yes if a's mark is the lower one
    - *which of the two?*: the lower mark; the higher one if the question says *farther*
    - order of three: by mark
    - counts, positions, sectors: the letter whose number is that of the last mark named
    - lengths: a fixed length for each mark
    """
    return question.spec.shape.shortcut(question)


def is_aligned(question: SceneQuestion) -> bool:
    """True if the rule is right."""
    said = scene_shortcut(question)
    if question.form == "choice":
        return said == question.gold
    return abs(float(said) - question.gold_number) < _TOLERANCE * question.gold_number


def graph_shortcut(star: StarGraph) -> StarGraph:
    """The graph predicted from the marks: higher numbers are farther to the right and farther away."""
    nodes = tuple(Node(node.id, distance_by_mark_m(node.id), *size_by_mark_m(node.id)) for node in star.nodes)
    edges = tuple(
        Edge(
            edge.to,
            apart_by_mark_m(star.centre, edge.to),
            frozenset({"right", "behind"} if edge.to > star.centre else {"left", "in front of"}),
        )
        for edge in star.edges
    )
    return StarGraph(star.centre, nodes, edges)
