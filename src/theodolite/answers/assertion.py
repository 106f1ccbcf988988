"""Assertion strength of each word of a text (denied … asserted), and the places that name an answer.

Words are weighed clause by clause. What is denied ("not left") or compared with ("than object 5"), and what is asked ("left or
right?") or supposed ("if it is left"), is no answer. A correction ("wait", "actually") begins a new version of the answer.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import NamedTuple

from theodolite.answers.normalise import Words, word_set


class Assertion(IntEnum):
    """How strongly a word is asserted, from denied to asserted."""

    DENIED = 0
    NOT_SAID = 1
    REASON = 2
    ASIDE = 3
    HEDGED = 4
    ASSERTED = 5


class Weight(NamedTuple):
    """The assertion strength of a word, and after how many corrections it stands."""

    assertion: Assertion
    version: int

    def at_most(self, most: Assertion) -> Weight:
        """Return the weight, lowered to at most that assertion."""
        return Weight(min(self.assertion, most), self.version)


_BREAKS = word_set(", ; : — – ) but however instead rather so therefore thus hence then yet")
_STRONG_BREAKS = word_set("but however so therefore")
_DENIALS = word_set(
    "not never cannot cant no neither nor none without unable impossible unclear unsure difficult hard than unlike versus vs "
    "except opposite opposed exclude excludes excluded excluding eliminate eliminates eliminated rule rules ruled ruling"
)
_NO_DENIALS = word_set("doubt only just question matter problem")
_LOWERED = {
    **dict.fromkeys(word_set("if whether unless please suppose assuming"), Assertion.NOT_SAID),
    **dict.fromkeys(word_set("because since given"), Assertion.REASON),
    **dict.fromkeys(word_set("although though while whereas which where whose despite"), Assertion.ASIDE),
    **dict.fromkeys(word_set("could might may maybe perhaps possibly initially"), Assertion.HEDGED),
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
    >>> [f"{said.norm(i)} {said.weights[i].assertion.name}" for i in (3, 9, 13)]
    ['above HEDGED', 'left DENIED', 'right ASSERTED']
    """

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.has_list = sum(self.is_list_number(i) for i in range(len(self))) > 1
        self.weights = [Weight(Assertion.ASSERTED, 0)] * len(self)
        version = 0
        for first, end in self.sentences:
            version = self._weigh(first, end, version)

    def part(self, first: int, end: int) -> Passage:
        """The passage between two places, weighed by itself."""
        return Passage(self.text[self.tokens[first].start : self.tokens[end - 1].end])

    def mention(self, value: str | float, first: int, end: int, *, is_label: bool = False) -> Mention:
        """A mention at these tokens, denied if the words after it reject it."""
        weight = (
            self.weights[first].at_most(Assertion.DENIED) if self._is_rejected(end) else self.weights[first]
        )
        is_subject = self.norm(end) in _VERBS and self.norm(first - 1) not in {"and", "or"}
        return Mention(value, first, end, weight, is_label=is_label, is_subject=is_subject)

    def is_interjection(self, i: int) -> bool:
        """True if "no" answers, as in "No, it is not", rather than belonging to a noun, as in "no picture"."""
        is_pair = self.norm(i - 2) == "yes" and self.norm(i - 1) in {"and", "or"}
        return is_pair or not self.is_word(i + 1) or self.norm(i + 1) in _AFTER_NO

    def _weigh(self, first: int, end: int, version: int) -> int:
        """Weighs one sentence and returns the version of the answer at its end."""
        most = (
            Assertion.ASSERTED if self.norm(end - 1) != "?" or end - first <= _SHORT else Assertion.NOT_SAID
        )
        state, is_sticky, bracket_end = Assertion.ASSERTED, False, first
        for i in range(first, end):
            word = self.norm(i)
            version += self._corrects(i, first)
            aside = Assertion.ASIDE if i < bracket_end else Assertion.ASSERTED
            self.weights[i] = Weight(min(state, most, aside), version)
            if word == "(" and i >= bracket_end:
                bracket_end = self._bracket_end(i, end)
            elif self._breaks(i) and (not is_sticky or word in _STRONG_BREAKS):
                is_denied = word == "instead" and self.norm(i + 1) == "of"
                state, is_sticky = Assertion.DENIED if is_denied else Assertion.ASSERTED, False
            elif self._denies(i):
                state, is_sticky = Assertion.DENIED, is_sticky or word == "neither"
            elif word == "as" and (i == first or self.norm(i - 1) == ","):
                state = min(state, Assertion.REASON)
            else:
                state = min(state, _LOWERED.get(word, Assertion.ASSERTED))
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


# Where a text announces its answer ("the answer is …", "Final answer:") or concludes ("so …").


_NOUNS = word_set(
    "answer answers ans choice option conclusion decision result estimate prediction guess total solution"
)
_TOTALS = word_set("total count sum")
_LINKS = word_set("is are was be would should must : = ≈ → equals remains seems")
_AFTER_LINK = _LINKS | word_set("> - therefore thus clearly definitely likely probably to as follows")
_LEAD_WORDS = _NOUNS | _LINKS | word_set("the final correct my")
_ANNOUNCING = word_set("choose chose pick select opt selecting choosing settle")
_PHRASES = frozenset(
    {("go", "with"), ("going", "with"), ("would", "say"), ("i'd", "say"), ("i", "say"), ("must", "be")}
)
_VERDICTS = word_set("correct answer option choice best")
_BEFORE_VERDICT = _VERDICTS | word_set("the my final most likely right")
_CONCLUSIONS = word_set("so therefore thus hence conclude concluded overall consequently accordingly")
_HEADINGS = word_set("conclusion decision summary verdict")
_LONGEST_LEAD = 10
_LONGEST_PART = 80
_MOST = 8
"""Maximum number of announcements to try, the last one first."""


def announced(words: Words, *, is_count: bool = False) -> list[tuple[int, int]]:
    """The first and last place (exclusive) of what each announcement announces, the last first.

    >>> said = Words("The answer to this is A. No, the final answer: B.")
    >>> [said.norms(first, end) for first, end in announced(said)]
    [['b', '.'], ['a', '.']]
    """
    nouns = _NOUNS | _TOTALS | {"number"} if is_count else _NOUNS
    found: dict[int, int] = {}
    for i in range(len(words)):
        if words.norm(i) in {"is", "are", "be"} and _is_verdict(words, i):
            found.setdefault(max(words.sentence(i)[0], i - _LONGEST_PART), i + 1)
            continue
        start = None
        if words.norm(i) in nouns:
            start = _after_noun(words, i)
        elif words.norm(i) in _ANNOUNCING or (words.norm(i), words.norm(i + 1)) in _PHRASES:
            start = i + 1 + (words.norm(i) not in _ANNOUNCING)
        if start is not None and (part := _part(words, start)):
            found[part[0]] = part[1]
    return sorted(found.items(), reverse=True)[:_MOST]


def concluded(words: Words) -> list[tuple[int, int]]:
    """The same for what follows a word such as "so" or a heading such as "Conclusion"."""
    found = []
    for i in range(len(words)):
        is_heading = words.norm(i) in _HEADINGS and words.norm(i + 1) in {":", ",", "\n"}
        if (words.norm(i) in _CONCLUSIONS or is_heading) and (part := _part(words, i + 1)):
            found.append(part)
    return found[::-1][:_MOST]


def is_lead(words: Words, first: int, end: int) -> bool:
    """True if nothing but the words of an announcement stands here, as between "Answer: A" and "Answer: B"."""
    is_close = first <= end <= first + _LONGEST_LEAD
    return is_close and all(not words.is_word(i) or words.norm(i) in _LEAD_WORDS for i in range(first, end))


def _after_noun(words: Words, i: int) -> int | None:
    """Where the announced thing begins: behind the verb or colon that follows the noun, or on the next line."""
    if words.is_word(i + 1) and len(words.norm(i + 1)) == 1:
        return None  # "Option A: …" describes an option
    for j in range(i + 1, min(len(words), i + _LONGEST_LEAD)):
        if words.norm(j) in _LINKS or (words.norm(j) == "of" and words.norm(i) in _TOTALS):
            return next(k for k in range(j + 1, len(words) + 1) if words.norm(k) not in _AFTER_LINK)
        if words.ends_sentence(j):
            return j + 1 if words.norm(j) == "\n" and j == i + 1 else None
    return None


def _is_verdict(words: Words, i: int) -> bool:
    """True for "B is the correct answer": the clause ends with a verdict."""
    for j in range(i + 1, i + 5):
        if words.norm(j) in _VERDICTS and not words.is_word(j + 1):
            return True
        if words.norm(j) not in _BEFORE_VERDICT:
            return False
    return False


def _part(words: Words, start: int) -> tuple[int, int] | None:
    """The rest of the sentence, or the next line that says something."""
    while start < len(words) and not words.is_word(start) and words.norm(start) not in {"(", "-", "+", "#"}:
        start += 1
    if start >= len(words):
        return None
    ends = (
        end + 1 for end in range(start, min(len(words), start + _LONGEST_PART)) if words.ends_sentence(end)
    )
    end = next(ends, min(len(words), start + _LONGEST_PART))
    return (start, end) if end > start + words.ends_sentence(start) else None
