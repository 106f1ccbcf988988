"""A text as words, numbers, marks and line breaks, and its sentences."""

from __future__ import annotations

import re
from bisect import bisect_right
from typing import NamedTuple

from theodolite.answers.plain import word_set

_TOKEN = re.compile(
    r"\d+(?:\.\d+)?|[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]"
    r"|(?:[^\W\d_\u3040-\u9fff]|_)[^\W\u3040-\u9fff]*+(?:'[^\W\d_]+)?|\n|[^\w\s]"
)
_ABBREVIATIONS = word_set("approx vs fig ca")


class Token(NamedTuple):
    """A word, a number, a mark or a line break, and where it stands in the text."""

    norm: str
    """In lower case, without a possessive ending."""
    raw: str
    start: int
    end: int


class Words:
    r"""The tokens and sentences of a text that is already simple.

    >>> words = Words("It isn't the cup's. Approx. 2.5 m?\nYes")
    >>> [token.norm for token in words.tokens][:5], words.sentences
    (['it', "isn't", 'the', 'cup', '.'], [(0, 5), (5, 10), (11, 12)])
    """

    def __init__(self, text: str) -> None:
        self.text = text
        self.tokens = [
            Token(match.group().casefold().removesuffix("'s"), match.group(), match.start(), match.end())
            for match in _TOKEN.finditer(text)
        ]
        ends = [i for i in range(len(self.tokens)) if self.ends_sentence(i)]
        firsts = [0, *(end + 1 for end in ends)]
        lasts = [*(end + (self.tokens[end].norm != "\n") for end in ends), len(self.tokens)]
        self.sentences = [(first, last) for first, last in zip(firsts, lasts, strict=True) if first < last]

    def __len__(self) -> int:
        return len(self.tokens)

    def norm(self, i: int) -> str:
        """The word at a place; a line break outside the text."""
        return self.tokens[i].norm if 0 <= i < len(self.tokens) else "\n"

    def norms(self, first: int, end: int) -> list[str]:
        """The words at these places."""
        return [token.norm for token in self.tokens[max(0, first) : max(0, end)]]

    def is_word(self, i: int) -> bool:
        """True for a word or a number."""
        return self.norm(i)[0].isalnum()

    def sentence(self, i: int) -> tuple[int, int]:
        """The sentence that a token belongs to."""
        return self.sentences[max(0, bisect_right(self.sentences, (i, len(self.tokens) + 1)) - 1)]

    def ends_sentence(self, i: int) -> bool:
        """True at a line break or a mark that ends a sentence, and not inside a word or behind a list number."""
        if self.norm(i) != ".":
            return self.norm(i) in "\n!?;"
        is_inside = self.is_word(i + 1) and self.tokens[i + 1].start == self.tokens[i].end
        return not is_inside and self.norm(i - 1) not in _ABBREVIATIONS and not self.is_list_number(i - 1)

    def is_list_number(self, i: int) -> bool:
        """True if this token numbers a line: "2." or "2)" at its beginning, with words behind it."""
        is_first = self.norm(i - 1) == "\n" or (self.norm(i - 1) in "-(" and self.norm(i - 2) == "\n")
        return is_first and self.norm(i).isdigit() and self.norm(i + 1) in ".)" and self.norm(i + 2) != "\n"
