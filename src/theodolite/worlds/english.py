"""*A* or *an*, and plurals, for generated text."""

from __future__ import annotations

import re

_VOWEL = re.compile(
    r"(?!eu|one\b|once\b|uni(?!n|m)|us[aeiu]|ut[ei])[aeiou]|(?:hour|honest|honou?r|heir)", re.IGNORECASE
)
"""Beginnings that sound like a vowel: *an hour*, but *a unicycle*."""
_ARTICLE = re.compile(r"\b([Aa])n? (?=(\w+))")


def with_article(noun: str) -> str:
    """Return a noun with its article: *a red ball*, *an orange ball*.

    >>> [with_article(noun) for noun in ("red ball", "orange ball", "umbrella", "unicycle", "hourglass")]
    ['a red ball', 'an orange ball', 'an umbrella', 'a unicycle', 'an hourglass']
    """
    return f"{article_of(noun)} {noun}"


def article_of(noun: str) -> str:
    """Return *a* or *an*."""
    return "an" if _VOWEL.match(noun) else "a"


def with_right_articles(text: str) -> str:
    """Return the text with every article corrected for the word after it.

    >>> with_right_articles("There is a orange ball. An red cube is left of a box.")
    'There is an orange ball. A red cube is left of a box.'
    """
    return _ARTICLE.sub(lambda m: f"{m[1]}{article_of(m[2])[1:]} ", text)


def plural(noun: str) -> str:
    """Return the plural of a noun.

    >>> plural("red ball"), plural("blue box"), plural("dish"), plural("grey key"), plural("city"), plural("shelf")
    ('red balls', 'blue boxes', 'dishes', 'grey keys', 'cities', 'shelves')
    """
    if re.search(r"(?:s|x|z|ch|sh)$", noun):
        return f"{noun}es"
    if re.search(r"[^aeiou]y$", noun):
        return f"{noun[:-1]}ies"
    if re.search(r"(?:[ae]l|oa|li|kni|wi)fe?$", noun):
        return re.sub(r"fe?$", "ves", noun)
    return f"{noun}s"
