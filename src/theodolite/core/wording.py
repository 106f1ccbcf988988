"""English number words, and removal of thinking tags from answers."""

from __future__ import annotations

import re

__all__ = ["NUMBER_WORDS", "without_thinking"]

NUMBER_WORDS = (
    *("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"),
    *(
        "eleven",
        "twelve",
        "thirteen",
        "fourteen",
        "fifteen",
        "sixteen",
        "seventeen",
        "eighteen",
        "nineteen",
        "twenty",
    ),
)
"""The words for 0 to 20, in order."""

_THINKING = re.compile(r"<think(?:ing)?>.*?(?:</think(?:ing)?>|$)", flags=re.DOTALL | re.IGNORECASE)


def without_thinking(text: str) -> str:
    """Remove the content of thinking tags, even if they are not closed.

    >>> without_thinking("<think>three? no</think>Four"), without_thinking("<thinking>hm")
    (' Four', ' ')
    """
    return _THINKING.sub(" ", text)
