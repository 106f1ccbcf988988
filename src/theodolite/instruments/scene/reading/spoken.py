"""What a model said, without its thinking, its mark-up and its control tokens: where both parsers begin."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass

_NAMES = r"think(?:ing)?|thought|reason(?:ing)?|reflection|scratchpad|analysis"
_OPEN = rf"(?:<\|?(?:{_NAMES})\|?>|◁(?:{_NAMES})▷|<\|begin_of_thought\|>)"
_CLOSE = rf"(?:<\|?/(?:{_NAMES})\|?>|◁/(?:{_NAMES})▷|<\|end_of_thought\|>)"
_THOUGHT = re.compile(rf"{_OPEN}.*?{_CLOSE}", re.DOTALL | re.IGNORECASE)
_UP_TO_CLOSE = re.compile(rf"^.*{_CLOSE}", re.DOTALL | re.IGNORECASE)
_FROM_OPEN = re.compile(rf"{_OPEN}.*$", re.DOTALL | re.IGNORECASE)
_ANY_CLOSE = re.compile(_CLOSE, re.IGNORECASE)
_CONTROL = re.compile(r"<\|[^|>\n]{1,40}\|>|</?s>|<eos>|<end_of_turn>|\[/?INST\]")
_BOXES = (
    re.compile(r"<answer>(.*?)(?:</answer>|$)", re.DOTALL | re.IGNORECASE),
    re.compile(r"<\|begin_of_box\|>(.*?)<\|end_of_box\|>", re.DOTALL),
    re.compile(r"\\boxed\s*\{((?:[^{}]|\{[^{}]*\})*)\}"),
)
_LATEX = re.compile(r"\\(?:text|mathrm|mathbf|textbf|mbox|operatorname)\s*\{([^{}]*)\}")
_SPACING = re.compile(r"\\[,;:! ]|\\\(|\\\)|\\\[|\\\]|\$+")

REFUSAL = re.compile(
    r"\b(?:i(?:'m| am)? (?:sorry|afraid)|as an ai\b|(?:can(?:no|')?t|could(?: not|n't)|unable to|not able to|do(?: not|n't)|"
    r"(?:im|not )possible to|no way to) (?:\w+ ){0,3}?(?:see|view|determine|tell|answer|provide|assist|help|analy[sz]e|know|"
    r"identify|estimate|say|infer|measure|access|comply|be (?:determined|answered|known|inferred))|"
    r"no (?:image|picture|photo|visual)|(?:image|picture|photo) (?:is|was|has)(?: not|n't) (?:been )?"
    r"(?:provided|attached|included|available|given)|without (?:the|an|a|any|seeing) ?\w* ?(?:image|picture|photo|visual)|"
    r"(?:not|in)(?: |-)?(?:enough|sufficient) (?:visual )?information|i (?:must )?(?:decline|refuse)|"
    r"(?:answer|it) is (?:unknown|indeterminate|undeterminable))",
    re.IGNORECASE,
)
"""Sentences that decline to answer. Only asked for where no answer was found."""


@dataclass(frozen=True, slots=True)
class Spoken:
    """What is left to be read."""

    text: str
    boxed: str | None = None
    """What stands in an answer tag or a box, the last one if there are several."""
    is_unfinished: bool = False
    """Whether the model was still thinking when it ended."""


def spoken(raw: str) -> Spoken:
    """The text outside thinking tags, with forms of letters and digits made plain.

    A closing tag without an opening one ends thinking that began in the prompt. An opening tag without a closing one
    means that nothing was said yet.

    >>> spoken("<think>maybe A</think>B").text
    'B'
    >>> spoken("<think>maybe A").is_unfinished
    True
    """
    text = unicodedata.normalize("NFKC", raw).replace("−", "-").replace("’", "'").replace("\r", "\n")
    if _ANY_CLOSE.search(text):
        text = _UP_TO_CLOSE.sub(" ", _THOUGHT.sub(" ", text))
    rest = _FROM_OPEN.sub(" ", text)
    is_unfinished = rest != text and not rest.strip()
    boxed = None
    for pattern in _BOXES:
        found = pattern.findall(rest)
        if found:
            boxed = without_marks(found[-1])
            break
    return Spoken(_CONTROL.sub(" ", rest).strip(), boxed, is_unfinished)


def without_marks(text: str) -> str:
    """Without Markdown and LaTeX marks; lines are kept.

    >>> without_marks("**B**: `No`")
    'B: No'
    """
    text = _SPACING.sub(" ", _LATEX.sub(r"\1", _CONTROL.sub(" ", text)))
    text = re.sub(r"\*+|`+|~~|(?<!\w)_+|_+(?!\w)|^\s*#+\s+|^\s*>+\s*", "", text, flags=re.MULTILINE)
    return "\n".join(" ".join(line.split()) for line in text.splitlines() if line.strip()).strip()


_LAST_CLAUSES, _CLAUSE_LENGTH = 8, 300


def clauses_after(lead: re.Pattern[str], text: str) -> Iterator[str]:
    """What follows each occurrence of a lead, up to the end of its clause: the last occurrence first, a few of them.

    >>> list(clauses_after(re.compile("so"), "so it is 3. So, no; so 4.5 m. End."))
    [' 4.5 m', ' it is 3']
    """
    ends = [match.end() for match in lead.finditer(text)]
    for end in reversed(ends[-_LAST_CLAUSES:]):
        yield re.split(r"\n|[;!?]|\.(?!\d)", text[end : end + _CLAUSE_LENGTH], maxsplit=1)[0]
