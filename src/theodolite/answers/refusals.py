"""Texts that decline to answer, and texts that reject all options."""

from __future__ import annotations

import re

_SEE = (
    "see|view|determine|tell|answer|provide|assist|help|analy[sz]e|know|identify|estimate|say|infer|measure|access|comply|"
    "judge|decide|be (?:determined|answered|known|inferred|sure|certain)"
)
_PICTURE = "image|picture|photo|photograph|visual|video|frame"
_REFUSAL = re.compile(
    r"\b(?:i(?:'m| am)? (?:very |so )?(?:sorry|afraid)|as an? (?:ai|text|language)\b|"
    rf"(?:can ?not|can't|cant|could(?: not|n't)|unable to|not able to|do(?: not|n't)|(?:im|not )possible to|no way to|"
    rf"(?:hard|difficult|unclear how) to)(?: \w+){{0,3}}? (?:{_SEE})\b|"
    rf"no (?:image|picture|photo|visual|idea)|(?:{_PICTURE})s? (?:is|are|was|were|has|have)(?: not|n't) (?:been )?"
    r"(?:provided|attached|included|available|given|visible|shown)|"
    rf"without (?:the |an |a |any |seeing )?(?:\w+ )?(?:{_PICTURE})|"
    r"(?:not enough|insufficient|not sufficient|no) (?:visual )?(?:information|context|evidence to)|i (?:must )?(?:decline|refuse)|"
    r"(?:answer|it|this) is (?:unknown|indeterminate|undeterminable|unclear)|need (?:to see|more information)|i have no access)",
    re.IGNORECASE,
)
_NONE = re.compile(
    r"(?:\b(?:none|neither|not any)(?: \w+){0,4}? (?:options?|choices?|answers?|alternatives?|above|these|given|listed|them)\b"
    r"|\bno (?:\w+ )?(?:options?|choices?|alternatives?)\b"
    r"|\b(?:none|neither)(?: \w+){0,2}? (?:appl(?:y|ies)|fits?|match(?:es)?|correct)\b"
    r"|\bnot (?:among|one of|in) (?:the |these |those |any of the )?(?:\w+ )?(?:options|choices|answers)"
    r"|\b(?:is|are) not (?:listed|offered|an option)|(?<![\w ])(?:none|neither)(?= ?[,.;:–—]))",
    re.IGNORECASE,
)
_NOTHING = re.compile(r"\W*(?:none|neither|neither one|n/a|not applicable|no option)\W*", re.IGNORECASE)
_FORCED = re.compile(
    r"\b(?:closest|nearest|best(?: \w+){0,3}? (?:is|would be|fit)|choose|pick|select|guess|go with|most likely|forced|had to)\b",
    re.IGNORECASE,
)


def declines(text: str) -> bool:
    """True if a text declines to answer.

    >>> declines("There is no picture, so I cannot answer."), declines("There is no cup.")
    (True, False)
    """
    return _REFUSAL.search(text) is not None


def rejects_options(text: str) -> bool:
    """True if a text says that no option holds.

    >>> rejects_options("None of the provided options apply."), rejects_options("None of the cups is left of it.")
    (True, False)
    """
    return _NOTHING.fullmatch(text) is not None or _NONE.search(text) is not None


def chooses_anyway(text: str) -> bool:
    """True if a text that rejects all options goes on to choose one: "the closest is B"."""
    match = _NONE.search(text)
    return match is not None and _FORCED.search(text, match.end()) is not None
