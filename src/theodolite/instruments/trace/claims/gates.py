"""Texts that hold no reasoning in English: they are *no trace*, which is counted, and neither right nor wrong.

The tests take time linear in the text, and look at words only.
"""

from __future__ import annotations

import re
from collections import Counter

from theodolite.answers import json_values
from theodolite.answers.refusals import declines
from theodolite.instruments.trace.claims.lexicon import word_set

NO_TRACE = "no trace"
"""How the failure of such a trace begins."""

_WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)?")
_SENTENCE = re.compile(r"[.!?\n]+")
_ABOUT_ITSELF = re.compile(
    r"\b(?:image|picture|photo|video|frame|visual|ai|language model|assist|answer|sorry|comply|request)s?\b",
    re.IGNORECASE,
)
_ENGLISH = word_set(
    "the a an is are was were be been of in on at to and or it this that there with for from by as not no has have had he she"
    " they his her their its i we you my then but so if which who what left right"
)
_FOREIGN = (
    word_set(
        "el la los las un una es está están del en y que con por para se no como pero más hay sobre"  # Spanish
        " le les des du une est sont et dans sur avec pour qui que il elle ne pas au aux ce cette"  # French
        " der die das ein eine ist sind und auf mit von zu im den dem nicht er sie wird eines einem links rechts"  # German
        " il lo gli uno è sono di che nel nella sul sulla con per non si della"  # Italian
        " o os um uma é são do da dos das em no na com para não se ao"  # Portuguese
        " de het een van en op met voor niet zijn naar dat"  # Dutch
    )
    - _ENGLISH
)
_FEW_WORDS, _MANY_WORDS, _GROUP = 3, 12, 6


def no_trace(text: str) -> str:
    r"""Why a text is no trace; empty if it may be one.

    >>> no_trace("The red ball is left of the box."), no_trace(""), no_trace("ball ball ball ball")
    ('', 'empty', 'repeats itself')
    >>> no_trace("As an AI language model, I cannot see images."), no_trace('```json\n{"objects": ["cup"]}\n```')
    ('refused', 'JSON without steps')
    >>> no_trace("El perro está en la mesa y la pelota está debajo."), no_trace("I cannot see the red ball.")
    ('not English', '')
    """
    words = [word.casefold() for word in _WORD.findall(text)]
    if not words:
        return "empty"
    if _is_json(text):
        return "JSON without steps"
    if _is_foreign(text, words):
        return "not English"
    if _is_repetition(text, words):
        return "repeats itself"
    return "refused" if _is_refusal(text) else ""


def _is_json(text: str) -> bool:
    """True if the text is a table or list, perhaps in a fence, and no steps are listed in it."""
    bare = re.sub(r"```\w*", "", text).strip()
    if bare[:1] not in {"{", "["} or bare[-1:] not in {"}", "]"}:
        return False
    found = json_values(bare)
    return bool(found) and not any(isinstance(each.value, dict) and "steps" in each.value for each in found)


def _is_foreign(text: str, words: list[str]) -> bool:
    """True if most letters are not Latin, or words of other languages outnumber those of English."""
    letters = [c for c in text if c.isalpha()]
    if sum(c > "ɏ" for c in letters) > len(letters) / 2:
        return True
    foreign, english = sum(word in _FOREIGN for word in words), sum(word in _ENGLISH for word in words)
    return foreign >= _FEW_WORDS and foreign > 2 * english


def _is_repetition(text: str, words: list[str]) -> bool:
    """True if one word, one group of words or one sentence is written again and again."""
    if len(words) >= _FEW_WORDS and len(set(words)) == 1:
        return True
    if len(words) < _MANY_WORDS:
        return False
    sentences = [part.strip() for part in _SENTENCE.split(text) if part.strip()]
    if len(sentences) < len(words) / _MANY_WORDS:  # hardly a stop: the words themselves repeat
        groups = {tuple(words[i : i + _GROUP]) for i in range(len(words) - _GROUP + 1)}
        return len(groups) < 0.25 * (len(words) - _GROUP + 1)
    _, most = Counter(sentences).most_common(1)[0]
    return most >= 10 and most > 0.8 * len(sentences)


def _is_refusal(text: str) -> bool:
    parts = [part for part in _SENTENCE.split(text) if part.strip()]
    is_short = len(parts) <= _FEW_WORDS
    return is_short and all(map(declines, parts[:1])) and _ABOUT_ITSELF.search(text) is not None
