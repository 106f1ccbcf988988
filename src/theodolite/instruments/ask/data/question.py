"""A question about a picture, and questions that can be paired."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from theodolite.answers import AnswerFormat, normal_form
from theodolite.core.types import Picture, content_hash
from theodolite.geometry import Box
from theodolite.pairs.pictures import Cutout

__all__ = ["Question", "Removal", "natural_groups"]

_LONG_OPTION = 24
"""Options of more characters, or with a comma, are listed with letters."""
_LARGEST_GROUP = 4


@dataclass(frozen=True, slots=True)
class Removal:
    """An object that can be removed from the picture."""

    thing: Cutout
    others: tuple[Box, ...]
    """The boxes of all other objects."""
    answer: str
    """The right answer without it."""


@dataclass(frozen=True, slots=True)
class Question:
    """A question with its picture and its answer."""

    id: str
    question: str
    answer: str
    pictures: tuple[Picture, ...]
    options: tuple[str, ...] = ()
    """The possible answers. Empty for an open question, whose answer may be yes or no, a number, or text."""
    group: str = ""
    """A name, for results by group."""
    others: tuple[str, ...] = ()
    """Other answers to an open question that are right, too."""
    listing: Literal["", "words", "letters"] = ""
    """How the question itself lists its options. If it does not, the prompt lists them."""
    removal: Removal | None = None
    """An object that can be removed, and the right answer then."""

    @property
    def format(self) -> AnswerFormat:
        """The answer format: a choice if there are options, else the kind of the right answer."""
        if self.options:
            return AnswerFormat.choice(self.options, style="letter" if self._has_letters else "word")
        if self.answer.strip().casefold() in {"yes", "no"}:
            return AnswerFormat.yes_no()
        if re.fullmatch(r"\d{1,4}", self.answer.strip()):
            return AnswerFormat.count()
        return AnswerFormat.number() if _is_number(self.answer) else AnswerFormat.text()

    @property
    def _has_letters(self) -> bool:
        if self.listing:
            return self.listing == "letters"
        return any(len(option) > _LONG_OPTION or "," in option for option in self.options)

    @property
    def prompt(self) -> str:
        """The prompt: the question with its options."""
        if self.listing or not (self.options or self.format.kind == "text"):
            return self.question
        if not self.options:
            return f"{self.question}\nAnswer with a single word or phrase."
        if not self._has_letters:
            return f"{self.question}\nAnswer with one of: {', '.join(self.options)}."
        lines = (f"{letter}. {option}" for letter, option in self.format.options.items())
        return "\n".join((self.question, *lines, "Answer with the letter."))

    @property
    def right(self) -> frozenset[str]:
        """All right answers, in normal form."""
        return frozenset(map(normal_form, (self.answer, *self.others)))


def _is_number(text: str) -> bool:
    return re.fullmatch(r"[-+]?\d+(?:\.\d+)?", text.strip()) is not None


def natural_groups(questions: Iterable[Question]) -> list[list[Question]]:
    """Group questions with the same words, different pictures and different answers, at most four in a group.

    Every question is in one group, so that groups with different pictures are independent. A group of one has no pair.
    """
    by_words: dict[str, list[Question]] = {}
    for question in questions:
        by_words.setdefault(question.prompt, []).append(question)
    found: list[list[Question]] = []
    for same in by_words.values():
        size = min(_LARGEST_GROUP, len({question.answer for question in same}))
        is_open: list[list[Question]] = []
        # In the order of pictures, so that the same pictures meet in the groups of several questions.
        for question in sorted(same, key=lambda each: content_hash([each.pictures[0].digest, each.id])):
            group = next((group for group in is_open if _fits(question, group)), None)
            if group is None:
                found.append(group := [])
                is_open.append(group)
            group.append(question)
            if len(group) >= size:
                is_open.remove(group)
    return found


def _fits(question: Question, group: Sequence[Question]) -> bool:
    return all(not question.right & other.right and question.pictures != other.pictures for other in group)
