"""Plain forms of text: case, mark-up, punctuation, words."""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_right
from functools import lru_cache
from typing import NamedTuple

# Plain text: simple characters, no mark-up.


_SHORT = 80
_SIMILAR = str.maketrans(
    {
        **dict.fromkeys("‘’‚ʼ′´", "'"),
        **dict.fromkeys("“”„«»″", '"'),
        **dict.fromkeys("−‐‑‒", "-"),
        **dict.fromkeys("\r\v\f\x85\u2028\u2029", "\n"),
        "―": "—",
        "。": ".",
        "、": ",",
        "٫": ".",
        "⁄": "/",
    }
)


class _Simple(dict[int, str]):
    """Maps a code point to simple characters.

    Works character by character, so that the time is linear: `unicodedata.normalize` of a whole text is quadratic in
    the length of a run of combining marks.
    """

    def __missing__(self, code: int) -> str:
        char = chr(code).translate(_SIMILAR)
        category = unicodedata.category(char)
        digit = unicodedata.decimal(char, None)
        form = unicodedata.decomposition(char).partition(" ")[0]
        plain = unicodedata.normalize("NFKC", char).translate(_SIMILAR)
        if category == "Cf" or (category in {"Cc", "Cs"} and char not in "\n\t"):
            plain = " " * (category != "Cf")
        elif digit is not None:
            plain = str(digit)
        elif form in {"<fraction>", "<circle>"}:
            plain = f" {plain}" + " " * (form == "<circle>")
        elif form == "<super>" and plain.isdigit():
            plain = f"^{plain}"
        self[code] = plain
        return plain


_TABLE = _Simple()
_LATEX = re.compile(
    r"\\(?:text|mathrm|mathbf|textbf|mbox|operatorname|mathit|textit)\s?\{(?P<words>[^{}\n]{0,200})\}"
    r"|\\[dt]?frac\s?\{(?P<above>[^{}\n]{0,40})\}\{(?P<below>[^{}\n]{0,40})\}"
    r"|\\(?P<name>[A-Za-z]{2,12})(?![A-Za-z])|\\(?P<sign>[^\sA-Za-z])|\$+"
)
_SIGNS = {
    "times": "×",
    "cdot": "·",
    "approx": "≈",
    "pm": "±",
    "rightarrow": "→",
    "sim": "~",
    "div": "/",
    "circ": "°",
}
_MARKS = re.compile(
    r"\*{2,}|\*(?![ \d])|(?<![ \d])\*|`+|~~+|(?<![^\W_])_+|_+(?![^\W_])|^[ \t]*[#>|•‣●*]+[ \t]", re.MULTILINE
)


def simple(text: str) -> str:
    """The text with simple characters: ASCII digits, straight quotes, no control characters; line breaks stay.

    >>> simple("２½ ﬁt ① m²"), simple("“٣”")
    ('2 1/2 fit  1  m^2', '"3"')
    """
    return text.translate(_TABLE)


def without_marks(text: str) -> str:
    r"""The text without Markdown and LaTeX mark-up; line breaks stay.

    >>> without_marks("### **B**: `No`, $3.2\\,\\text{m}$, dist\\_to\\_cam")
    'B: No,  3.2 m , dist_to_cam'
    """
    return _MARKS.sub("", _LATEX.sub(_latex, text) if "\\" in text or "$" in text else text)


def _latex(match: re.Match[str]) -> str:
    if match["above"] is not None:
        return f"{match['above']}/{match['below']}"
    if match["name"] is not None:
        return _SIGNS.get(match["name"], f" {match['name']} ")
    sign = match["sign"]
    return match["words"] or (sign if sign and sign in "_#%&{}*" else " ")


def normal_form(text: str) -> str:
    """What two answers must share to be the same: lower case, no mark-up or outer punctuation, single spaces.

    >>> normal_form(" **Left**. ") == normal_form("left")
    True
    """
    return _short_form(text) if len(text) <= _SHORT else _normal_form(text)


def _normal_form(text: str) -> str:
    folded = simple(simple(text).casefold())
    return " ".join(re.sub(r"[*_`\"'()\[\]]", " ", folded).split()).strip(" .,:;!?")


_short_form = lru_cache(maxsize=4096)(_normal_form)
"""Short answers are compared many times."""


def word_set(words: str) -> frozenset[str]:
    """Return the words of a list that is written as one string. An underscore stands for a space within a word.

    >>> sorted(word_set("left in_front_of"))
    ['in front of', 'left']
    """
    return frozenset(word.replace("_", " ") for word in words.split())


# A text as words, numbers, marks and line breaks, and its sentences.


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
