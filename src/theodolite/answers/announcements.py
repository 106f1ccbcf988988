"""Where a text announces its answer ("the answer is …", "Final answer:") or concludes ("so …")."""

from __future__ import annotations

from theodolite.answers.plain import word_set
from theodolite.answers.words import Words

_NOUNS = word_set(
    "answer answers ans choice option conclusion decision result estimate prediction guess total solution"
)
_TOTALS = word_set("total count sum")
_LINKS = word_set("is are was be would should must : = ≈ → equals remains seems")
_AFTER_LINK = _LINKS | word_set("> - therefore thus clearly definitely likely probably to as follows")
_LEAD_WORDS = _NOUNS | _LINKS | word_set("the final correct my")
_VERBS = word_set("choose chose pick select opt selecting choosing settle")
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
        elif words.norm(i) in _VERBS or (words.norm(i), words.norm(i + 1)) in _PHRASES:
            start = i + 1 + (words.norm(i) not in _VERBS)
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
