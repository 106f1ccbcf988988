"""How firmly each word of a text is said, and the places that name an answer.

Words are weighed clause by clause. What is denied ("not left") or compared with ("than object 5"), and what is asked ("left or
right?") or supposed ("if it is left"), is no answer. A correction ("wait", "actually") begins a new version of the answer.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import NamedTuple

from theodolite.answers.plain import word_set
from theodolite.answers.words import Words


class Standing(IntEnum):
    """The higher, the firmer."""

    DENIED = 0
    NOT_SAID = 1
    REASON = 2
    ASIDE = 3
    HEDGED = 4
    ASSERTED = 5


class Weight(NamedTuple):
    """How firmly a word is said, and after how many corrections."""

    standing: Standing
    version: int

    def at_most(self, standing: Standing) -> Weight:
        """The weight, lowered to a standing."""
        return Weight(min(self.standing, standing), self.version)


_BREAKS = word_set(", ; : — – ) but however instead rather so therefore thus hence then yet")
_STRONG_BREAKS = word_set("but however so therefore")
_DENIALS = word_set(
    "not never cannot cant no neither nor none without unable impossible unclear unsure difficult hard than unlike versus vs "
    "except opposite opposed exclude excludes excluded excluding eliminate eliminates eliminated rule rules ruled ruling"
)
_NO_DENIALS = word_set("doubt only just question matter problem")
_LOWERED = {
    **dict.fromkeys(word_set("if whether unless please suppose assuming"), Standing.NOT_SAID),
    **dict.fromkeys(word_set("because since given"), Standing.REASON),
    **dict.fromkeys(word_set("although though while whereas which where whose despite"), Standing.ASIDE),
    **dict.fromkeys(word_set("could might may maybe perhaps possibly initially"), Standing.HEDGED),
}
_CORRECTIONS = word_set("wait actually correction sorry scratch hmm oops")
_SUBJECTS = word_set("it its is the there i this that")
_AFTER_NO = word_set("it there the they this that i because since as she he is or and")
_COPULAS = word_set("is are was were be seems looks appears would can has been")
_REJECTIONS = word_set("not wrong incorrect false too excluded eliminated impossible unlikely ruled out")
_VERBS = word_set("is are was has have appears appear seems looks would comes stands sits")
_SHORT = 3
"""A sentence of so few tokens with a question mark is an unsure answer, not a question."""
_LONG_BRACKET = 4


@dataclass(frozen=True, slots=True)
class Mention:
    """A place that names an answer.

    Attributes:
        value: The label of the option, or a number.
        first: The first of its tokens.
        end: One past the last of its tokens.
        weight: How firmly it is said.
        is_label: True if an option is named by its label.
        is_subject: True if a verb follows, so that something is said of it.
        has_unit: True for a number with a unit.
    """

    value: str | float
    first: int
    end: int
    weight: Weight
    is_label: bool = False
    is_subject: bool = False
    has_unit: bool = False


class Passage(Words):
    """A text whose words are weighed.

    >>> said = Passage("It could be above, but it is not left, it is right.")
    >>> [f"{said.norm(i)} {said.weights[i].standing.name}" for i in (3, 9, 13)]
    ['above HEDGED', 'left DENIED', 'right ASSERTED']
    """

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.has_list = sum(self.is_list_number(i) for i in range(len(self))) > 1
        self.weights = [Weight(Standing.ASSERTED, 0)] * len(self)
        version = 0
        for first, end in self.sentences:
            version = self._weigh(first, end, version)

    def part(self, first: int, end: int) -> Passage:
        """The passage between two places, weighed by itself."""
        return Passage(self.text[self.tokens[first].start : self.tokens[end - 1].end])

    def mention(self, value: str | float, first: int, end: int, *, is_label: bool = False) -> Mention:
        """A mention at these tokens, denied if the words after it reject it."""
        weight = (
            self.weights[first].at_most(Standing.DENIED) if self._is_rejected(end) else self.weights[first]
        )
        is_subject = self.norm(end) in _VERBS and self.norm(first - 1) not in {"and", "or"}
        return Mention(value, first, end, weight, is_label=is_label, is_subject=is_subject)

    def is_interjection(self, i: int) -> bool:
        """True if "no" answers, as in "No, it is not", rather than belonging to a noun, as in "no picture"."""
        is_pair = self.norm(i - 2) == "yes" and self.norm(i - 1) in {"and", "or"}
        return is_pair or not self.is_word(i + 1) or self.norm(i + 1) in _AFTER_NO

    def _weigh(self, first: int, end: int, version: int) -> int:
        """Weighs one sentence and returns the version of the answer at its end."""
        most = Standing.ASSERTED if self.norm(end - 1) != "?" or end - first <= _SHORT else Standing.NOT_SAID
        state, is_sticky, bracket_end = Standing.ASSERTED, False, first
        for i in range(first, end):
            word = self.norm(i)
            version += self._corrects(i, first)
            aside = Standing.ASIDE if i < bracket_end else Standing.ASSERTED
            self.weights[i] = Weight(min(state, most, aside), version)
            if word == "(" and i >= bracket_end:
                bracket_end = self._bracket_end(i, end)
            elif self._breaks(i) and (not is_sticky or word in _STRONG_BREAKS):
                is_denied = word == "instead" and self.norm(i + 1) == "of"
                state, is_sticky = Standing.DENIED if is_denied else Standing.ASSERTED, False
            elif self._denies(i):
                state, is_sticky = Standing.DENIED, is_sticky or word == "neither"
            elif word == "as" and (i == first or self.norm(i - 1) == ","):
                state = min(state, Standing.REASON)
            else:
                state = min(state, _LOWERED.get(word, Standing.ASSERTED))
        return version

    def _corrects(self, i: int, first: int) -> bool:
        """True for a word that takes back what was said before: a clause begins with "wait" or "no,"."""
        if i > first and self.is_word(i - 1) and self.norm(i - 1) not in {"but", "and", "oh", "no"}:
            return False
        return self.norm(i) in _CORRECTIONS or (self.norm(i) == "no" and i > 0 and self.norm(i + 1) == ",")

    def _breaks(self, i: int) -> bool:
        return self.norm(i) in _BREAKS or (self.norm(i) == "and" and self.norm(i + 1) in _SUBJECTS)

    def _denies(self, i: int) -> bool:
        word = self.norm(i)
        if not (word.endswith("n't") or word in _DENIALS) or self.norm(i + 1) in _NO_DENIALS:
            return False
        return word != "no" or not self.is_interjection(i)

    def _bracket_end(self, i: int, end: int) -> int:
        """Where a bracket ends that holds an aside; a short one, as in "(B)", holds none."""
        for j in range(i + 1, end):
            if self.norm(j) == ")":
                return j if j - i > _LONG_BRACKET else i
        return end

    def _is_rejected(self, end: int) -> bool:
        """True if the words from here on reject what stands before: "A is too small"."""
        if self.norm(end).endswith("n't") or self.norm(end) == "cannot":
            return True
        return self.norm(end) in _COPULAS and not _REJECTIONS.isdisjoint(self.norms(end + 1, end + 3))
