"""Analyse model text, whatever was asked: plain form, wrappers, assertion strength; and guard its readers."""

from __future__ import annotations

import json
import math
import re
import unicodedata
from bisect import bisect_right
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import IntEnum
from functools import lru_cache
from typing import Any, Literal, NamedTuple, TypeAlias, TypeVar

from theodolite.core.errors import ContractError, MissingExtraError, TheodoliteError

__all__ = [
    "LONGEST",
    "bounded",
    "cut_note",
    "guarded",
]

# Plain text: simple characters, no mark-up.


_SHORT = 80
_SIMILAR = str.maketrans(
    {
        **dict.fromkeys("‘’‚ʼ′´", "'"),
        **dict.fromkeys("“”„«»″", '"'),
        **dict.fromkeys("−‐‑‒", "-"),
        **dict.fromkeys("\r\v\f\x85\u2028\u2029", "\n"),
        "―": "—",
        "、": ",",
        "٫": ".",
        "⁄": "/",
    }
)


class _Simple(dict[int, str]):
    """Maps a code point to simple characters.

    Works per character, so that the time is linear: `unicodedata.normalize` of a whole text is quadratic in the length
    of a run of combining marks.
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


_TABLE = _Simple({ord("。"): ". "})
"""A sentence ends at 。, though no space follows."""
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


_JOINED_NAME = re.compile(r"(?<![^\W_])(obj(?:ect)?|mark|node|item|id)[_-]?(?=\d)", re.IGNORECASE)


def simple(text: str) -> str:
    """Return the text with simple characters: ASCII digits, straight quotes, no control characters but line breaks.

    >>> simple("２½ ﬁt ① m²"), simple("“٣”")
    ('2 1/2 fit  1  m^2', '"3"')
    """
    return text.translate(_TABLE)


def without_marks(text: str) -> str:
    r"""Return the text without Markdown and LaTeX mark-up, and names such as object_7 in two words. Line breaks are kept.

    >>> without_marks("### **B**: `No`, $3.2\\,\\text{m}$, dist\\_to\\_cam, object\\_7, obj7")
    'B: No,  3.2 m , dist_to_cam, object 7, obj 7'
    """
    plain = _MARKS.sub("", _LATEX.sub(_latex, text) if "\\" in text or "$" in text else text)
    return _JOINED_NAME.sub(r"\1 ", plain)


def _latex(match: re.Match[str]) -> str:
    if match["above"] is not None:
        return f"{match['above']}/{match['below']}"
    if match["name"] is not None:
        return _SIGNS.get(match["name"], f" {match['name']} ")
    sign = match["sign"]
    return match["words"] or (sign if sign and sign in "_#%&{}*" else " ")


def normal_form(text: str) -> str:
    """Normalise an answer for comparison: lower case, no mark-up or outer punctuation, single spaces.

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
    """Return the words of a space-separated list. An underscore stands for a space within a word.

    >>> sorted(word_set("left in_front_of"))
    ['in front of', 'left']
    """
    return frozenset(word.replace("_", " ") for word in words.split())


# A text as words, numbers, marks and line breaks, and its sentences.


_TOKEN = re.compile(
    r"\d+(?:\.\d+)?|[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]"
    r"|(?:[^\W\d_\u3040-\u9fff]|_)[^\W\u3040-\u9fff]*+(?:'[^\W\d_]+)?|\n|[^\w\s]"
)
_ABBREVIATIONS = word_set("approx vs fig ca obj")


class Token(NamedTuple):
    """A word, number, mark or line break, with its position in the text."""

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
        """Return the word at an index; a line break outside the text."""
        return self.tokens[i].norm if 0 <= i < len(self.tokens) else "\n"

    def norms(self, first: int, end: int) -> list[str]:
        """Return the words in a range of indices."""
        return [token.norm for token in self.tokens[max(0, first) : max(0, end)]]

    def is_word(self, i: int) -> bool:
        """Return True for a word or a number."""
        return self.norm(i)[0].isalnum()

    def sentence(self, i: int) -> tuple[int, int]:
        """Return the sentence that a token belongs to."""
        return self.sentences[max(0, bisect_right(self.sentences, (i, len(self.tokens) + 1)) - 1)]

    def ends_sentence(self, i: int) -> bool:
        """Return True at a line break or a mark that ends a sentence, except inside a word or after a list number."""
        if self.norm(i) != ".":
            return self.norm(i) in "\n!?;"
        is_inside = self.is_word(i + 1) and self.tokens[i + 1].start == self.tokens[i].end
        return not is_inside and self.norm(i - 1) not in _ABBREVIATIONS and not self.is_list_number(i - 1)

    def is_list_number(self, i: int) -> bool:
        """Return True if this token numbers a line: "2." or "2)" at its beginning, followed by words."""
        is_first = self.norm(i - 1) == "\n" or (self.norm(i - 1) in "-(" and self.norm(i - 2) == "\n")
        return is_first and self.norm(i).isdigit() and self.norm(i + 1) in ".)" and self.norm(i + 2) != "\n"


# The one barrier between a model's text and the program.


T = TypeVar("T")

LONGEST = 100_000
"""The most characters that are read of a text: about 25,000 tokens."""
_LONGEST_MESSAGE = 120
_GAP = "\n"


def guarded(read: Callable[..., T], *texts: str, unread: Callable[[str], T]) -> T:
    """Read model text. Any failure becomes the reason why it is unreadable.

    Args:
        read: Takes the texts, none of them longer than `LONGEST`.
        texts: As the model wrote them.
        unread: Takes the reason and returns the result for an unreadable text.

    Returns:
        The result of one of the two functions.

    >>> guarded(len, "four", unread=str), guarded(int, "four", unread=lambda why: why)
    (4, "the reader failed (ValueError: invalid literal for int() with base 10: 'four')")
    """
    try:
        return read(*map(bounded, texts))
    except (ContractError, MissingExtraError):
        raise
    except TheodoliteError as error:
        return unread(str(error))
    except Exception as error:  # noqa: BLE001 - the barrier: no text may end a run
        message = f"{type(error).__name__}: {error}".rstrip(": ")
        return unread(f"the reader failed ({message[:_LONGEST_MESSAGE]})")


def bounded(text: str) -> str:
    """Return the text, or the beginning and the end of one that is longer than `LONGEST`.

    >>> bounded("short"), len(bounded("long " * LONGEST)) == LONGEST
    ('short', True)
    """
    if len(text) <= LONGEST:
        return text
    half = LONGEST // 2
    return f"{text[:half]}{_GAP}{text[half - LONGEST + len(_GAP) :]}"


def cut_note(*texts: str) -> str:
    """Return a note that only part of a text was read. Empty if all of it was.

    >>> cut_note("short"), cut_note("long " * LONGEST)
    ('', 'of 500000 characters only the first and last 50000 are read')
    """
    longest = max(map(len, texts))
    return (
        f"of {longest} characters only the first and last {LONGEST // 2} are read"
        if longest > LONGEST
        else ""
    )


# Assertion strength of each word of a text (denied … asserted), and the places that name an answer.


class Assertion(IntEnum):
    """How strongly a word is asserted, from denied to asserted."""

    DENIED = 0
    NOT_SAID = 1
    REASON = 2
    ASIDE = 3
    HEDGED = 4
    ASSERTED = 5


class Weight(NamedTuple):
    """The assertion strength of a word, and the number of corrections before it."""

    assertion: Assertion
    version: int

    def at_most(self, most: Assertion) -> Weight:
        """Return the weight, capped at an assertion strength."""
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
_SHORT_ANSWER = 3
"""A sentence of at most this many tokens with a question mark is an unsure answer, not a question."""
_LONG_BRACKET = 4


@dataclass(frozen=True, slots=True)
class Mention:
    """A mention of an answer in a text.

    Attributes:
        value: The label of the option, or a number.
        first: The first of its tokens.
        end: One past the last of its tokens.
        weight: How firmly it is asserted.
        is_label: True if an option is named by its label.
        is_subject: True if it is the subject of a verb that follows.
        has_unit: True for a number with a unit.
        is_result: True for a number that the text arrives at: "= 1.5", "so 1.5", "for a total of 1.5".
    """

    value: str | float
    first: int
    end: int
    weight: Weight
    is_label: bool = False
    is_subject: bool = False
    has_unit: bool = False
    is_result: bool = False


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
        """Return the part between two indices as a passage with weights computed for it alone."""
        return Passage(self.text[self.tokens[first].start : self.tokens[end - 1].end])

    def mention(self, value: str | float, first: int, end: int, *, is_label: bool = False) -> Mention:
        """Create a mention at these tokens, denied if the words after it reject it."""
        weight = (
            self.weights[first].at_most(Assertion.DENIED) if self._is_rejected(end) else self.weights[first]
        )
        is_subject = self.norm(end) in _VERBS and self.norm(first - 1) not in {"and", "or"}
        return Mention(value, first, end, weight, is_label=is_label, is_subject=is_subject)

    def is_interjection(self, i: int) -> bool:
        """Return True if "no" answers, as in "No, it is not", rather than belonging to a noun, as in "no picture"."""
        is_pair = self.norm(i - 2) == "yes" and self.norm(i - 1) in {"and", "or"}
        return is_pair or not self.is_word(i + 1) or self.norm(i + 1) in _AFTER_NO

    def _weigh(self, first: int, end: int, version: int) -> int:
        """Weigh one sentence, and return the version of the answer at its end."""
        most = (
            Assertion.ASSERTED
            if self.norm(end - 1) != "?" or end - first <= _SHORT_ANSWER
            else Assertion.NOT_SAID
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
        """Return True for a word that retracts what came before: a clause that begins with "wait" or "no,"."""
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
        """Return the end of a bracketed aside. A short bracket, as in "(B)", is not an aside."""
        for j in range(i + 1, end):
            if self.norm(j) == ")":
                return j if j - i > _LONG_BRACKET else i
        return end

    def _is_rejected(self, end: int) -> bool:
        """Return True if the words from here on reject what precedes them: "A is too small"."""
        if self.norm(end).endswith("n't") or self.norm(end) == "cannot":
            return True
        return self.norm(end) in _COPULAS and not _REJECTIONS.isdisjoint(self.norms(end + 1, end + 3))


# Where a text announces its answer ("the answer is …", "Final answer:") or concludes ("so …").


_NOUNS = word_set(
    "answer answers ans choice option conclusion decision result estimate prediction guess total solution"
)
_ALSO_VERBS = word_set("estimate guess result")
_TOTALS = word_set("total count sum")
_LINKS = word_set("is are was be would should must : = ≈ → equals remains seems")
_AFTER_ESTIMATE = _LINKS | word_set("of for to here in given based using comes therefore")
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
    """Return the token range of what each announcement announces, end exclusive, the last first.

    >>> said = Words("The answer to this is A. No, the final answer: B.")
    >>> [said.norms(first, end) for first, end in announced(said)]
    [['b', '.'], ['a', '.']]
    """
    nouns = _NOUNS | _TOTALS | {"number"} if is_count else _NOUNS
    ends: dict[int, int] = {}
    for i in range(len(words)):
        if words.norm(i) in {"is", "are", "be"} and _is_verdict(words, i):
            ends.setdefault(max(words.sentence(i)[0], i - _LONGEST_PART), i + 1)
            continue
        start = None
        if words.norm(i) in nouns:
            start = _after_noun(words, i)
        elif words.norm(i) in _ANNOUNCING or (words.norm(i), words.norm(i + 1)) in _PHRASES:
            start = i + 1 + (words.norm(i) not in _ANNOUNCING)
        if start is not None and (part := _part(words, start)):
            ends[part[0]] = part[1]
    return sorted(ends.items(), reverse=True)[:_MOST]


def concluded(words: Words) -> list[tuple[int, int]]:
    """Return the token ranges of what follows a word such as "so" or a heading such as "Conclusion", the last first."""
    parts = []
    for i in range(len(words)):
        is_heading = words.norm(i) in _HEADINGS and words.norm(i + 1) in {":", ",", "\n"}
        if (words.norm(i) in _CONCLUSIONS or is_heading) and (part := _part(words, i + 1)):
            parts.append(part)
    return parts[::-1][:_MOST]


def is_lead(words: Words, first: int, end: int) -> bool:
    """Return True if a range holds only words of an announcement, as between "Answer: A" and "Answer: B"."""
    is_close = first <= end <= first + _LONGEST_LEAD
    return is_close and all(not words.is_word(i) or words.norm(i) in _LEAD_WORDS for i in range(first, end))


def _after_noun(words: Words, i: int) -> int | None:
    """Return where the announced answer begins: after the verb or colon that follows the noun, or on the next line."""
    if words.is_word(i + 1) and len(words.norm(i + 1)) == 1:
        return None  # "Option A: …" describes an option
    if words.norm(i) in _ALSO_VERBS and words.is_word(i + 1) and words.norm(i + 1) not in _AFTER_ESTIMATE:
        return None  # "Estimate depths: …" names a step
    for j in range(i + 1, min(len(words), i + _LONGEST_LEAD)):
        if words.norm(j) in _LOWERED:
            return None  # "18 m is my answer, given that …"
        if words.norm(j) in _LINKS or (words.norm(j) == "of" and words.norm(i) in _TOTALS):
            return next(k for k in range(j + 1, len(words) + 1) if words.norm(k) not in _AFTER_LINK)
        if words.ends_sentence(j):
            return j + 1 if words.norm(j) == "\n" and j == i + 1 else None
    return None


def _is_verdict(words: Words, i: int) -> bool:
    """Return True for "B is the correct answer": the clause ends with a verdict."""
    for j in range(i + 1, i + 5):
        if words.norm(j) in _VERDICTS and not words.is_word(j + 1):
            return True
        if words.norm(j) not in _BEFORE_VERDICT:
            return False
    return False


def _part(words: Words, start: int) -> tuple[int, int] | None:
    """Return the range of the rest of the sentence, or of the next line that is not empty."""
    while start < len(words) and not words.is_word(start) and words.norm(start) not in {"(", "-", "+", "#"}:
        start += 1
    if start >= len(words):
        return None
    ends = (
        end + 1 for end in range(start, min(len(words), start + _LONGEST_PART)) if words.ends_sentence(end)
    )
    end = next(ends, min(len(words), start + _LONGEST_PART))
    return (start, end) if end > start + words.ends_sentence(start) else None


# What a model wraps its answer in: thinking, tags, boxes, fences, JSON.


# The outer layers of a model's text: thoughts, answer tags, boxes, role lines and control tokens.
#
# Tags are recognised by name, in any bracket style, closed or not. A closing tag without an opening one ends a block that began
# in the prompt. An answer tag ends thoughts that were never closed.


_Role: TypeAlias = Literal["thought", "answer", "field", "markup", "control", "text"]
_NAMES: dict[_Role, str] = {
    "thought": "think thinking thought thoughts reason reasons reasoning rsn rationale reflection reflect scratchpad analysis "
    "analyze cot plan planning explanation caption summary monologue innermonologue",
    "answer": "answer answers ans finalanswer final result conclusion choice option solution output prediction decision",
    "field": "obj object refobj refobject box bbox point quad image img video",
    "markup": "b i u p em strong code span div ul ol li sub sup center pre",
    "control": "br hr s eos bos unk pad endofturn endoftext imend",
}
_ROLES = {name: role for role, names in _NAMES.items() for name in word_set(names)}
"""What tags are for, by name without marks. A field names or places a thing and is no part of the answer."""
_TAG = re.compile(
    r"<(?P<bar>\|)?(?P<slash>/)?(?P<name>[A-Za-z][\w.-]{0,40})(?:\s[^<>\n]{0,80})?(?(bar)\|)\s?/?>"
)
_OTHER_BRACKETS = re.compile(r"◁(/?\w{1,20})▷|\[(/?(?:THINK|ANSWER))\]|\[/?INST\]")
_OTHER_NAMES = {
    "<|im_start|>": "\n",
    "<start_of_turn>": "\n",
    "<|begin_of_box|>": "<answer>",
    "<|end_of_box|>": "</answer>",
    "<|begin_of_thought|>": "<think>",
    "<|end_of_thought|>": "</think>",
    "<|start|>assistant": "",
    "<|channel|>analysis<|message|>": "<think>",
    "<|channel|>final<|message|>": "</think>",
}
_TURN = re.compile(
    r"^[ \t#*]*(?P<role>assistant|user|human|system|question|model)[ \t*]*(?::[ \t*]*|$)"
    r"|\b(?P<inline>(?-i:USER|ASSISTANT|HUMAN)):\s?",
    re.MULTILINE | re.IGNORECASE,
)
_ANSWER_LINE = re.compile(
    r"^[ \t*#>_]*+(?:the )?(?:final )?(?:answer|conclusion)(?: is)?[ \t*_]*+[:：][ \t*_]*+\n{0,2}(?P<said>[^\n]*)",
    re.MULTILINE | re.IGNORECASE,
)
_OWN_ROLES = frozenset({"", "assistant", "model"})
_WORD = re.compile(r"[^\W_]")
_BESIDE = re.compile(r"[\s,;/.]*(?:or|and)?\s*")


@dataclass(frozen=True, slots=True)
class Layers:
    """A model's text, layer by layer.

    Attributes:
        visible: The text without thoughts, tags, role lines and control tokens. Mark-up is kept.
        thoughts: The contents of reasoning tags.
        tagged: The content of the last answer tag or box; None if there is none.
        line: The content of the last line of the form "Answer: …", if nothing is tagged.
        body: The visible text without tagged answers or that line.
        is_unfinished: True if the text ends while the model is still thinking.
        is_closed: True if the answer tag or box was closed.
    """

    visible: str
    thoughts: tuple[str, ...] = ()
    tagged: str | None = None
    line: str = ""
    body: str = ""
    is_unfinished: bool = False
    is_closed: bool = False

    @property
    def answer(self) -> str:
        """The tagged answer, the answer line, or what a sentence announces; empty if there is none."""
        if self.tagged or self.line:
            return self.tagged or self.line
        words = Words(without_marks(simple(self.visible)))
        candidates = (
            words.text[words.tokens[first].start : words.tokens[end - 1].end]
            for first, end in announced(words)
        )
        return next(candidates, "").strip(" .")


class _Tag(NamedTuple):
    role: _Role
    name: str
    is_close: bool
    start: int
    end: int


@dataclass(slots=True)
class _Block:
    """The content of an answer tag, and the text between it and the one before."""

    gap: str
    parts: list[str] = field(default_factory=list)
    is_closed: bool = False


def outer_layers(text: str) -> Layers:
    r"""Split a text into its layers.

    >>> layers = outer_layers("<think>maybe A</think>It moved <ans>closer</ans>.")
    >>> layers.tagged, layers.thoughts, layers.visible
    ('closer', ('maybe A',), 'It moved closer.')
    >>> layers = outer_layers("Step 1: A cup falls.\nFinal answer: cup")
    >>> layers.body, layers.answer
    ('Step 1: A cup falls.', 'cup')
    >>> outer_layers("<rsn>The cup is").is_unfinished, outer_layers("so B</think>A").visible
    (True, 'A')
    """
    text = _own_turn(_uniform(text))
    shown, thoughts, is_open = _without_thoughts(text)
    visible, body, blocks = _without_tags(shown)
    line, body = ("", body) if blocks else _answer_line(body)
    has_words = _WORD.search(visible) is not None
    if not blocks and not has_words:
        blocks = _without_tags(text)[2]
    answers = [(block, content) for block in blocks if (content := "".join(block.parts).strip())]
    first = len(answers) - 1
    while first > 0 and _BESIDE.fullmatch(answers[first][0].gap[:40]):
        first -= 1
    return Layers(
        visible.strip(),
        thoughts,
        "\n".join(content for _, content in answers[first:]) if blocks else None,
        line,
        body.strip(),
        is_unfinished=is_open and not has_words and not blocks,
        is_closed=bool(answers) and answers[-1][0].is_closed,
    )


def _answer_line(text: str) -> tuple[str, str]:
    """Return the content of the last answer line, and the text without it."""
    matches = list(_ANSWER_LINE.finditer(text))
    if not matches:
        return "", text
    return matches[-1]["said"].strip(" \t*_`"), text[: matches[-1].start()] + text[matches[-1].end() :]


def _uniform(text: str) -> str:
    """Return the text with all tags and boxes written as ``<name>`` and ``</name>``."""
    if "[" in text or "◁" in text:
        text = _OTHER_BRACKETS.sub(lambda match: f"<{name}>" if (name := match[1] or match[2]) else "", text)
    for old, new in _OTHER_NAMES.items():
        text = text.replace(old, new)
    if "boxed" not in text:
        return text
    pieces: list[str] = []
    opened: list[int | None] = []
    position = 0
    for match in re.finditer(r"(\\f?boxed\s?)?\{|\}", text):
        if match.group() != "}":
            pieces += [text[position : match.start()], match.group()]
            opened.append(len(pieces) - 1 if match[1] else None)
            position = match.end()
        elif opened and (box := opened.pop()) is not None:
            pieces[box] = "<answer>"
            pieces += [text[position : match.start()], "</answer>"]
            position = match.end()
    return "".join(pieces) + text[position:]


def _own_turn(text: str) -> str:
    """Return the model's own turn if the text repeats the prompt or continues with a dialogue."""
    marks = list(_TURN.finditer(text))
    ends = [*(mark.start() for mark in marks), len(text)]
    turns = [("", text[: ends[0]])]
    turns += [
        ((mark["role"] or mark["inline"]).lower(), text[mark.end() : end])
        for mark, end in zip(marks, ends[1:], strict=True)
    ]
    turns = [turn for turn in turns if turn[1].strip()]
    own = [i for i, (role, _) in enumerate(turns) if role in _OWN_ROLES]
    if not marks or not own:
        return text
    last = next((i for i in range(own[0], len(turns)) if turns[i][0] not in _OWN_ROLES), len(turns))
    return "\n".join(content for _, content in turns[own[0] : last])


def _tags(text: str) -> list[_Tag]:
    """Return all tags. A tag with an unknown name counts as mark-up if it is closed somewhere, else as text."""
    matches = list(_TAG.finditer(text))
    names = [match["name"].lower().replace("_", "").replace("-", "") for match in matches]
    closed = {name for name, match in zip(names, matches, strict=True) if match["slash"]}
    tags = []
    for name, match in zip(names, matches, strict=True):
        role = _ROLES.get(name, "control" if match["bar"] else "markup")
        if role == "markup" and name not in closed:
            role = "text"
        tags.append(_Tag(role, name, bool(match["slash"]), match.start(), match.end()))
    return tags


def _without_thoughts(text: str) -> tuple[str, tuple[str, ...], bool]:
    """Return the text outside thoughts, the thoughts, and whether the last one is still open."""
    tags = _tags(text)
    closings = {tag.name: tag.start for tag in tags if tag.role == "thought" and tag.is_close}
    spans: list[tuple[int, int, int]] = []
    opened: _Tag | None = None
    for tag in tags:
        if tag.role == "thought" and not tag.is_close:
            opened = opened or tag
        elif tag.role == "thought" and opened is None:
            spans = spans or [(0, tag.start, tag.end)]
        elif tag.role == "thought" and opened and closings.get(opened.name, 0) <= tag.start:
            spans.append((opened.start, tag.start, tag.end))
            opened = None
    if opened:
        answers = [
            tag.start
            for tag in tags
            if tag.role == "answer" and not tag.is_close and tag.start > opened.start
        ]
        end = answers[-1] if answers else len(text)
        spans.append((opened.start, end, end))
    shown = [
        text[before:start]
        for before, (start, _, _) in zip([0, *(span[2] for span in spans)], spans, strict=False)
    ]
    thoughts = [_TAG.sub(" ", text[start:end]).strip() for start, end, _ in spans]
    rest = text[spans[-1][2] :] if spans else text
    return (
        "\n".join([*shown, rest]),
        tuple(filter(None, thoughts)),
        bool(opened) and spans[-1][2] == len(text),
    )


def _without_tags(text: str) -> tuple[str, str, list[_Block]]:
    """Return the text without tags and fields, that text without tagged answers, and the tagged answers."""
    visible: list[str] = []
    body: list[str] = []
    blocks: list[_Block] = []
    opened: list[_Block] = []
    fields = position = gap = 0
    for tag in [*_tags(text), _Tag("control", "", is_close=True, start=len(text), end=len(text))]:
        segment = text[position : tag.start] + (
            text[tag.start : tag.end].strip("</>") if tag.role == "text" else ""
        )
        position = tag.end
        if not fields:
            visible.append(segment)
            (opened[-1].parts if opened else body).append(segment)
        if tag.role == "field":
            fields = max(0, fields + (-1 if tag.is_close else 1))
        elif tag.role == "answer":
            _turn_answer(tag, opened, blocks, "".join(body[gap:]))
            gap = len(body)
    return "".join(visible), "".join(body), blocks


def _turn_answer(tag: _Tag, opened: list[_Block], blocks: list[_Block], before: str) -> None:
    """Open or close an answer. An answer without an opening tag began on the last line."""
    if not tag.is_close:
        blocks.append(_Block(before))
        opened.append(blocks[-1])
    elif opened:
        opened.pop().is_closed = True
    elif not blocks:
        blocks.append(_Block("", [before.rstrip().rpartition("\n")[2]], is_closed=True))


# JSON in free text: fenced or not, with drafts, broken or cut off. Linear in the length of the text.
#
# Brackets are matched in one pass. Each outermost value that closes is decoded; what strict JSON does not allow is read by a
# tolerant parser (single quotes, missing quotes and commas, comments, escaped underscores, Python constants).


Json: TypeAlias = dict[str, Any] | list[Any]

_OPEN = r"""(?P<open>\{(?=\s{0,20}(?:["'{}]|/[/*]|[\w ]{1,40}:|$))|\[(?=\s{0,20}(?:["'{\[\]\d.-]|\w{1,40}[,\]]|$)))"""
"""A bracket that is followed by something that JSON may begin with."""
_OPENING = re.compile(_OPEN)
_BRACKET = re.compile(_OPEN + r"""|(?P<close>[}\]])|"(?:[^"\\\n]|\\.)*+"?""")
_ESCAPED = re.compile(r"\\([_\-*#\[\]{}.])")
_PIECE = re.compile(
    r"""(?P<comment>//[^\n]*+|/\*(?:[^*]|\*(?!/))*+(?:\*/)?|\#[^\n]*+)|(?P<mark>[{}\[\]:,])"""
    r"""|"(?P<double>(?:[^"\\\n]|\\.)*+)(?P<closed>")?|'(?P<single>(?:[^'\\\n]|\\.|'(?!\s*+[,:}\]\n]))*+)(?P<ended>')?"""
    r"""|(?P<bare>[^\s{}\[\]:,"']+)"""
)
_CONSTANTS = {"true": True, "false": False, "null": None, "none": None, "nan": math.nan, "infinity": math.inf}
_DEEPEST = 64
"""Values nested more deeply are left out."""
_LONGEST_INT = 18
"""Longer whole numbers become floats, which may be infinite, so that no later conversion fails."""


@dataclass(frozen=True, slots=True)
class JsonValue:
    """A value found in a text.

    Attributes:
        value: A table or a list.
        is_complete: True if its last bracket was closed.
        is_repaired: True if it was not valid JSON as written.
    """

    value: Json
    is_complete: bool = True
    is_repaired: bool = False


def json_values(text: str) -> list[JsonValue]:
    r"""Return the tables and lists in a text, the most likely answer first.

    The last complete value comes first, since drafts come before the final version; then a value that was cut off; then
    the complete parts of that value.

    >>> [found.value for found in json_values('Draft: {"a": 1} Final: ```json\n{"a": 2, "dist\\_to\\_cam": 3}\n```')]
    [{'a': 2, 'dist_to_cam': 3}, {'a': 1}]
    >>> json_values('{"id": 1, "size": [2, 3')
    [JsonValue(value={'id': 1, 'size': [2]}, is_complete=False, is_repaired=True)]
    """
    spans, unclosed = _spans(text)
    decoded = [(start, value) for start, end in reversed(spans) if (value := _decoded(text[start:end]))]
    values = [value for start, value in decoded if start < unclosed]
    if unclosed < len(text) and (cut := _Mender(text[unclosed:]).value) is not None:
        values.append(JsonValue(cut, is_complete=False, is_repaired=True))
    return values + [value for start, value in decoded if start > unclosed]


def _spans(text: str) -> tuple[list[tuple[int, int]], int]:
    """Return the outermost bracketed parts that close, and where one begins that never closes (else the text's length)."""
    opened: list[tuple[str, int, int]] = []
    closed: list[tuple[int, int]] = []
    deepest = position = 0
    while match := (_BRACKET if opened else _OPENING).search(text, position):
        mark, position = match.group(), match.end()
        if match["open"]:
            deepest = max(deepest, len(opened) + 1) if opened else 1
            opened.append(("}" if mark == "{" else "]", match.start(), len(closed)))
        elif match["close"] and opened[-1][0] == mark:
            _, start, inner = opened.pop()
            del closed[inner:]
            if deepest - len(opened) <= _DEEPEST:
                closed.append((start, match.end()))
    return closed, opened[0][1] if opened else len(text)


def _decoded(part: str) -> JsonValue | None:
    for candidate in dict.fromkeys((part, _ESCAPED.sub(r"\1", part))):
        try:
            return JsonValue(json.loads(candidate, parse_int=_whole), is_repaired=candidate != part)
        except (ValueError, RecursionError):
            continue
    value = _Mender(part).value
    return None if value is None else JsonValue(value, is_repaired=True)


def _whole(digits: str) -> int | float:
    return int(digits) if len(digits) <= _LONGEST_INT else float(digits)


class _Mender:
    """Repairs broken JSON: inserts what is missing and skips what makes no sense."""

    def __init__(self, part: str) -> None:
        self.value: Json | None = None
        self._open: list[Json] = []
        self._keys: list[str | None] = []
        self._words: list[Any] = []
        self._too_deep = 0
        for match in _PIECE.finditer(_ESCAPED.sub(r"\1", part)):
            if match["mark"]:
                self._put_words()
                self._turn(match["mark"])
            elif not match["comment"]:
                self._add(match)
            if self.value is not None and not self._open:
                break

    def _add(self, match: re.Match[str]) -> None:
        """Add a word or a string. One that ends with the text may have been cut off and is left out."""
        bare = match["bare"]
        if bare is None:
            self._put_words()
        if match.end() < len(match.string) or match["closed"] or match["ended"]:
            self._words.append(
                _bare_value(bare)
                if bare
                else re.sub(r"\\(.)", r"\1", match["double"] or match["single"] or "")
            )
        if bare is None:
            self._put_words()

    def _put_words(self) -> None:
        """Join several bare words in a row into one string."""
        if self._words:
            self._put(self._words[0] if len(self._words) == 1 else " ".join(map(str, self._words)))
            self._words = []

    def _put(self, value: Any) -> None:
        container = self._open[-1] if self._open else None
        if isinstance(container, list):
            container.append(value)
        elif container is not None and self._keys[-1] is None:
            self._keys[-1] = "" if isinstance(value, dict | list) else str(value)
        elif container is not None:
            container[self._keys[-1] or ""], self._keys[-1] = value, None

    def _turn(self, mark: str) -> None:
        if mark in "{[" and (self._too_deep or len(self._open) >= _DEEPEST):
            self._too_deep += 1
        elif mark in "{[":
            new: Json = {} if mark == "{" else []
            self._put(new)
            self.value = new if self.value is None else self.value
            self._open.append(new)
            self._keys.append(None)
        elif mark in "}]" and self._too_deep:
            self._too_deep -= 1
        elif mark in "}]":
            self._open.pop()
            self._keys.pop()


def _bare_value(word: str) -> Any:
    if word.lower() in _CONSTANTS:
        return _CONSTANTS[word.lower()]
    try:
        return _whole(word) if word.lstrip("-").isdecimal() else float(word)
    except ValueError:
        return word
